//! The part that keeps the index up to date, and once, when it is, makes switch and journal agree.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use holdfast_journal::Delivery;
use holdfast_store::{Filter, Halted, Order, find};
use holdfast_supervisor::{Failed, Life};
use tracing::{info, warn};

use crate::autonomy::{Turn, settle};
use crate::office::Office;
use crate::problem::{Failure, Result};

/// How often the part looks up when nothing is written: for its beat, and for the stop.
const LOOK_UP: Duration = Duration::from_millis(200);

/// How often it is looked whether a pause stands that the log does not know of.
const MAKE_UP_EVERY: Duration = Duration::from_secs(2);

/// The same while there is one that cannot be written down.
const MAKE_UP_RARELY: Duration = Duration::from_secs(16);

/// How long a start waits for the index before it opens the doors.
const AT_START: Duration = Duration::from_millis(20);

/// The follower's life, on a thread that may block.
pub(crate) async fn run(office: Arc<Office>, life: Life) -> Result<(), Failed> {
    let task = tokio::task::spawn_blocking(move || follow(&office, &life));
    task.await.map_err(|_| Failed("the follower panicked".into()))?.map_err(failed)
}

fn follow(office: &Office, life: &Life) -> Result<()> {
    let index = office.index()?.clone();
    let mut follower = index.follow(&office.journal);
    let mut new = office.journal.subscribe(office.journal.size());
    let mut halted: Vec<Halted> = Vec::new();
    let mut behind = true;
    let (mut made_up, mut again_in) = (Instant::now(), MAKE_UP_EVERY);
    while !life.stop.is_cancelled() {
        life.beat.now();
        // A rebuild feeds a new index meanwhile; feeding the old one would only wait for it.
        if behind && !office.rebuilding.load(Ordering::SeqCst) {
            behind = false;
            let done = follower.catch_up(&mut |_| {
                life.beat.now();
                if life.stop.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            if let Some(why) = &done.rebuilt {
                office.note_rebuilt(why, done.progress.applied)?;
            }
            if done.halted != halted {
                done.halted.iter().for_each(say_halted);
                halted = done.halted;
            }
            move_on(office, done.progress.applied);
            if !office.is_settled() && !done.stopped {
                try_to_settle(office);
            }
        }
        if made_up.elapsed() >= again_in {
            super::descriptors::keep_spare();
            again_in = if make_up(office) { MAKE_UP_EVERY } else { (again_in * 2).min(MAKE_UP_RARELY) };
            made_up = Instant::now();
        }
        match new.next(LOOK_UP)? {
            Delivery::Closed => break,
            Delivery::Quiet => {}
            Delivery::Entry(_) => {
                // One catch-up serves all that are there.
                while let Delivery::Entry(_) = new.next(Duration::ZERO)? {}
                behind = true;
            }
        }
    }
    Ok(())
}

/// Makes up for a pause that could not be written down; whether there is none any more.
fn make_up(office: &Office) -> bool {
    if !office.is_settled() {
        let size = office.journal.size();
        if *office.applied.borrow() >= size {
            try_to_settle(office);
        }
        return office.is_settled();
    }
    let made_up = office.make_up_for_pause();
    if let Err(failure) = made_up {
        let Failed(why) = failed(failure);
        warn!(why, "a pause stands that could not be written down yet");
        return false;
    }
    true
}

/// Says how far the index is. Nobody is woken for what they know already.
fn move_on(office: &Office, applied: u64) {
    office.applied.send_if_modified(|known| std::mem::replace(known, applied) != applied);
}

fn say_halted(halted: &Halted) {
    warn!(projection = halted.name, seq = halted.seq, why = halted.reason, "projection stands still");
}

/// What a start does before anything is promised: most starts find the index a few entries behind. A larger gap is
/// left to the part; until it has closed, autonomy counts as paused.
pub(crate) fn settle_if_near(office: &Office) -> Result<()> {
    let began = Instant::now();
    let caught_up = office.index()?.catch_up(&office.journal, &mut |_| {
        if began.elapsed() > AT_START { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let done = match caught_up {
        Ok(done) => done,
        // The part will meet the same, and say so where people look for it.
        Err(e) => {
            warn!(error = %e, "the index could not be brought up to date at the start");
            return Ok(());
        }
    };
    if let Some(why) = &done.rebuilt {
        office.note_rebuilt(why, done.progress.applied)?;
    }
    office.applied.send_replace(done.progress.applied);
    if !done.stopped {
        try_to_settle(office);
    }
    Ok(())
}

/// Not being able to write it down is no reason to stop following: it stays paused, and the next look tries again.
fn try_to_settle(office: &Office) {
    match settle_switch(office) {
        Ok(()) => office.note_settled(),
        Err(failure) => {
            let Failed(why) = failed(failure);
            warn!(why, "switch and journal could not be made to agree; autonomy counts as paused");
        }
    }
}

/// Makes the switch and the journal agree; needs an index that is up to date.
fn settle_switch(office: &Office) -> Result<()> {
    let _turning = office.turning();
    let index = office.index()?;
    let mut last: Option<(u64, Turn)> = None;
    for (turn, def) in Turn::BOTH {
        let filter = Filter { kind: def.name.parse().ok(), ..Filter::default() };
        let found = index.read(|conn| find(conn, &filter, Order::NewestFirst, 1))?;
        last = last.max_by_seq(found.first().map(|seq| (*seq, turn)));
    }
    if let Some((seq, _)) = last {
        info!(seq, paused = office.switch.standing().is_paused(), "the switch's last turn");
    }
    settle(&office.switch, last.map(|(_, turn)| turn), &office.journal, office.clock.now())?;
    // Either it was the last turn, or it is the entry that was just written.
    let seq = match last {
        Some((seq, Turn::Paused)) => seq,
        _ => office.journal.size().saturating_sub(1),
    };
    office.note_pause_recorded(seq);
    Ok(())
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
