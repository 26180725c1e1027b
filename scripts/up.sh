#!/usr/bin/env bash
# Builds the product, makes its home if there is none yet, and runs it in the foreground until it is stopped.
# The same for root and for a user: one directory, loopback, nothing in /etc, no users made.
# The exit code is the daemon's own (docs/exit-codes.md), or that of the step that failed before it.
set -euo pipefail
cd "$(dirname "$0")/.."

bring_model() {
  scripts/model.sh || echo 'up: until there is an embedding model, memory goes by words; docs/memory.md says how to bring it' >&2
}

scripts/setup.sh build
cargo build --release --locked -p holdfast -p holdfast-cage -p holdfast-intruder -p holdfast-tripwire

# Absolute, since it is shown for use from anywhere.
holdfast=$(realpath -- "${CARGO_TARGET_DIR:-target}/release/holdfast")
export HOLDFAST_HOME="${HOLDFAST_HOME:-$HOME/.local/state/holdfast}"

# Making a home is worth a report; finding it complete is not.
if [[ -e $HOLDFAST_HOME/state/journal/META ]]; then
  "$holdfast" init >/dev/null
else
  "$holdfast" init
fi

# What finds memories by meaning, some 87 MiB on the first run, beside everything else. A child of nobody here, since this shell becomes the daemon.
(bring_model &)

# A modelled host in a home of its own, unless it is not wanted. Without it the product runs all the same.
demo="$HOLDFAST_HOME-demo"
demo_gateway=${HOLDFAST_DEMO_GATEWAY:-127.0.0.1:9098}
demo_line=
if [[ ${HOLDFAST_NO_DEMO_HOST:-} != 1 ]] && scripts/demo-host.sh start "$holdfast" "$demo" $$; then
  printf -v demo_line '\n  to see   HOLDFAST_HOME=%q %q steward status   (a modelled host at work)' "$demo" "$holdfast"
  link=$(scripts/sign-in-link.sh "$holdfast" "$demo" "http://localhost:${demo_gateway##*:}")
  demo_line+=$'\n  modelled '"$link"
fi

# As it can be pasted into a shell.
printf -v again 'HOLDFAST_HOME=%q %q' "$HOLDFAST_HOME" "$holdfast"
cat >&2 <<TEXT

Holdfast runs in the foreground from here on.
  home     $HOLDFAST_HOME
  sign in  $(scripts/sign-in-link.sh "$holdfast" "$HOLDFAST_HOME" http://localhost:9096)
  health   http://127.0.0.1:9095/health
  look     $again status$demo_line
  stop     Ctrl-C, or \`make down\` from elsewhere

TEXT
# In place of this shell, so that signals and the exit code are the daemon's own.
exec "$holdfast" up
