# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# `weft trace`.

# Is the trace viewer newer than all its sources?
tools_are_fresh() {
  [[ -x $1/weft-tools && -f $1/stamp ]] &&
    [[ -z $(cd -- "$source_tree" && find tools/weft tools/trace_reader tools/viewer src/trace/format.h cmake CMakeLists.txt \
      -newer "$1/stamp" -print -quit) ]]
}

command_trace() {
  case ${1:-} in
    -h | --help) help_for trace && exit 0 ;;
    '') bad_use trace "no trace file given" ;;
    -*) ;;
    *) [[ -e $1 ]] || bad_use trace "no such file: $1" ;;
  esac
  local tools
  if [[ -n $source_tree ]]; then
    need_build_tools trace
    find_build_root
    tools=$build_root/tools
    if ! tools_are_fresh "$tools"; then
      mkdir -p -- "$tools"
      exec {lock}>"$tools/lock"
      flock "$lock"
      if ! tools_are_fresh "$tools"; then
        say "building the trace viewer in ${tools/#$PWD\//}"
        touch -- "$tools/stamp.new"
        configure "$tools" release -DWEFT_BUILD_TESTS=OFF -DWEFT_BUILD_EXAMPLES=OFF -DWEFT_WERROR=OFF ||
          die "the tools could not be configured"
        ninja_build "$tools" weft-tools || die "the tools could not be built"
        mv -- "$tools/stamp.new" "$tools/stamp"
      fi
      exec {lock}>&-
    fi
  else
    # shellcheck source=/dev/null
    source "$weft_prefix/share/weft/weft.env"
    tools=$weft_tools
  fi
  [[ -x $tools/weft-tools ]] || die "this installation has no trace viewer"
  exec "$tools/weft-tools" trace "$@"
}
