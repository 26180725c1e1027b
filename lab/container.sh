#!/usr/bin/env bash
# A container of the lab: a Debian tree booted by systemd-nspawn, with a real systemd as its first process, in a second or
# two. It has this machine's kernel, and no limits of memory or processor.
#
#   container.sh IMAGE FOLDER
#
# IMAGE is what `guest.sh path` prints: the container has its tree under a layer that is gone with it. FOLDER receives
# `console`. Prints the number of the container's first process when it is up, and runs until its standard input ends; then
# the container is told to stop, and soon made to. Takes root.
#
# Nothing of this machine is left changed: mounts are in a namespace of their own, which ends with its last process, and
# the network is one of its own that leads nowhere. What remains of one that was killed is an empty control group, which the
# next one removes.
# Exit codes: 0 good, 1 the container did not come up, 2 wrong usage.
set -euo pipefail

# What may be written in it, at most; it is memory.
readonly LAYER_SIZE=1g
readonly UP_WITHIN_S=60
readonly STOP_WITHIN_S=10
# Begins the name of every control group that is made here.
readonly GROUP_PREFIX=holdfast-lab-
# Own mounts and processes, which end with this script, even when it is killed: nspawn alone would leave the container
# running when it is.
readonly APART=(setpriv --pdeathsig KILL -- unshare --mount --pid --fork --kill-child=KILL --mount-proc --)

main() {
  [[ $# -eq 2 ]] || usage
  IMAGE=$1 FOLDER=$2
  [[ $EUID -eq 0 ]] || fail "this takes root"
  [[ -d $IMAGE/tree ]] || fail "there is no tree in $IMAGE. Run \`make lab\`"
  command -v systemd-nspawn >/dev/null || fail "systemd-nspawn is missing. Run \`scripts/setup.sh test\`"
  trap end EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  make_group
  start
  await_up
  echo "$INIT"
  # Until whoever wanted it closes it, or is gone.
  cat >/dev/null
}

usage() {
  echo "usage: container.sh IMAGE FOLDER" >&2
  exit 2
}

# Two containers in one group would take each other's services for their own, and end them.
make_group() {
  local groups group
  groups=$(findmnt --noheadings --first-only --output TARGET --types cgroup2) || fail "this machine has no cgroup v2"
  # Left by those that were killed: nothing runs in them, and they are not about to be used.
  while read -r group; do
    ! grep -qs 'populated 0' "$group/cgroup.events" || remove_group "$group"
  done < <(find "$groups" -mindepth 1 -maxdepth 1 -name "$GROUP_PREFIX*" -mmin +1)
  GROUP=$(mktemp -d -- "$groups/${GROUP_PREFIX}XXXXXX")
}

# With all that still runs in it.
remove_group() {
  local tries
  echo 1 >"$1/cgroup.kill"
  for ((tries = 0; tries < 100; tries++)); do
    ! find "$1" -depth -type d -exec rmdir -- {} + 2>/dev/null || return 0
    sleep 0.02
  done
}

start() {
  "${APART[@]}" "$SCRIPT" --container "$IMAGE" "$FOLDER" "$GROUP" </dev/null >"$FOLDER/console" 2>&1 &
  HOLDER=$!
}

await_up() {
  local until=$((SECONDS + UP_WITHIN_S)) state
  while kill -0 "$HOLDER" 2>/dev/null && [[ $SECONDS -lt $until ]]; do
    if find_init; then
      # Waits until the last unit has started, once there is somebody to ask.
      state=$(inside timeout "$UP_WITHIN_S" systemctl is-system-running --wait 2>/dev/null) || true
      case $state in
        running) return 0 ;;
        degraded) fail "a unit of the container failed: $(inside systemctl --failed --no-legend --plain)" ;;
      esac
    fi
    sleep 0.02
  done
  fail "the container did not come up"
}

# The holder has one child, nspawn, and that one the first process of the container, which at first is nspawn too.
find_init() {
  INIT=$(child_of "$(child_of "$HOLDER")")
  [[ $(readlink "/proc/${INIT:-none}/exe") == */systemd ]]
}

child_of() {
  local children=()
  read -ra children 2>/dev/null <"/proc/${1:-none}/task/${1:-none}/children" || true
  echo "${children[0]-}"
}

inside() {
  nsenter --target "$INIT" --mount --uts --ipc --net --pid --root --wd -- "$@"
}

end() {
  local tries
  if [[ -n ${INIT-} ]]; then
    # What systemd takes for a request to power off.
    kill -RTMIN+4 "$INIT" 2>/dev/null || true
    for ((tries = 0; tries < STOP_WITHIN_S * 50; tries++)); do
      kill -0 "$INIT" 2>/dev/null || break
      sleep 0.02
    done
  fi
  [[ -z ${HOLDER-} ]] || kill -KILL "$HOLDER" 2>/dev/null || true
  wait 2>/dev/null || true
  [[ -z ${GROUP-} || ! -d $GROUP ]] || remove_group "$GROUP"
}

fail() {
  tail -n 20 -- "$FOLDER/console" 2>/dev/null | sed 's/^/  | /' >&2 || true
  echo "lab: $1" >&2
  exit 1
}

# --- From here on: in mounts of its own.

# container IMAGE FOLDER GROUP: its files over the tree, without what is only for the guest, then nspawn.
become_container() {
  local image=$1 folder=$2/container group=$3
  echo $$ >"$group/cgroup.procs"
  mkdir -p -- "$folder"
  mount -t tmpfs -o "mode=0755,size=$LAYER_SIZE" layer "$folder"
  mkdir "$folder"/{upper,work,root}
  mount -t overlay -o "lowerdir=$image/tree,upperdir=$folder/upper,workdir=$folder/work" overlay "$folder/root"
  : >"$folder/root/etc/fstab"
  echo container >"$folder/root/etc/hostname"
  rm -f "$folder/root/etc/systemd/system/multi-user.target.wants/lab-ready.service"
  # nspawn leaves things there.
  mount -t tmpfs -o mode=0755,size=16m run /run
  export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 SYSTEMD_NSPAWN_LOCK=0
  exec systemd-nspawn --directory="$folder/root" --machine="${group##*/}" --boot --register=no --keep-unit \
    --console=read-only --private-network --link-journal=no --resolv-conf=off --timezone=off
}

SCRIPT=$(realpath -- "$0")
readonly SCRIPT
if [[ ${1-} == --container ]]; then
  shift
  become_container "$@"
else
  main "$@"
fi
