//! A journal with many entries, written by the room itself: a process per entry would take minutes.

use std::path::PathBuf;
use std::sync::Arc;

use holdfast_journal::{Draft, Journal, Limits, Options, SystemClock};
use holdfast_keys::{Role, file};
use holdfast_testkit::block_on;
use holdfast_types::Trust;
use serde_json::json;

use crate::home::Home;

/// Appends so many entries with that many bytes of text each, in segments of a megabyte.
pub fn fill(home: &Home, entries: u64, text_len: usize) {
    let journal = Journal::open(Options {
        dir: home.journal(),
        signers: vec![file::read_key(&home.path().join("etc/keys/log.key"), Role::Log).unwrap().key],
        screen: Arc::new(holdfast_screen::GuardScreen::builtin()),
        clock: Arc::new(SystemClock::new()),
        vault: None,
        archive: None,
        limits: Limits { segment_bytes: 1 << 20, ..Limits::default() },
    })
    .unwrap();
    let text = "the tide comes in and goes out again, ".repeat(text_len / 38 + 1);
    let draft = |n: u64| {
        let serde_json::Value::Object(body) = json!({"n": n, "text": &text[..text_len]}) else {
            unreachable!()
        };
        Draft::new("captain.note.added".parse().unwrap(), "ana".parse().unwrap(), Trust::Trusted, body)
    };
    let waiting: Vec<_> = (0..entries).map(|n| journal.submit(&draft(n)).unwrap()).collect();
    for entry in waiting {
        block_on(entry).unwrap();
    }
    // From here on a start looks at what comes after this.
    journal.checkpoint().unwrap();
}

/// A segment with entries that every start takes as read.
pub fn old_segment(home: &Home) -> PathBuf {
    let files = std::fs::read_dir(home.journal()).unwrap().flatten().map(|entry| entry.path());
    let mut segments: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .filter(|path| path.metadata().unwrap().len() > 100_000)
        .collect();
    segments.sort();
    segments.swap_remove(0)
}
