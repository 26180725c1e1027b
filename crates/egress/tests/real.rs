//! The rules in a real packet filter, with real users by their numbers: what is declared is reachable, all else is dropped and written down, and
//! neither a name server, nor a kill, nor a person who flushes the filter, nor a wrong setting opens anything.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod net;

use std::net::{IpAddr, Ipv4Addr, UdpSocket};

use holdfast_egress::Protocol;
use holdfast_testkit::rounds;
use net::{DAEMON, Net, OTHER, Program, TRIPWIRE, passwd, wait_until};
use serde_json::json;

const TARGETS: &str = "\
steward:
  targets:
    - { name: box-1, driver: agentless, address: 10.9.0.10, port: 2222, units: [web.service], endpoint: 'web.lab:8080' }
    - { name: box-6, driver: agentless, address: 'fd09::10', units: [web.service] }
";

/// One that has seen all its names.
fn settled(net: &Net, pace: u32) -> Program {
    let program = net.start(pace);
    wait_until("the names are known", || {
        net.status()
            .is_some_and(|it| !it.names.is_empty() && it.names.iter().all(|name| !name.addresses.is_empty()))
    });
    program
}

#[test]
fn what_is_declared_is_reachable_and_all_else_is_dropped_and_logged() {
    let net = Net::new();
    net.names.set("web.lab", &["10.9.0.11", "fd09::11"]);
    net.names.set("guard.lab", &["10.9.0.20"]);
    net.config(TARGETS);
    net.tripwire(&json!({
        "first": { "address": "guard.lab" }, "second": { "address": "10.9.0.13", "port": 2222 },
        "provider": { "hetzner": { "server": 1, "token": "/t", "api": "http://10.9.0.12:80/v1" } },
        "references": [{ "icmp": { "host": "10.9.0.1" } }, { "tcp": { "address": "[fd09::1]:443" } }],
    }));
    // So long before the first rules nobody is bound.
    net.reaches(DAEMON, "10.9.0.12:80");
    let _program = settled(&net, 20);

    for declared in ["10.9.0.10:2222", "10.9.0.11:8080", "[fd09::11]:8080", "[fd09::10]:22"] {
        net.reaches(DAEMON, declared);
    }
    for declared in ["10.9.0.20:22", "10.9.0.13:2222", "10.9.0.12:80", "[fd09::1]:443"] {
        net.reaches(TRIPWIRE, declared);
    }
    // Another port of a declared host, another host, another family, what only the other may.
    for other in ["10.9.0.10:22", "10.9.0.12:80", "[fd09::12]:8080", "10.9.0.20:22", "198.51.100.1:443"] {
        net.is_refused(DAEMON, other);
    }
    for other in ["10.9.0.10:2222", "10.9.0.20:80", "[fd09::10]:22"] {
        net.is_refused(TRIPWIRE, other);
    }
    name_servers_are_those_of_the_machine(&net);
    echoes_are_as_declared(&net);
    // Nobody else is bound, and nobody on this machine is out of reach.
    for uid in [OTHER, 0] {
        net.reaches(uid, "10.9.0.12:80");
        net.reaches(uid, "[fd09::12]:8080");
    }
    let listener = net.within(OTHER, || std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    net.reaches(DAEMON, &listener.local_addr().unwrap().to_string());
    is_written_down(&net);
}

fn name_servers_are_those_of_the_machine(net: &Net) {
    let asks = |uid, server: &'static str| {
        net.within(uid, move || {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            socket.send_to(b"x", server).map_err(|e| e.kind())
        })
    };
    assert_eq!(asks(DAEMON, "10.9.0.53:53"), Ok(1));
    assert_eq!(asks(TRIPWIRE, "10.9.0.53:53"), Ok(1));
    // What is dropped before it has left is an error for whoever sends it.
    assert_eq!(asks(DAEMON, "10.9.0.54:53"), Err(std::io::ErrorKind::PermissionDenied));
    assert_eq!(asks(DAEMON, "10.9.0.53:5353"), Err(std::io::ErrorKind::PermissionDenied));
    assert_eq!(asks(OTHER, "10.9.0.54:53"), Ok(1));
}

fn echoes_are_as_declared(net: &Net) {
    net.inside(&["sysctl", "-q", "-w", "net.ipv4.ping_group_range=0 2147483647"]);
    let pings = |uid, host: &'static str| {
        net.within(uid, move || {
            use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto, sendto, socket};
            let socket = socket(AddressFamily::INET, SocketType::DGRAM, Some(ipproto::ICMP)).unwrap();
            let to = std::net::SocketAddrV4::new(host.parse().unwrap(), 0);
            sendto(&socket, &[8, 0, 0, 0, 0, 0, 0, 1], SendFlags::empty(), &to).is_ok()
        })
    };
    assert!(pings(TRIPWIRE, "10.9.0.1"));
    assert!(!pings(TRIPWIRE, "10.9.0.10"));
    assert!(!pings(DAEMON, "10.9.0.1"));
    assert!(pings(OTHER, "10.9.0.10"));
}

/// In the signed log, with whose it was, and under which name a host is declared for something else.
fn is_written_down(net: &Net) {
    wait_until("every refusal is in the log", || net.count("egress.destination.refused") >= 10);
    let entries = net.entries();
    let refused = json!({
        "user": "holdfast", "protocol": "tcp", "address": "10.9.0.20", "port": 22, "name": "guard.lab",
    });
    assert!(entries.contains(&("egress.destination.refused".to_owned(), refused)), "{entries:?}");
    assert_eq!(entries[0].0, "egress.rules.loaded");
    assert!(
        net.said()
            .contains("holdfast-tripwire was refused tcp 10.9.0.20 port 80 (guard.lab is declared there")
    );
    wait_until("every packet is counted", || {
        let users = net.status().unwrap().users;
        users.iter().all(|user| user.refused_packets >= 3)
    });
}

#[test]
fn a_name_is_followed_and_a_name_server_that_is_down_closes_and_opens_nothing() {
    let net = Net::new();
    net.names.set("web.lab", &["10.9.0.11"]);
    net.config(TARGETS);
    let _program = settled(&net, 20);
    net.reaches(DAEMON, "10.9.0.11:8080");
    net.is_refused(DAEMON, "10.9.0.12:8080");

    net.names.set("web.lab", &["10.9.0.12", "fd09::12"]);
    wait_until("the new address is open", || net.gets_through(DAEMON, "10.9.0.12:8080"));
    net.reaches(DAEMON, "[fd09::12]:8080");
    // Whoever is still connected to the old one may end there.
    net.reaches(DAEMON, "10.9.0.11:8080");

    net.names.silence(true);
    net.config(&format!(
        "{TARGETS}    - {{ name: box-9, driver: agentless, address: new.lab, units: [web.service] }}\n"
    ));
    wait_until("it says which names have no answer", || {
        let names = net.status().unwrap().names;
        names.len() == 2 && names.iter().all(|it| it.trouble.as_deref() == Some("no name server answers"))
    });
    net.reaches(DAEMON, "10.9.0.12:8080");
    net.is_refused(DAEMON, "10.9.0.20:22");

    // The name is asked for, and answered, before it is open.
    net.names.set("new.lab", &["10.9.0.20"]);
    net.names.silence(false);
    wait_until("what is new is open", || net.gets_through(DAEMON, "10.9.0.20:22"));
}

/// A name that has other addresses for every caller: the one that was refused is looked up, and the packet that is sent again gets through.
#[test]
fn whoever_is_refused_an_address_that_a_name_has_just_got_is_let_through_at_the_next_try() {
    let net = Net::new();
    net.names.hold_for(86_400);
    net.names.set("web.lab", &["10.9.0.11"]);
    net.config(TARGETS);
    // At this pace names are asked for by themselves after more than a minute, which is longer than a connection waits here.
    let _program = settled(&net, 4);
    net.names.set("web.lab", &["10.9.0.12"]);
    net.reaches(DAEMON, "10.9.0.12:8080");
    net.is_refused(DAEMON, "10.9.0.13:8080");
}

#[test]
fn the_rules_outlive_the_program_and_come_back_when_somebody_flushes_them() {
    let net = Net::new();
    net.names.set("web.lab", &["10.9.0.11"]);
    net.config(TARGETS);
    net.nft(&["add", "table", "ip", "peoples_own"]);
    let mut program = settled(&net, 20);
    program.kill();
    net.reaches(DAEMON, "10.9.0.11:8080");
    assert!(!net.gets_through(DAEMON, "10.9.0.12:80"));

    // The next life knows the addresses, also while nobody answers for names.
    net.names.silence(true);
    net.forget_status();
    let mut program = net.start(20);
    net.reaches(DAEMON, "10.9.0.11:8080");
    assert!(!net.gets_through(DAEMON, "10.9.0.12:80"));
    net.nft(&["flush", "ruleset"]);
    wait_until("the rules are back", || net.status().unwrap().restored == 1);
    assert!(!net.gets_through(DAEMON, "10.9.0.12:80"));
    net.reaches(DAEMON, "10.9.0.11:8080");

    // Less than all of it is noticed too.
    net.nft(&["insert", "rule", "inet", "holdfast_egress", "daemon", "accept"]);
    wait_until("the hole is closed", || net.status().unwrap().restored == 2);
    assert!(!net.gets_through(DAEMON, "10.9.0.12:80"));
    let found: Vec<_> =
        net.entries().into_iter().filter(|(kind, _)| kind == "egress.rules.restored").collect();
    assert_eq!(found[0].1, json!({ "found": "gone" }));
    assert_eq!(found[1].1, json!({ "found": "changed" }));

    // Taken away with the package, and only ours.
    program.kill();
    net.nft(&["add", "table", "ip", "peoples_own"]);
    assert!(net.clear().status.success());
    assert!(net.clear().status.success());
    assert_eq!(net.nft(&["list", "tables"]), "table ip peoples_own\n");
    net.reaches(DAEMON, "10.9.0.12:80");
}

#[test]
fn settings_that_cannot_be_believed_leave_the_rules_as_they_are() {
    let net = Net::new();
    net.names.set("web.lab", &["10.9.0.11"]);
    net.config(TARGETS);
    let mut program = settled(&net, 20);
    let open = format!("{TARGETS}egress:\n  also: [{{ host: 10.9.0.13, port: 443, for: a test }}]\n");
    let config = net.home().join("etc/config.yaml");
    let stays = |why: &str| {
        let told = |it: holdfast_egress::Status| it.trouble.iter().any(|trouble| trouble.contains(why));
        wait_until(why, || net.status().is_some_and(told));
        assert!(!net.gets_through(DAEMON, "10.9.0.13:443"), "{why}");
        net.reaches(DAEMON, "10.9.0.11:8080");
    };

    // Whoever is bound wrote it.
    let theirs = net.home().join("etc/theirs");
    std::fs::write(&theirs, format!("version: 1\n{open}")).unwrap();
    std::os::unix::fs::chown(&theirs, Some(DAEMON), Some(DAEMON)).unwrap();
    std::fs::hard_link(&theirs, net.home().join("etc/second")).unwrap();
    holdfast_durable::move_to_new(&config, &net.home().join("etc/put-away")).unwrap();
    stays("there is no");
    holdfast_durable::move_to_new(&net.home().join("etc/second"), &config).unwrap();
    stays("is not a plain file of one name");
    std::fs::remove_file(&theirs).unwrap();
    stays("does not belong to root");
    std::fs::remove_file(&config).unwrap();
    std::os::unix::fs::symlink(net.home().join("etc/put-away"), &config).unwrap();
    stays("is not a plain file of one name");
    std::fs::remove_file(&config).unwrap();
    // Wrong, and with words for the packet filter in it.
    for hostile in [
        "a; flush ruleset",
        "a\\n}\\nflush ruleset\\n",
        "a\\\" accept",
        "{ 0.0.0.0/0 }",
        "$(nft flush ruleset)",
    ] {
        net.config(&format!("egress:\n  also: [{{ host: \"{hostile}\", port: 443, for: x }}]\n"));
        stays("config.yaml");
    }
    // Another machine's restart finds the same: what was last believed, and nothing more.
    program.kill();
    net.nft(&["flush", "ruleset"]);
    net.forget_status();
    let _program = net.start(20);
    stays("config.yaml");

    net.put("etc/hosts", "10.9.0.12 a;b }\n127.0.0.1 localhost\n");
    net.put("etc/resolv.conf", "nameserver 10.9.0.53\nsearch a;b\nnameserver 10.9.0.54; accept\n");
    net.config(&open);
    wait_until("what is right is taken", || net.gets_through(DAEMON, "10.9.0.13:443"));
    wait_until("it says so", || net.status().unwrap().trouble.is_empty());
    assert!(net.count("egress.settings.refused") >= 4);
}

/// How many times sooner a lender's time is over: a quarter of a minute, so that a slow machine renews it.
const LENDERS_PACE: u32 = 4;

#[test]
fn what_root_lends_is_reachable_while_it_is_lent_and_not_before_nor_after() {
    let net = Net::new();
    net.names.set("new.lab", &["10.9.0.20"]);
    net.config("");
    let _program = net.start(20);
    net.is_refused(DAEMON, "10.9.0.20:22");
    net.is_refused(DAEMON, "10.9.0.13:2222");

    let lender = net.lend(LENDERS_PACE, &["new.lab:22", "10.9.0.13:2222"]);
    net.reaches(DAEMON, "10.9.0.20:22");
    net.reaches(DAEMON, "10.9.0.13:2222");
    // That, and to the daemon's user.
    net.is_refused(DAEMON, "10.9.0.20:80");
    net.is_refused(DAEMON, "10.9.0.13:22");
    net.is_refused(TRIPWIRE, "10.9.0.20:22");
    let lent = net.status().unwrap().lent;
    let shown: Vec<&str> = lent.iter().map(|it| it.destination.as_str()).collect();
    assert_eq!(shown, ["new.lab:22", "10.9.0.13:2222"]);
    lender.give_back();
    wait_until("it is closed", || !net.gets_through(DAEMON, "10.9.0.20:22"));
    assert!(!net.gets_through(DAEMON, "10.9.0.13:2222"));
    wait_until("it says so", || net.status().unwrap().lent.is_empty());

    // Whoever is killed gives nothing back: the time is over by itself.
    let lender = net.lend(LENDERS_PACE, &["new.lab:22"]);
    lender.kill();
    net.reaches(DAEMON, "10.9.0.20:22");
    wait_until("its time is over", || !net.gets_through(DAEMON, "10.9.0.20:22"));
    wait_until("it says so", || net.status().unwrap().lent.is_empty());
    let left = std::fs::read_dir(net.home().join("run/egress")).unwrap();
    let left: Vec<_> = left.map(|file| file.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("lent-")), "{left:?}");

    // A host that the settings name by then stays open.
    let lender = net.lend(LENDERS_PACE, &["new.lab:22"]);
    net.config(
        "steward:\n  targets:\n    - { name: box-1, driver: agentless, address: new.lab, units: [web.service] }\n",
    );
    lender.give_back();
    (0..5).for_each(|_| net.reaches(DAEMON, "10.9.0.20:22"));
    wait_until("all of it is written down", || net.count("egress.destination.returned") == 3);
    let ended: Vec<_> = net
        .entries()
        .into_iter()
        .filter(|(kind, _)| kind == "egress.destination.returned")
        .map(|(_, body)| body["ended"].clone())
        .collect();
    assert_eq!(ended, ["returned", "over", "returned"]);
    assert_eq!(net.count("egress.destination.lent"), 3);
}

#[test]
fn what_somebody_else_than_root_lends_is_not_open() {
    let net = Net::new();
    net.config("");
    let _program = net.start(20);
    let lends = |until_ms: u64| {
        format!(r#"{{"version":1,"places":["10.9.0.13:2222"],"for":"me","until_ms":{until_ms}}}"#)
    };
    let minute = holdfast_tripwire::clock::since_boot_ms() + 60_000;
    let path = net.home().join("run/egress/lent-1.json");
    let stays_closed = |why: &str| {
        let told = |it: holdfast_egress::Status| it.trouble.iter().any(|trouble| trouble.contains(why));
        wait_until(why, || net.status().is_some_and(told));
        assert!(!net.gets_through(DAEMON, "10.9.0.13:2222"), "{why}");
    };
    // Whoever is bound, a link to what root wrote, and a time without end.
    net.put("theirs", &lends(minute));
    std::os::unix::fs::chown(net.home().join("theirs"), Some(DAEMON), Some(DAEMON)).unwrap();
    holdfast_durable::move_to_new(&net.home().join("theirs"), &path).unwrap();
    stays_closed("does not belong to root");
    std::fs::remove_file(&path).unwrap();
    net.put("roots", &lends(minute));
    std::os::unix::fs::symlink(net.home().join("roots"), &path).unwrap();
    stays_closed("is not a plain file of one name");
    std::fs::remove_file(&path).unwrap();
    net.put("run/egress/lent-1.json", &lends(u64::MAX));
    stays_closed("further away");
    net.put("run/egress/lent-1.json", &lends(minute));
    net.reaches(DAEMON, "10.9.0.13:2222");
}

#[test]
fn users_that_no_rule_can_be_about_are_refused_and_nothing_is_loaded() {
    let net = Net::new();
    net.config("");
    for (users, why) in [
        (passwd(0, TRIPWIRE), "has the number 0"),
        (passwd(1000, TRIPWIRE), "has the number 1000, and so has ana"),
        (passwd(DAEMON, DAEMON), "and so has holdfast-tripwire"),
        (passwd(61_200, TRIPWIRE), "which the system gives to others for a while"),
        (String::new(), "there is no user holdfast on this machine"),
    ] {
        net.put("etc/passwd", &users);
        let mut program = net.launch(20);
        assert_eq!(program.ended(), Some(2), "{why}");
        assert!(net.said().contains(why), "{why}: {}", net.said());
        assert!(!net.has_table());
    }
    // A number that changes under it is not followed to somebody else's.
    net.put("etc/passwd", &passwd(DAEMON, TRIPWIRE));
    let _program = net.start(20);
    net.put("etc/passwd", &passwd(1000, TRIPWIRE));
    wait_until("it says so", || net.status().unwrap().trouble.iter().any(|it| it.contains("and so has ana")));
    assert!(!net.gets_through(DAEMON, "10.9.0.12:80"));
    net.reaches(1000, "10.9.0.12:80");
}

#[test]
fn a_flood_of_refusals_costs_little() {
    let net = Net::new();
    net.config("");
    let program = net.start(20);
    let packets = rounds(200_000, 1_000_000);
    net.within(DAEMON, || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        for n in 0..packets {
            let to = IpAddr::from(Ipv4Addr::from(0xc633_6400 + (n & 0xff)));
            assert!(socket.send_to(b"x", (to, 1024 + (n >> 8) as u16)).is_err());
        }
    });
    wait_until("all of them are counted", || {
        net.status().unwrap().users.iter().any(|it| it.refused_packets >= u64::from(packets))
    });
    let status = net.status().unwrap();
    assert!((1..=256).contains(&status.refusals.len()));
    assert!(status.refusals.iter().all(|row| row.protocol == Protocol::Udp && row.user == "holdfast"));
    assert!(net.count("egress.destination.refused") <= 30);
    assert!(net.said().lines().count() <= 60, "{}", net.said());
    let proc = |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", program.id())).unwrap();
    let status = proc("status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 64 << 10, "{kib} KiB");
    let log = std::fs::read_dir(net.home().join("state/egress/log")).unwrap();
    let bytes: u64 = log.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes < 4 << 20, "{bytes} bytes of log");
    // It still does what it is for.
    assert!(!net.gets_through(DAEMON, "10.9.0.12:80"));
    net.reaches(OTHER, "10.9.0.12:80");
}
