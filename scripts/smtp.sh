#!/usr/bin/env bash
# Installs the mail server that the tests hand mail in at, at a fixed version and outside the clone.
# Does nothing and says nothing when it is there.
# Exit codes: 0 it is there, 3 it could not be installed.
set -euo pipefail

readonly PACKAGES=(aiosmtpd==1.4.6 atpublic==7.0.0 attrs==25.4.0)
readonly FOLDER="${HOLDFAST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/tools}/smtp"
# What is installed is written here last, so that a change of versions above is noticed.
readonly STAMP="$FOLDER/installed"

main() {
  if [[ -f $STAMP && $(<"$STAMP") == "${PACKAGES[*]}" ]]; then return 0; fi
  echo "smtp: installing ${PACKAGES[*]} into $FOLDER" >&2
  mkdir -p "$FOLDER"
  python3 -m venv --clear "$FOLDER" || fail "there is no venv (Debian's Python needs the package python3-venv)"
  "$FOLDER/bin/pip" install --quiet --disable-pip-version-check --no-input --no-deps --only-binary :all: "${PACKAGES[@]}" >&2 \
    || fail "it could not be installed"
  printf '%s\n' "${PACKAGES[*]}" >"$STAMP"
}

fail() {
  echo "smtp: $1; the lines above say why" >&2
  exit 3
}

main
