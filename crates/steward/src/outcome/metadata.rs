//! A record as it is stored beside its prose, and the names that earlier designs used for the same things.

use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Outcome, Record};
use crate::setting::{Change, EpisodeId, Property, Setting, TargetName, UnitName, Value};
use crate::time::{Now, Steady};

/// Written with one set of names; read with the old ones too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Metadata {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episode: Option<EpisodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_host: Option<TargetName>,
    #[serde(default, alias = "target_service", skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    #[serde(default, alias = "target_option", skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_value: Option<String>,
    #[serde(default, alias = "proposed_value", skip_serializing_if = "Option::is_none")]
    pub new_value: Option<String>,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    #[serde(default, alias = "rejection_reason", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub exploration: bool,
    /// An earlier design marked a harmful success so, instead of naming it.
    #[serde(default, skip_serializing)]
    pub delayed_negative: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// What an old record does not say about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    pub episode: EpisodeId,
    pub target: TargetName,
    /// Taken where the record has no unit: rejections of an earlier design name only the option.
    pub unit: UnitName,
    /// Steady time is not known for the past: the moment of import stands in, so nothing imported ages early.
    pub at: Steady,
    pub wall: Timestamp,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NotARecord {
    #[error("{text:?} is no unit of a target")]
    Unit { text: String },
    #[error("{text:?} is no option of a unit")]
    Option { text: String },
    #[error("{text:?} is no UTC time such as 2026-11-15T08:17:16Z")]
    Time { text: String },
}

impl Record {
    pub fn metadata(&self) -> Metadata {
        let change = self.change.as_ref();
        Metadata {
            episode: Some(self.episode.clone()),
            target_host: Some(self.target.clone()),
            service: change.map(|c| c.setting.unit.to_string()),
            option: change.map(|c| c.setting.property.to_string()),
            old_value: change.map(|c| c.from.to_string()),
            new_value: change.map(|c| c.to.to_string()),
            outcome: self.outcome,
            timestamp: Some(self.wall.to_string()),
            gate: self.gate.clone(),
            reason: Some(self.reason.clone()).filter(|reason| !reason.is_empty()),
            exploration: self.exploration,
            delayed_negative: false,
        }
    }

    /// Takes in a record of an earlier design. What it says wins over the context. A value that cannot be read leaves the
    /// record without a change and its words in the reason, so nothing is lost and nothing is guessed.
    pub fn imported(meta: Metadata, context: Context) -> Result<Record, NotARecord> {
        let wall = meta.timestamp.as_deref().map_or(Ok(context.wall), time)?;
        let outcome = if meta.delayed_negative { Outcome::DelayedNegative } else { meta.outcome };
        let change = change(&meta, context.unit)?;
        let mut reason = meta.reason.unwrap_or_default();
        if let (None, Some(option)) = (&change, &meta.option) {
            let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
            reason += &format!(" ({option} from {} to {})", value(&meta.old_value), value(&meta.new_value));
        }
        let now = Now { steady: context.at, wall, synced: false };
        let episode = meta.episode.unwrap_or(context.episode);
        let target = meta.target_host.unwrap_or(context.target);
        let record = Record {
            change,
            gate: meta.gate,
            reason,
            exploration: meta.exploration,
            ..Record::new(episode, target, outcome, now)
        };
        Ok(record.bounded())
    }
}

fn change(meta: &Metadata, fallback: UnitName) -> Result<Option<Change>, NotARecord> {
    let Some(option) = &meta.option else { return Ok(None) };
    let property: Property = option.parse().map_err(|_| NotARecord::Option { text: short(option) })?;
    let unit = meta.service.as_deref().map_or(Ok(fallback), unit)?;
    let value = |text: &Option<String>| match text.as_deref() {
        None | Some("unset") => Some(Value::Unset),
        Some(text) => Value::parse(&property, text).ok(),
    };
    Ok(match (value(&meta.old_value), value(&meta.new_value)) {
        (Some(from), Some(to)) => Some(Change { setting: Setting { unit, property }, from, to }),
        (Some(_), None) | (None, Some(_)) | (None, None) => None,
    })
}

/// Earlier designs wrote services without their ending.
fn unit(text: &str) -> Result<UnitName, NotARecord> {
    text.parse()
        .or_else(|_| format!("{text}.service").parse())
        .map_err(|_| NotARecord::Unit { text: short(text) })
}

/// Earlier designs wrote whole seconds.
fn time(text: &str) -> Result<Timestamp, NotARecord> {
    let fine = || text.strip_suffix('Z').map(|seconds| format!("{seconds}.000000Z"));
    text.parse().ok().or_else(|| fine()?.parse().ok()).ok_or_else(|| NotARecord::Time { text: short(text) })
}

fn short(text: &str) -> String {
    text.chars().take(80).collect()
}
