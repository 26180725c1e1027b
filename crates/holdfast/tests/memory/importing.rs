//! Lines from elsewhere, taken in by the command and found again by a batch.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::place::{Daemon, Place, holds};

fn line(id: &str, content: &str) -> String {
    let line = json!({"id": id, "content": content, "at": "2023-05-08T13:56:00Z", "kind": "turn", "source": "session_1",
        "tags": ["talk"], "agent": "conv-26"});
    format!("{line}\n")
}

#[test]
fn imported_lines_are_answered_in_exactly_the_shape_that_was_promised() {
    for place in Place::both() {
        let lines = [
            line("D1:1", "Caroline: I adopted a greyhound called Biscuit in March."),
            line("D1:2", "Melanie: The pottery class is on Thursdays at the harbour."),
            // The gates would refuse it; an import says so and takes it.
            line("D1:3", "Let me check the logs first."),
        ];
        let file = place.file("lines.jsonl", lines.concat());
        let done = place.json(&["import", &file]);
        assert_eq!(
            (&done["captured"], &done["repeated"], &done["wrong"]),
            (&json!(3), &json!(0), &json!([])),
            "{done}"
        );
        assert_eq!((&done["doubted"], &done["refused"]), (&json!({"noise": 1}), &json!({})));
        // What was brought in stays, and nothing is merged.
        let stats = place.json(&["stats", "--agent", "conv-26"]);
        assert_eq!(
            (&stats["agents"][0]["durable"], &stats["agents"][0]["session"]),
            (&json!(3), &json!(0)),
            "{stats}"
        );

        let queries = "{\"id\":\"q1\",\"query\":\"Which dog did Caroline adopt?\",\"agent\":\"conv-26\"}\n\
                       {\"id\":2,\"query\":\"when is the pottery class\",\"agent\":\"conv-26\"}\n";
        let ran = place.memory_with(&["search", "--batch", "-", "--top", "1"], queries).ok();
        let answers: Vec<&str> = ran.out.lines().collect();
        let first: Value = serde_json::from_str(answers[0]).unwrap();
        let hit = &first["hits"][0];
        let (id, score) = (hit["id"].as_str().unwrap(), &hit["score"]);
        assert_eq!(answers.len(), 2);
        assert_eq!(
            answers[0],
            format!(
                "{{\"id\":\"q1\",\"hits\":[{{\"id\":\"{id}\",\"source_id\":\"D1:1\",\"score\":{score}}}]}}"
            )
        );
        assert!(id.starts_with("mem-") && score.is_f64(), "{hit}");
        assert!(answers[1].starts_with("{\"id\":2,\"hits\":[{\"id\":\"mem-"), "{}", answers[1]);
        assert!(answers[1].contains("\"source_id\":\"D1:2\""), "{}", answers[1]);
        // The same with --json, and from a file.
        let file = place.file("queries.jsonl", queries);
        assert_eq!(place.memory(&["--json", "search", "--batch", &file, "--top", "1"]).ok().out, ran.out);
        let hit = place.json(&["search", "pottery", "--agent", "conv-26"])["hits"][0].clone();
        assert_eq!(
            (&hit["at"], &hit["thread"]),
            (&json!("2023-05-08T13:56:00.000000Z"), &json!("session_1"))
        );
        assert_eq!((&hit["tags"], &hit["source_id"]), (&json!(["talk", "turn"]), &json!("D1:2")));
        place.closed();
    }
}

#[test]
fn wrong_lines_are_told_by_number_and_the_others_are_taken() {
    for place in Place::both() {
        let long = format!("{{\"id\":\"long\",\"content\":\"{}\"}}\n", "x".repeat(200_000));
        let page = json!({"id": "page", "content": "y ".repeat(9_000)}).to_string();
        let secret = ["hunter", "2-secret-word"].concat();
        let bytes = [
            line("1", "The first line is about the lighthouse.").as_bytes(),
            format!("{secret}\n").as_bytes(),
            b"{\"id\":\"3\",\"content\":\"broken \xff bytes\"}\n",
            b"\n",
            b"[1,2]\n",
            b"{\"id\":\"6\",\"tags\":[\"no content\"]}\n",
            long.as_bytes(),
            page.as_bytes(),
            b"\n{\"id\":\"9\",\"content\":\"The at of this one is nonsense, said the ferryman.\",\"at\":\"half past never\"}\n",
            b"{\"id\":\"10\",\"content\":\"The last line has no line feed.\",\"agent\":\"bad\\u0007name\"}",
        ]
        .concat();
        let file = place.file("lines.jsonl", bytes);
        let ran = place.memory(&["--json", "import", &file, "--agent", "conv-26"]).ends(1);
        let done = ran.json();
        let wrong: Vec<u64> =
            done["wrong"].as_array().unwrap().iter().map(|it| it["line"].as_u64().unwrap()).collect();
        assert_eq!(
            wrong.iter().copied().collect::<BTreeSet<_>>(),
            BTreeSet::from([2, 3, 5, 6, 7, 8, 10]),
            "{done}"
        );
        assert_eq!((&done["captured"], &done["wrong_lines"]), (&json!(2), &json!(7)));
        assert!(!ran.err.contains(&secret) && !ran.out.contains(&secret), "{}", ran.err);
        let again =
            place.memory(&["import", &file, "--agent", "conv-26"]).ends(1).says("line 2 is not taken");
        assert!(again.out.contains("0 memories imported, 2 here before"), "{}", again.out);
        assert_eq!(place.found("ferryman", &["--agent", "conv-26", "--top", "1"]).len(), 1);
        let empty = place.file("empty.jsonl", "");
        assert_eq!(place.json(&["import", &empty])["captured"], 0);
        place.memory(&["import", "/nowhere/at/all.jsonl"]).ends(3).says("HF-CLI-003");
        let odd = place.memory_with(
            &["search", "--batch", "-"],
            "nonsense\n{\"id\":7,\"query\":\"ferryman\",\"agent\":\"conv-26\"}\n",
        );
        assert!(odd.ends(1).says("line 1 of the batch").out.starts_with("{\"id\":7,"));
        place.closed();
    }
}

#[test]
fn gates_refuse_lines_when_they_are_asked_to() {
    for place in Place::both() {
        let lines =
            [line("1", "Let me check the logs first."), line("2", "The harbour master is called Ines.")];
        let done = place.memory_with(&["--json", "import", "-", "--gate"], &lines.concat()).ok().json();
        assert_eq!((&done["captured"], &done["refused"]), (&json!(1), &json!({"noise": 1})), "{done}");
        place.closed();
    }
}

// shows: MEM-033
#[test]
fn a_planted_secret_is_in_no_file_and_in_no_answer() {
    let key = ["AKIA", "QYLPMN5HFIQR7XYZ"].concat();
    let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    for place in Place::both() {
        let lines = [
            line("1", &format!("The deploy job of zebrafish uses the access key {key} at night.")),
            json!({"id": "2", "content": "The mirror of zebrafish is pushed weekly.", "tags": [token], "source": format!("chat {key}"),
                "agent": "conv-26"})
            .to_string(),
            format!("\n{{\"id\":\"3\",\"content\":7,\"note\":\"{token}\"}}\n"),
        ];
        let ran = place.memory_with(&["import", "-"], &lines.concat()).ends(1);
        let added = place.memory_with(
            &["add", "-", "--agent", "conv-26"],
            &format!("The token of zebrafish is {token} until May."),
        );
        let found = place.memory(&["--json", "search", "zebrafish", "--agent", "conv-26"]).ok();
        let exported = place.memory(&["export", "--agent", "conv-26"]).ok();
        assert!(found.json()["hits"].as_array().unwrap().len() >= 2, "{}", found.out);
        for secret in [&key, &token] {
            for said in [&ran, &added, &found, &exported] {
                assert!(!said.out.contains(secret) && !said.err.contains(secret));
            }
        }
        let home = place.closed();
        for secret in [&key, &token] {
            assert_eq!(holds(home.path(), secret), None);
        }
    }
}

#[test]
fn an_import_that_is_killed_and_begun_again_gives_no_line_twice() {
    const LINES: usize = 3000;
    let place = Place::new(Daemon::None, None);
    let lines: String = (0..LINES)
        .map(|n| line(&format!("D{n}"), &format!("Ship {n} of the harbour carries {n} crates of tea.")))
        .collect();
    let file = place.file("lines.jsonl", lines);
    let mut child =
        place.command(&["import", &file]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    let written =
        || std::fs::read(place.home.segment()).unwrap().iter().filter(|byte| **byte == b'{').count();
    // Some of it is in the journal, and most of it is not.
    while written() < 600 {
        assert!(
            began.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none(),
            "it never began"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let done = place.json(&["import", &file]);
    let (captured, repeated) = (done["captured"].as_u64().unwrap(), done["repeated"].as_u64().unwrap());
    assert_eq!(captured + repeated, LINES as u64, "{done}");
    assert!(captured > 0 && repeated > 0, "it was killed in the middle: {done}");
    let stats = place.json(&["stats", "--agent", "conv-26"])["agents"][0].clone();
    assert_eq!(
        (&stats["durable"], &stats["session"]),
        (&json!(LINES), &json!(0)),
        "all of it stays: {stats}"
    );
    let out = place.memory(&["export", "--agent", "conv-26"]).ok().out;
    let ids: BTreeSet<String> = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["source_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!((out.lines().count(), ids.len()), (LINES, LINES));
}
