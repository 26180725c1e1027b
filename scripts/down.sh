#!/usr/bin/env bash
# Stops the daemon that runs on this home, waits until it has ended, and says what stays. Ends well when none runs.
set -euo pipefail
cd "$(dirname "$0")/.."

holdfast="${CARGO_TARGET_DIR:-target}/release/holdfast"
export HOLDFAST_HOME="${HOLDFAST_HOME:-$HOME/.local/state/holdfast}"

if [[ ! -x $holdfast ]]; then
  echo "Holdfast was never built here, so nothing of it runs from this clone."
else
  "$holdfast" down
  scripts/demo-host.sh stop "$holdfast" "$HOLDFAST_HOME-demo"
fi

if [[ -d $HOLDFAST_HOME ]]; then
  # Files of a home may come and go while they are counted.
  size=$(du -sh -- "$HOLDFAST_HOME" 2>/dev/null | cut -f1) || true
  echo "Kept: $HOLDFAST_HOME${size:+ ($size)}. Its etc/ holds the keys, and they are nowhere else."
  [[ ! -x $holdfast ]] || printf 'To remove it: HOLDFAST_HOME=%q %q uninstall\n' "$HOLDFAST_HOME" "$(realpath -- "$holdfast")"
else
  echo "There is no home at $HOLDFAST_HOME."
fi
