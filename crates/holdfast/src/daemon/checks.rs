//! The part that runs the health checks every few minutes, keeps the file of findings, and tells people when the
//! verdict changes. It also answers systemd's watchdog: as long as every safety part is alive.

use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use holdfast_durable::{Mode, replace};
use holdfast_notice::{Notice, Severity};
use holdfast_store::{Sample, Series};
use holdfast_supervisor::{Failed, Life};
use serde_json::{Value, json};
use tracing::{info, warn};

use super::parts::Shared;
use super::{bounded_log, index, notify};
use crate::autonomy::Note;
use crate::disk::Level;
use crate::doctor::{Asked, CHECKS, Round, Scene, Verdict, round};
use crate::kinds::{HEALTH_CHANGED, own_actor, own_draft};
use crate::office::Office;
use crate::problem::Result;

/// A round may take its whole time limit, five minutes at most.
pub(crate) const STALE: Duration = Duration::from_secs(400);

/// Well within any sensible `WatchdogSec=`.
const TICK: Duration = Duration::from_secs(10);

pub(crate) async fn run(shared: Shared, life: Life) -> Result<(), Failed> {
    while !life.stop.is_cancelled() {
        let work = {
            let shared = shared.clone();
            tokio::task::spawn_blocking(move || look_around(&shared))
        };
        tokio::select! {
            // Checks only look; a round that is left behind changes nothing that matters.
            done = ticking(&shared, &life, work) => {
                done.map_err(|_| Failed("a round of checks panicked".into()))?.map_err(index::failed)?;
            }
            () = life.stop.cancelled() => return Ok(()),
        }
        let minutes = shared.office.config().config.health.interval_minutes;
        let pause = tokio::time::sleep(Duration::from_secs(u64::from(minutes) * 60));
        tokio::select! {
            // The next round looks at everything anew, so nothing is lost here.
            () = ticking(&shared, &life, pause) => {}
            () = shared.office.look_again.notified() => {}
            () = life.stop.cancelled() => {}
        }
    }
    Ok(())
}

/// Waits, with a beat for the supervisor and a word for the watchdog.
async fn ticking<T>(shared: &Shared, life: &Life, future: impl Future<Output = T>) -> T {
    tokio::pin!(future);
    loop {
        life.beat.now();
        if shared.office.staff().is_some_and(|staff| staff.board.is_safe()) {
            notify(&[sd_notify::NotifyState::Watchdog]);
        }
        tokio::select! {
            done = &mut future => return done,
            () = tokio::time::sleep(TICK) => {}
        }
    }
}

/// One round and everything that follows from it. The disk comes first: when nothing can be written any more,
/// what must happen must not wait behind something that is to be written. A step that fails is itself a finding, and the
/// next round tries again.
fn look_around(shared: &Shared) -> Result<()> {
    let office = &shared.office;
    let level = office.usage()?.level(office.budget());
    *shared.disk.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    halt_when_full(office, level)?;
    let status = office.status()?;
    let limit = Duration::from_secs(u64::from(office.config().config.health.timeout_seconds));
    let scene =
        Scene::new(&office.house, &office.overlay, office.clock.clone(), Asked::Answered(Box::new(status)));
    let found = round(&CHECKS, &Arc::new(scene), limit);
    let verdict = found.verdict();
    let mut sentences: Vec<String> = found.wrong().map(|f| format!("{}: {}", f.check, f.said)).collect();
    shared.metrics.note_round(&found, office.clock.now());
    let last = shared.verdict.lock().unwrap_or_else(PoisonError::into_inner).replace(verdict);
    let changed = last.map_or(verdict != Verdict::Healthy, |last| last != verdict);
    let steps = [
        ("the findings could not be kept", keep(office, &found)),
        ("no room could be made", office.make_room(level)),
        ("samples could not be kept", measure(office, level)),
    ];
    sentences.extend(steps.into_iter().filter_map(|(what, done)| failed_step(what, done)));
    if changed {
        sentences.extend(failed_step("the change could not be told", tell(office, verdict, &sentences)));
    }
    *shared.findings.lock().unwrap_or_else(PoisonError::into_inner) = sentences;
    Ok(())
}

/// A step that failed without holding up the others, as a sentence.
fn failed_step(what: &str, done: Result<()>) -> Option<String> {
    let Failed(why) = index::failed(done.err()?);
    warn!(what, why, "a step of the checks failed");
    Some(format!("{what}: {why}"))
}

/// The findings as a file, there only while something is wrong; and a line in the log of checks.
fn keep(office: &Office, found: &Round) -> Result<()> {
    let places = &office.house.places;
    let path = places.findings();
    let wrong: Vec<_> = found.wrong().map(|finding| finding.told()).collect();
    let at = office.clock.now();
    let kept = if wrong.is_empty() {
        holdfast_durable::remove(&path)
    } else {
        let text = format!("{:#}\n", json!({"at": at, "findings": wrong}));
        replace(&path, text.as_bytes(), Mode::Private)
    };
    kept.map_err(|e| crate::house::writing(&path, e))?;
    let names: Vec<&str> = found.wrong().map(|finding| finding.check).collect();
    let seconds = found.took.as_secs_f64();
    let line = json!({"at": at, "verdict": found.verdict().word(), "seconds": seconds, "wrong": names});
    write_line(&places.health_log(), &line)
}

fn write_line(path: &Path, line: &Value) -> Result<()> {
    Ok(bounded_log::append(path, &line.to_string()).map_err(|e| crate::house::writing(path, e))?)
}

/// Writes the change down and tells people, once per change.
fn tell(office: &Office, verdict: Verdict, sentences: &[String]) -> Result<()> {
    let word = verdict.word();
    let body = json!({"verdict": word, "findings": sentences});
    office.journal.append(&own_draft(&HEALTH_CHANGED, body)?)?;
    let severity = match verdict {
        Verdict::Healthy => Severity::Info,
        Verdict::Degraded | Verdict::CouldNotCheck | Verdict::TimedOut => Severity::Warning,
        Verdict::Unhealthy => Severity::Critical,
    };
    if severity == Severity::Info {
        info!(verdict = word, "health changed");
    } else {
        warn!(verdict = word, findings = sentences.join("; "), "health changed");
    }
    let mut notice = Notice::new(severity, own_actor(), format!("This instance is {word} now."));
    for (n, sentence) in sentences.iter().take(8).enumerate() {
        notice = notice.with(format!("finding_{}", n + 1), sentence);
    }
    holdfast_notice::raise(&office.journal, &notice.folding(format!("health-{word}")))?;
    Ok(())
}

/// Figures over time, for plots and for the steward; those beyond retention go.
fn measure(office: &Office, level: Level) -> Result<()> {
    let (at, status) = (office.clock.now(), office.journal.status());
    let usage = office.usage()?;
    let figures = [
        ("holdfast_journal_entries", status.size as f64),
        ("holdfast_journal_bytes", status.bytes as f64),
        ("holdfast_disk_used_bytes", usage.used() as f64),
        ("holdfast_disk_free_bytes", usage.free as f64),
    ];
    let sample = |(name, value): (&str, f64)| Ok((Series::new(name, &[])?, Sample { at, value }));
    let batch = figures.into_iter().map(sample).collect::<Result<Vec<_>, holdfast_store::Error>>()?;
    office.samples()?.append(&batch)?;
    if !clock_is_steady(office) {
        return Ok(());
    }
    let days: u64 = if level == Level::Roomy { 30 } else { 1 };
    let before = at.as_micros().saturating_sub(i64::try_from(days * 86_400_000_000).unwrap_or(i64::MAX));
    if let Ok(before) = holdfast_types::Timestamp::from_micros(before) {
        while office.samples()?.sweep(before)?.more {}
    }
    // Links, sessions and tokens that have ended. They count for nothing meanwhile.
    if let Some(accounts) = office.accounts.get() {
        accounts.sweep()?;
    }
    prune(office, at)
}

/// What was observed of targets is rolled up and goes with its age; what has to go before, for want of space, is said.
fn prune(office: &Office, at: holdfast_types::Timestamp) -> Result<()> {
    loop {
        let pruned = office.metrics()?.prune(at)?;
        for dropped in &pruned.dropped_for_size {
            warn!(target = dropped.target, from = %dropped.from, to = %dropped.to, observations = dropped.observations,
                "observations had to go before their time: metrics.db is too large");
        }
        if !pruned.more {
            return Ok(());
        }
    }
}

/// Samples are thrown away by the wall clock, so it must have run like the other one for an hour: a clock that was
/// just set, or set wrong, must not make a month of samples look old.
fn clock_is_steady(office: &Office) -> bool {
    let Some(staff) = office.staff() else { return false };
    let wall = office.clock.now().since(staff.started);
    let steady = office.clock.monotonic().saturating_sub(staff.started_monotonic);
    steady >= Duration::from_secs(3600) && wall.abs_diff(steady) < Duration::from_secs(300)
}

/// Nothing may run that cannot be recorded.
fn halt_when_full(office: &Office, level: Level) -> Result<()> {
    if level != Level::Full || office.switch.standing().is_paused() {
        return Ok(());
    }
    let reason = "the disk is full, and nothing may run that cannot be recorded";
    office.pause(&Note::new(office.clock.now(), own_actor(), Some(reason)))?;
    warn!(reason, "autonomy paused");
    Ok(())
}
