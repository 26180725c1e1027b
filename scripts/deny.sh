#!/usr/bin/env bash
# Checks the licences, bans, sources and known vulnerabilities of our dependencies with cargo-deny.
#
#   deny.sh        bring cargo-deny, and check
#   deny.sh tool   only bring cargo-deny
#   deny.sh fetch  download the database of advisories with git, for the checks after it, where it can be had; never fails
#
# cargo-deny is compiled once, in the release named here and pinned in pins/crates.txt, into the folder of tools (HOLDFAST_TOOLS).
# Advisories are checked against a copy of RustSec's advisory-db: HOLDFAST_ADVISORY_DB names one, otherwise it is the one that cargo-deny or
# cargo-audit has fetched. Without a copy everything else is checked, and a warning says that nobody looked for known vulnerabilities.
# Exit codes: 0 good, 1 something was found, 2 wrong usage, 3 could not check.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
# shellcheck source=scripts/ours.sh
. scripts/ours.sh

readonly CRATE=cargo-deny-0.20.2
readonly TOOLS="${HOLDFAST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/tools}"
readonly DENY=$TOOLS/$CRATE/bin/cargo-deny
readonly HOME_OF_CARGO=${CARGO_HOME:-$HOME/.cargo}
# The folder that cargo-deny looks in: the name has a hash of the database's usual address.
readonly DB_NAME=advisory-db-3157b0e258782691
# After so many days a database says nothing of new advisories.
readonly OLD_AFTER_DAYS=60
readonly FETCH_WITHIN_S=60

main() {
  case "${1-}" in
    "") brought && check ;;
    tool) brought ;;
    fetch) brought && fetch ;;
    *)
      echo "usage: deny.sh [tool|fetch]" >&2
      exit 2
      ;;
  esac
}

# At every use: it may have been brought long ago, by somebody else where others may write.
brought() {
  bring
  is_ours "$DENY" || fail "others may write in $THEIRS, so cargo-deny is not run from there and no dependency was checked; take that right away"
}

bring() {
  [[ ! -x $DENY ]] || return 0
  mkdir -p -- "$TOOLS"
  # One at a time: `make test` comes here twice at once.
  exec 9>"$TOOLS/cargo-deny.lock"
  flock 9
  [[ ! -x $DENY ]] || return 0
  echo "deny: compiling $CRATE into $TOOLS, once" >&2
  HOLDFAST_COMPILE=debug scripts/pinned.sh crate "$TOOLS/$CRATE" "$CRATE" ||
    fail "cargo-deny could not be brought, so no dependency was checked"
  exec 9>&-
}

check() {
  local db config lock checks=(licenses bans sources) ended=0
  ASIDE=$(mktemp -d)
  trap 'rm -rf -- "$ASIDE"' EXIT
  config=$ASIDE/deny.toml
  db=$(database)
  if [[ -n $db ]]; then
    checks+=(advisories)
    # cargo-deny wants the clone that it made; the database is shown to it as one that was just fetched, and its age is told here.
    mkdir -p -- "$ASIDE/$DB_NAME/.git"
    ln -s -- "$db/crates" "$ASIDE/$DB_NAME/crates"
    : >"$ASIDE/$DB_NAME/.git/FETCH_HEAD"
    sed "s|^\[advisories\]\$|&\ndb-path = \"$ASIDE\"|" deny.toml >"$config"
    judged Cargo.toml "$config" "${checks[@]}" || ended=$?
    # What tests and benches are built with runs here as well.
    while read -r lock; do
      judged "${lock%.lock}.toml" "$config" advisories || ended=$?
    done < <(other_locks)
    tell_age "$db"
  else
    "$DENY" --log-level error --locked --config deny.toml check "${checks[@]}" || ended=$?
    warn "ADVISORIES WERE NOT CHECKED: there is no copy of RustSec's advisory-db on this machine." \
      "Nobody looked for known vulnerabilities in our dependencies; licences, bans and sources were checked." \
      "Clone it and set HOLDFAST_ADVISORY_DB to the clone, or run \`scripts/deny.sh fetch\` where it can be reached."
  fi
  ((ended == 0)) || exit 1
}

# judged MANIFEST CONFIG CHECK...: with what lies here alone; nothing is fetched while it is judged.
judged() {
  local manifest=$1 config=$2
  cargo fetch --quiet --locked --manifest-path "$manifest" </dev/null ||
    fail "what $manifest depends on could not be fetched, so no advisory was compared with it"
  "$DENY" --log-level error --offline --locked --manifest-path "$manifest" --config "$config" check "${@:3}" </dev/null || {
    echo "deny: $manifest did not pass" >&2
    return 1
  }
}

# Lock files beside that of the workspace.
other_locks() {
  find . -mindepth 2 \( -name target -o -name node_modules -o -name '.?*' \) -prune -o -name Cargo.lock -print | sort
}

# Prints the folder of the database, or nothing.
database() {
  local folder
  if [[ -n ${HOLDFAST_ADVISORY_DB-} ]]; then
    [[ -d $HOLDFAST_ADVISORY_DB/crates ]] || fail "HOLDFAST_ADVISORY_DB is not a copy of advisory-db: it has no folder crates"
    realpath -- "$HOLDFAST_ADVISORY_DB"
    return
  fi
  for folder in "$HOME_OF_CARGO/advisory-dbs/$DB_NAME" "$HOME_OF_CARGO/advisory-db"; do
    if [[ -d $folder/crates ]]; then
      realpath -- "$folder"
      return
    fi
  done
}

# By the newest advisory in it: times of files say when they were copied.
tell_age() {
  local newest days
  newest=$({ grep -rhoE --include='*.md' '^date = "[0-9-]{10}"' "$1/crates" || true; } | sort | tail -n 1 | cut -d '"' -f 2)
  days=$((($(date +%s) - $(date -d "${newest:-1970-01-01}" +%s)) / 86400))
  ((days <= OLD_AFTER_DAYS)) || warn "ADVISORIES ARE OLD: the newest one in $1 is of ${newest:-nobody knows when}." \
    "Vulnerabilities that became known in the last $days days were not looked for. Bring a newer copy."
}

fetch() {
  GIT_TERMINAL_PROMPT=0 timeout "$FETCH_WITHIN_S" "$DENY" --log-level error --config deny.toml fetch db >/dev/null 2>&1 ||
    echo "deny: the database of advisories could not be fetched; one that is here already is used" >&2
}

warn() {
  local bold='' plain=''
  [[ ! -t 2 || -n ${NO_COLOR-} ]] || bold=$'\e[1;31m' plain=$'\e[0m'
  printf '%s!! deny: %s%s\n' "$bold" "$1" "$plain" >&2
  shift
  printf '!!       %s\n' "$@" >&2
}

fail() {
  echo "deny: $1" >&2
  exit 3
}

main "$@"
