#!/usr/bin/env bash
# Makes the Debian package with its list of parts (CycloneDX), in it and beside it, and checksums, and says where they lie.
#
#   deb.sh                                   build everything and pack it, to `deb` below cargo's target folder
#   deb.sh --from DIR --out DIR --version V  pack the programs that lie in DIR, quickly: for tests
#   deb.sh tool                              only see to it that cargo-deb is there
#   deb.sh arm64                             only show that the programs build for arm64 too; packs nothing
#
# cargo-deb is built once, in the release named here and pinned in pins/crates.txt, into the folder of tools (HOLDFAST_TOOLS).
# Exit codes: 0 good, 1 what was built is not what it should be, 2 wrong usage, otherwise that of the step that failed.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
# shellcheck source=scripts/ours.sh
. scripts/ours.sh

readonly CARGO_DEB=3.8.0
# Packages whose programs go to /usr/bin. The doorman goes elsewhere: it is for other machines.
readonly PACKAGES=(holdfast holdfast-tripwire holdfast-egress holdfast-cage holdfast-intruder)
# That of Debian 12, as `depends` in crates/holdfast/Cargo.toml says.
readonly GLIBC_MAX=2.36

TOOLS="${HOLDFAST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/tools}/cargo-deb-$CARGO_DEB"
TARGET=$(realpath -m -- "${CARGO_TARGET_DIR:-target}")
readonly TOOLS TARGET

main() {
  local from="" out="" version="" mode=release
  while (($#)); do
    case "$1" in
      tool | arm64) mode=$1 ;;
      --from) from=$(realpath -- "${2:?}") mode=given && shift ;;
      --out) out=$(realpath -m -- "${2:?}") && shift ;;
      --version) version=${2:?} && shift ;;
      *) usage ;;
    esac
    shift
  done
  [[ $mode == arm64 ]] || cargo_deb
  case "$mode" in
    tool) ;;
    arm64) arm64 ;;
    release) release "${version:-$(version_of_holdfast)}" "${out:-$TARGET/deb}" ;;
    given)
      [[ -n $out ]] || usage
      pack "$from" "$from/holdfast-doorman" "${version:-$(version_of_holdfast)}" "$out" -Z gz --fast --compress-system
      ;;
  esac
}

usage() {
  echo "usage: deb.sh [--version V] [--out DIR] [--from DIR] | deb.sh tool | deb.sh arm64" >&2
  exit 2
}

release() {
  local version=$1 out=$2 doorman
  [[ $(dpkg --print-architecture) == amd64 ]] || fail "the package is made on amd64 so far"
  cargo build --quiet --locked --release "${PACKAGES[@]/#/--package=}"
  doorman=$(scripts/doorman.sh | awk '$1 == "file" { print $2 }')
  mkdir -p "$out"
  rm -f -- "$out"/holdfast_*.deb "$out"/holdfast_*.cdx.json "$out/SHA256SUMS"
  pack "$TARGET/release" "$doorman" "$version" "$out" >/dev/null
  (cd "$out" && sha256sum -- holdfast_*) >"$out/SHA256SUMS"
  tell "$out"
}

# With Debian's compiler for it (gcc-aarch64-linux-gnu, libc6-dev-arm64-cross) and Rust's (rustup target add TARGET).
arm64() {
  local target=aarch64-unknown-linux-gnu
  command -v aarch64-linux-gnu-gcc >/dev/null || fail "no aarch64-linux-gnu-gcc: install gcc-aarch64-linux-gnu and libc6-dev-arm64-cross"
  CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
    cargo build --quiet --locked --target "$target" --package=holdfast-doorman "${PACKAGES[@]/#/--package=}"
  echo "arm64    ${PACKAGES[*]} holdfast-doorman build for $target"
}

# pack PROGRAMS DOORMAN VERSION OUT [how to compress]
pack() {
  local programs=$1 doorman=$2 version=$3 out=$4 stage
  shift 4
  mkdir -p "$out"
  STAGE=$(mktemp -d "$out/stage.XXXXXX")
  trap 'rm -rf -- "$STAGE"' EXIT
  # cargo-deb looks for what was built in `release` below the target folder.
  stage=$STAGE/release
  lay_out "$programs" "$doorman" "$stage"
  # In the package, where it cannot be parted from what it speaks of, and beside it.
  cargo run --quiet --locked -p xtask -- sbom "$version" >"$stage/doc/sbom.cdx.json"
  cp -- "$stage/doc/sbom.cdx.json" "$out/holdfast_${version}_amd64.cdx.json"
  # The moment of the last commit stands for that of the build, so that the same sources give the same package.
  SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)} CARGO_TARGET_DIR=$STAGE \
    "$TOOLS/bin/cargo-deb" deb --quiet --locked --no-build --no-strip --package holdfast --deb-version "$version" \
    --output "$out/holdfast_${version}_amd64.deb" "$@" >/dev/null
  echo "$out/holdfast_${version}_amd64.deb"
}

lay_out() {
  local programs=$1 doorman=$2 stage=$3 package
  mkdir -p "$stage"/{bin,lib,man,complete,doc}
  for package in "${PACKAGES[@]}"; do
    strip -o "$stage/bin/$package" -- "$programs/$package"
    runs_on_debian_12 "$stage/bin/$package"
  done
  strip -o "$stage/lib/holdfast-doorman" -- "$doorman"
  "$programs/holdfast" man "$stage/man" >/dev/null
  gzip -9n "$stage"/man/*
  "$programs/holdfast" completions bash >"$stage/complete/holdfast"
  "$programs/holdfast" completions zsh >"$stage/complete/_holdfast"
  "$programs/holdfast" completions fish >"$stage/complete/holdfast.fish"
  gzip -9nc CHANGELOG.md >"$stage/doc/changelog.gz"
}

runs_on_debian_12() {
  local newest
  newest=$(objdump -T "$1" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -Vu | tail -n 1)
  [[ $(printf '%s\n' "$newest" "$GLIBC_MAX" | sort -V | tail -n 1) == "$GLIBC_MAX" ]] ||
    fail "$(basename -- "$1") needs glibc $newest, and Debian 12 has $GLIBC_MAX"
}

version_of_holdfast() {
  sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml
}

# At every use: it may have been built long ago, by somebody else where others may write.
cargo_deb() {
  if [[ ! -x $TOOLS/bin/cargo-deb ]]; then
    echo "deb: building cargo-deb $CARGO_DEB into $TOOLS, once" >&2
    scripts/pinned.sh crate "$TOOLS" "cargo-deb-$CARGO_DEB" || fail "cargo-deb could not be built; the lines above say why"
  fi
  is_ours "$TOOLS/bin/cargo-deb" || fail "others may write in $THEIRS, so cargo-deb is not run from there and nothing was packed; take that right away"
}

tell() {
  local deb
  deb=$(echo "$1"/holdfast_*.deb)
  echo "package  $deb"
  echo "is       $(dpkg-deb -f "$deb" Package) $(dpkg-deb -f "$deb" Version) for $(dpkg-deb -f "$deb" Architecture), $(stat -c %s -- "$deb") bytes"
  echo "parts    $(echo "$1"/holdfast_*.cdx.json)"
  echo "sums     $1/SHA256SUMS"
}

fail() {
  echo "deb: $1" >&2
  exit 1
}

main "$@"
