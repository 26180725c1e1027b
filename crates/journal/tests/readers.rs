//! Readers of every speed see the same gapless sequence, through rotation, retention and restart.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdfast_journal::{Delivery, DirArchive, Error, Journal, Limits};
use holdfast_testkit::House;
use holdfast_testkit::{Seed, rounds};

const READERS: u64 = 50;

/// Hands the journal that is open now to whoever asks; none while it is being restarted.
struct Stage {
    journal: Mutex<Option<Journal>>,
}

impl Stage {
    fn current(&self) -> Journal {
        loop {
            if let Some(journal) = self.journal.lock().unwrap().clone() {
                return journal;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn fifty_readers_of_different_speed_see_the_same_gapless_sequence() {
    let archive_dir = tempfile::tempdir().unwrap();
    let mut house = House::new();
    house.archive = Some(Arc::new(DirArchive::new(archive_dir.path()).unwrap()));
    house.limits = Limits { segment_bytes: 16 * 1024, keep_segments: 2, ..Limits::default() };
    let house = house;
    let total = u64::from(rounds(3_000, 30_000));
    let stage = Stage { journal: Mutex::new(Some(house.open())) };
    let written = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    let seen: Vec<Vec<u64>> = std::thread::scope(|s| {
        let stage = &stage;
        let readers: Vec<_> = (0..READERS).map(|r| s.spawn(move || read_all(stage, total, r))).collect();
        s.spawn(|| write_all(stage, &house, total, &written));
        s.spawn(|| restart_now_and_then(stage, &house, total, &written, &done));
        let seen = readers.into_iter().map(|r| r.join().unwrap()).collect();
        done.store(true, Ordering::SeqCst);
        seen
    });
    for (reader, seqs) in seen.iter().enumerate() {
        assert_eq!(seqs.len() as u64, total, "reader {reader}");
        assert!(seqs.iter().enumerate().all(|(i, seq)| i as u64 == *seq), "reader {reader}");
    }
    let journal = stage.current();
    journal.settle().unwrap();
    assert!(journal.status().warnings.is_empty(), "{:?}", journal.status().warnings);
    drop(journal);
    *stage.journal.lock().unwrap() = None;
    // Most of the log has left for the archive meanwhile.
    let here = std::fs::read_dir(house.journal()).unwrap().filter(|e| {
        let name = e.as_ref().unwrap().file_name().into_string().unwrap();
        name.ends_with(".jsonl") && name.starts_with("0000")
    });
    assert!(here.count() <= 3);
    assert!(house.verify().unwrap().is_good());
}

fn write_all(stage: &Stage, house: &House, total: u64, written: &AtomicU64) {
    let mut n = 0;
    while n < total {
        let batch: Vec<_> = (n..total.min(n + 7)).map(|n| house.note(n)).collect();
        let appended = stage.current().append_many(&batch).unwrap();
        assert!(appended.iter().all(Result::is_ok));
        n += batch.len() as u64;
        written.store(n, Ordering::SeqCst);
    }
}

fn restart_now_and_then(stage: &Stage, house: &House, total: u64, written: &AtomicU64, done: &AtomicBool) {
    let mut next = total / 5;
    while !done.load(Ordering::SeqCst) {
        if written.load(Ordering::SeqCst) >= next && next < total {
            next += total / 5;
            let old = stage.journal.lock().unwrap().take();
            drop(old);
            // Others may still hold a handle for a moment; opening waits for the lock like a starting service.
            let journal = loop {
                match house.try_open() {
                    Ok(journal) => break journal,
                    Err(Error::Busy { .. }) => std::thread::sleep(Duration::from_millis(1)),
                    Err(e) => panic!("{e}"),
                }
            };
            *stage.journal.lock().unwrap() = Some(journal);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Reads until all is seen; slower the higher its number, and it lets go of the journal between two reads.
fn read_all(stage: &Stage, total: u64, reader: u64) -> Vec<u64> {
    let mut rng = Seed::from_env_or(5).child(&format!("reader {reader}")).rng();
    let mut seqs = Vec::new();
    let mut position = 0;
    while position < total {
        let journal = stage.current();
        let mut subscription = journal.subscribe(position);
        drop(journal);
        for _ in 0..1 + rng.below(200) {
            match subscription.next(Duration::from_millis(50)).unwrap() {
                Delivery::Entry(entry) => seqs.push(entry.seq),
                Delivery::Quiet => {}
                Delivery::Closed => break,
            }
            if reader > 0 && rng.below(total / reader + 1) == 0 {
                std::thread::sleep(Duration::from_millis(rng.below(10)));
            }
        }
        position = subscription.position();
    }
    seqs
}

#[test]
fn a_reader_sees_an_entry_only_when_it_is_durable_and_wakes_for_it() {
    let house = House::new();
    let journal = house.open();
    let mut subscription = journal.subscribe(0);
    assert_eq!(subscription.next(Duration::ZERO).unwrap(), Delivery::Quiet);
    // To and fro: the reader is back at waiting before the next entry is written. A wake-up that got lost would
    // show as a test that does not end.
    let (seen, sees) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        while let Delivery::Entry(entry) = subscription.next(Duration::from_secs(3600)).unwrap() {
            seen.send(entry.seq).unwrap();
        }
    });
    for n in 0..200 {
        journal.append(&house.note(n)).unwrap();
        assert_eq!(sees.recv().unwrap(), n);
    }
    let mut subscription = journal.subscribe(200);
    drop(journal);
    assert_eq!(subscription.next(Duration::from_secs(3600)).unwrap(), Delivery::Closed);
    reader.join().unwrap();
}

#[test]
fn a_reader_from_another_place_may_follow_without_the_lock() {
    let house = House::new();
    let journal = house.open();
    let view = holdfast_journal::View::open(&house.journal(), None).unwrap();
    let mut entries = view.entries(0);
    for n in 0..500 {
        assert!(entries.next_raw().unwrap().is_none());
        journal.append(&house.note(n)).unwrap();
        assert_eq!(entries.next_raw().unwrap().unwrap().seq, n);
        if n % 100 == 50 {
            journal.rotate().unwrap();
        }
    }
    assert!(view.is_being_written());
    drop(journal);
    assert!(!view.is_being_written());
}
