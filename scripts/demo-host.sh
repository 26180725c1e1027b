#!/usr/bin/env bash
# Starts a daemon with a modelled host beside the one `make up` runs, so that there is something to see: a home of its own
# next to the real one, made anew each time, with its own journal, keys and socket. Nothing of it is ever in the real home.
#
#   demo-host.sh start HOLDFAST HOME PID   run it until the process PID ends or somebody stops it
#   demo-host.sh keep HOLDFAST HOME PID    the same in the foreground, on a home that is ready
#   demo-host.sh stop HOLDFAST HOME        stop it and remove its home
#
# HOLDFAST_DEMO_LISTEN is where its health is told (127.0.0.1:9094), HOLDFAST_DEMO_GATEWAY where it is looked at in a browser
# (127.0.0.1:9098), HOLDFAST_DEMO_SPEED how many times faster than real time its host lives (600).
#
# Exit codes: 0 good, 2 wrong usage, 3 it could not be started; whoever calls goes on without it.
set -euo pipefail

readonly LISTEN=${HOLDFAST_DEMO_LISTEN:-127.0.0.1:9094}
# Where it is looked at in a browser; its own port, so its own sessions.
readonly GATEWAY=${HOLDFAST_DEMO_GATEWAY:-127.0.0.1:9098}
# Ten minutes of its time in a second: its load rises after a minute and a bit.
readonly SPEED=${HOLDFAST_DEMO_SPEED:-600}
# Only a directory with this file in it is ever removed.
readonly MARK=a-demo-host-of-holdfast

main() {
  case "${1:-}" in
    start) [[ $# -eq 4 ]] || usage; start "$2" "$3" "$4" ;;
    keep) [[ $# -eq 4 ]] || usage; keep "$2" "$3" "$4" ;;
    stop) [[ $# -eq 3 ]] || usage; stop "$2" "$3" ;;
    *) usage ;;
  esac
}

usage() {
  echo "usage: demo-host.sh start HOLDFAST HOME PID | stop HOLDFAST HOME" >&2
  exit 2
}

start() {
  local holdfast=$1 home=$2 owner=$3
  stop "$holdfast" "$home"
  if [[ -e $home ]]; then
    echo "demo-host: $home is not a home it made, so there is no modelled host to see" >&2
    exit 3
  fi
  # New, or not at all: one that somebody else has just put there could lead anything written to it elsewhere.
  mkdir -p -- "$(dirname -- "$home")"
  if ! mkdir -m 0700 -- "$home"; then
    echo "demo-host: $home could not be made, so there is no modelled host to see" >&2
    exit 3
  fi
  : >"$home/$MARK"
  HOLDFAST_HOME=$home "$holdfast" init >"$home/log" 2>&1 || gone "$home"
  # It may do small things alone, because nothing but a model can come to harm.
  cat >"$home/etc/config.yaml" <<YAML
version: 1
health:
  listen: $LISTEN
gateway:
  listen: $GATEWAY
steward:
  targets:
    - { name: demo-1, driver: sim, seed: 7, speed: $SPEED, starts_at: tier-one }
YAML
  # On its own, so that a Ctrl-C meant for the real daemon does not end it half way.
  setsid --fork "$0" keep "$holdfast" "$home" "$owner" >/dev/null 2>&1 </dev/null
}

# Ends it with whoever it was started for, however that ends.
keep() {
  local holdfast=$1 home=$2 owner=$3
  HOLDFAST_HOME=$home "$holdfast" up >>"$home/log" 2>&1 &
  local daemon=$!
  while kill -0 "$owner" 2>/dev/null && kill -0 "$daemon" 2>/dev/null; do sleep 1; done
  kill -TERM "$daemon" 2>/dev/null || true
  wait "$daemon" || true
}

gone() {
  echo "demo-host: it could not be started; see $1/log" >&2
  exit 3
}

stop() {
  local holdfast=$1 home=$2
  [[ -f $home/$MARK && ! -L $home/$MARK ]] || return 0
  HOLDFAST_HOME=$home "$holdfast" down >/dev/null 2>&1 || true
  rm -rf -- "$home"
}

main "$@"
