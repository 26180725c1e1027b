//! The journal as a caller sees it: append, read back, rotate, reopen, prove, forget.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::time::Duration;

use holdfast_journal::{Draft, Error, Journal, Limits, Options};
use holdfast_testkit::House;

#[test]
fn what_is_appended_is_read_back_in_order_also_after_reopening() {
    let house = House::new();
    {
        let journal = house.open();
        for n in 0..250u64 {
            assert_eq!(journal.append(&house.note(n)).unwrap().seq, n);
        }
        assert_eq!(journal.read(0).count(), 250);
    }
    let journal = house.open();
    assert_eq!(journal.size(), 250);
    let seqs: Vec<u64> = journal.read(17).map(|e| e.unwrap().parse().unwrap().seq).collect();
    assert_eq!(seqs, (17..250).collect::<Vec<_>>());
    assert!(house.verify().unwrap().is_good());
}

// shows: CHR-141
#[test]
fn concurrent_appends_each_get_their_own_place_without_reading_again() {
    let house = House::new();
    let journal = house.open();
    let mut seqs: Vec<u64> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..16)
            .map(|_| {
                s.spawn(|| (0..50).map(|n| journal.append(&house.note(n)).unwrap().seq).collect::<Vec<_>>())
            })
            .collect();
        threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    seqs.sort_unstable();
    assert_eq!(seqs, (0..800).collect::<Vec<_>>());
}

#[test]
fn callers_that_do_not_block_get_their_places_too_beside_those_that_do() {
    let house = House::new();
    let journal = house.open();
    let leave = || (0..50).map(|n| journal.submit(&house.note(n)).unwrap()).collect::<Vec<_>>();
    let mut seqs: Vec<u64> = std::thread::scope(|s| {
        let blocking = (0..4).map(|_| {
            s.spawn(|| (0..50).map(|n| journal.append(&house.note(n)).unwrap().seq).collect::<Vec<_>>())
        });
        let blocking: Vec<_> = blocking.collect();
        // Many on their way at once, awaited in order.
        let leave = &leave;
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                s.spawn(move || {
                    leave()
                        .into_iter()
                        .map(|w| holdfast_testkit::block_on(w).unwrap().seq)
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        blocking.into_iter().chain(tasks).flat_map(|t| t.join().unwrap()).collect()
    });
    seqs.sort_unstable();
    assert_eq!(seqs, (0..400).collect::<Vec<_>>());
    // One that nobody waits for is written all the same, also when the journal is closed right away.
    drop(journal.submit(&house.note(1)).unwrap());
    drop(journal);
    assert_eq!(house.open().size(), 401);
    assert!(house.verify().unwrap().is_good());
}

/// A clock that breaks once when told to.
#[derive(Debug)]
struct Brittle(holdfast_testkit::TestClock, std::sync::atomic::AtomicBool);

impl holdfast_types::Clock for Brittle {
    fn now(&self) -> holdfast_types::Timestamp {
        assert!(!self.1.swap(false, std::sync::atomic::Ordering::SeqCst), "the clock breaks");
        self.0.now()
    }

    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }
}

#[test]
fn a_panic_while_writing_is_told_to_the_batch_and_the_next_ones_go_on() {
    use holdfast_types::Clock as _;
    let house = House::new();
    let clock = std::sync::Arc::new(Brittle(house.clock.clone(), false.into()));
    let journal = Journal::open(Options { clock: clock.clone(), ..house.options() }).unwrap();
    assert!(holdfast_testkit::block_on(journal.submit(&house.note(0)).unwrap()).is_ok());
    clock.1.store(true, std::sync::atomic::Ordering::SeqCst);
    let told = holdfast_testkit::block_on(journal.submit(&house.note(1)).unwrap());
    assert!(matches!(told, Err(Error::Stopped { .. })), "{told:?}");
    assert!(clock.now() >= house.clock.now());
    assert_eq!(holdfast_testkit::block_on(journal.submit(&house.note(2)).unwrap()).unwrap().seq, 1);
    assert_eq!(journal.append(&house.note(3)).unwrap().seq, 2);
}

#[test]
fn a_writer_far_ahead_of_its_checkpoints_is_not_held_up() {
    let mut house = House::new();
    house.limits = Limits {
        segment_bytes: 200 << 20,
        checkpoint_every: 1_000_000,
        keep_segments: 1,
        warn_bytes: 300 << 20,
        ..Limits::default()
    };
    let journal = house.open();
    let body = [("t".to_owned(), serde_json::Value::from("x".repeat(60_000)))].into_iter().collect();
    let draft = Draft { content: holdfast_journal::Content::Body(body), ..house.note(0) };
    for _ in 0..10 {
        let appended = journal.append_many(&vec![draft.clone(); 60]).unwrap();
        assert!(appended.iter().all(Result::is_ok));
    }
    assert_eq!(journal.size(), 600);
}

#[test]
fn a_refusal_reaches_a_caller_that_does_not_block() {
    let house = House::new();
    let journal = house.open();
    let long = [("t".to_owned(), serde_json::Value::from("x".repeat(65_400)))].into_iter().collect();
    let draft = Draft { content: holdfast_journal::Content::Body(long), ..house.note(0) };
    let refused = holdfast_testkit::block_on(journal.submit(&draft).unwrap());
    assert!(matches!(refused, Err(Error::TooLong { .. })), "{refused:?}");
}

// shows: MEM-046, MEM-F06
#[test]
fn a_segment_is_closed_by_size_and_by_age_also_under_steady_writing() {
    let mut house = House::new();
    house.limits = Limits { segment_bytes: 8192, ..Limits::default() };
    let journal = house.open();
    (0..60).for_each(|n| assert_eq!(journal.append(&house.note(n)).unwrap().seq, n));
    journal.settle().unwrap();
    let count = segment_count(&house);
    assert!(count >= 3, "{count} segments");
    drop(journal);
    house.limits = Limits::default();
    let journal = house.open();
    let before = segment_count(&house);
    for minute in 0..120 {
        house.clock.advance(Duration::from_secs(60));
        journal.append(&house.note(minute)).unwrap();
    }
    assert_eq!(segment_count(&house), before + 2);
    drop(journal);
    assert!(house.verify().unwrap().is_good());
}

// shows: MEM-048
#[test]
fn every_hundredth_entry_has_a_checkpoint() {
    let house = House::new();
    let journal = house.open();
    (0..250).for_each(|n| assert_eq!(journal.append(&house.note(n)).unwrap().seq, n));
    journal.settle().unwrap();
    let text = std::fs::read_to_string(house.journal().join(format!("{:020}.checkpoints", 0))).unwrap();
    let sizes: Vec<u64> = text
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap()["size"].as_u64().unwrap())
        .collect();
    assert_eq!(sizes, [0, 100, 200]);
}

#[test]
fn asking_twice_for_a_checkpoint_of_the_same_log_signs_one() {
    let house = House::new();
    let kept = || {
        std::fs::read_to_string(house.journal().join(format!("{:020}.checkpoints", 0)))
            .unwrap()
            .lines()
            .count()
    };
    let journal = house.open();
    journal.append(&house.note(0)).unwrap();
    let first = journal.checkpoint().unwrap();
    assert_eq!(journal.checkpoint().unwrap(), first);
    drop(journal);
    assert_eq!(house.open().checkpoint().unwrap(), first);
    assert_eq!(kept(), 2, "the empty log's and this one");
}

#[test]
fn a_batch_of_many_keeps_its_order_and_a_bad_one_refuses_all_before_writing() {
    let house = House::new();
    let journal = house.open();
    let drafts: Vec<Draft> = (0..1000).map(|n| house.note(n)).collect();
    let seqs: Vec<u64> = journal.append_many(&drafts).unwrap().into_iter().map(|r| r.unwrap().seq).collect();
    assert_eq!(seqs, (0..1000).collect::<Vec<_>>());
    let mut secret = house.note(1);
    secret.content = holdfast_journal::Content::Body(
        [("key".to_owned(), format!("-----BEGIN {} KEY-----\nMIIEvQIBADANBgkqhkiG", "PRIVATE").into())]
            .into_iter()
            .collect(),
    );
    assert!(matches!(journal.append_many(&[house.note(1), secret]), Err(Error::Blocked(_))));
    assert_eq!(journal.size(), 1000);
}

#[test]
fn a_line_may_be_64_kib_and_not_a_byte_more() {
    let house = House::new();
    let journal = house.open();
    let sized = |len: usize| {
        let body = [("t".to_owned(), serde_json::Value::from("x".repeat(len)))].into_iter().collect();
        Draft { content: holdfast_journal::Content::Body(body), ..house.note(0) }
    };
    journal.append(&sized(0)).unwrap();
    let empty = journal.entry(0).unwrap().line.len() + 1;
    let most = 64 * 1024 - empty;
    journal.append(&sized(most)).unwrap();
    assert_eq!(journal.entry(1).unwrap().line.len() + 1, 64 * 1024);
    assert!(matches!(journal.append(&sized(most + 1)), Err(Error::TooLong { .. })));
    assert!(matches!(journal.append(&sized(10 * 1024 * 1024)), Err(Error::TooLong { .. })));
    assert_eq!(journal.append(&house.note(2)).unwrap().seq, 2);
    drop(journal);
    assert!(house.verify().unwrap().is_good());
}

#[test]
fn a_key_is_honoured_once_also_after_reopening_and_within_a_batch() {
    let house = House::new();
    let keyed = |key: &str| Draft { key: Some(key.parse().unwrap()), ..house.note(1) };
    let first = house.open().append(&keyed("job:1")).unwrap();
    assert!(!first.repeated);
    let journal = house.open();
    let again = journal.append(&keyed("job:1")).unwrap();
    assert_eq!((again.seq, again.repeated), (first.seq, true));
    let both = journal.append_many(&[keyed("job:2"), keyed("job:2"), house.note(3)]).unwrap();
    let both: Vec<_> = both.into_iter().map(|r| r.unwrap()).map(|a| (a.seq, a.repeated)).collect();
    assert_eq!(both, [(1, false), (1, true), (2, false)]);
}

// shows: MEM-005, MEM-F02, MEM-F03
#[test]
fn a_second_writer_is_refused_and_told_who_holds_it() {
    let house = House::new();
    let journal = house.open();
    let Err(Error::Busy { holder }) = house.try_open() else { panic!("the second one must be refused") };
    assert_eq!(holder, format!("pid {}", std::process::id()));
    drop(journal);
    house.open();
}

// shows: HRD-052, HRD-F26
#[test]
fn a_planted_secret_is_in_no_file() {
    let house = House::new();
    let secret = format!("ghp_{}", "q7R2".repeat(9));
    let journal = house.open();
    let body = [("text".to_owned(), format!("the token is {secret} as said").into())].into_iter().collect();
    let draft = Draft { content: holdfast_journal::Content::Body(body), ..house.note(0) };
    assert_eq!(journal.append(&draft).unwrap().redactions, 1);
    journal.append(&house.blob(&format!("also {secret}"))).unwrap();
    assert_eq!(journal.text(1).unwrap(), b"also [REDACTED_GITHUB_TOKEN]");
    journal.checkpoint().unwrap();
    drop(journal);
    assert!(holdfast_testkit::files::find_bytes(house.path(), secret.as_bytes()).is_empty());
}

#[test]
fn a_clock_that_goes_back_changes_no_order_and_is_counted() {
    let house = House::new();
    let journal = house.open();
    journal.append(&house.note(0)).unwrap();
    house.clock.set_wall("2020-01-01T00:00:00.000000Z".parse().unwrap());
    journal.append(&house.note(1)).unwrap();
    house.clock.set_wall("2030-01-01T00:00:00.000000Z".parse().unwrap());
    journal.append(&house.note(2)).unwrap();
    let entries: Vec<_> = journal.read(0).map(|e| e.unwrap().parse().unwrap()).collect();
    assert!(entries[1].at < entries[0].at && entries[2].at > entries[0].at);
    drop(journal);
    let found = house.verify().unwrap();
    assert!(found.is_good());
    assert_eq!(found.clock_steps_back, 1);
}

fn segment_count(house: &House) -> usize {
    let names =
        std::fs::read_dir(house.journal()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    names.filter(|n| n.ends_with(".jsonl") && n.starts_with('0')).count()
}
