//! How the steward remembers, judges itself and is held back: the rows of the specification that are pure decisions.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod consolidate;
mod invariant;
mod ladder;
mod limits;
mod outcome;
mod profile;
mod retrospective;
mod review;

use holdfast_steward::outcome::{Outcome, Record};
use holdfast_steward::setting::{Change, EpisodeId, Property, Setting, TargetName, Value};
use holdfast_steward::time::{Now, Steady};
use holdfast_types::Timestamp;

pub const HOUR: u64 = 3_600_000;
pub const DAY: u64 = 24 * HOUR;

/// A moment on both clocks at once, the wall good.
pub fn at(millis: u64) -> Now {
    let start = 1_763_193_600_000_000; // 2025-11-15T08:00:00Z
    let wall = Timestamp::from_micros(start + i64::try_from(millis).unwrap() * 1000).unwrap();
    Now { steady: Steady(millis), wall, synced: true }
}

pub fn episode(number: u64) -> EpisodeId {
    format!("ep-{number}").parse().unwrap()
}

pub fn target() -> TargetName {
    "box-1".parse().unwrap()
}

/// `MemoryMax of runner.service`, written `runner.service MemoryMax`.
pub fn setting(text: &str) -> Setting {
    let (unit, property) = text.split_once(' ').unwrap();
    Setting { unit: unit.parse().unwrap(), property: property.parse().unwrap() }
}

pub fn memory_max() -> Setting {
    setting("runner.service MemoryMax")
}

pub fn change(setting: &Setting, from: &str, to: &str) -> Change {
    let value = |text: &str| Value::parse(&setting.property, text).unwrap();
    Change { setting: setting.clone(), from: value(from), to: value(to) }
}

/// An episode about `MemoryMax` of the runner, from 1G to 2G.
pub fn record(number: u64, outcome: Outcome, millis: u64) -> Record {
    let gate = (outcome == Outcome::GateRejected).then(|| "property_tests".to_owned());
    let change = Some(change(&memory_max(), "1G", "2G"));
    Record { change, gate, ..Record::new(episode(number), target(), outcome, at(millis)) }
}

pub fn about(record: Record, setting: &Setting, from: &str, to: &str) -> Record {
    Record { change: Some(change(setting, from, to)), ..record }
}

/// What a restart does to kept state.
pub fn restarted<T: serde::Serialize + serde::de::DeserializeOwned>(state: &T) -> T {
    serde_json::from_str(&serde_json::to_string(state).unwrap()).unwrap()
}

#[test]
fn the_builders_say_what_they_look_like() {
    assert_eq!(memory_max().property, Property::MemoryMax);
    assert_eq!(record(1, Outcome::Kept, 0).change.unwrap().to, Value::Bytes(2 << 30));
}
