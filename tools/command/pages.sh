#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pages.sh VERSION DIRECTORY: manual pages and completions, made from what `weft help` prints:
#   man/weft.1, man/weft-COMMAND.1, completion/weft (bash), completion/_weft (zsh)
set -euo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# shellcheck source=tools/command/help.sh
source "$here/help.sh"
version=$1 out=$2
mkdir -p -- "$out/man" "$out/completion"

# Of the lines `  run PROGRAM.cpp [args]       compile a program with weft and run it`.
commands=$(help_for '' | sed -n '/^usage/,/^Environment/s/^  \([a-z][a-z]*\) .*/\1/p')
summary_of() { help_for '' | grep "^  $1 " | cut -c 32-; }  # the column where all of them begin

# Text as roff shows it unchanged.
plain() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^\([.']\)/\\\\\&\1/"; }

# options_of COMMAND: each --flag that its page names, one for each value where those are listed (--preempt=off|entry|loops).
options_of() {
  local flag value
  help_for "$1" | grep -v '^  weft ' | grep -oE -- '(^|[[ (])--?[a-z][a-z-]*(=[a-z]+(\|[a-z]+)+)?' | sed 's/^[[ (]//' | sort -u | while read -r flag; do
    case $flag in
      --*=*) for value in $(tr '|' ' ' <<<"${flag#*=}"); do echo "${flag%%=*}=$value"; done ;;
      --* | -o) echo "$flag" ;;
    esac
  done | sort -u | awk -F= '{ all[NR] = $0; if (NF > 1) valued[$1] = 1 } END { for (i = 1; i <= NR; ++i) if (!(all[i] in valued)) print all[i] }'
}

page() {
  local command=$1 name=weft${1:+-$1} summary
  summary=$([[ -n $command ]] && summary_of "$command" || echo 'goroutines for C++: compile, run, trace')
  printf '.TH %s 1 "" "weft %s" "weft"\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.nf\n' "${name^^}" "$version" "$name" "$(plain <<<"$summary")"
  help_for "$command" | sed -n 's/^usage: //p' | plain
  printf '.fi\n.SH DESCRIPTION\n.nf\n'
  help_for "$command" | sed '1{/^usage: /d;}' | sed '1{/^$/d;}' | plain
  printf '.fi\n.SH SEE ALSO\n'
  { [[ -z $command ]] || echo weft; for one in $commands; do [[ $one == "$command" || $one == help ]] || echo "weft-$one"; done; } |
    sed -e 's/.*/.BR & (1)/' -e 's/-/\\-/' -e '$!s/$/,/'
}

page '' >"$out/man/weft.1"
for command in $commands; do
  [[ $command == help ]] || page "$command" >"$out/man/weft-$command.1"
done

{
  printf '# Made from the help of weft %s by pages.sh.\n_weft() {\n' "$version"
  printf '  local word=${COMP_WORDS[COMP_CWORD]} words=\n  COMP_WORDBREAKS=${COMP_WORDBREAKS//=}\n'
  printf '  if ((COMP_CWORD == 1)); then\n    words="%s --help --version"\n' "$(tr '\n' ' ' <<<"$commands" | sed 's/ $//')"
  printf '  else\n    case ${COMP_WORDS[1]} in\n'
  for command in $commands; do
    if [[ $command == help ]]; then words=$(tr '\n' ' ' <<<"$commands"); else words=$({ options_of "$command"; echo --help; } | sort -u | tr '\n' ' '); fi
    printf '      %s) words="%s" ;;\n' "$command" "${words% }"
  done
  # shellcheck disable=SC2016
  printf '    esac\n  fi\n  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")\n}\ncomplete -o default -F _weft weft\n'
} >"$out/completion/weft"

{
  printf '#compdef weft\n# Made from the help of weft %s by pages.sh.\nif ((CURRENT == 2)); then\n  local -a commands=(\n' "$version"
  for command in $commands; do printf "    '%s:%s'\n" "$command" "$(summary_of "$command" | sed "s/'/'\\\\''/g")"; done
  # shellcheck disable=SC2016
  printf '  )\n  _describe command commands\n  return\nfi\ncase $words[2] in\n'
  for command in $commands; do
    [[ $command == help ]] && continue
    printf '  %s) compadd -- %s ;;\n' "$command" "$({ options_of "$command"; echo --help; } | sort -u | tr '\n' ' ')"
  done
  printf '  help) compadd -- %s ;;\nesac\n_files\n' "$(tr '\n' ' ' <<<"$commands")"
} >"$out/completion/_weft"
