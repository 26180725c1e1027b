//! From the loop's records, the host's own history and the detector to what is said about an act. Nothing else is said.

use std::time::Duration;

use holdfast_lifeline::{Identity, Steady};
use holdfast_plot::{Gate, GateState, Probe, State};
use holdfast_steward::episode::Phase;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::gates::{self, GateResult};
use holdfast_steward::setting::Change;
use holdfast_steward::verify::Cycle;
use holdfast_steward_host::{HostEvent, story};

use crate::lookout::Noticed;

/// One line of an act's story.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    pub at: Steady,
    pub state: State,
    pub what: String,
    /// Said after the gates were read out.
    pub(crate) after_gates: bool,
}

/// Who undid a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoneBy {
    /// The controller, which saw harm.
    Controller,
    /// The lease on the host, which nobody renewed.
    Lease,
}

/// How an act came out.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    Kept { identity: Identity },
    Undone { by: UndoneBy, why: String },
}

/// What is known about an act so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    pub noticed: Option<Noticed>,
    pub cause: Option<String>,
    pub episode: Option<String>,
    pub opened: Option<Steady>,
    pub change: Option<String>,
    pub hypothesis: Option<String>,
    pub gates: Vec<Gate>,
    /// What the host ran before anything was tried, and what was tried.
    pub before: Option<Identity>,
    pub tried: Option<Identity>,
    pub tried_at: Option<Steady>,
    pub cycles: Vec<Probe>,
    pub planned: usize,
    pub score: i32,
    pub killed_at: Option<Steady>,
    pub started_anew_at: Option<Steady>,
    /// When and by whom the host went back to what it ran before.
    pub back: Option<(Steady, UndoneBy)>,
    pub settled: Option<Settled>,
    pub settled_at: Option<Steady>,
    /// What the loop itself calls it.
    pub outcome: Option<String>,
    pub story: Vec<Said>,
}

impl Facts {
    pub(crate) fn new() -> Facts {
        let gates = gates::Gate::ORDER.iter().map(|gate| waiting(&gate.to_string())).collect();
        Facts { gates, ..Facts::default() }
    }

    /// From the first word to the last, on the host's clock.
    pub fn took(&self) -> Option<Duration> {
        self.settled_at.zip(self.opened).map(|(to, from)| to.since(from))
    }

    pub fn state(&self) -> State {
        match (&self.settled, self.back, self.tried) {
            (Some(Settled::Kept { .. }), ..) => State::Kept,
            (Some(Settled::Undone { .. }), ..) | (None, Some(_), _) => State::Undone,
            (None, None, Some(_)) => State::OnTrial,
            (None, None, None) => State::Settled,
        }
    }

    pub(crate) fn say(&mut self, at: Steady, state: State, what: String) {
        let after_gates = self.change.is_some();
        self.story.push(Said { at, state, what, after_gates });
    }

    pub(crate) fn note_shift(&mut self, noticed: Noticed) {
        if self.noticed.is_some() {
            return;
        }
        self.say(noticed.at, State::NeedsYou, noticed.sentence.clone());
        self.noticed = Some(noticed);
    }

    pub(crate) fn note_host(&mut self, at: Steady, event: &HostEvent) {
        match event {
            HostEvent::Ran { identity, why: "lease" } => {
                self.back = Some((at, UndoneBy::Lease));
                let what =
                    format!("Nobody renewed the lease: the host put {} back by itself.", short(*identity));
                self.say(at, State::Undone, what);
            }
            HostEvent::Ran { why: "restore", .. } => self.back = Some((at, UndoneBy::Controller)),
            _ => {}
        }
    }

    pub(crate) fn note(&mut self, record: &Record) {
        let at = record.at;
        match &record.event {
            Event::Opened { episode } => {
                self.opened = Some(at);
                self.episode = Some(episode.id.to_string());
                self.cause = Some(story::causes(&episode.causes));
            }
            Event::Judged { results, cleared, .. } => {
                self.judged(results);
                if let Some(cleared) = cleared {
                    let change = cleared.changes.iter().map(change).collect::<Vec<_>>().join(", ");
                    self.change = Some(change);
                    self.hypothesis = Some(cleared.hypothesis.clone());
                }
            }
            Event::Gated { result, .. } => self.judged(std::slice::from_ref(result)),
            Event::Moved { phase, .. } => self.moved(at, phase),
            Event::Scored { cycle, verifying, .. } => {
                self.cycles.push(probe(*cycle));
                self.planned = verifying.window.cycles() as usize;
                self.score = verifying.window.score();
            }
            Event::Kept { identity, .. } => {
                self.settled = Some(Settled::Kept { identity: *identity });
                self.settled_at = Some(at);
                self.outcome = Some("kept".to_owned());
                self.say(
                    at,
                    State::Kept,
                    format!("Kept. The host boots into {} from now on.", short(*identity)),
                );
            }
            Event::Restored { identity, .. } => {
                self.say(at, State::Undone, format!("{} runs again, seen on the host.", short(*identity)));
            }
            Event::Ended { ending, .. } => {
                self.outcome = Some(ending.outcome.as_str().to_owned());
                if let Some((_, by)) = self.back {
                    self.settled = Some(Settled::Undone { by, why: ending.reason.clone() });
                }
                self.settled_at.get_or_insert(at);
                let outcome = ending.outcome.as_str().replace('_', " ");
                self.say(at, self.state(), format!("Settled, {outcome}: {}.", ending.reason));
            }
            _ => {}
        }
    }

    fn judged(&mut self, results: &[GateResult]) {
        for result in results {
            self.gate(
                &result.gate.to_string(),
                if result.passed { GateState::Passed } else { GateState::Refused(result.reason.clone()) },
            );
        }
    }

    fn gate(&mut self, name: &str, state: GateState) {
        if let Some(gate) = self.gates.iter_mut().find(|gate| gate.name == name) {
            gate.state = state;
        }
    }

    /// A phase that begins says that the one before it ended well.
    fn moved(&mut self, at: Steady, phase: &Phase) {
        match phase {
            Phase::Preflight { trial, .. } => {
                self.before = Some(trial.known_good);
                let change = self.change.clone().unwrap_or_default();
                self.say(at, State::Settled, format!("Proposed, and passed by every gate: {change}."));
            }
            Phase::Starting { trial, .. } => {
                self.tried = Some(trial.candidate);
                self.tried_at = Some(at);
                let (new, old) = (short(trial.candidate), short(trial.known_good));
                let what = format!("On trial: {new} runs under a lease, a boot gives {old}.");
                self.say(at, State::OnTrial, what);
            }
            Phase::Verifying(verifying) => {
                self.planned = verifying.window.cycles() as usize;
                let what = format!("Seen running. {} looks from outside decide.", self.planned);
                self.say(at, State::OnTrial, what);
            }
            Phase::TakingOver { why, .. } if self.killed_at.is_none() => {
                // The look that ends a window at once is not scored; it is the one that failed.
                self.cycles.push(Probe::Fail);
                self.say(at, State::Failed, format!("Going back: {}.", why.sentence()));
            }
            _ => {}
        }
    }
}

fn waiting(name: &str) -> Gate {
    Gate { name: name.to_owned(), state: GateState::Waiting }
}

fn probe(cycle: Cycle) -> Probe {
    match cycle {
        Cycle::Grace => Probe::Grace,
        Cycle::Pass => Probe::Pass,
        Cycle::Fail | Cycle::TimedOut => Probe::Fail,
        Cycle::Inconclusive => Probe::Inconclusive,
    }
}

/// `MemoryHigh 896M → 1G`: the unit is the same in the whole demo.
fn change(change: &Change) -> String {
    format!("{} {} → {}", change.setting.property, change.from, change.to)
}

/// Eight digits of an identity: enough to tell the states of one host apart.
pub(crate) fn short(identity: Identity) -> String {
    format!("{identity:?}").chars().take(8).collect()
}
