# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Compiles programs with the right flags against the library.

is_source() { [[ $1 =~ \.(cpp|cc|cxx|c\+\+|C|CPP)$ ]]; }

# Is this a compiler flag that `weft run` takes?
is_compiler_flag() {
  [[ $1 =~ ^-(O[0-3sgz]?|Ofast|g.*|[DUILlWfm].+|std=.+|pthread|pedantic|w|v|static|pipe|s|isystem.*|include.*)$ ]]
}

takes_value() { [[ $1 =~ ^-(o|I|D|U|L|l|x|T|u|z|isystem|include|imacros|iquote|idirafter|MF|MT|MQ|Xlinker|Xclang|Xassembler|Xpreprocessor|-param|arch|target)$ ]]; }

# `--posix`: the C library's waiting calls park goroutines (docs/posix.md).
posix=off

# posix_flags FLAGS...: prints what links weft::posix; nothing, with a note, where it cannot be.
posix_flags() {
  local flag
  [[ $posix == on ]] || return 0
  for flag; do
    case $flag in
      -static | -static-pie) die "--posix needs a dynamically linked program, because it stands before the shared C library: leave out $flag" ;;
    esac
  done
  if [[ -n ${weft_posix_library:-} ]]; then
    printf '%s\n' -Wl,--whole-archive "$weft_posix_library" -Wl,--no-whole-archive -ldl
  else
    say "note: going on without --posix: ThreadSanitizer has to see these calls itself"
  fi
}

# compile OUTPUT LINK? ARGUMENTS...: runs the compiler with weft's flags around the user's, which win.
compile() {
  local output=$1 link=$2 tail=() checks='' shared='' argument arguments=()
  shift 2
  # Libraries come after the objects that need them, wherever the user named them.
  for argument; do
    if [[ $argument == -l?* ]]; then tail+=("$argument"); else arguments+=("$argument"); fi
    [[ $argument != -shared ]] || shared=-fPIC
  done
  entry_checks "$@" && checks=$entry_flags
  if [[ -n $shared && $link == yes ]]; then
    [[ $posix == off ]] || die "--posix is for programs: the libraries that they load need nothing"
    # The library's checks, and its other calls of weft, go to the program's runtime.
    local forwarding=${weft_library%.*}_shared.a
    if [[ -f $forwarding ]]; then
      tail+=("$forwarding")
    elif [[ -n $checks$preempt_flags ]]; then
      say "note: going on without checks: this installation has none for shared libraries ($forwarding)"
      checks='' preempt_flags=''
    fi
    tail+=(-pthread)
  elif [[ $link == yes ]]; then
    local hooks
    hooks=$(posix_flags "${arguments[@]}") || exit 1
    [[ -z $hooks ]] || mapfile -t -O "${#tail[@]}" tail <<<"$hooks"
    tail+=(${use_tls:+"$weft_tls_library"} "$weft_library" ${use_tls:+-lssl -lcrypto} -pthread ${weft_link_flags:-})
    if [[ $weft_library == *.so ]]; then # an installation without libweft.a: checks go to libweft.so by way of this
      tail+=("${weft_library%.so}_shared.a" "-Wl,-rpath,$(dirname -- "$weft_library")")
    fi
  fi
  # shellcheck disable=SC2086  # CXX and the flags are lists
  $cxx -std=c++20 -O2 -g $weft_flags ${use_tls:+-DWEFT_HAS_TLS=1} $shared $checks $preempt_flags -I"$weft_include" -pthread "${arguments[@]}" ${output:+-o "$output"} "${tail[@]}"
}

# Did the compiler refuse the flags rather than the program? Then that is bad use.
blame_flags() {
  local command=$1
  shift
  (($#)) || return 0
  # shellcheck disable=SC2086
  $cxx "$@" -fsyntax-only -x c++ /dev/null >/dev/null 2>&1 || bad_use "$command" "the compiler does not accept: $*"
}
