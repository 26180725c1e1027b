//! The pages that are made from the program are the committed ones. Regenerate them with
//! `UPDATE=1 cargo nextest run -p holdfast pages`.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod home;

use std::path::Path;

use home::{bare_command, run};

fn check(page: &str, file: &str) {
    let made = run(bare_command(&["docs", page]), None).ok().out;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file);
    if std::env::var_os("UPDATE").is_some_and(|v| v == "1") {
        holdfast_durable::replace(&path, made.as_bytes(), holdfast_durable::Mode::Readable).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        made == committed,
        "docs/{file} is not what the program says; run with UPDATE=1 and read the change"
    );
}

#[test]
fn the_pages_are_what_the_program_says() {
    check("cli", "cli.md");
    check("exit-codes", "exit-codes.md");
    check("errors", "errors.md");
    check("events", "formats/events.md");
    check("configuration", "configuration.md");
    check("schema", "config.schema.json");
    check("api", "api.md");
}

#[test]
fn completions_are_made_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        run(bare_command(&["completions", shell]), None).ok().shows("holdfast");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let dir = tempfile::tempdir().unwrap();
    run(bare_command(&["man", dir.path().to_str().unwrap()]), None).ok();
    for page in
        ["holdfast", "holdfast-up", "holdfast-doctor", "holdfast-audit-verify", "holdfast-config-show"]
    {
        let text = std::fs::read_to_string(dir.path().join(format!("{page}.1"))).unwrap();
        assert!(text.contains(".TH "), "{page}");
    }
}
