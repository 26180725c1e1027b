//! What a machine's files tell about what it uses, and real sockets of this one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod counter;

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::sync::Arc;

use counter::{Counter, fabric, named, number, purpose};
use holdfast_ledger::{Ask, InUse, Ledger, LedgerProjection, Machine, Range, Series, Space};
use holdfast_store::Index;

const HEAD: &str =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

/// A machine with little on it.
fn machine() -> (tempfile::TempDir, Machine) {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| put(dir.path(), name, text);
    put(
        "etc/passwd",
        "root:x:0:0:root:/root:/bin/sh\n# a comment\nana:x:4002:100:Ana:/home/ana:/bin/sh\n+::::::\n",
    );
    put("etc/group", "root:x:0:\nbuilders:x:4004:ana,bo\n");
    let row = |local: &str, state: &str| {
        format!(
            "   0: {local} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000     0        0 637 1\n"
        )
    };
    put("proc/net/tcp", &format!("{HEAD}{}{}", row("0100007F:170D", "0A"), row("0100007F:170E", "01")));
    put("proc/net/tcp6", &format!("{HEAD}{}", row("00000000000000000000000001000000:170F", "0A")));
    put("proc/net/udp", &format!("{HEAD}{}", row("00000000:1710", "07")));
    put(
        "proc/net/route",
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
         eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
         br0\t1001D00A\t00000000\t0001\t0\t0\t0\tF0FFFFFF\t0\t0\t0\n\
         *\t0000000A\t00000000\t0200\t0\t0\t0\t000000FF\t0\t0\t0\n",
    );
    for name in ["lo", "eth0", "hf2", "hf03", "hfx"] {
        fs::create_dir_all(dir.path().join("sys/class/net").join(name)).unwrap();
    }
    let machine = Machine::below(dir.path());
    (dir, machine)
}

fn put(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn check(machine: &Machine, series: Series, in_use: &[&str], free: &[&str]) {
    let occupied = machine.look(series.space()).unwrap();
    for value in in_use {
        assert!(occupied.has(number(series, value)), "{series} {value}");
    }
    for value in free {
        assert!(!occupied.has(number(series, value)), "{series} {value}");
    }
}

#[test]
#[cfg(target_endian = "little")]
fn users_groups_listeners_routes_and_interfaces_are_seen() {
    let (_dir, machine) = machine();
    check(&machine, Series::Uid, &["4002", "4004"], &["4001", "4003", "4005"]);
    // 5902 is only a connection that somebody made.
    check(&machine, Series::VncPort, &["5901", "5903", "5904"], &["5902", "5905"]);
    check(&machine, Series::Subnet24, &["10.208.1.0/24"], &["10.208.0.0/24", "10.208.2.0/24"]);
    check(&machine, Series::Subnet28, &["10.208.1.16/28"], &["10.208.1.0/28", "10.208.1.32/28"]);
    check(&machine, Series::Interface, &["hf2"], &["hf1", "hf3"]);
    check(&machine, Series::Mark, &[], &["0x1001"]);
}

#[test]
fn what_cannot_be_seen_is_not_free() {
    for (name, space) in [
        ("etc/passwd", Space::Uids),
        ("etc/group", Space::Uids),
        ("proc/net/tcp", Space::Ports),
        ("proc/net/udp", Space::Ports),
        ("proc/net/tcp6", Space::Ports),
        ("proc/net/route", Space::Subnets),
    ] {
        let (dir, machine) = machine();
        put(dir.path(), name, "a heading\nwhat is this\n");
        let refused = machine.look(space).unwrap_err();
        assert!(refused.to_string().contains(name), "{refused}");
        fs::remove_file(dir.path().join(name)).unwrap();
        // A kernel without IPv6 has no such file, and nobody listens there.
        assert_eq!(machine.look(space).is_ok(), name.ends_with('6'), "{name}");
    }
    let (dir, machine) = machine();
    fs::remove_dir_all(dir.path().join("sys")).unwrap();
    assert!(machine.look(Space::Interfaces).is_err());
}

#[test]
fn this_machine_can_be_looked_at_and_a_listener_keeps_its_port() {
    let machine = Machine::default();
    for space in [Space::Uids, Space::Ports, Space::Subnets, Space::Marks, Space::Interfaces] {
        machine.look(space).unwrap();
    }
    let (tcp, first) = bound(21_000, |port| TcpListener::bind(("127.0.0.1", port)).ok());
    let (udp, second) = bound(first + 1, |port| UdpSocket::bind(("127.0.0.1", port)).ok());
    let range = Range::new(port(first), port(second + 100)).unwrap();
    let counter = Counter::new();
    let ledger = over_this_machine(&counter);
    let give = |holder: &str| {
        let given = ledger.give(&Ask::within(range, named(holder), purpose()), &fabric()).unwrap();
        given.number
    };
    let given = give("agent/a");
    assert!(given != port(first) && given != port(second), "{given:?}");
    drop((tcp, udp));
    let later = give("agent/b");
    assert!(later != port(first) && later != port(second), "{later:?}");
    assert_eq!(give("agent/a"), given);
}

fn port(port: u16) -> holdfast_ledger::Number {
    number(Series::Port, &port.to_string())
}

/// Something bound to the first port from `from` on that is free.
fn bound<T>(from: u16, bind: impl Fn(u16) -> Option<T>) -> (T, u16) {
    (from..from + 1_000).find_map(|port| Some((bind(port)?, port))).unwrap()
}

fn over_this_machine(counter: &Counter) -> Ledger {
    let projection = LedgerProjection::new(counter.house.origin.clone());
    let clock = Arc::new(counter.house.clock.clone());
    let path = counter.house.state().join("machine.db");
    let (index, _) = Index::open(&path, vec![Box::new(projection)], clock).unwrap();
    let screen = Arc::new(holdfast_screen::GuardScreen::builtin());
    Ledger::new(counter.journal().clone(), Arc::new(index), screen, Arc::new(Machine::default()))
}
