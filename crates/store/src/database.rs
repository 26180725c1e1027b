//! One database: opened after a look, migrated after a backup, written by one, read by a few.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use holdfast_types::{Clock, Timestamp};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::backup::{self, BackedUp, Copied};
use crate::claim::Claim;
use crate::connect::{self, Manner};
use crate::error::{Error, Result, sql_cause};
use crate::files::{self, aside_of, folder_of, put_in_place, remove_companions, remove_database, wal_len};
use crate::look::{Found, look};
use crate::migrate;
use crate::readers::Readers;
use crate::room::Room;
use crate::schema::{Schema, Truth};

/// An open database. Hand out references: there is one owner.
#[derive(Debug)]
pub struct Database {
    path: PathBuf,
    schema: Schema,
    /// Before the writer, which tidies up when it is the last to leave.
    readers: Readers,
    /// Absent for a moment while a rebuilt file is put in place, and until the next write should that fail.
    writer: Mutex<Option<Connection>>,
    /// After the connections, whose locks would go with its descriptors.
    room: Mutex<Option<Room>>,
    _claim: Claim,
}

/// What opening had to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    pub created: bool,
    /// The version it had, when it was migrated.
    pub migrated_from: Option<u32>,
    /// The backup made before that; none for a projection.
    pub backup: Option<PathBuf>,
}

impl Database {
    /// Opens the database at `path`, makes it where there is none, and migrates an older one after a backup into
    /// `backups` beside it. What is newer, damaged or another database is refused untouched.
    pub fn open(path: &Path, schema: Schema, clock: &dyn Clock) -> Result<(Database, Opened)> {
        schema.assert_sound();
        Database::open_unexplained(path, schema, clock.now()).map_err(|e| e.at(path))
    }

    fn open_unexplained(path: &Path, schema: Schema, now: Timestamp) -> Result<(Database, Opened)> {
        holdfast_durable::create_dir(folder_of(path))?;
        let claim = Claim::take(path)?;
        let found = look(path, &schema)?;
        // What a killed creation or rebuild left. Never opened: it may be another name of the file itself.
        remove_database(&aside_of(path))?;
        let opened = match found {
            Found::Nothing => create(path, &schema, now)?,
            Found::Database { version } if version < schema.version() => {
                bring_forward(path, &schema, version, now)?
            }
            Found::Database { .. } => Opened::default(),
        };
        let writer = connect::writer(path, Manner::Live(schema.truth))?;
        let (writer, readers) = (Mutex::new(Some(writer)), Readers::new(path));
        let room = Mutex::default();
        Ok((Database { path: path.to_owned(), schema, writer, readers, room, _claim: claim }, opened))
    }

    /// Keeps room on the disk for this database, so that it can be written when the disk is full. For what people must be able to do then; never
    /// for a projection, whose file may be replaced.
    pub fn keep_room(&self) -> Result<()> {
        assert_eq!(self.schema.truth, Truth::Own, "{} may be replaced", self.schema.name);
        self.with_writer(|conn| {
            // Looking at it is what makes its log.
            conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
            let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut *room {
                Some(_) => Ok(()),
                none => none.insert(Room::of(&self.path)?).after_write(conn),
            }
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Changes the database in one transaction: all of it when `change` succeeds, nothing when it does not.
    pub fn write<T>(&self, change: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.with_writer(|conn| {
            let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = change(&tx)?;
            tx.commit()?;
            self.fill_room(conn);
            Ok(value)
        })
    }

    /// What was committed is committed: where the room cannot be filled up, the next write tries again.
    fn fill_room(&self, writer: &Connection) {
        if let Some(room) = &mut *self.room.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = room.after_write(writer);
        }
    }

    /// Looks at one state of the database. Do not read again inside: the connections are few.
    pub fn read<T>(&self, look: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.readers.look(look).map_err(|e| e.at(&self.path))
    }

    /// Copies the database to a new file while it is being written; see [`backup()`](crate::backup()).
    pub fn backup(
        &self,
        to: &Path,
        watch: &mut dyn FnMut(Copied) -> std::ops::ControlFlow<()>,
    ) -> Result<Option<BackedUp>> {
        backup::backup(&self.path, to, watch)
    }

    /// Puts everything that was written into the file itself and empties its write-ahead log, where pages as they were before still lie. For
    /// an owner who overwrites what it deletes (`PRAGMA secure_delete`).
    pub fn scrub(&self) -> Result<()> {
        self.with_writer(|conn| {
            let busy: i64 = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
            match busy {
                0 => Ok(()),
                _ => Err(Error::Busy {
                    path: self.path.clone(),
                    who: "a reader is in the middle of something",
                }),
            }
        })
    }

    /// Runs several transactions without letting another writer in between.
    pub(crate) fn with_writer<T>(&self, work: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        let mut writer = self.writer();
        let run = |writer: &mut Option<Connection>| match writer {
            Some(conn) => work(conn),
            None => work(writer.insert(connect::writer(&self.path, Manner::Live(self.schema.truth))?)),
        };
        run(&mut writer).map_err(|e| e.at(&self.path))
    }

    /// Puts a whole, synced and closed database in the place of this one.
    ///
    /// Whoever is killed here leaves the old one or the new one, whole: everything of the old one is in its file
    /// before its write-ahead log is removed, and only then is the new file renamed over it. A log that stayed
    /// would be replayed into the new file. `last_look` is shown the old file before it goes.
    pub(crate) fn swap_in(
        &self,
        aside: &Path,
        last_look: &dyn Fn(&Path) -> std::io::Result<()>,
    ) -> Result<()> {
        let swap = || {
            let mut writer = self.writer();
            let _nobody_reads = self.readers.shut()?;
            if let Some(conn) = writer.take() {
                retire(conn, &self.path)?;
            }
            remove_companions(&self.path)?;
            last_look(&self.path)?;
            put_in_place(aside, &self.path)?;
            *writer = Some(connect::writer(&self.path, Manner::Live(self.schema.truth))?);
            Ok(())
        };
        swap().map_err(|e: Error| e.at(&self.path))
    }

    fn writer(&self) -> MutexGuard<'_, Option<Connection>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Made whole under another name first, so that an empty or half-made file of this name is always damage.
fn create(path: &Path, schema: &Schema, now: Timestamp) -> Result<Opened> {
    let aside = aside_of(path);
    let make = || {
        drop(migrate::make_aside(path, schema, now)?);
        files::sync_file(&aside)?;
        // Of a database that is gone: replayed into this one, they would bring parts of it back.
        remove_companions(path)?;
        Ok(holdfast_durable::move_to_new(&aside, path)?)
    };
    make().inspect_err(|_: &Error| drop(remove_database(&aside)))?;
    Ok(Opened { created: true, ..Opened::default() })
}

fn bring_forward(path: &Path, schema: &Schema, version: u32, now: Timestamp) -> Result<Opened> {
    let backup = match schema.truth {
        Truth::Own => Some(backup::before_migration(path, schema.name, version, now)?),
        Truth::Projection => None,
    };
    let mut conn = connect::writer(path, Manner::Live(schema.truth))?;
    migrate::migrate(&mut conn, path, schema, version, now)?;
    Ok(Opened { created: false, migrated_from: Some(version), backup })
}

/// Closes the last connection to a database, with everything of its log in its file.
fn retire(conn: Connection, path: &Path) -> Result<()> {
    let busy = || Error::Busy { path: path.to_owned(), who: "its write-ahead log cannot be emptied" };
    match conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)) {
        Ok(0) => {}
        Ok(_) => return Err(busy()),
        // It is about to be replaced, and there is nothing in it to be saved.
        Err(e) if sql_cause(&e) == Some(crate::error::Cause::Damage) => return Ok(()),
        Err(e) => return Err(e.into()),
    }
    conn.close().map_err(|(_, e)| e)?;
    if wal_len(path)? > 0 { Err(busy()) } else { Ok(()) }
}
