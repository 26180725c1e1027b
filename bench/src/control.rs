//! The control plane with a long journal: replay, start, calls, and a daemon that has nothing to do.
//!
//! One home serves all of it. The daemon that is called a few hundred times is the one that is watched when it is
//! idle afterwards, and the one a thousand callers come to at once in the end.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::calls::{self, Called, Rush};
use crate::daemon::Daemon;
use crate::home::Home;
use crate::idle::{self, Idled};
use crate::program::Program;
use crate::replay::{self, Replayed};
use crate::start::{self, Started};
use crate::step;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) entries: u64,
    pub(crate) replay: replay::Plan,
    pub(crate) start: start::Plan,
    pub(crate) calls: calls::Plan,
    pub(crate) idle: idle::Plan,
}

/// What the control plane came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Controlled {
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
    pub(crate) replayed: Replayed,
    pub(crate) started: Started,
    pub(crate) called: Called,
    pub(crate) idled: Idled,
    pub(crate) rush: Rush,
    /// Proportional set size after the rush, in KiB.
    pub(crate) pss_after_rush_kib: f64,
}

pub(crate) fn measure(dir: &Path, target: &Path, plan: Plan) -> Result<Controlled> {
    let program = Program::find(target)?;
    step("making a home with a long journal");
    let home = Home::make(&program, &dir.join("home"), plan.entries)?;
    step("replaying into the index");
    let journal = home.open()?;
    let (entries, bytes) = (journal.size(), journal.status().bytes);
    let replayed = replay::measure(&dir.join("replay"), &journal, plan.replay)?;
    drop(journal);
    step("starting the daemon");
    let started = start::measure(&home, plan.start)?;
    step("calling the daemon");
    let (since, (daemon, _)) = (Instant::now(), Daemon::start(&home)?);
    let called = calls::one_by_one(&home, &daemon, plan.calls)?;
    step("watching an idle daemon (it has to come of age first)");
    let idled = idle::measure(daemon.pid(), since, plan.idle).context("watching a daemon")?;
    step("calling all at once");
    let rush = calls::at_once(&home, plan.calls)?;
    let (pss_after_rush_kib, _) = idle::memory(daemon.pid())?;
    daemon.stop()?;
    Ok(Controlled { entries, bytes, replayed, started, called, idled, rush, pss_after_rush_kib })
}
