#!/usr/bin/env bash
# Installs what the browser tests judge pages with and Debian does not have, at a fixed version and outside the clone.
# Does nothing and says nothing when it is there. Runs none of its install scripts.
# Exit codes: 0 it is there, 3 it could not be installed.
set -euo pipefail

readonly PACKAGES=(axe-core@4.14.0)

main() {
  local tools="${HOLDFAST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/tools}"
  local version folder
  version=$(printf '%s\n' "${PACKAGES[@]}" | sha256sum | cut -c1-16)
  folder="$tools/browser-$version"
  if [[ ! -e $folder/done ]]; then
    install_into "$folder"
  fi
  ln -sfn "browser-$version" "$tools/browser"
}

install_into() {
  local folder=$1
  echo "browser: installing ${PACKAGES[*]} into $folder" >&2
  mkdir -p "$folder"
  if ! npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel=error "${PACKAGES[@]}" >&2; then
    echo "browser: it could not be installed; the lines above say why" >&2
    exit 3
  fi
  touch "$folder/done"
}

main
