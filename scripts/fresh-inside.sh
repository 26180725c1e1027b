#!/usr/bin/env bash
# The steps of `make fresh` that happen in the bare tree. Started there by fresh.sh, as root:
#
#   inside.sh USER clone|build|up|test
#
# It does what a person would do who has just been given the machine.
set -euo pipefail

readonly SHOWN=/mnt/fresh
readonly HEALTH_PORT=9095
# A release build from nothing on one slow core.
readonly UP_WITHIN_S=2400
# The daemon gives its parts 10 s to end.
readonly DOWN_WITHIN_S=30
readonly TEST_WITHIN_S=5400

main() {
  local user=$1 what=$2
  # On a real machine it would make a user who may be root without a password.
  [[ -f $SHOWN/holdfast.bundle ]] || fail "this is not the tree that fresh.sh makes; nothing was done"
  if [[ $user != root && $EUID -eq 0 ]]; then
    make_user "$user"
    exec runuser -u "$user" -- /bin/bash "$0" "$user" "$what"
  fi
  USER=$(id -un)
  HOME=$(getent passwd "$USER" | cut -d: -f6)
  export USER LOGNAME="$USER" HOME SHELL=/bin/bash PATH="/opt/rust/bin:$PATH"
  cd -- "$HOME"
  "step_$what"
}

make_user() {
  ! getent passwd "$1" >/dev/null || return 0
  useradd --create-home --shell /bin/bash "$1"
  echo "$1 ALL=(ALL) NOPASSWD: ALL" >"/etc/sudoers.d/$1"
}

step_clone() {
  [[ ! -d holdfast ]] || return 0
  if [[ -f $SHOWN/cargo-config.toml ]]; then
    mkdir -p .cargo
    cp -- "$SHOWN/cargo-config.toml" .cargo/config.toml
  fi
  cargo --version
  # A bundle is a repository in a file: cloned with no owner to be suspicious of and no network.
  git -c advice.detachedHead=false clone --quiet "$SHOWN/holdfast.bundle" holdfast
  git -C holdfast log -1 --format='cloned %h %s'
}

step_build() {
  cd holdfast
  scripts/setup.sh build
  cargo build --release --locked -p holdfast -p holdfast-cage -p holdfast-intruder
  target/release/holdfast --version
  check_clean
}

step_test() {
  cd holdfast
  timeout --kill-after=10 "$TEST_WITHIN_S" make test
  check_clean
}

# `make up` stays in the foreground, so it is started beside this and watched until it is healthy.
step_up() {
  cd holdfast
  local began=$SECONDS up
  make up >"$HOME/up.log" 2>&1 &
  up=$!
  until [[ $(health) == 200 ]]; do
    kill -0 "$up" 2>/dev/null || fail "make up ended before its health answered 200"
    [[ $((SECONDS - began)) -lt $UP_WITHIN_S ]] || fail "no health after $UP_WITHIN_S s"
    sleep 0.5
  done
  echo "healthy after $((SECONDS - began)) s"
  target/release/holdfast status
  make down
  wait_for_end "$up"
  [[ -z $(health) ]] || fail "make down left something that answers on port $HEALTH_PORT"
  # Stopping what does not run ends well, too.
  make down
  cat -- "$HOME/up.log"
  check_clean
}

wait_for_end() {
  local began=$SECONDS status=0
  while kill -0 "$1" 2>/dev/null; do
    [[ $((SECONDS - began)) -lt $DOWN_WITHIN_S ]] || fail "make up did not end within $DOWN_WITHIN_S s of make down"
    sleep 0.2
  done
  wait "$1" || status=$?
  [[ $status -eq 0 ]] || fail "make up ended with exit code $status after make down"
}

# The status code, or nothing when nobody answers.
health() {
  local code=""
  {
    printf 'GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n' >&3
    read -r -t 5 _ code _ <&3
  } 2>/dev/null 3<>"/dev/tcp/127.0.0.1/$HEALTH_PORT" || true
  echo "$code"
}

# Neither command may leave a file in the clone that git would see.
check_clean() {
  local left
  left=$(git status --porcelain)
  [[ -z $left ]] || fail "files were left or changed in the clone: $left"
}

fail() {
  [[ ! -f ${HOME-}/up.log ]] || cat -- "$HOME/up.log" >&2
  echo "inside: $1" >&2
  exit 1
}

main "$@"
