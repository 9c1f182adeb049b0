# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Checks for preemption: at function entry (-fsplit-stack), and in loops (tools/compiler). preempt is the kind asked
# for, preempt_flags are the compiler's flags for it. Without checks a goroutine
# that computes loses its P all the same, only later.

# The second keeps exceptions as fast as without checks (cmake/WeftFlags.cmake).
entry_flags='-fsplit-stack -freorder-blocks-and-partition'
preempt=entry preempt_flags=''

# set_preempt COMMAND VALUE
set_preempt() {
  case $2 in
    off | entry | loops) preempt=$2 ;;
    *) bad_use "$1" "--preempt=$2: off, entry and loops are what there is" ;;
  esac
}

# plugin_package: prints the package that the compiler in use needs to build plugins, if it is missing.
plugin_package() {
  local major
  # shellcheck disable=SC2086
  major=$($cxx -dumpversion)
  major=${major%%.*}
  # shellcheck disable=SC2086
  if [[ $($cxx --version) == *clang* ]]; then
    [[ -f /usr/lib/llvm-$major/include/llvm/Passes/PassPlugin.h ]] || echo "llvm-$major-dev"
  else
    # shellcheck disable=SC2086
    [[ -f $($cxx -print-file-name=plugin)/include/gcc-plugin.h ]] || echo "gcc-$major-plugin-dev"
  fi
}

# entry_checks FLAGS...: may checks at function entry be compiled in? gold, lld and mold make each of them fire at each
# call, and clang refuses every function of variable arguments.
entry_checks() {
  local flag
  [[ $preempt == entry || $preempt == loops ]] || return 1
  # shellcheck disable=SC2086
  [[ $(uname -m) == x86_64 && $($cxx --version) != *clang* ]] || return 1
  for flag in "$@"; do
    case $flag in
      -fuse-ld=gold | -fuse-ld=lld | -fuse-ld=mold)
        say "note: going on without checks at function entry: ${flag#-fuse-ld=} would make them fire at every call"
        return 1
        ;;
      -fno-split-stack | -m32 | -mx32 | -fsanitize=*thread*) return 1 ;;
    esac
  done
}

# need_plugin COMMAND: after need_library. Without the plugin, programs are compiled all the same, and the user is told.
need_plugin() {
  local dir package
  [[ $preempt == loops ]] || return 0
  if [[ -n $source_tree ]]; then
    dir=$(dirname -- "$weft_library")
    package=$(plugin_package)
    if [[ -n $package ]] && apt_has "$package" && [[ ${WEFT_NO_INSTALL:-} != 1 ]] && have apt-get &&
      { ((EUID == 0)) || sudo -n true 2>/dev/null; }; then
      want "$package" "builds the plugin for --preempt=loops"
      install_wanted "$1"
    fi
    if [[ -z ${weft_preempt_loops:-} && -z $(plugin_package) ]]; then
      cmake "$dir" >"$dir/configure.log" 2>&1 || die "the build could not be configured again (see $dir/configure.log)"
      # shellcheck source=/dev/null
      source "$dir/weft.env"
    fi
    [[ -z ${weft_preempt_loops:-} ]] || ninja_build "$dir" weft_preempt_plugin || die "the compiler plugin could not be built"
  fi
  if [[ -z ${weft_preempt_loops:-} ]]; then
    say "note: going on without checks in loops; ${weft_preempt_note:-this installation has no plugin}"
  elif [[ -z $source_tree && ! -f $(sed -E 's/^[^=]*=([^ ]*).*/\1/' <<<"$weft_preempt_loops") ]]; then
    say "note: going on without checks in loops; this installation has no plugin (it was not built before installing)"
  # shellcheck disable=SC2086
  elif ! $cxx $weft_preempt_loops -fsyntax-only -x c++ /dev/null >/dev/null 2>&1; then
    say "note: going on without checks in loops; this compiler is not the one the plugin was built for"
  else
    preempt_flags=$weft_preempt_loops
  fi
}
