//! The room that is kept for what must be recorded: below the cap, on a full disk, and when no next segment can be made.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::time::Duration;

use holdfast_journal::{Error, Journal, Limits};
use holdfast_testkit::{House, SmallDisk, require};

/// Appends ordinary entries until one is refused.
fn fill(house: &House, journal: &Journal) -> Error {
    loop {
        if let Err(e) = journal.append(&house.note(0)) {
            return e;
        }
    }
}

/// How many reserved entries are taken, up to `most`.
fn acts(house: &House, journal: &Journal, most: u64) -> u64 {
    (0..most).take_while(|n| journal.append(&house.note(*n).reserved()).is_ok()).count() as u64
}

fn capped() -> House {
    let mut house = House::new();
    house.limits = Limits {
        segment_bytes: 64 * 1024,
        keep_segments: 1,
        warn_bytes: 512 * 1024,
        cap_bytes: 2 * 1024 * 1024,
        ..Limits::default()
    };
    house
}

#[test]
fn ordinary_entries_leave_the_reserve_below_the_cap_to_what_people_do() {
    let house = capped();
    let journal = house.open();
    let refused = fill(&house, &journal);
    let stop = house.limits.cap_bytes - house.limits.reserve_bytes();
    assert!(matches!(refused, Error::CapReached { cap, .. } if cap == stop), "{refused}");
    assert_eq!(house.limits.reserve_bytes(), 128 * 1024);
    let warnings = journal.status().warnings;
    assert!(warnings[0].contains("takes only what people do"), "{warnings:?}");
    // A batch of both: each is judged for itself.
    let mixed = journal.append_many(&[house.note(1), house.note(2).reserved(), house.note(3)]).unwrap();
    assert_eq!(mixed.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, true, false]);
    let taken = acts(&house, &journal, 10_000);
    assert!(taken > 300, "only {taken}");
    let full = journal.append(&house.note(0).reserved()).unwrap_err();
    assert!(matches!(full, Error::CapReached { cap, .. } if cap == house.limits.cap_bytes), "{full}");
    assert!(journal.status().bytes <= house.limits.cap_bytes);
    assert!(matches!(fill(&house, &journal), Error::CapReached { .. }));
    let size = journal.size();
    drop(journal);
    let verification = house.verify().unwrap();
    assert!(verification.is_good() && verification.size == size, "{:?}", verification.findings);
}

#[test]
fn a_full_disk_still_takes_what_people_do_also_when_the_segment_is_old() {
    let Some(disk) = require(SmallDisk::tmpfs(3 * 1024 * 1024)) else { return };
    let house = House::attach(disk.path(), "full");
    house.create();
    let journal = house.open();
    journal.append(&house.note(0)).unwrap();
    let filler = disk.path().join("filler");
    let mut other = std::fs::File::create(&filler).unwrap();
    while std::io::Write::write(&mut other, &[1; 4096]).is_ok_and(|written| written > 0) {}
    drop(other);
    assert!(matches!(fill(&house, &journal), Error::DiskFull { .. }));
    assert_eq!(acts(&house, &journal, 50), 50);
    // The segment is over its age, and there is no room for the next: it goes on, and says so.
    house.clock.advance(Duration::from_secs(2 * 3600));
    assert_eq!(acts(&house, &journal, 100), 100);
    let warnings = journal.status().warnings.join("; ");
    assert!(warnings.contains("the next segment cannot be made"), "{warnings}");
    let mixed = journal.append_many(&[house.note(1), house.note(2).reserved()]).unwrap();
    assert_eq!(mixed.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, true]);
    assert!(matches!(journal.append(&house.note(0)), Err(Error::DiskFull { .. })));
    let size = journal.size();
    drop(journal);
    assert_eq!(house.open().size(), size, "all of it is there after a restart");
    std::fs::remove_file(&filler).unwrap();
    let journal = house.open();
    journal.append(&house.note(0)).unwrap();
    journal.settle().unwrap();
    assert!(!journal.status().warnings.iter().any(|text| text.contains("next segment")));
    drop(journal);
    let verification = house.verify().unwrap();
    assert!(verification.is_good() && verification.size == size + 1, "{:?}", verification.findings);
}

#[test]
fn where_the_next_segment_gets_no_name_the_present_one_keeps_its_reserve() {
    let Some(disk) = require(SmallDisk::tmpfs(3 * 1024 * 1024)) else { return };
    let house = House::attach(disk.path(), "full");
    house.create();
    let journal = house.open();
    journal.append(&house.note(0)).unwrap();
    // Its file can be made, and its name is taken.
    let next = house.segment(journal.size());
    std::fs::create_dir(&next).unwrap();
    journal.rotate().unwrap_err();
    let filler = disk.path().join("filler");
    let mut other = std::fs::File::create(&filler).unwrap();
    while std::io::Write::write(&mut other, &[1; 4096]).is_ok_and(|written| written > 0) {}
    drop(other);
    assert_eq!(acts(&house, &journal, 150), 150, "what people do is still recorded");
    std::fs::remove_file(&filler).unwrap();
    std::fs::remove_dir(&next).unwrap();
    drop(journal);
    let journal = house.open();
    journal.rotate().unwrap();
    journal.append(&house.note(0)).unwrap();
    journal.settle().unwrap();
    let size = journal.size();
    drop(journal);
    let verification = house.verify().unwrap();
    assert!(verification.is_good() && verification.size == size, "{:?}", verification.findings);
}

#[test]
fn a_crash_before_the_old_segment_was_cut_to_its_length_costs_nothing() {
    let house = House::new();
    let journal = house.open();
    (0..5).for_each(|n| assert_eq!(journal.append(&house.note(n)).unwrap().seq, n));
    let filled = std::fs::read(house.segment(0)).unwrap();
    drop(journal);
    // As it is between the two: the next one has its name, and the old one is as it was.
    std::fs::write(house.segment(0), &filled).unwrap();
    std::fs::write(house.segment(5), vec![b'\n'; 4096]).unwrap();
    assert!(filled.ends_with(b"\n\n"), "it has space filled ahead");
    let journal = house.open();
    assert_eq!(journal.size(), 5);
    (5..9).for_each(|n| assert_eq!(journal.append(&house.note(n)).unwrap().seq, n));
    journal.rotate().unwrap();
    journal.append(&house.note(9)).unwrap();
    journal.settle().unwrap();
    assert_eq!(journal.read(0).filter(Result::is_ok).count(), 10);
    drop(journal);
    assert_eq!(house.open().size(), 10);
    let verification = house.verify().unwrap();
    assert!(verification.is_good() && verification.size == 10, "{:?}", verification.findings);
}
