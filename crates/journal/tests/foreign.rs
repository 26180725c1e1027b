//! Other logs are taken in once, in order, under their own origin, and only when they hold.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::Path;
use std::time::Duration;

use holdfast_journal::{Error, Journal, Limits};
use holdfast_keys::TrustSet;
use holdfast_testkit::House;
use holdfast_testkit::crash::{self, Crash};
use holdfast_testkit::{Seed, files, rounds};

fn tripwire(entries: u64) -> House {
    let mut house = House::named("tripwire");
    house.limits = Limits { checkpoint_every: 1, ..Limits::default() };
    let journal = house.open();
    (0..entries).for_each(|n| assert_eq!(journal.append(&house.note(n)).unwrap().seq, n));
    journal.settle().unwrap();
    drop(journal);
    house
}

fn trust(foreign: &House) -> TrustSet {
    foreign.trust()
}

fn ingest(host: &Journal, foreign: &House) -> holdfast_journal::Result<(u64, u64)> {
    host.ingest(&foreign.journal(), &trust(foreign), &"holdfast".parse().unwrap()).map(|i| (i.from, i.to))
}

fn foreign_seqs(host: &Journal) -> Vec<u64> {
    let entries = host.read(0).map(|e| e.unwrap().parse().unwrap());
    let theirs = entries.filter(|e| e.origin.as_str() == "holdfast/tripwire");
    theirs.map(|e| e.key.unwrap().as_str().rsplit(':').next().unwrap().parse().unwrap()).collect()
}

#[test]
fn a_log_is_taken_in_once_under_its_own_origin_and_time() {
    let (house, foreign) = (House::new(), tripwire(30));
    house.clock.set_wall("2027-01-01T00:00:00.000000Z".parse().unwrap());
    let host = house.open();
    assert_eq!(ingest(&host, &foreign).unwrap(), (0, 30));
    assert_eq!(ingest(&host, &foreign).unwrap(), (30, 30));
    let first = host.entry(0).unwrap().parse().unwrap();
    assert_eq!(
        (first.origin.as_str(), first.at.to_string().as_str()),
        ("holdfast/tripwire", holdfast_testkit::house::NOON)
    );
    drop(host);
    {
        let journal = foreign.open();
        (30..45).for_each(|n| assert_eq!(journal.append(&foreign.note(n)).unwrap().seq, n));
        journal.settle().unwrap();
    }
    let host = house.open();
    assert_eq!(ingest(&host, &foreign).unwrap(), (30, 45));
    assert_eq!(foreign_seqs(&host), (0..45).collect::<Vec<_>>());
    let marks = host
        .read(0)
        .map(|e| e.unwrap().parse().unwrap())
        .filter(|e| e.kind.as_str() == "journal.foreign.ingested");
    assert_eq!(marks.count(), 2);
    drop(host);
    assert!(house.verify().unwrap().is_good());
}

#[test]
fn only_what_a_trusted_checkpoint_covers_is_taken_in() {
    let (house, foreign) = (House::new(), House::named("tripwire"));
    let journal = foreign.open();
    (0..130).for_each(|n| assert_eq!(journal.append(&foreign.note(n)).unwrap().seq, n));
    journal.settle().unwrap();
    let host = house.open();
    assert_eq!(ingest(&host, &foreign).unwrap(), (0, 100));
    let stranger = host.ingest(&foreign.journal(), &house.trust(), &"holdfast".parse().unwrap());
    assert!(matches!(stranger, Err(Error::Foreign(_))));
}

#[test]
fn a_changed_shrunk_or_forked_log_is_refused_and_nothing_of_it_is_taken() {
    let house = House::new();
    let host = house.open();
    let foreign = tripwire(20);
    let shorter = tempfile::tempdir().unwrap();
    files::copy_tree(foreign.path(), shorter.path().join("h"));
    {
        let journal = foreign.open();
        (20..40).for_each(|n| assert_eq!(journal.append(&foreign.note(n)).unwrap().seq, n));
        journal.settle().unwrap();
    }
    ingest(&host, &foreign).unwrap();
    let size = host.size();
    let shrunk = House::attach(&shorter.path().join("h"), "tripwire");
    assert!(matches!(ingest(&host, &shrunk), Err(Error::Foreign(_))));
    let forked = House::named("tripwire");
    {
        let journal = forked.open();
        (0..50).for_each(|n| assert_eq!(journal.append(&forked.note(n + 1000)).unwrap().seq, n));
        journal.checkpoint().unwrap();
    }
    assert!(matches!(ingest(&host, &forked), Err(Error::Foreign(_))));
    files::flip_bit(foreign.segment(0), 60, 1);
    assert!(matches!(ingest(&host, &foreign), Err(Error::Foreign(_) | Error::Damaged(_))));
    assert!(matches!(ingest(&host, &house), Err(Error::Foreign(_))), "its own log");
    assert_eq!(host.size(), size);
}

#[test]
fn ingester() {
    crash::child_main("ingester", |args, report| {
        let (house, foreign) =
            (House::attach(Path::new(&args[0]), "test"), House::attach(Path::new(&args[1]), "tripwire"));
        let host = house.open();
        report.line("open");
        ingest(&host, &foreign).unwrap();
        report.line("done");
    });
}

#[test]
fn a_kill_half_way_loses_and_doubles_nothing() {
    let (house, foreign) = (House::new(), tripwire(3000));
    crash::run_kills(
        Seed::from_env_or(3),
        rounds(12, 60),
        Duration::from_millis(1)..Duration::from_millis(60),
        |_| Crash::new("ingester").arg(house.path().display()).arg(foreign.path().display()),
        |_, _| {},
    );
    let host = house.open();
    ingest(&host, &foreign).unwrap();
    assert_eq!(foreign_seqs(&host), (0..3000).collect::<Vec<_>>());
}

#[test]
fn a_log_cannot_speak_for_another_nor_take_its_places() {
    let (house, tripwire, sandbox) = (House::new(), tripwire(60), House::named("sandbox"));
    let host = house.open();
    // A sandbox that has taken in the tripwire's log: its entries say that they are the tripwire's.
    {
        let journal = sandbox.open();
        (0..100).for_each(|n| assert_eq!(journal.append(&sandbox.note(n)).unwrap().seq, n));
        ingest(&journal, &tripwire).unwrap();
        journal.checkpoint().unwrap();
    }
    ingest(&host, &sandbox).unwrap();
    assert!(foreign_seqs(&host).is_empty(), "they came from the sandbox, whatever they say");
    assert_eq!(ingest(&host, &tripwire).unwrap(), (0, 60));
    assert_eq!(foreign_seqs(&host), (0..60).collect::<Vec<_>>());
}

#[test]
fn an_entry_too_long_to_copy_is_named_and_holds_up_nothing() {
    let (house, foreign) = (House::new(), House::named("tripwire"));
    {
        let journal = foreign.open();
        let long = [("t".to_owned(), serde_json::Value::from("x".repeat(65_280)))].into_iter().collect();
        let long =
            holdfast_journal::Draft { content: holdfast_journal::Content::Body(long), ..foreign.note(0) };
        for n in 0..20 {
            journal.append(&if n == 7 { long.clone() } else { foreign.note(n) }).unwrap();
        }
        journal.checkpoint().unwrap();
    }
    let host = house.open();
    assert_eq!(ingest(&host, &foreign).unwrap(), (0, 20));
    assert_eq!(foreign_seqs(&host), (0..20).collect::<Vec<_>>());
    let line = String::from_utf8(host.entry(7).unwrap().line).unwrap();
    assert!(line.contains("too_long_to_copy"), "{}", &line[..300]);
}
