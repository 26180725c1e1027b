#!/usr/bin/env bash
# Installs what `holdfast-bench` compares with (scanners, a library for change points, embedders, an index of vectors), in the versions the page
# speaks of (pins/peers.txt, memory.txt and tokenizers.txt), beside the other caches.
#
# Needs python3 with venv, a C++ compiler (`setup.sh bench` brings them), cargo and the network. Says nothing and opens no connection when all is there.
# Exit codes: 0 all is there, 3 something could not be installed.
set -euo pipefail
umask 022

readonly PEERS="${HOLDFAST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/tools}/peers"
readonly RIPSECRETS=ripsecrets-0.1.11
# Its version is in its own lock file.
readonly CANDLE=bench/candle
# What is installed is written here last, so that a change of versions is noticed.
readonly STAMP="$PEERS/installed"

main() {
  cd "$(dirname "$0")/.."
  local wanted candle
  candle=$(cat "$CANDLE/Cargo.lock" "$CANDLE/src/main.rs" | sha256sum | cut -c 1-12)
  wanted="$(scripts/pinned.sh sum build peers memory tokenizers) $RIPSECRETS candle-peer@$candle"
  if [[ -f $STAMP && $(<"$STAMP") == "$wanted" ]]; then return 0; fi
  echo "peers: installing what is compared with into $PEERS" >&2
  mkdir -p "$PEERS"
  scripts/pinned.sh python "$PEERS/python" build peers || fail "what comes from PyPI could not be installed"
  # In an environment of its own: one of the scanners holds numpy and onnxruntime to versions of its own. tokenizers comes without what it
  # names as needed, which is for downloading models.
  scripts/pinned.sh python "$PEERS/memory" build memory tokenizers ||
    fail "memory's peers could not be installed from PyPI (hnswlib is compiled: it needs a C++ compiler and Python's headers)"
  scripts/pinned.sh crate "$PEERS/rust" "$RIPSECRETS" || fail "ripsecrets could not be built"
  install_candle || fail "candle could not be built"
  printf '%s\n' "$wanted" >"$STAMP"
}

install_candle() {
  # Built aside and thrown away: a target directory of its own would stay in the tree.
  cargo install --quiet --locked --force --path "$CANDLE" --root "$PEERS/rust" --target-dir "$PEERS/building" \
    && rm -rf -- "$PEERS/building"
}

fail() {
  echo "peers: $1; the lines above say why" >&2
  exit 3
}

main
