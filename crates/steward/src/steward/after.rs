//! After the commit: two hours of probation with the way back armed, and a look back a day later.

use std::time::Duration;

use holdfast_lifeline::{Claim, EpisodeId, Flaw, Owner, Steady};

use super::trial::PROBATION_LOOK;
use super::{RECORD_WITHIN, SLACK, Steward, Turn};
use crate::constitution::{OnDelayedNegative, OnNeutral};
use crate::effect::{Answer, Effect, Fault, Looked, Tiding};
use crate::episode::{Phase, Probation, Trial, Violation, Why};
use crate::event::Event;
use crate::invariant::Moment;
use crate::ladder::{Fact, LetBy, Level};
use crate::look::{self, Expected};
use crate::outcome::{self, Outcome};
use crate::proposal;
use crate::retrospective::{self, AFTER, Overlap, Verdict};
use crate::setting::Change;
use crate::trigger::Cause;
use crate::verify::Cycle;

/// Bad looks in a row that end a probation.
const BAD_LOOKS: u8 = 3;
/// More ways back than this at once are no proposal but a list.
const TAKE_BACK_MAX: usize = 8;
/// By how much it goes on when the last look said nothing.
const PROBATION_LONGER: Duration = Duration::from_secs(600);

impl Turn<'_> {
    pub(super) fn probation_time(&mut self, probation: Probation) {
        if self.now() >= probation.until && !probation.well {
            return self.prolong(probation);
        }
        if self.now() >= probation.until {
            let (op, trial) = (self.op(), probation.trial);
            self.move_to(Phase::Closing { op, until: self.after(RECORD_WITHIN), trial });
            if let Some(episode) = self.steward.episode.as_ref().map(|episode| episode.id.clone()) {
                let claim = Claim::Close { by: Owner::Controller };
                self.act(Effect::ClaimWindow { op, episode, claim });
            }
            return;
        }
        self.probation_again(probation);
    }

    /// Whoever saw nothing lately does not know that it is well: probation goes on until somebody does.
    fn prolong(&mut self, mut probation: Probation) {
        probation.until = self.after(PROBATION_LONGER);
        self.claim(Claim::Watch { until: probation.until });
        self.probation_again(probation);
    }

    pub(super) fn end_kept(&mut self) {
        self.end(Outcome::Kept, "verified from outside, and well on probation", true);
    }

    pub(super) fn probation_again(&mut self, mut probation: Probation) {
        let op = self.op();
        probation.op = Some(op);
        probation.look_at = self.after(PROBATION_LOOK.max(SLACK));
        self.note(Phase::Probation(probation));
        let look = self.look_for(false, false);
        self.look(op, look);
    }

    pub(super) fn probation(&mut self, mut probation: Probation, looked: &Looked) {
        probation.op = None;
        if let Some(target) = &looked.target {
            let Trial { known_good, candidate } = probation.trial;
            if target.boots_into == known_good {
                return self.stand_by(probation.trial, Why::Tripwire, true);
            }
            if target.boots_into != candidate {
                return self.undo(probation.trial, Why::Drift, true);
            }
            // What people change is theirs, and is no reason to stop looking at the workload.
            probation.before.people = target.people;
            // What is kept outlives a boot; its counters do not.
            if target.boot != probation.before.boot {
                probation.before.boot = target.boot;
                probation.before.workload = target.workload;
            }
        }
        let expected = Expected {
            moment: Moment::Probation,
            identity: probation.trial.candidate,
            before: Some(probation.before),
            // How fresh a result is counts here, not which side of the activation it is on.
            activated: Some(Steady(0)),
            excused: None,
            episode: None,
            now: self.now(),
            settings: &self.steward.settings,
        };
        let judged = look::cycle(looked, &expected, self.sound());
        probation.well = judged.violation.is_none() && judged.cycle == Cycle::Pass;
        let bad = match (judged.violation, judged.cycle) {
            // People may change their own part of a target whose change was kept.
            (Some(Violation::PeopleChanged | Violation::Boot), _) => None,
            (Some(violation), _) => Some(violation),
            (None, Cycle::Fail | Cycle::TimedOut) => Some(judged.blame.unwrap_or(Violation::Unreachable)),
            (None, Cycle::Pass | Cycle::Grace) => {
                probation.bad = 0;
                None
            }
            (None, Cycle::Inconclusive) => None,
        };
        let Some(violation) = bad else { return self.note(Phase::Probation(probation)) };
        probation.bad += 1;
        if let Some(target) = &looked.target {
            probation.before.workload = target.workload;
        }
        if probation.bad >= BAD_LOOKS {
            return self.undo(probation.trial, Why::Probation(violation), true);
        }
        self.note(Phase::Probation(probation));
    }

    pub(super) fn look_back_when_due(&mut self) {
        if self.steward.comparing.is_some() {
            return;
        }
        let due = self.steward.retrospectives.due(self.steward.now).next();
        let Some((episode, switched)) = due.map(|due| (due.episode.clone(), due.switched.steady)) else {
            return;
        };
        let op = self.op();
        self.steward.comparing = Some((op, episode.clone(), switched));
        self.act(Effect::Compare { op, episode, switched });
    }

    pub(super) fn compared(&mut self, answer: Result<Answer, Fault>) {
        let Some((_, episode, switched)) = self.steward.comparing.take() else { return };
        let Ok(Answer::Compared(compared)) = answer else {
            // It stays due, and is asked for again with the next thing that happens.
            return;
        };
        // Whatever somebody else changed in these two days cannot be told from what the change did.
        let others = self.steward.others_changed.is_some_and(|at| at.plus(AFTER) > switched);
        let overlap =
            if others { Overlap::Overlapping } else { self.steward.retrospectives.overlap(&episode) };
        let law = &self.steward.settings.constitution;
        let mut verdict =
            retrospective::judge(compared.before, compared.after, &compared.guards, law, overlap);
        if self.sound().has(Flaw::NeutralIsSuccess) && verdict == Verdict::Neutral {
            verdict = Verdict::Improved;
        }
        self.record(Event::Retrospected { episode: episode.clone(), verdict: verdict.clone() });
        if matches!(verdict, Verdict::Worse { .. }) && !self.sound().has(Flaw::LateHarmKept) {
            self.late_harm(episode);
        }
        self.pay_what_is_owed();
    }

    fn late_harm(&mut self, episode: EpisodeId) {
        self.act(Effect::Tell(Tiding::LateHarm { episode }));
    }

    /// What is owed is queued as soon as anything may be: a pause or an open circuit puts it off, and does not cancel it.
    pub(super) fn pay_what_is_owed(&mut self) {
        if let Some(episode) = self.steward.reverts_owed.first().cloned() {
            self.trigger(Cause::Revert { episode });
        }
    }
}

impl Steward {
    /// Late harm is taken back, and so is what had no effect, where people set it so.
    fn owe_a_revert(&mut self, episode: &EpisodeId, verdict: &Verdict) {
        let law = &self.settings.constitution;
        let owed = match verdict {
            Verdict::Worse { .. } => law.on_delayed_negative() == OnDelayedNegative::Revert,
            Verdict::Neutral => {
                let went_back = took_back(&self.reverse_of(episode), &self.committed());
                law.on_neutral() == OnNeutral::Revert && !went_back
            }
            Verdict::Improved | Verdict::Inconclusive { .. } => false,
        };
        if owed && !self.sound.has(Flaw::LateHarmKept) {
            self.reverts_owed.push(episode.clone());
        }
    }

    pub(super) fn looked_back(&mut self, episode: &EpisodeId, verdict: &Verdict) {
        self.retrospectives.settle(episode, verdict.clone());
        let standing =
            self.book.standing(&self.settings.target).find(|record| record.episode == *episode).cloned();
        let Some(trial) = standing else { return };
        let let_by = if self.level >= Level::TierOne { LetBy::Steward } else { LetBy::Person };
        self.owe_a_revert(episode, verdict);
        let (outcome, at) = (verdict.outcome(), self.now.steady);
        self.evidence.fold(&Fact::Ended { episode: episode.clone(), outcome, let_by, at });
        self.book.add(outcome::Record { outcome, at, wall: self.now.wall, ..trial });
    }

    /// The changes of every episode that was kept, whatever came of it.
    fn committed(&self) -> Vec<Vec<Change>> {
        let standing = self.book.standing(&self.settings.target);
        let kept = standing.filter(|record| record.outcome.was_committed());
        kept.map(|record| record.changes().cloned().collect()).collect()
    }

    /// The way back from each change that was kept and had no effect, newest first, where people set that it is proposed. What itself
    /// took a change back stays: else the two would take turns for ever.
    pub(super) fn to_take_back(&self) -> Vec<Vec<Change>> {
        if self.settings.constitution.on_neutral() != OnNeutral::ProposeRevert {
            return Vec::new();
        }
        let committed = self.committed();
        let standing = self.book.standing(&self.settings.target);
        let neutral = standing.filter(|record| record.outcome == Outcome::Neutral);
        let ways_back = neutral.map(|record| record.changes().map(Change::reversed).collect::<Vec<_>>());
        let mut ways_back: Vec<_> =
            ways_back.filter(|back| !back.is_empty() && !took_back(back, &committed)).collect();
        ways_back.reverse();
        ways_back.truncate(TAKE_BACK_MAX);
        ways_back
    }

    /// The change of this answer, where it goes back from one that had no effect.
    pub(super) fn taken_back_by(&self, text: &str) -> Option<Change> {
        let Ok(proposal::Answer::Proposal(proposal)) = proposal::parse(text) else { return None };
        let change = proposal.changes().into_iter().next()?;
        self.to_take_back().iter().any(|back| back.contains(&change)).then_some(change)
    }

    /// Whether a day after it was kept there was no difference.
    pub(super) fn had_no_effect(&self, episode: &EpisodeId) -> bool {
        let mut standing = self.book.standing(&self.settings.target);
        standing.any(|record| record.episode == *episode && record.outcome == Outcome::Neutral)
    }

    /// The changes of an episode, the other way round.
    pub(super) fn reverse_of(&self, episode: &EpisodeId) -> Vec<Change> {
        let mut standing = self.book.standing(&self.settings.target);
        let Some(record) = standing.find(|record| record.episode == *episode) else { return Vec::new() };
        record.changes().map(Change::reversed).collect()
    }
}

/// Whether the change whose way back this is was itself the way back from one of these.
fn took_back(back: &[Change], others: &[Vec<Change>]) -> bool {
    others.iter().any(|changes| changes == back)
}
