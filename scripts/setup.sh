#!/usr/bin/env bash
# Installs the Debian packages one of the everyday commands needs, where they are missing.
#
#   setup.sh build   what `make up` needs
#   setup.sh test    that, and what the tests with their lab, the linters and the benches need
#   setup.sh bench   that, and what peers are compiled with
#   setup.sh fresh   what `make fresh` needs
#
# Says in one line what it installs. Does nothing, says nothing and opens no package list when all is there.
# Needs root or sudo only when something is missing.
# Exit codes: 0 all is there, 2 wrong usage, 3 something is missing and could not be installed.
set -euo pipefail
umask 022
# shellcheck source=scripts/ours.sh
. "$(dirname -- "$0")/ours.sh"

# A line each: what is looked for (a command, a file by its path, or a module of Python), and the package that brings it.
# A compiler without the C library's headers cannot build the C parts of dependencies. pydoc3 comes with Python's whole
# standard library, which a bare python3 may lack.
readonly BUILD='
cc                    gcc
/usr/include/stdio.h  libc6-dev'
readonly TEST='
/usr/sbin/mke2fs      e2fsprogs
/usr/share/zoneinfo/Europe/Brussels tzdata
age                   age
bwrap                 bubblewrap
chromedriver          chromium-driver
chromium              chromium
git                   git
ip                    iproute2
mmdebstrap            mmdebstrap
mount                 mount
/usr/sbin/nft         nftables
/usr/sbin/nginx       nginx-light
nix-instantiate       nix-bin
node                  nodejs
npm                   npm
openssl               openssl
pebble                pebble
pydoc3                python3
python:ensurepip      python3-venv
qemu-system-x86_64    qemu-system-x86
shellcheck            shellcheck
ssh                   openssh-client
strace                strace
systemd-nspawn        systemd-container
tmux                  tmux'
# What one of memory's peers is compiled with.
readonly BENCH='
c++                   g++
python3-config        python3-dev'
readonly FRESH='
git                   git
mmdebstrap            mmdebstrap
mount                 mount
unshare               util-linux'

main() {
  case "${1-}" in
    build) install_missing "$BUILD" && require_cargo ;;
    test) install_missing "$BUILD$TEST" && require_cargo && fetch_promtool ;;
    bench) install_missing "$BUILD$TEST$BENCH" && require_cargo && fetch_promtool ;;
    fresh) install_missing "$FRESH" && require_cargo ;;
    *)
      echo "usage: setup.sh build|test|bench|fresh" >&2
      exit 2
      ;;
  esac
}

install_missing() {
  local sought package missing=()
  while read -r sought package; do
    [[ -z $sought ]] || is_there "$sought" || missing+=("$package")
  done <<<"$1"
  [[ ${#missing[@]} -gt 0 ]] || return 0
  if ! command -v apt-get >/dev/null; then
    fail "${missing[*]} missing, and this machine has no apt-get. Install what brings the same as these Debian packages, then run this again"
  fi
  as_root "${missing[*]}"
  echo "setup: installing ${missing[*]} (Debian packages)" >&2
  # --no-remove: what is on the machine already is somebody's, also where it stands in our way.
  if ! { apt_get update && { apt_get install -y --no-install-recommends --no-remove "${missing[@]}" || beside_qemu_utils "${missing[@]}"; }; }; then
    fail "${missing[*]} could not be installed; the lines above say why"
  fi
}

# QEMU's emulator and its tools must be of one release. Where the tools are there from another, such as a backport, both
# are taken from the release that is configured; nothing is removed.
beside_qemu_utils() {
  local version
  [[ " $* " == *" qemu-system-x86 "* ]] || return 1
  dpkg-query -W -f '${Status}' qemu-utils 2>/dev/null | grep -q 'ok installed' || return 1
  version=$(apt-cache policy qemu-system-x86 | awk '$1 == "Candidate:" { print $2 }')
  [[ -n $version && $version != '(none)' ]] || return 1
  echo "setup: bringing qemu-utils to $version, the release of qemu-system-x86" >&2
  apt_get install -y --no-install-recommends --no-remove --allow-downgrades "qemu-utils=$version" "$@"
}

is_there() {
  case "$1" in
    /*) [[ -e $1 ]] ;;
    python:*) "$(program python3 || echo false)" -I -c "import ${1#python:}" 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# Quiet unless it fails; asks nothing; waits a while for another package manager that is at work.
apt_get() {
  local said
  if ! said=$("${AS_ROOT[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" </dev/null 2>&1); then
    printf '%s\n' "$said" >&2
    return 1
  fi
}

# as_root WHAT: sets AS_ROOT to what goes before a command that needs root: nothing, or sudo. sudo may ask for a
# password where there is somebody to ask; it drops the environment, so the addresses of proxies are handed on by name.
as_root() {
  [[ -z ${AS_ROOT+set} ]] || return 0
  AS_ROOT=()
  [[ $EUID -ne 0 ]] || return 0
  if ! command -v sudo >/dev/null; then
    fail "$1 missing, installing takes root, and there is no sudo. Run \`scripts/setup.sh $MODE\` as root once, then this again"
  fi
  if ! sudo -n true 2>/dev/null && [[ ! -t 2 ]]; then
    fail "$1 missing, installing takes root, and sudo wants a password. Run \`sudo scripts/setup.sh $MODE\` in a terminal once, then this again"
  fi
  AS_ROOT=(sudo)
  local name proxies=""
  for name in http_proxy https_proxy no_proxy all_proxy; do
    [[ -z ${!name-} ]] || proxies+="${proxies:+,}$name"
  done
  [[ -z $proxies ]] || AS_ROOT+=("--preserve-env=$proxies")
}

# Under sudo the PATH is root's, while the one who builds is somebody else.
require_cargo() {
  [[ -z ${SUDO_USER-} ]] || return 0
  command -v cargo >/dev/null || fail "no cargo on the PATH. Install Rust (rust-version in Cargo.toml says which), then run this again"
}

# promtool checks the alert rules. Its package would also set up a server, so it is only unpacked, beside the
# other caches. The linters look for it on the PATH, then here; without it they say what they did not check.
fetch_promtool() {
  local tools="${HOLDFAST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/tools}"
  if command -v promtool >/dev/null || [[ -x $tools/bin/promtool ]]; then return 0; fi
  echo "setup: unpacking promtool into $tools" >&2
  unpack_promtool "$tools" || echo "setup: promtool could not be fetched, so the alert rules will not be checked" >&2
}

unpack_promtool() {
  local tools=$1 aside version
  mkdir -p "$tools/bin" && aside=$(mktemp -d "$tools/unpack.XXXXXX") || return 1
  # Subshell: its own folder, and one place that tidies up.
  (
    trap 'rm -rf -- "$aside"' EXIT
    cd "$aside" || exit 1
    download prometheus || { as_root promtool && apt_get update && download prometheus; } || exit 1
    # The name of the file is prometheus_VERSION_ARCHITECTURE.deb.
    version=$(basename -- ./*.deb .deb)
    dpkg -x ./*.deb unpacked || exit 1
    mkdir -p "$tools/$version" || exit 1
    mv -f unpacked/usr/bin/promtool "$tools/$version/promtool" || exit 1
    ln -sfn "../$version/promtool" "$tools/bin/promtool"
  )
}

# Into the current folder; apt checks it against the signed package lists. Needs no root.
download() {
  local sandbox=()
  # Root's apt would fetch as a user who may not write here.
  [[ $EUID -ne 0 ]] || sandbox=(-o APT::Sandbox::User=root)
  apt-get -qq "${sandbox[@]}" download "$1" >/dev/null 2>&1
}

fail() {
  echo "setup: $1" >&2
  exit 3
}

readonly MODE="${1-}"
main "$@"
