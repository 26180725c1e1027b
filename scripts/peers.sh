#!/usr/bin/env bash
# Installs what `holdfast-bench` compares with (scanners, a library for change points, embedders, an index of vectors), in the versions the page
# speaks of, beside the other caches.
#
# Needs python3 with venv, a C++ compiler (`setup.sh bench` brings them), cargo and the network. Says nothing and opens no connection when all is there.
# Exit codes: 0 all is there, 3 something could not be installed.
set -euo pipefail

readonly PEERS="${HOLDFAST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/tools}/peers"
readonly PYTHON_PEERS=(kingfisher-bin==2.14.0 detect-secrets==1.5.0 credsweeper==1.19.5 ruptures==1.1.10)
# In an environment of its own: one of the scanners holds numpy and onnxruntime to versions of its own.
readonly MEMORY_PEERS=(hnswlib==0.8.0 numpy==2.4.6 onnx==1.23.2 onnxruntime==1.31.1)
# Without what it names as needed, which is for downloading models.
readonly TOKENIZERS=0.23.3
readonly RIPSECRETS=0.1.11
# Its version is in its own lock file.
readonly CANDLE=bench/candle
# What is installed is written here last, so that a change of versions above is noticed.
readonly STAMP="$PEERS/installed"

main() {
  cd "$(dirname "$0")/.."
  local wanted candle
  candle=$(cat "$CANDLE/Cargo.lock" "$CANDLE/src/main.rs" | sha256sum | cut -c 1-12)
  wanted="${PYTHON_PEERS[*]} ${MEMORY_PEERS[*]} tokenizers==$TOKENIZERS ripsecrets==$RIPSECRETS candle-peer@$candle"
  if [[ -f $STAMP && $(<"$STAMP") == "$wanted" ]]; then return 0; fi
  echo "peers: installing $wanted into $PEERS" >&2
  mkdir -p "$PEERS"
  install_python python "${PYTHON_PEERS[@]}" || fail "what comes from PyPI could not be installed (Debian's Python needs the package python3-venv)"
  install_python memory "${MEMORY_PEERS[@]}" || fail "memory's peers could not be installed from PyPI (hnswlib is compiled: it needs a C++ compiler and Python's headers)"
  pip memory --no-deps "tokenizers==$TOKENIZERS" || fail "tokenizers could not be installed"
  install_ripsecrets || fail "ripsecrets could not be built"
  install_candle || fail "candle could not be built"
  printf '%s\n' "$wanted" >"$STAMP"
}

install_python() {
  local name=$1
  shift
  python3 -m venv --clear "$PEERS/$name" && pip "$name" "$@"
}

pip() {
  local name=$1
  shift
  "$PEERS/$name/bin/pip" install --quiet --disable-pip-version-check "$@"
}

install_ripsecrets() {
  cargo install --quiet --locked --version "$RIPSECRETS" --root "$PEERS/rust" ripsecrets
}

install_candle() {
  # Built aside and thrown away: a target directory of its own would stay in the tree.
  cargo install --quiet --locked --force --path "$CANDLE" --root "$PEERS/rust" --target-dir "$PEERS/building" \
    && rm -rf "$PEERS/building"
}

fail() {
  echo "peers: $1; the lines above say why" >&2
  exit 3
}

main
