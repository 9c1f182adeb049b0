# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The messages of the weft command, and how it gives up.

say() { printf 'weft: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}
# bad_use COMMAND MESSAGE: prints what was wrong and the usage, exit 2.
bad_use() {
  say "$2"
  if [[ -n $1 ]]; then
    help_for "$1" | sed -n '/^usage:/p' >&2
    say "'weft help $1' says more"
  else
    help_for '' >&2
  fi
  exit 2
}
