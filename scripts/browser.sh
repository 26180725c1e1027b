#!/usr/bin/env bash
# Installs what the browser tests judge pages with and Debian does not have, as pinned in pins/browser and outside the clone.
# Does nothing and says nothing when it is there. Runs none of its install scripts.
# Exit codes: 0 it is there, 3 it could not be installed.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."

main() {
  local tools="${HOLDFAST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/tools}"
  local version folder
  version=$(scripts/pinned.sh sum browser)
  folder="$tools/browser-$version"
  if [[ ! -e $folder/done ]]; then
    install_into "$folder"
  fi
  ln -sfn "browser-$version" "$tools/browser"
}

install_into() {
  local folder=$1
  echo "browser: installing what judges pages into $folder" >&2
  scripts/pinned.sh node "$folder" browser
  touch "$folder/done"
}

main
