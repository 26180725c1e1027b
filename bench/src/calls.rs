//! Calls of the command line while a daemon runs: one after another beside `/bin/true`, and a thousand at once.
//!
//! What is timed is the whole process, from before it is made until it has been waited for, as a shell would see it.

use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};

use crate::daemon::Daemon;
use crate::home::Home;
use crate::weather::{Rounds, calm_rounds_beside, in_turns};

/// Stacks of threads that do nothing but start a process and wait for it.
const STACK: usize = 128 * 1024;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Rounds of one turn of each.
    pub(crate) rounds: usize,
    /// Calls of one turn.
    pub(crate) turn: usize,
    pub(crate) at_once: usize,
    /// How long to go on for want of calm rounds.
    pub(crate) time_max: Duration,
}

/// Calls one after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Called {
    pub(crate) status_ms: Vec<f64>,
    pub(crate) true_ms: Vec<f64>,
    pub(crate) rounds: Rounds,
}

/// Calls all at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rush {
    /// From the first that began to the last that ended.
    pub(crate) seconds: f64,
    pub(crate) each_ms: Vec<f64>,
    /// Calls that ended with anything but a good answer.
    pub(crate) failed: usize,
}

pub(crate) fn one_by_one(home: &Home, daemon: &Daemon, plan: Plan) -> Result<Called> {
    let calls = |call: &mut dyn FnMut() -> Command| {
        (0..plan.turn).map(|_| timed(call())).collect::<Result<Vec<f64>>>()
    };
    let round = |number| {
        in_turns(number, |who| match who {
            0 => calls(&mut || status(home)),
            _ => calls(&mut nothing),
        })
    };
    round(0)?;
    let (measured, rounds) = calm_rounds_beside(&[daemon.pid()], plan.rounds, plan.time_max, round)?;
    let mut out = Called { rounds, ..Called::default() };
    for [status, nothing] in measured {
        out.status_ms.extend(status.unwrap_or_default());
        out.true_ms.extend(nothing.unwrap_or_default());
    }
    Ok(out)
}

pub(crate) fn at_once(home: &Home, plan: Plan) -> Result<Rush> {
    let gate = Barrier::new(plan.at_once + 1);
    let call = || {
        let mut call = status(home);
        gate.wait();
        let began = Instant::now();
        let ended = call.status().context("calling the program")?;
        Ok::<_, anyhow::Error>((began, Instant::now(), ended.success()))
    };
    std::thread::scope(|scope| {
        let thread = || std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, call);
        let callers = (0..plan.at_once).map(|_| thread()).collect::<std::io::Result<Vec<_>>>()?;
        gate.wait();
        let called = callers.into_iter().map(|c| c.join().map_err(|_| anyhow!("a caller panicked"))?);
        Ok(rush(&called.collect::<Result<Vec<_>>>()?))
    })
}

/// What came of calls: when each began and ended, and whether it had a good answer.
fn rush(called: &[(Instant, Instant, bool)]) -> Rush {
    let first = called.iter().map(|(began, _, _)| *began).min();
    let last = called.iter().map(|(_, ended, _)| *ended).max();
    let took = first.zip(last).map_or(Duration::ZERO, |(first, last)| last - first);
    Rush {
        seconds: took.as_secs_f64(),
        each_ms: called.iter().map(|(began, ended, _)| millis(*ended - *began)).collect(),
        failed: called.iter().filter(|(_, _, good)| !good).count(),
    }
}

fn status(home: &Home) -> Command {
    home.program.call(&home.dir, &["status"])
}

/// A process that does nothing: the least a call costs here.
fn nothing() -> Command {
    let mut call = Command::new("/bin/true");
    call.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    call
}

fn timed(mut call: Command) -> Result<f64> {
    let began = Instant::now();
    let ended = call.status().context("calling a program")?;
    let took = millis(began.elapsed());
    ensure!(ended.success(), "a call failed: {ended}");
    Ok(took)
}

fn millis(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rush_lasts_from_the_first_call_to_the_last_answer() {
        let at = Instant::now();
        let after = |ms| at + Duration::from_millis(ms);
        let rush = rush(&[(after(5), after(2000), true), (at, after(100), false), (at, after(900), true)]);
        assert_eq!((rush.seconds, rush.failed), (2.0, 1));
        assert_eq!(rush.each_ms, [1995.0, 100.0, 900.0]);
    }

    #[test]
    fn a_call_that_fails_is_not_timed() {
        assert!(timed(nothing()).is_ok_and(|ms| ms > 0.0));
        assert!(timed(Command::new("/bin/false")).is_err());
    }
}
