//! The whole life of a log, told by the program itself.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod home;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use holdfast_testkit::files::tree_bytes;
use home::{Home, filters};
use serde_json::Value;

/// A transcript of commands as a person would type them, with what was answered.
struct Transcript<'h> {
    home: &'h Home,
    text: String,
}

impl Transcript<'_> {
    fn run(&mut self, args: &[&str]) -> String {
        let ran = self.home.run(args).ok();
        self.text.push_str(&format!("$ holdfast {}\n{}{}\n", args.join(" "), ran.out, ran.err));
        ran.out
    }
}

#[test]
fn a_log_is_made_written_read_verified_proved_and_exported() {
    let home = Home::bare();
    let mut t = Transcript { home: &home, text: String::new() };
    let kind = "captain.note.added";
    let export = home.beside("export").display().to_string();
    t.run(&["init", "--name", "web-1"]);
    t.run(&["audit", "log", "--actor", "ana", "--kind", kind, "--body", r#"{"text":"it rains"}"#]);
    t.run(&["audit", "log", "--actor", "ana", "--kind", kind, "--key", "once", "--body", r#"{"n":2}"#]);
    t.run(&["audit", "log", "--actor", "ana", "--kind", kind, "--key", "once", "--body", r#"{"n":2}"#]);
    t.run(&["audit", "tail", "-n", "2"]);
    t.run(&["audit", "verify"]);
    t.run(&["audit", "checkpoint"]);
    t.run(&["audit", "prove", "1"]);
    t.run(&["audit", "prove", "--from", "1", "--to", "2"]);
    t.run(&["audit", "checkpoint"]);
    t.run(&["audit", "verify", "--every-signature"]);
    t.run(&["audit", "export", "--out", &export]);
    let text = home.same(&t.text).replace(&export, "[EXPORT]");
    insta::with_settings!({filters => filters()}, {
        insta::assert_snapshot!(text);
    });
}

#[test]
fn a_proof_is_checked_elsewhere_by_the_key_and_refused_when_anything_in_it_changed() {
    let home = Home::made("web-1");
    home.log_many(5);
    let proof = home.run(&["--json", "audit", "prove", "2"]).ok().out;
    let grown = home.run(&["--json", "audit", "prove", "--from", "2", "--to", "4"]).ok().out;
    let part = home.run(&["--json", "audit", "prove", "1", "--size", "3"]).ok().out;
    let vkey = serde_json::from_str::<Value>(&proof).unwrap()["vkey"].as_str().unwrap().to_owned();
    // Elsewhere: a place that has no journal and no trust set.
    let elsewhere = Home::bare();
    let check = |document: &str| {
        elsewhere.run_with(&["audit", "prove", "--check", "-", "--vkey", &vkey], document.as_bytes())
    };
    for document in [&proof, &grown, &part] {
        check(document).ok().shows("● holds:");
        home.run_with(&["audit", "prove", "--check", "-"], document.as_bytes()).ok();
    }
    let changed = |document: &str, change: &dyn Fn(&mut Value)| {
        let mut value: Value = serde_json::from_str(document).unwrap();
        change(&mut value);
        value.to_string()
    };
    let zero = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let lies = [
        changed(&proof, &|v| v["line"] = v["line"].as_str().unwrap().replace("\"n\":1", "\"n\":7").into()),
        changed(&proof, &|v| v["seq"] = 3.into()),
        changed(&proof, &|v| v["size"] = 5.into()),
        changed(&proof, &|v| v["hashes"][0] = zero.into()),
        changed(&proof, &|v| v["root"] = zero.into()),
        changed(&proof, &|v| v["origin"] = "holdfast/web-2".into()),
        changed(&proof, &|v| {
            v["checkpoint"] = v["checkpoint"].as_str().unwrap().replacen("\n6\n", "\n7\n", 1).into()
        }),
        changed(&part, &|v| v["to_checkpoint"] = Value::Null),
        changed(&grown, &|v| v["old_root"] = zero.into()),
        changed(&grown, &|v| v["old"] = 0.into()),
        changed(&grown, &|v| v["to_checkpoint"][0] = zero.into()),
        "{}".into(),
        "not json".into(),
        String::new(),
    ];
    for lie in lies {
        check(&lie).ends(1).shows("✕ does not hold:");
    }
    // Another log's key, though the document names a good one itself.
    let other = Home::made("web-1").json(&["init"])["vkey"].as_str().unwrap().to_owned();
    elsewhere.run_with(&["audit", "prove", "--check", "-", "--vkey", &other], proof.as_bytes()).ends(1);
    elsewhere.run_with(&["audit", "prove", "--check", "-"], proof.as_bytes()).ends(3).says("HF-CLI-012");
    Home::made("web-2")
        .run_with(&["audit", "prove", "--check", "-"], proof.as_bytes())
        .ends(3)
        .says("HF-CLI-012");
}

#[test]
fn what_cannot_be_proved_is_said() {
    let home = Home::made("web-1");
    home.run(&["audit", "prove", "1"]).ends(2).says("HF-JRN-014");
    home.run(&["audit", "prove", "--from", "0"]).ends(2).says("HF-CLI-013");
    home.run(&["audit", "prove", "--from", "9"]).ends(2).says("HF-JRN-014");
    home.run(&["audit", "prove", "0", "--size", "0"]).ends(2);
    home.run(&["audit", "prove", "18446744073709551615"]).ends(2);
    home.run(&["audit", "prove"]).ends(2);
}

#[test]
fn init_again_changes_nothing_and_says_so() {
    let home = Home::made("web-1");
    let before = tree_bytes(home.path());
    home.run(&["init"]).ok().shows("● complete, nothing to do: holdfast/web-1");
    home.run(&["init", "--name", "web-1"]).ok();
    home.run(&["init", "--name", "web-2"]).ends(2).says("HF-CLI-009");
    assert_eq!(home.json(&["init"])["made"], Value::Array(Vec::new()));
    assert_eq!(tree_bytes(home.path()), before);
}

#[test]
fn a_half_made_home_is_completed_and_nothing_there_is_written_over() {
    let whole = Home::made("web-1");
    let all = tree_bytes(whole.path());
    // A crash leaves the first so many of these; the directory of the journal counts as one.
    let order = [
        "etc/keys/log.key",
        "etc/keys/manifest.key",
        "etc/keys/approvals.key",
        "etc/keys/vault",
        "etc/trust.json",
    ];
    for made in 0..=order.len() {
        let home = Home::bare();
        for name in &order[..made] {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::copy(whole.path().join(name), path).unwrap();
        }
        let report = home.json(&["init", "--name", "web-1"]);
        assert_eq!(report["made"].as_array().unwrap().len(), 6 - made, "{report}");
        assert_eq!(report["kept"].as_array().unwrap().len(), made);
        let now = tree_bytes(home.path());
        order[..made].iter().for_each(|name| assert_eq!(find(&now, name), find(&all, name), "{name}"));
        home.run(&["audit", "verify"]).ok();
        home.run(&["init"]).ok().shows("complete");
    }
}

fn find<'t>(tree: &'t BTreeMap<PathBuf, Vec<u8>>, name: &str) -> &'t [u8] {
    tree.iter().find(|(path, _)| path.ends_with(name)).map(|(_, bytes)| bytes.as_slice()).unwrap()
}

#[test]
fn a_journal_without_its_key_or_vault_is_not_given_a_new_one() {
    for name in ["etc/keys/log.key", "etc/keys/vault"] {
        let home = Home::made("web-1");
        std::fs::remove_file(home.path().join(name)).unwrap();
        home.run(&["init"]).ends(7).says("HF-CLI-010").says(name);
        assert!(!home.path().join(name).exists());
    }
}

#[test]
fn a_lost_trust_set_is_not_replaced_by_one_without_its_revocations_unless_somebody_says_so() {
    let home = Home::made("web-1");
    let path = home.path().join("etc/trust.json");
    let known = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let witness = Home::bare();
    let witness = witness.json(&["audit", "witness", "init", "--name", "witness.example/w1"]);
    let witness = witness["vkey"].as_str().unwrap();
    for args in [&["init"][..], &["init", "--dry-run"], &["audit", "witness", "trust", witness]] {
        home.run(args).ends(7).says("HF-CLI-039").says("--lose-revocations");
        assert!(!path.exists(), "{args:?}");
    }
    home.run(&["init", "--lose-revocations", "--dry-run"]).ok().shows("would be made");
    assert!(!path.exists());
    home.run(&["init", "--lose-revocations"]).ok().says("▲ the trust set is gone");
    home.run(&["audit", "tail", "--json"]).ok().shows("holdfast.trust.remade");
    home.run(&["audit", "verify"]).ok();
    // Of one that is there the flag takes nothing away.
    std::fs::write(&path, &known).unwrap();
    home.run(&["init", "--lose-revocations"]).ok().shows("complete");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), known);
}

#[test]
fn a_dry_run_makes_nothing() {
    let home = Home::bare();
    home.run(&["init", "--dry-run"]).ok().shows("would be made");
    assert!(!home.path().exists());
    let home = Home::made("web-1");
    let before = tree_bytes(home.path());
    home.run(&["audit", "log", "--dry-run", "--actor", "ana", "--kind", "a.b.c", "--body", "{}"]).ok();
    assert_eq!(tree_bytes(home.path()), before);
}

#[test]
fn secrets_are_private_and_separate() {
    let home = Home::made("web-1");
    let mode = |name: &str| std::fs::metadata(home.path().join(name)).unwrap().permissions().mode() & 0o777;
    for dir in ["", "etc", "etc/keys", "state", "run", "state/journal"] {
        assert_eq!(mode(dir), 0o700, "{dir}");
    }
    let keys = ["log.key", "manifest.key", "approvals.key", "vault"].map(|name| format!("etc/keys/{name}"));
    keys.iter().for_each(|name| assert_eq!(mode(name), 0o600, "{name}"));
    let publics: std::collections::BTreeSet<String> = keys[..3]
        .iter()
        .map(|name| {
            let text = std::fs::read_to_string(home.path().join(name)).unwrap();
            serde_json::from_str::<Value>(&text).unwrap()["public"].to_string()
        })
        .collect();
    assert_eq!(publics.len(), 3);
}

#[test]
fn the_first_entry_names_the_version_and_the_key() {
    let home = Home::made("web-1");
    let first: Value = serde_json::from_str(&home.run(&["--json", "audit", "tail"]).ok().out).unwrap();
    assert_eq!(first["kind"], "holdfast.instance.initialised");
    assert!(first["actor"].as_str().unwrap().starts_with("uid:"));
    assert_eq!(first["body"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(first["body"]["log_vkey"], home.json(&["init"])["vkey"]);
}

#[test]
fn a_sealed_text_is_read_and_erased_only_on_purpose() {
    let home = Home::made("web-1");
    let text = "first line\nsecond\u{1b}[2J line\n";
    let log = ["audit", "log", "--actor", "ana", "--kind", "memory.text.kept", "--blob", "-"];
    home.run_with(&log, text.as_bytes()).ok().shows("1  memory.text.kept  durable");
    assert_eq!(home.run(&["audit", "text", "1"]).ok().out, text);
    assert_eq!(home.json(&["audit", "text", "1"])["text"], text);
    home.run(&["audit", "tail", "--text"]).ok().shows("      second\\u{1b}[2J line\n");
    home.run(&["audit", "erase", "1"]).ends(2).says("HF-CLI-011").says("nothing brings it back");
    home.run(&["audit", "erase", "1", "--dry-run"]).ok();
    home.run(&["audit", "text", "1"]).ok();
    home.run(&["audit", "erase", "1", "--yes"])
        .ok()
        .shows("● erased: the text of entry 1, recorded as entry 2");
    home.run(&["audit", "text", "1"]).ends(1).says("HF-JRN-015");
    home.run(&["audit", "tail", "--text"]).ok().shows("(the text of entry 1 was erased)");
    home.run(&["audit", "erase", "1", "--yes"]).ok().shows("was erased before");
    home.run(&["audit", "text", "0"]).ends(2).says("HF-CLI-018");
    home.run(&["audit", "erase", "0", "--yes"]).ends(2).says("HF-CLI-018");
    home.run(&["audit", "erase", "9", "--yes"]).ends(2).says("HF-JRN-014");
    home.run(&["audit", "verify"]).ok().shows("1, 1 erased");
}

#[test]
fn tail_reads_from_the_end_and_filters_by_kind_and_actor() {
    let home = Home::made("web-1");
    home.log_many(30);
    home.run(&["audit", "log", "--actor", "bo", "--kind", "memory.fact.kept", "--body", "{}"]).ok();
    let seqs = |args: &[&str]| -> Vec<u64> {
        let ran = home.run(&[&["--json", "audit", "tail"], args].concat()).ok();
        ran.out.lines().map(|l| serde_json::from_str::<Value>(l).unwrap()["seq"].as_u64().unwrap()).collect()
    };
    assert_eq!(seqs(&[]), (12..32).collect::<Vec<_>>());
    assert_eq!(seqs(&["-n", "2"]), [30, 31]);
    assert_eq!(seqs(&["-n", "0"]), [0; 0]);
    assert_eq!(seqs(&["-n", "18446744073709551615"]).len(), 32);
    assert_eq!(seqs(&["--from", "29"]), [29, 30, 31]);
    assert_eq!(seqs(&["--from", "29", "-n", "1"]), [29]);
    assert_eq!(seqs(&["--from", "99"]), [0; 0]);
    assert_eq!(seqs(&["--kind", "captain", "-n", "2"]), [29, 30]);
    assert_eq!(seqs(&["--kind", "holdfast.instance"]), [0]);
    assert_eq!(seqs(&["--actor", "bo"]), [31]);
    assert_eq!(seqs(&["--kind", "capt"]), [0; 0]);
}

/// What the README of an export tells a stranger to type is typed here.
#[test]
fn an_export_is_checked_with_foreign_tools_alone() {
    let home = Home::made("web-1");
    home.log_many(12);
    home.run(&["audit", "checkpoint", "--new"]).ok();
    home.log_many(2);
    let out = home.beside("export");
    let report = home.json(&["audit", "export", "--out", out.to_str().unwrap()]);
    assert_eq!((&report["entries"], &report["checkpoint_size"]), (&15.into(), &13.into()));
    let readme = std::fs::read_to_string(out.join("README.txt")).unwrap();
    let between = |from: &str, to: &str| {
        let start = readme.find(from).unwrap();
        let end = start + readme[start..].find(to).unwrap();
        let line_end = end + readme[end..].find('\n').unwrap();
        readme[start..line_end].to_owned()
    };
    let shell = |script: &str| {
        let done = Command::new("sh").arg("-ec").arg(script).current_dir(&out).output().unwrap();
        String::from_utf8(done.stdout).unwrap() + &String::from_utf8(done.stderr).unwrap()
    };
    let signature = between("sed '/^$/,$d'", "openssl pkeyutl");
    let root = between("python3 -I - <<'END'", "\nEND");
    assert!(shell(&signature).contains("Signature Verified Successfully"), "{}", shell(&signature));
    assert_eq!(shell(&root), "the root is the signed one\n");

    let lines = out.join("entries.jsonl");
    holdfast_testkit::files::flip_bit(&lines, 200, 0);
    assert_eq!(shell(&root), "THE ROOT IS ANOTHER\n");
    holdfast_testkit::files::flip_bit(out.join("checkpoint.txt"), 15, 0);
    assert!(shell(&signature).contains("Failure"), "{}", shell(&signature));
}

#[test]
fn an_export_of_a_part_says_that_the_root_cannot_be_computed_from_it() {
    let home = Home::made("web-1");
    home.log_many(5);
    home.run(&["audit", "checkpoint", "--new"]).ok();
    let out = home.beside("part");
    home.run(&["audit", "export", "--from", "2", "--to", "3", "--out", out.to_str().unwrap()]).ok();
    assert_eq!(std::fs::read_to_string(out.join("entries.jsonl")).unwrap().lines().count(), 2);
    assert!(std::fs::read_to_string(out.join("README.txt")).unwrap().contains("cannot be\ncomputed"));
    home.run(&["audit", "export", "--out", out.to_str().unwrap()]).ends(2).says("HF-CLI-014");
    home.run(&["audit", "export", "--from", "4", "--to", "2", "--out", "-"]).ends(2);
    home.run(&["audit", "export", "--to", "99", "--out", "-"]).ends(2).says("HF-JRN-014");
    let lines = home.run(&["audit", "export", "--out", "-"]).ok().out;
    assert_eq!(lines.lines().count(), 6);
    assert_eq!(lines, home.run(&["--json", "audit", "tail"]).ok().out);
}
