//! Real processes, killed at random moments; and everything else that cuts a writer short.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use holdfast_journal::{Content, Draft, Finding, Journal, Limits, Stored};
use holdfast_testkit::House;
use holdfast_testkit::crash::{self, Crash};
use holdfast_testkit::{Seed, rounds};

const APPENDERS: u64 = 32;

/// Small segments and frequent checkpoints, so that kills meet rotations, seals and signatures too.
fn busy(root: &Path) -> House {
    let mut house = House::attach(root, "crash");
    house.limits = Limits { segment_bytes: 64 * 1024, ..Limits::default() };
    house
}

/// The child: 32 threads append as fast as they can and tell the parent what was acknowledged.
#[test]
fn writer() {
    crash::child_main("writer", |args, report| {
        let house = busy(Path::new(&args[0]));
        let journal = house.open();
        std::thread::scope(|s| {
            for thread in 0..APPENDERS {
                let (journal, report, house, round) = (&journal, report.clone(), &house, &args[1]);
                s.spawn(move || {
                    for n in 0u64.. {
                        let id = format!("{round}-{thread}-{n}");
                        // Half of them do not block, as tasks of a runtime would not.
                        let draft = draft(house, thread, &id);
                        let appended = if thread % 2 == 0 {
                            journal.append(&draft)
                        } else {
                            holdfast_testkit::block_on(journal.submit(&draft).unwrap())
                        };
                        let seq = appended.unwrap().seq;
                        report.line(format!("{seq} {id}"));
                    }
                });
            }
        });
    });
}

fn draft(house: &House, thread: u64, id: &str) -> Draft {
    if thread == 0 {
        // Some in the line, some in the pack.
        let is_long = id.ends_with(['0', '5']);
        return if is_long { house.long_blob(id) } else { house.blob(id) };
    }
    let body =
        [("id".to_owned(), id.into()), ("pad".to_owned(), "x".repeat(200).into())].into_iter().collect();
    Draft { content: Content::Body(body), ..house.note(0) }
}

// shows: MEM-F05
#[test]
fn every_acknowledged_entry_survives_a_kill_once() {
    let mut root = tempfile::tempdir().unwrap();
    busy(root.path()).create();
    let mut acknowledged: HashMap<u64, String> = HashMap::new();
    let root_path = root.path().to_owned();
    let place = std::cell::RefCell::new(root_path);
    crash::run_kills(
        Seed::from_env_or(2),
        rounds(100, 500),
        Duration::from_millis(1)..Duration::from_millis(120),
        |round| Crash::new("writer").arg(place.borrow().display()).arg(round),
        |round, remains| {
            for line in &remains.lines {
                let (seq, id) = line.split_once(' ').unwrap();
                assert!(
                    acknowledged.insert(seq.parse().unwrap(), id.to_owned()).is_none(),
                    "seq {seq} was given out twice"
                );
            }
            check(&busy(&place.borrow()), &acknowledged);
            // Begin afresh now and then: the log grows, and checking it all each time is what takes long.
            if round % 10 == 9 {
                root = tempfile::tempdir().unwrap();
                *place.borrow_mut() = root.path().to_owned();
                busy(root.path()).create();
                acknowledged.clear();
            }
        },
    );
}

fn check(house: &House, acknowledged: &HashMap<u64, String>) {
    // Before anybody mends anything: a torn end may be there, damage may not.
    let found = house.verify().unwrap();
    assert!(found.findings.iter().all(|f| matches!(f, Finding::Torn(_))), "{:?}", found.findings);
    let journal = house.open();
    let mut seen = HashSet::new();
    for raw in journal.read(0) {
        let entry = raw.unwrap().parse().unwrap();
        let id = match id_of(&journal, &entry) {
            Some(id) => id,
            None => continue,
        };
        assert!(seen.insert(id.clone()), "{id} is there twice");
        if let Some(acked) = acknowledged.get(&entry.seq) {
            assert_eq!(*acked, id);
        }
    }
    for id in acknowledged.values() {
        assert!(seen.contains(id), "{id} was acknowledged and is gone");
    }
    drop(journal);
    let found = house.verify().unwrap();
    assert!(found.is_good(), "{:?}", found.findings);
    assert!(found.checkpointed <= found.size);
}

fn id_of(journal: &Journal, entry: &holdfast_journal::Entry) -> Option<String> {
    match &entry.content {
        Stored::Body(body) => body.get("id").map(|id| id.as_str().unwrap().to_owned()),
        Stored::Blob(_) => {
            let text = String::from_utf8(journal.text(entry.seq).unwrap()).unwrap();
            text.lines().next().map(str::to_owned)
        }
    }
}
