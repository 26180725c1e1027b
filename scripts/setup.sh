#!/usr/bin/env bash
# Installs the Debian packages the build, the tests and the benches need, where they are missing.
# Does nothing and says nothing when all is there. Needs root or sudo only when something is missing.
set -euo pipefail

# command → package that brings it
declare -A needs=(
  [cc]=gcc
  [shellcheck]=shellcheck
  [openssl]=openssl
  [mount]=mount
  [strace]=strace
  [git]=git
  [python3]=python3-minimal
)

missing=()
for command in "${!needs[@]}"; do
  command -v "$command" >/dev/null 2>&1 || missing+=("${needs[$command]}")
done
# A compiler without the C library's headers cannot build the C parts of dependencies.
[[ -e /usr/include/stdio.h ]] || missing+=(libc6-dev)

if [[ ${#missing[@]} -gt 0 ]]; then
  as_root=()
  if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null 2>&1; then
      echo "setup: missing ${missing[*]}; run this as root, or install sudo" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "setup: installing ${missing[*]}" >&2
  export DEBIAN_FRONTEND=noninteractive
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

if ! command -v cargo >/dev/null 2>&1; then
  echo "setup: no cargo found; install Rust 1.95 or newer first" >&2
  exit 1
fi
