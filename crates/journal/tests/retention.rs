//! Segments leave only when they are proved to be elsewhere; without an archive the cap holds.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use holdfast_journal::{Archive, DirArchive, Error, Limits};
use holdfast_testkit::House;
use holdfast_testkit::house::long;

fn small() -> Limits {
    Limits {
        segment_bytes: 8 * 1024,
        keep_segments: 3,
        warn_bytes: 256 * 1024,
        cap_bytes: 512 * 1024,
        ..Limits::default()
    }
}

fn here(house: &House) -> usize {
    let names =
        std::fs::read_dir(house.journal()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    names.filter(|n| n.ends_with(".jsonl") && n.starts_with("0000")).count()
}

fn fill(house: &House, journal: &holdfast_journal::Journal, n: u64) {
    for n in 0..n {
        let draft = match n % 40 {
            0 => house.long_blob("kept or forgotten"),
            20 => house.blob("kept or forgotten"),
            _ => house.note(n),
        };
        journal.append(&draft).unwrap();
    }
    journal.settle().unwrap();
}

// shows: MEM-050, MEM-F15, HRD-054
#[test]
fn archived_segments_leave_and_everything_can_still_be_read_proved_and_verified() {
    let archive = tempfile::tempdir().unwrap();
    let mut house = House::new();
    house.limits = small();
    house.archive = Some(Arc::new(DirArchive::new(archive.path()).unwrap()));
    let journal = house.open();
    fill(&house, &journal, 400);
    assert_eq!(here(&house), 3);
    assert_eq!(journal.read(0).map(|e| e.unwrap().seq).collect::<Vec<_>>(), (0..400).collect::<Vec<_>>());
    assert_eq!(journal.text(20).unwrap(), b"kept or forgotten");
    assert_eq!(journal.text(0).unwrap(), long("kept or forgotten").into_bytes());
    let size = journal.checkpoint().unwrap().checkpoint.size;
    journal.prove_inclusion(0, size).unwrap();
    drop(journal);
    let journal = house.open();
    assert_eq!(journal.size(), 400);
    drop(journal);
    let verification = house.verify().unwrap();
    assert!(verification.is_good(), "{:?}", verification.findings);
    assert!(verification.first > 0);
    // What stays here of a segment that has left is checked, too.
    for (name, offset) in
        [(format!("{:020}.checkpoints", 0), 30), ("tree/00".to_owned(), 50), ("seals.jsonl".to_owned(), 30)]
    {
        let file = house.journal().join(&name);
        holdfast_testkit::files::flip_bit(&file, offset, 0);
        assert!(!house.verify().unwrap().is_good(), "{name}");
        holdfast_testkit::files::flip_bit(&file, offset, 0);
    }
    assert!(house.verify().unwrap().is_good());
}

#[test]
fn a_departure_that_a_crash_interrupted_is_finished_at_the_next_opening() {
    let archive = tempfile::tempdir().unwrap();
    let mut house = House::new();
    house.limits = small();
    house.archive = Some(Arc::new(DirArchive::new(archive.path()).unwrap()));
    let journal = house.open();
    fill(&house, &journal, 200);
    drop(journal);
    // As if the files had not been removed yet when the power went.
    let name = format!("{:020}.jsonl", 0);
    std::fs::copy(archive.path().join(&name), house.journal().join(&name)).unwrap();
    let journal = house.open();
    assert!(!house.journal().join(&name).exists());
    assert_eq!(journal.read(0).filter(Result::is_ok).count(), 200);
    drop(journal);
    assert!(house.verify().unwrap().is_good());
}

#[test]
fn without_the_archive_what_has_left_is_named_as_gone() {
    let archive = tempfile::tempdir().unwrap();
    let mut house = House::new();
    house.limits = small();
    house.archive = Some(Arc::new(DirArchive::new(archive.path()).unwrap()));
    let journal = house.open();
    fill(&house, &journal, 400);
    drop(journal);
    house.archive = None;
    let journal = house.open();
    assert!(matches!(journal.entry(0), Err(Error::Gone { seq: 0, .. })));
    assert!(journal.entry(399).is_ok());
}

/// An archive that can be told to fail or to lie.
#[derive(Debug)]
struct Shaky {
    inner: DirArchive,
    mood: AtomicU8,
}

const HONEST: u8 = 0;
const AWAY: u8 = 1;
const LYING: u8 = 2;

impl Archive for Shaky {
    fn store(&self, name: &str, from: &Path) -> io::Result<()> {
        match self.mood.load(Ordering::SeqCst) {
            AWAY => Err(io::Error::new(io::ErrorKind::TimedOut, "the archive is out of reach")),
            _ => self.inner.store(name, from),
        }
    }

    fn fetch(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut bytes = self.inner.fetch(name)?;
        if self.mood.load(Ordering::SeqCst) == LYING {
            bytes[100] ^= 1;
        }
        Ok(bytes)
    }
}

// shows: MEM-050, MEM-051
#[test]
fn an_archive_that_fails_or_lies_keeps_everything_here_and_writing_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let shaky = Arc::new(Shaky { inner: DirArchive::new(dir.path()).unwrap(), mood: AtomicU8::new(LYING) });
    let mut house = House::new();
    house.limits = small();
    house.archive = Some(shaky.clone());
    let journal = house.open();
    for mood in [LYING, AWAY] {
        shaky.mood.store(mood, Ordering::SeqCst);
        let before = here(&house);
        fill(&house, &journal, 100);
        assert!(here(&house) > before, "nothing may leave");
        assert!(
            journal.status().warnings.iter().any(|w| w.contains("archive")),
            "{:?}",
            journal.status().warnings
        );
    }
    shaky.mood.store(HONEST, Ordering::SeqCst);
    fill(&house, &journal, 100);
    assert_eq!(here(&house), 3);
    assert!(journal.status().warnings.is_empty());
    drop(journal);
    assert!(house.verify().unwrap().is_good());
}

// shows: MEM-F16, MEM-126
#[test]
fn without_an_archive_it_warns_well_before_the_cap_and_then_takes_nothing_more() {
    let mut house = House::new();
    house.limits = small();
    let journal = house.open();
    let mut warned_at = None;
    let mut n = 0;
    let refused = loop {
        if warned_at.is_none() && !journal.status().warnings.is_empty() {
            warned_at = Some(journal.status().bytes);
        }
        match journal.append(&house.note(n)) {
            Ok(_) => n += 1,
            Err(e) => break e,
        }
    };
    assert!(matches!(refused, Error::CapReached { .. }), "{refused}");
    assert!(warned_at.unwrap() < house.limits.cap_bytes * 6 / 10);
    assert!(journal.status().bytes <= house.limits.cap_bytes);
    assert_eq!(journal.size(), n);
    assert_eq!(journal.read(0).filter(Result::is_ok).count() as u64, n, "nothing was dropped");
    drop(journal);
    // With a higher cap it goes on.
    house.limits.cap_bytes *= 2;
    assert_eq!(house.open().append(&house.note(n)).unwrap().seq, n);
}
