#!/usr/bin/env bash
# Installs the program that reads the API's document and tries what it says (schemathesis), at fixed versions and outside the clone; with
# `run ADDRESS EXAMPLES` it is run against a gateway there, with the token in HOLDFAST_TOKEN: all that follows from the document alone, and so many
# examples of each call made up beside it.
# Does nothing and says nothing when it is there.
# Exit codes: 0 it is there, or nothing was found; 1 something was found; 2 wrong use; 3 it could not be installed.
set -euo pipefail

readonly PACKAGES=(schemathesis==4.32.5 anyio==4.16.0 certifi==2026.10.18 charset-normalizer==3.5.2 click==8.5.1 graphql-core==3.3.2
  harfile==0.6.0 hypothesis==6.170.15 hypothesis-graphql==0.13.5 idna==3.20 iniconfig==2.3.1 jsonschema_rs==0.60.3
  markdown-it-py==4.3.0 MarkupSafe==3.0.4 mdurl==0.1.2 packaging==26.3 pluggy==1.7.0 Pygments==2.21.0 pyrate-limiter==4.5.1
  pytest==9.2.0 PyYAML==6.0.3 requests==2.34.2 rich==15.0.0 sortedcontainers==2.4.0 typing_extensions==4.16.0 urllib3==2.8.0
  Werkzeug==3.1.9)
readonly FOLDER="${HOLDFAST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/tools}/schemathesis"
# What is installed is written here last, so that a change of versions above is noticed.
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
  if [[ -f $STAMP && $(<"$STAMP") == "${PACKAGES[*]}" ]]; then return 0; fi
  echo "schemathesis: installing ${PACKAGES[0]} and what it needs into $FOLDER" >&2
  mkdir -p "$FOLDER"
  python3 -m venv --clear "$FOLDER" || fail "there is no venv (Debian's Python needs the package python3-venv)"
  "$FOLDER/bin/pip" install --quiet --disable-pip-version-check --no-input --no-deps --only-binary :all: "${PACKAGES[@]}" >&2 \
    || fail "it could not be installed"
  printf '%s\n' "${PACKAGES[*]}" >"$STAMP"
}

# In a folder of its own: it reads settings and hooks from where it runs, and leaves traces there.
tried() {
  local address=$1 phases=examples,coverage
  if (($2 > 0)); then phases+=,fuzzing,stateful; fi
  place=$(mktemp -d)
  trap 'rm -rf "$place"' EXIT
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

fail() {
  echo "schemathesis: $1; the lines above say why" >&2
  exit 3
}

main "$@"
