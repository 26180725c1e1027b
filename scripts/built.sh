#!/usr/bin/env bash
# Builds the tests of the whole workspace without running them. A warning of the compiler is an error here, so that none lands: those of
# crates that were built before are told again by cargo, and count as well.
# Exit codes: 0 built without a warning, 1 there are warnings, otherwise what cargo ended with.
set -euo pipefail
cd "$(dirname "$0")/.."

said=$(mktemp)
trap 'rm -f "$said"' EXIT
built=0
cargo test --no-run -q --workspace --locked 2>"$said" || built=$?
cat "$said" >&2
if ((built != 0)); then exit "$built"; fi
# In colour, a word of the compiler's begins with an escape.
if grep -Eq $'^(\e\\[[0-9;]*m)*warning' "$said"; then
  echo "built: the compiler warns, and a warning does not land; the lines above say where" >&2
  exit 1
fi
