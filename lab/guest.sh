#!/usr/bin/env bash
# The guests of the lab: Debian machines with a real systemd and cgroup v2 controllers, kept as they were when they had
# booted. One per release of Debian, with the same in each: bookworm (systemd 252) and trixie (systemd 257).
#
#   guest.sh build [RELEASE]   makes it, or all of them, unless they are there; says how guests will run, and how long a
#                              step took
#   guest.sh path [RELEASE]    prints the folder it lies in; bookworm's unless said
#
# Tests resume them through `holdfast_testkit::lab`. The folder lies in the cache. Its name has the release and a hash of
# this script, which holds the list of packages, and of QEMU's version, since QEMU reads back only what the same QEMU has
# written:
#
#   disk.raw           the disk as it was at that moment, never written again: a guest writes to a layer of its own
#   state              the memory and the devices at that moment
#   vmlinuz, initrd    what it was booted with
#   machine            the arguments of QEMU that have to be the same again, one a line
#   accelerator        kvm or tcg
#   key, known_hosts   to reach it with ssh, and to know that it is the one
#   tree               what the disk was made from, root's: containers of the lab are booted from it
#   stamps, sums       what all of this was when it was kept: `path` looks at sizes and times, which takes a moment, and
#                      `build` reads everything but the disk too. What is damaged is not used, and `build` makes it anew
#
# Making the tree of Debian packages takes root, or sudo, and so does removing it. Without KVM, or with a KVM that does not
# boot a kernel, guests are emulated (TCG); this is said every time.
# Exit codes: 0 good, 1 the guest did not come up, 2 wrong usage, 3 it is not built, or cannot be built here.
# HOLDFAST_REQUIRE_GUEST=0 says that this is known: `build` then says so in one line and ends with 0.
set -euo pipefail

readonly RELEASES=(bookworm trixie)
# systemd with logins, so that ordinary users have a manager and a delegated cgroup; what the tests use; and a kernel.
readonly PACKAGES=systemd-sysv,udev,dbus,dbus-user-session,libpam-systemd,openssh-server,iproute2,procps,kmod,\
linux-image-cloud-amd64,busybox-static,python3-minimal,bubblewrap,git,ca-certificates,nftables
# The ordinary user in the guest. Its systemd manager always runs.
readonly USER_NAME=agent
# Mostly holes: about a quarter is written.
readonly DISK_SIZE=3G
readonly DISK_NEEDED_GIB=4
readonly MEMORY_MIB=768
# A kernel that runs under KVM prints its first line within two seconds.
readonly PROBE_WITHIN_S=10
# Emulated, on a busy machine, a cold boot takes half a minute.
readonly BOOT_WITHIN_S=300
readonly SAVE_WITHIN_S=120
# Of each release this one and the one before it, so that going back to another branch costs nothing.
readonly IMAGES_KEPT=2
readonly APPEND="root=/dev/vda rw console=ttyS0 quiet mitigations=off tsc=reliable no_timer_check random.trust_cpu=on \
net.ifnames=0 psi=1 panic=-1"
# All that is kept besides the disk and the tree.
readonly SMALLER=(state vmlinuz initrd machine accelerator key known_hosts)
# What is started here ends with this script, even when it is killed.
readonly TIED=(setpriv --pdeathsig KILL --)

main() {
  local wanted=("${@:2}")
  if [[ $# -gt 2 || ! " ${RELEASES[*]} " == *" ${2-bookworm} "* ]]; then usage; fi
  case "${1-}" in
    build)
      [[ ${#wanted[@]} -gt 0 ]] || wanted=("${RELEASES[@]}")
      # Each in a process of its own, which clears away what it leaves when it fails.
      if [[ ${#wanted[@]} -gt 1 ]]; then
        for RELEASE in "${wanted[@]}"; do "${TIED[@]}" "$SCRIPT" build "$RELEASE"; done
      else
        RELEASE=${wanted[0]}
        build
      fi
      ;;
    path)
      RELEASE=${2-bookworm}
      print_path
      ;;
    *) usage ;;
  esac
}

usage() {
  echo "usage: guest.sh build|path [${RELEASES[*]}]" >&2
  exit 2
}

build() {
  require_programs
  name_image
  if is_built && is_whole; then
    say "$(describe)"
    return 0
  fi
  mkdir -p -- "$CACHE"
  exec 9>"$CACHE/lock"
  flock 9
  # Somebody else may have made it meanwhile.
  if ! is_built || ! is_whole; then
    [[ ! -d $IMAGE ]] || say "the guest ($RELEASE) is there and cannot be used: making it anew"
    check_room
    begin
    make_disk
    choose_accelerator
    boot
    save
    keep
  fi
  say "$(describe)"
}

print_path() {
  command -v qemu-system-x86_64 >/dev/null || fail "QEMU is not installed. Run \`make lab\`"
  name_image
  is_built || fail "the guest ($RELEASE) is not built. Run \`make lab\`"
  looks_whole || fail "the guest ($RELEASE) is damaged: $IMAGE is not as it was kept. Run \`make lab\`"
  echo "$IMAGE"
}

# --- What is there.

name_image() {
  local version
  version=$(qemu-system-x86_64 --version | head -n 1)
  CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/lab"
  IMAGE="$CACHE/guest-$RELEASE-$({ echo "$version"; cat -- "$SCRIPT"; } | sha256sum | cut -c1-16)"
}

# One that was kept under KVM is of no use where KVM is gone.
is_built() {
  [[ -d $IMAGE ]] && { [[ $(cat -- "$IMAGE/accelerator" 2>/dev/null) != kvm ]] || can_open_kvm; }
}

# Nothing in it is ever written again. Cheap, since every test asks.
looks_whole() {
  (cd -- "$IMAGE" && take_stamps 2>/dev/null | cmp -s - stamps)
}

# What has been read once more. Not the disk, which would take a minute: its stamp has to do.
is_whole() {
  looks_whole && (cd -- "$IMAGE" && take_sums 2>/dev/null | cmp -s - sums)
}

take_stamps() {
  stat --format='%n %s %Y' -- disk.raw "${SMALLER[@]}"
}

# Of the tree what is in it, with times, and the sizes of files. Not root cannot look everywhere, and then never could.
take_sums() {
  sha256sum -- "${SMALLER[@]}"
  { find tree \( -type d -printf '%P %T@ %m\n' -o -printf '%P %s %T@ %m %l\n' \) 2>/dev/null || true; } |
    LC_ALL=C sort | sha256sum
}

can_open_kvm() {
  [[ -c /dev/kvm && -r /dev/kvm && -w /dev/kvm ]]
}

describe() {
  case $(<"$IMAGE/accelerator") in
    kvm) echo "the guest ($RELEASE) is ready: using KVM" ;;
    tcg) echo "the guest ($RELEASE) is ready. No KVM: using TCG" ;;
  esac
}

require_programs() {
  local program
  [[ $(dpkg --print-architecture 2>/dev/null) == amd64 ]] || fail "the guest can be built on Debian machines for amd64 only"
  for program in qemu-system-x86_64 mmdebstrap ssh-keygen; do
    command -v "$program" >/dev/null || fail "$program is missing. Run \`scripts/setup.sh test\`"
  done
  [[ $EUID -eq 0 ]] || command -v sudo >/dev/null || fail "making the guest takes root, or sudo"
}

check_room() {
  local free
  free=$(df --output=avail -BG -- "$CACHE" | tail -n 1 | tr -dc '0-9')
  [[ $free -ge $DISK_NEEDED_GIB ]] || fail "$CACHE has $free GiB free, $DISK_NEEDED_GIB are needed"
}

# --- Making it.

begin() {
  BEGUN=$SECONDS
  # What an earlier run that was killed has left: nobody else is at work, the lock says so.
  remove_all "$CACHE"/build.*
  WORK=$(mktemp -d -- "$CACHE/build.XXXXXX")
  trap end EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  cd -- "$WORK"
}

end() {
  [[ -z ${QEMU-} ]] || kill -KILL "$QEMU" 2>/dev/null || true
  remove_all "$WORK"
}

# What is in a tree is root's.
remove_all() {
  local path
  for path in "$@"; do
    [[ ! -e $path ]] || as_root rm -rf -- "$path"
  done
}

make_disk() {
  say "making a Debian tree ($RELEASE) for the guest, in $CACHE"
  ssh-keygen -q -t ed25519 -N '' -C lab -f key
  debian_sources >sources.list
  [[ -s sources.list ]] || fail "apt knows no Debian packages here; this needs a Debian machine, and apt-get update"
  apt-config dump Acquire >apt.conf
  as_root "$SCRIPT" --tree "$RELEASE" "$WORK" "$(id -u):$(id -g)" >tree.log 2>&1 </dev/null ||
    give_up "the tree could not be made" tree.log
  say "the tree is there, $((SECONDS - BEGUN)) s"
}

# Where apt gets Debian's own packages here, for the guest's release, in the old one-line form. Debian's keyring of one
# release also has the keys of the next.
debian_sources() {
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg here
  # shellcheck source=/dev/null
  here=$(. /etc/os-release && echo "${VERSION_CODENAME:-$RELEASE}")
  # shellcheck disable=SC2016  # the dollars are apt's
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
    sort -u | sed "s| $here| $RELEASE|; s|^|deb [signed-by=$keyring] |"
}

# sudo drops the environment, so the addresses of proxies are handed on by name.
as_root() {
  local name proxies=""
  if [[ $EUID -eq 0 ]]; then
    "${TIED[@]}" "$@"
    return
  fi
  for name in http_proxy https_proxy no_proxy all_proxy; do
    [[ -z ${!name-} ]] || proxies+="${proxies:+,}$name"
  done
  sudo ${proxies:+"--preserve-env=$proxies"} "$@"
}

# A device node is no proof: the kernel has to print a line. Nothing else is loaded, and it powers off by itself.
choose_accelerator() {
  if ! can_open_kvm; then
    say "no KVM (/dev/kvm is not there or not ours): using TCG"
    describe_machine tcg
    return
  fi
  describe_machine kvm
  mapfile -t MACHINE <machine
  local status=0
  "${TIED[@]}" timeout --foreground --signal=KILL "$PROBE_WITHIN_S" "${TIED[@]}" qemu-system-x86_64 "${MACHINE[@]}" \
    -append "$APPEND lab.probe" -drive if=none,id=disk,file=disk.raw,format=raw,snapshot=on \
    -netdev user,id=net,restrict=on -serial file:probe.console -no-reboot >probe.log 2>&1 </dev/null || status=$?
  if grep -qs 'lab: the kernel runs' probe.console; then
    return
  fi
  say "no KVM (/dev/kvm is there, but boots no kernel within $PROBE_WITHIN_S s; exit code $status): using TCG"
  describe_machine tcg
}

# All that a guest sees of its machine. QEMU's -cx16: with it, emulated kernels panic now and then.
describe_machine() {
  local accelerate
  case $1 in
    kvm) accelerate=(-accel kvm -cpu host) ;;
    tcg) accelerate=(-accel 'tcg,tb-size=256' -cpu 'Nehalem,-cx16') ;;
  esac
  printf '%s\n' "$1" >accelerator
  printf '%s\n' "${accelerate[@]}" -M q35,hpet=off -m "$MEMORY_MIB" -smp 1 -nodefaults -no-user-config -display none \
    -kernel vmlinuz -initrd initrd -append "$APPEND" \
    -device virtio-blk-pci,drive=disk,addr=0x3 -device virtio-net-pci,netdev=net,addr=0x4,romfile= >machine
}

boot() {
  local began=$SECONDS
  say "booting it once"
  mapfile -t MACHINE <machine
  mkfifo monitor
  # Opened for both, so that neither side waits for the other.
  exec 8<>monitor
  "${TIED[@]}" qemu-system-x86_64 "${MACHINE[@]}" -drive if=none,id=disk,file=disk.raw,format=raw,cache=unsafe \
    -netdev user,id=net,restrict=on -serial file:console -monitor stdio -no-reboot <&8 >monitor.log 2>&1 &
  QEMU=$!
  await "$BOOT_WITHIN_S" 'lab: ready' console || give_up "the guest did not come up" console
  grep -q 'lab: ready running' console || give_up "a unit of the guest failed" console
  say "it is up, $((SECONDS - began)) s"
}

# Written while the guest runs, so that whoever reads it back finds it running.
save() {
  printf '%s\n' 'migrate_set_parameter max-bandwidth 100G' 'migrate "exec:cat >state"' >&8
  local tries
  for ((tries = 0; tries < SAVE_WITHIN_S; tries++)); do
    echo 'info migrate' >&8
    await 1 'Migration status: completed' monitor.log && break
  done
  grep -q 'Migration status: completed' monitor.log || give_up "its state could not be saved" monitor.log
  echo quit >&8
  wait "$QEMU" || give_up "QEMU failed after it had saved the state" monitor.log
  QEMU=
  exec 8>&-
}

keep() {
  printf 'guest %s\n' "$(cut -d' ' -f1,2 host_key.pub)" >known_hosts
  rm -f -- monitor monitor.log console probe.console probe.log tree.log sources.list apt.conf host_key.pub key.pub
  chmod 0755 .
  take_stamps >stamps
  take_sums >sums
  # A machine that loses power must not find the name and not what it names.
  sync --file-system .
  # It may be there and not usable: damaged, or kept under KVM, where KVM is gone.
  remove_all "$IMAGE"
  mv -T -- "$WORK" "$IMAGE"
  cd -- "$IMAGE"
  trap - EXIT
  # A guest that still runs keeps what it has open.
  local older
  mapfile -t older < <(find "$CACHE" -mindepth 1 -maxdepth 1 -name "guest-$RELEASE-*" -printf '%T@ %p\n' | sort -rn |
    tail -n "+$((IMAGES_KEPT + 1))" | cut -d' ' -f2-)
  remove_all "${older[@]}"
  say "kept in $IMAGE, $(du -sm -- "$IMAGE" | cut -f1) MB, $((SECONDS - BEGUN)) s in all"
}

# await SECONDS PATTERN FILE: until the file has such a line, QEMU has ended, or the time is over.
await() {
  local tries
  for ((tries = 0; tries < $1 * 5; tries++)); do
    ! grep -qs -- "$2" "$3" || return 0
    kill -0 "$QEMU" 2>/dev/null || return 1
    sleep 0.2
  done
  return 1
}

say() {
  echo "lab: $1"
}

fail() {
  echo "lab: $1" >&2
  waive
  exit 3
}

# give_up WORDS LOG: with the end of the log.
give_up() {
  tail -n 40 -- "$2" | sed 's/^/  | /' >&2
  echo "lab: $1; nothing was kept" >&2
  waive
  exit 1
}

waive() {
  if [[ ${HOLDFAST_REQUIRE_GUEST-} == 0 && $MODE == build ]]; then
    echo "lab: no guest, and HOLDFAST_REQUIRE_GUEST=0: the tests that need it will say so and not run" >&2
    exit 0
  fi
}

# --- From here on: as root, in the folder where it is made.

# tree RELEASE FOLDER OWNER: leaves disk.raw, vmlinuz, initrd, host_key.pub and the tree in the folder, and nothing else.
make_tree() {
  local owner=$3
  RELEASE=$1
  cd -- "$2"
  trap 'rm -rf -- initrd.tree' EXIT
  bootstrap
  fill_in
  make_initrd
  cp -- tree/boot/vmlinuz-* vmlinuz
  cp -- tree/etc/ssh/ssh_host_ed25519_key.pub host_key.pub
  rm -f -- tree/boot/vmlinuz-*
  /usr/sbin/mke2fs -q -t ext4 -d tree -L guest -E lazy_itable_init=0,lazy_journal_init=0 disk.raw "$DISK_SIZE"
  # A container has no kernel of its own.
  rm -rf -- tree/usr/lib/modules tree/boot
  chown -- "$owner" disk.raw vmlinuz initrd host_key.pub
}

# In mounts and processes of its own, which end with it. INITRD=No: we bring our own.
bootstrap() {
  INITRD=No "${TIED[@]}" unshare --mount --pid --fork --kill-child=KILL --mount-proc -- \
    mmdebstrap --mode=root --variant=apt --include="$PACKAGES" --aptopt=apt.conf \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
    "$RELEASE" tree sources.list
}

# into FILE: standard input, into that file of the tree.
into() {
  mkdir -p -- "tree$(dirname -- "$1")"
  cat >"tree$1"
}

fill_in() {
  echo guest | into /etc/hostname
  printf '127.0.0.1 localhost guest\n::1 localhost\n' | into /etc/hosts
  printf '/dev/vda / ext4 noatime 0 0\n' | into /etc/fstab
  # QEMU's own little network. There is nobody to ask for an address, and no way out.
  printf '[Match]\nName=eth0\n[Network]\nAddress=10.0.2.15/24\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n' |
    into /etc/systemd/network/10-lab.network
  fill_in_ssh
  fill_in_ready
  chroot tree useradd --create-home --shell /bin/bash "$USER_NAME"
  # No password, but not locked: an sshd without PAM lets nobody in whose account is.
  chroot tree usermod --password '*' "$USER_NAME"
  mkdir -p tree/var/lib/systemd/linger
  touch "tree/var/lib/systemd/linger/$USER_NAME"
  rm -f tree/etc/machine-id
  chroot tree systemd-machine-id-setup
  chroot tree systemctl enable systemd-networkd.service lab-ready.service
  # Nobody sits at a terminal; and when a resumed guest is told the time, nothing that is due by the calendar may start.
  chroot tree systemctl mask getty@tty1.service serial-getty@ttyS0.service systemd-networkd-wait-online.service \
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer systemd-tmpfiles-clean.timer
  # For hardware that is not there. An emulated machine boots a quarter faster without them.
  chroot tree systemctl mask modprobe@.service systemd-modules-load.service systemd-network-generator.service \
    systemd-udev-load-credentials.service systemd-random-seed.service systemd-pstore.service dev-hugepages.mount \
    sys-kernel-debug.mount sys-kernel-tracing.mount
  rm -rf tree/var/cache/apt/archives tree/var/lib/apt/lists
}

# One key for every user there is or will be. It opens this guest alone, and lies with its disk.
fill_in_ssh() {
  into /etc/ssh/lab_keys <key.pub
  chmod 0644 tree/etc/ssh/lab_keys
  into /etc/ssh/sshd_config.d/lab.conf <<'CONFIGURATION'
AuthorizedKeysFile /etc/ssh/lab_keys
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UseDNS no
MaxSessions 64
CONFIGURATION
  # Whoever connects comes from one address there, a test that is to be refused as well as the next one that is not.
  [[ $RELEASE == bookworm ]] || echo 'PerSourcePenalties no' >>tree/etc/ssh/sshd_config.d/lab.conf
  # Who logs in has a session with systemd, and so a place below user.slice. Not root: its manager would have to start first,
  # which takes an emulated machine seconds.
  into /etc/pam.d/sshd <<'CONFIGURATION'
account required pam_unix.so
session required pam_limits.so
session required pam_env.so
session [success=1 default=ignore] pam_succeed_if.so quiet uid eq 0
session required pam_systemd.so
session required pam_unix.so
CONFIGURATION
  # Runs what it is given and nothing of its own: exec knows no words of the shell, and the shell that stays behind turns
  # a signal into an exit code, which ssh would not hand on.
  into /usr/local/lib/lab/run <<'PROGRAM'
#!/bin/sh
(exec "$@")
exit $?
PROGRAM
  chmod 0755 tree/usr/local/lib/lab/run
}

# Says on the console when all is up, after having run once what tests will run, so that it is in memory.
fill_in_ready() {
  into /usr/local/lib/lab/ready <<'PROGRAM'
#!/bin/sh
state=$(systemctl is-system-running --wait)
systemctl --failed --no-legend --plain
systemd-run --quiet --wait --pipe --uid=agent python3 -I -c 'print("lab: warm")'
bwrap --ro-bind / / true
git --version
ssh-keygen -q -t ed25519 -N '' -f /run/lab-key
cp /etc/ssh/lab_keys /run/lab-keys
cat /run/lab-key.pub >>/etc/ssh/lab_keys
for user in root agent; do
  ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -i /run/lab-key \
    "$user@127.0.0.1" /usr/local/lib/lab/run true || state="without ssh for $user"
done
cp /run/lab-keys /etc/ssh/lab_keys
rm /run/lab-key*
touch /var/lib/lab-ready
sync
echo "lab: ready $state"
PROGRAM
  chmod 0755 tree/usr/local/lib/lab/ready
  into /etc/systemd/system/lab-ready.service <<'UNIT'
[Unit]
Description=Says on the console that the guest is up
After=ssh.service user@1000.service
# Once: a guest that is reset later has other things to do.
ConditionPathExists=!/var/lib/lab-ready
[Service]
Type=exec
ExecStart=/usr/local/lib/lab/ready
StandardOutput=file:/dev/console
StandardError=file:/dev/console
[Install]
WantedBy=multi-user.target
UNIT
}

# Finds the disk and no more: a few modules, in the order they need each other, and busybox.
make_initrd() {
  local kernel
  kernel=$(basename -- tree/lib/modules/*)
  mkdir -p initrd.tree/{bin,dev,proc,root,modules}
  cp -- tree/bin/busybox initrd.tree/bin/
  for module in virtio_pci virtio_blk ext4; do
    chroot tree modprobe --set-version "$kernel" --show-depends "$module"
  done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' >initrd.tree/order
  while read -r module; do
    cp -- "tree$module" initrd.tree/modules/
  done <initrd.tree/order
  # Newer kernels have them packed.
  find initrd.tree/modules -name '*.xz' -exec tree/bin/busybox unxz -- {} +
  sed -i 's|.*/|/modules/|; s|\.xz$||' initrd.tree/order
  cat >initrd.tree/init <<'PROGRAM'
#!/bin/busybox sh
export PATH=/bin
busybox mount -t proc proc /proc
busybox --install -s /bin
mount -t devtmpfs devtmpfs /dev
echo "lab: the kernel runs" >/dev/console
if grep -q lab.probe /proc/cmdline; then poweroff -f; fi
while read -r module; do insmod "$module"; done </order
tries=0
until [ -b /dev/vda ] || [ $tries -ge 100 ]; do sleep 0.1; tries=$((tries + 1)); done
mount -t ext4 -o noatime /dev/vda /root || echo "lab: no disk" >/dev/console
umount /proc
exec switch_root /root /sbin/init
PROGRAM
  chmod 0755 initrd.tree/init
  (cd initrd.tree && find . | ./bin/busybox cpio -o -H newc) | gzip -1 >initrd
}

SCRIPT=$(realpath -- "$0")
readonly SCRIPT MODE="${1-}"
if [[ $MODE == --tree ]]; then
  shift
  make_tree "$@"
else
  main "$@"
fi
