//! From a trigger to what may be tried: look, ask, gate, stage, approve, and look again right before.

use std::time::Duration;

use holdfast_lifeline::{EpisodeId, Flaw, Identity, Sound, Steady};

use super::{
    BRAIN_WITHIN, CALL_WITHIN, CHECK_WITHIN, LOOK_WITHIN, RECORD_WITHIN, SLACK, STAGE_WITHIN, Steward, Turn,
};
use crate::brain::Failure;
use crate::effect::{Answer, Asking, Effect, Fault, Looked, Op, Staged, TargetState, Tiding, Verb};
use crate::episode::{Before, Cleared, Episode, Phase, Trial};
use crate::event::Event;
use crate::explore::Cycle;
use crate::gates::{self, Case, Gate, GateResult, Judged};
use crate::ladder::{self, Approval, Level, Permission};
use crate::look;
use crate::outcome::Outcome;
use crate::policy::Tier;
use crate::proposal;
use crate::setting::Change;
use crate::trigger::Cause;
use crate::verify::Window;

/// How long an approval is waited for.
const APPROVAL_WITHIN: Duration = Duration::from_secs(24 * 3600);
/// Between two looks at whether work in flight has ended.
const DRAIN_EVERY: Duration = Duration::from_secs(60);
/// What the lease outlasts the longest window by: time to activate before it, and to keep after it.
const LEASE_MARGIN: Duration = Duration::from_secs(120);
/// A lease lasts this many renewals.
const LEASE_RENEWALS: u32 = 3;

impl Turn<'_> {
    /// Opens the next episode when there is a reason and nothing stands against it.
    pub(super) fn open_when_due(&mut self) {
        if self.steward.episode.is_some() || !self.steward.may_plan() {
            return;
        }
        let now = self.now();
        // Tried on a copy; the record of the opening takes it.
        let Some(taken) = self.steward.queue.clone().take(now, &self.steward.gate()) else { return };
        let causes = taken.causes;
        let Some(id) = self.steward.issue() else { return };
        let reverts = causes.iter().find_map(|cause| match cause {
            Cause::Revert { episode } => Some(episode.clone()),
            _ => None,
        });
        let exploration = reverts.is_none() && self.steward.cycles.next() == Cycle::Exploration;
        let op = self.op();
        let phase = Phase::Looking { op, until: self.after(LOOK_WITHIN + SLACK) };
        let episode = Episode {
            id,
            causes,
            exploration,
            reverts,
            opened: now,
            cleared: None,
            proposed: Vec::new(),
            refused_by: None,
            approved: false,
            phase,
        };
        self.record(Event::Opened { episode: Box::new(episode) });
        let look = self.look_for(true, false);
        self.look(op, look);
    }

    pub(super) fn first_look(&mut self, looked: &Looked) {
        let Some(target) = &looked.target else {
            return self.end(Outcome::Failed, "the target did not answer", false);
        };
        if self.has_drifted(target) {
            return;
        }
        let Some(full) = &target.full else {
            return self.end(Outcome::Failed, "the target did not say how it is configured", false);
        };
        self.review_when_due(full);
        let (op, fresh) = (self.op(), self.steward.is_fresh());
        let exploration = self.steward.episode.as_ref().is_some_and(|episode| episode.exploration);
        self.steward.planning = Some((self.now(), Box::new(looked.clone())));
        self.move_to(Phase::Asking { op, until: self.after(BRAIN_WITHIN + SLACK), fresh });
        if let Some(text) = self.revert_text() {
            return self.brain(op, Ok(text));
        }
        let full = full.clone();
        let Some(episode) = self.steward.episode.as_ref().map(|episode| episode.id.clone()) else { return };
        let (pressed, take_back) = (self.steward.pressed_bounds(), self.steward.to_take_back());
        let asking = Asking { exploration, fresh, pressed, take_back };
        self.act(Effect::Ask { op, episode, asking, full, within: BRAIN_WITHIN });
    }

    /// A revert needs no brain: it is the change of that episode, the other way round.
    fn revert_text(&self) -> Option<String> {
        let of = self.steward.episode.as_ref()?.reverts.as_ref()?;
        let mut changes = self.steward.reverse_of(of).into_iter();
        let change = changes.next()?;
        let also = changes.next().map(|also| {
            serde_json::json!({
                "target_option": also.setting.property,
                "old_value": also.from.to_string(),
                "new_value": also.to.to_string(),
            })
        });
        let metric = self.steward.settings.constitution.primary();
        let (did, seen) = if self.steward.had_no_effect(of) {
            ("had no effect", "there was no difference in the day after it was kept")
        } else {
            ("did harm", "the metric got worse in the day after it was kept")
        };
        let mut proposal = serde_json::json!({
            "hypothesis": format!("the change of {of} {did}"),
            "target_service": change.setting.unit,
            "target_option": change.setting.property,
            "old_value": change.from.to_string(),
            "new_value": change.to.to_string(),
            "rationale": seen,
            "verification_checks": [],
            "expected_outcome": {
                "metric": metric.metric,
                "direction": metric.direction,
                "relative_change": -metric.minimum_effect,
            },
        });
        if let (Some(also), Some(fields)) = (also, proposal.as_object_mut()) {
            fields.insert("also".to_owned(), also);
        }
        Some(proposal.to_string())
    }

    pub(super) fn brain(&mut self, op: Op, said: Result<String, Failure>) {
        let Some(Phase::Asking { op: wanted, fresh, .. }) =
            self.steward.episode.as_ref().map(|episode| episode.phase.clone())
        else {
            return;
        };
        if wanted != op {
            return;
        }
        match said {
            Err(failure) => self.brain_failed(failure),
            Ok(text) => self.judge(&text, fresh),
        }
    }

    fn brain_failed(&mut self, failure: Failure) {
        if failure == Failure::Auth {
            self.act(Effect::Tell(Tiding::AuthExpired));
        }
        let outcome = if failure.counts_as_failed_plan() { Outcome::GateRejected } else { Outcome::Failed };
        self.end(outcome, format!("the brain gave nothing: {failure}"), false);
    }

    fn judge(&mut self, text: &str, fresh: bool) {
        let Some((looked_at, looked)) = self.steward.planning.take() else {
            return self.end(Outcome::Failed, "what the target said is gone", false);
        };
        let Some((people, full)) =
            looked.target.as_ref().and_then(|target| Some((target.people, target.full.as_ref()?)))
        else {
            return self.end(Outcome::Failed, "what the target said is gone", false);
        };
        let reverts = self.steward.episode.as_ref().and_then(|episode| episode.reverts.clone());
        let revert_to = match reverts {
            Some(of) => self.steward.reverse_of(&of).into_iter().next(),
            None => self.steward.taken_back_by(text),
        };
        let recent = self.steward.recent_changes();
        let case = Case {
            text,
            rules: &self.steward.settings.rules,
            before: &full.com,
            baseline: &full.baseline,
            recent: &recent,
            fresh,
            revert_to: revert_to.as_ref(),
            exploration: self.steward.episode.as_ref().is_some_and(|episode| episode.exploration),
        };
        let judged = gates::judge_timed(&case, self.steward.settings.predicates, self.stopwatch);
        let judged = flawed(judged, &case, self.sound());
        let Some(episode) = self.steward.episode.as_ref().map(|episode| episode.id.clone()) else { return };
        match judged {
            Judged::NoAction { why, results } => {
                self.record(Event::Judged { episode, results, cleared: None, proposed: Vec::new() });
                self.end(Outcome::NoAction, why, false);
            }
            Judged::Refused { results, gate, reason, proposed } => {
                self.record(Event::Judged { episode, results, cleared: None, proposed });
                self.end(Outcome::GateRejected, format!("{gate}: {reason}"), false);
            }
            Judged::Draft { results, reason, .. } => {
                self.record(Event::Judged { episode, results, cleared: None, proposed: Vec::new() });
                self.act(Effect::Tell(Tiding::Draft { what: reason.clone() }));
                self.end(Outcome::Planned, format!("for a person to decide: {reason}"), false);
            }
            Judged::Cleared { results, proposal, changes, tier, .. } => {
                let (hypothesis, expected) = (proposal.hypothesis.clone(), Some(proposal.expected_outcome));
                let cleared = Cleared { changes, tier, hypothesis, people, expected };
                let cleared = Some(Box::new(cleared));
                self.record(Event::Judged { episode, results, cleared, proposed: Vec::new() });
                self.steward.planning = Some((looked_at, looked));
                self.check_whole();
            }
        }
    }

    /// At the level of planning a proposal is there to be read, and that is all.
    fn check_whole(&mut self) {
        if self.steward.level <= Level::Plan && !self.sound().has(Flaw::LevelIgnored) {
            return self.end(Outcome::Planned, "recorded for a person to read", false);
        }
        let Some(cleared) = self.cleared() else { return };
        let op = self.op();
        self.move_to(Phase::Checking { op, until: self.after(CHECK_WITHIN + SLACK) });
        self.call(op, Verb::Check { changes: cleared.changes }, CHECK_WITHIN);
    }

    pub(super) fn checked(&mut self, until: Steady, answer: Result<Answer, Fault>) {
        let took = self.took(until, CHECK_WITHIN);
        match answer {
            Ok(Answer::Checked(Ok(()))) => {
                self.gated(Gate::Whole, took, None);
                self.stage();
            }
            Ok(Answer::Checked(Err(why))) => self.gate_refused(Gate::Whole, took, why),
            Ok(_) => self.end(Outcome::Failed, "the target answered something else", false),
            Err(fault) => self.end(Outcome::Failed, format!("the check could not be made: {fault}"), false),
        }
    }

    /// How long an ask has taken that has this long and until then.
    fn took(&self, until: Steady, within: Duration) -> Duration {
        (within + SLACK).saturating_sub(until.since(self.now()))
    }

    /// Writes down what a gate of the target said: nothing, or why it refuses.
    fn gated(&mut self, gate: Gate, took: Duration, refused: Option<&str>) {
        let Some(episode) = self.steward.episode.as_ref() else { return };
        let about = episode.cleared.as_ref().and_then(|cleared| cleared.changes.first());
        let about = about.filter(|_| refused.is_some());
        let result = GateResult {
            gate,
            passed: refused.is_none(),
            option: about.map(|change| change.setting.to_string()),
            value: about.map(|change| change.to.to_string()),
            reason: refused.unwrap_or_default().to_owned(),
            millis: took.as_millis().try_into().unwrap_or(u64::MAX),
        };
        let episode = episode.id.clone();
        self.record(Event::Gated { episode, result });
    }

    fn gate_refused(&mut self, gate: Gate, took: Duration, why: String) {
        self.gated(gate, took, Some(&why));
        self.end(Outcome::GateRejected, format!("{gate}: {why}"), false);
    }

    fn stage(&mut self) {
        let looked = self.steward.planning.take();
        let (Some(cleared), Some(known_good), Some((looked_at, looked))) =
            (self.cleared(), self.steward.known_good, looked)
        else {
            return self.end(Outcome::Failed, "what was cleared is gone", false);
        };
        if let Err(why) = look::preflight(&looked, &self.steward.expected(&cleared, looked_at), self.sound())
        {
            return self.end(Outcome::Failed, format!("preflight: {why}"), false);
        }
        let Some(episode) = self.steward.episode.as_ref().map(|episode| episode.id.clone()) else { return };
        let op = self.op();
        self.move_to(Phase::Staging { op, until: self.after(STAGE_WITHIN + SLACK), known_good });
        let from = self.now();
        self.act(Effect::Mark { from });
        self.steward.planning = Some((looked_at, looked));
        self.call(op, Verb::Stage { episode, base: known_good, changes: cleared.changes }, STAGE_WITHIN);
    }

    pub(super) fn staged(&mut self, until: Steady, known_good: Identity, answer: Result<Answer, Fault>) {
        let took = self.took(until, STAGE_WITHIN);
        let staged = match answer {
            Ok(Answer::Staged(Ok(staged))) => staged,
            Ok(Answer::Staged(Err(why))) => return self.gate_refused(Gate::Build, took, why),
            Ok(_) => return self.end(Outcome::Failed, "the target answered something else", false),
            Err(fault) => {
                return self.end(Outcome::Failed, format!("it could not be built: {fault}"), false);
            }
        };
        let Some(cleared) = self.cleared() else { return };
        if let Err(why) = self.is_what_was_cleared(&cleared, &staged) {
            return self.gate_refused(Gate::Build, took, why);
        }
        self.gated(Gate::Build, took, None);
        let trial = Trial { known_good, candidate: staged.identity };
        match self.permission(cleared.tier, false) {
            Permission::Yes => self.look_again(trial, false, None),
            Permission::NeedsApproval => self.ask_person(trial, &cleared.changes),
            Permission::No => self.end(Outcome::Planned, "this level tries nothing", false),
        }
    }

    /// What the target evaluates must differ from before in exactly what was cleared.
    fn is_what_was_cleared(&mut self, cleared: &Cleared, staged: &Staged) -> Result<(), String> {
        let looked = self.steward.planning.take();
        let before = looked.as_ref().and_then(|(_, looked)| looked.target.as_ref()?.full.as_ref());
        let Some(before) = before else { return Err("what the target said is gone".to_owned()) };
        gates::evaluated(&before.com, &staged.com, &cleared.changes, &self.steward.settings.rules)
    }

    fn permission(&self, tier: Tier, approved: bool) -> Permission {
        if self.sound().has(Flaw::LevelIgnored) || (self.sound().has(Flaw::TierIgnored) && tier != Tier::One)
        {
            return Permission::Yes;
        }
        let approval = if approved { Approval::Given } else { Approval::Absent };
        ladder::may_try(self.steward.level, tier, approval)
    }

    fn ask_person(&mut self, trial: Trial, changes: &[Change]) {
        let Some(episode) = self.steward.episode.as_ref().map(|episode| episode.id.clone()) else { return };
        let digest = self.steward.digest(trial, changes);
        let what = said(changes);
        self.move_to(Phase::Waiting { trial, until: self.after(APPROVAL_WITHIN) });
        self.act(Effect::AskApproval { episode: episode.clone(), digest, what });
        self.act(Effect::Tell(Tiding::ApprovalAsked { episode }));
    }

    pub(super) fn approval(&mut self, episode: &EpisodeId, digest: &str, allowed: bool) {
        let Some(open) = &self.steward.episode else { return };
        let Phase::Waiting { trial, .. } = open.phase else { return };
        let changes = open.cleared.as_ref().map_or(&[][..], |cleared| &cleared.changes);
        let fits = open.id == *episode && self.steward.digest(trial, changes) == digest;
        if !fits && !self.sound().has(Flaw::ApprovalNotBound) {
            return;
        }
        if allowed { self.look_again(trial, true, None) } else { self.unapproved("a person said no") }
    }

    /// Ends an episode of which nothing is on the target.
    pub(super) fn unapproved(&mut self, why: &str) {
        let Some(open) = &self.steward.episode else { return };
        if matches!(open.phase, Phase::Waiting { .. }) {
            let episode = open.id.clone();
            self.act(Effect::WithdrawApproval { episode });
        }
        self.end(Outcome::Refused, why, false);
    }

    /// Looks at everything once more, right before the trial: what was true minutes or a day ago may not be.
    pub(super) fn look_again(&mut self, trial: Trial, approved: bool, drain_until: Option<Steady>) {
        let op = self.op();
        let until = self.after(LOOK_WITHIN + SLACK);
        self.move_to(Phase::Preflight { op, until, trial, approved, drain_until });
        let look = self.look_for(true, false);
        self.look(op, look);
    }

    pub(super) fn preflight(
        &mut self,
        trial: Trial,
        approved: bool,
        drain_until: Option<Steady>,
        looked: &Looked,
    ) {
        let Some(cleared) = self.cleared() else { return };
        let Some(target) = &looked.target else {
            return self.end(Outcome::Failed, "the target did not answer", false);
        };
        if !self.sound().has(Flaw::PreflightNotRepeated) {
            if self.has_drifted(target) {
                return;
            }
            if let Err(why) =
                look::preflight(looked, &self.steward.expected(&cleared, self.now()), self.sound())
            {
                return self.end(Outcome::Failed, format!("preflight: {why}"), false);
            }
            if target.people != cleared.people {
                let why = "people changed the target since this was judged";
                return self.end(Outcome::Failed, why, false);
            }
        }
        if let Some(why) = self.forbidden(cleared.tier, approved) {
            return self.end(Outcome::Refused, why, false);
        }
        let restarts = cleared.changes.iter().any(|change| change.setting.property.needs_restart());
        if restarts && target.workload.busy && !self.sound().has(Flaw::WorkInFlightKilled) {
            return self.drain(trial, approved, drain_until);
        }
        let before = Before {
            boot: target.boot,
            people: target.people,
            workload: target.workload,
            metric: target.metric,
            foretold: cleared.expected.as_ref().and_then(|it| looked.figure(&it.metric)),
        };
        self.open_window(trial, before);
    }

    /// Whatever may have been switched off since the episode began.
    fn forbidden(&self, tier: Tier, approved: bool) -> Option<&'static str> {
        let steward = &*self.steward;
        if steward.paused && !self.sound().has(Flaw::PauseIgnored) {
            return Some("autonomy was paused");
        }
        if steward.breaker.is_open() && !self.sound().has(Flaw::BreakerIgnored) {
            return Some("the circuit is open");
        }
        let may_start = steward.trials.may_start(&steward.settings.limits, steward.limit_clock());
        if may_start.is_err() && !self.sound().has(Flaw::NoDailyLimit) {
            return Some("as many trials as a day may have were made");
        }
        match self.permission(tier, approved) {
            Permission::Yes => None,
            Permission::NeedsApproval => Some("it needs an approval by now"),
            Permission::No => Some("this level tries nothing by now"),
        }
    }

    fn drain(&mut self, trial: Trial, approved: bool, until: Option<Steady>) {
        let until = until.unwrap_or_else(|| self.after(self.steward.settings.drain_within));
        if self.now() >= until {
            let why = "work was in flight all the time, and the change can wait";
            return self.end(Outcome::Failed, why, false);
        }
        let look_at = self.after(DRAIN_EVERY);
        self.move_to(Phase::Draining { trial, approved, look_at, until });
    }

    fn open_window(&mut self, trial: Trial, before: Before) {
        let Some(episode) = self.steward.episode.as_ref().map(|episode| episode.id.clone()) else { return };
        let op = self.op();
        let record = holdfast_lifeline::WindowRecord {
            episode,
            known_good: trial.known_good,
            candidate: trial.candidate,
            state: holdfast_lifeline::WindowState::Open,
            deadline: self.after(self.lease_cap() + CALL_WITHIN + SLACK),
        };
        self.move_to(Phase::Opening { op, until: self.after(RECORD_WITHIN), trial, before });
        self.act(Effect::OpenWindow { op, record });
    }

    pub(super) fn window_length(&self) -> Duration {
        let exploration = self.steward.episode.as_ref().is_some_and(|episode| episode.exploration);
        let cycle = if exploration { Cycle::Exploration } else { Cycle::Routine };
        cycle.window(self.steward.settings.window)
    }

    pub(super) fn lease_cap(&self) -> Duration {
        Window::longest(self.window_length()) + LEASE_MARGIN
    }

    pub(super) fn lease_lasts(&self) -> Duration {
        crate::verify::CYCLE * LEASE_RENEWALS
    }

    /// Whether the target is what it was left as. When it is not, the episode ends and people are told.
    pub(super) fn has_drifted(&mut self, target: &TargetState) -> bool {
        let Some(expected) = self.steward.known_good else { return false };
        let is_good = target.running == expected && target.boots_into == expected;
        if is_good || self.sound().has(Flaw::DriftIgnored) {
            return false;
        }
        let found = if target.running == expected { target.boots_into } else { target.running };
        self.record(Event::Drifted { expected, found });
        self.act(Effect::Tell(Tiding::Drifted));
        self.end(Outcome::Failed, "the target is not what it was left as", false);
        true
    }
}

impl Steward {
    /// What exactly a person says yes to. Made anew each time it is needed: a record of it would not come through the
    /// journal's screen unchanged.
    pub(super) fn digest(&self, trial: Trial, changes: &[Change]) -> String {
        format!("{}:{}:{}", self.settings.target, trial.candidate, said(changes))
    }
}

fn said(changes: &[Change]) -> String {
    changes.iter().map(Change::to_string).collect::<Vec<_>>().join(", ")
}

/// What the gates said, as a design with a mistake in it would have them say. A sound one passes it on.
fn flawed(judged: Judged, case: &Case<'_>, sound: Sound) -> Judged {
    let lenient =
        [Flaw::BoundsOff, Flaw::ManyChanges, Flaw::TierIgnored].into_iter().any(|flaw| sound.has(flaw));
    let results = match &judged {
        Judged::Refused { results, gate: Gate::Policy, .. } | Judged::Draft { results, .. } if lenient => {
            results.clone()
        }
        _ => return judged,
    };
    let Ok(proposal::Answer::Proposal(proposal)) = proposal::parse(case.text) else { return judged };
    let changes = proposal.changes();
    let wanted = sound.has(Flaw::ManyChanges) == (changes.len() > 1)
        && changes.iter().all(|c| c.from == case.before.value(&c.setting));
    if !wanted || !case.fresh {
        return judged;
    }
    let candidate = changes.iter().fold(case.before.clone(), |com, change| com.with(change));
    let tier = if sound.has(Flaw::TierIgnored) { Tier::Two } else { Tier::One };
    Judged::Cleared { results, proposal: *proposal, changes, tier, candidate }
}
