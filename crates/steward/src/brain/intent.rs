//! What a proposal is meant to do, kept beside its text so that what it came to can be told from it.

use super::diagnosis::Diagnosis;
use super::view::Experience;
use crate::outcome::Outcome;
use crate::setting::{Property, UnitName};

/// An answer, and what is meant by it; nothing is meant where nothing is to be done.
#[derive(Clone, Debug, PartialEq)]
pub struct Thought {
    /// One proposal as JSON, or why there is none.
    pub text: String,
    pub intent: Option<Intent>,
}

/// What a proposal is to heal, and how bad that was.
#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    pub diagnosis: Diagnosis,
    pub unit: UnitName,
    pub property: Property,
    /// How far the setting is moved, as a share of what it was; for a nice value in whole steps.
    pub step: f64,
    pub severity: f64,
}

impl Intent {
    /// What is learnt when it is known how bad it was afterwards.
    pub fn came_to(self, after: f64, outcome: Outcome) -> Experience {
        let Intent { diagnosis, unit, property, step, severity } = self;
        Experience { diagnosis, property, unit, step, before: severity, after, outcome, here: true }
    }
}
