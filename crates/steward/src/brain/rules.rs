//! The brain that is built in: from what was seen of a host to one bounded change, or to why there is none.
//!
//! In reading order: `signs.rs` (facts to diagnoses, and what they rule out), `remedy.rs` (a diagnosis to a step of the right size),
//! `sharing.rs` (what others pay for it), `back.rs` (what is taken back because they do), `past.rs` (what a week still allows, and
//! what became of earlier changes), `relief.rs` (what similar changes did elsewhere), `calm.rs` (what is done when nothing is wrong),
//! `proposal.rs` (the words).
//!
//! What holds: an answer changes one setting, or memory's limit and throttle together; each step stays within the
//! bounds it is given, within the week, within the memory that is left, and is a whole number of MiB; a value that was
//! rolled back or rejected lately is not proposed again. Settings without a value are left alone: giving a first one
//! is for people. The same view gives the same answer.

mod back;
mod calm;
mod past;
mod proposal;
mod relief;
mod remedy;
mod sharing;
mod signs;

use super::diagnosis::Diagnosis;
use super::intent::{Intent, Thought};
use super::view::{UnitView, View};
use crate::setting::{Property, UnitName, Value};

use proposal::{Answer, Proposal};
use remedy::Step;

const MIB: u64 = 1 << 20;

/// A longer reason would not be read.
const WHY_CHARS_MAX: usize = 480;

/// The answer to a view, as JSON: one proposal, or why there is none.
pub fn propose(view: &View) -> String {
    consider(view).text
}

/// The same, with what is meant by it.
pub fn consider(view: &View) -> Thought {
    let (answer, intent) = match choose(view) {
        Ok(step) => {
            let intent = step.intent();
            (Answer::Proposal(Box::new(Proposal::of(&step, view))), intent)
        }
        Err(why) => (Answer::NoAction { no_action: why }, None),
    };
    // Strings, numbers and a finite float: there is nothing in it that could fail.
    let text = serde_json::to_string(&answer)
        .unwrap_or_else(|_| r#"{"no_action":"the answer could not be written"}"#.to_owned());
    Thought { text, intent }
}

fn choose(view: &View) -> Result<Step<'_>, String> {
    if view.stale {
        return Err("the data is too old to decide by".to_owned());
    }
    let signs = signs::read(view);
    let is_calm = signs.troubles.is_empty() && signs.ruled_out.is_empty();
    if is_calm {
        let quiet = if view.exploration {
            calm::explore(view)
        } else {
            calm::undo_what_did_nothing(view).or_else(|| calm::give_back(view))
        };
        return quiet.ok_or_else(|| {
            let what = if view.exploration {
                "nothing is close enough to a limit to be worth trying"
            } else {
                "nothing to do"
            };
            format!("every unit has the memory and the processor time it asks for: {what}")
        });
    }
    let mut why = signs.ruled_out;
    if view.spent_today && !signs.troubles.is_empty() {
        why.extend(signs.troubles.iter().map(signs::Trouble::sentence));
        why.push("as many changes were tried as a day may have".to_owned());
        return Err(told(&why));
    }
    if view.exploration {
        let seen = signs.troubles.iter().map(signs::Trouble::sentence);
        why.extend(seen);
        why.push("this is no time to explore".to_owned());
        return Err(told(&why));
    }
    let killed = signs.troubles.iter().any(|trouble| trouble.diagnosis == Diagnosis::LimitTooLow);
    if !killed && view.units.values().any(|seen| seen.facts.moving) {
        // How much is missing cannot be told yet, and whatever is tried now would be blamed for what is still to come.
        why.extend(signs.troubles.iter().map(signs::Trouble::sentence));
        why.push(
            "this is still changing by the minute and is looked at again when it has settled".to_owned(),
        );
        return Err(told(&why));
    }
    if let Some(step) = back::owed(&signs.troubles, view) {
        return Ok(step);
    }
    for trouble in signs.troubles {
        match remedy::of(&trouble, view) {
            Ok(step) => return Ok(step),
            Err(barred) => why.push(format!("{}, and {barred}", trouble.sentence())),
        }
    }
    Err(told(&why))
}

fn told(why: &[String]) -> String {
    why.join("; ").chars().take(WHY_CHARS_MAX).collect()
}

/// Why a change is made.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reason {
    /// Something is wrong, so bad in percent.
    Heal {
        diagnosis: Diagnosis,
        severity: f64,
    },
    /// Another managed unit pays for what was given: it waits so much of the time, in percent.
    TakeBack {
        waits: f64,
    },
    Explore,
    GiveBack,
    /// It was changed, and that had no effect.
    NoEffect,
}

#[derive(Clone, Debug, PartialEq)]
struct Move {
    property: Property,
    from: Value,
    to: Value,
}

impl Move {
    /// How far it goes, as a share of where it begins; for a number in its own unit.
    fn share(&self) -> f64 {
        match (self.from, self.to) {
            (Value::Number(from), Value::Number(to)) => (from - to) as f64,
            (from, to) => match from.amount().zip(to.amount()) {
                Some((from, to)) if from > 0.0 => (to - from) / from,
                _ => 0.0,
            },
        }
    }
}

impl UnitView {
    fn value(&self, property: &Property) -> Value {
        match property {
            Property::MemoryMax => self.memory_max,
            Property::MemoryHigh => self.memory_high,
            Property::CpuQuota => self.cpu_quota,
            Property::Nice => self.nice,
            Property::MaxJobs | Property::Cores | Property::Other(_) => Value::Unset,
        }
    }
}

fn bytes(value: Value) -> Option<u64> {
    match value {
        Value::Bytes(bytes) => Some(bytes),
        Value::Percent(_) | Value::Number(_) | Value::Infinity | Value::Unset => None,
    }
}

impl Step<'_> {
    fn intent(&self) -> Option<Intent> {
        let Reason::Heal { diagnosis, severity } = self.reason else { return None };
        // Of a pair the throttle is what relieves; the limit only makes room for it.
        let felt =
            self.also.as_ref().filter(|_| diagnosis == Diagnosis::ThrottleTooLow).unwrap_or(&self.change);
        Some(Intent {
            diagnosis,
            unit: self.unit.clone(),
            property: felt.property.clone(),
            step: felt.share(),
            severity,
        })
    }
}

/// The kind of a unit: its name up to what tells it from its siblings.
fn stem(unit: &UnitName) -> &str {
    unit.as_str().split(['-', '@', '.', '_']).next().unwrap_or_default()
}
