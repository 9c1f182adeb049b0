# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Debian packages: which are missing, what for, and how to install them.

have() { command -v -- "$1" >/dev/null 2>&1; }

wanted=()   # packages to install
reasons=()  # what for, one each
want() {
  wanted+=("$1")
  reasons+=("$2")
}

# Does this package exist, as far as this machine can know?
apt_has() { ! have_package_lists || [[ $(apt-cache policy -- "$1" 2>/dev/null) =~ Candidate:\ [0-9] ]]; }

# Installs the wanted packages, as root or with sudo. If neither is possible, prints the command that would.
install_wanted() {
  ((${#wanted[@]})) || return 0
  local i sudo='' command
  say "missing for 'weft $1':"
  for i in "${!wanted[@]}"; do printf '  %-26s %s\n' "${wanted[$i]}" "${reasons[$i]}" >&2; done
  if ! have apt-get; then
    die "this system has no apt-get: install the above with its own package manager, then try again"
  fi
  ((EUID == 0)) || ! have sudo || sudo='sudo '
  command="${sudo}apt-get update && ${sudo}apt-get install -y --no-install-recommends ${wanted[*]}"
  if [[ ${WEFT_NO_INSTALL:-} == 1 ]]; then
    die "WEFT_NO_INSTALL=1, so nothing was installed. Run:"$'\n'"  $command"
  fi
  if ((EUID != 0)) && [[ -z $sudo ]]; then
    die "installing packages needs root, and there is no sudo here. As root, run:"$'\n'"  $command"
  fi
  if ((EUID != 0)) && ! { sudo -n true 2>/dev/null || [[ -t 0 && -t 2 ]]; }; then
    die "installing packages needs root, and sudo wants a password where nobody can type one. Run:"$'\n'"  $command"
  fi
  # On a terminal the user decides. Elsewhere, as in a container's build, nobody can be asked.
  if [[ ${yes:-no} != yes && -t 0 && -t 2 ]]; then
    local answer=''
    printf 'weft: install them with %sapt-get? [Y/n] ' "$sudo" >&2
    read -r answer || answer=no
    [[ -z $answer || $answer =~ ^[yY]([eE][sS])?$ ]] || die "nothing was installed. To do it by hand, run:"$'\n'"  $command"
  fi
  say "installing with ${sudo}apt-get"
  # The package lists of a fresh machine are empty or old. They are refreshed only if the installation fails.
  if ! { have_package_lists && apt_get install -y --no-install-recommends "${wanted[@]}"; }; then
    { apt_get update && apt_get install -y --no-install-recommends "${wanted[@]}"; } || {
      tail -n 20 -- "$apt_log" >&2
      die "apt-get failed. To see why, or when the network is back, run:"$'\n'"  $command"
    }
  fi
  rm -f -- "$apt_log"
  wanted=() reasons=()
  hash -r
}

have_package_lists() { ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1; }

# Runs apt-get as root or with sudo, and reduces its output to a line every ten packages.
apt_log=${TMPDIR:-/tmp}/weft-apt-$$.log
apt_get() {
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 -q)
  ((EUID == 0)) || apt=(sudo "${apt[@]}")
  "${apt[@]}" "$@" 2>&1 </dev/null | tee "$apt_log" | awk '
    /newly installed/ { total = $3 }
    /^Setting up/ { if (++done % 10 == 0) { printf "  [%d/%d]\n", done, total; fflush() } }' >&2
}
