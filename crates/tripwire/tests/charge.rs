//! A target is put in the guard's charge by the real program: whole, or not at all.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

fn charge(settings: &Path, input: &str) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_holdfast-tripwire"));
    program.arg("charge").arg(settings).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn everything(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(everything(&path));
        }
        all.push(path);
    }
    all.sort();
    all
}

#[test]
fn a_target_that_could_not_be_brought_back_is_not_guarded_by_half() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let key = place("key");
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).status();
    assert!(made.unwrap().success());
    let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    let public: Vec<&str> = public.split(' ').take(2).collect();
    let reference = TcpListener::bind("127.0.0.1:0").unwrap();
    // Nobody takes connections there.
    let take = json!({"take": {
        "name": "box-1", "first": {"address": "127.0.0.1", "port": 1, "user": "root"}, "second": null, "probes": [],
        "references": [{"tcp": {"address": reference.local_addr().unwrap().to_string()}}],
        "key": std::fs::read_to_string(&key).unwrap(), "known_hosts": format!("box-1 {}\n", public.join(" ")),
        "places": {"windows": place("windows"), "state": place("state"), "run": place("run")},
    }});
    let release = json!({"release": {"name": "box-1"}});
    let before = everything(folder.path());
    let settings = place("guard/tripwire.json");
    // Asked for one thing after the other, over one pipe.
    let output = charge(&settings, &format!("{take}\n{release}\n"));
    let lines: Vec<Value> =
        output.stdout.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let [taken, released] = lines.as_slice() else { panic!("{output:?}") };
    assert_eq!((&taken["done"], &released["done"]), (&false.into(), &true.into()), "{taken} {released}");
    assert_eq!(taken["ways"][0]["way"], "first route");
    let why = taken["why"].as_str().unwrap();
    assert!(why.starts_with("the first route would not work: box-1 did not answer"), "{why}");
    assert_eq!(taken["ways"][1], json!({"way": "references", "trouble": null}));
    assert_eq!(everything(folder.path()), before);
    // What nobody understands is not repeated: it may hold a key.
    let odd = charge(&settings, "{\"take\": {\"key\": \"-----BEGIN\"}}\n");
    assert_eq!(odd.status.code(), Some(2));
    assert!(!String::from_utf8_lossy(&odd.stderr).contains("BEGIN"));
    assert!(charge(&settings, "").status.success());
    assert_eq!(everything(folder.path()), before);
}
