//! What the package promises by its text alone: who starts the guard, who may write what was installed, and that what decides and what acts
//! can call no model.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The values of a key in a unit, in order.
fn values<'a>(unit: &'a str, key: &str) -> Vec<&'a str> {
    let of = |line: &'a str| line.split_once('=').filter(|(name, _)| *name == key).map(|(_, value)| value);
    unit.lines().filter_map(of).collect()
}

// shows: STW-042, STW-335
#[test]
fn the_guard_starts_at_boot_is_always_started_again_and_hangs_on_nothing_of_the_daemon_s() {
    let unit = text("packaging/systemd/holdfast-tripwire.service");
    assert_eq!(values(&unit, "Restart"), ["always"]);
    assert_eq!(values(&unit, "StartLimitIntervalSec"), ["0"], "it is never given up");
    assert_eq!(values(&unit, "WantedBy"), ["multi-user.target"]);
    assert_eq!(values(&unit, "WatchdogSec").len(), 1);
    for link in [
        "PartOf",
        "BindsTo",
        "Requires",
        "Requisite",
        "BoundBy",
        "Conflicts",
        "StopPropagatedFrom",
        "PropagatesStopTo",
    ] {
        assert_eq!(values(&unit, link), Vec::<&str>::new(), "{link}");
    }
    let daemon = text("packaging/systemd/holdfast.service");
    assert!(!daemon.lines().any(|line| !line.starts_with('#') && line.contains("holdfast-tripwire.service")));
    // Another user, so that nobody who is the daemon can signal it; and neither sees the other's places.
    assert_eq!(
        (values(&unit, "User"), values(&daemon, "User")),
        (vec!["holdfast-tripwire"], vec!["holdfast"])
    );
    for (unit, hidden) in [(&unit, "/var/lib/holdfast"), (&daemon, "/etc/holdfast-tripwire")] {
        let all = values(unit, "InaccessiblePaths").join(" ");
        assert!(all.split(' ').any(|path| path.trim_start_matches('-') == hidden), "{hidden}: {all}");
    }
}

// shows: STW-050
#[test]
fn what_is_installed_is_root_s_to_write_and_the_daemon_runs_where_it_can_write_none_of_it() {
    let manifest: toml::Table = text("crates/holdfast/Cargo.toml").parse().unwrap();
    let assets = manifest["package"]["metadata"]["deb"]["assets"].as_array().unwrap();
    let mut programs = 0;
    for asset in assets {
        let part = |at: usize| asset[at].as_str().unwrap();
        let mode = u32::from_str_radix(part(2), 8).unwrap();
        assert_eq!(mode & 0o022, 0, "{} may be written by others", part(1));
        assert!(part(1).starts_with("usr/"), "{} is not the system's", part(1));
        programs += usize::from(mode & 0o111 != 0);
    }
    assert_eq!(programs, 2, "the programs of people, and what they call");
    for unit in ["holdfast.service", "holdfast-tripwire.service", "holdfast-egress.service"] {
        let text = text(&format!("packaging/systemd/{unit}"));
        assert_eq!(values(&text, "ProtectSystem"), ["strict"], "{unit}");
        let writes = values(&text, "ReadWritePaths").join(" ");
        assert!(
            !writes.split(' ').any(|path| path.trim_start_matches('-').starts_with("/usr")),
            "{unit}: {writes}"
        );
    }
}

/// The packages of this workspace that one is built from, itself included, and everything else they list.
fn built_from(package: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut own, mut others) = (BTreeSet::new(), BTreeSet::new());
    let mut open = vec![package.to_owned()];
    while let Some(name) = open.pop() {
        if !own.insert(name.clone()) {
            continue;
        }
        let manifest: toml::Table = text(&format!("crates/{name}/Cargo.toml")).parse().unwrap();
        for dependency in manifest.get("dependencies").and_then(toml::Value::as_table).into_iter().flatten() {
            match dependency.0.strip_prefix("holdfast-") {
                Some(ours) => open.push(ours.to_owned()),
                None => {
                    others.insert(dependency.0.clone());
                }
            }
        }
    }
    (own, others)
}

/// A brain answers whoever asks it, and is asked by the binary alone: what decides cannot reach a network, and what acts on a target knows no
/// way to a model.
// shows: STW-005, STW-051
#[test]
fn what_decides_and_what_acts_can_call_no_model() {
    const SPEAKS: [&str; 9] =
        ["hyper", "reqwest", "ureq", "rustls", "tokio", "h2", "curl", "async-std", "native-tls"];
    let speaks = |others: &BTreeSet<String>| {
        SPEAKS.into_iter().filter(|name| others.contains(*name)).collect::<Vec<_>>()
    };
    for silent in ["steward", "lifeline", "steward-host", "doorman", "nixos"] {
        let (own, others) = built_from(silent);
        assert_eq!(speaks(&others), Vec::<&str>::new(), "{silent} by {own:?}");
    }
    // The parts of an earlier design's three modules, each a package with tests of its own: settings; collecting; deciding, acting, undoing.
    for part in ["config", "metrics", "steward-host", "steward", "doorman", "lifeline", "tripwire"] {
        let (own, _) = built_from(part);
        assert!(!own.contains("holdfast") && !own.contains("models"), "{part} is built from {own:?}");
        let folder = root().join("crates").join(part);
        let tested = |path: PathBuf| -> bool {
            let mut open = vec![path];
            while let Some(folder) = open.pop() {
                for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                    if entry.path().is_dir() {
                        open.push(entry.path());
                    } else if std::fs::read_to_string(entry.path()).is_ok_and(|text| text.contains("#[test]"))
                    {
                        return true;
                    }
                }
            }
            false
        };
        assert!(tested(folder.join("src")) || tested(folder.join("tests")), "{part} has no test");
    }
}
