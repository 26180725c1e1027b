//! Written files, read by the command and by the hook of an agent's command line.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::home::{Home, Ran, bare_command, run};
use crate::life::{BACKUP, PORT};
use crate::place::{Daemon, Place, holds};

const NOISE: &str = "Let me check the logs first.";

/// A folder beside the home with these files.
fn folder(place: &Place, files: &[(&str, &[u8])]) -> PathBuf {
    let folder = place.home.beside("project");
    for (name, bytes) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    folder
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// What the command line of an agent says when a tool has written a file.
fn wrote(tool: &str, path: &str, cwd: &Path) -> String {
    json!({"session_id": "s-1", "transcript_path": "/nowhere/s-1.jsonl", "cwd": cwd, "permission_mode": "default",
        "hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": {"file_path": path, "content": "as it is there"},
        "tool_response": {"success": true}, "tool_use_id": "t-1"})
    .to_string()
}

fn happened(event: &str) -> String {
    json!({"session_id": "s-1", "cwd": "/", "hook_event_name": event, "reason": "exit"}).to_string()
}

/// Runs the hook, which says nothing.
#[track_caller]
fn hook(place: &Place, input: &str) -> Ran {
    let ran = place.memory_with(&["hook"], input).ok();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""), "{input}");
    ran
}

#[track_caller]
fn hook_json(place: &Place, input: &str) -> Value {
    place.memory_with(&["hook", "--json"], input).ok().json()
}

#[test]
fn a_folder_is_read_with_spans_and_what_was_passed_over_is_told() {
    for place in Place::both() {
        let ops = format!("# Ops\n\n{PORT}\n\n- {BACKUP}\n- {NOISE}\n");
        let folder = folder(
            &place,
            &[
                ("ops.md", ops.as_bytes()),
                ("deeper/team.txt", b"The harbour master is called Ines.\n"),
                ("image.txt", &[0, 159, 146, 150]),
                ("long.txt", "word ".repeat(300_000).as_bytes()),
                (".hidden/x.md", b"The hidden gateway listens on port 1."),
            ],
        );
        std::os::unix::fs::symlink(folder.join("ops.md"), folder.join("link.md")).unwrap();
        let read = |more: &[&str]| place.json(&[&["read", text(&folder), "--actor", "ana"], more].concat());

        let would = read(&["--dry-run"]);
        assert_eq!(
            (&would["captured"], &would["ids"], &would["known"]),
            (&json!(3), &json!([]), &json!(null))
        );
        assert_eq!(place.json(&["stats"])["agents"], json!([]), "a dry run keeps nothing");

        let done = read(&[]);
        assert_eq!(
            (&done["files"], &done["captured"], &done["known"]),
            (&json!(2), &json!(3), &json!(0)),
            "{done}"
        );
        assert_eq!(
            (&done["refused"], &done["blocked"], &done["agent"]),
            (&json!({"noise": 1}), &json!(0), &json!("main"))
        );
        let skipped = |name: &str, why: &str| json!({"path": text(&folder.join(name)), "why": why});
        assert_eq!(
            done["skipped"],
            json!([skipped("image.txt", "not_text"), skipped("long.txt", "too_long")])
        );

        let hit = place.json(&["search", "which port does the gateway use", "--top", "1"])["hits"][0].clone();
        assert_eq!((&hit["id"], &hit["text"]), (&done["ids"][1], &json!(PORT)), "{hit}");
        assert_eq!(
            (&hit["thread"], &hit["actor"], &hit["trust"]),
            (&json!("ops.md"), &json!("ana"), &json!("trusted"))
        );
        let span = &hit["origins"][0]["span"];
        let (from, to) = (span[0].as_u64().unwrap() as usize, span[1].as_u64().unwrap() as usize);
        assert_eq!(&ops[from..to], PORT);
        assert_eq!(place.found("hidden gateway port 1", &["--top", "1"]), [PORT], "nothing hidden was read");

        let again = read(&[]);
        assert_eq!(
            (&again["captured"], &again["ids"], &again["known"]),
            (&json!(0), &json!([]), &json!(3)),
            "{again}"
        );
        let more = format!("{ops}\nThe ferry leaves at nine on weekdays.\n");
        std::fs::write(folder.join("ops.md"), more).unwrap();
        let told = place.memory(&["read", text(&folder.join("ops.md"))]).ok();
        assert!(told.out.contains("main remembers 1 piece from 1 file, 2 known before"), "{}", told.out);
        place.closed();
    }
}

#[test]
fn what_cannot_be_read_is_said_and_memorys_own_is_never_read() {
    for place in Place::both() {
        let nothing = place.file("image.txt", [0u8, 159, 146, 150]);
        place.memory(&["read", &nothing]).ends(1).shows("it is no text in UTF-8");
        place.memory(&["read", "/nowhere/at/all.md"]).ends(3).says("HF-CLI-003");
        place.memory(&["read"]).ends(2);
        place.memory(&["read", &nothing, "--trust", "blind"]).ends(2);
        let notes = place.file("notes.md", format!("{PORT}\n"));
        place.memory(&["read", &notes, "--agent", " x"]).ends(2).says("HF-MEM-004");
        place.memory(&["read", &notes, "--agent", " x", "--dry-run"]).ends(2).says("HF-MEM-004");
        let untrusted = place.json(&["read", &notes, "--trust", "untrusted", "--agent", "scout"]);
        assert_eq!(untrusted["captured"], 1, "{untrusted}");
        let hit = &place.json(&["search", "gateway port", "--agent", "scout"])["hits"][0];
        assert_eq!(hit["trust"], "untrusted");

        place.memory(&["notes", "--agent", "scout"]).ok();
        let own = place.home.path().join("state/memory");
        let done = place.memory(&["--json", "read", text(&own), &notes]).ok().json();
        assert_eq!((&done["files"], &done["skipped"][0]["why"]), (&json!(1), &json!("our_own")), "{done}");
        let noted = json!({"hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_input": {"file_path": find(&own, ".md")}});
        let hooked = hook_json(&place, &noted.to_string());
        assert_eq!(
            (&hooked["did"], &hooked["read"]["skipped"][0]["why"]),
            (&json!("nothing"), &json!("our_own")),
            "{hooked}"
        );
        place.closed();
    }
}

/// Some file below a folder that is called so.
fn find(folder: &Path, end: &str) -> PathBuf {
    let mut todo = vec![folder.to_owned()];
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.to_str().is_some_and(|path| path.ends_with(end)) {
            return path;
        }
    }
    panic!("no {end} in {}", folder.display());
}

/// It is sent in parts, each of which is divided as the whole is.
#[test]
fn a_long_file_is_read_in_parts_and_spans_are_those_of_the_file() {
    for place in Place::both() {
        let items: String =
            (0..600).map(|n| format!("- Ship {n} of the harbour carries {n} crates of tea.\n")).collect();
        let file = place.file("ships.md", &items);
        let done = place.json(&["read", &file]);
        assert_eq!((&done["captured"], &done["known"]), (&json!(600), &json!(0)), "{}", done["refused"]);
        let ids = done["ids"].as_array().unwrap();
        for n in [0, 249, 250, 599] {
            let memory = &place.json(&["show", ids[n].as_str().unwrap()])["memory"];
            let span = &memory["origins"][0]["span"];
            let (from, to) = (span[0].as_u64().unwrap() as usize, span[1].as_u64().unwrap() as usize);
            assert_eq!(memory["text"], items[from..to], "{n}");
            assert_eq!(memory["text"], format!("Ship {n} of the harbour carries {n} crates of tea."));
        }
        assert_eq!(place.json(&["read", &file])["known"], 600);
        place.closed();
    }
}

#[test]
fn a_file_that_an_agent_wrote_is_found_and_trusted_as_an_agents_words() {
    for place in Place::both() {
        let folder = folder(&place, &[("docs/ops.md", format!("{PORT}\n\n{BACKUP}\n").as_bytes())]);
        hook(&place, &wrote("Write", "docs/ops.md", &folder));
        assert_eq!(place.found("which port does the gateway use", &["--top", "1"]), [PORT]);
        let hit = place.json(&["search", "backups of billing", "--top", "1"])["hits"][0].clone();
        assert_eq!(
            (&hit["text"], &hit["trust"], &hit["thread"]),
            (&json!(BACKUP), &json!("semi-trusted"), &json!("ops.md"))
        );
        assert_eq!(hit["standing"], "session");

        let path = text(&folder.join("docs/ops.md")).to_owned();
        std::fs::write(&path, format!("{PORT}\n\nThe ferry leaves at nine on weekdays.\n")).unwrap();
        let would =
            place.memory_with(&["hook", "--dry-run"], &wrote("Edit", &path, &folder)).ok().says("would read");
        assert_eq!(would.out, "");
        let edited = hook_json(&place, &wrote("Edit", &path, &folder));
        assert_eq!((&edited["did"], &edited["event"]), (&json!("read"), &json!("PostToolUse")), "{edited}");
        assert_eq!(
            (&edited["read"]["captured"], &edited["read"]["known"]),
            (&json!(1), &json!(1)),
            "{edited}"
        );
        place.closed();
    }
}

// shows: MEM-065
#[test]
fn the_end_of_a_conversation_decides_what_stays_and_writes_the_notes() {
    for place in Place::both() {
        hook(&place, &happened("SessionEnd"));
        assert_eq!(place.json(&["stats"])["agents"], json!([]), "whoever remembers nothing decides nothing");
        let folder = folder(&place, &[("ops.md", format!("{PORT}\n").as_bytes())]);
        hook(&place, &wrote("Write", "ops.md", &folder));
        place.add(BACKUP, &["--agent", "other"]);
        let stands = |agent: &str| {
            let stats = place.json(&["stats", "--agent", agent])["agents"][0].clone();
            (stats["session"].clone(), stats["durable"].clone())
        };
        assert_eq!(stands("main"), (json!(1), json!(0)));
        hook(&place, &happened("Stop"));
        let would = hook_dry(&place, &happened("SessionEnd"));
        assert_eq!((&would["did"], &would["dry_run"]), (&json!("consolidated"), &json!(true)));
        assert_eq!(
            stands("main"),
            (json!(1), json!(0)),
            "a turn's end is no conversation's, and a dry run decides nothing"
        );

        let done = hook_json(&place, &happened("SessionEnd"));
        assert_eq!(
            (&done["did"], &done["runs"][0]["promoted"]),
            (&json!("consolidated"), &json!(1)),
            "{done}"
        );
        assert!(!done["notes"].as_array().unwrap().is_empty(), "{done}");
        assert_eq!((stands("main"), stands("other")), ((json!(0), json!(1)), (json!(1), json!(0))));
        let notes = place.json(&["notes"]);
        assert_eq!(notes["files"], json!([]), "they are written already");
        assert!(holds(notes["folder"].as_str().unwrap().as_ref(), "port 9096").is_some());
        hook(&place, &happened("SessionEnd"));
        place.closed();
    }
}

fn hook_dry(place: &Place, input: &str) -> Value {
    place.memory_with(&["hook", "--json", "--dry-run"], input).ok().json()
}

#[test]
fn what_is_none_of_the_hooks_business_does_nothing() {
    for place in Place::both() {
        let folder = folder(
            &place,
            &[
                ("ops.md", PORT.as_bytes()),
                (".env", b"The gateway is hidden here."),
                ("image.txt", &[0, 159, 146, 150]),
            ],
        );
        for event in ["Stop", "SubagentStop", "SessionStart", "PreCompact", "Notification", "SomethingNew"] {
            hook(&place, &happened(event));
        }
        let before = wrote("Write", "ops.md", &folder).replace("PostToolUse", "PreToolUse");
        hook(&place, &before);
        hook(&place, &wrote("Read", "ops.md", &folder));
        hook(&place, &wrote("Bash", "ops.md", &folder));
        hook(&place, &wrote("Write", ".env", &folder));
        hook(&place, &wrote("Write", "gone.md", &folder));
        hook(&place, &wrote("Write", "image.txt", &folder));
        hook(&place, &wrote("Write", text(&folder), &folder));
        assert_eq!(hook_json(&place, &wrote("Write", "gone.md", &folder))["did"], "nothing");
        assert_eq!(place.json(&["stats"])["agents"], json!([]));
        place.closed();
    }
}

#[test]
fn nothing_that_is_wrong_keeps_the_agent_from_going_on() {
    let place = Place::new(Daemon::None, None);
    let secret = ["hunter", "2-secret-word"].concat();
    let broken = [
        String::new(),
        secret.clone(),
        format!("{{\"hook_event_name\":\"{secret}"),
        format!("[\"{secret}\"]"),
        "{}".to_owned(),
        "{\"hook_event_name\":7}".to_owned(),
        json!({"hook_event_name": "PostToolUse", "tool_name": "Write", "tool_input": {"content": secret}})
            .to_string(),
    ];
    for input in &broken {
        let ran = place.memory_with(&["hook"], input).ends(1).says("HF-MEM-022");
        assert!(ran.out.is_empty() && !ran.err.contains(&secret), "{}", ran.err);
    }
    let long = json!({"hook_event_name": "Stop", "more": "x".repeat(1 << 20)}).to_string();
    place.memory_with(&["hook"], &long).ends(1).says("HF-CLI-008");
    let error = place.memory_with(&["hook", "--json"], "{").ends(1).error();
    assert_eq!((&error["exit"], &error["code"]), (&json!(1), &json!("HF-MEM-022")), "{error}");

    // Wrong options, a wrong name, and no home at all.
    for args in [&["hook", "--frobnicate"][..], &["hook", "more"], &["hook", "--agent"]] {
        place.memory_with(args, &happened("SessionEnd")).ends(1);
    }
    let error = place.memory_with(&["hook", "--json", "--frobnicate"], "").ends(1).error();
    assert_eq!(error["exit"], 1, "{error}");
    place.memory_with(&["hook", "--agent", " x"], &happened("SessionEnd")).ends(1).says("HF-MEM-004");
    let notes = place.file("notes.md", format!("{PORT}\n"));
    let input = wrote("Write", &notes, Path::new(&notes).parent().unwrap());
    let none = Home::bare();
    let ran = none.run_with(&["memory", "hook"], input.as_bytes());
    assert_eq!(ran.code, 3, "{}", ran.err);
    let nowhere = run(bare_command(&["memory", "hook"]), Some(input.as_bytes()));
    assert!(![0, 2].contains(&nowhere.code), "{}: {}", nowhere.code, nowhere.err);
    place.memory(&["hook", "--help"]).ok().shows("never 2");
}

// shows: MEM-027
#[test]
fn a_secret_in_a_file_that_is_read_or_was_written_is_in_no_file_of_the_home() {
    let key = ["AKIA", "QYLPMN5HFIQR7XYZ"].concat();
    let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let sealed =
        ["-----BEGIN RSA PRIVATE", " KEY-----\nMIIEpAIBAAKCAQEA7bq\n-----END RSA PRIVATE", " KEY-----"]
            .concat();
    for place in Place::both() {
        let one = format!(
            "The deploy job of zebrafish uses the access key {key} at night.\n\nThe key of web-1 is\n{sealed}\n"
        );
        let two = format!("- The token of zebrafish is {token} until May.\n");
        let folder = folder(&place, &[("one.md", one.as_bytes()), ("two.md", two.as_bytes())]);
        let read = place.memory(&["--json", "read", text(&folder.join("one.md"))]).ok();
        let hooked = place.memory_with(&["hook", "--json"], &wrote("Write", "two.md", &folder)).ok();
        let ended = place.memory_with(&["hook", "--json"], &happened("SessionEnd")).ok();
        let found = place.memory(&["--json", "search", "zebrafish"]).ok();
        assert_eq!(
            (&read.json()["captured"], &read.json()["blocked"]),
            (&json!(1), &json!(1)),
            "{}",
            read.out
        );
        assert_eq!(found.json()["hits"].as_array().unwrap().len(), 2, "{}", found.out);
        let secrets = [key.as_str(), &token, "MIIEpAIBAAKCAQEA7bq"];
        for secret in secrets {
            for said in [&read, &hooked, &ended, &found] {
                assert!(!said.out.contains(secret) && !said.err.contains(secret));
            }
        }
        let home = place.closed();
        for secret in secrets {
            assert_eq!(holds(home.path(), secret), None);
        }
    }
}
