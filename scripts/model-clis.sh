#!/usr/bin/env bash
# Installs the command lines of model providers that the tests run inside a cage, at fixed versions and outside the clone.
# Does nothing and says nothing when they are there. Runs none of their install scripts.
# Exit codes: 0 they are there, 3 they could not be installed.
set -euo pipefail

readonly PACKAGES=(@anthropic-ai/claude-code@2.1.197 @openai/codex@0.166.0)

main() {
  local tools="${HOLDFAST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/tools}"
  local version folder
  version=$(printf '%s\n' "${PACKAGES[@]}" | sha256sum | cut -c1-16)
  folder="$tools/model-clis-$version"
  if [[ ! -e $folder/done ]]; then
    install_into "$folder"
  fi
  ln -sfn "model-clis-$version" "$tools/model-clis"
}

install_into() {
  local folder=$1
  echo "setup: installing ${PACKAGES[*]} into $folder" >&2
  mkdir -p "$folder"
  if ! npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel=error "${PACKAGES[@]}" >&2; then
    echo "setup: they could not be installed; the lines above say why" >&2
    exit 3
  fi
  touch "$folder/done"
}

main
