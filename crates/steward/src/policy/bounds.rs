//! How far a value may go: in one step, in a week, and at all.
//!
//! All of it is data, and all arithmetic is in whole numbers wide enough for any value.

use serde::{Deserialize, Serialize};

use crate::policy::Tier;
use crate::setting::{Change, Property, Value};

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grammar {
    Size,
    Percent,
    Number,
}

impl Grammar {
    /// A property that is written in this grammar.
    pub(super) fn example(self) -> Property {
        match self {
            Grammar::Size => Property::MemoryMax,
            Grammar::Percent => Property::CpuQuota,
            Grammar::Number => Property::Nice,
        }
    }

    /// Whether a value is of this kind. Only a limit can be said to be without end.
    fn fits(self, value: Value) -> bool {
        match value {
            Value::Unset => true,
            Value::Infinity => self != Grammar::Number,
            Value::Bytes(_) => self == Grammar::Size,
            Value::Percent(_) => self == Grammar::Percent,
            Value::Number(_) => self == Grammar::Number,
        }
    }

    /// The amount as a value; the nearest there is.
    pub(crate) fn value(self, amount: i128) -> Value {
        match self {
            Grammar::Size => Value::Bytes(u64::try_from(amount.max(0)).unwrap_or(u64::MAX)),
            Grammar::Percent => Value::Percent(u32::try_from(amount.max(0)).unwrap_or(u32::MAX)),
            Grammar::Number => Value::Number(i64::try_from(amount).unwrap_or(i64::MAX)),
        }
    }

    fn show(self, amount: i128) -> String {
        self.value(amount).to_string()
    }
}

/// How far from one value to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Of the value it is measured against.
    Percent(u32),
    /// In the option's own unit.
    Amount(i128),
    /// As far as the limits go. Only where a person agrees to each change.
    Free,
}

impl Step {
    /// Whether `to` is no further from `other` than this step, measured against `measure`.
    fn reaches(self, other: i128, to: i128, measure: i128) -> bool {
        let distance = (to - other).abs();
        match self {
            Step::Percent(percent) => distance * 100 <= measure.abs() * i128::from(percent),
            Step::Amount(amount) => distance <= amount,
            Step::Free => true,
        }
    }

    fn show(self, grammar: Grammar) -> String {
        match self {
            Step::Percent(percent) => format!("{percent} %"),
            Step::Amount(amount) => grammar.show(amount),
            Step::Free => "any amount".to_owned(),
        }
    }
}

/// The bounds of one option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub grammar: Grammar,
    /// From the current value, in one change.
    pub step: Step,
    /// Between any value of the last seven days and the new one, measured against what people set. Steps compound:
    /// three of 20 % make 73 %.
    pub weekly: Step,
    pub min: i128,
    pub max: i128,
    /// Below this a person has to agree.
    pub alone_min: Option<i128>,
}

/// The values an option may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    pub min: Value,
    pub max: Value,
}

/// What a change is measured against besides the current value.
#[derive(Clone, Copy, Debug)]
pub(super) struct History<'a> {
    /// What people set.
    pub baseline: Value,
    /// The accepted changes of the last seven days, of this and other settings.
    pub recent: &'a [Change],
    /// Whether the change goes back to a value that was recorded before.
    pub revert: bool,
}

impl Bounds {
    /// What may be set without asking.
    pub fn range(&self) -> Range {
        let value = |amount| self.grammar.value(amount);
        Range { min: value(self.alone_min.unwrap_or(self.min)), max: value(self.max) }
    }

    /// The furthest an option at this value may be moved in one step without asking, down and up; none where nothing
    /// can be measured. A week may allow less.
    pub fn reach(&self, from: Value) -> Option<(i128, i128)> {
        let from = self.amount(from)?;
        let step = match self.step {
            Step::Percent(percent) => from.abs() * i128::from(percent) / 100,
            Step::Amount(amount) => amount,
            Step::Free => return None,
        };
        let least = self.alone_min.unwrap_or(self.min);
        Some(((from - step).max(least), (from + step).min(self.max)))
    }

    /// The tier these bounds leave to the change, or why it is none they allow.
    pub(super) fn judge(&self, change: &Change, history: History<'_>) -> Result<Tier, String> {
        // What a target says may be of any kind, and the number of another kind measures nothing.
        if let Some(odd) = [change.to, change.from].into_iter().find(|value| !self.grammar.fits(*value)) {
            return Err(format!("{odd} is not the kind of value it takes"));
        }
        let Some(to) = self.amount(change.to) else { return Ok(Tier::Two) };
        self.within_limits(change.to, to, history)?;
        let Some(from) = self.amount(change.from) else { return Ok(Tier::Two) };
        if !history.revert && !self.step.reaches(from, to, from) {
            let step = self.step.show(self.grammar);
            return Err(format!("from {} to {} is more than {step} in one step", change.from, change.to));
        }
        let Some(baseline) = self.amount(history.baseline) else { return Ok(Tier::Two) };
        self.within_week(change, from, to, baseline, history.recent)?;
        Ok(if self.alone_min.is_some_and(|min| to < min) { Tier::Two } else { Tier::One })
    }

    /// What people had set themselves may be gone back to, wherever it lies.
    fn within_limits(&self, value: Value, to: i128, history: History<'_>) -> Result<(), String> {
        let returns = history.revert && value == history.baseline;
        if returns || (self.min..=self.max).contains(&to) {
            return Ok(());
        }
        let (min, max) = (self.grammar.show(self.min), self.grammar.show(self.max));
        Err(format!("{value} lies outside of {min} to {max}"))
    }

    fn within_week(
        &self,
        change: &Change,
        from: i128,
        to: i128,
        baseline: i128,
        recent: &[Change],
    ) -> Result<(), String> {
        let same = recent.iter().filter(|earlier| earlier.setting == change.setting);
        let held = same.flat_map(|earlier| [earlier.from, earlier.to]).filter_map(|value| self.amount(value));
        match std::iter::once(from).chain(held).find(|value| !self.weekly.reaches(*value, to, baseline)) {
            None => Ok(()),
            Some(value) => Err(format!(
                "it was {} within the last 7 days, and from there to {} is more than {} of what people set ({})",
                self.grammar.show(value),
                change.to,
                self.weekly.show(self.grammar),
                self.grammar.show(baseline),
            )),
        }
    }

    /// The value as a whole number; nothing where there is none to measure with.
    fn amount(&self, value: Value) -> Option<i128> {
        match value {
            _ if !self.grammar.fits(value) => None,
            Value::Bytes(bytes) => Some(i128::from(bytes)),
            Value::Percent(percent) => Some(i128::from(percent)),
            Value::Number(number) => Some(i128::from(number)),
            Value::Infinity | Value::Unset => None,
        }
    }

    /// The bounds in words.
    pub(super) fn sentence(&self, option: &str) -> String {
        let (min, max) = (self.grammar.show(self.min), self.grammar.show(self.max));
        let alone = self
            .alone_min
            .map_or(String::new(), |min| format!("; below {} needs approval", self.grammar.show(min)));
        let week = match self.weekly {
            Step::Percent(percent) => format!("{percent} % of what people set"),
            other @ (Step::Amount(_) | Step::Free) => other.show(self.grammar),
        };
        let step = self.step.show(self.grammar);
        format!("{option}: at most ±{step} in one step, {min} to {max}, at most {week} within 7 days{alone}")
    }
}
