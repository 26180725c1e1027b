#!/usr/bin/env bash
# Shows that a fresh clone on a bare Debian machine passes `make up` and `make test`, as root and as a user with sudo.
#
#   fresh.sh [PART...]
#
#   up     as root: clone, make up, wait for its health, make down
#   test   as root: clone unless `up` did, make test
#   user   as an ordinary user with sudo: clone, make up, wait, make down
#   build  as root: clone, compile the binary and nothing else; not among the parts that run by themselves
#
# The machine is a tree of Debian packages with git, make, ca-certificates and sudo, and nothing else; the Rust toolchain
# of this machine is shown in it read-only, without rustup and without anything cargo has fetched. What is cloned is the
# last commit. The tree has its own mounts and processes and shares the network; names, proxies, certificates and the
# addresses of registries are carried in. Its mounts exist in its own namespace only, so they end with it, however it ends.
#
# Kept in the cache: the bare tree, by a hash of all it is made from, and the logs of the last runs.
# Exit codes: 0 good, 1 something failed in the tree, 2 wrong usage, 3 could not check.
set -euo pipefail
umask 022

readonly PACKAGES=git,make,ca-certificates,sudo
readonly HEALTH_PORT=9095
# A release build, a debug build and the tests' own files, twice.
readonly DISK_NEEDED_GIB=12
readonly LOGS_KEPT=5
# Own mounts and processes, which end with this script, even when it is killed.
readonly APART=(setpriv --pdeathsig KILL -- unshare --mount --pid --fork --kill-child=KILL)

main() {
  local parts=("$@") part
  [[ ${#parts[@]} -gt 0 ]] || parts=(up test user)
  for part in "${parts[@]}"; do
    case $part in
      up | test | user | build) ;;
      *) usage ;;
    esac
  done

  REPO=$(realpath -- "$(dirname -- "$0")/..")
  CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/fresh"
  [[ $EUID -eq 0 ]] || again_as_root "${parts[@]}"

  install -d -m 0700 -- "$CACHE"
  exec 9>"$CACHE/lock"
  flock -n 9 || cannot "another run is at work"
  check_room "${parts[@]}"
  begin_run
  make_base
  copy_what_is_shown

  for part in "${parts[@]}"; do
    case $part in
      up) in_tree root clone && in_tree root up ;;
      build) in_tree root clone && in_tree root build ;;
      test) in_tree root clone && in_tree root test ;;
      user) in_tree keeper clone && in_tree keeper up ;;
    esac || exit 1
  done
  echo "fresh: good, after $(elapsed "$BEGUN"); logs in $LOGS"
}

usage() {
  echo "usage: fresh.sh [up|test|user|build]..." >&2
  exit 2
}

cannot() {
  echo "fresh: could not check: $1" >&2
  exit 3
}

# The toolchain and the folders are the caller's, not root's. Names only on the command line: a proxy may hold a password.
again_as_root() {
  command -v sudo >/dev/null || cannot "this takes root, or sudo"
  # What is root's begins below this folder: others put their caches beside it.
  mkdir -p -- "$(dirname -- "$CACHE")"
  local names
  HOLDFAST_FRESH_TOOLCHAIN=$(toolchain)
  export HOLDFAST_FRESH_TOOLCHAIN XDG_CACHE_HOME="${XDG_CACHE_HOME:-$HOME/.cache}" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}"
  names=$(carried_names | paste -sd,)
  exec sudo "--preserve-env=HOLDFAST_FRESH_TOOLCHAIN,XDG_CACHE_HOME,CARGO_HOME${names:+,$names}" "$REPO/scripts/fresh.sh" "$@"
}

# Where the compiler that this checkout uses lies, whether or not rustup chose it.
toolchain() {
  local root="${HOLDFAST_FRESH_TOOLCHAIN:-}"
  [[ -n $root ]] || root=$(cd "$REPO" && rustc --print sysroot) || cannot "there is no rustc"
  root=$(realpath -- "$root")
  [[ -x $root/bin/cargo && $root != /usr ]] || cannot "$root is not a toolchain of its own; install Rust with rustup"
  echo "$root"
}

# Variables that say where registries are and how to get there. Tokens are not among them.
carried_names() {
  compgen -e | grep -E '^((https?|no|all)_proxy|(HTTPS?|NO|ALL)_PROXY|CARGO_(HTTP|NET|REGISTRY|REGISTRIES|SOURCE)_.*|CARGO_BUILD_JOBS)$' |
    grep -vE 'TOKEN|CREDENTIAL' || true
}

check_room() {
  local free
  free=$(df --output=avail -BG -- "$CACHE" | tail -n 1 | tr -dc '0-9')
  [[ $free -ge $DISK_NEEDED_GIB ]] || cannot "$CACHE has $free GiB free, $DISK_NEEDED_GIB are needed"
  if [[ " $* " == *" up "* || " $* " == *" user "* ]] && (exec 3<>"/dev/tcp/127.0.0.1/$HEALTH_PORT") 2>/dev/null; then
    cannot "port $HEALTH_PORT is taken on this machine, and the tree shares its network; stop what listens there (make down)"
  fi
}

begin_run() {
  BEGUN=$(now)
  LOGS="$CACHE/logs/$(date -u +%Y%m%dT%H%M%SZ)"
  mkdir -p -- "$LOGS"
  # Names are times, so the order of names is the order of runs.
  find "$CACHE/logs" -mindepth 1 -maxdepth 1 -type d | sort | head -n "-$LOGS_KEPT" | xargs -r rm -rf --
  # What an earlier run that was killed has left: nobody else is at work, the lock says so.
  find "$CACHE" -mindepth 1 -maxdepth 1 \( -name 'run.*' -o -name '*.partial' \) -exec rm -rf -- {} +
  RUN=$(mktemp -d -- "$CACHE/run.XXXXXX")
  chmod 0755 "$RUN"
  trap end_run EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
}

# The first process of a tree takes all others with it, and the last of them its mounts.
end_run() {
  if [[ -n ${AT_WORK:-} ]]; then
    kill -KILL "$AT_WORK" 2>/dev/null || true
    wait "$AT_WORK" 2>/dev/null || true
  fi
  rm -rf -- "$RUN"
}

# The bare tree, made once. Its name is a hash of all that it is made from.
make_base() {
  local suite key
  # shellcheck source=/dev/null
  suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  debian_sources >"$RUN/sources.list"
  [[ -n $suite && -s $RUN/sources.list ]] || cannot "apt knows no Debian packages here; this needs a Debian machine, and apt-get update"
  apt-config dump Acquire >"$RUN/apt.conf"
  key=$({ echo "$suite $PACKAGES $(dpkg --print-architecture)"; cat "$0" "$RUN/sources.list" "$RUN/apt.conf"; } | sha256sum | cut -c1-16)
  BASE="$CACHE/base-$key"
  [[ ! -d $BASE ]] || return 0
  find "$CACHE" -mindepth 1 -maxdepth 1 -name 'base-*' -exec rm -rf -- {} +
  step base "a bare Debian tree ($suite)" "${APART[@]}" --mount-proc -- mmdebstrap --mode=root --variant=apt --include="$PACKAGES" \
    --aptopt="$RUN/apt.conf" "$suite" "$BASE.partial" "$RUN/sources.list" || cannot "the tree could not be made"
  mv -- "$BASE.partial" "$BASE"
}

# Where apt gets Debian's own packages here, in the old one-line form, whichever form this machine uses.
debian_sources() {
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  # shellcheck disable=SC2016  # the dollars are apt's
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
    sort -u | sed "s|^|deb [signed-by=$keyring] |"
}

# What the tree is shown read-only under /mnt/fresh.
copy_what_is_shown() {
  local cargo_home="${CARGO_HOME:-$HOME/.cargo}" name
  TOOLCHAIN=$(toolchain)
  mkdir -- "$RUN/shown"
  git -C "$REPO" bundle create --quiet "$RUN/shown/holdfast.bundle" HEAD || cannot "there is no commit to clone"
  cp -- "$REPO/scripts/fresh-inside.sh" "$RUN/shown/inside.sh"
  for name in config.toml config; do
    [[ ! -f $cargo_home/$name ]] || cp -- "$cargo_home/$name" "$RUN/shown/cargo-config.toml"
  done
  chmod -R a+rX -- "$RUN/shown"
}

# in_tree USER STEP: runs a step of fresh-inside.sh in the tree of that user.
in_tree() {
  local user=$1 what=$2 words
  case $what in
    clone) words="clone" ;;
    build) words="cargo build" ;;
    up) words="make up, health, make down" ;;
    test) words="make test" ;;
  esac
  mkdir -p -- "$RUN/$user/upper" "$RUN/$user/work" "$RUN/$user/root"
  step "$user-$what" "$user: $words" "${APART[@]}" --ipc -- \
    "$REPO/scripts/fresh.sh" --within "$RUN" "$BASE" "$TOOLCHAIN" "$user" "$what"
}

# step NAME WORDS COMMAND...: runs it with its output in a log; says what, how long, and on failure the end of the log.
step() {
  local log="$LOGS/$1.log" words=$2 since status=0
  shift 2
  since=$(now)
  echo "fresh: $words (log: $log)"
  "$@" >"$log" 2>&1 </dev/null &
  AT_WORK=$!
  wait "$AT_WORK" || status=$?
  AT_WORK=
  if [[ $status -ne 0 ]]; then
    tail -n 40 -- "$log" | sed 's/^/  | /' >&2
    echo "fresh: $words: failed after $(elapsed "$since"), exit code $status; all of it is in $log" >&2
    return 1
  fi
  echo "fresh: $words: good, $(elapsed "$since")"
}

now() {
  date +%s%N
}

elapsed() {
  local tenths=$((($(now) - $1) / 100000000))
  echo "$((tenths / 10)).$((tenths % 10)) s"
}

# --- From here on: in the new namespaces, as the first process, before the tree becomes the root.

within() {
  local run=$1 base=$2 toolchain=$3 user=$4 what=$5
  local tree="$run/$user" root="$run/$user/root"
  mount --make-rprivate /
  mount_tree "$base" "$tree" "$root"
  mount_kernel "$root"
  show "$toolchain" "$root/opt/rust"
  show "$run/shown" "$root/mnt/fresh"
  carry_network "$root"
  keep_only_carried_environment
  # As an initrd does it: what is mounted over / hides the machine, and nothing in the tree counts as locked into a
  # folder, which the kernel would refuse some things.
  cd -- "$root"
  mount --move . /
  exec chroot . /bin/bash /mnt/fresh/inside.sh "$user" "$what"
}

# A layer over the bare tree; a copy of it where the kernel does not layer, as on a machine that is itself a layer.
mount_tree() {
  local base=$1 tree=$2 root=$3
  if [[ ! -e $tree/copied ]] &&
    mount -t overlay -o "lowerdir=$base,upperdir=$tree/upper,workdir=$tree/work" fresh "$root" 2>/dev/null; then
    return 0
  fi
  [[ -e $tree/copied ]] || cp -a -- "$base/." "$root/"
  touch -- "$tree/copied"
  mount --bind "$root" "$root"
}

mount_kernel() {
  local root=$1 device
  mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --make-rslave "$root/sys"
  mount -t tmpfs -o nosuid,nodev,mode=0755 fresh-run "$root/run"
  mount -t tmpfs -o nosuid,mode=0755 fresh-dev "$root/dev"
  mkdir -- "$root/dev/pts" "$root/dev/shm" "$root/dev/net"
  mount -t devpts -o nosuid,noexec,newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$root/dev/pts"
  mount -t tmpfs -o nosuid,nodev,mode=1777 fresh-shm "$root/dev/shm"
  # Shown rather than made: making device nodes is refused in many containers.
  for device in null zero full random urandom tty fuse kvm net/tun; do
    if [[ -c /dev/$device ]]; then
      touch -- "$root/dev/$device"
      mount --bind "/dev/$device" "$root/dev/$device"
    fi
  done
  ln -s pts/ptmx "$root/dev/ptmx"
  ln -s /proc/self/fd "$root/dev/fd"
  ln -s fd/0 "$root/dev/stdin"
  ln -s fd/1 "$root/dev/stdout"
  ln -s fd/2 "$root/dev/stderr"
}

show() {
  mkdir -p -- "$2"
  mount --bind "$1" "$2"
  mount -o remount,bind,ro "$2"
}

# Names, and the certificates this machine trusts: a company's registry may be signed by the company.
carry_network() {
  local root=$1 file
  for file in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
    if [[ -f $file ]]; then
      rm -f -- "$root$file"
      cp -L -- "$file" "$root$file"
    fi
  done
}

# Unset here rather than given to `env`: what is on a command line, every process can read.
keep_only_carried_environment() {
  local carried name
  carried=" $(carried_names | paste -sd' ') "
  for name in $(compgen -e); do
    # Some of the shell's own cannot be unset; they say nothing about the machine.
    [[ $carried == *" $name "* ]] || unset "$name" 2>/dev/null || true
  done
  export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM=dumb
}

if [[ ${1-} == --within ]]; then
  shift
  within "$@"
else
  main "$@"
fi
