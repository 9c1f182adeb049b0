# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The component weft::tls, for `weft build --tls` and `weft run --tls`.

use_tls=''

# need_tls COMMAND: after need_library. Builds the component if --tls was given, and installs OpenSSL's headers for it.
need_tls() {
  local dir
  [[ -n $use_tls ]] || return 0
  if [[ -n $source_tree ]]; then
    dir=$(dirname -- "$weft_library")
    if [[ -z ${weft_tls_library:-} ]]; then
      want libssl-dev "OpenSSL's headers, for --tls"
      install_wanted "$1"
      cmake "$dir" >"$dir/configure.log" 2>&1 || die "the library could not be configured: see $dir/configure.log"
      # shellcheck source=/dev/null
      source "$dir/weft.env"
    fi
    if [[ -n ${weft_tls_library:-} && ! $weft_tls_library -nt $dir/library-stamp ]]; then
      exec {lock}>"$dir/lock"
      flock "$lock"
      ninja_build "$dir" weft_tls || die "weft::tls could not be built"
      touch -- "$weft_tls_library"
      exec {lock}>&-
    fi
  fi
  [[ -n ${weft_tls_library:-} && -f $weft_tls_library ]] ||
    die "this installation has no weft::tls: install libssl-dev, then build and install weft again"
}
