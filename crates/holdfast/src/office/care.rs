//! Long work on what is stored: rebuilding the index, copying the databases.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use holdfast_control::{BackedUp, Backup, ProjectionState, Rebuilt, Step, Watch};
use holdfast_store::{Database, Progress, WhyRebuilt, backup_name, databases, prune_backups};
use holdfast_types::Timestamp;
use serde_json::json;
use tracing::warn;

use super::Office;
use crate::disk::Level;
use crate::kinds::{BACKED_UP, INDEX_REBUILT, own_draft};
use crate::problem::{CliError, Result};

impl Office {
    /// Makes the index anew. The old one answers until the new one is whole.
    pub(crate) fn rebuild(&self, watch: &mut Watch<'_>) -> Result<Rebuilt> {
        let _only = self.only_one()?;
        let began = Instant::now();
        let index = self.index()?.clone();
        let done = {
            let _while = Raised::new(&self.rebuilding);
            index.rebuild(&self.journal, &mut |progress| watch(step("rebuilding the index", progress)))?
        };
        if done.stopped {
            return Err(CliError::Interrupted { what: "the rebuild" }.into());
        }
        self.applied.send_replace(done.progress.applied);
        let entries = done.progress.applied;
        self.journal.append(&own_draft(&INDEX_REBUILT, json!({"why": "asked for", "entries": entries}))?)?;
        let seconds = began.elapsed().as_secs_f64();
        Ok(Rebuilt { entries, seconds, projections: self.projections()? })
    }

    /// Writes down that a catch-up made the index anew, and why.
    pub(crate) fn note_rebuilt(&self, why: &WhyRebuilt, entries: u64) -> Result<()> {
        let why = match why {
            WhyRebuilt::Asked => "asked for".to_owned(),
            WhyRebuilt::OtherLog { was } => format!("it was of the log {was}"),
            WhyRebuilt::AheadOfLog { applied, size } => {
                format!(
                    "it had {applied} entries and the log has {size}: the log was put back from an older copy"
                )
            }
            WhyRebuilt::OtherHistory { seq } => format!("entry {seq} is another one now"),
            WhyRebuilt::Damaged { what } => format!("its file was damaged: {what}"),
        };
        warn!(why, "index made anew");
        self.journal.append(&own_draft(&INDEX_REBUILT, json!({"why": why, "entries": entries}))?)?;
        Ok(())
    }

    /// The right to long work, which one has at a time.
    fn only_one(&self) -> Result<MutexGuard<'_, ()>> {
        match self.one_at_a_time.try_lock() {
            Ok(guard) => Ok(guard),
            // Whoever had it panicked; what they left is whole or has another name.
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(CliError::AlreadyAtIt.into()),
        }
    }

    /// Where each projection stands.
    pub(crate) fn projections(&self) -> Result<Vec<ProjectionState>> {
        let size = self.journal.size();
        let state = |standing: holdfast_store::Standing| ProjectionState {
            behind: size.saturating_sub(standing.applied),
            name: standing.name,
            next_seq: standing.applied,
            halted: standing.halted,
        };
        Ok(self.index()?.progress()?.into_iter().map(state).collect())
    }

    /// Copies every database that is its own truth, and lets the oldest copies go.
    pub(crate) fn back_up(&self, watch: &mut Watch<'_>) -> Result<BackedUp> {
        let _only = self.only_one()?;
        let dir = self.house.places.backups();
        let mut copies = vec![self.copied("metrics", self.samples()?.database(), watch)?];
        // A house where nobody ever came in has no accounts to copy.
        if self.house.places.gateway_db().exists() {
            copies.push(self.copied("gateway", crate::gateway::accounts_of(self)?.database(), watch)?);
        }
        let removed = prune_backups(&dir, self.config().config.backup.keep as usize)?;
        let listed: Vec<_> = copies
            .iter()
            .map(|c| json!({"database": c.database, "file": name_of(&c.path), "bytes": c.bytes, "digest": c.digest}))
            .collect();
        let gone: Vec<_> = removed.iter().map(|path| name_of(path)).collect();
        self.journal.append(&own_draft(&BACKED_UP, json!({"copies": listed, "removed": gone}))?)?;
        Ok(BackedUp { copies, removed })
    }

    fn copied(&self, name: &str, database: &Database, watch: &mut Watch<'_>) -> Result<Backup> {
        let version = database.schema().version();
        let to = self.house.places.backups().join(backup_name(name, version, self.clock.now()));
        let file = format!("{name}.db");
        let mut told = |copied: holdfast_store::Copied| {
            watch(Step {
                what: format!("copying {file}"),
                done: copied.pages,
                of: Some(copied.total),
                unit: "pages".into(),
            })
        };
        let Some(copy) = database.backup(&to, &mut told)? else {
            return Err(CliError::Interrupted { what: "the backup" }.into());
        };
        Ok(Backup { database: file, path: copy.path, bytes: copy.bytes, digest: copy.digest.to_string() })
    }

    /// When the newest copy of a database was made, by its name.
    pub(crate) fn last_backup(&self, database: &str) -> Option<Timestamp> {
        newest_backup(&self.house.places.backups(), database.strip_suffix(".db")?, self.clock.now())
    }

    /// When space is short, keeps one backup of each database and lets the older ones go.
    pub(crate) fn make_room(&self, level: Level) -> Result<()> {
        if level == Level::Roomy || !self.house.places.backups().is_dir() {
            return Ok(());
        }
        prune_backups(&self.house.places.backups(), 1)?;
        Ok(())
    }
}

/// A flag that is up while this lives, whatever way it goes.
struct Raised<'a>(&'a AtomicBool);

impl<'a> Raised<'a> {
    fn new(flag: &'a AtomicBool) -> Raised<'a> {
        flag.store(true, Ordering::SeqCst);
        Raised(flag)
    }
}

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// The databases that are copied, by file name.
pub(crate) fn backed_up_databases() -> impl Iterator<Item = &'static str> {
    databases().iter().filter(|d| d.backed_up).map(|d| d.file)
}

/// The time in the name of the newest backup: `metrics-v1-20261115T081716.000000Z.db`. One from a time that is still
/// to come was made by a clock that was wrong, and says nothing about when the last one was made.
fn newest_backup(dir: &Path, name: &str, now: Timestamp) -> Option<Timestamp> {
    let prefix = format!("{name}-v");
    let names = std::fs::read_dir(dir).ok()?.flatten().filter_map(|e| e.file_name().into_string().ok());
    names.filter_map(|file| time_in(file.strip_prefix(&prefix)?)).filter(|at| *at <= now).max()
}

fn time_in(rest: &str) -> Option<Timestamp> {
    let (_, stamp) = rest.strip_suffix(".db")?.split_once('-')?;
    let (date, time) = stamp.split_once('T')?;
    let at = |text: &str, range: std::ops::Range<usize>| text.get(range).map(str::to_owned);
    let text = format!(
        "{}-{}-{}T{}:{}:{}",
        at(date, 0..4)?,
        at(date, 4..6)?,
        at(date, 6..8)?,
        at(time, 0..2)?,
        at(time, 2..4)?,
        time.get(4..)?
    );
    text.parse().ok()
}

/// Whether something last done at `last` is to be done again.
pub(crate) fn due(last: Option<Timestamp>, every: Duration, now: Timestamp) -> bool {
    // A time in the future comes from a clock that was wrong.
    last.is_none_or(|last| last > now || now.since(last) >= every)
}

fn step(what: &str, progress: Progress) -> Step {
    Step {
        what: what.to_owned(),
        done: progress.applied,
        of: Some(progress.total),
        unit: "entries".to_owned(),
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_backup_is_read_from_its_name() {
        let at: Timestamp = "2026-11-15T08:17:16.000123Z".parse().unwrap();
        let (dir, now) = (tempfile::tempdir().unwrap(), at.plus(Duration::from_secs(60)));
        assert_eq!(newest_backup(dir.path(), "metrics", now), None);
        let future = at.plus(Duration::from_secs(86_400 * 365));
        for at in [at, Timestamp::EPOCH, future] {
            let name = backup_name("metrics", 1, at);
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        std::fs::write(dir.path().join("metrics-v1-20271115T081716.000123Z.db.partial"), "").unwrap();
        assert_eq!(newest_backup(dir.path(), "metrics", now), Some(at));
        assert_eq!(newest_backup(dir.path(), "gateway", now), None);
    }

    #[test]
    fn work_is_due_when_never_done_when_old_and_when_the_clock_went_back() {
        let hour = Duration::from_secs(3600);
        let now = Timestamp::EPOCH.plus(hour * 100);
        assert!(due(None, hour, now));
        assert!(due(Some(Timestamp::EPOCH), hour, now));
        assert!(!due(Some(now), hour, now));
        assert!(due(Some(now.plus(hour)), hour, now));
    }
}
