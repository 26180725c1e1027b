//! The quick machines of the lab are what tests take them for, and gone when it is over.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use holdfast_testkit::crash::{Crash, child_main};
use holdfast_testkit::lab::{self, Container, Host, Hosts};

const UNIT: &str = "[Service]\nExecStart=/bin/sh -c 'echo the unit speaks; exec sleep infinity'\n";
/// Into the file of the first argument.
const WRITE: &str = r#"mkdir -p "${1%/*}" && printf '%s' "$2" >"$1""#;

/// What a command printed; it has to end well.
#[track_caller]
fn said(output: Output) -> String {
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < until, "not within 10 s: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether this machine has a way to that network of the lab.
fn has_way_to(host: &str) -> bool {
    let network = host.rsplit_once('.').unwrap().0;
    let routes = said(Command::new("ip").args(["-4", "route"]).output().unwrap());
    routes.lines().any(|route| route.starts_with(&format!("{network}.0/24 ")))
}

/// ssh as this user with a key of the test's own.
fn ssh_with(key: &Path, hosts: &Hosts, host: &Host, user: &str, command: &str) -> Output {
    lab::ssh(&hosts.known_hosts(), key)
        .args(["-l", user, &host.address().to_string(), "--", command])
        .output()
        .unwrap()
}

#[test]
fn hosts_have_addresses_names_keys_and_files_of_their_own() {
    let Some(hosts) = lab::hosts("bookworm", 3) else { return };
    for (number, host) in hosts.iter().enumerate() {
        assert_eq!(said(host.run(&["hostname"])), format!("host-{number}"));
        said(host.run(&["sh", "-c", WRITE, "write", "/etc/mine", &host.address().to_string()]));
    }
    for host in hosts.iter() {
        assert_eq!(said(host.run(&["cat", "/etc/mine"])), host.address().to_string());
        assert_eq!(said(host.run_as("agent", &["id", "-un"])), "agent");
    }
    let known = fs::read_to_string(hosts.known_hosts()).unwrap();
    let keys: BTreeSet<&str> = known.lines().filter_map(|line| line.rsplit(' ').next()).collect();
    assert_eq!(keys.len(), 3, "{known}");
    assert!(!Path::new("/etc/mine").exists());
}

#[test]
fn hosts_reach_each_other_and_have_no_way_out() {
    let Some(hosts) = lab::hosts("trixie", 2) else { return };
    let greet = r#"exec 3<>"/dev/tcp/$1/22" && read -r -t 5 line <&3 && echo "$line""#;
    let other = hosts[1].address().to_string();
    let heard = said(hosts[0].run(&["bash", "-c", greet, "greet", &other]));
    assert!(heard.starts_with("SSH-2.0-"), "{heard}");
    let routes = said(hosts[0].run(&["ip", "-4", "route"]));
    assert_eq!((routes.lines().count(), routes.contains("default")), (1, false), "{routes}");
}

#[test]
fn a_forced_command_is_all_a_key_may_run() {
    let Some(hosts) = lab::hosts("bookworm", 1) else { return };
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("own");
    let mut make = Command::new("ssh-keygen");
    said(make.args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]).arg(&key).output().unwrap());
    let denied = ssh_with(&key, &hosts, &hosts[0], "agent", "id -un");
    assert_eq!(denied.status.code(), Some(255), "{denied:?}");

    let public = fs::read_to_string(key.with_extension("pub")).unwrap();
    let line = format!("restrict,command=\"echo asked for $SSH_ORIGINAL_COMMAND\" {public}");
    said(hosts[0].run_as("agent", &["sh", "-c", WRITE, "write", "/home/agent/.ssh/authorized_keys", &line]));
    let answer = said(ssh_with(&key, &hosts, &hosts[0], "agent", "id -un"));
    assert_eq!(answer, "asked for id -un");
    assert!(hosts[0].log().contains("Accepted publickey for agent"), "{}", hosts[0].log());
}

#[test]
fn as_many_hosts_as_there_cannot_be_are_refused() {
    for count in [0, 201] {
        let refused = Hosts::start("bookworm", count).unwrap_err().to_string();
        assert!(refused.contains("1 to 200"), "{refused}");
    }
}

#[test]
fn a_container_runs_units_keeps_a_journal_and_takes_drop_ins() {
    for release in lab::RELEASES {
        let Some(container) = lab::container(release) else { return };
        assert_eq!(said(container.run(&["cat", "/proc/1/comm"])), "systemd");
        let named = said(container.run(&["cat", "/etc/os-release"]));
        assert!(named.contains(&format!("VERSION_CODENAME={release}")), "{named}");
        let write = |path: &str, text: &str| said(container.run(&["sh", "-c", WRITE, "write", path, text]));

        write("/etc/systemd/system/web.service", UNIT);
        said(container.run(&["systemctl", "start", "web.service"]));
        assert_eq!(said(container.run(&["systemctl", "is-active", "web.service"])), "active");
        wait_until("the journal has what the unit said", || {
            let journal =
                said(container.run(&["journalctl", "--quiet", "--output=cat", "--unit=web.service"]));
            journal.lines().any(|line| line == "the unit speaks")
        });

        write("/etc/systemd/system/web.service.d/90-holdfast.conf", "[Service]\nMemoryHigh=64M\n");
        said(container.run(&["systemctl", "daemon-reload"]));
        let shown = said(container.run(&["systemctl", "show", "--property=MemoryHigh", "web.service"]));
        assert_eq!(shown, "MemoryHigh=67108864");
        assert_eq!(said(container.run_as("agent", &["id", "-un"])), "agent");
        assert!(!container.run(&["test", "-e", "/nonexistent"]).status.success());
        let links = said(container.run(&["ip", "-oneline", "link"]));
        assert_eq!(links.lines().count(), 1, "{links}");
    }
}

#[test]
fn two_containers_know_nothing_of_each_other() {
    let (Some(one), Some(other)) = (lab::container("trixie"), lab::container("trixie")) else { return };
    for container in [&one, &other] {
        said(container.run(&["systemd-run", "--quiet", "--unit=same", "sleep", "infinity"]));
    }
    said(one.run(&["systemctl", "stop", "same.service"]));
    assert_eq!(said(other.run(&["systemctl", "is-active", "same.service"])), "active");
    let init = one.init().to_owned();
    drop(one);
    assert!(!Path::new("/proc").join(init).exists());
    assert_eq!(said(other.run(&["systemctl", "is-active", "same.service"])), "active");
}

#[test]
fn lab_child() {
    child_main("lab_child", |_, report| {
        let (Some(hosts), Some(container)) = (lab::hosts("bookworm", 2), lab::container("bookworm")) else {
            report.line("none");
            return;
        };
        report.line(format!("{} {}", hosts[0].address(), container.init()));
        loop {
            std::thread::park();
        }
    });
}

#[test]
fn hosts_and_containers_end_with_the_process_that_holds_them_and_no_others_do() {
    let (Some(hosts), Some(container)) = (lab::hosts("trixie", 2), lab::container("trixie")) else { return };
    let patience = Duration::from_secs(60);
    let child = Crash::new("lab_child").timeout(patience).spawn().unwrap();
    let told = child.wait_line("", patience).unwrap();
    let Some((address, init)) = told.split_once(' ') else { return };
    assert!(has_way_to(address) && Path::new("/proc").join(init).exists());
    assert_ne!((address, init), (hosts[0].address().to_string().as_str(), container.init()));
    assert!(child.kill().unwrap().was_killed());
    wait_until("the network is gone", || !has_way_to(address));
    wait_until("the container is gone", || !Path::new("/proc").join(init).exists());
    for host in hosts.iter() {
        assert_eq!(said(host.run(&["echo", "still here"])), "still here");
    }
    assert_eq!(said(container.run(&["systemctl", "is-active", "dbus.socket"])), "active");
}

/// The process that started this one.
fn parent(process: &str) -> String {
    let status = fs::read_to_string(Path::new("/proc").join(process).join("status")).unwrap();
    let mut lines = status.lines().filter_map(|line| line.strip_prefix("PPid:"));
    lines.next().unwrap().trim().to_owned()
}

#[test]
fn a_container_ends_with_the_script_that_holds_it() {
    let Some(container) = lab::container("bookworm") else { return };
    let init = container.init();
    // Above it nspawn, what keeps both apart, and the script.
    let script = parent(&parent(&parent(init)));
    let arguments = fs::read_to_string(Path::new("/proc").join(&script).join("cmdline")).unwrap();
    assert!(arguments.contains("container.sh"), "{arguments}");
    said(Command::new("sh").args(["-c", "kill -9 $0 || sudo -n kill -9 $0", &script]).output().unwrap());
    wait_until("the container is gone", || !Path::new("/proc").join(init).exists());
}

#[test]
fn what_is_dropped_is_gone() {
    let Some(hosts) = lab::hosts("bookworm", 1) else { return };
    let address = hosts[0].address().to_string();
    assert!(has_way_to(&address));
    drop(hosts);
    assert!(!has_way_to(&address));
    let refused = Container::start("potato").unwrap_err().to_string();
    assert!(refused.contains("trixie"), "{refused}");
}
