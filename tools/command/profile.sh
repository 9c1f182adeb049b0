# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# `weft profile` and `weft top`.

need_python() {
  command -v python3 > /dev/null || die "'weft $1' needs python3"
}

command_profile() {
  local output=profile.pb.gz
  while (($#)); do
    case $1 in
      -h | --help) help_for profile && exit 0 ;;
      -o)
        [[ $# -gt 1 ]] || bad_use profile "-o needs a file"
        output=$2
        shift
        ;;
      -*) bad_use profile "unknown flag: $1" ;;
      *) break ;;
    esac
    shift
  done
  (($#)) || bad_use profile "no program given"
  need_python profile
  local status=0 svg=${output%.pb.gz}.svg
  rm -f -- "$output"
  WEFT_CPUPROFILE=$output "$@" || status=$?
  [[ -s $output ]] || die "$1 has written no profile (exit status $status): does it use weft, and does it end by itself?"
  python3 "$parts/profile.py" "$output" --svg "$svg" >&2
  say "wrote $output (go tool pprof reads it) and $svg"
  return "$status"
}

command_top() {
  case ${1:-} in
    -h | --help) help_for top && exit 0 ;;
    '') bad_use top "no process given" ;;
  esac
  need_python top
  exec python3 "$parts/top.py" "$@"
}
