#!/usr/bin/env bash
# Builds the doorman for targets: one small static file that needs no library there. Proves that it is, and says where it lies.
#
#   doorman.sh         build and prove
#   doorman.sh guests  that, and let it answer in a guest of every release of the lab
#
# Exit codes: 0 it is what it should be, 2 wrong usage, otherwise that of the step that failed.
set -euo pipefail
cd "$(dirname "$0")/.."

# It is copied to machines of other people, over lines that may be slow.
readonly BYTES_MAX=$((5 * 1000 * 1000))

main() {
  case "${1-}" in
    "" | guests) ;;
    *)
      echo "usage: doorman.sh [guests]" >&2
      exit 2
      ;;
  esac
  local target file
  target=$(rustc -vV | awk '$1 == "host:" { print $2 }')
  # The target is named even though it is this machine's: otherwise the flags would also hold for what runs while building.
  RUSTFLAGS="-C target-feature=+crt-static" cargo build --quiet --locked --profile small --target "$target" -p holdfast-doorman
  file=$(realpath -- "${CARGO_TARGET_DIR:-target}/$target/small/holdfast-doorman")
  prove "$file"
  tell "$file"
  if [[ ${1-} == guests ]]; then
    cargo run -q --locked -p holdfast-testkit --example doorman-in-guests -- "$file"
  fi
}

prove() {
  local headers
  headers=$(readelf --wide --program-headers --dynamic "$1")
  [[ $headers != *INTERP* && $headers != *NEEDED* ]] || fail "$1 wants a loader or a library"
  (($(stat -c %s -- "$1") < BYTES_MAX)) || fail "$1 is larger than $BYTES_MAX bytes"
  env -i "$1" --version >/dev/null || fail "$1 does not run"
}

tell() {
  echo "file     $1"
  echo "is       $(env -i "$1" --version), static, $(stat -c %s -- "$1") bytes"
  echo "sha256   $(sha256sum -- "$1" | cut -d ' ' -f 1)"
}

fail() {
  echo "doorman: $1" >&2
  exit 1
}

main "$@"
