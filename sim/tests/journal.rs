//! The steward's records in a real journal, behind the real screen: what is read back is what was decided.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use holdfast_lifeline::Sound;
use holdfast_sim::{Plan, World};
use holdfast_steward::event::{Event, Record};
use holdfast_steward_host::{JournalLog, Log, story};
use holdfast_testkit::House;

fn log(house: &House) -> JournalLog {
    JournalLog::new(house.open(), "box-1".parse().unwrap(), "holdfast-steward".parse().unwrap())
}

/// Records of worlds with every kind of trouble, until each kind of record was seen or there are enough.
fn records() -> Vec<Vec<Record>> {
    (0..40).map(|seed| World::new(Plan::draw(seed), Sound::YES, false).run().logs.remove(0)).collect()
}

#[test]
fn the_journal_gives_back_what_was_decided_and_the_screen_changes_nothing() {
    let mut kinds = std::collections::BTreeSet::new();
    for (seed, records) in records().into_iter().enumerate().take(12) {
        let house = House::new();
        let mut written = log(&house);
        for step in records.chunks(3) {
            written.append(step).unwrap();
        }
        drop(written);
        let read = log(&house).read().unwrap();
        assert_eq!(read.len(), records.len(), "seed {seed}");
        for (read, wrote) in read.iter().zip(&records) {
            kinds.insert(wrote.event.kind().name);
            // The wall clock of a record is the journal's: it informs, and nothing is decided by it.
            assert_eq!(
                (&read.event, read.at, read.synced),
                (&wrote.event, wrote.at, wrote.synced),
                "seed {seed}"
            );
        }
        let tell = |records: &[Record]| {
            let episode = records.iter().find_map(|record| match &record.event {
                Event::Opened { episode } => Some(episode.id.clone()),
                _ => None,
            });
            episode.map(|episode| {
                story::tell(records, &episode).into_iter().map(|line| line.what).collect::<Vec<_>>()
            })
        };
        assert_eq!(tell(&read), tell(&records), "seed {seed}: the journal alone tells the story");
    }
    assert!(kinds.len() >= 11, "{kinds:?}");
}

// shows: STW-369
#[test]
fn records_of_another_target_are_passed_over() {
    let house = House::new();
    let records = records().remove(0);
    let journal = house.open();
    let actor: holdfast_types::Actor = "holdfast-steward".parse().unwrap();
    let mut other = JournalLog::new(journal, "box-2".parse().unwrap(), actor);
    other.append(&records).unwrap();
    drop(other);
    assert_eq!(log(&house).read().unwrap(), []);
}
