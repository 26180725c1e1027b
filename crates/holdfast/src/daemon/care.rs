//! The part that does what is due now and then: copies of the databases, the full check of the journal.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdfast_config::Backup;
use holdfast_notice::{Notice, Severity};
use holdfast_supervisor::{Failed, Life};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::parts::Shared;
use crate::disk::Level;
use crate::kinds::own_actor;
use crate::office::{Office, due};
use crate::problem::{CliError, Failure, Result};

/// The first look: what was due while nobody was here is not put off, and the start itself comes first.
const FIRST_LOOK: Duration = Duration::from_secs(1);

/// How often the part looks whether something is due.
const LOOK: Duration = Duration::from_secs(60);
const BEAT: Duration = Duration::from_secs(20);

/// What work under way gets at a stop before it is said that it was not finished: less than the least grace.
const LAST_MOMENT: Duration = Duration::from_millis(400);

pub(crate) async fn run(shared: Shared, life: Life) -> Result<(), Failed> {
    let mut pause = FIRST_LOOK;
    loop {
        let office = &shared.office;
        let looking = async {
            tokio::time::sleep(pause).await;
            index_caught_up(office).await;
        };
        tokio::select! {
            // Both only wait.
            () = life.beat.while_waiting(BEAT, looking) => pause = LOOK,
            () = life.stop.cancelled() => return Ok(()),
        }
        let (doing, mut work) = {
            let (shared, stop, doing) = (shared.clone(), life.stop.clone(), Arc::new(Mutex::new("")));
            (doing.clone(), tokio::task::spawn_blocking(move || what_is_due(&shared, &stop, &doing)))
        };
        tokio::select! {
            // The full check reads only and may be left behind; a copy that is not whole has another name and ends
            // by itself when it sees the stop.
            done = life.beat.while_waiting(BEAT, &mut work) => done.map_err(|_| Failed("it panicked".into()))?,
            () = life.stop.cancelled() => {
                // Nearly always it ends at once: nothing was due, or the stop was seen.
                if tokio::time::timeout(LAST_MOMENT, work).await.is_ok() {
                    return Ok(());
                }
                let doing = *doing.lock().unwrap_or_else(PoisonError::into_inner);
                if doing.is_empty() {
                    // It only reads, and is due again at the next start.
                    info!("the full check of the journal is left for the next start");
                    return Ok(());
                }
                return Err(Failed(format!("{doing} was not finished")));
            }
        }
    }
}

/// When something was last done is asked of the index: one that is behind would have it done again. One that does
/// not get there is no reason never to look.
async fn index_caught_up(office: &Office) {
    let (size, mut applied) = (office.journal.size(), office.applied.subscribe());
    let _ = tokio::time::timeout(LOOK, applied.wait_for(|applied| *applied >= size)).await;
}

/// Each on its own: one that fails, or finds somebody else at it, does not keep the other from being done.
fn what_is_due(shared: &Shared, stop: &CancellationToken, doing: &Mutex<&'static str>) {
    let now_doing = |what| *doing.lock().unwrap_or_else(PoisonError::into_inner) = what;
    now_doing("a copy of the databases");
    if let Err(failure) = copy_if_due(shared, stop) {
        tell_trouble(shared, "Copying the databases failed.", failure);
    }
    now_doing("");
    if let Err(failure) = shared.office.look_after_approvals() {
        tell_trouble(shared, "Looking after the approvals failed.", failure);
    }
    if let Err(failure) = check_if_due(shared, stop) {
        tell_trouble(shared, "Checking the whole journal failed.", failure);
    }
}

fn hours(n: u32) -> Duration {
    Duration::from_secs(u64::from(n) * 3600)
}

fn copy_if_due(shared: &Shared, stop: &CancellationToken) -> Result<()> {
    let office = &shared.office;
    let loaded = office.config();
    let Backup { enabled, every_hours, keep: _ } = loaded.config.backup;
    let roomy = office.usage()?.level(office.budget()) == Level::Roomy;
    if !enabled || !roomy || !due(office.last_backup("metrics.db"), hours(every_hours), office.clock.now()) {
        return Ok(());
    }
    let done = office.back_up(&mut |_| {
        if stop.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    info!(copies = done.copies.len(), removed = done.removed.len(), "databases copied");
    Ok(())
}

fn check_if_due(shared: &Shared, stop: &CancellationToken) -> Result<()> {
    let office = &shared.office;
    let last = office.last_verified()?;
    if let Some(last) = &last {
        shared.metrics.note_verified(last.findings, last.at);
    }
    let every = office.config().config.verify.every_hours;
    let is_due = every > 0 && due(last.map(|last| last.at), hours(every), office.clock.now());
    if is_due && !stop.is_cancelled() { full_check(shared, stop) } else { Ok(()) }
}

/// Somebody else's rebuild, or a stop, is a reason to wait; anything else is told, folded into one while it lasts.
fn tell_trouble(shared: &Shared, what: &str, failure: Failure) {
    let reasons = [CliError::AlreadyAtIt, CliError::Interrupted { what: "it" }].map(|e| e.problem().code);
    let Failure::Problem(problem) = failure else { return };
    if reasons.contains(&problem.code) {
        return;
    }
    warn!(code = %problem.code, why = problem.what, "{what}");
    let notice = Notice::new(Severity::Warning, own_actor(), what);
    let notice = notice.with("code", problem.code).with("why", &problem.what).folding(what);
    if let Err(e) = holdfast_notice::raise(&shared.office.journal, &notice) {
        warn!(error = %e, "nobody could be told of it");
    }
}

fn full_check(shared: &Shared, stop: &CancellationToken) -> Result<()> {
    let found = shared.office.checked_whole(&|| stop.is_cancelled())?;
    if let Some(findings) = found {
        shared.metrics.note_verified(findings, shared.office.clock.now());
    }
    Ok(())
}
