//! The fortnightly look at the steward itself: how often gates pass, trials hold, options change, and bounds are pressed.
//!
//! Everything is counted over the trailing 30 days from the verdicts that stand. Where changes press against a bound, a
//! [`Draft`] tells people so. A draft speaks of a bound in the policy, and a change speaks of a value on a target: there is no
//! function from the one to the other, and none may be written. Bounds are moved by people who edit the policy.

mod report;

use std::collections::{BTreeMap, BTreeSet};

use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};

use crate::com::Com;
use crate::outcome::{Book, Outcome, Record};
use crate::policy::{self, Range, TargetRules};
use crate::profile::{LATELY, Rate};
use crate::properties::{self, PREDICATES};
use crate::setting::{Change, Setting, TargetName, Value};
use crate::time::{Now, Steady};

/// Above this a bound counts as pressed: not at it.
pub const PRESSED_ABOVE_PERCENT: u32 = 60;

/// Disk use of the target in bytes, 30 days ago and now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    pub size: u64,
    pub used_then: u64,
    pub used_now: u64,
}

/// What a review is drawn from. The bounds are those of the policy, and come from nowhere else.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    pub target: &'a TargetName,
    pub now: Now,
    pub book: &'a Book,
    /// The gates in the order they are passed: who is stopped by one has passed those before it.
    pub gates: &'a [&'a str],
    pub disk: Option<Disk>,
    /// Settings whose draft still waits for a person.
    pub open_drafts: &'a BTreeSet<Setting>,
    /// What the target evaluates to, and the rules for it: a draft under which the property tests would not hold is not
    /// worth a person's time. Where it is not known nothing is drafted.
    pub current: Option<&'a Com>,
    pub rules: &'a TargetRules,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateRate {
    pub gate: String,
    pub passed: Option<Rate>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Push {
    Up,
    Down,
}

/// How far accepted changes have moved a setting towards the bound they push at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saturation {
    pub setting: Setting,
    pub push: Push,
    pub bound: Range,
    /// The accepted changes of 30 days, oldest first.
    pub moves: Vec<Change>,
    /// Hundredths of a per cent of the way from the far bound to the one pushed at.
    pub basis_points: u32,
    pub pressed: Pressed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pressed {
    No,
    /// No review has decided about it yet.
    Noticed,
    /// A draft was opened by this review.
    Drafted,
    /// One is open from an earlier review.
    DraftOpen,
    /// No wider bound is possible, or none would pass the property tests.
    NoRoom,
}

/// A wider bound, proposed to people. It has no effect until somebody writes it into the policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    pub setting: Setting,
    pub bound: Range,
    pub wider: Range,
    pub basis_points: u32,
    /// All a person needs to decide: figures, trend, what would change.
    pub body: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Review {
    pub target: TargetName,
    pub wall: Timestamp,
    pub gates: Vec<GateRate>,
    pub activations: u32,
    pub rolled_back: Option<Rate>,
    /// How often a change of each setting was tried.
    pub changed: Vec<(Setting, u32)>,
    pub saturation: Vec<Saturation>,
    pub disk: Option<Disk>,
    pub drafts: Vec<Draft>,
}

/// Draws up the review. Reads only.
pub fn review(input: &Input<'_>) -> Review {
    let now = input.now.steady;
    let lately = of_late(input.book, input.target, now);
    let count = |is: fn(Outcome) -> bool| lately.iter().filter(|r| is(r.outcome)).count() as u32;
    let activations = count(Outcome::was_tried);
    let mut drafts = Vec::new();
    let saturation =
        saturation(&lately).into_iter().map(|found| drafted(found, input, &mut drafts)).collect();
    Review {
        target: input.target.clone(),
        wall: input.now.wall,
        gates: input.gates.iter().map(|gate| gate_rate(gate, input.gates, &lately)).collect(),
        activations,
        rolled_back: Rate::wilson(count(|outcome| outcome == Outcome::RolledBack), activations),
        changed: changed(&lately),
        saturation,
        disk: input.disk,
        drafts,
    }
}

/// The settings that accepted changes have pushed near a bound, between two reviews.
pub fn pressed(
    book: &Book,
    target: &TargetName,
    now: Steady,
    open_drafts: &BTreeSet<Setting>,
) -> Vec<Saturation> {
    let mut found = saturation(&of_late(book, target, now));
    found.retain(|found| found.pressed != Pressed::No);
    for found in &mut found {
        let is_open = open_drafts.contains(&found.setting);
        found.pressed = if is_open { Pressed::DraftOpen } else { Pressed::Noticed };
    }
    found
}

fn of_late<'a>(book: &'a Book, target: &'a TargetName, now: Steady) -> Vec<&'a Record> {
    book.standing(target).filter(|record| now.since(record.at) <= LATELY).collect()
}

fn saturation(lately: &[&Record]) -> Vec<Saturation> {
    let moved: BTreeSet<&Setting> = lately.iter().flat_map(|r| r.changes()).map(|c| &c.setting).collect();
    moved
        .into_iter()
        .filter_map(|setting| pressure(setting, policy::alone(&setting.property)?.range(), lately))
        .collect()
}

fn changed(lately: &[&Record]) -> Vec<(Setting, u32)> {
    let mut counts: BTreeMap<Setting, u32> = BTreeMap::new();
    for change in lately.iter().filter(|r| r.outcome.was_tried()).flat_map(|r| r.changes()) {
        *counts.entry(change.setting.clone()).or_default() += 1;
    }
    counts.into_iter().collect()
}

fn gate_rate(gate: &str, order: &[&str], lately: &[&Record]) -> GateRate {
    let place = |name: &str| order.iter().position(|known| *known == name);
    let (mut passed, mut stopped) = (0, 0);
    for record in lately {
        match stopped_at(record) {
            Stopped::Nowhere => passed += 1,
            Stopped::At(name) if name == gate => stopped += 1,
            // A gate that is no longer in the order says nothing about those that are.
            Stopped::At(name) if place(name).is_some_and(|at| place(gate) < Some(at)) => passed += 1,
            Stopped::At(_) | Stopped::Elsewhere => {}
        }
    }
    GateRate { gate: gate.to_owned(), passed: Rate::wilson(passed, passed + stopped) }
}

enum Stopped<'a> {
    /// It passed every gate.
    Nowhere,
    At(&'a str),
    /// It never came to the gates, or nobody knows how far it came.
    Elsewhere,
}

fn stopped_at(record: &Record) -> Stopped<'_> {
    match record.outcome {
        Outcome::GateRejected => record.gate.as_deref().map_or(Stopped::Elsewhere, Stopped::At),
        Outcome::Planned | Outcome::Refused => Stopped::Nowhere,
        Outcome::Kept
        | Outcome::Improved
        | Outcome::Neutral
        | Outcome::Inconclusive
        | Outcome::DelayedNegative
        | Outcome::RolledBack
        | Outcome::Interrupted => Stopped::Nowhere,
        Outcome::NoAction | Outcome::Failed => Stopped::Elsewhere,
    }
}

/// The direction is that of all accepted moves together, and the place is where the last one left the setting: a value
/// that was pulled back presses no longer. Without accepted moves, or when they cancel out, nothing is pushed.
fn pressure(setting: &Setting, bound: Range, lately: &[&Record]) -> Option<Saturation> {
    let accepted = lately.iter().filter(|record| record.outcome.is_accepted());
    let moves: Vec<Change> =
        accepted.flat_map(|r| r.changes()).filter(|c| c.setting == *setting).cloned().collect();
    let (from, to) = (whole(moves.first()?.from)?, whole(moves.last()?.to)?);
    let (min, max) = (whole(bound.min)?, whole(bound.max)?);
    let (push, gone) = match to.cmp(&from) {
        std::cmp::Ordering::Greater => (Push::Up, to - min),
        std::cmp::Ordering::Less => (Push::Down, max - to),
        std::cmp::Ordering::Equal => return None,
    };
    let span = (max > min).then_some(max - min)?;
    let basis_points = u32::try_from((gone.clamp(0, span) * 10_000) / span).ok()?;
    // Compared without rounding: 60 % and the least above it are told apart.
    let is_pressed = gone * 100 > span * i128::from(PRESSED_ABOVE_PERCENT);
    let pressed = if is_pressed { Pressed::NoRoom } else { Pressed::No };
    Some(Saturation { setting: setting.clone(), push, bound, moves, basis_points, pressed })
}

/// Decides about a draft: one per setting at a time, and only for a bound that would pass.
fn drafted(mut found: Saturation, input: &Input<'_>, drafts: &mut Vec<Draft>) -> Saturation {
    if found.pressed == Pressed::No {
        return found;
    }
    if input.open_drafts.contains(&found.setting) {
        found.pressed = Pressed::DraftOpen;
        return found;
    }
    let reached = |wider: &Range| match found.push {
        Push::Up => wider.max,
        Push::Down => wider.min,
    };
    let holds = |wider: &Range| would_hold(input, &found.setting, reached(wider));
    if let Some(wider) = widened(found.bound, found.push).into_iter().find(holds) {
        found.pressed = Pressed::Drafted;
        drafts.push(Draft {
            setting: found.setting.clone(),
            bound: found.bound,
            wider,
            basis_points: found.basis_points,
            body: report::body(&found, wider),
        });
    }
    found
}

/// Whether the property tests hold on the target with the setting at the end of its wider bound, and what it is coupled
/// with moved along.
fn would_hold(input: &Input<'_>, setting: &Setting, at: Value) -> bool {
    let Some(current) = input.current else { return false };
    let put = |com: Com, setting: &Setting| {
        com.with(&Change { setting: setting.clone(), from: com.value(setting), to: at })
    };
    let other = policy::other_half(&setting.property)
        .map(|property| Setting { unit: setting.unit.clone(), property })
        .filter(|other| current.value(other) != Value::Unset);
    let candidate = [Some(setting), other.as_ref()].into_iter().flatten().fold(current.clone(), put);
    properties::check(PREDICATES, current, &candidate, input.rules).is_ok()
}

/// Wider bounds, the widest first: a sixth of the span, then half and a quarter of that, in steps people would write.
fn widened(bound: Range, push: Push) -> Vec<Range> {
    let (Some(min), Some(max)) = (whole(bound.min), whole(bound.max)) else { return Vec::new() };
    let step = match bound.max {
        Value::Bytes(_) => 64 << 20,
        Value::Percent(_) => 5,
        Value::Number(_) | Value::Infinity | Value::Unset => 1,
    };
    let by = |share: i128| ((max - min) / share / step * step).max(step);
    let mut amounts: Vec<i128> = [6, 12, 24].into_iter().map(by).collect();
    amounts.dedup();
    let wider = |amount: i128| match push {
        Push::Up => Some(Range { max: like(bound.max, max + amount)?, ..bound }),
        Push::Down => Some(Range { min: like(bound.min, min - amount)?, ..bound }),
    };
    amounts.into_iter().filter_map(wider).collect()
}

fn whole(value: Value) -> Option<i128> {
    match value {
        Value::Bytes(bytes) => Some(i128::from(bytes)),
        Value::Percent(percent) => Some(i128::from(percent)),
        Value::Number(number) => Some(i128::from(number)),
        Value::Infinity | Value::Unset => None,
    }
}

/// The amount as a value of the same kind; nothing where it cannot be one, such as a size below zero.
fn like(value: Value, amount: i128) -> Option<Value> {
    match value {
        Value::Bytes(_) => u64::try_from(amount).ok().filter(|bytes| *bytes > 0).map(Value::Bytes),
        Value::Percent(_) => u32::try_from(amount).ok().filter(|percent| *percent > 0).map(Value::Percent),
        Value::Number(_) => i64::try_from(amount).ok().map(Value::Number),
        Value::Infinity | Value::Unset => None,
    }
}
