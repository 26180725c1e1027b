//! Which phases met which events under which faults: what a run of many seeds has really seen.

use std::collections::BTreeMap;

use holdfast_steward::Steward;
use holdfast_steward::effect::Input;
use holdfast_steward::episode::Phase;

use crate::plan::FaultKind;
use crate::world::{Process, Trouble};

pub const EVENTS: [&str; 15] = [
    "resumed",
    "time",
    "trigger",
    "collected",
    "answered",
    "fault",
    "looked",
    "blind",
    "brain",
    "brain_failed",
    "window",
    "approval",
    "paused",
    "person",
    "died",
];

/// A phase, and what happened in it.
pub type Cell = (&'static str, &'static str);

#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// Phase × event.
    pub events: BTreeMap<Cell, u64>,
    /// Phase × fault that was on while something happened.
    pub faults: BTreeMap<Cell, u64>,
}

impl Coverage {
    pub(crate) fn step(&mut self, steward: &Steward, input: &Input, trouble: &Trouble) {
        let phase = phase_of(steward);
        *self.events.entry((phase, event_of(input))).or_default() += 1;
        for fault in &trouble.active {
            *self.faults.entry((phase, fault)).or_default() += 1;
        }
    }

    pub(crate) fn died(&mut self, process: &Process) {
        let phase = process.last_phase();
        *self.events.entry((phase, "died")).or_default() += 1;
    }

    pub(crate) fn resumed(&mut self, process: &Process) {
        *self.events.entry((process.last_phase(), "resumed")).or_default() += 1;
    }

    pub(crate) fn fault(&mut self, name: &'static str) {
        *self.faults.entry(("any", name)).or_default() += 1;
    }

    pub fn add(&mut self, other: &Coverage) {
        for (cell, count) in &other.events {
            *self.events.entry(*cell).or_default() += count;
        }
        for (cell, count) in &other.faults {
            *self.faults.entry(*cell).or_default() += count;
        }
    }

    /// Cells of phases and events, and of phases and faults, that nothing reached.
    pub fn unreached(&self) -> (Vec<Cell>, Vec<Cell>) {
        let phases = || Phase::NAMES.into_iter().chain(["idle"]);
        let events = phases().flat_map(|phase| EVENTS.into_iter().map(move |event| (phase, event)));
        let faults = phases().flat_map(|phase| FaultKind::NAMES.into_iter().map(move |fault| (phase, fault)));
        (
            events.filter(|cell| !self.events.contains_key(cell)).collect(),
            faults.filter(|cell| !self.faults.contains_key(cell)).collect(),
        )
    }
}

pub(crate) fn phase_of(steward: &Steward) -> &'static str {
    steward.episode().map_or("idle", |episode| episode.phase.name())
}

fn event_of(input: &Input) -> &'static str {
    match input {
        Input::Resumed => "resumed",
        Input::Time => "time",
        Input::Trigger(_) => "trigger",
        Input::Collected | Input::Sampled { .. } => "collected",
        Input::Answered { answer: Ok(_), .. } => "answered",
        Input::Answered { answer: Err(_), .. } => "fault",
        Input::Looked { looked, .. } if looked.target.is_some() => "looked",
        Input::Looked { .. } => "blind",
        Input::Brain { said: Ok(_), .. } => "brain",
        Input::Brain { said: Err(_), .. } => "brain_failed",
        Input::Window { .. } => "window",
        Input::Approval { .. } => "approval",
        Input::Paused(_) => "paused",
        Input::Person(_) => "person",
    }
}
