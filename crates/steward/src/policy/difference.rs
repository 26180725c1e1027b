//! The policy gate: what two evaluations differ in is exactly one change that the table allows.

use serde::{Deserialize, Serialize};

use crate::com::{Com, Difference};
use crate::policy::bounds::History;
use crate::policy::table::{carries_host_options, listed_unit};
use crate::policy::{Rule, TargetRules, Tier, Verdict, coupled, option_rule};
use crate::setting::{Change, Property, Setting, Value};

/// What a difference is judged against.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    pub rules: &'a TargetRules,
    /// What people set.
    pub baseline: &'a Com,
    /// The accepted changes of the last seven days, oldest first.
    pub recent: &'a [Change],
    /// A change back to a value that was recorded before: it may be larger than a step.
    pub revert_to: Option<&'a Change>,
    /// Whether the data behind the proposal is recent. Nothing is changed on old data.
    pub fresh: bool,
}

/// What the policy lets pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowed {
    pub changes: Vec<Change>,
    pub tier: Tier,
}

/// What it does not, and whether a person is to see a draft of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub verdict: Verdict,
    pub option: Option<String>,
    pub value: Option<String>,
    pub reason: String,
}

impl Refusal {
    pub(crate) fn blocked(reason: impl Into<String>) -> Refusal {
        Refusal { verdict: Verdict::Blocked, option: None, value: None, reason: reason.into() }
    }

    pub(crate) fn about(self, setting: &Setting, value: impl ToString) -> Refusal {
        Refusal { option: Some(setting.to_string()), value: Some(value.to_string()), ..self }
    }
}

/// Judges what evaluation says, not what anybody proposed: one allow-listed setting or one coupled pair, of a unit in
/// scope, within all bounds, and nothing else.
pub fn judge(before: &Com, after: &Com, standing: &Standing<'_>) -> Result<Allowed, Refusal> {
    if !standing.fresh {
        return Err(Refusal::blocked(
            "the data is older than 10 minutes, and nothing is changed on old data",
        ));
    }
    let changes = only_settings(before.differences(after))?;
    one_or_a_pair(&changes)?;
    let mut tier = Tier::One;
    for change in &changes {
        tier = tier.max(judge_change(before, change, &changes, standing)?);
        high_below_max(after, change)?;
    }
    Ok(Allowed { changes, tier })
}

/// The row for a setting on this target, when it is one that may be applied at all.
pub fn classify(
    before: &Com,
    setting: &Setting,
    value: &str,
    rules: &TargetRules,
) -> Result<&'static Rule, Refusal> {
    let refuse = |verdict, reason: String| Refusal {
        verdict,
        option: Some(setting.to_string()),
        value: Some(value.to_owned()),
        reason,
    };
    let rule = option_rule(setting.property.as_str(), value, &rules.workload);
    let (tier, why) = match listed_unit(&setting.unit) {
        Some(unit_rule) if unit_rule.tier > rule.tier => (unit_rule.tier, unit_rule.why),
        Some(_) | None => (rule.tier, rule.why),
    };
    match tier {
        Tier::One | Tier::Two => {}
        Tier::Three | Tier::Never => {
            return Err(refuse(tier.verdict(), format!("{setting} is not the steward's to change: {why}")));
        }
    }
    if rules.critical.contains(&setting.unit) {
        let reason = format!("{} keeps the target reachable and is changed by people only", setting.unit);
        return Err(refuse(Verdict::DraftOnly, reason));
    }
    if !before.units.contains_key(&setting.unit) {
        return Err(refuse(Verdict::DraftOnly, format!("{} is no unit of this target", setting.unit)));
    }
    if !rules.services.contains(&setting.unit) {
        return Err(refuse(Verdict::Blocked, format!("{} is not in scope of this target", setting.unit)));
    }
    if rule.host_wide && !(carries_host_options(&setting.unit) && before.value(setting) != Value::Unset) {
        return Err(refuse(Verdict::Blocked, format!("this target has no {}", setting.property)));
    }
    Ok(rule)
}

fn only_settings(differences: Vec<Difference>) -> Result<Vec<Change>, Refusal> {
    differences
        .into_iter()
        .map(|difference| match difference {
            Difference::Setting(change) => Ok(change),
            other => Err(Refusal { verdict: beyond_settings(&other), ..Refusal::blocked(other.to_string()) }),
        })
        .collect()
}

fn beyond_settings(difference: &Difference) -> Verdict {
    match difference {
        Difference::UnitAdded { .. }
        | Difference::Definition { .. }
        | Difference::Rest
        | Difference::OwnConfiguration => Verdict::DraftOnly,
        Difference::Setting(_)
        | Difference::UnitRemoved { .. }
        | Difference::Enabled { .. }
        | Difference::Ports { .. }
        | Difference::Ssh { .. }
        | Difference::Vpn { .. }
        | Difference::Firewall { .. }
        | Difference::Swap { .. }
        | Difference::MemoryTotal { .. } => Verdict::Blocked,
    }
}

fn one_or_a_pair(changes: &[Change]) -> Result<(), Refusal> {
    match changes {
        [] => Err(Refusal::blocked("nothing would change")),
        [_] => Ok(()),
        [one, other]
            if one.setting.unit == other.setting.unit
                && coupled(&one.setting.property, &other.setting.property) =>
        {
            Ok(())
        }
        [_, other, ..] => {
            let reason =
                format!("{} settings would change, and one may, or a pair that is declared", changes.len());
            Err(Refusal::blocked(reason).about(&other.setting, other.to))
        }
    }
}

fn judge_change(
    before: &Com,
    change: &Change,
    all: &[Change],
    standing: &Standing<'_>,
) -> Result<Tier, Refusal> {
    let rule = classify(before, &change.setting, &change.to.to_string(), standing.rules)?;
    let Some(bounds) = rule.bounds else {
        return Err(Refusal { verdict: Verdict::DraftOnly, ..Refusal::blocked("no bound is known for it") }
            .about(&change.setting, change.to));
    };
    let history = History {
        baseline: standing.baseline.value(&change.setting),
        recent: standing.recent,
        revert: is_revert(change, all, standing),
    };
    let within = bounds.judge(change, history);
    within.map(|tier| tier.max(rule.effective_tier())).map_err(|reason| {
        Refusal::blocked(format!("{}: {reason}", change.setting)).about(&change.setting, change.to)
    })
}

/// A revert is named in full. Of a pair one half is named; the other counts when it undoes the last change of it.
fn is_revert(change: &Change, all: &[Change], standing: &Standing<'_>) -> bool {
    let Some(named) = standing.revert_to else { return false };
    let last = || standing.recent.iter().rev().find(|earlier| earlier.setting == change.setting);
    named == change
        || (all.contains(named)
            && last().is_some_and(|done| done.from == change.to && done.to == change.from))
}

/// No limit at all is no throttle above the limit: it is what a unit has when nobody says anything.
fn high_below_max(after: &Com, change: &Change) -> Result<(), Refusal> {
    let Some(unit) = after.units.get(&change.setting.unit) else { return Ok(()) };
    match (unit.value(&Property::MemoryHigh), unit.value(&Property::MemoryMax)) {
        (Value::Bytes(high), Value::Bytes(max)) if high > max => {
            let (high, max) = (Value::Bytes(high), Value::Bytes(max));
            let reason = format!("MemoryHigh {high} would lie above MemoryMax {max}: change both together");
            Err(Refusal::blocked(reason).about(&change.setting, change.to))
        }
        _ => Ok(()),
    }
}
