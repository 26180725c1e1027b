//! What a target and the steward showed of themselves, summed up for the ladder.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Level;
use crate::outcome::Outcome;
use crate::retrospective::Stamp;
use crate::setting::EpisodeId;
use crate::time::{Now, Steady};

/// The longest pause between two samples that still counts as continuous (STW-256).
const GAP_MAX: Duration = Duration::from_secs(5 * 60);
const PLANS_KEPT: usize = 5;
/// More than any rung asks for.
const EPISODES_KEPT: usize = 16;

/// Who let a trial happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LetBy {
    Person,
    Steward,
}

/// Something that happened to a target and bears on trust. The order is that of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    Sampled {
        at: Stamp,
    },
    /// Samples have come without a gap since then: told by whoever keeps them, after a start.
    Continuous {
        from: Steady,
        at: Stamp,
    },
    PlanEnded {
        episode: EpisodeId,
        valid: bool,
    },
    ProposalReviewed {
        episode: EpisodeId,
    },
    /// A rollback was caused on purpose, and the known-good state was seen running again.
    RollbackRehearsed {
        at: Steady,
    },
    /// The tripwire was made to fire with everything else stopped, and did.
    TripwireShown {
        at: Steady,
    },
    Ended {
        episode: EpisodeId,
        outcome: Outcome,
        let_by: LetBy,
        at: Steady,
    },
    /// The tripwire fired, and nothing was wrong with the target.
    TripwireSpurious {
        at: Steady,
    },
    BreakerOpened {
        at: Steady,
    },
    BreakerReset,
    LevelChanged {
        to: Level,
        at: Steady,
    },
}

/// What the facts amount to. Small, and the same whether a fact is told once or twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    metrics: Option<Run>,
    pub(super) plans: VecDeque<(EpisodeId, bool)>,
    pub(super) reviewed: BTreeSet<EpisodeId>,
    pub(super) rehearsed: Option<Steady>,
    pub(super) tripwire_shown: Option<Steady>,
    pub(super) kept_under_approval: BTreeSet<EpisodeId>,
    pub(super) improved_alone: BTreeSet<EpisodeId>,
    pub(super) unexpected_rollback: Option<Steady>,
    pub(super) spurious_tripwire: Option<Steady>,
    pub(super) breaker_opened: Option<Steady>,
    pub(super) breaker_open: bool,
    pub(super) level_since: Option<Steady>,
}

/// Samples without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Run {
    from: Steady,
    last: Stamp,
}

impl Run {
    /// The longer of the two clocks' answers is the gap: steady time does not see a controller that was off, and in doubt
    /// the run begins anew.
    fn goes_on(&self, at: Stamp) -> bool {
        let by_wall =
            if self.last.synced && at.synced { at.wall.since(self.last.wall) } else { Duration::ZERO };
        at.steady.since(self.last.steady).max(by_wall) <= GAP_MAX
    }
}

impl Evidence {
    /// Whether a person has read what this episode proposed.
    pub fn has_reviewed(&self, episode: &EpisodeId) -> bool {
        self.reviewed.contains(episode)
    }

    pub fn fold(&mut self, fact: &Fact) {
        match fact {
            Fact::Sampled { at } => self.sampled(*at),
            Fact::Continuous { from, at } => self.metrics = Some(Run { from: *from, last: *at }),
            Fact::PlanEnded { episode, valid } => self.plan_ended(episode, *valid),
            Fact::ProposalReviewed { episode } => note(&mut self.reviewed, episode),
            Fact::RollbackRehearsed { at } => self.rehearsed = Some(*at),
            Fact::TripwireShown { at } => self.tripwire_shown = Some(*at),
            Fact::Ended { episode, outcome, let_by, at } => self.ended(episode, *outcome, *let_by, *at),
            Fact::TripwireSpurious { at } => self.spurious_tripwire = Some(*at),
            Fact::BreakerOpened { at } => {
                self.breaker_opened = Some(*at);
                self.breaker_open = true;
                self.kept_under_approval.clear();
                self.improved_alone.clear();
            }
            Fact::BreakerReset => self.breaker_open = false,
            Fact::LevelChanged { at, .. } => {
                self.level_since = Some(*at);
                self.improved_alone.clear();
            }
        }
    }

    fn sampled(&mut self, at: Stamp) {
        let from = self.metrics.filter(|run| run.goes_on(at)).map_or(at.steady, |run| run.from);
        self.metrics = Some(Run { from, last: at });
    }

    /// How long samples have come without a gap; none when the last one is itself too old.
    pub(super) fn metrics_for(&self, now: Now) -> Duration {
        let run = self.metrics.filter(|run| run.goes_on(now.into()));
        run.map(|run| run.last.steady.since(run.from)).unwrap_or_default()
    }

    fn plan_ended(&mut self, episode: &EpisodeId, valid: bool) {
        if let Some((_, so_far)) = self.plans.iter_mut().find(|(known, _)| known == episode) {
            // The first gates may let pass what a later one refuses: then it was no valid plan.
            *so_far &= valid;
            return;
        }
        self.plans.push_back((episode.clone(), valid));
        if self.plans.len() > PLANS_KEPT {
            self.plans.pop_front();
        }
    }

    fn ended(&mut self, episode: &EpisodeId, outcome: Outcome, let_by: LetBy, at: Steady) {
        match let_by {
            LetBy::Person if outcome.is_accepted() => note(&mut self.kept_under_approval, episode),
            // Judged a day later, perhaps on another rung: what a person approved was never done alone.
            LetBy::Steward if outcome == Outcome::Improved && !self.kept_under_approval.contains(episode) => {
                note(&mut self.improved_alone, episode);
            }
            // Nobody asked for it, so nobody expected it; that exploring fails more often is no excuse for exploring alone.
            LetBy::Steward if outcome == Outcome::RolledBack => self.unexpected_rollback = Some(at),
            LetBy::Person | LetBy::Steward => {}
        }
        if outcome.is_harm() {
            self.kept_under_approval.remove(episode);
            self.improved_alone.remove(episode);
        }
    }
}

fn note(episodes: &mut BTreeSet<EpisodeId>, episode: &EpisodeId) {
    if episodes.len() < EPISODES_KEPT {
        episodes.insert(episode.clone());
    }
}
