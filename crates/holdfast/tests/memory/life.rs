//! The life of a memory by commands: captured, found, decided about, shown, told apart from another agent's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::home::Home;
use crate::place::Place;

pub const PORT: &str = "The gateway of the staging cluster listens on port 9096.";
pub const BACKUP: &str = "Backups of the billing database are kept for fourteen days.";
pub const EDITOR: &str = "Ana prefers short commit messages without emoji.";

#[test]
fn what_is_added_is_found_shown_counted_and_decided_about() {
    for place in Place::both() {
        let added = place.json(&["add", PORT, "--tag", "ports", "--source", "standup", "--actor", "ana"]);
        assert_eq!((&added["outcome"], &added["agent"]), (&json!("captured"), &json!("main")), "{added}");
        let id = added["id"].as_str().unwrap();
        place.add(BACKUP, &[]);
        place.add(EDITOR, &["--type", "preference"]);

        let found = place.json(&["search", "which port does the gateway use?", "--top", "2"]);
        let hit = &found["hits"][0];
        assert_eq!((&hit["id"], &hit["text"], &found["lexical"]), (&json!(id), &json!(PORT), &json!(true)));
        assert_eq!(
            (&hit["thread"], &hit["actor"], &hit["trust"], &hit["tags"], &hit["entry"]),
            (&json!("standup"), &json!("ana"), &json!("trusted"), &json!(["ports"]), &added["entry"])
        );
        assert!(!hit["why"].as_array().unwrap().is_empty() && found["hits"].as_array().unwrap().len() <= 2);
        let told = place.memory(&["search", "gateway port"]).ok().says("by words alone");
        assert!(told.out.starts_with(&format!("{id}  ")), "{}", told.out);
        assert!(
            told.out.contains(&format!("  > {PORT}\n"))
                && told.out.contains("ago in standup, by ana, trusted")
        );

        assert_eq!(place.json(&["show", id])["standing"], "session");
        let run = place.json(&["consolidate", "--actor", "ana"]);
        assert_eq!(
            (&run["runs"][0]["promoted"], &run["runs"][0]["lexical"]),
            (&json!(3), &json!(true)),
            "{run}"
        );
        assert_eq!(place.json(&["consolidate"])["runs"][0]["run"], json!(null), "nothing is decided twice");
        let shown = place.json(&["show", id]);
        assert_eq!((&shown["standing"], &shown["memory"]["text"]), (&json!("durable"), &json!(PORT)));
        place.memory(&["show", id]).ok().shows(PORT).shows("ana, trusted");
        let stats = place.json(&["stats"]);
        assert_eq!((&stats["agents"][0]["durable"], &stats["model"]), (&json!(3), &json!(false)), "{stats}");
        place.memory(&["stats"]).ok().shows("main: 3 memories");
        place.closed();
    }
}

// shows: MEM-022
#[test]
fn what_becomes_of_a_capture_is_said_in_its_exit_code_too() {
    for place in Place::both() {
        let noise = place.memory(&["--json", "add", "Let me check the logs first."]).ends(1).json();
        assert_eq!((&noise["outcome"], &noise["gate"]), (&json!("rejected"), &json!("noise")), "{noise}");
        assert_eq!((&noise["id"], &noise["entry"]), (&json!(null), &json!(null)));
        let key =
            ["-----BEGIN RSA PRIVATE", " KEY-----\nMIIEpAIBAAKCAQEA7bq\n-----END RSA PRIVATE", " KEY-----"]
                .concat();
        let blocked =
            place.memory_with(&["--json", "add", "-"], &format!("The key of web-1 is {key}")).ends(4).json();
        assert_eq!((&blocked["outcome"], &blocked["id"]), (&json!("blocked"), &json!(null)), "{blocked}");
        let once = |text: &str| place.json(&["add", text, "--key", "turn-7"]);
        let (first, second) = (once(PORT), once(PORT));
        assert_eq!((&second["outcome"], &second["id"]), (&json!("repeated"), &first["id"]));
        place.memory(&["add", PORT, "--type", "truth"]).ends(2).says("HF-MEM-009");
        place.memory(&["add", &"word ".repeat(4000)]).ends(2).says("HF-MEM-010");
        place.memory(&["add", PORT, "--agent", " x"]).ends(2).says("HF-MEM-004");
        place.closed();
    }
}

#[test]
fn a_dry_run_says_what_would_become_of_it_and_keeps_nothing() {
    for place in Place::both() {
        let would = place.json(&["add", PORT, "--dry-run"]);
        assert_eq!(
            (&would["outcome"], &would["id"], &would["dry_run"]),
            (&json!("captured"), &json!(null), &json!(true))
        );
        place.memory(&["add", "Let me check the logs first.", "--dry-run"]).ends(1).shows("the gate noise");
        let lines = place.file("lines.jsonl", "{\"id\":1,\"content\":\"Let me check.\"}\nno line\n");
        let would = place.memory(&["--json", "import", &lines, "--dry-run"]).ends(1).json();
        assert_eq!((&would["captured"], &would["wrong_lines"]), (&json!(1), &json!(1)), "{would}");
        assert_eq!(place.json(&["stats"])["agents"], json!([]));
        place.closed();
    }
}

#[test]
fn nobody_finds_sees_or_forgets_what_another_agent_remembers() {
    for place in Place::both() {
        let id = place.add(PORT, &["--agent", "one"]);
        place.add(BACKUP, &["--agent", "two"]);
        assert_eq!(place.found("gateway port staging", &["--agent", "two"]), Vec::<String>::new());
        assert_eq!(place.found("gateway port staging", &["--agent", "one"]), [PORT]);
        let theirs = place.json(&["show", &id, "--agent", "two"]);
        assert_eq!(theirs["memory"]["text"], BACKUP, "ids are each agent's own");
        place.memory(&["search", "gateway", "--agent", "three"]).ends(1).says("HF-MEM-001");
        place.memory(&["show", "mem-2020-01-01-001", "--agent", "one"]).ends(1).says("HF-MEM-002");
        place.memory(&["show", "7", "--agent", "one"]).ends(2).says("HF-MEM-011");
        let answers = place.memory_with(
            &["search", "--batch", "-"],
            "{\"id\":1,\"query\":\"gateway port\",\"agent\":\"one\"}\n{\"id\":2,\"query\":\"gateway port\",\"agent\":\"three\"}\n",
        );
        let answers = answers.ends(1).says("line 2 of the batch");
        let lines: Vec<serde_json::Value> =
            answers.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(
            (lines.len(), lines[0]["hits"][0]["id"].as_str(), &lines[1]["hits"]),
            (2, Some(id.as_str()), &json!([]))
        );
        place.closed();
    }
}

#[test]
fn a_search_can_be_narrowed() {
    for place in Place::both() {
        place.add(PORT, &["--tag", "ports", "--scope", "global", "--at", "2026-01-05T10:00:00Z"]);
        place.add("The gateway of the old cluster listens on port 8080.", &["--trust", "untrusted"]);
        place.add("Ana prefers the gateway of the staging cluster.", &["--type", "preference"]);
        let check = |filter: &[&str], texts: usize| {
            let found = place.found("gateway of the cluster", filter);
            assert_eq!(found.len(), texts, "{filter:?}: {found:?}");
        };
        check(&[], 3);
        check(&["--tag", "ports"], 1);
        check(&["--scope", "global"], 1);
        check(&["--type", "preference"], 1);
        check(&["--type", "preference", "--type", "fact"], 3);
        check(&["--trust", "trusted"], 2);
        check(&["--since", "2026-01-05T00:00:00Z", "--until", "2026-01-06T00:00:00Z"], 1);
        check(&["--kind", "session_facts"], 3);
        check(&["--kind", "directives"], 0);
        check(&["--tag", "ports", "--type", "preference"], 0);
        place.memory(&["search", "gateway", "--kind", "truths"]).ends(2).says("session_facts");
        place.memory(&["search", "gateway", "--top", "0"]).ends(2);
        place.closed();
    }
}

#[test]
fn nobody_writes_past_memory_what_memory_believes() {
    for place in Place::both() {
        let log = |kind: &str, key: &[&str]| {
            let args = ["audit", "log", "--actor", "eve", "--kind", kind, "--body", "{}"];
            place.home.run(&[&args, key].concat())
        };
        log("memory.space.opened", &[]).ends(4).says("HF-MEM-014");
        log("memory.entry.captured", &[]).ends(4).says("HF-MEM-014");
        log("captain.note.added", &["--key", "memory-space:x"]).ends(4).says("HF-MEM-014");
        place.closed();
    }
}

#[test]
fn a_folder_that_is_lost_is_made_again_from_the_journal() {
    let place = Place::new(crate::place::Daemon::None, None);
    place.add(PORT, &[]);
    place.add(BACKUP, &[]);
    std::fs::remove_dir_all(place.home.path().join("state/memory")).unwrap();
    assert_eq!(place.found("which port does the gateway use", &["--top", "1"]), [PORT]);
    assert_eq!(place.json(&["stats"])["agents"][0]["session"], 2);
}

#[test]
fn what_is_exported_can_be_imported_elsewhere() {
    for place in Place::both() {
        place.add(PORT, &["--tag", "ports", "--type", "decision", "--source", "standup"]);
        let gone = place.add(EDITOR, &[]);
        place.memory(&["forget", &gone, "--yes"]).ok();
        let out = place.memory(&["export"]).ok().out;
        let lines: Vec<serde_json::Value> =
            out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 1, "{out}");
        assert_eq!((&lines[0]["content"], &lines[0]["kind"]), (&json!(PORT), &json!("decision")));
        let other = Place::new(crate::place::Daemon::None, None);
        assert_eq!(other.memory_with(&["--json", "import", "-"], &out).ok().json()["captured"], 1);
        let hit = other.json(&["search", "gateway port"])["hits"][0].clone();
        assert_eq!(
            (&hit["text"], &hit["source_id"], &hit["thread"], &hit["type"]),
            (&json!(PORT), &lines[0]["id"], &json!("standup"), &json!("decision"))
        );
        place.memory(&["export", "--agent", "nobody"]).ends(1).says("HF-MEM-001");
        place.closed();
    }
}

/// Every file below a folder with what is in it.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.symlink_metadata().unwrap().file_type();
        if kind.is_dir() {
            all.extend(tree(&path));
        } else if kind.is_file() {
            all.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    all
}

// shows: MEM-002
#[test]
fn what_is_remembered_in_one_home_touches_no_other() {
    let (one, other) = (Home::made("one"), Home::made("other"));
    let before = tree(other.path());
    for args in [&["memory", "add", BACKUP][..], &["memory", "consolidate"], &["memory", "notes"]] {
        one.run(args).ok();
    }
    assert!(tree(one.path()).keys().any(|path| path.to_string_lossy().contains("state/memory")));
    assert_eq!(tree(other.path()), before);
    other.run(&["memory", "search", "billing backups"]).ends(1);
}
