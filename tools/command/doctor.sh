# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# `weft doctor`.

tool_line() {
  printf '  %-22s %-20s %s\n' "$1" "$2" "${3:-}"
}

# doctor_tool NAME COMMAND WHAT-FOR PACKAGE
doctor_tool() {
  if have "$2"; then
    tool_line "$1" "yes" "$3"
  else
    tool_line "$1" "no" "$3 ($4)"
  fi
}

command_doctor() {
  (($# == 0)) || case $1 in
    -h | --help) help_for doctor && exit 0 ;;
    *) bad_use doctor "unknown argument: $1" ;;
  esac
  local doctor candidate clang
  need_compiler doctor
  find_build_root
  if [[ -n $source_tree ]]; then
    doctor=$build_root/doctor
    if [[ ! -x $doctor || $source_tree/tools/doctor/doctor.cc -nt $doctor ]]; then
      # shellcheck disable=SC2086
      $cxx -std=c++20 -O1 -o "$doctor.$$" "$source_tree/tools/doctor/doctor.cc" || die "tools/doctor could not be compiled"
      mv -- "$doctor.$$" "$doctor"
    fi
    printf 'weft %s (source tree)\n' "$(version)"
  else
    # shellcheck source=/dev/null
    source "$weft_prefix/share/weft/weft.env"
    doctor=$weft_tools/weft-doctor
    printf 'weft %s (installed)\n' "$weft_version"
  fi
  [[ -x $doctor ]] && "$doctor"

  printf '\ncompilers\n'
  tool_line "in use" "$cxx" "$("${cxx%% *}" --version | head -n1)"
  for candidate in g++ g++-{15..12} clang++ clang++-{24..14}; do
    have "$candidate" || continue
    if compiler_is_usable "$candidate"; then
      tool_line "$candidate" "yes" "$("$candidate" -dumpversion)"
    else
      tool_line "$candidate" "too old" "$("$candidate" -dumpversion) (weft needs g++ >= 12, clang++ >= 16)"
    fi
  done
  if [[ -n $source_tree ]]; then
    printf '\nbuild and test tools\n'
    doctor_tool cmake cmake "builds the library" cmake
    doctor_tool ninja ninja "builds the library" ninja-build
    doctor_tool ccache ccache "makes repeated builds fast, not needed" ccache
    doctor_tool python3 python3 "lints and program tests" python3
    if clang=$(newest_clang); then
      if [[ -f $("$clang" -print-file-name="libclang_rt.tsan-$(uname -m).a") || -f $("$clang" -print-file-name=libclang_rt.tsan.a) ]]; then
        tool_line "ThreadSanitizer" "yes" "$clang"
      else
        tool_line "ThreadSanitizer" "no" "$clang lacks its runtime (libclang-rt-NN-dev)"
      fi
    else
      tool_line "ThreadSanitizer" "no" "needs clang >= 16 (clang-19, libclang-rt-19-dev)"
    fi
    doctor_tool "aarch64 compiler" aarch64-linux-gnu-g++ "cross-compiles the tests" g++-aarch64-linux-gnu
    doctor_tool "qemu-aarch64" qemu-aarch64 "runs them" qemu-user
    if [[ -f /usr/include/relacy/relacy.hpp ]]; then
      tool_line relacy "yes" "model tests of the lock-free parts"
    else
      tool_line relacy "no" "model tests of the lock-free parts (relacy-dev)"
    fi
    doctor_tool spin spin "model checks of the protocols" spin
    doctor_tool valgrind valgrind "memory checks" valgrind
    doctor_tool strace strace "system call counts" strace
    doctor_tool curl curl "a client of the HTTP example" curl
    doctor_tool ab ab "a client of the HTTP example" apache2-utils
    doctor_tool wrk wrk "a client of the HTTP example" wrk
    doctor_tool nginx nginx "stands before the HTTP example in a test" nginx-light
    doctor_tool socat socat "a client of the echo and proxy examples" socat
    doctor_tool redis-benchmark redis-benchmark "a client of the key-value example" redis-tools
    doctor_tool go go "the comparison in benchmarks, not needed" golang-go
  fi
}
