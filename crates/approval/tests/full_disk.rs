//! People decide while the disk is full and the tables stay behind: the journal says what the tables lack.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod desk;

use desk::{Desk, action, steward};
use holdfast_approval::{Error, NewAsk, Refusal, State, Word};
use holdfast_testkit::{SmallDisk, require};

#[test]
fn with_tables_that_cannot_be_written_a_verdict_counts_once_and_nothing_begins() {
    let Some(disk) = require(SmallDisk::tmpfs(4 << 20)) else { return };
    let mut desk = Desk::new();
    desk.close();
    let journal = desk.house.open();
    let index = disk.path().join("index.db");
    let inbox = desk.further(&journal, index.to_str().unwrap());
    let ask = |n: u64| inbox.ask(NewAsk::new(action(n), steward(), "Raise swap by 512 MiB."), desk.now());
    let [one, two, three] = [1, 2, 3].map(|n| ask(n).unwrap().life);
    let ballast = disk.path().join("ballast");
    let mut file = std::fs::File::create(&ballast).unwrap();
    while std::io::Write::write(&mut file, &[1; 4096]).is_ok_and(|written| written > 0) {}
    drop(file);
    let full = (0..2_000).find_map(|_| {
        desk.house.clock.advance(std::time::Duration::from_millis(1));
        journal.append(&desk.house.note(1)).unwrap();
        inbox.list(true).err()
    });
    let is_full = |e: &Error| matches!(e, Error::Store(holdfast_store::Error::DiskFull { .. }));
    assert!(full.as_ref().is_some_and(is_full), "the tables cannot be written: {full:?}");

    let give = |life, word| {
        let document = desk.signed(&desk.verdict(life, word));
        inbox.give(&document, &desk.trust, &"uid:1000".parse().unwrap(), desk.now())
    };
    let taken = give(&one, Word::Approve).unwrap();
    assert!(!taken.repeated && taken.seq + 1 == journal.size());
    assert_eq!(inbox.look_at_ask(one.ask.id).unwrap().state(), State::Approved);
    // What only the journal has is known to the next one.
    let again = give(&one, Word::Approve).unwrap();
    assert!(again.repeated && again.seq == taken.seq);
    let other = give(&one, Word::Reject).unwrap_err();
    assert!(matches!(other, Error::Refused(Refusal::AlreadyDecided { .. })), "{other:?}");
    assert!(!give(&two, Word::Reject).unwrap().repeated);
    inbox.withdraw(three.ask.id, &steward(), None).unwrap();
    let open: Vec<_> = inbox.look_at_list(false).unwrap().iter().map(|life| life.ask.id).collect();
    assert_eq!(open, [one.ask.id]);
    let all: Vec<_> = inbox.look_at_list(true).unwrap().iter().map(|life| life.state()).collect();
    assert_eq!(all, [State::Withdrawn, State::Rejected, State::Approved], "the newest first");
    // Asking and using begin something, and wait.
    assert!(is_full(&ask(4).unwrap_err()));
    let redeem = || inbox.redeem(one.ask.id, &action(1), &steward(), &desk.trust, desk.now());
    assert!(is_full(&redeem().unwrap_err()));

    std::fs::remove_file(&ballast).unwrap();
    let states: Vec<_> = inbox.list(true).unwrap().iter().map(|life| life.state()).collect();
    assert_eq!(states, all, "the tables say the same when they have caught up");
    let _used = redeem().unwrap();
    assert!(matches!(redeem().unwrap_err(), Error::Refused(Refusal::SecondUse { .. })));
}
