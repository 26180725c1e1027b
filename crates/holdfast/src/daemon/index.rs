//! The part that keeps the index up to date, and once, when it is, makes switch and journal agree.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use holdfast_journal::Delivery;
use holdfast_store::{Filter, Order, WhyRebuilt, find};
use holdfast_supervisor::{Failed, Life};
use serde_json::json;
use tracing::{info, warn};

use crate::autonomy::{Turn, settle};
use crate::kinds::{INDEX_REBUILT, own_draft};
use crate::office::Office;
use crate::problem::{Failure, Result};

/// How often the part looks up when nothing is written: for its beat, and for the stop.
const LOOK_UP: Duration = Duration::from_millis(500);

/// The follower's life, on a thread that may block.
pub(crate) async fn run(office: Arc<Office>, life: Life) -> Result<(), Failed> {
    let task = tokio::task::spawn_blocking(move || follow(&office, &life));
    task.await.map_err(|_| Failed("the follower panicked".into()))?.map_err(failed)
}

fn follow(office: &Office, life: &Life) -> Result<()> {
    let index = office.index()?.clone();
    let mut follower = index.follow(&office.journal);
    let mut new = office.journal.subscribe(office.journal.size());
    let mut settled = false;
    while !life.stop.is_cancelled() {
        life.beat.now();
        // A rebuild feeds a new index meanwhile; feeding the old one would only wait for it.
        if !office.rebuilding.load(Ordering::SeqCst) {
            let done = follower.catch_up(&mut |_| {
                life.beat.now();
                if life.stop.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            if let Some(why) = &done.rebuilt {
                write_down(office, why, done.progress.applied)?;
            }
            for halted in &done.halted {
                warn!(
                    projection = halted.name,
                    seq = halted.seq,
                    why = halted.reason,
                    "projection stands still"
                );
            }
            office.applied.send_replace(done.progress.applied);
            if !settled && !done.stopped {
                settle_switch(office)?;
                settled = true;
            }
        }
        match new.next(LOOK_UP)? {
            Delivery::Closed => break,
            Delivery::Quiet => {}
            // One catch-up serves all that are there.
            Delivery::Entry(_) => while let Delivery::Entry(_) = new.next(Duration::ZERO)? {},
        }
    }
    Ok(())
}

fn write_down(office: &Office, why: &WhyRebuilt, entries: u64) -> Result<()> {
    let why = match why {
        WhyRebuilt::Asked => "asked for".to_owned(),
        WhyRebuilt::OtherLog { was } => format!("it was of the log {was}"),
        WhyRebuilt::AheadOfLog { applied, size } => {
            format!(
                "it had {applied} entries and the log has {size}: the log was put back from an older copy"
            )
        }
        WhyRebuilt::OtherHistory { seq } => format!("entry {seq} is another one now"),
    };
    warn!(why, "index made anew");
    office.journal.append(&own_draft(&INDEX_REBUILT, json!({"why": why, "entries": entries}))?)?;
    Ok(())
}

/// Makes the switch and the journal agree; needs an index that is up to date.
fn settle_switch(office: &Office) -> Result<()> {
    let index = office.index()?;
    let mut last: Option<(u64, Turn)> = None;
    for (turn, def) in Turn::BOTH {
        let filter = Filter { kind: def.name.parse().ok(), ..Filter::default() };
        let found = index.read(|conn| find(conn, &filter, Order::NewestFirst, 1))?;
        last = last.max_by_seq(found.first().map(|seq| (*seq, turn)));
    }
    if let Some((seq, _)) = last {
        info!(seq, paused = office.is_paused().is_paused(), "the switch's last turn");
    }
    settle(&office.switch, last.map(|(_, turn)| turn), &office.journal, office.clock.now())
}

trait Later {
    fn max_by_seq(self, other: Self) -> Self;
}

impl Later for Option<(u64, Turn)> {
    fn max_by_seq(self, other: Self) -> Self {
        match (self, other) {
            (Some(a), Some(b)) if a.0 > b.0 => Some(a),
            (a, None) => a,
            (_, b) => b,
        }
    }
}

pub(crate) fn failed(failure: Failure) -> Failed {
    match failure {
        Failure::Problem(problem) => Failed(format!("{} {}", problem.code, problem.what)),
        Failure::ReaderLeft => Failed("the reader left".into()),
    }
}
