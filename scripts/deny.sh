#!/usr/bin/env bash
# Licences, bans and sources of dependencies, by cargo-deny where it is installed.
# It is not built by setup: that takes longer than everything else together.
set -euo pipefail

if command -v cargo-deny >/dev/null 2>&1; then
  cargo deny --log-level error check licenses bans sources
else
  echo "lint: cargo-deny is not installed, so licences and sources of dependencies were not checked" >&2
fi
