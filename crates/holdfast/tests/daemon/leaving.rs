//! What leaves the machine, and what is left on it: the support bundle, the export, the end of a home.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use holdfast_testkit::files::{find_bytes, tree_bytes};
use serde_json::Value;

use crate::home::Home;
use crate::receiver::Receiver;
use crate::running::{Looking, Running, wait_until};

/// In every place a person might put something that is nobody's business.
const MARK: &str = "pelican7731";

#[test]
fn a_support_bundle_lists_what_is_in_it_and_holds_nothing_that_is_nobodys_business() {
    let home = Home::made("web-1");
    let receiver = Receiver::away();
    home.configure(&receiver.settings());
    let secret = format!("http://{}/{MARK}", receiver.address);
    let daemon =
        Running::with(&home, |command| receiver.secrets(command).env("HOLDFAST_SECRET_HOOK_URL", &secret));
    home.log(&format!("{{\"text\":\"{MARK}\"}}")).ok();
    let log = ["audit", "log", "--kind", "memory.text.kept", "--actor", MARK];
    home.run_with(&[&log[..], &["--blob", "-"]].concat(), MARK.as_bytes()).ok();
    home.run(&["notice", "raise", MARK]).ok();
    home.run(&["pause", "--all", "--reason", MARK, "--actor", MARK]).ok();
    wait_until("a notice is stuck", || home.status()["notices"]["sinks"][1]["last_error"].as_str().is_some());
    let out = home.beside("bundle.tar.gz").display().to_string();
    let mut command = home.command(&["--json", "support-bundle", "--out", &out]);
    command.env("HOLDFAST_SECRET_HOOK_URL", &secret).env("HOME", "/home/pelican7731");
    let listed = crate::home::run(command, None).ok().json();
    daemon.terminated().well();

    let dir = home.beside("unpacked");
    unpack(Path::new(&out), &dir);
    let files = tree_bytes(&dir);
    let names: BTreeSet<String> =
        files.keys().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    let said = listed["files"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap().to_owned());
    assert_eq!(said.collect::<BTreeSet<_>>(), names);
    let readme = files.iter().find(|(path, _)| path.ends_with("README.txt")).unwrap().1;
    let readme = String::from_utf8(readme.clone()).unwrap();
    for name in names.iter().filter(|name| *name != "README.txt") {
        assert!(readme.contains(name.as_str()), "{name} is not listed:\n{readme}");
    }
    // What would help is there.
    assert!(!find_bytes(&dir, b"memory.text.kept").is_empty());
    assert!(!find_bytes(&dir, b"notices wait").is_empty() || !find_bytes(&dir, b"notice waits").is_empty());
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let home_path = home.path().display().to_string();
    let keys = std::fs::read_to_string(home.path().join("etc/keys/log.key")).unwrap();
    let key: Value = serde_json::from_str(&keys).unwrap();
    for nobodys in [MARK, &home_path, &host, "sixteen", key["secret"].as_str().unwrap(), "ana\""] {
        let found = find_bytes(&dir, nobodys.as_bytes());
        assert!(found.is_empty(), "{nobodys} is in {found:?}");
    }
    home.run(&["support-bundle", "--out", &out]).ends(2).says("HF-CLI-014");
}

fn unpack(archive: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    let done = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(to).status().unwrap();
    assert!(done.success());
}

#[test]
fn an_export_beside_a_running_daemon_is_whole_readable_and_without_keys() {
    let home = Home::made("web-1");
    let daemon = Running::on(&home);
    home.log_many(5);
    let log = ["audit", "log", "--actor", "ana", "--kind", "memory.text.kept", "--blob", "-"];
    let seqs: Vec<String> = ["first\ntext", "second text"]
        .map(|text| {
            let ran = home.run_with(&[&["--json"], &log[..]].concat(), text.as_bytes()).ok();
            ran.json()["seq"].to_string()
        })
        .to_vec();
    home.run(&["audit", "erase", &seqs[1], "--yes"]).ok();
    wait_until("something is measured", || home.state("log/health.jsonl").exists());
    let out = home.beside("export");
    let done = home.json(&["export", "--out", &out.display().to_string()]);
    assert_eq!((&done["texts"], &done["erased_texts"]), (&1.into(), &1.into()));
    let checked =
        Command::new("sha256sum").args(["--quiet", "-c", "SHA256SUMS"]).current_dir(&out).output().unwrap();
    assert!(checked.status.success(), "{checked:?}");
    // Every file is under the sums, and the entries are those of the log.
    let files = tree_bytes(&out);
    let sums = String::from_utf8(files[Path::new("SHA256SUMS")].clone()).unwrap();
    assert_eq!(sums.lines().count() + 1, files.len());
    assert_eq!(done["files"], files.len());
    let exported = files.iter().find(|(path, _)| path.ends_with("journal/entries.jsonl")).unwrap().1;
    let exported = String::from_utf8(exported.clone()).unwrap();
    let segment = std::fs::read_to_string(home.segment()).unwrap();
    assert!(segment.starts_with(&exported) && exported.lines().count() as u64 == done["entries"]);
    let texts: Vec<&Vec<u8>> =
        files.iter().filter(|(path, _)| path.starts_with("texts")).map(|(_, bytes)| bytes).collect();
    assert_eq!(texts, [b"first\ntext"]);
    for name in ["log.key", "manifest.key", "approvals.key"] {
        let text = std::fs::read_to_string(home.path().join("etc/keys").join(name)).unwrap();
        let secret = serde_json::from_str::<Value>(&text).unwrap()["secret"].as_str().unwrap().to_owned();
        assert!(find_bytes(&out, secret.as_bytes()).is_empty(), "{name} is in the export");
    }
    let vault = std::fs::read(home.path().join("etc/keys/vault")).unwrap();
    assert!(!files.values().any(|bytes| *bytes == vault));
    daemon.terminated().well();
}

fn paths(listed: &Value) -> Vec<String> {
    listed.as_array().unwrap().iter().map(|thing| thing["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_end_of_a_home_is_refused_while_a_daemon_runs_and_leaves_exactly_what_it_says() {
    let home = Home::made("web-1");
    home.configure("");
    let daemon = Running::on(&home);
    wait_until("a round is over", || home.state("log/health.jsonl").exists());
    home.run(&["backup"]).ok();
    home.run(&["pause", "--all"]).ok();
    let before = tree_bytes(home.path()).into_keys().collect::<Vec<_>>();
    home.run(&["uninstall", "--everything", "--yes"]).ends(6).says("HF-CLI-020");
    home.run(&["uninstall", "--yes"]).ends(6).says("HF-CLI-020");
    for path in &before {
        assert!(home.path().join(path).exists(), "{} went", path.display());
    }
    // Killed, so that there is more to tidy up than after a clean end.
    daemon.killed();
    home.run(&["uninstall"]).ends(2).says("HF-CLI-026");
    let planned = home.json(&["uninstall", "--dry-run"]);
    let done = home.json(&["uninstall", "--yes"]);
    assert_eq!((&done["removed"], &done["left"]), (&planned["removed"], &planned["left"]));
    for path in paths(&done["removed"]) {
        assert!(!Path::new(&path).exists(), "{path} is still there");
    }
    let left = paths(&done["left"]);
    for path in tree_bytes(home.path()).into_keys().map(|path| home.path().join(path)) {
        assert!(left.iter().any(|kept| path.starts_with(kept)), "{} is left and not listed", path.display());
    }
    for kept in &left {
        assert!(Path::new(kept).exists(), "{kept} is listed and gone");
    }
    // Nothing of value went: it goes on from here.
    home.run(&["audit", "verify"]).ok();
    let daemon = Running::on(&home);
    assert_eq!(home.status()["pause"]["paused"], true);
    daemon.terminated().well();

    home.run(&["uninstall", "--everything", "--yes"]).ok();
    assert!(!home.path().exists());
}
