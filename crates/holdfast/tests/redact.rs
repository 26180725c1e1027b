//! `holdfast redact` as scripts use it: a text in, a text out; lines in, lines out. Secrets are put together here, so that
//! none stands in the tree.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "helpers are shared, and a test stops where it cannot go on"
)]

mod home;

use home::{Home, Ran, bare_command, run};
use serde_json::{Value, json};

fn token() -> String {
    format!("ghp_{}", "q7R2".repeat(9))
}

fn key() -> String {
    format!("-----BEGIN {0} KEY-----\n{1}\n-----END {0} KEY-----\n", "PRIVATE", "MIIEvQIBADANBgkq".repeat(4))
}

/// Without any home.
fn redact(args: &[&str], input: &str) -> Ran {
    run(bare_command(&[&["redact"][..], args].concat()), Some(input.as_bytes()))
}

#[test]
fn a_text_is_printed_without_what_is_looked_for() {
    let text = format!("use {} or ask ann.miller@corp-mail.net, see https://wiki.corp-mail.net/x\n", token());
    for (looking, expected) in [
        (
            "secrets",
            "use [REDACTED_GITHUB_TOKEN] or ask ann.miller@corp-mail.net, see https://wiki.corp-mail.net/x\n",
        ),
        ("people", "use [REDACTED_GITHUB_TOKEN] or ask [REDACTED_EMAIL], see https://wiki.corp-mail.net/x\n"),
        ("everything", "use [REDACTED_GITHUB_TOKEN] or ask [REDACTED_EMAIL], see [REDACTED_URL]\n"),
    ] {
        assert_eq!(redact(&["--looking", looking], &text).ok().out, expected);
    }
    let home = Home::bare();
    let file = home.beside("text");
    std::fs::write(&file, &text).unwrap();
    let from_file = redact(&[file.to_str().unwrap()], "").ok();
    assert_eq!(from_file.out, redact(&["-"], &text).ok().out);
    assert_eq!(from_file.err, "");
    assert!(!home.path().exists(), "nothing is made by looking");
}

#[test]
fn json_tells_the_places_and_how_each_was_found() {
    let answer = redact(&["--json", "--looking", "secrets"], &format!("é {}", token())).ok().json();
    let taken = json!([{"type": "api_key_github", "start": 3, "end": 43, "method": "pattern",
        "confidence": answer["redactions"][0]["confidence"]}]);
    let expected =
        json!({"text": "é [REDACTED_GITHUB_TOKEN]", "blocked": false, "reason": null, "redactions": taken});
    assert_eq!(answer, expected);
    assert!(answer["redactions"][0]["confidence"].as_f64().unwrap() > 0.5);
    let refused = run(bare_command(&["redact", "--json"]), Some(b"\xff")).ends(3);
    assert_eq!(refused.says("HF-CLI-040").says("Nothing was printed.").says("leave `--json` out").out, "");
}

#[test]
fn a_key_at_the_end_keeps_everything_from_being_printed() {
    // Long enough to leave memory, so that what waits has to wait elsewhere.
    let text = format!("{}\n{}", "a plain line of words\n".repeat(500_000), key());
    let ran = redact(&[], &text).ends(1).says("private_key_pem");
    assert_eq!(ran.out, "");
    assert!(!ran.err.contains("MIIE"));
    let answer = redact(&["--json"], &key()).ends(1).json();
    assert_eq!(
        (&answer["text"], &answer["blocked"], &answer["redactions"]),
        (&json!(""), &json!(true), &json!([]))
    );
}

#[test]
fn a_long_text_comes_out_whole() {
    let text = format!("{0}{1}\n{0}", "a plain line of words\n".repeat(500_000), token());
    let out = redact(&["--looking", "secrets"], &text).ok().out;
    assert!(out == text.replace(&token(), "[REDACTED_GITHUB_TOKEN]"), "{} of {}", out.len(), text.len());
}

#[test]
fn a_batch_is_answered_line_by_line_in_order_under_the_ids_that_came() {
    let lines = [
        json!({"id": "a", "text": format!("use {}", token())}),
        json!({"id": 7, "text": "nothing here"}),
        json!({"id": -1.5, "text": key()}),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n\n")).collect();
    let out = redact(&["--batch", "-"], &input).ok().out;
    let answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<(&Value, &Value, &Value)> =
        answers.iter().map(|a| (&a["id"], &a["text"], &a["blocked"])).collect();
    let (no, yes) = (json!(false), json!(true));
    let texts = [json!("use [REDACTED_GITHUB_TOKEN]"), json!("nothing here"), json!("")];
    assert_eq!(
        told,
        [(&json!("a"), &texts[0], &no), (&json!(7), &texts[1], &no), (&json!(-1.5), &texts[2], &yes)]
    );
    assert!(answers[2]["reason"].as_str().unwrap().ends_with("private_key_pem"));
    assert_eq!(answers[1]["reason"], Value::Null);
}

#[test]
fn a_line_that_is_none_is_named_and_what_came_before_is_printed() {
    let input = format!(
        "{{\"id\":1,\"text\":\"a\"}}\n{{\"id\":2,\"text\":\"{}\"\n{{\"id\":3,\"text\":\"c\"}}\n",
        token()
    );
    let ran = redact(&["--batch", "-"], &input).ends(3).says("line 2 of the batch");
    assert_eq!(ran.out.lines().count(), 1);
    assert!(!ran.err.contains(&token()));
}

#[test]
fn a_homes_own_patterns_are_used_and_a_wrong_configuration_is_not_passed_over() {
    let home = Home::made("web-1");
    let configure = |yaml: &str| {
        std::fs::write(home.path().join("etc/config.yaml"), format!("version: 1\n{yaml}")).unwrap()
    };
    configure(
        "guard: { custom_patterns: [{ name: badge, regex: \"AB-[0-9]{4}\", replacement: \"[BADGE]\" }] }\n",
    );
    assert_eq!(home.run_with(&["redact"], b"badge AB-1234").ok().out, "badge [BADGE]");
    configure("guard: { custom_patterns: [{ name: badge, regex: \"[\" }] }\n");
    let ran = home.run_with(&["redact"], b"badge AB-1234").ends(2).says("guard.custom_patterns");
    assert_eq!(ran.out, "");
}
