#!/usr/bin/env bash
# Installs the mail server that the tests hand mail in at, as pinned in pins/smtp.txt and outside the clone.
# Does nothing and says nothing when it is there.
# Exit codes: 0 it is there, 3 it could not be installed.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."

readonly FOLDER="${HOLDFAST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/tools}/smtp"
# What is installed is written here last, so that a change of pins is noticed.
readonly STAMP="$FOLDER/installed"

main() {
  local wanted
  wanted=$(scripts/pinned.sh sum smtp)
  if [[ -f $STAMP && $(<"$STAMP") == "$wanted" ]]; then return 0; fi
  echo "smtp: installing the mail server for tests into $FOLDER" >&2
  scripts/pinned.sh python "$FOLDER" smtp
  printf '%s\n' "$wanted" >"$STAMP"
}

main
