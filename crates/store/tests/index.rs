//! The index: the same tables however the log is split, whatever it met on the way.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod shared;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use holdfast_journal::{Draft, View};
use holdfast_store::{Error, Halt, Index, Projection, Seen, WhyRebuilt, backup};
use holdfast_testkit::{House, files, rounds};
use proptest::prelude::*;
use rusqlite::{Connection, Transaction};
use shared::{draft, fill, go_on, index_path, names_in, open_index, open_index_with};

/// Adds up the `n` of bodies it knows; writes a row before it finds out that it cannot go on.
struct Sums {
    version: u32,
    knows: u16,
}

impl Projection for Sums {
    fn name(&self) -> &'static str {
        "sums"
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn schema(&self) -> &'static str {
        "CREATE TABLE sums (seq INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT"
    }

    fn wants(&self, kind: &str) -> bool {
        kind.starts_with("room_1.")
    }

    fn apply(&mut self, tx: &Transaction<'_>, entry: &Seen<'_>) -> Result<(), Halt> {
        let holdfast_journal::Stored::Body(body) = &entry.entry()?.content else { return Ok(()) };
        let n = body["n"].as_u64().unwrap_or(0);
        tx.execute("INSERT INTO sums VALUES (?1, ?2)", [entry.seq(), n])?;
        if entry.version() > self.knows {
            return Err(Halt::UnknownVersion { kind: entry.kind().into(), version: entry.version() });
        }
        Ok(())
    }
}

fn sums(version: u32, knows: u16) -> Vec<Box<dyn Projection>> {
    vec![Box::new(Sums { version, knows })]
}

fn count(index: &Index, table: &str) -> u64 {
    let sql = format!("SELECT count(*) FROM {table}");
    index.read(|conn| Ok(conn.query_row(&sql, [], |row| row.get(0))?)).unwrap()
}

#[test]
fn a_rebuild_gives_the_tables_that_catching_up_gave() {
    let total = u64::from(rounds(50_000, 1_000_000));
    let house = House::new();
    let journal = house.open();
    let index = open_index_with(&house, sums(1, 1)).0;
    for _ in 0..5 {
        fill(&house, &journal, total / 5);
        index.catch_up(&journal, &mut go_on).unwrap();
    }
    let made = index.digest().unwrap();
    assert_eq!(made.len(), 5);
    let done = index.rebuild(&journal, &mut go_on).unwrap();
    assert_eq!(done.rebuilt, Some(WhyRebuilt::Asked));
    assert_eq!((done.progress.applied, done.progress.total), (total, total));
    assert_eq!(index.digest().unwrap(), made);
    assert_eq!(count(&index, "entries"), total);
    let aside = index_path(&house).with_file_name("index.db.new");
    assert!(!aside.exists());
    // It goes on from there, and from outside the same is seen.
    fill(&house, &journal, 3);
    let view = View::open(&house.journal(), None).unwrap();
    assert_eq!(index.catch_up(&view, &mut go_on).unwrap().rebuilt, None);
    assert_eq!(count(&index, "entries"), total + 3);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(6, 100), ..ProptestConfig::default() })]
    #[test]
    fn any_split_of_the_log_gives_the_same_tables_and_twice_is_once(
        parts in proptest::collection::vec(0u64..700, 1..6),
        reopen in any::<bool>(),
    ) {
        let (house, other) = (House::new(), House::new());
        let journal = house.open();
        let mut index = open_index_with(&house, sums(1, 1)).0;
        for part in parts {
            fill(&house, &journal, part);
            index.catch_up(&journal, &mut go_on).unwrap();
            let again = index.catch_up(&journal, &mut go_on).unwrap();
            prop_assert_eq!(again.progress.applied, journal.size());
            if reopen {
                drop(index);
                index = open_index_with(&house, sums(1, 1)).0;
            }
        }
        let at_once = open_index_with(&other, sums(1, 1)).0;
        at_once.catch_up(&journal, &mut go_on).unwrap();
        prop_assert_eq!(index.digest().unwrap(), at_once.digest().unwrap());
    }
}

#[test]
fn a_follower_keeps_up_and_a_stopped_catch_up_goes_on_where_it_was() {
    let house = House::new();
    let journal = house.open();
    let index = open_index(&house);
    fill(&house, &journal, 20_000);
    let stopped = index.catch_up(&journal, &mut |_| ControlFlow::Break(())).unwrap();
    assert!(stopped.stopped && stopped.progress.applied > 0 && stopped.progress.applied < 20_000);
    assert_eq!(count(&index, "entries"), stopped.progress.applied);
    let mut follower = index.follow(&journal);
    assert!(!follower.catch_up(&mut go_on).unwrap().stopped);
    for n in 0..20 {
        journal.append(&draft(&house, n)).unwrap();
        assert_eq!(follower.catch_up(&mut go_on).unwrap().progress.applied, 20_001 + n);
    }
    // Rebuilt behind its back, it finds its place again.
    index.rebuild(&journal, &mut go_on).unwrap();
    fill(&house, &journal, 1);
    follower.catch_up(&mut go_on).unwrap();
    assert_eq!(count(&index, "entries"), 20_021);
    let before = index.digest().unwrap();
    let stopped = index.rebuild(&journal, &mut |_| ControlFlow::Break(())).unwrap();
    assert!(stopped.stopped && stopped.rebuilt.is_none());
    assert_eq!(index.digest().unwrap(), before);
}

#[test]
fn an_unknown_version_halts_its_projection_only_and_a_newer_program_resumes_it() {
    let house = House::new();
    let journal = house.open();
    fill(&house, &journal, 10);
    let newer = Draft { version: 2, ..draft(&house, 10) };
    let halting = journal.append(&newer).unwrap().seq;
    assert!(newer.kind.as_str().starts_with("room_1."));
    fill(&house, &journal, 10);
    let index = open_index_with(&house, sums(1, 1)).0;
    let done = index.catch_up(&journal, &mut go_on).unwrap();
    assert_eq!(done.halted.len(), 1);
    assert_eq!((done.halted[0].name.as_str(), done.halted[0].seq), ("sums", halting));
    assert!(done.halted[0].reason.contains("has version 2"), "{}", done.halted[0].reason);
    assert_eq!(count(&index, "entries"), 21, "the other one went on");
    assert_eq!(count(&index, "sums"), 3, "of the halting entry nothing stayed");
    fill(&house, &journal, 1);
    assert_eq!(index.catch_up(&journal, &mut go_on).unwrap().halted.len(), 1);
    let standing = index.progress().unwrap().into_iter().find(|s| s.name == "sums").unwrap();
    assert_eq!((standing.applied, standing.halted.is_some()), (halting, true));
    drop(index);
    let index = open_index_with(&house, sums(1, 2)).0;
    assert_eq!(index.catch_up(&journal, &mut go_on).unwrap().halted, []);
    let resumed = index.digest().unwrap();
    index.rebuild(&journal, &mut go_on).unwrap();
    assert_eq!(index.digest().unwrap(), resumed);
}

#[test]
fn a_rebuild_in_which_everything_halts_is_still_put_in_place() {
    let house = House::new();
    let journal = house.open();
    fill(&house, &journal, 9000);
    let open = |knows| {
        let clock = std::sync::Arc::new(house.clock.clone());
        Index::open(&index_path(&house), sums(1, knows), clock).unwrap().0
    };
    let index = open(1);
    index.catch_up(&journal, &mut go_on).unwrap();
    drop(index);
    let index = open(0);
    let done = index.rebuild(&journal, &mut go_on).unwrap();
    assert_eq!((done.rebuilt, done.stopped, done.progress.applied), (Some(WhyRebuilt::Asked), false, 1));
    assert_eq!((done.halted.len(), count(&index, "sums")), (1, 0));
}

#[test]
fn a_projection_with_another_version_begins_again_and_the_others_do_not() {
    let house = House::new();
    let journal = house.open();
    fill(&house, &journal, 30);
    let (index, opened) = open_index_with(&house, sums(1, 1));
    assert_eq!((opened.created, opened.renewed), (true, vec!["entries", "sums"]));
    index.catch_up(&journal, &mut go_on).unwrap();
    let made = index.digest().unwrap();
    drop(index);
    let (index, opened) = open_index_with(&house, sums(2, 1));
    assert_eq!((opened.created, opened.renewed), (false, vec!["sums"]));
    assert_eq!((count(&index, "entries"), count(&index, "sums")), (30, 0));
    index.catch_up(&journal, &mut go_on).unwrap();
    assert_eq!(index.digest().unwrap(), made);
}

#[test]
fn an_index_of_another_log_or_another_history_is_rebuilt_and_says_so() {
    let house = House::new();
    let journal = house.open();
    fill(&house, &journal, 10);
    drop(journal);
    let older = house.path().join("older");
    files::copy_tree(house.journal(), &older);
    let journal = house.open();
    fill(&house, &journal, 10);
    let index = open_index(&house);
    index.catch_up(&journal, &mut go_on).unwrap();
    drop(journal);

    // The journal is put back from an older copy.
    std::fs::remove_dir_all(house.journal()).unwrap();
    files::copy_tree(&older, house.journal());
    let journal = house.open();
    let done = index.catch_up(&journal, &mut go_on).unwrap();
    assert_eq!(done.rebuilt, Some(WhyRebuilt::AheadOfLog { applied: 20, size: 10 }));
    assert_eq!(count(&index, "entries"), 10);
    fill(&house, &journal, 10);
    index.catch_up(&journal, &mut go_on).unwrap();
    drop(journal);

    // The same, and by the time anybody looks it has grown past where the index was.
    std::fs::remove_dir_all(house.journal()).unwrap();
    files::copy_tree(&older, house.journal());
    let journal = house.open();
    for n in 0..15 {
        journal.append(&house.note(n)).unwrap();
    }
    let done = index.catch_up(&journal, &mut go_on).unwrap();
    assert_eq!(done.rebuilt, Some(WhyRebuilt::OtherHistory { seq: 19 }));
    assert_eq!(count(&index, "entries"), 25);

    let mut follower = index.follow(&journal);
    follower.catch_up(&mut go_on).unwrap();
    let stranger = House::named("stranger");
    let foreign = stranger.open();
    fill(&stranger, &foreign, 25);
    let done = index.catch_up(&foreign, &mut go_on).unwrap();
    assert_eq!(done.rebuilt, Some(WhyRebuilt::OtherLog { was: house.origin.to_string() }));
    assert_eq!(count(&index, "entries"), 25);
    // Its place is at the very seq the index has applied, and it notices all the same.
    let done = follower.catch_up(&mut go_on).unwrap();
    assert_eq!(done.rebuilt, Some(WhyRebuilt::OtherLog { was: stranger.origin.to_string() }));
}

#[test]
fn a_damaged_index_is_set_aside_and_made_again_and_no_more_than_three_are_kept() {
    let house = House::new();
    let journal = house.open();
    fill(&house, &journal, 500);
    let path = index_path(&house);
    let index = open_index(&house);
    index.catch_up(&journal, &mut go_on).unwrap();
    let made = index.digest().unwrap();
    drop(index);
    let whole = std::fs::read(&path).unwrap();
    let zeroed = [&whole[..4096], &vec![0; whole.len() - 4096]].concat();
    let cases: [&[u8]; 5] =
        [b"", b"no database at all, and long enough to look like something", &whole[..3000], &zeroed, b"x"];
    for (n, bytes) in cases.iter().enumerate() {
        std::fs::write(&path, bytes).unwrap();
        let (index, opened) = open_index_with(&house, Vec::new());
        let kept_in = opened.set_aside.unwrap().kept_in;
        assert_eq!(kept_in, path.with_file_name(format!("index.db.damaged-{}", n + 1)));
        assert_eq!(std::fs::read(kept_in).unwrap(), *bytes);
        index.catch_up(&journal, &mut go_on).unwrap();
        assert_eq!(index.digest().unwrap(), made);
    }
    let names = names_in(&house.state());
    assert_eq!(names.iter().filter(|n| n.contains("damaged")).count(), 3, "{names:?}");
}

#[test]
fn a_log_left_beside_a_missing_index_is_not_replayed_into_the_next() {
    let house = House::new();
    let journal = house.open();
    fill(&house, &journal, 300);
    let index = open_index(&house);
    index.catch_up(&journal, &mut go_on).unwrap();
    let log = std::fs::read(house.state().join("index.db-wal")).unwrap();
    assert!(!log.is_empty());
    drop(index);
    std::fs::remove_file(index_path(&house)).unwrap();
    std::fs::write(house.state().join("index.db-wal"), log).unwrap();
    let (index, opened) = open_index_with(&house, Vec::new());
    assert!(opened.created);
    assert_eq!(count(&index, "entries"), 0);
}

#[test]
fn readers_during_rebuilds_neither_fail_nor_see_half() {
    let house = House::new();
    let journal = house.open();
    fill(&house, &journal, 2000);
    let index = open_index(&house);
    index.catch_up(&journal, &mut go_on).unwrap();
    let done = AtomicBool::new(false);
    let look = |conn: &Connection| -> Result<(u64, u64, u64), Error> {
        let sql =
            "SELECT (SELECT count(*) FROM entries), (SELECT applied FROM progress WHERE name = 'entries'),
                   (SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name LIKE 'entries_by%')";
        Ok(conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?)
    };
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    let mut looks = 0u32;
                    while !done.load(Ordering::Relaxed) {
                        assert_eq!(index.read(look).unwrap(), (2000, 2000, 4));
                        looks += 1;
                    }
                    looks
                })
            })
            .collect();
        for _ in 0..rounds(8, 200) {
            index.rebuild(&journal, &mut go_on).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        assert!(readers.into_iter().all(|reader| reader.join().unwrap() > 0));
    });
}

#[test]
fn an_index_can_be_backed_up_too() {
    let house = House::new();
    let journal = house.open();
    fill(&house, &journal, 100);
    let index = open_index(&house);
    index.catch_up(&journal, &mut go_on).unwrap();
    let to = house.path().join("copy.db");
    backup(&index_path(&house), &to, &mut go_on).unwrap().unwrap();
    let rows: u64 =
        Connection::open(&to).unwrap().query_row("SELECT count(*) FROM entries", [], |r| r.get(0)).unwrap();
    assert_eq!(rows, 100);
}

/// Turns a page in the middle into noise, under the open index, and reads nothing of it from any cache.
fn damage_a_page_of(index: &Index, table: &str) {
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
    let root: u64 = index.read(|conn| Ok(conn.query_row(sql, [table], |row| row.get(0))?)).unwrap();
    let path =
        std::path::PathBuf::from(index.read(|conn| Ok(conn.path().unwrap_or_default().to_owned())).unwrap());
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[0xa5; 4096], (root - 1) * 4096).unwrap();
    // SQLite's locks are the process's, and closing this would drop them.
    std::mem::forget(file);
}

#[test]
fn damage_met_while_catching_up_or_reading_is_set_aside_and_made_again() {
    let house = House::new();
    let journal = house.open();
    fill(&house, &journal, 3000);
    for met_by_a_reader in [false, true] {
        // A closed index has all of its log in its file.
        open_index(&house).catch_up(&journal, &mut go_on).unwrap();
        let index = open_index(&house);
        damage_a_page_of(&index, if met_by_a_reader { "entries_spans" } else { "entries" });
        if met_by_a_reader {
            let looked = index.read(|conn| {
                Ok(conn.query_row("SELECT sum(latest) FROM entries_spans", [], |row| row.get::<_, i64>(0))?)
            });
            assert!(matches!(looked, Err(Error::Damaged { .. })), "{looked:?}");
        } else {
            fill(&house, &journal, 10);
        }
        let done = index.catch_up(&journal, &mut go_on).unwrap();
        assert!(matches!(done.rebuilt, Some(WhyRebuilt::Damaged { .. })), "{done:?}");
        assert_eq!(done.progress.applied, journal.size());
        assert_eq!(count(&index, "entries"), journal.size());
        assert_eq!(index.catch_up(&journal, &mut go_on).unwrap().rebuilt, None);
        let made = index.digest().unwrap();
        index.rebuild(&journal, &mut go_on).unwrap();
        assert_eq!(index.digest().unwrap(), made);
    }
    let names = names_in(&house.state());
    assert_eq!(names.iter().filter(|n| n.contains("damaged")).count(), 2, "{names:?}");
}

/// Panics at one entry, once.
struct Panics {
    at: Option<u64>,
}

impl Projection for Panics {
    fn name(&self) -> &'static str {
        "panics"
    }

    fn version(&self) -> u32 {
        1
    }

    fn schema(&self) -> &'static str {
        "CREATE TABLE panics (seq INTEGER PRIMARY KEY) STRICT"
    }

    fn apply(&mut self, _: &Transaction<'_>, entry: &Seen<'_>) -> Result<(), Halt> {
        assert!(self.at.take_if(|at| *at == entry.seq()).is_none(), "an entry it cannot cope with");
        Ok(())
    }
}

#[test]
fn after_a_panic_nothing_is_remembered_of_what_was_rolled_back() {
    let (house, other) = (House::new(), House::new());
    let journal = house.open();
    fill(&house, &journal, 100);
    let index = open_index_with(&house, vec![Box::new(Panics { at: Some(50) })]).0;
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        drop(index.catch_up(&journal, &mut go_on));
    }));
    assert!(panicked.is_err());
    index.catch_up(&journal, &mut go_on).unwrap();
    let whole = open_index_with(&other, vec![Box::new(Panics { at: None })]).0;
    whole.catch_up(&journal, &mut go_on).unwrap();
    assert_eq!(index.digest().unwrap(), whole.digest().unwrap());
}

#[test]
fn a_projection_whose_entries_are_gone_stands_still_alone() {
    let house = House::new();
    let journal = house.open();
    fill(&house, &journal, 20);
    let index = open_index(&house);
    index.catch_up(&journal, &mut go_on).unwrap();
    drop(index);
    journal.rotate().unwrap();
    fill(&house, &journal, 5);
    std::fs::remove_file(house.segment(0)).unwrap();
    let index = open_index_with(&house, sums(1, 1)).0;
    let mut follower = index.follow(&journal);
    let done = follower.catch_up(&mut go_on).unwrap();
    assert_eq!((done.halted.len(), done.rebuilt, done.stopped), (1, None, false));
    assert_eq!((done.halted[0].name.as_str(), done.halted[0].seq), ("sums", 0));
    assert!(done.halted[0].reason.contains("archive"), "{}", done.halted[0].reason);
    assert_eq!((done.progress.applied, count(&index, "entries")), (25, 25), "the other one went on");
    fill(&house, &journal, 5);
    assert_eq!(follower.catch_up(&mut go_on).unwrap().progress.applied, 30);
    // Tables that can be had no more are not given up for ones that are missing something.
    let rebuilt = index.rebuild(&journal, &mut go_on);
    assert!(matches!(rebuilt, Err(Error::Journal(holdfast_journal::Error::Gone { .. }))), "{rebuilt:?}");
    assert_eq!(count(&index, "entries"), 30);
}

#[test]
fn what_tables_lack_is_read_from_their_own_log_and_from_no_other() {
    let house = House::new();
    let journal = house.open();
    fill(&house, &journal, 20);
    let (index, _) = open_index_with(&house, sums(1, 1));
    index.catch_up(&journal, &mut go_on).unwrap();
    fill(&house, &journal, 7);
    let rest = |log: &holdfast_journal::Journal, name: &str| {
        let read = |_: &Connection, entries: holdfast_journal::Entries| {
            Ok(entries.map(|raw| raw.unwrap().seq).collect::<Vec<_>>())
        };
        index.read_with_rest(log, name, read).unwrap()
    };
    assert_eq!(rest(&journal, "sums"), Some((20..27).collect()));
    assert_eq!(rest(&journal, "nobody"), None);
    let stranger = House::named("stranger");
    let foreign = stranger.open();
    fill(&stranger, &foreign, 25);
    assert_eq!(rest(&foreign, "sums"), None, "another log");
    // A projection that stands still does not know what it does not know.
    journal.append(&Draft { version: 2, ..draft(&house, 10) }).unwrap();
    index.catch_up(&journal, &mut go_on).unwrap();
    assert_eq!(rest(&journal, "sums"), None);
    assert_eq!(rest(&journal, "entries"), Some(Vec::new()));
}
