//! Carries entries from the log into the tables, in batches.
//!
//! A thread reads lines and finds their headers while this one applies the batch before: on two cores the replay
//! takes as long as the slower of the two. A handful of entries is applied without a thread.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use holdfast_journal::Entries;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::{Error, Result};
use crate::progress::{self, Progress, Standing};
use crate::projection::{Halt, Projection};
use crate::seen::Scanned;

/// Entries in one transaction: beyond some thousand a commit costs nothing beside them, and a watcher is asked
/// often enough to stop soon.
const BATCH_LEN: usize = 8192;
/// The same bound for long lines, so that a batch is a few megabytes whatever is in it.
const BATCH_BYTES: usize = 8 << 20;
/// Batches on their way: one being filled while another waits. More would only hold memory.
const ON_THE_WAY: usize = 2;
/// Below this a thread costs more than it saves.
const FEW: u64 = 256;

/// Lines in the order of the log.
type Batch = Vec<Scanned>;

/// What is being fed.
pub(crate) struct Feed<'a> {
    pub(crate) conn: &'a mut Connection,
    pub(crate) projections: &'a mut [Box<dyn Projection>],
    /// One per projection, in the same order.
    pub(crate) standings: Vec<Standing>,
    /// The log's name, to be written down with the first entry.
    pub(crate) origin: &'a str,
}

/// How a feed ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    AllApplied,
    Stopped,
}

impl Feed<'_> {
    /// The first entry that some running projection has not applied; `None` when all of them stand still.
    pub(crate) fn from(&self) -> Option<u64> {
        self.standings.iter().filter(|s| s.halted.is_none()).map(|s| s.applied).min()
    }

    /// Lets projections stand still whose next entries cannot be had any more, when there is one that is past them:
    /// one that lags must not hold up the others. Gives where the feed goes on; `None` when nobody is past them.
    pub(crate) fn leave_behind(
        &mut self,
        reason: &str,
        can_be_read: impl Fn(u64) -> bool,
    ) -> Result<Option<u64>> {
        let running = |s: &&mut Standing| s.halted.is_none();
        let from = self.from();
        let past = self.standings.iter().filter(|s| s.halted.is_none()).map(|s| s.applied);
        let past: BTreeSet<u64> = past.filter(|applied| Some(*applied) > from).collect();
        let Some(next) = past.into_iter().find(|applied| can_be_read(*applied)) else { return Ok(None) };
        let mut standings = self.standings.clone();
        let tx = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for standing in standings.iter_mut().filter(running).filter(|s| s.applied < next) {
            standing.halted = Some(reason.to_owned());
            progress::record(&tx, standing)?;
        }
        tx.commit()?;
        self.standings = standings;
        Ok(Some(next))
    }

    /// Applies what `entries` gives up to (not including) the seq `until`, and leaves it there for the next time.
    pub(crate) fn run(
        &mut self,
        entries: Entries,
        until: u64,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(Ended, Entries)> {
        if until.saturating_sub(entries.position()) <= FEW {
            return self.run_alone(entries, until, watch);
        }
        std::thread::scope(|scope| {
            let (send, receive) = sync_channel(ON_THE_WAY);
            let reader = std::thread::Builder::new()
                .name("holdfast-replay".into())
                .spawn_scoped(scope, move || read_ahead(entries, until, &send))?;
            let ended = self.take_all(&receive, until, watch);
            // A reader that waits to hand over its batch learns that nobody takes it.
            drop(receive);
            match reader.join() {
                Ok(entries) => Ok((ended?, entries)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    fn run_alone(
        &mut self,
        mut entries: Entries,
        until: u64,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(Ended, Entries)> {
        let batch = next_batch(&mut entries, until)?;
        if batch.is_empty() {
            return Ok((Ended::AllApplied, entries));
        }
        self.apply(&batch)?;
        Ok((self.tell(until, watch).unwrap_or(Ended::AllApplied), entries))
    }

    fn take_all(
        &mut self,
        batches: &Receiver<Result<Batch>>,
        until: u64,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Ended> {
        for batch in batches {
            self.apply(&batch?)?;
            if let Some(ended) = self.tell(until, watch) {
                return Ok(ended);
            }
        }
        Ok(Ended::AllApplied)
    }

    /// Tells the watcher; gives how it ends, if it ends here.
    fn tell(&self, total: u64, watch: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Option<Ended> {
        match self.from() {
            Some(applied) => watch(Progress { applied, total }).is_break().then_some(Ended::Stopped),
            // Nobody is left to feed.
            None => Some(Ended::AllApplied),
        }
    }

    /// One batch, one transaction: the rows of every projection, how far each is now, and which entry was last.
    ///
    /// A projection that halts has put rows of that entry into its tables. All of it is rolled back and done again
    /// without that entry: halts are rare, and marking every batch so that one projection alone could be taken back
    /// would cost every batch. Each time one projection has fewer entries to take, so this ends.
    fn apply(&mut self, batch: &[Scanned]) -> Result<()> {
        let mut stops: Vec<Option<Stop>> = self.projections.iter().map(|_| None).collect();
        loop {
            match self.attempt(batch, &stops) {
                Ok(standings) => {
                    self.standings = standings;
                    return Ok(());
                }
                Err(failed) => {
                    // Rolled back: what the projections remember of these rows is not so.
                    self.projections.iter_mut().for_each(|p| p.forget());
                    match failed {
                        Failed::Halted { which, stop } => stops[which] = Some(stop),
                        Failed::Trouble(e) => return Err(e),
                    }
                }
            }
        }
    }

    fn attempt(&mut self, batch: &[Scanned], stops: &[Option<Stop>]) -> Result<Vec<Standing>, Failed> {
        let tx = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut standings = self.standings.clone();
        for (which, standing) in standings.iter_mut().enumerate().filter(|(_, s)| s.halted.is_none()) {
            let stop = stops[which].as_ref();
            let new = part(batch, standing.applied, stop);
            apply_each(&tx, self.projections[which].as_mut(), new)
                .map_err(|(n, halt)| Failed::of(which, new[n].seq(), halt))?;
            standing.applied = match (stop, new.last()) {
                (Some(stop), _) => stop.seq,
                (None, Some(last)) => last.seq() + 1,
                (None, None) => standing.applied,
            };
            standing.halted = stop.map(|stop| stop.reason.clone());
            progress::record(&tx, standing)?;
        }
        let front = standings.iter().map(|s| s.applied).max().unwrap_or(0);
        if let Some(last) = batch.last().filter(|last| last.seq() + 1 >= front) {
            progress::set_tip(&tx, &progress::tip_of(last.seq(), last.line()))?;
            progress::set_fact(&tx, "origin", self.origin)?;
        }
        tx.commit()?;
        Ok(standings)
    }
}

/// Where a projection halts in a batch.
struct Stop {
    seq: u64,
    reason: String,
}

enum Failed {
    Halted { which: usize, stop: Stop },
    Trouble(Error),
}

impl Failed {
    fn of(which: usize, seq: u64, halt: Halt) -> Failed {
        match halt.into_trouble() {
            Ok(trouble) => Failed::Trouble(trouble.into()),
            Err(halt) => Failed::Halted { which, stop: Stop { seq, reason: halt.to_string() } },
        }
    }
}

impl From<rusqlite::Error> for Failed {
    fn from(e: rusqlite::Error) -> Self {
        Failed::Trouble(e.into())
    }
}

/// What a projection has not applied yet, up to where it halts.
fn part<'a>(batch: &'a [Scanned], applied: u64, stop: Option<&Stop>) -> &'a [Scanned] {
    let place = |seq: u64| batch.partition_point(|entry| entry.seq() < seq);
    let end = stop.map_or(batch.len(), |stop| place(stop.seq));
    &batch[place(applied).min(end)..end]
}

/// On failure the place of the entry that halts, with the reason.
fn apply_each(
    tx: &Transaction<'_>,
    projection: &mut dyn Projection,
    entries: &[Scanned],
) -> Result<(), (usize, Halt)> {
    for (n, entry) in entries.iter().enumerate() {
        let mut apply = |entry: &Scanned| {
            let seen = entry.seen()?;
            if projection.wants(seen.kind()) { projection.apply(tx, &seen) } else { Ok(()) }
        };
        apply(entry).map_err(|halt| (n, halt))?;
    }
    if entries.is_empty() {
        return Ok(());
    }
    // Which entry it was cannot be told any more: none of these is applied.
    projection.settle(tx).map_err(|e| (0, Halt::Sql(e)))
}

/// Reads batch after batch until the end, an error, or nobody wants them any more.
fn read_ahead(mut entries: Entries, until: u64, send: &SyncSender<Result<Batch>>) -> Entries {
    loop {
        let batch = next_batch(&mut entries, until);
        let last = batch.as_ref().map_or(true, Vec::is_empty);
        if batch.as_ref().is_ok_and(Vec::is_empty) || send.send(batch).is_err() || last {
            return entries;
        }
    }
}

fn next_batch(entries: &mut Entries, until: u64) -> Result<Batch> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < BATCH_LEN && bytes < BATCH_BYTES && Entries::position(entries) < until {
        let Some(raw) = entries.next_raw()? else { break };
        bytes += raw.line.len();
        batch.push(Scanned::new(raw));
    }
    Ok(batch)
}
