# shellcheck shell=sh
# What an ordinary account can see of its host, in parts. It comes on the input of `sh -s -- CURSOR UNIT...`; CURSOR is `-` for none.
# Only reads; leaves no file behind.

PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C SYSTEMD_PAGER=
export PATH LC_ALL SYSTEMD_PAGER

# A part: its label, what the command prints or complains of, the code it ends with. Standard input is this script, so none reads it.
part() {
    printf '== %s\n' "$1"
    shift
    "$@" 2>&1 </dev/null
    code=$?
    printf '\n== end %s\n' "$code"
    return "$code"
}

cursor=$(printf '%s' "$1" | tr , ';')
shift

part boot cat /proc/sys/kernel/random/boot_id
part meminfo cat /proc/meminfo
part load cat /proc/loadavg
part processors cat /sys/devices/system/cpu/online
for resource in memory cpu io; do
    part "pressure $resource" cat "/proc/pressure/$resource"
done
part space df -P -k /var

if [ "$#" -gt 0 ]; then
    properties='Id,LoadState,ActiveState,UnitFileState,FragmentPath,DropInPaths,ControlGroup,MemoryMax,MemoryHigh,CPUQuotaPerSecUSec,Nice,NRestarts,MainPID,ActiveEnterTimestampMonotonic,Result,MemoryCurrent,CPUUsageNSec'
    shown=$(systemctl show --no-pager --property="$properties" -- "$@" 2>&1 </dev/null)
    code=$?
    printf '== units\n%s\n== end %s\n' "$shown" "$code"
    printf '%s\n' "$shown" | sed -n 's/^ControlGroup=\(\/.*\)$/\1/p' | while IFS= read -r group; do
        case $group in *..*) continue ;; esac
        for file in memory.current memory.peak memory.events cpu.stat memory.pressure cpu.pressure io.pressure; do
            part "group $file $group" cat "/sys/fs/cgroup$group/$file"
        done
    done
else
    printf '== units\n== end 0\n'
fi

# Without the right to, journalctl shows nothing of the host and says nothing about it.
may_read() {
    found=no
    for journal in /var/log/journal/*/system.journal /run/log/journal/*/system.journal; do
        [ -e "$journal" ] || continue
        [ -r "$journal" ] && return 0
        found=yes
    done
    [ "$found" = no ]
}

fields='--output-fields=MESSAGE,PRIORITY,UNIT,_SYSTEMD_UNIT,MESSAGE_ID,_TRANSPORT'
stands() {
    journalctl --quiet --no-pager --output=json --show-cursor "$fields" --lines=0
}
# At most so many bytes; what is beyond is read the next time, from the last entry that is whole.
since() {
    code=$({
        {
            journalctl --quiet --no-pager --output=json --show-cursor "$fields" --lines=5001 --cursor="$cursor"
            echo "$?" >&3
        } | head -c 2000000 >&4
    } 3>&1)
    # Ended because nobody took the rest.
    [ "$code" = 141 ] && code=0
    return "${code:-1}"
}
no_right() {
    echo 'this user may not read the journal of the machine'
    return 1
}

exec 4>&1
if ! may_read; then
    part journal no_right
elif [ "$cursor" = - ]; then
    part journal stands
else
    part journal since || part 'journal anew' stands
fi
