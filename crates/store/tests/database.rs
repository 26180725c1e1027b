//! Opening: made, migrated after a backup, or refused untouched.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod shared;

use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use holdfast_store::{Database, Error, Migration, Schema, Truth, backup, backup_name, prune_backups};
use holdfast_testkit::files;
use holdfast_types::Exit;
use rusqlite::Connection;
use shared::{
    STEPS, assert_sound, assert_third_release, clock, first_release, go_on, names_in, people, version_of,
};

#[test]
fn a_new_database_is_private_and_says_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/people.db");
    let (database, opened) = Database::open(&path, people(3), &clock()).unwrap();
    assert!(opened.created && opened.backup.is_none());
    database.write(|tx| Ok(tx.execute("INSERT INTO people VALUES (1, 'ana', 'hello')", [])?)).unwrap();
    for name in names_in(path.parent().unwrap()) {
        let mode = std::fs::metadata(path.with_file_name(&name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let facts = database.read(|conn| {
        let text = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, String>(0));
        let name = text("SELECT value FROM holdfast WHERE key = 'database'")?;
        let applied: u32 = conn.query_row("SELECT count(*) FROM migrations", [], |row| row.get(0))?;
        Ok((name, text("PRAGMA journal_mode")?, applied))
    });
    assert_eq!(facts.unwrap(), ("people".to_owned(), "wal".to_owned(), 3));
    drop(database);
    assert_eq!(names_in(path.parent().unwrap()), ["people.db"], "a closed database is one file");
}

#[test]
fn a_failed_change_leaves_nothing_and_a_reader_cannot_write() {
    let dir = tempfile::tempdir().unwrap();
    let (database, _) = Database::open(&dir.path().join("people.db"), people(3), &clock()).unwrap();
    let insert = "INSERT INTO people VALUES (1, 'ana', '')";
    let failed: Result<(), Error> = database.write(|tx| {
        tx.execute(insert, [])?;
        Err(Error::BadSample { why: "no".into() })
    });
    assert!(matches!(failed, Err(Error::BadSample { .. })));
    let wrote = database.read(|conn| Ok(conn.execute(insert, [])?));
    assert!(matches!(wrote, Err(Error::ReadOnly { .. })), "{wrote:?}");
    let orphan = database.write(|tx| Ok(tx.execute("INSERT INTO pets VALUES (1, 77)", [])?));
    assert!(orphan.is_err(), "foreign keys hold");
    let count =
        |conn: &Connection| Ok(conn.query_row("SELECT count(*) FROM people", [], |r| r.get::<_, u32>(0))?);
    assert_eq!(database.read(count).unwrap(), 0);
}

#[test]
fn a_reader_sees_one_state_however_long_it_looks() {
    let dir = tempfile::tempdir().unwrap();
    let (database, _) = Database::open(&dir.path().join("people.db"), people(3), &clock()).unwrap();
    let count = |conn: &Connection| conn.query_row("SELECT count(*) FROM people", [], |r| r.get::<_, u32>(0));
    let seen = database.read(|conn| {
        let before = count(conn)?;
        database.write(|tx| Ok(tx.execute("INSERT INTO people VALUES (1, 'ana', '')", [])?))?;
        Ok((before, count(conn)?))
    });
    assert_eq!(seen.unwrap(), (0, 0));
    assert_eq!(database.read(|conn| Ok(count(conn)?)).unwrap(), 1);
}

#[test]
fn an_older_database_is_migrated_after_a_verified_backup() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("people.db");
    first_release(&path, 100);
    let (database, opened) = Database::open(&path, people(3), &clock()).unwrap();
    assert_eq!(opened.migrated_from, Some(1));
    assert_third_release(&database, 100);
    let backup = opened.backup.unwrap();
    assert_eq!(backup, dir.path().join("backups/people-v1-before-20261115T120000.000000Z.db"));
    assert_eq!(version_of(&backup), 1);
    assert_sound(&backup);
    drop(database);
    let (_, opened) = Database::open(&path, people(3), &clock()).unwrap();
    assert_eq!(opened, Default::default(), "the second opening finds nothing to do");
    // A backup is a database like any other: put back, it is migrated again.
    let restored = dir.path().join("restored/people.db");
    std::fs::create_dir(restored.parent().unwrap()).unwrap();
    std::fs::copy(&backup, &restored).unwrap();
    assert_third_release(&Database::open(&restored, people(3), &clock()).unwrap().0, 100);
}

#[test]
fn a_migration_that_fails_is_undone_and_the_backup_stays() {
    static TEXTS: [&str; 3] = [
        "CREATE TABLE half (x); INSERT INTO nowhere VALUES (1);",
        "DELETE FROM people;",
        "CREATE TABLE half (x); COMMIT;",
    ];
    for sql in TEXTS {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("people.db");
        first_release(&path, 10);
        let bad = Migration { number: 2, name: "bad", sql };
        let migrations = Box::leak(Box::new([STEPS[0], bad]));
        let failed = Database::open(&path, Schema { migrations, ..people(1) }, &clock()).unwrap_err();
        assert!(matches!(failed, Error::MigrationFailed { number: 2, .. }), "{sql}: {failed}");
        assert_eq!(names_in(&dir.path().join("backups")).len(), 1);
        if !sql.contains("COMMIT") {
            assert_eq!(version_of(&path), 1);
            assert_third_release(&Database::open(&path, people(3), &clock()).unwrap().0, 10);
        }
    }
}

#[test]
fn no_more_than_three_backups_of_one_version_pile_up() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("people.db");
    first_release(&path, 3);
    let bad = Migration { number: 2, name: "bad", sql: "nonsense" };
    let migrations = Box::leak(Box::new([STEPS[0], bad]));
    for _ in 0..5 {
        Database::open(&path, Schema { migrations, ..people(1) }, &clock()).unwrap_err();
    }
    assert_eq!(names_in(&dir.path().join("backups")).len(), 3);
    assert_eq!(prune_backups(&dir.path().join("backups"), 1).unwrap().len(), 0, "they are not regular ones");
}

/// A copy as a clock that ran a year ahead left it: in its name and in its times.
fn copy_from_the_future(dir: &Path, name: &str) {
    let file = std::fs::File::create(dir.join(name)).unwrap();
    let year = std::time::Duration::from_secs(365 * 24 * 3600);
    file.set_modified(file.metadata().unwrap().modified().unwrap() + year).unwrap();
}

#[test]
fn after_a_clock_that_ran_ahead_the_copies_made_since_are_the_newest() {
    let dir = tempfile::tempdir().unwrap();
    let (path, backups) = (dir.path().join("people.db"), dir.path().join("backups"));
    first_release(&path, 3);
    std::fs::create_dir(&backups).unwrap();
    for month in 1..=4 {
        copy_from_the_future(&backups, &format!("people-v1-2099010{month}T000000.000000Z.db"));
        copy_from_the_future(&backups, &format!("people-v1-before-2099010{month}T000000.000000Z.db"));
    }
    let made = [1, 2].map(|second| {
        let at = format!("2026-11-15T12:00:0{second}.000000Z").parse().unwrap();
        let name = backup_name("people", 1, at);
        backup(&path, &backups.join(&name), &mut go_on).unwrap().unwrap();
        prune_backups(&backups, 2).unwrap();
        assert!(backups.join(&name).exists(), "the copy just made stays");
        name
    });
    let (database, opened) = Database::open(&path, people(3), &clock()).unwrap();
    assert_third_release(&database, 3);
    let before = opened.backup.unwrap();
    assert_eq!(version_of(&before), 1, "the copy made before the migration is there after it");
    let left = names_in(&backups);
    assert_eq!(left.iter().filter(|name| name.contains("-before-")).count(), 3, "{left:?}");
    assert!(made.iter().all(|name| left.contains(name)), "{left:?}");
    assert_eq!(left.len(), 5, "{left:?}");
}

#[test]
fn a_migration_leaves_the_regular_copies_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (path, backups) = (dir.path().join("people.db"), dir.path().join("backups"));
    first_release(&path, 3);
    std::fs::create_dir(&backups).unwrap();
    for day in 10..20 {
        std::fs::write(backups.join(format!("people-v1-202610{day}T000000.000000Z.db")), "").unwrap();
    }
    Database::open(&path, people(3), &clock()).unwrap();
    let left = names_in(&backups);
    assert_eq!(left.len(), 11, "{left:?}");
}

/// Opening fails with that error, and every file is as it was.
#[track_caller]
fn refused(path: &Path, schema: Schema, exit: Exit, code: &str) {
    let before = files::tree_bytes(path.parent().unwrap());
    let problem = Database::open(path, schema, &clock()).unwrap_err().problem();
    assert_eq!((problem.exit, problem.code.to_string().as_str()), (exit, code), "{}", problem.what);
    assert_eq!(files::tree_bytes(path.parent().unwrap()), before, "{}", problem.what);
}

#[test]
fn what_is_newer_or_another_database_is_refused_byte_for_byte_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("people.db");
    drop(Database::open(&path, people(3), &clock()).unwrap());
    refused(&path, people(2), Exit::Refused, "HF-STO-001");
    refused(&path, Schema { application_id: 7, ..people(3) }, Exit::Refused, "HF-STO-002");
    refused(&path, Schema { name: "places", ..people(3) }, Exit::Refused, "HF-STO-002");
    let edited = Migration { sql: "CREATE TABLE people (id INTEGER PRIMARY KEY);", ..STEPS[0] };
    let migrations = Box::leak(Box::new([edited, STEPS[1], STEPS[2]]));
    refused(&path, Schema { migrations, ..people(3) }, Exit::Refused, "HF-STO-003");

    // Also another program's file, and also for a projection: only damage is set aside.
    let other = dir.path().join("other/people.db");
    std::fs::create_dir(other.parent().unwrap()).unwrap();
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    refused(&other, people(3), Exit::Refused, "HF-STO-002");
    refused(&other, Schema { truth: Truth::Projection, ..people(3) }, Exit::Refused, "HF-STO-002");
}

#[test]
fn a_newer_database_with_a_log_that_a_crash_left_keeps_its_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("people.db");
    first_release(&path, 3);
    let (database, _) = Database::open(&path, people(3), &clock()).unwrap();
    // The files as a killed process leaves them: the version is in the log only.
    let crashed = dir.path().join("crashed");
    std::fs::create_dir(&crashed).unwrap();
    for name in ["people.db", "people.db-wal"] {
        std::fs::copy(dir.path().join(name), crashed.join(name)).unwrap();
    }
    drop(database);
    let bytes = || ["people.db", "people.db-wal"].map(|name| std::fs::read(crashed.join(name)).unwrap());
    let before = bytes();
    let refused = Database::open(&crashed.join("people.db"), people(2), &clock()).unwrap_err();
    assert!(matches!(refused, Error::Newer { found: 3, known: 2, .. }), "{refused}");
    assert!(bytes() == before, "nothing was copied back and nothing was cut off");
    assert_third_release(&Database::open(&crashed.join("people.db"), people(3), &clock()).unwrap().0, 3);
}

#[test]
fn a_damaged_database_that_is_its_own_truth_is_an_error_and_untouched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("people.db");
    first_release(&path, 50);
    let whole = std::fs::read(&path).unwrap();
    let page_two_on = [&whole[..4096], &vec![0xa5; whole.len() - 4096]].concat();
    let cases: [&[u8]; 4] = [b"", b"not a database, whatever its name says", &whole[..1000], &page_two_on];
    for bytes in cases {
        std::fs::write(&path, bytes).unwrap();
        refused(&path, people(3), Exit::Damaged, "HF-STO-005");
    }
    std::fs::write(&path, &whole).unwrap();
    assert_third_release(&Database::open(&path, people(3), &clock()).unwrap().0, 50);
    // The file is gone and its log is there: nobody makes an empty database in its place.
    std::fs::remove_file(&path).unwrap();
    std::fs::write(path.with_file_name("people.db-wal"), b"committed rows").unwrap();
    refused(&path, people(3), Exit::Damaged, "HF-STO-005");
}

#[test]
fn a_database_has_one_owner_in_a_process() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("people.db");
    let (database, _) = Database::open(&path, people(3), &clock()).unwrap();
    let detour = dir.path().join("../").join(dir.path().file_name().unwrap()).join("people.db");
    let second = Database::open(&detour, people(3), &clock()).unwrap_err();
    assert_eq!(second.problem().exit, Exit::Busy);
    drop(database);
    Database::open(&detour, people(3), &clock()).unwrap();
}

#[test]
fn a_backup_is_one_moment_of_a_database_that_goes_on_being_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("people.db");
    first_release(&path, 20_000);
    let (database, _) = Database::open(&path, people(3), &clock()).unwrap();
    let to = dir.path().join("backups/now.db");
    let mut steps = 0;
    let done = database
        .backup(&to, &mut |copied| {
            // A person and a pet in one transaction between any two steps.
            steps += 1;
            let n = 1_000_000 + steps;
            let both = |tx: &rusqlite::Transaction<'_>| {
                tx.execute("INSERT INTO people VALUES (?1, ?1, '')", [n])?;
                Ok(tx.execute("INSERT INTO pets (owner) VALUES (?1)", [n])?)
            };
            database.write(both).unwrap();
            assert!(copied.pages <= copied.total);
            ControlFlow::Continue(())
        })
        .unwrap()
        .unwrap();
    assert!(steps > 0, "it was not done in one step");
    assert_sound(&to);
    let counts = |path: &Path| {
        let sql = "SELECT (SELECT count(*) FROM people), (SELECT count(*) FROM pets)";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, u32>(0)?, row.get::<_, u32>(1)?));
        Connection::open(path).unwrap().query_row(sql, [], read).unwrap()
    };
    assert_eq!(counts(&to), (20_000, 20_000), "the moment it began");
    let bytes = std::fs::read(&to).unwrap();
    assert_eq!(done.bytes, bytes.len() as u64);
    assert_eq!(done.digest.bytes, *blake3::hash(&bytes).as_bytes());
    assert_eq!(std::fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_backup_overwrites_nothing_clears_what_a_killed_one_left_and_can_be_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let (path, backups) = (dir.path().join("people.db"), dir.path().join("backups"));
    first_release(&path, 20_000);
    std::fs::create_dir(&backups).unwrap();
    for left in [
        "people-v1-20261001T000000.000000Z.db.partial",
        "people-v1-20261001T000000.000000Z.db.partial-journal",
        "stopped.db.partial-wal",
    ] {
        std::fs::write(backups.join(left), b"half").unwrap();
    }
    let stopped = backup(&path, &backups.join("stopped.db"), &mut |_| ControlFlow::Break(()));
    assert_eq!(stopped.unwrap(), None);
    assert_eq!(names_in(&backups), [""; 0], "nothing is left of it, nor of the killed one");
    backup(&path, &backups.join("one.db"), &mut go_on).unwrap().unwrap();
    let whole = std::fs::read(backups.join("one.db")).unwrap();
    let again = backup(&path, &backups.join("one.db"), &mut go_on).unwrap_err();
    assert!(matches!(again, Error::BackupExists { .. }));
    assert!(std::fs::read(backups.join("one.db")).unwrap() == whole);
    let missing = backup(&dir.path().join("none.db"), &backups.join("two.db"), &mut go_on).unwrap_err();
    assert!(matches!(missing, Error::Missing { .. }));
}

#[test]
fn a_backup_of_a_damaged_database_gets_no_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("people.db");
    first_release(&path, 5000);
    // A page in the middle, which nobody looks at when opening.
    let len = std::fs::metadata(&path).unwrap().len();
    for n in 0..64 {
        files::flip_bit(&path, len / 2 / 4096 * 4096 + n, 3);
    }
    let bad = backup(&path, &dir.path().join("backups/b.db"), &mut go_on).unwrap_err();
    assert_eq!((bad.problem().exit, bad.problem().code.number), (Exit::Damaged, 11), "{bad}");
    assert_eq!(names_in(&dir.path().join("backups")), [""; 0]);
}
