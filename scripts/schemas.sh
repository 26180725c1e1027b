#!/usr/bin/env bash
# Puts the schemas of CycloneDX, by which a test judges the package's list of parts, beside the other caches, from the Python package that carries
# them. Does nothing and says nothing when they are there. Runs nothing of what it downloads.
# Exit codes: 0 they are there, 3 they could not be had.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
# shellcheck source=scripts/ours.sh
. scripts/ours.sh

readonly FOLDER="${HOLDFAST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/tools}/cyclonedx"
readonly STAMP="$FOLDER/installed"
readonly NAMES=(bom-1.5 spdx jsf-0.82)

main() {
  local wanted name
  wanted=$(scripts/pinned.sh sum cyclonedx)
  if [[ -f $STAMP && $(<"$STAMP") == "$wanted" ]]; then return 0; fi
  echo "schemas: fetching those of CycloneDX into $FOLDER" >&2
  mkdir -p "$FOLDER"
  ASIDE=$(mktemp -d -- "$FOLDER.XXXXXX")
  trap 'rm -rf -- "$ASIDE"' EXIT
  scripts/pinned.sh wheel "$ASIDE" cyclonedx
  for name in "${NAMES[@]}"; do
    "$(program python3)" -I - "$ASIDE"/*.whl "cyclonedx/schema/_res/$name.SNAPSHOT.schema.json" >"$FOLDER/$name.json" <<'PYTHON'
import shutil, sys, zipfile
shutil.copyfileobj(zipfile.ZipFile(sys.argv[1]).open(sys.argv[2]), sys.stdout.buffer)
PYTHON
  done
  printf '%s\n' "$wanted" >"$STAMP"
}

main
