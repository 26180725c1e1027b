//! What the records come to: the only way the steward's state changes for good.

use holdfast_lifeline::{EpisodeId, Flaw, Steady};

use super::{BASELINE_SPAN, Steward};
use crate::episode::{Cleared, Ending, Episode, Phase};
use crate::event::Event;
use crate::gates::GateResult;
use crate::ladder::{Fact, LetBy};
use crate::limits::{self, Limits, PlanEnd};
use crate::outcome::{self, Outcome};
use crate::retrospective::Due;
use crate::setting::Change;
use crate::trigger::{Cause, Disturbance, Gate};

impl Steward {
    /// What its records come to. Also run while they are written, so that both are the same.
    pub(super) fn apply(&mut self, event: &Event) {
        let at = self.now.steady;
        match event {
            Event::Enrolled { known_good } => self.known_good = Some(*known_good),
            Event::LevelSet { to, .. } => {
                self.level = *to;
                self.evidence.fold(&Fact::LevelChanged { to: *to, at });
            }
            Event::Queued { cause } => {
                // Whether it may be queued was decided when it was written down.
                self.queue.offer(at, cause.clone(), &Gate::default());
                if let Cause::Revert { episode } = cause {
                    self.reverts_owed.retain(|owed| owed != episode);
                }
            }
            Event::Opened { episode } => {
                self.serial += 1;
                self.queue.take(at, &Gate::default());
                self.episode = Some((**episode).clone());
            }
            Event::Judged { episode, results, cleared, proposed } => {
                self.judged(episode, results, cleared.as_deref(), proposed);
            }
            Event::Gated { episode, result } => self.gated(episode, result),
            Event::Moved { phase, .. } => self.enter((**phase).clone()),
            Event::Counted { episode } => self.count(episode),
            Event::Scored { verifying, .. } => self.enter(Phase::Verifying((**verifying).clone())),
            // What it decides follows in a record of its own.
            Event::Foretold { .. } => {}
            Event::Kept { episode, identity, changes, .. } => {
                self.known_good = Some(*identity);
                self.recent.retain(|(when, _)| at.since(*when) < BASELINE_SPAN);
                self.recent.extend(changes.iter().map(|change| (at, change.clone())));
                self.retrospectives.add(Due { episode: episode.clone(), switched: self.now.into() });
            }
            Event::Restored { episode, identity } => {
                self.known_good = Some(*identity);
                self.retrospectives.forget(episode);
            }
            Event::Ended { episode, ending } => self.ended(episode, ending),
            Event::BreakerOpened => self.evidence.fold(&Fact::BreakerOpened { at }),
            Event::BreakerReset => {
                self.breaker =
                    std::mem::take(&mut self.breaker).step(&limits::Event::Reset, &self.settings.limits);
                self.evidence.fold(&Fact::BreakerReset);
            }
            Event::Drifted { .. } => {
                self.drifted = true;
                self.others_changed = Some(at);
            }
            Event::Accepted { known_good } => {
                self.drifted = false;
                self.others_changed = Some(at);
                self.known_good = Some(*known_good);
            }
            Event::Retrospected { episode, verdict } => self.looked_back(episode, verdict),
            Event::Consolidated { .. } => self.consolidated(at),
            Event::Drawn { drafts } => self.drawn(at, drafts),
            Event::Reviewed { episode } => {
                self.evidence.fold(&Fact::ProposalReviewed { episode: episode.clone() });
            }
            // For the brain, which is shown it by whoever asks it.
            Event::Learnt { .. } => {}
            Event::Rehearsed { tripwire: true } => self.evidence.fold(&Fact::TripwireShown { at }),
            Event::Rehearsed { tripwire: false } => self.evidence.fold(&Fact::RollbackRehearsed { at }),
        }
    }

    pub(super) fn enter(&mut self, phase: Phase) {
        if let Some(episode) = &mut self.episode {
            episode.approved |= matches!(phase, Phase::Preflight { approved: true, .. });
            episode.phase = phase;
        }
    }

    pub(super) fn judged(
        &mut self,
        id: &EpisodeId,
        results: &[GateResult],
        cleared: Option<&Cleared>,
        proposed: &[Change],
    ) {
        // That there is nothing to do is an answer too: what no gate refused was a valid plan.
        let valid = results.iter().all(|result| result.passed);
        self.evidence.fold(&Fact::PlanEnded { episode: id.clone(), valid });
        let Some(episode) = &mut self.episode else { return };
        episode.refused_by = results.iter().rev().find(|result| !result.passed).map(|result| result.gate);
        if let Some(cleared) = cleared {
            episode.cleared = Some(cleared.clone());
        }
        episode.proposed = proposed.to_vec();
    }

    pub(super) fn gated(&mut self, id: &EpisodeId, result: &GateResult) {
        if result.passed {
            return;
        }
        self.evidence.fold(&Fact::PlanEnded { episode: id.clone(), valid: false });
        if let Some(episode) = &mut self.episode {
            episode.refused_by = Some(result.gate);
        }
    }

    pub(super) fn count(&mut self, episode: &EpisodeId) {
        let no_limit = Limits { trials_per_day: u32::MAX, ..self.settings.limits.clone() };
        // What was written down happened, whatever the limit is today.
        let counted = self.trials.start(episode, &no_limit, self.limit_clock());
        debug_assert!(counted.is_ok(), "without a limit nothing is refused");
    }

    pub(super) fn ended(&mut self, id: &EpisodeId, ending: &Ending) {
        let Some(episode) = self.episode.take().filter(|episode| episode.id == *id) else { return };
        let at = self.now.steady;
        self.acknowledge(at);
        if ending.tried {
            self.disturbance = self.disturbed_by(&episode, Some(at));
        }
        if finishes_a_cycle(ending.outcome) && episode.reverts.is_none() {
            self.cycles.finish(id, at);
        }
        let plan = plan_end(ending);
        self.planning_pause = self.planning_pause.step(plan, &self.settings.limits, at);
        let let_by = if episode.approved { LetBy::Person } else { LetBy::Steward };
        self.evidence.fold(&Fact::Ended { episode: id.clone(), outcome: ending.outcome, let_by, at });
        let event = limits::Event::Ended { episode: id.clone(), outcome: ending.outcome, at };
        self.breaker = std::mem::take(&mut self.breaker).step(&event, &self.settings.limits);
        let mut record =
            outcome::Record::new(id.clone(), self.settings.target.clone(), ending.outcome, self.now);
        let mut changes = episode.cleared.map_or(episode.proposed, |cleared| cleared.changes).into_iter();
        record.change = changes.next();
        record.also = changes.next();
        record.gate = episode.refused_by.map(|gate| gate.to_string());
        record.reason = ending.reason.clone();
        record.exploration = episode.exploration;
        self.book.add(record);
    }

    pub(super) fn acknowledge(&mut self, at: Steady) {
        let Some(id) = self.queue.in_hand().map(|taken| taken.id) else { return };
        let rests_from = if self.sound.has(Flaw::NoCoolDown) { Steady(0) } else { at };
        self.queue.acknowledge(id, rests_from);
    }

    /// What an episode stirs up by itself, and what is therefore no reason for the next.
    pub(super) fn disturbed_by(&self, episode: &Episode, ended: Option<Steady>) -> Option<Disturbance> {
        let unit = episode.cleared.as_ref()?.changes.first()?.setting.unit.clone();
        let endpoints = self.settings.endpoint_of.get(&unit).cloned().into_iter().collect();
        Some(Disturbance { unit, endpoints, ended })
    }
}

/// Whether an episode counts as a cycle of planning that came to an answer.
fn finishes_a_cycle(outcome: Outcome) -> bool {
    !matches!(outcome, Outcome::Failed | Outcome::Interrupted)
}

/// What an ending says about planning.
fn plan_end(ending: &Ending) -> PlanEnd {
    match ending.outcome {
        Outcome::GateRejected => PlanEnd::Invalid,
        // Errors outside the plan: the target, the network, a restart.
        Outcome::Failed | Outcome::Interrupted => PlanEnd::Network,
        Outcome::Kept
        | Outcome::Improved
        | Outcome::Neutral
        | Outcome::Inconclusive
        | Outcome::DelayedNegative
        | Outcome::RolledBack
        | Outcome::NoAction
        | Outcome::Planned
        | Outcome::Refused => PlanEnd::Valid,
    }
}
