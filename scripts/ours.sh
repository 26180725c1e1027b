# shellcheck shell=bash disable=SC2034  # THEIRS is for whoever reads this
# For scripts to read with `.`: whether a file can be changed by nobody but root and this user, and where the system's programs are.

# is_ours PATH: PATH, every folder on the way to it and every link in it belongs to root or this user, and nobody else may write there. Not in
# a folder like /tmp either: cargo, rustup and Python take settings from folders above. What is not there yet is nobody else's. Says in THEIRS
# whose fault it is.
is_ours() {
  local at target deep=${2:-0}
  THEIRS=$1
  ((deep < 16)) || return 1
  at=$(realpath -ms -- "$1") || return 1
  while :; do
    if [[ -L $at || -e $at ]] && ! nobody_else_writes "$at"; then
      THEIRS=$at
      return 1
    fi
    if [[ -L $at ]]; then
      target=$(readlink -- "$at")
      [[ $target == /* ]] || target=$(dirname -- "$at")/$target
      is_ours "$target" $((deep + 1)) || return 1
    fi
    [[ $at != / ]] || return 0
    at=$(dirname -- "$at")
  done
}

nobody_else_writes() {
  local uid gid mode
  read -r uid gid mode < <(stat -c '%u %g %a' -- "$1") || return 1
  [[ $uid == 0 || $uid == "$EUID" ]] || return 1
  # The mode of a link means nothing.
  [[ ! -L $1 ]] || return 0
  ((0$mode & 2)) && return 1
  # The group of the user's own name has nobody else in it.
  ((0$mode & 020)) && [[ $gid != 0 && ! ($gid == "$(id -g)" && $(id -gn) == "$(id -un)") ]] && return 1
  return 0
}

# program NAME: prints where the system has it, whatever the caller's PATH is. The folders are those of crates/subprocess.
program() {
  local folder
  for folder in /run/current-system/sw/bin /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin; do
    if [[ -f $folder/$1 && -x $folder/$1 ]]; then
      echo "$folder/$1"
      return 0
    fi
  done
  return 1
}
