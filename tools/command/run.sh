# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# `weft run`.

command_run() {
  local flags=() program
  while (($#)); do
    case $1 in
      -h | --help) help_for run && exit 0 ;;
      --preempt=*) set_preempt run "${1#--preempt=}" ;;
      --posix) posix=on ;;
      --tls) use_tls=yes ;;
      -*)
        is_compiler_flag "$1" || bad_use run "unknown flag: $1"
        flags+=("$1")
        if takes_value "$1"; then
          [[ $# -gt 1 ]] || bad_use run "$1 needs a value"
          flags+=("$2")
          shift
        fi
        ;;
      *) break ;;
    esac
    shift
  done
  (($#)) || bad_use run "no program given"
  program=$1
  shift
  [[ -e $program ]] || bad_use run "no such file: $program"
  [[ -f $program ]] || bad_use run "$program is not a file"
  is_source "$program" || bad_use run "$program is not a C++ source (.cpp, .cc, .cxx)"

  need_compiler run
  find_build_root
  need_library run "${flags[@]}"
  need_tls run
  need_plugin run

  # One entry for each program and set of flags. It is fresh if the library and every file that was read are unchanged.
  local key entry state work status=0
  key=$(printf '%s\0' "$(realpath -- "$program")" "$weft_library" "$cxx" "$preempt $preempt_flags $posix $use_tls" "${flags[@]}" | sha256sum)
  entry=$build_root/run/${key:0:20}
  state="$(stat -Lc '%n %Y %s' -- "$weft_library" ${use_tls:+"$weft_tls_library"} "$(command -v -- "${cxx%% *}")") $weft_flags $preempt_flags"
  if ! { [[ -x $entry/program && $(cat -- "$entry/state" 2>/dev/null) == "$state" ]] &&
    sha256sum --check --status -- "$entry/files" 2>/dev/null; }; then
    mkdir -p -- "$build_root/run"
    work=$(mktemp -d -- "$build_root/run/new.XXXXXX")
    compile "$work/program" yes -MMD -MF "$work/deps" "${flags[@]}" "$program" || {
      status=1
      rm -rf -- "$work"
      blame_flags run "${flags[@]}"
      exit "$status"
    }
    printf '%s\n' "$state" >"$work/state"
    # The dependency file has make's syntax: `target: file file \`, with space, # and $ in names escaped.
    sed -e '1s/^[^:]*: *//' -e 's/\\$//' -e 's/\\ /\x01/g' "$work/deps" | tr -s ' ' '\n' |
      sed -e 's/\x01/ /g' -e 's/\\#/#/g' -e 's/\$\$/$/g' -e '/^$/d' |
      sort -u | tr '\n' '\0' | xargs -0 -r realpath -z -- | xargs -0 -r sha256sum -- >"$work/files"
    rm -rf -- "$entry.old.$$"
    [[ ! -e $entry ]] || mv -T -- "$entry" "$entry.old.$$" 2>/dev/null || true
    mv -T -- "$work" "$entry" 2>/dev/null || entry=$work # another process was faster: run our own
    rm -rf -- "$entry.old.$$"
    # Removes entries that have not been compiled for a month.
    find "$build_root/run" -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -rf -- {} + 2>/dev/null || true
  fi
  unset WEFT_BUILD_DIR WEFT_JOBS WEFT_NO_INSTALL WEFT_LOG_BUILDS
  exec "$entry/program" "$@"
}
