# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Builds the library where and when it is needed.

# Where builds go: build/ in the tree, or the user's cache if that cannot be written.
find_build_root() {
  local cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/weft
  if [[ -n ${WEFT_BUILD_DIR:-} ]]; then
    build_root=$(realpath -m -- "$WEFT_BUILD_DIR")
  elif [[ -z $source_tree ]]; then
    build_root=$cache
  elif { [[ -d $source_tree/build ]] && [[ -w $source_tree/build ]]; } || [[ -w $source_tree && ! -e $source_tree/build ]]; then
    build_root=$source_tree/build
  else
    build_root=$cache/tree-$(printf '%s' "$source_tree" | cksum | cut -d' ' -f1)
  fi
  mkdir -p -- "$build_root" || die "cannot write to $build_root; set WEFT_BUILD_DIR to a directory that can be written"
}

# ninja_build DIR [NINJA ARGUMENTS]: shows ninja's own progress on a terminal, and a line every tenth otherwise. The
# output is kept in DIR/build.log.
ninja_build() {
  local dir=$1 status=0
  shift
  if [[ -t 2 && ${WEFT_LOG_BUILDS:-} != 1 ]]; then
    ninja -C "$dir" -j "$jobs" "$@" >&2 || status=$?
    return "$status"
  fi
  ninja -C "$dir" -j "$jobs" "$@" 2>&1 | tee "$dir/build.log" | awk '
    /^\[[0-9]+\/[0-9]+\]/ {
      split(substr($1, 2), at, /[\/\]]/)
      part = int(10 * at[1] / at[2])
      if (at[2] >= 10 && part != last && part > 0 && at[1] < at[2]) { printf "  [%d/%d]\n", at[1], at[2]; fflush() }
      last = part
    }' >&2 || status=$?
  if ((status)); then
    grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking)|^ninja: Entering' "$dir/build.log" | tail -n 80 >&2 || true
  fi
  return "$status"
}

# configure DIR PRESET [-D...]: quiet unless it fails.
configure() {
  local dir=$1 preset=$2
  shift 2
  mkdir -p -- "$dir"
  local cc=${CC:-}
  # The C compiler that belongs to the C++ compiler, because a machine may have only one of the two families.
  [[ -n $cc || -z ${cxx:-} ]] || cc=$(sed -e 's/clang++/clang/' -e 's/g++/gcc/' <<<"$cxx")
  if ! (cd -- "$source_tree" && CXX=${cxx:-} CC=$cc cmake --preset "$preset" -B "$dir" "$@") >"$dir/configure.log" 2>&1; then
    cat -- "$dir/configure.log" >&2
    return 1
  fi
}

# sanitizer_preset FLAGS...: prints the build of the library that such a program needs: release, asan or tsan.
sanitizer_preset() {
  local flag one preset=release
  for flag; do
    [[ $flag == -fsanitize=* ]] || continue
    for one in ${flag//[=,]/ }; do
      case $one in
        thread) preset=tsan ;;
        address) [[ $preset == tsan ]] || preset=asan ;;
        memory | hwaddress) die "weft has no library for -fsanitize=$one: use address or thread" ;;
      esac
    done
  done
  echo "$preset"
}

# need_installed_library PRESET: loads the weft.env of that library. A sanitizer needs its own, because the plain
# library does not tell it of goroutine switches, and its reports would be false.
need_installed_library() {
  local variant='' env
  [[ $1 == release ]] || variant=-$1
  env=$weft_prefix/share/weft/weft$variant.env
  [[ -f $env ]] || die "this installation has no library for -fsanitize (libweft_$1.a), and with the plain one reports would be false." \
    $'\n'"  In weft's source tree, 'weft build' and 'weft run' make it as needed. To add it here, run there:" \
    $'\n'"  cmake --preset $1 -DWEFT_BUILD_TESTS=OFF -DWEFT_BUILD_EXAMPLES=OFF && cmake --build --preset $1 --target weft &&" \
    $'\n'"  cmake --install build/$1 --prefix $weft_prefix"
  # shellcheck source=/dev/null
  source "$env"
  [[ -f $weft_library ]] || die "$weft_library is missing: the installation is not complete"
  [[ -n $variant ]] || return 0
  local made_by=GNU
  # shellcheck disable=SC2086
  [[ $($cxx --version) != *clang* ]] || made_by=Clang
  [[ $made_by == "$weft_compiler" ]] ||
    die "$weft_library was built by $weft_compiler, and sanitizers of two compilers do not mix: set CXX to such a compiler"
}

# need_library COMMAND FLAGS...: builds the library for a program compiled with the flags and loads its weft.env. Starts
# nothing if the library is fresh.
need_library() {
  local command=$1 preset dir stamp
  shift
  preset=$(sanitizer_preset "$@") || exit 1
  if [[ $preset == tsan ]]; then
    # gcc's ThreadSanitizer hardly supports goroutine switches, so program and library are built by clang.
    newest_clang >/dev/null || need_clang "$command"
    [[ ${CXX:-clang} == *clang* ]] || die "-fsanitize=thread needs clang++ >= 16; CXX is $CXX"
    [[ -n ${CXX:-} ]] || cxx=$(newest_clang)
  fi
  if [[ -z $source_tree ]]; then
    need_installed_library "$preset"
    return
  fi
  # A compiler chosen by $CXX gets its own build directory. The newest clang shares that of the tests;
  # tsan is always clang's.
  if [[ $preset == release && -n ${CXX:-} && ${cxx##*/} == "$(newest_clang)" ]]; then preset=clang; fi
  dir=$build_root/$preset
  [[ -z ${CXX:-} || $preset == tsan || $preset == clang ]] || dir+=-${cxx//[^[:alnum:]+._-]/_}
  stamp=$dir/library-stamp
  if ! library_is_fresh "$dir" "$stamp"; then
    need_build_tools "$command"
    mkdir -p -- "$dir"
    exec {lock}>"$dir/lock"
    flock "$lock"
    if ! library_is_fresh "$dir" "$stamp"; then
      touch -- "$stamp.new"
      if [[ ! -f $dir/build.ninja ]]; then
        say "building the library ($preset) in ${dir/#$PWD\//}"
        # WEFT_UNITY: a quarter of the time.
        configure "$dir" "$preset" -DWEFT_BUILD_TESTS=OFF -DWEFT_BUILD_EXAMPLES=OFF -DWEFT_WERROR=OFF -DWEFT_UNITY=ON ||
          die "the library could not be configured"
      fi
      if ! ninja_build "$dir" weft; then
        # Two sources that cannot be compiled together (tools/lint/check_unity.py) can be compiled one by one.
        configure "$dir" "$preset" -DWEFT_UNITY=OFF && ninja_build "$dir" weft || die "the library could not be built"
      fi
      mv -- "$stamp.new" "$stamp"
    fi
    exec {lock}>&-
  fi
  # shellcheck source=/dev/null
  source "$dir/weft.env"
}

library_is_fresh() {
  compgen -G "$1/libweft*.a" >/dev/null && [[ -f $1/weft.env && -f $2 ]] &&
    [[ -z $(cd -- "$source_tree" && find src include cmake CMakeLists.txt CMakePresets.json \
      ! -name '*_test.cc' -newer "$2" -print -quit) ]]
}
