# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# `weft build`.

command_build() {
  local flags=() inputs=() output='' link=yes sources=0 first=''
  while (($#)); do
    case $1 in
      -h | --help) help_for build && exit 0 ;;
      --preempt=*) set_preempt build "${1#--preempt=}" ;;
      --posix) posix=on ;;
      --tls) use_tls=yes ;;
      -o)
        [[ -n ${2:-} ]] || bad_use build "-o needs a file name"
        output=$2
        shift
        ;;
      -o?*) output=${1#-o} ;;
      -c | -S | -E | -fsyntax-only)
        flags+=("$1")
        link=no
        ;;
      -) bad_use build "sources are named, not read from stdin" ;;
      -*)
        flags+=("$1")
        if takes_value "$1"; then
          [[ $# -gt 1 ]] || bad_use build "$1 needs a value"
          flags+=("$2")
          shift
        fi
        ;;
      *)
        [[ -e $1 ]] || bad_use build "no such file: $1"
        [[ ! -d $1 ]] || bad_use build "$1 is a directory"
        inputs+=("$1")
        if is_source "$1" || [[ $1 =~ \.(c|S|s)$ ]]; then
          sources=$((sources + 1))
          first=${first:-$1}
        fi
        ;;
    esac
    shift
  done
  ((${#inputs[@]})) || bad_use build "no source file given"
  if [[ -z $output && $link == yes ]]; then
    ((sources)) || bad_use build "with object files only, -o is needed"
    output=$(basename -- "$first")
    output=${output%.*}
  fi
  need_compiler build
  find_build_root
  need_library build "${flags[@]}"
  need_tls build
  need_plugin build
  compile "$output" "$link" "${flags[@]}" "${inputs[@]}" || {
    blame_flags build "${flags[@]}"
    exit 1
  }
}
