//! What is seen of a target: collections, and what can be told about it from outside without asking it.

use std::time::Duration;

use holdfast_lifeline::{EpisodeId, Now, Steady};
use holdfast_steward::invariant::{Health, Seen};
use holdfast_steward::watch::Sighting;
use holdfast_types::Timestamp;

use super::model::{Model, Which, quiet_week};
use super::real::RealEyes;
use super::vitals::Guard;

/// An endpoint that has not answered within this is not well.
pub(super) const PROBE_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) enum Eyes {
    Modelled { model: Model, which: Which, endpoint: String },
    Real(Box<RealEyes>),
}

/// What is seen from outside.
#[derive(Debug)]
pub(super) struct Outdoors {
    pub(super) endpoints: Vec<(String, Option<Health>)>,
    /// Whether this controller's own network is well.
    pub(super) references: bool,
    /// What a VPN says of the target; nothing where none is asked.
    pub(super) vpn: Option<Seen>,
    /// When whoever guards the target was last seen at work.
    pub(super) heartbeat: Option<Steady>,
    pub(super) watched: Watched,
    /// Whether whoever guards it found the safety parts as they were installed.
    pub(super) whole: bool,
    pub(super) rehearsed: Vec<(&'static str, Option<Steady>)>,
}

/// Which window whoever guards has read.
#[derive(Debug)]
pub(super) enum Watched {
    WhateverIsOpen,
    Only(Option<EpisodeId>),
}

impl Eyes {
    pub(super) fn are_real(&self) -> bool {
        matches!(self, Eyes::Real(_))
    }

    /// Measures; nothing when the target does not answer.
    pub(super) fn collect(&mut self, now: Now) -> Option<Sighting> {
        match self {
            Eyes::Modelled { model, .. } => {
                let sight = model.sight();
                sight.answers.then_some(sight.machine)
            }
            Eyes::Real(real) => real.collect(now),
        }
    }

    /// The endpoints as the last collection found them, and whether each was well.
    pub(super) fn endpoints(&self) -> Vec<(String, bool)> {
        match self {
            Eyes::Modelled { model, endpoint, .. } => vec![(endpoint.clone(), model.sight().healthy)],
            Eyes::Real(real) => real.endpoints(),
        }
    }

    /// Reads of the last collection that failed. A modelled host says all of itself, or nothing.
    pub(super) fn failures(&self) -> u64 {
        match self {
            Eyes::Modelled { model, .. } => u64::from(!model.sight().answers),
            Eyes::Real(real) => real.failures(),
        }
    }

    pub(super) fn guard(&self) -> Guard {
        match self {
            Eyes::Modelled { .. } => Guard::NotNeeded,
            Eyes::Real(real) => real.guard(),
        }
    }

    /// A quiet week before the first collection, for whoever has to learn what is usual. A real host has none.
    pub(super) fn quiet_week(&self, from: Steady) -> Vec<(Steady, Sighting)> {
        match self {
            Eyes::Modelled { which, .. } => quiet_week(which.seed, from),
            Eyes::Real(_) => Vec::new(),
        }
    }

    /// What others measured up to `not_before` says nothing.
    pub(super) fn look(&mut self, now: Now, not_before: Option<Timestamp>) -> Outdoors {
        match self {
            Eyes::Modelled { model, endpoint, .. } => {
                let health = Health { healthy: model.sight().healthy, at: now.steady };
                Outdoors {
                    endpoints: vec![(endpoint.clone(), Some(health))],
                    references: true,
                    vpn: None,
                    // A modelled host has no tripwire beside it, so its heartbeat is always fresh. Its ways back are calls
                    // inside this process; there is nothing about them to rehearse.
                    heartbeat: Some(now.steady),
                    watched: Watched::WhateverIsOpen,
                    whole: true,
                    rehearsed: vec![("lease", Some(now.steady)), ("first route", Some(now.steady))],
                }
            }
            Eyes::Real(real) => real.look(now, not_before),
        }
    }

    /// Ends what is still connected.
    pub(super) fn hang_up(&self) {
        if let Eyes::Real(real) = self {
            real.hang_up();
        }
    }

    /// Why nothing is seen.
    pub(super) fn trouble(&self) -> Option<String> {
        match self {
            Eyes::Modelled { .. } => None,
            Eyes::Real(real) => real.trouble(),
        }
    }
}
