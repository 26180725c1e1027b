#!/usr/bin/env bash
# Installs the command lines of model providers that the tests run inside a cage, as pinned in pins/model-clis and
# outside the clone.
# Does nothing and says nothing when they are there. Runs none of their install scripts.
# Exit codes: 0 they are there, 3 they could not be installed.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."

main() {
  local tools="${HOLDFAST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/tools}"
  local version folder
  version=$(scripts/pinned.sh sum model-clis)
  folder="$tools/model-clis-$version"
  if [[ ! -e $folder/done ]]; then
    install_into "$folder"
  fi
  ln -sfn "model-clis-$version" "$tools/model-clis"
}

install_into() {
  local folder=$1
  echo "setup: installing the models' command lines into $folder" >&2
  scripts/pinned.sh node "$folder" model-clis
  touch "$folder/done"
}

main
