#!/usr/bin/env bash
# Hosts of the lab that are there in a moment: each a network namespace with an address of its own, a Debian tree of its own
# to write to, and a real sshd. No systemd and no kernel of their own; a hundred of them are no trouble.
#
#   hosts.sh IMAGE FOLDER COUNT
#
# IMAGE is what `guest.sh path` prints: the hosts have its tree under a layer that is gone with them, and its key opens
# them. FOLDER receives `known_hosts`, and what each sshd says in `sshd-N.log`.
#
# When every host has answered, prints the network, which is the first three numbers of an address: .1 is this machine, the
# hosts begin at .10. Runs until its standard input ends. Takes root.
# Nothing has to be cleared away after a kill: namespaces, layers and links end with the last process in them, and the
# processes with this script.
# Exit codes: 0 good, 1 a host did not come up, 2 wrong usage.
set -euo pipefail

readonly HOSTS_MAX=200
readonly FIRST_ADDRESS=10
# Of 198.18.0.0/15, which is kept for measuring networks and so is nobody's.
readonly NETWORKS=198.18
readonly NETWORKS_MAX=100
# What a test may write on one host, at most; it is memory.
readonly LAYER_SIZE=512m
readonly ANSWER_WITHIN_S=10
# What is started here ends with this script, even when it is killed.
readonly TIED=(setpriv --pdeathsig KILL --)
# Both ways in: the lab's key for every user, and their own files. Without PAM, which would want systemd.
readonly SSHD_OPTIONS=(-o UsePAM=no -o 'AuthorizedKeysFile=/etc/ssh/lab_keys .ssh/authorized_keys')

main() {
  [[ $# -eq 3 && $3 =~ ^[0-9]+$ && $3 -ge 1 && $3 -le $HOSTS_MAX ]] || usage
  IMAGE=$1 FOLDER=$2 COUNT=$3
  HOSTS=() MIDDLE='' LINK=''
  [[ $EUID -eq 0 ]] || fail "this takes root"
  [[ -d $IMAGE/tree ]] || fail "there is no tree in $IMAGE. Run \`make lab\`"
  trap end EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  take_network
  start
  connect
  await_all
  echo "$NETWORK"
  # Until whoever wanted the hosts closes it, or is gone.
  cat >/dev/null
}

usage() {
  echo "usage: hosts.sh IMAGE FOLDER COUNT, with at most $HOSTS_MAX hosts" >&2
  exit 2
}

address() {
  echo "$NETWORK.$((FIRST_ADDRESS + $1))"
}

# Between this machine and the hosts lies a namespace with a bridge. The link to it is what makes a network ours: there is
# one of that name at a time, and it is gone with the namespace.
take_network() {
  local number
  "${TIED[@]}" unshare --net -- sleep infinity </dev/null &
  MIDDLE=$!
  await_namespace "$MIDDLE"
  for ((number = 0; number < NETWORKS_MAX; number++)); do
    LINK="hf-lab-$number" NETWORK="$NETWORKS.$number"
    if ip link add "$LINK" type veth peer name outside netns "$MIDDLE" 2>"$FOLDER/ip.log"; then return 0; fi
  done
  LINK=
  fail "no link to a namespace could be made: $(cat -- "$FOLDER/ip.log")"
}

start() {
  local number
  : >"$FOLDER/known_hosts"
  for ((number = 0; number < COUNT; number++)); do
    mkdir -p -- "$FOLDER/host-$number"
    ssh-keygen -q -t ed25519 -N '' -C "host-$number" -f "$FOLDER/host-$number/key"
    echo "$(address "$number") $(cut -d' ' -f1,2 "$FOLDER/host-$number/key.pub")" >>"$FOLDER/known_hosts"
    "${TIED[@]}" unshare --net --mount --pid --ipc --uts --fork --kill-child=KILL -- \
      "$SCRIPT" --host "$IMAGE" "$FOLDER" "$number" </dev/null >/dev/null 2>"$FOLDER/sshd-$number.log" &
    HOSTS+=("$!")
  done
}

# A namespace is named by a process in it. One that has not come so far yet would still be in ours.
await_namespace() {
  local tries
  for ((tries = 0; tries < 500; tries++)); do
    [[ $(readlink "/proc/$1/ns/net") == "$(readlink /proc/self/ns/net)" ]] || return 0
    sleep 0.01
  done
  fail "a namespace could not be made: $(tail -n 5 -- "$FOLDER"/sshd-*.log 2>/dev/null || true)"
}

connect() {
  local number
  ip addr add "$NETWORK.1/24" dev "$LINK"
  ip link set "$LINK" up
  {
    printf '%s\n' 'link add bridge type bridge' 'link set bridge up' 'link set outside master bridge' 'link set outside up'
    for number in "${!HOSTS[@]}"; do
      await_namespace "${HOSTS[number]}"
      echo "link add host-$number type veth peer name eth0 netns ${HOSTS[number]}"
      echo "link set host-$number master bridge"
      echo "link set host-$number up"
    done
  } | nsenter --net="/proc/$MIDDLE/ns/net" -- ip -batch -
  for number in "${!HOSTS[@]}"; do
    printf '%s\n' 'link set lo up' "addr add $(address "$number")/24 dev eth0" 'link set eth0 up' |
      nsenter --net="/proc/${HOSTS[number]}/ns/net" -- ip -batch -
  done
}

await_all() {
  local number
  for number in "${!HOSTS[@]}"; do
    answers "$(address "$number")" || fail "host $number does not answer: $(cat -- "$FOLDER/sshd-$number.log")"
  done
}

# answers ADDRESS: until there is somebody who speaks ssh.
answers() {
  local until=$((SECONDS + ANSWER_WITHIN_S)) said
  while [[ $SECONDS -lt $until ]]; do
    said=
    # shellcheck disable=SC2016  # the inner shell's
    said=$(timeout 2 bash -c 'exec 3<>"/dev/tcp/$0/22" && read -r line <&3 && echo "$line"' "$1" 2>/dev/null) || true
    [[ $said != SSH-2.0-* ]] || return 0
    sleep 0.02
  done
  return 1
}

end() {
  # At once; with the namespace it would be gone in a while.
  [[ -z $LINK ]] || ip link del "$LINK" 2>/dev/null || true
  kill -KILL "${HOSTS[@]}" ${MIDDLE:+"$MIDDLE"} 2>/dev/null || true
  wait 2>/dev/null || true
}

fail() {
  echo "lab: $1" >&2
  exit 1
}

# --- From here on: the first process of a host.

# host IMAGE FOLDER NUMBER: its files over the tree, then nothing else of this machine, then sshd.
become_host() {
  local image=$1 folder=$2/host-$3 number=$3 device
  echo "host-$number" >/proc/sys/kernel/hostname
  local key
  key=$(<"$folder/key")
  mount -t tmpfs -o "mode=0755,size=$LAYER_SIZE" layer "$folder"
  cd -- "$folder"
  mkdir upper work root
  mount -t overlay -o "lowerdir=$image/tree,upperdir=$folder/upper,workdir=$folder/work" overlay root
  mount -t proc proc root/proc
  mount -t sysfs -o ro sysfs root/sys
  mount -t tmpfs -o mode=0755,size=16m run root/run
  mount -t tmpfs -o mode=0755,size=1m dev root/dev
  # Shown rather than made: making device nodes is refused in many containers.
  for device in null zero full random urandom tty; do
    touch "root/dev/$device"
    mount --bind "/dev/$device" "root/dev/$device"
  done
  mkdir root/dev/pts root/run/sshd
  mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts root/dev/pts
  ln -s pts/ptmx root/dev/ptmx
  echo "host-$number" >root/etc/hostname
  (umask 077 && echo "$key" >root/etc/ssh/ssh_host_ed25519_key)
  rm -f root/etc/ssh/ssh_host_*_key.pub
  cd root
  pivot_root . .
  umount -l .
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin /usr/sbin/sshd -D -e "${SSHD_OPTIONS[@]}"
}

SCRIPT=$(realpath -- "$0")
readonly SCRIPT
if [[ ${1-} == --host ]]; then
  shift
  become_host "$@"
else
  main "$@"
fi
