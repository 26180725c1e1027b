#!/usr/bin/env bash
# Prints where to sign in to a home: a one-time link while nobody has come in yet, the address afterwards.
#
#   sign-in-link.sh HOLDFAST HOME ADDRESS
#
# Exit codes: 0 printed, 2 wrong usage.
set -euo pipefail

[[ $# -eq 3 ]] || {
  echo "usage: sign-in-link.sh HOLDFAST HOME ADDRESS" >&2
  exit 2
}
if link=$(HOLDFAST_HOME=$2 "$1" --json gateway link 2>/dev/null | sed -n 's/.*"url":"\([^"]*\)".*/\1/p') && [[ -n $link ]]; then
  echo "$link   (once, within a quarter of an hour)"
else
  echo "$3"
fi
