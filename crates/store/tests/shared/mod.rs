//! What several of these tests need: a schema with a history, entries of every shape, an index over a house.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test binary uses its part, and stops where it cannot go on"
)]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holdfast_journal::{Draft, Journal, Subject};
use holdfast_store::{
    Database, EntriesProjection, Error, Index, IndexOpened, Migration, Projection, Schema, Truth,
};
use holdfast_testkit::house::NOON;
use holdfast_testkit::{House, TestClock};
use rusqlite::Connection;

/// A database as three releases had it. The third makes a table anew that another one refers to.
pub(crate) static STEPS: [Migration; 3] = [
    Migration {
        number: 1,
        name: "people",
        sql: "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
              CREATE TABLE pets (id INTEGER PRIMARY KEY, owner INTEGER NOT NULL
                REFERENCES people (id) ON DELETE CASCADE) STRICT;",
    },
    Migration {
        number: 2,
        name: "greetings",
        sql: "ALTER TABLE people ADD COLUMN greeting TEXT NOT NULL DEFAULT '';
              UPDATE people SET greeting = 'Dear ' || name;",
    },
    Migration {
        number: 3,
        name: "people by name",
        sql: "CREATE TABLE people_new (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, greeting TEXT NOT NULL) STRICT;
              INSERT INTO people_new SELECT id, name, greeting FROM people;
              DROP TABLE people;
              ALTER TABLE people_new RENAME TO people;",
    },
];

/// The schema as release `version` had it.
pub(crate) fn people(version: usize) -> Schema {
    Schema { name: "people", application_id: 0x4846_7465, migrations: &STEPS[..version], truth: Truth::Own }
}

pub(crate) fn clock() -> TestClock {
    TestClock::at(NOON)
}

/// A database of the first release with so many people, each with a pet; closed.
pub(crate) fn first_release(path: &Path, count: u32) {
    let (database, opened) = Database::open(path, people(1), &clock()).unwrap();
    assert!(opened.created);
    database
        .write(|tx| {
            for n in 1..=count {
                tx.execute("INSERT INTO people VALUES (?1, 'person ' || ?1)", [n])?;
                tx.execute("INSERT INTO pets (owner) VALUES (?1)", [n])?;
            }
            Ok(())
        })
        .unwrap();
}

/// The same, as the third release must find it.
pub(crate) fn assert_third_release(database: &Database, count: u32) {
    let counts = |conn: &Connection| {
        let sql = "SELECT (SELECT count(*) FROM people WHERE greeting = 'Dear person ' || id), (SELECT count(*) FROM pets)";
        Ok::<_, Error>(conn.query_row(sql, [], |row| Ok((row.get::<_, u32>(0)?, row.get::<_, u32>(1)?)))?)
    };
    assert_eq!(database.read(counts).unwrap(), (count, count));
    assert_sound(database.path());
}

/// Looks at a file as a stranger would.
#[track_caller]
pub(crate) fn assert_sound(path: &Path) {
    let conn = Connection::open(path).unwrap();
    let said: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(said, "ok", "{}", path.display());
    let broken = conn.prepare("PRAGMA foreign_key_check").unwrap().exists([]).unwrap();
    assert!(!broken, "{}", path.display());
}

pub(crate) fn version_of(path: &Path) -> u32 {
    let conn = Connection::open(path).unwrap();
    conn.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

pub(crate) fn names_in(dir: &Path) -> Vec<String> {
    let Ok(listing) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<String> = listing.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

pub(crate) fn go_on<T>(_: T) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

pub(crate) fn index_path(house: &House) -> PathBuf {
    house.state().join("index.db")
}

/// The index with the projection every house has, and those of the test.
pub(crate) fn open_index_with(house: &House, more: Vec<Box<dyn Projection>>) -> (Index, IndexOpened) {
    let mut projections: Vec<Box<dyn Projection>> = vec![Box::new(EntriesProjection::new(&house.origin))];
    projections.extend(more);
    Index::open(&index_path(house), projections, Arc::new(house.clock.clone())).unwrap()
}

pub(crate) fn open_index(house: &House) -> Index {
    open_index_with(house, Vec::new()).0
}

/// A mixture: some kinds, actors, agents, targets and runs.
pub(crate) fn draft(house: &House, n: u64) -> Draft {
    let id = |prefix: &str, n: u64| format!("{prefix}_01arz3ndektsv4rrff{n:08}");
    Draft {
        kind: format!("room_{}.test_{}.noted", n % 3, n * 7 % 5).parse().unwrap(),
        actor: format!("actor-{}", n % 11).parse().unwrap(),
        subject: match n % 4 {
            0 => Some(Subject::Agent(id("agt", n % 7).parse().unwrap())),
            1 => Some(Subject::Target(id("tgt", n % 5).parse().unwrap())),
            _ => None,
        },
        run: n.is_multiple_of(3).then(|| id("run", n / 50).parse().unwrap()),
        ..house.note(n)
    }
}

/// Appends `count` entries after what is there, a second apart every so often.
pub(crate) fn fill(house: &House, journal: &Journal, count: u64) {
    let from = journal.size();
    for start in (from..from + count).step_by(2000) {
        let drafts: Vec<Draft> = (start..(from + count).min(start + 2000)).map(|n| draft(house, n)).collect();
        journal.append_many(&drafts).unwrap().into_iter().for_each(|r| assert!(r.is_ok()));
        house.clock.advance(std::time::Duration::from_secs(1));
    }
}
