//! `index.db`: projections of the journal, each with the seq it has applied.
//!
//! It holds nothing that is not in the log. So it is thrown away rather than trusted: damaged, it is set aside, at
//! opening and whenever a catch-up or a reader meets the damage; made from another log, from another history of this log, or ahead of it, it is built anew. A rebuild happens in
//! a file of its own while readers go on with the old one.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdfast_journal::Entries;
use holdfast_types::{Clock, Digest};
use rusqlite::Connection;

use crate::damaged::{keep_damaged, set_aside};
use crate::database::Database;
use crate::digest;
use crate::error::{Error, Result};
use crate::feed::{Ended, Feed};
use crate::files::{aside_of, remove_database, sync_file};
use crate::log::Log;
use crate::migrate;
use crate::progress::{self, Halted, INDEX, Indexes, Progress, Standing, Tip};
use crate::projection::Projection;

type Projections = Vec<Box<dyn Projection>>;

/// The open index.
pub struct Index {
    database: Database,
    projections: Mutex<Projections>,
    clock: Arc<dyn Clock>,
    /// What a reader found damaged; the next catch-up rebuilds.
    damage: Mutex<Option<String>>,
}

/// What opening had to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexOpened {
    pub created: bool,
    /// The file that was there was damaged.
    pub set_aside: Option<SetAside>,
    /// Projections that begin again from the first entry, because they are new or have changed.
    pub renewed: Vec<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    pub kept_in: PathBuf,
    pub why: String,
}

/// Why an index could not go on from where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyRebuilt {
    /// Somebody wanted it.
    Asked,
    /// It was made from a log of another name.
    OtherLog { was: String },
    /// It had applied more than the log has: the log was put back from an older copy.
    AheadOfLog { applied: u64, size: u64 },
    /// The last entry it had applied is another one now.
    OtherHistory { seq: u64 },
    /// Its file is damaged; it is kept beside the new one as `index.db.damaged-<n>`.
    Damaged { what: String },
}

/// What a catch-up or rebuild came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaughtUp {
    /// How far all running projections are now, and how long the log was when it began.
    pub progress: Progress,
    /// The tables were made anew. Not so when it was stopped: then the old ones are still there.
    pub rebuilt: Option<WhyRebuilt>,
    /// The watcher stopped it; what was committed stays, and the next catch-up goes on from there.
    pub stopped: bool,
    /// Projections that stand still before an entry they cannot take.
    pub halted: Vec<Halted>,
}

impl Index {
    /// Opens the index, or makes an empty one. A damaged file is set aside: the next catch-up fills a new one.
    pub fn open(
        path: &Path,
        projections: Projections,
        clock: Arc<dyn Clock>,
    ) -> Result<(Index, IndexOpened)> {
        let mut projections = projections;
        match open_prepared(path, &mut projections, clock.as_ref()) {
            Ok((database, opened)) => Ok((Index::new(database, projections, clock), opened)),
            Err(Error::Damaged { what, .. }) => {
                let kept_in = set_aside(path).map_err(|e| Error::from(e).at(path))?;
                let (database, opened) = open_prepared(path, &mut projections, clock.as_ref())?;
                let set_aside = Some(SetAside { kept_in, why: what });
                Ok((Index::new(database, projections, clock), IndexOpened { set_aside, ..opened }))
            }
            Err(e) => Err(e),
        }
    }

    fn new(database: Database, projections: Projections, clock: Arc<dyn Clock>) -> Index {
        Index { database, projections: Mutex::new(projections), clock, damage: Mutex::default() }
    }

    /// Applies what the log has and the index has not. An index that does not belong to this log, is ahead of it,
    /// or turns out to be damaged, is rebuilt. Between batches `watch` may stop it.
    pub fn catch_up<'a>(
        &'a self,
        log: impl Into<Log<'a>>,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<CaughtUp> {
        self.follow(log).catch_up(watch)
    }

    /// For catching up again and again: keeps its place in the log, so that one new entry costs one read.
    pub fn follow<'a>(&'a self, log: impl Into<Log<'a>>) -> Follower<'a> {
        Follower { index: self, log: log.into(), place: None }
    }

    /// Makes all tables anew from the first entry on, beside the old ones, and puts them in their place when
    /// they are whole.
    pub fn rebuild<'a>(
        &'a self,
        log: impl Into<Log<'a>>,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<CaughtUp> {
        self.rebuild_because(&mut self.projections(), log.into(), WhyRebuilt::Asked, watch)
    }

    /// Looks at one state of all tables. Do not read again inside: the connections are few, and a rebuild waits
    /// for all of them to come back.
    pub fn read<T>(&self, look: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.database.read(look).inspect_err(|e| {
            if let Error::Damaged { what, .. } = e {
                self.damage().get_or_insert_with(|| what.clone());
            }
        })
    }

    /// For decisions on a disk that takes no write: the tables as they are, and a reader of the entries that the projection `name` has
    /// not applied yet. `None` where the tables cannot be trusted, because they are damaged, belong to another log or another history of
    /// this one, or because the projection stands still.
    pub fn read_with_rest<'a, T>(
        &'a self,
        log: impl Into<Log<'a>>,
        name: &str,
        look: impl FnOnce(&Connection, Entries) -> Result<T>,
    ) -> Result<Option<T>> {
        let log = log.into();
        if self.damage().is_some() {
            return Ok(None);
        }
        self.read(|conn| {
            let standings = progress::standings(conn)?;
            let running = standings.into_iter().find(|s| s.name == name).filter(|s| s.halted.is_none());
            let Some(standing) = running else { return Ok(None) };
            match place_in(conn, log, Some(standing.applied), log.size()?)? {
                Place::Here(entries) => look(conn, entries).map(Some),
                Place::Nowhere(_) => Ok(None),
            }
        })
    }

    /// Where each projection stands, also those that this program does not have.
    pub fn progress(&self) -> Result<Vec<Standing>> {
        self.read(|conn| Ok(progress::standings(conn)?))
    }

    /// One digest per table of all its rows in the order of the primary key.
    pub fn digest(&self) -> Result<BTreeMap<String, Digest>> {
        self.read(|conn| Ok(digest::tables(conn)?))
    }

    fn projections(&self) -> MutexGuard<'_, Projections> {
        self.projections.lock().unwrap_or_else(|poisoned| {
            // One panicked, and its batch was rolled back: what they remember of it is not so.
            let mut projections = poisoned.into_inner();
            projections.iter_mut().for_each(|p| p.forget());
            self.projections.clear_poison();
            projections
        })
    }

    fn damage(&self) -> MutexGuard<'_, Option<String>> {
        self.damage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rebuild_because(
        &self,
        projections: &mut Projections,
        log: Log<'_>,
        why: WhyRebuilt,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<CaughtUp> {
        let aside = aside_of(self.database.path());
        let built = self.build_aside(projections, log, watch).map_err(|e| e.at(&aside));
        // Whatever came of it, what they remember is of the tables aside.
        projections.iter_mut().for_each(|p| p.forget());
        let swapped = built.and_then(|mut done| {
            if !done.stopped {
                let keep = matches!(why, WhyRebuilt::Damaged { .. });
                self.database.swap_in(&aside, &|path| if keep { keep_damaged(path) } else { Ok(()) })?;
                *self.damage() = None;
                done.rebuilt = Some(why);
            }
            Ok(done)
        });
        // Nothing is left to remove when it was put in place; after a failure that one is what counts.
        let removed = remove_database(&aside).map_err(|e| Error::from(e).at(&aside));
        swapped.and_then(|done| removed.map(|()| done))
    }

    fn build_aside(
        &self,
        projections: &mut Projections,
        log: Log<'_>,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<CaughtUp> {
        let path = self.database.path();
        let mut conn = migrate::make_aside(path, &INDEX, self.clock.now())?;
        progress::prepare(&mut conn, projections, Indexes::Later)?;
        let size = log.size()?;
        let mut feed = feed(&mut conn, projections, log)?;
        let (ended, _) = feed.run(log.entries(0), size, watch)?;
        let done = caught_up(&feed, size, ended);
        progress::make_indexes(&mut conn, projections)?;
        conn.close().map_err(|(_, e)| e)?;
        sync_file(&aside_of(path))?;
        Ok(done)
    }
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("database", &self.database).finish_non_exhaustive()
    }
}

/// An index and its place in a log.
#[derive(Debug)]
pub struct Follower<'a> {
    index: &'a Index,
    log: Log<'a>,
    /// Where the last catch-up ended, and the last entry that the index had applied then.
    place: Option<(Entries, Option<Tip>)>,
}

impl Follower<'_> {
    /// See [`Index::catch_up`].
    pub fn catch_up(&mut self, watch: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<CaughtUp> {
        let (index, log) = (self.index, self.log);
        let mut projections = index.projections();
        let size = log.size()?;
        let place = self.place.take();
        let damage = index.damage().clone();
        if let Some(what) = damage {
            return index.rebuild_because(&mut projections, log, WhyRebuilt::Damaged { what }, watch);
        }
        let fed = index.database.with_writer(|conn| {
            let tip = progress::tip(conn)?;
            let mut feed = feed(conn, &mut projections, log)?;
            let from = feed.from();
            let same = |(entries, then): &(Entries, Option<Tip>)| {
                Some(entries.position()) == from && entries.position() <= size && *then == tip
            };
            // A reader that stands where the index does, with the same entry behind it, need not look for it.
            let entries = match place.filter(same) {
                Some((entries, _)) => entries,
                None => match place_in(feed.conn, log, from, size)? {
                    Place::Here(entries) => entries,
                    Place::Nowhere(why) => return Ok(Fed::Err(why)),
                },
            };
            let (ended, entries) = match from {
                Some(_) => run(&mut feed, entries, log, size, watch)?,
                None => (Ended::AllApplied, entries),
            };
            let done = caught_up(&feed, size, ended);
            Ok(Fed::Ok((done, (entries, progress::tip(conn)?))))
        });
        let fed = match fed {
            // The next attempt would meet the same page; everything in it is in the log.
            Err(Error::Damaged { what, .. }) => Err(WhyRebuilt::Damaged { what }),
            fed => fed?,
        };
        match fed {
            Ok((done, place)) => {
                self.place = Some(place);
                Ok(done)
            }
            Err(why) => index.rebuild_because(&mut projections, log, why, watch),
        }
    }
}

/// What a feed came to and where it ended, or why the index does not fit the log.
type Fed = Result<(CaughtUp, (Entries, Option<Tip>)), WhyRebuilt>;

/// Feeds from `entries` on. Where entries are not to be had any more, whoever lags behind them is left there.
fn run(
    feed: &mut Feed<'_>,
    entries: Entries,
    log: Log<'_>,
    size: u64,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<(Ended, Entries)> {
    let gone = match feed.run(entries, size, watch) {
        Err(Error::Journal(gone @ holdfast_journal::Error::Gone { .. })) => gone,
        other => return other,
    };
    let can_be_read = |seq: u64| seq >= size || log.entries(seq).next_raw().is_ok();
    match feed.leave_behind(&gone.to_string(), can_be_read)? {
        Some(next) => feed.run(log.entries(next), size, watch),
        None => Err(gone.into()),
    }
}

enum Place {
    Here(Entries),
    Nowhere(WhyRebuilt),
}

/// A reader at the entry `from`, if the index belongs to this log as it is now.
fn place_in(conn: &Connection, log: Log<'_>, from: Option<u64>, size: u64) -> Result<Place> {
    if let Some(was) = progress::fact(conn, "origin")?.filter(|was| was != log.origin().as_str()) {
        return Ok(Place::Nowhere(WhyRebuilt::OtherLog { was }));
    }
    let applied = progress::standings(conn)?.iter().map(|s| s.applied).max().unwrap_or(0);
    if applied > size {
        return Ok(Place::Nowhere(WhyRebuilt::AheadOfLog { applied, size }));
    }
    let from = from.unwrap_or(size);
    let Some(tip) = progress::tip(conn)?.filter(|tip| tip.seq < size) else {
        return Ok(Place::Here(log.entries(from)));
    };
    let mut entries = log.entries(tip.seq);
    match entries.next_raw() {
        Ok(Some(raw)) if progress::tip_of(raw.seq, &raw.line) == tip => {}
        // It left for an archive that is not at hand; what comes after may still be here.
        Err(holdfast_journal::Error::Gone { .. }) => {}
        Ok(_) => return Ok(Place::Nowhere(WhyRebuilt::OtherHistory { seq: tip.seq })),
        Err(e) => return Err(e.into()),
    }
    Ok(Place::Here(if entries.position() == from { entries } else { log.entries(from) }))
}

fn feed<'a>(conn: &'a mut Connection, projections: &'a mut Projections, log: Log<'a>) -> Result<Feed<'a>> {
    let mut known: BTreeMap<String, Standing> =
        progress::standings(conn)?.into_iter().map(|s| (s.name.clone(), s)).collect();
    let standings = projections
        .iter()
        .map(|p| known.remove(p.name()).ok_or_else(|| Error::Sql(rusqlite::Error::QueryReturnedNoRows)));
    let standings = standings.collect::<Result<_>>()?;
    Ok(Feed { conn, projections, standings, origin: log.origin().as_str() })
}

fn caught_up(feed: &Feed<'_>, total: u64, ended: Ended) -> CaughtUp {
    let halted = feed.standings.iter().filter_map(|s| {
        let reason = s.halted.clone()?;
        Some(Halted { name: s.name.clone(), seq: s.applied, reason })
    });
    // With nobody left running, how far the slowest came.
    let slowest = || feed.standings.iter().map(|s| s.applied).min().unwrap_or(0);
    CaughtUp {
        progress: Progress { applied: feed.from().unwrap_or_else(slowest), total },
        rebuilt: None,
        stopped: ended == Ended::Stopped,
        halted: halted.collect(),
    }
}

fn open_prepared(
    path: &Path,
    projections: &mut Projections,
    clock: &dyn Clock,
) -> Result<(Database, IndexOpened)> {
    let (database, opened) = Database::open(path, INDEX, clock)?;
    let renewed = database.with_writer(|conn| progress::prepare(conn, projections, Indexes::Now))?;
    Ok((database, IndexOpened { created: opened.created, set_aside: None, renewed }))
}
