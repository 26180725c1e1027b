//! How everything is, from what is known inside and, where no daemon runs, from outside.

use std::time::Duration;

use holdfast_control::{
    DatabaseState, DiskState, DiskUse, JournalState, NoticesState, PartLine, ProjectionState, SinkState,
    Status,
};
use holdfast_supervisor::{Importance, PartState, PartStatus};

use super::Office;
use super::answer::pause_state;
use super::care::backed_up_databases;
use crate::autonomy::Switch;
use crate::disk::{Budget, Level, Usage, measure};
use crate::house::{House, reading};
use crate::look;
use crate::problem::{Failure, Result};
use crate::settings::{self, Overlay};

impl Office {
    pub(crate) fn status(&self) -> Result<Status> {
        let now = self.clock.now();
        let usage = self.usage()?;
        let disk = disk_state(&usage, self.budget());
        let parts: Vec<PartLine> =
            self.staff().map(|s| s.board.parts()).unwrap_or_default().iter().map(line).collect();
        let journal = self.journal.status();
        let journal = JournalState {
            origin: journal.origin,
            entries: journal.size,
            checkpointed: journal.checkpointed,
            bytes: journal.bytes,
            cap_bytes: journal.limits.cap_bytes,
            warnings: journal.warnings,
        };
        let pause = pause_state(&self.is_paused());
        // An index that cannot be read is news and no reason to say nothing.
        let projections = self.projections().unwrap_or_else(|e| vec![unreadable(&e, journal.entries)]);
        let notices = self.staff().is_some().then(|| self.notices().ok()).flatten();
        let mut status = Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: self.staff().map(|_| std::process::id()),
            up_seconds: self.staff().map(|s| now.since(s.started).as_secs_f64()),
            healthy: None,
            needs_you: Vec::new(),
            parts,
            listening: self.staff().map(|staff| staff.listening.clone()).unwrap_or_default(),
            journal,
            projections,
            databases: self.databases(&usage),
            pause,
            notices,
            disk,
        };
        if let Some(staff) = self.staff() {
            let findings = staff.findings.lock().map(|f| f.clone()).unwrap_or_default();
            status.needs_you = told(&status, &findings);
            status.needs_you.extend(self.certificate_trouble());
            status.healthy = Some(status.needs_you.is_empty());
        }
        Ok(status)
    }

    fn databases(&self, usage: &Usage) -> Vec<DatabaseState> {
        let bytes = |part: &str| usage.parts.iter().find(|p| p.part == part).map_or(0, |p| p.bytes);
        let state = |file: &str| DatabaseState {
            name: file.to_owned(),
            bytes: bytes(file.trim_end_matches(".db")),
            last_backup: self.last_backup(file),
        };
        let there = |file: &&str| *file != "gateway.db" || self.house.places.gateway_db().exists();
        std::iter::once("index.db").chain(backed_up_databases()).filter(there).map(state).collect()
    }

    pub(crate) fn notices(&self) -> Result<NoticesState> {
        let handle = self.staff().and_then(|s| s.notices.lock().ok().and_then(|h| h.clone()));
        let sinks = handle.map(|handle| handle.outlook()).transpose()?.unwrap_or_default();
        let sink = |o: holdfast_notice::Outlook| SinkState {
            sink: o.sink.to_string(),
            pending: o.pending,
            delivered: o.delivered,
            abandoned: o.abandoned,
            last_delivered: o.last_delivered,
            last_error: o.trouble.map(|t| t.to_string()),
            quiet_until: o.quiet_until,
        };
        let enabled = self.config().config.notifications.enabled;
        Ok(NoticesState { enabled, sinks: sinks.into_iter().map(sink).collect() })
    }
}

fn unreadable(e: &Failure, entries: u64) -> ProjectionState {
    let why = match e {
        Failure::Problem(problem) => format!("{} {}", problem.code, problem.what),
        Failure::ReaderLeft => "it could not be read".to_owned(),
    };
    ProjectionState { name: "index".to_owned(), next_seq: 0, behind: entries, halted: Some(why) }
}

/// Everything in a status that needs a person, in sentences.
pub(crate) fn told(status: &Status, findings: &[String]) -> Vec<String> {
    let mut all: Vec<String> = findings.to_vec();
    // A part that was stopped was told to: the daemon is going down.
    let down = |part: &&PartLine| !matches!(part.state.as_str(), "running" | "stopped");
    for part in status.parts.iter().filter(down) {
        let why = part.why.as_deref().unwrap_or("it has not been heard of lately");
        all.push(format!("The part {} is {}: {why}", part.name, part.state));
    }
    all.extend(status.journal.warnings.iter().map(|warning| sentence(warning)));
    for projection in status.projections.iter().filter(|p| p.halted.is_some()) {
        let why = projection.halted.as_deref().unwrap_or_default();
        all.push(format!(
            "The projection {} stands still at entry {}: {why}",
            projection.name, projection.next_seq
        ));
    }
    let DiskState { used_bytes, budget_bytes, free_bytes, level, .. } = &status.disk;
    if level != Level::Roomy.word() {
        all.push(format!(
            "The disk is {level}: {} of {} used, {} free on the file system",
            look::bytes(*used_bytes),
            look::bytes(*budget_bytes),
            look::bytes(*free_bytes)
        ));
    }
    let sinks = status.notices.iter().flat_map(|n| &n.sinks);
    for sink in sinks.filter(|s| s.last_error.is_some() && s.pending > 0) {
        let waiting = look::count(sink.pending, "notice waits", "notices wait");
        all.push(format!("{waiting} for {}: {}", sink.sink, sink.last_error.as_deref().unwrap_or_default()));
    }
    all.dedup();
    all
}

/// The status of a home whose daemon does not run: what can be seen without a lock.
pub(crate) fn status_without_daemon(house: &House, overlay: &Overlay) -> Result<Status> {
    let view = house.view(&Default::default())?;
    let loaded = settings::load(&house.places, overlay)?;
    let cap_bytes = u64::from(loaded.config.journal.cap_mib) * 1024 * 1024;
    let kept = u64::from(loaded.config.backup.keep);
    let usage = measure(&house.places, cap_bytes, kept).map_err(|e| reading(&house.places.state, e))?;
    let journal_bytes = usage.parts.iter().find(|p| p.part == "journal").map_or(0, |p| p.bytes);
    Ok(Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: None,
        up_seconds: None,
        healthy: None,
        needs_you: Vec::new(),
        parts: Vec::new(),
        listening: Vec::new(),
        journal: JournalState {
            origin: view.origin().clone(),
            entries: view.size()?,
            checkpointed: view.latest_checkpoint()?.checkpoint.size,
            bytes: journal_bytes,
            cap_bytes,
            warnings: Vec::new(),
        },
        projections: Vec::new(),
        databases: Vec::new(),
        pause: pause_state(&Switch::of(&house.places).standing()),
        notices: None,
        disk: disk_state(&usage, Budget::from(&loaded.config.disk)),
    })
}

fn disk_state(usage: &Usage, budget: Budget) -> DiskState {
    let part =
        |p: &crate::disk::PartUse| DiskUse { part: p.part.to_owned(), bytes: p.bytes, at_most: p.at_most };
    DiskState {
        budget_bytes: budget.bytes,
        used_bytes: usage.used(),
        free_bytes: usage.free,
        level: usage.level(budget).word().to_owned(),
        parts: usage.parts.iter().map(part).collect(),
    }
}

fn line(part: &PartStatus) -> PartLine {
    let (state, why) = match &part.state {
        PartState::Running => ("running", None),
        PartState::Stale => ("stale", Some(format!("silent for {}", seconds(part.silent_for)))),
        PartState::Waiting { why } => ("waiting", Some(why.clone())),
        PartState::Stopped => ("stopped", None),
    };
    PartLine {
        name: part.name.to_owned(),
        state: state.to_owned(),
        why,
        safety: part.importance == Importance::Safety,
        restarts: part.restarts,
        silent_seconds: part.silent_for.as_secs_f64(),
    }
}

fn seconds(span: Duration) -> String {
    format!("{} s", span.as_secs())
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}", chars.as_str())
}
