#!/usr/bin/env bash
# Installs the program that reads the API's document and tries what it says (schemathesis), as pinned in
# pins/schemathesis.txt and outside the clone; with
# `run ADDRESS EXAMPLES` it is run against a gateway there, with the token in HOLDFAST_TOKEN: all that follows from the document alone, and so many
# examples of each call made up beside it.
# Does nothing and says nothing when it is there.
# Exit codes: 0 it is there, or nothing was found; 1 something was found; 2 wrong use; 3 it could not be installed.
set -euo pipefail
umask 022
# shellcheck source=scripts/ours.sh
. "$(dirname -- "$0")/ours.sh"

readonly FOLDER="${HOLDFAST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/tools}/schemathesis"
# What is installed is written here last, so that a change of pins is noticed.
readonly STAMP="$FOLDER/installed"

main() {
  brought
  case "${1:-}" in
    "") ;;
    run) tried "${2:?an address}" "${3:?how many examples}" ;;
    *) echo "schemathesis: nothing is called '$1' here" >&2; exit 2 ;;
  esac
}

brought() {
  local scripts wanted
  scripts=$(dirname -- "$0")
  wanted=$("$scripts/pinned.sh" sum schemathesis)
  if [[ -f $STAMP && $(<"$STAMP") == "$wanted" ]]; then return 0; fi
  echo "schemathesis: installing it and what it needs into $FOLDER" >&2
  "$scripts/pinned.sh" python "$FOLDER" schemathesis
  printf '%s\n' "$wanted" >"$STAMP"
}

fail() {
  echo "schemathesis: $1" >&2
  exit 3
}

# In a folder of its own: it reads settings and hooks from where it runs, and leaves traces there.
tried() {
  local address=$1 phases=examples,coverage
  is_ours "$FOLDER/bin/schemathesis" || fail "others may write in $THEIRS, so it is not run from there; take that right away"
  if (($2 > 0)); then phases+=,fuzzing,stateful; fi
  place=$(mktemp -d)
  trap 'rm -rf -- "$place"' EXIT
  settings >"$place/schemathesis.toml"
  hooks >"$place/hooks.py"
  cd "$place"
  export SCHEMATHESIS_HOOKS=hooks
  PYTHONPATH=$place PYTHONDONTWRITEBYTECODE=1 "$FOLDER/bin/schemathesis" --config-file "$place/schemathesis.toml" run \
    "$address/api/v1/openapi.json" --url "$address" --phases "$phases" --max-examples "$(($2 > 0 ? $2 : 1))" \
    --seed 7 --no-color --exclude-path /api/v1/events
}

# A call that fits may still be refused for what is there: something else has happened to it, it is gone, or it says nothing new.
settings() {
  cat <<'TOML'
headers = { Authorization = "Bearer ${HOLDFAST_TOKEN}" }
request-timeout = 20
generation.database = "none"

# The door answers TRACE and CONNECT for all that is behind it, and refuses them.
[phases.coverage]
unexpected-methods = ["get", "put", "post", "delete", "options", "patch"]

[checks]
ignored_auth.enabled = false
positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "410", "422", "429", "503"]
TOML
}

hooks() {
  cat <<'PYTHON'
import json
from urllib.parse import unquote

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(ctx, value):
    if isinstance(value, (bytes, str)):
        return value if isinstance(value, bytes) else value.encode()
    items = value if isinstance(value, list) else [value]
    return "".join(json.dumps(item) + "\n" for item in items).encode()


@schemathesis.hook
def filter_path_parameters(ctx, path_parameters):
    # What has a control character in its path, the door refuses before it is a call.
    texts = [unquote(value) for value in (path_parameters or {}).values() if isinstance(value, str)]
    return all(ord(char) >= 0x20 and ord(char) not in (0x5C, 0x7F) for text in texts for char in text)
PYTHON
}

main "$@"
