#!/usr/bin/env bash
# Says what `make up` left. Nothing runs in the background yet, so there is nothing to stop.
set -euo pipefail

home="${HOLDFAST_HOME:-$HOME/.local/state/holdfast}"
echo "Nothing is running."
if [[ -d $home ]]; then
  echo "Kept: $home ($(du -sh "$home" | cut -f1)). Its etc/ holds the keys; remove the directory to forget everything."
else
  echo "There is no home at $home."
fi
