//! A full disk, a read-only disk: an error, and what was there before is as it was.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod shared;

use std::path::Path;
use std::sync::Arc;

use holdfast_store::{Database, EntriesProjection, Error, Index, backup};
use holdfast_testkit::{House, SmallDisk, files, require};
use rusqlite::Connection;
use shared::{
    assert_sound, assert_third_release, clock, fill, first_release, go_on, names_in, people, version_of,
};

fn open_at(house: &House, path: &Path) -> Result<Index, Error> {
    let entries = Box::new(EntriesProjection::new(&house.origin));
    Index::open(path, vec![entries], Arc::new(house.clock.clone())).map(|(index, _)| index)
}

/// Takes all the room but about `left` bytes.
fn fill_disk(disk: &SmallDisk, left: usize) {
    let path = disk.path().join("ballast");
    let mut bytes = 0;
    let chunk = vec![1; 64 << 10];
    let mut file = std::fs::File::create(&path).unwrap();
    while std::io::Write::write_all(&mut file, &chunk).is_ok() {
        bytes += chunk.len();
    }
    file.set_len(bytes.saturating_sub(left) as u64).unwrap();
}

fn empty_disk(disk: &SmallDisk) {
    std::fs::remove_file(disk.path().join("ballast")).unwrap();
}

#[track_caller]
fn assert_full<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert!(matches!(result, Err(Error::DiskFull { .. })), "{result:?}");
}

#[test]
fn a_full_disk_stops_catching_up_and_rebuilding_and_the_tables_stay_good() {
    let Some(disk) = require(SmallDisk::tmpfs(16 << 20)) else { return };
    let house = House::new();
    let journal = house.open();
    fill(&house, &journal, 5000);
    let path = disk.path().join("index.db");
    let index = open_at(&house, &path).unwrap();
    index.catch_up(&journal, &mut go_on).unwrap();
    let before = index.digest().unwrap();
    fill_disk(&disk, 100 << 10);
    assert_full(index.rebuild(&journal, &mut go_on));
    assert!(!names_in(disk.path()).iter().any(|name| name.contains(".new")), "{:?}", names_in(disk.path()));
    assert_eq!(index.digest().unwrap(), before);
    fill(&house, &journal, 20_000);
    empty_disk(&disk);
    fill_disk(&disk, 100 << 10);
    assert_full(index.catch_up(&journal, &mut go_on));
    let rows: u64 = index
        .read(|conn| {
            let sql = "SELECT count(*) - (SELECT applied FROM progress) FROM entries";
            Ok(conn.query_row(sql, [], |row| row.get(0))?)
        })
        .unwrap();
    assert_eq!(rows, 0, "rows and progress agree");
    empty_disk(&disk);
    index.catch_up(&journal, &mut go_on).unwrap();
    let caught_up = index.digest().unwrap();
    index.rebuild(&journal, &mut go_on).unwrap();
    assert_eq!(index.digest().unwrap(), caught_up);
}

#[test]
fn a_full_disk_stops_a_backup_and_a_migration_and_leaves_nothing_half_done() {
    let Some(disk) = require(SmallDisk::tmpfs(8 << 20)) else { return };
    let path = disk.path().join("people.db");
    first_release(&path, 20_000);
    fill_disk(&disk, 200 << 10);
    let to = disk.path().join("copies/people.db");
    assert_full(backup(&path, &to, &mut go_on));
    assert_eq!(names_in(to.parent().unwrap()), [""; 0]);
    assert_full(Database::open(&path, people(3), &clock()).map(drop));
    assert_eq!(version_of(&path), 1, "no backup, no migration");
    assert_eq!(names_in(&disk.path().join("backups")), [""; 0]);
    assert_sound(&path);
    empty_disk(&disk);
    assert_third_release(&Database::open(&path, people(3), &clock()).unwrap().0, 20_000);
}

#[test]
fn a_read_only_disk_is_told_and_nothing_on_it_changes() {
    let Some(disk) = require(SmallDisk::tmpfs(16 << 20)) else { return };
    let house = House::new();
    let journal = house.open();
    fill(&house, &journal, 100);
    let (index, database) = (disk.path().join("index.db"), disk.path().join("people.db"));
    open_at(&house, &index).unwrap().catch_up(&journal, &mut go_on).unwrap();
    first_release(&database, 10);
    disk.remount_read_only().unwrap();
    let before = files::tree_bytes(disk.path());
    let refused = [
        open_at(&house, &index).map(drop),
        open_at(&house, &disk.path().join("other.db")).map(drop),
        Database::open(&database, people(3), &clock()).map(drop),
        backup(&database, &disk.path().join("copy.db"), &mut go_on).map(drop),
        backup(&database, &disk.path().join("copies/copy.db"), &mut go_on).map(drop),
    ];
    for result in refused {
        assert!(matches!(result, Err(Error::ReadOnly { .. })), "{result:?}");
    }
    assert_eq!(files::tree_bytes(disk.path()), before);
    disk.remount_read_write().unwrap();
    let index = open_at(&house, &index).unwrap();
    assert_eq!(index.catch_up(&journal, &mut go_on).unwrap().progress.applied, 100);
    assert_third_release(&Database::open(&database, people(3), &clock()).unwrap().0, 10);
}

/// So many bytes of text in a transaction of its own.
fn one_more(database: &Database) -> Result<(), Error> {
    database.write(|tx| {
        tx.execute("INSERT INTO people (name) VALUES (?1)", ["a".repeat(400)])?;
        Ok(())
    })
}

#[test]
fn a_database_that_keeps_room_is_written_when_the_disk_is_full() {
    let Some(disk) = require(SmallDisk::tmpfs(8 << 20)) else { return };
    let path = disk.path().join("people.db");
    let open = || Database::open(&path, people(1), &clock()).unwrap().0;
    let count = |database: &Database| {
        let rows = |conn: &Connection| {
            Ok(conn.query_row("SELECT count(*) FROM people", [], |row| row.get::<_, u32>(0))?)
        };
        database.read(rows).unwrap()
    };
    let without = open();
    one_more(&without).unwrap();
    fill_disk(&disk, 0);
    assert_full((0..2_000).try_for_each(|_| one_more(&without)));
    drop(without);
    empty_disk(&disk);

    let kept = open();
    kept.keep_room().unwrap();
    let before = count(&kept);
    fill_disk(&disk, 0);
    // Far more than the log alone could take: it begins again.
    (0..1_000).try_for_each(|_| one_more(&kept)).unwrap();
    assert_eq!(count(&kept), before + 1_000);
    // It has an end, and is filled up as soon as there is room.
    assert_full((0..20_000).try_for_each(|_| one_more(&kept)));
    empty_disk(&disk);
    one_more(&kept).unwrap();
    fill_disk(&disk, 0);
    (0..1_000).try_for_each(|_| one_more(&kept)).unwrap();
    drop(kept);
    assert_sound(&path);
}
