//! The window record: which episode is open, what is known to be good, and who may end it.
//!
//! It lies beside the controller and the tripwire, durable, in a place the planner cannot write. Whoever wants to keep
//! or to undo claims it first, in one step that only one of them can win. Unreadable means open.

use serde::{Deserialize, Serialize};

use crate::identity::{EpisodeId, Identity};
use crate::time::Steady;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowRecord {
    pub episode: EpisodeId,
    /// What to go back to.
    pub known_good: Identity,
    pub candidate: Identity,
    pub state: WindowState,
    /// When the lease has surely run out, on the clock of the controller's machine.
    pub deadline: Steady,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowState {
    /// Armed, or being activated: nothing is judged yet.
    Open,
    /// Seen running since.
    Active {
        since: Steady,
    },
    /// The controller is keeping it.
    Keeping {
        since: Steady,
    },
    /// It is kept, and watched until.
    Probation {
        until: Steady,
    },
    Undoing {
        by: Owner,
    },
    /// Settled; the record may be replaced by the next.
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    Controller,
    Tripwire,
}

/// What somebody wants to do with the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    Activate {
        since: Steady,
    },
    Keep {
        since: Steady,
    },
    Watch {
        until: Steady,
    },
    Undo {
        by: Owner,
    },
    /// Only who undoes closes what is being undone: the other may not be done yet.
    Close {
        by: Owner,
    },
}

impl WindowRecord {
    /// Whether this new record may take the place of one that is there: a closed one, or one of its own episode.
    pub fn may_replace(&self, old: &WindowRecord) -> bool {
        old.state == WindowState::Closed || old.episode == self.episode
    }

    /// The same record on another count of time.
    pub fn moved(self, onto: impl Fn(Steady) -> Steady) -> WindowRecord {
        let state = match self.state {
            WindowState::Active { since } => WindowState::Active { since: onto(since) },
            WindowState::Keeping { since } => WindowState::Keeping { since: onto(since) },
            WindowState::Probation { until } => WindowState::Probation { until: onto(until) },
            other @ (WindowState::Open | WindowState::Undoing { .. } | WindowState::Closed) => other,
        };
        WindowRecord { state, deadline: onto(self.deadline), ..self }
    }

    /// The record after a claim, or nothing when somebody else was first. The whole table of who may do what when.
    pub fn claimed(&self, claim: Claim) -> Option<WindowRecord> {
        use WindowState::{Active, Closed, Keeping, Open, Probation, Undoing};
        let state = match (self.state, claim) {
            (Open, Claim::Activate { since }) => Active { since },
            (Active { .. }, Claim::Keep { since }) => Keeping { since },
            // A second try after a restart: the keeping was decided, and only one keeps. The tripwire's wait goes on: a
            // controller that dies over and over does not put it off.
            (Keeping { since }, Claim::Keep { .. }) => Keeping { since },
            (Keeping { .. } | Probation { .. }, Claim::Watch { until }) => Probation { until },
            (Open | Active { .. } | Probation { .. }, Claim::Undo { by }) => Undoing { by },
            // The controller may find that its keeping was refused. The tripwire waits first, then takes over from one that
            // died in the middle; the target settles which of the two came first there.
            (Keeping { .. }, Claim::Undo { by }) => Undoing { by },
            (Undoing { by: owner }, Claim::Undo { by }) if owner == by => Undoing { by },
            (
                Open | Active { .. } | Keeping { .. } | Probation { .. },
                Claim::Close { by: Owner::Controller },
            ) => Closed,
            (Undoing { by: owner }, Claim::Close { by }) if owner == by => Closed,
            (Closed, Claim::Close { .. }) => Closed,
            (
                Closed,
                Claim::Activate { .. } | Claim::Keep { .. } | Claim::Watch { .. } | Claim::Undo { .. },
            )
            | (Open, Claim::Keep { .. } | Claim::Watch { .. })
            | (Active { .. }, Claim::Activate { .. } | Claim::Watch { .. })
            | (Keeping { .. }, Claim::Activate { .. })
            | (Probation { .. }, Claim::Activate { .. } | Claim::Keep { .. })
            | (
                Open | Active { .. } | Keeping { .. } | Probation { .. },
                Claim::Close { by: Owner::Tripwire },
            )
            | (
                Undoing { .. },
                Claim::Activate { .. }
                | Claim::Keep { .. }
                | Claim::Watch { .. }
                | Claim::Undo { .. }
                | Claim::Close { .. },
            ) => return None,
        };
        Some(WindowRecord { state, ..self.clone() })
    }
}

#[cfg(test)]
mod tests;
