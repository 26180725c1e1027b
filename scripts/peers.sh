#!/usr/bin/env bash
# Installs the scanners and the library for change points `holdfast-bench` compares with, in the versions the page speaks of, beside the other caches.
#
# Needs python3 with venv (`setup.sh bench` brings it), cargo and the network. Says nothing and opens no connection when all is there.
# Exit codes: 0 all is there, 3 something could not be installed.
set -euo pipefail

readonly PEERS="${HOLDFAST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/tools}/peers"
readonly PYTHON_PEERS=(kingfisher-bin==2.14.0 detect-secrets==1.5.0 credsweeper==1.19.5 ruptures==1.1.10)
readonly RIPSECRETS=0.1.11
# What is installed is written here last, so that a change of versions above is noticed.
readonly STAMP="$PEERS/installed"

main() {
  local wanted="${PYTHON_PEERS[*]} ripsecrets==$RIPSECRETS"
  if [[ -f $STAMP && $(<"$STAMP") == "$wanted" ]]; then return 0; fi
  echo "peers: installing $wanted into $PEERS" >&2
  mkdir -p "$PEERS"
  install_python || fail "what comes from PyPI could not be installed (Debian's Python needs the package python3-venv)"
  install_ripsecrets || fail "ripsecrets could not be built"
  printf '%s\n' "$wanted" >"$STAMP"
}

install_python() {
  python3 -m venv --clear "$PEERS/python" \
    && "$PEERS/python/bin/pip" install --quiet --disable-pip-version-check "${PYTHON_PEERS[@]}"
}

install_ripsecrets() {
  cargo install --quiet --locked --version "$RIPSECRETS" --root "$PEERS/rust" ripsecrets
}

fail() {
  echo "peers: $1; the lines above say why" >&2
  exit 3
}

main
