# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The compilers weft can use, and the tools that build it.

# Can weft use this compiler: g++ >= 12, clang++ >= 16? Like $CXX it may be more than one word ("ccache g++").
compiler_is_usable() {
  local words major
  read -ra words <<<"$1"
  major=$("${words[@]}" -dumpversion 2>/dev/null) || return 1
  major=${major%%.*}
  [[ $major =~ ^[0-9]+$ ]] || return 1
  if [[ $("${words[@]}" --version 2>/dev/null) == *clang* ]]; then ((major >= 16)); else ((major >= 12)); fi
}

# newest_clang: prints the newest installed clang++ >= 16; fails if there is none.
newest_clang() {
  local version
  for version in {24..16}; do
    if have "clang++-$version"; then
      echo "clang++-$version"
      return
    fi
  done
  have clang++ && compiler_is_usable clang++ && echo clang++
}

# Sets cxx to the compiler to use: $CXX, or the first usable one. Once chosen it stays.
cxx=
find_compiler() {
  local candidate
  [[ -z $cxx ]] || return 0
  if [[ -n ${CXX:-} ]]; then
    have "${CXX%% *}" || die "CXX=$CXX: no such compiler"
    compiler_is_usable "$CXX" || die "CXX=$CXX is too old: weft needs g++ >= 12 or clang++ >= 16"
    cxx=$CXX
    return 0
  fi
  for candidate in g++ g++-{15..12}; do
    if have "$candidate" && compiler_is_usable "$candidate"; then
      cxx=$candidate
      return 0
    fi
  done
  cxx=$(newest_clang)
}

# need_compiler COMMAND: sets cxx. If there is no compiler, the other build tools are missing, too: one installation for
# all of them.
need_compiler() {
  find_compiler || {
    want g++ "the C++ compiler"
    want_build_tools
    install_wanted "$1"
    find_compiler || die "no usable compiler: weft needs g++ >= 12 or clang++ >= 16 (this system's g++ is older)"
  }
}

want_build_tools() {
  [[ -n $source_tree ]] || return 0
  have cmake || want cmake "configures the build"
  have ninja || want ninja-build "runs the compilers"
}

need_build_tools() {
  need_compiler "$1"
  want_build_tools
  install_wanted "$1"
  local version
  version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9]*\.[0-9]*\).*/\1/p')
  [[ $(printf '%s\n' 3.25 "$version" | sort -V | head -n1) == 3.25 ]] ||
    die "cmake $version is too old: weft needs 3.25 or newer"
}

need_clang() {
  local version
  for version in 19 20 21 22 18 17 16; do
    if apt_has "clang-$version"; then
      want "clang-$version" "the second compiler, and the one with a usable ThreadSanitizer"
      want "libclang-rt-$version-dev" "its sanitizer libraries"
      want "llvm-$version" "names and lines in its sanitizer reports"
      break
    fi
  done
  [[ " ${wanted[*]} " == *" clang-"* ]] || want clang-19 "the second compiler (the package lists know none >= 16)"
  [[ $1 == test ]] || install_wanted "$1"
}
