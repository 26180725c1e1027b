//! Real processes, killed inside a migration, a rebuild, a catch-up, a backup.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod shared;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holdfast_journal::View;
use holdfast_store::{Database, backup, backup_name};
use holdfast_testkit::crash::{self, Crash};
use holdfast_testkit::house::NOON;
use holdfast_testkit::{House, Seed, rounds};
use holdfast_types::Timestamp;
use rusqlite::Connection;
use shared::{
    assert_sound, assert_third_release, clock, fill, first_release, go_on, index_path, names_in, open_index,
    open_index_with, people, version_of,
};

const PEOPLE: u32 = 3000;

fn millis(span: std::ops::Range<u64>) -> std::ops::Range<Duration> {
    Duration::from_millis(span.start)..Duration::from_millis(span.end)
}

/// The child: migrates one copy of an old database after the other.
#[test]
fn migrator() {
    crash::child_main("migrator", |args, report| {
        for n in 0.. {
            let dir = Path::new(&args[0]).join(format!("{n:05}"));
            std::fs::create_dir(&dir).unwrap();
            std::fs::copy(&args[1], dir.join("people.db")).unwrap();
            report.line(format!("{n:05}"));
            Database::open(&dir.join("people.db"), people(3), &clock()).unwrap();
        }
    });
}

#[test]
fn a_killed_migration_is_whole_or_undone_and_the_next_opening_finishes_it() {
    let root = tempfile::tempdir().unwrap();
    let old = root.path().join("old.db");
    first_release(&old, PEOPLE);
    let mut versions = [0; 4];
    let work = |round: u32| root.path().join(format!("round-{round}"));
    crash::run_kills(
        Seed::from_env_or(3),
        rounds(20, 100),
        millis(1..120),
        |round| {
            std::fs::create_dir(work(round)).unwrap();
            Crash::new("migrator").arg(work(round).display()).arg(old.display())
        },
        |round, remains| {
            let Some(last) = remains.lines.last() else { return };
            let dir = work(round).join(last);
            versions[check_migration(&dir) as usize] += 1;
            std::fs::remove_dir_all(work(round)).unwrap();
        },
    );
    assert!(versions[1] > 0, "some kills came before the first step was done: {versions:?}");
}

/// The version the kill left. Backups are whole or partial; what is opened next is complete.
fn check_migration(dir: &Path) -> u32 {
    let (path, backups) = (dir.join("people.db"), dir.join("backups"));
    let whole: Vec<PathBuf> = names_in(&backups)
        .iter()
        .filter(|name| !name.contains(".partial"))
        .map(|name| backups.join(name))
        .collect();
    for backup in &whole {
        assert_sound(backup);
        assert_eq!(version_of(backup), 1);
    }
    // Looked at in a copy: a stranger's look would tidy up what the next opening must cope with.
    let copy = dir.join("copy");
    std::fs::create_dir(&copy).unwrap();
    for name in names_in(dir).iter().filter(|name| matches!(name.as_str(), "people.db" | "people.db-wal")) {
        std::fs::copy(dir.join(name), copy.join(name)).unwrap();
    }
    let version = version_of(&copy.join("people.db"));
    assert!(version == 1 || !whole.is_empty(), "no step without a backup");
    let (database, opened) = Database::open(&path, people(3), &clock()).unwrap();
    assert_eq!(opened.migrated_from, Some(version).filter(|v| *v < 3));
    assert_third_release(&database, PEOPLE);
    if opened.backup.is_some() {
        assert!(names_in(&backups).iter().all(|name| !name.contains(".partial")), "cleared away");
    }
    version
}

/// The child: rebuilds again and again.
#[test]
fn rebuilder() {
    crash::child_main("rebuilder", |args, report| {
        let house = House::attach(Path::new(&args[0]), "crash");
        let view = View::open(&house.journal(), None).unwrap();
        let index = open_index(&house);
        loop {
            index.rebuild(&view, &mut go_on).unwrap();
            report.line("rebuilt");
        }
    });
}

#[test]
fn a_killed_rebuild_leaves_the_old_index_or_the_new_one_whole() {
    let root = tempfile::tempdir().unwrap();
    let house = House::attach(root.path(), "crash");
    house.create();
    fill(&house, &house.open(), 400);
    let view = View::open(&house.journal(), None).unwrap();
    let index = open_index(&house);
    index.catch_up(&view, &mut go_on).unwrap();
    let whole = index.digest().unwrap();
    drop(index);
    let mut rebuilt = 0;
    crash::run_kills(
        Seed::from_env_or(4),
        rounds(20, 100),
        millis(1..60),
        |_| Crash::new("rebuilder").arg(root.path().display()),
        |_, remains| {
            rebuilt += remains.lines.len();
            let (index, opened) = open_index_with(&house, Vec::new());
            assert_eq!(opened, Default::default(), "nothing made, nothing set aside, nothing renewed");
            assert_eq!(index.digest().unwrap(), whole);
            let done = index.catch_up(&view, &mut go_on).unwrap();
            assert_eq!((done.progress.applied, done.rebuilt), (400, None));
            drop(index);
            assert_sound(&index_path(&house));
            assert!(!names_in(&house.state()).iter().any(|name| name.contains(".new")));
        },
    );
    assert!(rebuilt > 0, "no child got as far as one rebuild");
}

/// The child: appends and catches up.
#[test]
fn follower() {
    crash::child_main("follower", |args, report| {
        let house = House::attach(Path::new(&args[0]), "crash");
        let journal = house.open();
        let index = open_index(&house);
        let mut follower = index.follow(&journal);
        for n in 0.. {
            fill(&house, &journal, if n % 3 == 0 { 300 } else { 1 });
            follower.catch_up(&mut go_on).unwrap();
            report.line("applied");
        }
    });
}

#[test]
fn a_killed_catch_up_applies_every_entry_once() {
    let root = tempfile::tempdir().unwrap();
    let house = House::attach(root.path(), "crash");
    house.create();
    crash::run_kills(
        Seed::from_env_or(5),
        rounds(20, 100),
        millis(1..60),
        |_| Crash::new("follower").arg(root.path().display()),
        |_, _| {
            let journal = house.open();
            let (index, opened) = open_index_with(&house, Vec::new());
            assert_eq!(opened.set_aside, None);
            let done = index.catch_up(&journal, &mut go_on).unwrap();
            assert_eq!(done.rebuilt, None);
            let counts = index.read(|conn| {
                let sql = "SELECT count(*), coalesce(max(seq) + 1, 0) FROM entries";
                Ok(conn.query_row(sql, [], |row| Ok((row.get::<_, u64>(0)?, row.get::<_, u64>(1)?)))?)
            });
            assert_eq!(counts.unwrap(), (journal.size(), journal.size()));
        },
    );
    let (journal, index) = (house.open(), open_index(&house));
    let followed = index.digest().unwrap();
    index.rebuild(&journal, &mut go_on).unwrap();
    assert_eq!(index.digest().unwrap(), followed);
}

/// The child: one thread writes pairs, the other makes backups.
#[test]
fn copier() {
    crash::child_main("copier", |args, report| {
        let dir = Path::new(&args[0]);
        let (database, _) = Database::open(&dir.join("people.db"), people(1), &clock()).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    database
                        .write(|tx| {
                            tx.execute("INSERT INTO people (name) VALUES ('late')", [])?;
                            let owner = tx.last_insert_rowid();
                            Ok(tx.execute("INSERT INTO pets (owner) VALUES (?1)", [owner])?)
                        })
                        .unwrap();
                }
            });
            for n in 0.. {
                let at = NOON.parse::<Timestamp>().unwrap().plus(Duration::from_micros(n));
                let name = backup_name("people", args[1].parse().unwrap(), at);
                database.backup(&dir.join("backups").join(&name), &mut go_on).unwrap().unwrap();
                report.line(name);
            }
        });
    });
}

#[test]
fn a_killed_backup_is_whole_or_partial_and_the_next_clears_it_away() {
    let root = tempfile::tempdir().unwrap();
    let (path, backups) = (root.path().join("people.db"), root.path().join("backups"));
    first_release(&path, PEOPLE);
    let (mut whole, mut partial) = (0, 0);
    crash::run_kills(
        Seed::from_env_or(6),
        rounds(20, 100),
        millis(1..60),
        |round| Crash::new("copier").arg(root.path().display()).arg(round),
        |round, remains| {
            let names = names_in(&backups);
            assert!(remains.lines.iter().all(|made| names.contains(made)), "what was told is there");
            partial += names.iter().filter(|name| name.contains(".partial")).count();
            for name in names.iter().filter(|name| !name.contains(".partial")) {
                check_copy(&backups.join(name));
                whole += 1;
            }
            backup(&path, &backups.join("after.db"), &mut go_on).unwrap().unwrap();
            let left = names_in(&backups);
            assert!(left.iter().all(|name| !name.contains(".partial")), "round {round}: {left:?}");
            std::fs::remove_dir_all(&backups).unwrap();
        },
    );
    assert!(whole > 0 && partial > 0, "{whole} whole, {partial} partial: kills came at every moment");
}

/// Sound, and of one moment: as many pets as people.
fn check_copy(path: &Path) {
    assert_sound(path);
    let sql = "SELECT (SELECT count(*) FROM people), (SELECT count(*) FROM pets)";
    let counts = Connection::open(path)
        .unwrap()
        .query_row(sql, [], |row| Ok((row.get::<_, u32>(0)?, row.get::<_, u32>(1)?)))
        .unwrap();
    assert!(counts.0 == counts.1 && counts.0 >= PEOPLE, "{counts:?}");
}
