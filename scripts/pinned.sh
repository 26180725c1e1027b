#!/usr/bin/env bash
# Fetches programs for tests, benches and packaging, each by version and hash: the only script that does.
#
#   pinned.sh python FOLDER NAME...   make a Python environment in FOLDER with what pins/NAME.txt lists
#   pinned.sh wheel FOLDER NAME       download the wheel that pins/NAME.txt lists to FOLDER, and run nothing of it
#   pinned.sh node FOLDER NAME        install what pins/NAME/package-lock.json lists to FOLDER; runs no install script
#   pinned.sh crate FOLDER CRATE      compile the program of CRATE, such as cargo-deb-3.8.0, which pins/crates.txt lists, to FOLDER/bin
#   pinned.sh sum NAME...             print a short hash of those pins, to notice that they changed
#
# FOLDER is new or replaced. What has another hash is refused: nothing of it is run, and FOLDER does not exist afterwards (`wheel`: has no wheel).
# Set HOLDFAST_COMPILE=debug to compile a crate in less time, for a slower program.
# Exit codes: 0 it is there, 2 wrong usage, 3 it could not be fetched or has another hash.
set -euo pipefail
# Whatever the caller's mask is: what lies in the caches is run later, and nobody else may write there.
umask 022

HERE=$(dirname -- "$(realpath -- "$0")")
readonly HERE PINS=$HERE/pins
# shellcheck source=scripts/ours.sh
. "$HERE/ours.sh"
# Python packages without a wheel. pip checks no hash of what it fetches to build them, so that is done with pins/build.txt.
readonly COMPILED=hnswlib,odfpy,twofish

main() {
  local what=${1-}
  [[ $# -ge 2 ]] || usage
  shift
  case $what in
    python | wheel | node | crate) not_shared "$1" ;;
  esac
  case $what in
    python) [[ $# -ge 2 ]] || usage; python "$@" ;;
    wheel) [[ $# -eq 2 ]] || usage; wheel "$@" ;;
    node) [[ $# -eq 2 ]] || usage; node "$@" ;;
    crate) [[ $# -eq 2 ]] || usage; crate "$@" ;;
    sum) sum "$@" ;;
    *) usage ;;
  esac
}

# Where somebody else may put and move things is no place for programs that we run later, nor for running cargo, which asks every folder above.
not_shared() {
  mkdir -p -- "$(dirname -- "$1")"
  is_ours "$1" ||
    fail "$1" "others may write in $THEIRS, so it is not used. Take that right away (chmod go-w, chown), or set HOLDFAST_TOOLS to another folder"
}

usage() {
  echo "usage: pinned.sh python FOLDER NAME... | wheel FOLDER NAME | node FOLDER NAME | crate FOLDER CRATE | sum NAME..." >&2
  exit 2
}

python() {
  local folder=$1 name
  shift
  "$(system_python)" -I -m venv --clear "$folder" || fail "$*" "there is no venv (Debian's Python needs the package python3-venv)"
  for name in "$@"; do
    pip "$folder/bin/python" install --no-deps --no-build-isolation --only-binary :all: --no-binary "$COMPILED" \
      --require-hashes -r "$(pin "$name.txt")" || {
      rm -rf -- "$folder"
      fail "$name" "it could not be fetched, or is not what is pinned"
    }
  done
}

# A Python without pip borrows that of an environment.
wheel() {
  local folder=$1 name=$2 python aside=
  python=$(system_python)
  if ! "$python" -I -m pip --version >/dev/null 2>&1; then
    aside=$(mktemp -d)
    "$python" -I -m venv "$aside" || fail "$name" "python3 needs pip or the package python3-venv"
    python=$aside/bin/python
  fi
  local ended=0
  pip "$python" download --no-deps --only-binary :all: --require-hashes --dest "$folder" -r "$(pin "$name.txt")" || ended=$?
  [[ -z $aside ]] || rm -rf -- "$aside"
  ((ended == 0)) || fail "$name" "it could not be fetched, or is not what is pinned"
}

# Not the caller's `python3`, which a folder of their PATH may have replaced.
system_python() {
  program python3 || fail python3 "the system has none"
}

# pip PYTHON ARGUMENT...: without the modules that lie where it is started.
pip() {
  "$1" -I -m pip "$2" --quiet --disable-pip-version-check --no-input "${@:3}" >&2
}

node() {
  local folder=$1 name=$2 lock
  lock=$(pin "$name/package-lock.json")
  rm -rf -- "$folder"
  mkdir -p -- "$folder"
  cp -- "$lock" "$(pin "$name/package.json")" "$folder"
  npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel=error >&2 || {
    rm -rf -- "$folder"
    fail "$name" "it could not be fetched, or is not what is pinned"
  }
}

# cargo checks a crate against the registry's list alone, so its sum is checked here before anything is unpacked. Its lock file, which is
# in it, has the sums of the rest. Compiled aside and then moved, so that a half-made one is never used.
crate() {
  local folder=$1 name=$2 file
  ASIDE=$(mktemp -d -- "$folder.XXXXXX")
  trap 'rm -rf -- "$ASIDE"' EXIT
  # Ours, whatever the crate's own rust-toolchain.toml wants, or one in a folder above.
  RUSTUP_TOOLCHAIN=${RUSTUP_TOOLCHAIN:-$(toolchain)}
  export RUSTUP_TOOLCHAIN
  download "${name%-*}" "${name##*-}" || fail "$name" "it could not be fetched"
  file=$(checked "$name") || fail "$name" "it is not what is pinned"
  tar -C "$ASIDE" -xzf "$file"
  (cd -- "$ASIDE" && CARGO_TARGET_DIR=$ASIDE/target CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --path "$ASIDE/$name" \
    --root "$ASIDE/root" ${HOLDFAST_COMPILE:+"--$HOLDFAST_COMPILE"}) || fail "$name" "it could not be compiled"
  rm -rf -- "$folder"
  mv -T -- "$ASIDE/root" "$folder"
}

toolchain() {
  sed -n 's/^channel = "\(.*\)"$/\1/p' "$HERE/../rust-toolchain.toml"
}

# download CRATE VERSION: into cargo's cache; compiles nothing. `cargo info` brings this crate alone, and does not work where a mirror replaces
# the registry; there it comes as somebody's dependency, with its own. In a folder of its own: the caller's settings are not asked.
download() (
  cd -- "$ASIDE" || return
  ! cargo info --quiet "$1@$2" >/dev/null 2>&1 || return 0
  mkdir -p wants/src && : >wants/src/lib.rs || return
  printf '[package]\nname = "wants"\nedition = "2021"\n[dependencies]\n%s = "=%s"\n[workspace]\n' "$1" "$2" >wants/Cargo.toml || return
  cargo fetch --quiet --manifest-path wants/Cargo.toml
)

# Copies the crate out of cargo's cache, where others may write meanwhile, and prints where the copy with the right sum is.
checked() {
  local name=$1 sum file
  sum=$(grep -x -- "[0-9a-f]\{64\}  $name.crate" "$(pin crates.txt)") || return 1
  for file in "${CARGO_HOME:-$HOME/.cargo}"/registry/cache/*/"$name.crate"; do
    if cp -- "$file" "$ASIDE/$name.crate" && (cd -- "$ASIDE" && sha256sum --check --status <<<"$sum"); then
      echo "$ASIDE/$name.crate"
      return 0
    fi
  done
  return 1
}

pin() {
  [[ -f $PINS/$1 ]] || fail "$1" "nothing is pinned by that name"
  echo "$PINS/$1"
}

sum() {
  local name
  for name in "$@"; do
    if [[ -d $PINS/$name ]]; then name=$name/package-lock.json; else name=$name.txt; fi
    cat -- "$(pin "$name")"
  done | sha256sum | cut -c1-16
}

fail() {
  echo "pinned: $1: $2; nothing of it is kept" >&2
  exit 3
}

main "$@"
