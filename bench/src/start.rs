//! From the start of the process to its first healthy answer: warm, cold, and with no index at all.
//!
//! The journal grows by the few entries every start and stop writes. Without an index the daemon answers at once
//! and fills the index behind its back; how long that takes is measured too.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::daemon::Daemon;
use crate::home::Home;
use crate::open::drop_page_cache;
use crate::weather::{Rounds, calm_rounds};

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) warm: usize,
    pub(crate) cold: usize,
    pub(crate) without_index: usize,
    /// How long to go on for want of calm rounds.
    pub(crate) time_max: Duration,
}

/// What starting came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Started {
    pub(crate) warm_ms: Vec<f64>,
    /// Empty where the page cache cannot be dropped.
    pub(crate) cold_ms: Vec<f64>,
    pub(crate) without_index_ms: Vec<f64>,
    /// From the start to an index that has everything, where there was none.
    pub(crate) index_s: Vec<f64>,
    /// From SIGTERM to the end of the process.
    pub(crate) stop_ms: Vec<f64>,
    /// Of all but the cold ones.
    pub(crate) rounds: Rounds,
}

pub(crate) fn measure(home: &Home, plan: Plan) -> Result<Started> {
    let mut out = Started::default();
    let (bare, bare_rounds) = calm_rounds(plan.without_index, plan.time_max, |_| without_index(home))?;
    (out.without_index_ms, out.index_s) = bare.into_iter().unzip();
    do_what_is_due(home)?;
    let (warm, rounds) = calm_rounds(plan.warm, plan.time_max, |_| once(home))?;
    (out.warm_ms, out.stop_ms) = warm.into_iter().unzip();
    out.rounds = rounds.and(bare_rounds);
    for _ in 0..plan.cold {
        if !drop_page_cache() {
            break;
        }
        out.cold_ms.push(once(home)?.0);
    }
    Ok(out)
}

/// The first daemon of a home copies its databases and checks the whole journal. Later ones are to find that done.
fn do_what_is_due(home: &Home) -> Result<()> {
    let (daemon, _) = Daemon::start(home)?;
    daemon.wait_until_caught_up()?;
    daemon.wait_until_verified()?;
    daemon.stop()
}

/// Starts and stops once; how many milliseconds each took.
fn once(home: &Home) -> Result<(f64, f64)> {
    let (daemon, took) = Daemon::start(home)?;
    // What a start still has to write is written before the stop, so that the next finds its index up to date.
    daemon.wait_until_caught_up()?;
    let began = Instant::now();
    daemon.stop()?;
    Ok((millis(took), millis(began.elapsed())))
}

/// Milliseconds until healthy, and seconds until the index has everything.
fn without_index(home: &Home) -> Result<(f64, f64)> {
    home.remove_index()?;
    let began = Instant::now();
    let (daemon, healthy) = Daemon::start(home)?;
    daemon.wait_until_caught_up()?;
    let caught_up = began.elapsed();
    daemon.stop()?;
    Ok((millis(healthy), caught_up.as_secs_f64()))
}

fn millis(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}
