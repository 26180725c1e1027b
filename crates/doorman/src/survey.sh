#!/bin/sh
# What is on a host, told in lines of `hf:KEY=VALUE`. Changes nothing. Read by `sh` from standard input; nothing is put into it.
LC_ALL=C
export LC_ALL
PATH=$PATH:/usr/sbin:/sbin
say() { printf 'hf:%s=%s\n' "$1" "$2"; }
first() { { read -r line && printf %s "$line"; } || :; }

say hello holdfast
me=$(id -u)
say uid "$me"
as_root=
if [ "$me" != 0 ]; then
  as_root='sudo -n'
  if why=$(sudo -n true 2>&1 </dev/null); then say root yes; else say root "no: $(printf '%s\n' "$why" | first)"; fi
else
  say root yes
fi
say clock "$(date +%s)"
say machine "$(uname -m)"
say kernel "$(uname -r)"
say os "$(sed -n 's/^PRETTY_NAME=//p' /etc/os-release 2>/dev/null | tr -d '"' | first)"
say systemd "$(systemctl --version 2>/dev/null | sed -n '1s/^systemd \([0-9][0-9]*\).*/\1/p')"
say manager "$( [ -d /run/systemd/system ] && echo yes)"
say cgroup "$(cat /sys/fs/cgroup/cgroup.controllers 2>/dev/null)"
say pressure "$(head -c 4 /proc/pressure/memory 2>/dev/null)"
say useradd "$(command -v useradd 2>/dev/null)"
say selinux "$(getenforce 2>/dev/null)"
say observer "$(getent passwd holdfast-observer 2>/dev/null)"
# What people and agents work with there and no unit tells of.
for tool in git python3 node cargo go nix docker podman incus tailscale code-server claude codex gemini; do
  if command -v "$tool" >/dev/null 2>&1; then say tool "$tool"; fi
done
systemctl list-unit-files --type=service --no-legend --no-pager 2>/dev/null | while read -r unit state _; do
  say file "$unit $state"
done
systemctl show '*.service' --property=Id,LoadState,ActiveState,SubState,MemoryCurrent,MainPID --no-pager 2>/dev/null | sed 's/^/hf:unit:/'
# All that takes root, at once.
$as_root sh <<'END'
LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin
say() { printf 'hf:%s=%s\n' "$1" "$2"; }
for place in /usr/local/lib /etc /var/lib; do
  say "free:$place" "$(df -Pk "$place" 2>/dev/null | { read -r _; read -r _ _ _ free _; printf %s "$free"; })"
  if [ -w "$place" ]; then say "write:$place" yes; fi
done
for path in /etc/holdfast-doorman/settings.json /var/lib/holdfast-doorman /usr/local/lib/holdfast/holdfast-doorman /var/lib/holdfast-observer; do
  if [ -e "$path" ]; then say there "$path"; fi
done
sshd -T -C user=root,host=localhost,addr=127.0.0.1 </dev/null 2>/dev/null |
  sed -n -e 's/^permitrootlogin /hf:sshd:root=/p' -e 's/^authorizedkeysfile /hf:sshd:keys=/p' -e 's/^pubkeyauthentication /hf:sshd:pubkey=/p'
if command -v ss >/dev/null 2>&1; then
  say ss yes
  listening=$(ss -Hltnp </dev/null 2>/dev/null)
  printf '%s\n' "$listening" | sed 's/^/hf:listen=/'
  for process in $(printf '%s\n' "$listening" | grep -o 'pid=[0-9]*' | sort -u | sed 's/pid=//'); do
    say "of:$process" "$(tail -n 1 "/proc/$process/cgroup" 2>/dev/null)"
  done
fi
END
say end holdfast
