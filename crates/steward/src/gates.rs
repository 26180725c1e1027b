//! The gates a brain's answer goes through, in their one order. The pure six are here; the two that need the target
//! ([`Gate::Whole`], [`Gate::Build`]) are appended by who can reach it.
//!
//! What holds: nothing is cleared that is not exactly one allowed change of the evaluated configuration; a gate judges
//! what was evaluated and never what was said; every gate that was asked leaves a [`GateResult`]. A cleared change is
//! asked for once more with [`evaluated`], on what the target itself made of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::auditor;
use crate::com::{Com, Difference};
use crate::policy::{self, Refusal, Standing, TargetRules, Tier, Verdict};
use crate::properties::{self, CRITICAL, PREDICATES, Predicate};
use crate::proposal::{self, Malformed, Proposal, Written};
use crate::setting::Change;

/// In the order they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    Schema,
    Parse,
    Type,
    Policy,
    Auditor,
    Properties,
    Whole,
    Build,
}

impl std::fmt::Display for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Gate::Schema => "schema",
            Gate::Parse => "parse",
            Gate::Type => "type",
            Gate::Policy => "policy",
            Gate::Auditor => "auditor",
            Gate::Properties => "properties",
            Gate::Whole => "whole",
            Gate::Build => "build",
        })
    }
}

impl Gate {
    pub const ORDER: [Gate; 8] = [
        Gate::Schema,
        Gate::Parse,
        Gate::Type,
        Gate::Policy,
        Gate::Auditor,
        Gate::Properties,
        Gate::Whole,
        Gate::Build,
    ];

    /// What it usually takes; the target's own two are by far the longest.
    pub const fn usually(self) -> Duration {
        Duration::from_millis(match self {
            Gate::Schema | Gate::Parse => 50,
            Gate::Type | Gate::Policy => 10,
            Gate::Auditor => 1_000,
            Gate::Properties => 5_000,
            Gate::Whole => 10_000,
            Gate::Build => 300_000,
        })
    }
}

/// What one gate said. `reason` is empty when it had nothing to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateResult {
    pub gate: Gate,
    pub passed: bool,
    pub option: Option<String>,
    pub value: Option<String>,
    pub reason: String,
    pub millis: u64,
}

/// From here on a gate has taken far longer than usual.
const FAR_LONGER: u32 = 3;

impl GateResult {
    /// What it usually takes, when it took far longer.
    pub fn slower_than(&self) -> Option<Duration> {
        let usual = self.gate.usually();
        (Duration::from_millis(self.millis) > usual * FAR_LONGER).then_some(usual)
    }
}

/// An answer and everything it is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The brain's raw answer.
    pub text: &'a str,
    pub rules: &'a TargetRules,
    pub before: &'a Com,
    /// What people set.
    pub baseline: &'a Com,
    /// The accepted changes of the last seven days, oldest first.
    pub recent: &'a [Change],
    /// Whether the data the brain saw is at most ten minutes old.
    pub fresh: bool,
    /// A change back to a recorded value: it may be larger than a step.
    pub revert_to: Option<&'a Change>,
    /// Whether an exploration was asked for. The answer has to say the same.
    pub exploration: bool,
}

/// What became of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judged {
    NoAction {
        why: String,
        results: Vec<GateResult>,
    },
    Refused {
        results: Vec<GateResult>,
        gate: Gate,
        reason: String,
        /// What it would have changed; empty where it could not be read as a change.
        proposed: Vec<Change>,
    },
    /// For people to do: Tier 3. Nothing of it is applied.
    Draft {
        results: Vec<GateResult>,
        proposal: Proposal,
        reason: String,
    },
    /// May be tried: at once in Tier 1, after approval in Tier 2.
    Cleared {
        results: Vec<GateResult>,
        proposal: Proposal,
        changes: Vec<Change>,
        tier: Tier,
        candidate: Com,
    },
}

/// Judges an answer. The times of the results are 0, because there is no clock in here; see [`judge_timed`].
pub fn judge(case: &Case<'_>) -> Judged {
    judge_timed(case, PREDICATES, &mut || 0)
}

/// Judges an answer by the given predicates. `millis` is the caller's clock, counting from anywhere.
pub fn judge_timed(case: &Case<'_>, predicates: &[Predicate], millis: &mut dyn FnMut() -> u64) -> Judged {
    let mut run = Run { results: Vec::with_capacity(6), proposed: Vec::new(), since: millis(), millis };
    let ended = match run.through(case, predicates) {
        Ok(ended) | Err(ended) => ended,
    };
    let (results, proposed) = (run.results, run.proposed);
    match ended {
        Ended::NoAction { why } => Judged::NoAction { why, results },
        Ended::Refused { gate, reason } => Judged::Refused { results, gate, reason, proposed },
        Ended::Draft { proposal, reason } => Judged::Draft { results, proposal: *proposal, reason },
        Ended::Cleared { proposal, changes, tier, candidate } => {
            Judged::Cleared { results, proposal: *proposal, changes, tier, candidate: *candidate }
        }
    }
}

/// Whether what was evaluated differs from before in exactly the given changes, and the critical flags hold. Asked of
/// the model before a trial and of the target's own evaluation after staging, because no pattern sees what a forced
/// priority, a nested set or a variable makes of a text.
pub fn evaluated(before: &Com, after: &Com, changes: &[Change], rules: &TargetRules) -> Result<(), String> {
    properties::check(CRITICAL, before, after, rules).map_err(|(_, found)| found)?;
    critical_units_untouched(after, changes, rules)?;
    let differences = before.differences(after);
    let proposed =
        |difference: &Difference| matches!(difference, Difference::Setting(it) if changes.contains(it));
    if let Some(other) = differences.iter().find(|difference| !proposed(difference)) {
        return Err(format!("the evaluated configuration differs in more than was proposed: {other}"));
    }
    let found =
        |change: &Change| differences.iter().any(|it| matches!(it, Difference::Setting(it) if it == change));
    match changes.iter().find(|change| !found(change)) {
        Some(missing) => {
            Err(format!("the evaluated configuration does not hold what was proposed: {missing}"))
        }
        None if changes.is_empty() => Err("nothing was proposed".to_owned()),
        None => Ok(()),
    }
}

fn critical_units_untouched(after: &Com, changes: &[Change], rules: &TargetRules) -> Result<(), String> {
    if let Some(change) = changes.iter().find(|change| rules.critical.contains(&change.setting.unit)) {
        return Err(format!(
            "{} keeps the target reachable and has no overlay of the steward",
            change.setting.unit
        ));
    }
    let off = |unit: &&crate::setting::UnitName| after.units.get(*unit).is_some_and(|model| !model.enabled);
    match rules.critical.iter().find(off) {
        Some(unit) => Err(format!("{unit} keeps the target reachable and is not enabled")),
        None => Ok(()),
    }
}

/// How a run through the gates ends.
enum Ended {
    NoAction { why: String },
    Refused { gate: Gate, reason: String },
    Draft { proposal: Box<Proposal>, reason: String },
    Cleared { proposal: Box<Proposal>, changes: Vec<Change>, tier: Tier, candidate: Box<Com> },
}

struct Run<'a> {
    results: Vec<GateResult>,
    /// Known from the type gate on.
    proposed: Vec<Change>,
    since: u64,
    millis: &'a mut dyn FnMut() -> u64,
}

impl Run<'_> {
    fn through(&mut self, case: &Case<'_>, predicates: &[Predicate]) -> Result<Ended, Ended> {
        let written = match self.malformed(Gate::Schema, proposal::read_schema(case.text))? {
            Written::NoAction { why } => {
                self.pass(Gate::Schema);
                return Ok(Ended::NoAction { why });
            }
            Written::Proposal(written) => written,
        };
        self.malformed(Gate::Schema, written.says_exploration(case.exploration))?;
        self.malformed(Gate::Schema, written.check_places(case.rules))?;
        self.pass(Gate::Schema);
        let proposal = self.malformed(Gate::Parse, written.parse())?;
        self.pass(Gate::Parse);
        self.malformed(Gate::Type, proposal.check_types())?;
        self.pass(Gate::Type);
        self.proposed = proposal.changes();
        let (changes, tier, candidate) = self.policy(case, &proposal)?;
        self.auditor(case, &changes)?;
        self.properties(case, &changes, &candidate, predicates)?;
        let (proposal, candidate) = (Box::new(proposal), Box::new(candidate));
        Ok(Ended::Cleared { proposal, changes, tier, candidate })
    }

    fn policy(&mut self, case: &Case<'_>, proposal: &Proposal) -> Result<(Vec<Change>, Tier, Com), Ended> {
        match allowed(case, proposal) {
            Ok(allowed) => {
                self.pass(Gate::Policy);
                Ok(allowed)
            }
            Err(refusal) => {
                let reason = refusal.reason.clone();
                self.record(Gate::Policy, false, refusal.option, refusal.value, refusal.reason);
                Err(match refusal.verdict {
                    Verdict::DraftOnly => Ended::Draft { proposal: Box::new(proposal.clone()), reason },
                    Verdict::Blocked | Verdict::Supervised | Verdict::Autonomous => {
                        Ended::Refused { gate: Gate::Policy, reason }
                    }
                })
            }
        }
    }

    fn auditor(&mut self, case: &Case<'_>, changes: &[Change]) -> Result<(), Ended> {
        let audit = auditor::audit_changes(changes, &case.rules.workload);
        let worst = audit.findings.into_iter().max_by_key(|finding| finding.verdict);
        match (audit.verdict, worst) {
            (Verdict::Autonomous | Verdict::Supervised, _) | (_, None) => {
                self.pass(Gate::Auditor);
                Ok(())
            }
            (Verdict::DraftOnly | Verdict::Blocked, Some(finding)) => {
                let reason = format!("{}: {}", finding.subject, finding.why);
                Err(self.refuse(Gate::Auditor, Some(finding.subject), None, reason))
            }
        }
    }

    fn properties(
        &mut self,
        case: &Case<'_>,
        changes: &[Change],
        candidate: &Com,
        predicates: &[Predicate],
    ) -> Result<(), Ended> {
        let held = properties::check(predicates, case.before, candidate, case.rules);
        let exact =
            || evaluated(case.before, candidate, changes, case.rules).map_err(|found| ("evaluated", found));
        match held.and_then(|()| exact()) {
            Ok(()) => {
                self.pass(Gate::Properties);
                Ok(())
            }
            Err((name, found)) => {
                let about = changes.first();
                let (option, value) = (about.map(|c| c.setting.to_string()), about.map(|c| c.to.to_string()));
                Err(self.refuse(Gate::Properties, option, value, format!("{name}: {found}")))
            }
        }
    }

    fn malformed<T>(&mut self, gate: Gate, result: Result<T, Malformed>) -> Result<T, Ended> {
        result.map_err(|malformed| self.refuse(gate, malformed.option, malformed.value, malformed.reason))
    }

    fn pass(&mut self, gate: Gate) {
        self.record(gate, true, None, None, String::new());
    }

    fn refuse(&mut self, gate: Gate, option: Option<String>, value: Option<String>, reason: String) -> Ended {
        self.record(gate, false, option, value, reason.clone());
        Ended::Refused { gate, reason }
    }

    fn record(
        &mut self,
        gate: Gate,
        passed: bool,
        option: Option<String>,
        value: Option<String>,
        reason: String,
    ) {
        let now = (self.millis)();
        let millis = now.saturating_sub(self.since);
        self.since = now;
        self.results.push(GateResult { gate, passed, option, value, reason, millis });
    }
}

/// The policy gate on a proposal: its words first, because they can only refuse, then the difference it makes.
fn allowed(case: &Case<'_>, proposal: &Proposal) -> Result<(Vec<Change>, Tier, Com), Refusal> {
    if !case.fresh {
        return Err(Refusal::blocked(
            "the data is older than 10 minutes, and nothing is changed on old data",
        ));
    }
    for (option, old, new) in proposal.halves() {
        let setting = proposal.setting(option);
        policy::classify(case.before, &setting, new, case.rules)?;
        match policy::read_value(option, old) {
            Some(Ok(stated)) if stated == case.before.value(&setting) => {}
            Some(_) => {
                let reason = format!("old_value is {old}, and {setting} is {}", case.before.value(&setting));
                return Err(Refusal::blocked(reason).about(&setting, old));
            }
            None => {
                let reason = format!("no values of {setting} are read, so a person has to set it");
                let draft = Refusal { verdict: Verdict::DraftOnly, ..Refusal::blocked(reason) };
                return Err(draft.about(&setting, new));
            }
        }
    }
    let changes = proposal.changes();
    let candidate = changes.iter().fold(case.before.clone(), |com, change| com.with(change));
    let standing = Standing {
        rules: case.rules,
        baseline: case.baseline,
        recent: case.recent,
        revert_to: case.revert_to,
        fresh: case.fresh,
    };
    let allowed = policy::judge(case.before, &candidate, &standing)?;
    let same =
        allowed.changes.len() == changes.len() && changes.iter().all(|it| allowed.changes.contains(it));
    if !same {
        return Err(Refusal::blocked("the two halves of the proposal do not make one change each"));
    }
    Ok((changes, allowed.tier, candidate))
}
