//! A change that is on trial: what is left of its lease, its gates, the cycles of its window.

use std::time::Duration;

use holdfast_plot::{
    Gate, GateState, Lease, Probe, Score, State, clock, gate_mark, lease_inline, probe_mark,
};
use holdfast_types::Timestamp;
use maud::{Markup, PreEscaped, html};

use super::mark::state;
use super::path::path;
use super::text::{bdi, id, line};
use super::{LINE_MAX, NAME_MAX};
use crate::frame::Frame;

/// Gates and cycles shown at most: more are no strip any more, and the journal has them all.
const GATES_MAX: usize = 64;
const CYCLES_MAX: usize = 120;

/// Time that is left until something is undone by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Countdown {
    /// Seconds that were left when this was looked at, in the target's own time.
    pub left_seconds: u64,
    /// Seconds there were in all; absent where nobody said.
    pub whole_seconds: Option<u64>,
    /// When it was looked at.
    pub as_of: Timestamp,
    /// How many times faster than real time the target lives; 1 for a real one.
    pub speed: u32,
}

/// A change under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    pub episode: String,
    pub host: String,
    /// In the steward's words: waiting, verifying, probation.
    pub phase: String,
    /// Why it was begun, as a phrase after "because".
    pub why: String,
    /// What it changes, once that is known.
    pub change: Option<String>,
    pub lease: Option<Countdown>,
    pub score: Option<Score>,
    /// It waits for a person.
    pub needs_you: bool,
}

impl Countdown {
    /// When nothing is left, in real time.
    fn ends(&self) -> Timestamp {
        let real = self.left_seconds as f64 / f64::from(self.speed.max(1));
        self.as_of.plus(Duration::try_from_secs_f64(real).unwrap_or(Duration::MAX))
    }

    /// What is left at a moment, in the target's own time.
    fn left(&self, now: Timestamp) -> Duration {
        let gone = now.since(self.as_of).as_secs().saturating_mul(u64::from(self.speed.max(1)));
        Duration::from_secs(self.left_seconds.saturating_sub(gone))
    }
}

/// The bar and the words. The module counts on from the moment it ends at, whatever the reader's clock says.
pub(crate) fn lease(now: Timestamp, countdown: &Countdown) -> Markup {
    let whole = countdown.whole_seconds.unwrap_or(countdown.left_seconds);
    let left = countdown.left(now);
    let drawn = Lease { left, whole: Duration::from_secs(whole) };
    let ends_ms = countdown.ends().as_micros() / 1000;
    html! {
        div.lease data-ends=(ends_ms) data-whole=(whole) data-speed=(countdown.speed.max(1)) {
            (PreEscaped(lease_inline(&drawn)))
            p role="timer" {
                "undone by itself in " b.left { (clock(left.as_secs())) } " unless kept"
                @if countdown.speed > 1 { span.note { " (of its own time)" } }
            }
        }
    }
}

/// The gates in order; a refusal with its reason in a sentence.
pub(crate) fn gates(gates: &[Gate]) -> Markup {
    html! {
        ol.gates {
            @for gate in gates.iter().take(GATES_MAX) {
                @let (shape, ink) = gate_mark(&gate.state);
                li.(ink) {
                    span.shape aria-hidden="true" { (shape) }
                    span.gate { (line(&gate.name, NAME_MAX)) }
                    span.word { (word(&gate.state)) }
                    @if let GateState::Refused(why) = &gate.state {
                        p { (bdi(why, LINE_MAX)) }
                    }
                }
            }
        }
    }
}

fn word(state: &GateState) -> &'static str {
    match state {
        GateState::Waiting => "waits",
        GateState::Passed => "passed",
        GateState::Refused(_) => "refused it",
    }
}

/// The cycles of a window as cells, where the score stands, and the rule that decides.
pub(crate) fn score(score: &Score) -> Markup {
    let from = score.cycles.len().saturating_sub(CYCLES_MAX);
    let to_come = score.planned.saturating_sub(score.cycles.len()).min(CYCLES_MAX);
    let said = format!("{} of {} cycles, score {}", score.cycles.len(), score.planned, score.score);
    html! {
        div.score {
            p.cells role="img" aria-label=(told(score)) {
                @for probe in score.cycles.iter().skip(from) {
                    @let (shape, ink) = probe_mark(*probe);
                    span.(ink) { (shape) }
                }
                @for _ in 0..to_come { span.slate { "·" } }
            }
            p { (said) }
            @if !score.rule.is_empty() { p.note { (line(&score.rule, LINE_MAX)) } }
        }
    }
}

/// What the cells show, for those who do not see them.
fn told(score: &Score) -> String {
    let count = |wanted: Probe| score.cycles.iter().filter(|probe| **probe == wanted).count();
    format!(
        "{} passed, {} failed, {} inconclusive, {} in grace, {} to come",
        count(Probe::Pass),
        count(Probe::Fail),
        count(Probe::Inconclusive),
        count(Probe::Grace),
        score.planned.saturating_sub(score.cycles.len())
    )
}

/// A trial in a list: what is tried where and why, what is left, how it goes.
pub(crate) fn trial(frame: &Frame, trial: &Trial) -> Markup {
    let (stands, word) = match (trial.needs_you, &trial.lease) {
        (true, _) => (State::NeedsYou, None),
        (false, Some(_)) => (State::OnTrial, None),
        (false, None) => (State::OnTrial, Some("at work")),
    };
    html! {
        article.trial {
            p.over { (state(stands, word)) a href=(path(&["hosts", &trial.host])) { (bdi(&trial.host, NAME_MAX)) } }
            h3 {
                a href=(path(&["episodes", &trial.episode])) {
                    @match &trial.change {
                        Some(change) => (bdi(change, LINE_MAX)),
                        None => "Nothing is proposed yet",
                    }
                }
            }
            p { "because " (bdi(&trial.why, LINE_MAX)) }
            @if let Some(countdown) = &trial.lease { (lease(frame.now, countdown)) }
            @if let Some(window) = &trial.score { (score(window)) }
            p.note { (line(&trial.phase, NAME_MAX)) " · " (id(&trial.episode)) }
        }
    }
}
