//! A journal with many entries, written by the room itself: a process per entry would take minutes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use holdfast_journal::{Draft, Error, Journal, Limits, Options, Space, SystemClock};
use holdfast_keys::{Role, file};
use holdfast_testkit::block_on;
use holdfast_types::Trust;
use serde_json::json;

use crate::home::Home;

/// Appends so many entries with that many bytes of text each, in segments of a megabyte.
pub fn fill(home: &Home, entries: u64, text_len: usize) {
    let journal = open(home, Limits { segment_bytes: 1 << 20, ..Limits::default() });
    let waiting: Vec<_> =
        (0..entries).map(|n| journal.submit(&draft(n, text_len, Space::Ordinary)).unwrap()).collect();
    for entry in waiting {
        block_on(entry).unwrap();
    }
    // From here on a start looks at what comes after this.
    journal.checkpoint().unwrap();
}

/// Appends until not even the smallest entry fits that may use this space.
pub fn fill_up(home: &Home, limits: Limits, space: Space) {
    let journal = open(home, limits);
    for text_len in [4_000, 400, 0] {
        while journal.append(&draft(0, text_len, space)).is_ok() {}
    }
}

/// A program that another test starts this moment may still hold what was just closed here.
fn open(home: &Home, limits: Limits) -> Journal {
    for _ in 0..200 {
        match try_open(home, limits.clone()) {
            Err(Error::Busy { .. }) => std::thread::sleep(Duration::from_millis(50)),
            opened => return opened.unwrap(),
        }
    }
    panic!("the journal stays busy");
}

fn try_open(home: &Home, limits: Limits) -> holdfast_journal::Result<Journal> {
    Journal::open(Options {
        dir: home.journal(),
        signers: vec![file::read_key(&home.path().join("etc/keys/log.key"), Role::Log).unwrap().key],
        screen: Arc::new(holdfast_screen::GuardScreen::builtin()),
        clock: Arc::new(SystemClock::new()),
        vault: None,
        archive: None,
        limits,
    })
}

fn draft(n: u64, text_len: usize, space: Space) -> Draft {
    let text: String = "the tide comes in and goes out again, ".chars().cycle().take(text_len).collect();
    let serde_json::Value::Object(body) = json!({"n": n, "text": text}) else { unreachable!() };
    let draft =
        Draft::new("captain.note.added".parse().unwrap(), "ana".parse().unwrap(), Trust::Trusted, body);
    match space {
        Space::Ordinary => draft,
        Space::Reserved => draft.reserved(),
    }
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
