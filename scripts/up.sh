#!/usr/bin/env bash
# Builds the product, makes its home if there is none yet, and checks the journal.
# The same for root and for a user: one directory, nothing in /etc, no users made.
set -euo pipefail
cd "$(dirname "$0")/.."

export HOLDFAST_HOME="${HOLDFAST_HOME:-$HOME/.local/state/holdfast}"
cargo build --release --locked -p holdfast
holdfast="${CARGO_TARGET_DIR:-target}/release/holdfast"
"$holdfast" init
"$holdfast" audit verify
cat >&2 <<TEXT

Nothing runs in the background yet: the journal is opened by each command and closed again.
  home      $HOLDFAST_HOME
  try       HOLDFAST_HOME=$HOLDFAST_HOME $holdfast audit tail
  undo      make down, then remove the home if you want nothing kept
TEXT
