//! Health checks: what is looked at, what is found, and the verdict. No check calls a model or leaves the machine.
//!
//! `checks.rs` holds the checks, each with its purpose and what it does not do; `round.rs` runs them side by side
//! under one deadline; here is what a round comes to. The daemon runs a round every few minutes
//! (`daemon/checks.rs`), `holdfast doctor` runs one for a person (`command.rs`).

mod checks;
mod command;
mod round;

use std::time::Duration;

use holdfast_api::{Doctor, DoctorCheck};
use holdfast_types::Exit;
use serde::Serialize;

pub(crate) use checks::{Asked, CHECKS, Check, Scene};
pub(crate) use command::{DoctorArgs, LIMIT_SECONDS, run};
pub(crate) use round::round;

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Healthy,
    /// Works, and somebody should know.
    Degraded,
    /// Does not work.
    Failed,
    /// The check itself could not be made: never shown as good.
    Unknown,
    /// The check did not end in time.
    TimedOut,
    /// Only a running daemon knows, and none runs. Not good, and no fault of its own: the check of the daemon says
    /// that none runs.
    NotLooked,
}

/// What one check found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    pub(crate) check: &'static str,
    pub(crate) state: State,
    /// What was looked at.
    pub(crate) looked_at: String,
    /// What was found, as a sentence.
    pub(crate) said: String,
    /// What to do, when something is wrong.
    pub(crate) hint: Option<String>,
    /// Figures, under documented names.
    pub(crate) figures: Vec<(&'static str, f64)>,
}

/// A round of checks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Round {
    pub(crate) findings: Vec<Finding>,
    pub(crate) took: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Healthy,
    Degraded,
    CouldNotCheck,
    TimedOut,
    Unhealthy,
}

impl State {
    const fn verdict(self) -> Verdict {
        match self {
            State::Healthy => Verdict::Healthy,
            State::Degraded | State::NotLooked => Verdict::Degraded,
            State::Unknown => Verdict::CouldNotCheck,
            State::TimedOut => Verdict::TimedOut,
            State::Failed => Verdict::Unhealthy,
        }
    }

    pub(crate) const fn word(self) -> &'static str {
        match self {
            State::Healthy => "healthy",
            State::Degraded => "degraded",
            State::Failed => "failed",
            State::Unknown => "unknown",
            State::TimedOut => "timed out",
            State::NotLooked => "not looked at",
        }
    }
}

impl Verdict {
    /// Worse beats better; a failure that was seen beats a check that could not be made.
    const fn rank(self) -> u8 {
        match self {
            Verdict::Healthy => 0,
            Verdict::Degraded => 1,
            Verdict::CouldNotCheck => 2,
            Verdict::TimedOut => 3,
            Verdict::Unhealthy => 4,
        }
    }

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Verdict::Healthy => "healthy",
            Verdict::Degraded => "degraded",
            Verdict::CouldNotCheck => "could not check",
            Verdict::TimedOut => "timed out",
            Verdict::Unhealthy => "unhealthy",
        }
    }

    pub(crate) const fn exit(self) -> Exit {
        match self {
            Verdict::Healthy => Exit::Ok,
            Verdict::Unhealthy => Exit::Negative,
            // For `doctor` this code means degraded, as the public table says.
            Verdict::Degraded => Exit::Usage,
            Verdict::CouldNotCheck => Exit::CouldNotCheck,
            Verdict::TimedOut => Exit::TimedOut,
        }
    }
}

impl Round {
    pub(crate) fn verdict(&self) -> Verdict {
        let verdicts = self.findings.iter().map(|finding| finding.state.verdict());
        verdicts.max_by_key(|verdict| verdict.rank()).unwrap_or(Verdict::CouldNotCheck)
    }

    /// Everything that was looked at and is not healthy.
    pub(crate) fn wrong(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| !matches!(finding.state, State::Healthy | State::NotLooked))
    }

    pub(crate) fn told(&self) -> Doctor {
        Doctor {
            verdict: self.verdict().word().to_owned(),
            seconds: self.took.as_secs_f64(),
            checks: self.findings.iter().map(Finding::told).collect(),
        }
    }
}

impl Finding {
    pub(crate) fn told(&self) -> DoctorCheck {
        DoctorCheck {
            check: self.check.to_owned(),
            status: self.state.word().to_owned(),
            looked_at: self.looked_at.clone(),
            message: self.said.clone(),
            hint: self.hint.clone(),
            figures: self.figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(states: &[State]) -> Round {
        let finding = |state: &State| Finding {
            check: "c",
            state: *state,
            looked_at: String::new(),
            said: String::new(),
            hint: None,
            figures: vec![],
        };
        Round { findings: states.iter().map(finding).collect(), took: Duration::ZERO }
    }

    // shows: HRD-112, HRD-118
    #[test]
    fn the_worst_result_decides_the_exit_code_and_failures_beat_warnings() {
        use State::{Degraded, Failed, Healthy, NotLooked, TimedOut, Unknown};
        for (states, code) in [
            (&[Healthy, Healthy][..], 0),
            (&[Healthy, Degraded], 2),
            // What nobody looked at is never good.
            (&[Healthy, NotLooked], 2),
            (&[Failed, Degraded], 1),
            (&[Degraded, Failed, Unknown, TimedOut], 1),
            (&[Unknown, Degraded], 3),
            (&[TimedOut, Unknown, Degraded, Healthy], 124),
            // Nothing looked at is nothing known.
            (&[], 3),
        ] {
            assert_eq!(of(states).verdict().exit().code(), code, "{states:?}");
        }
    }
}
