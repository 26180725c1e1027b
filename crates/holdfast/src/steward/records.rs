//! The steward's records as the journal has them, and the words people use for levels.

use std::collections::BTreeMap;

use holdfast_journal::View;
use holdfast_lifeline::TargetName;
use holdfast_steward::event::Record;
use holdfast_steward::ladder::Level;
use holdfast_steward_host::record_of;

use super::StewardError;
use crate::problem::Result;

/// A record and the entry it stands in.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) seq: u64,
    pub(crate) record: Record,
}

/// Everything the journal here has of this room, by target. Read without a lock; nothing is changed by it.
pub(crate) fn records_of(view: &View) -> Result<BTreeMap<TargetName, Vec<Written>>> {
    let mut all: BTreeMap<TargetName, Vec<Written>> = BTreeMap::new();
    for raw in view.entries(view.oldest_here()?) {
        let raw = raw?;
        // Most entries are somebody else's, and parsing is what takes long. What only mentions the room is parsed too.
        if !String::from_utf8_lossy(&raw.line).contains(r#""room":"steward""#) {
            continue;
        }
        let entry = raw.parse()?;
        let read = record_of(&entry).map_err(|e| StewardError::Unreadable { why: e.to_string() })?;
        if let Some((target, record)) = read {
            all.entry(target).or_default().push(Written { seq: entry.seq, record });
        }
    }
    Ok(all)
}

pub(crate) const fn level_name(level: Level) -> &'static str {
    match level {
        Level::Observe => "observe",
        Level::Plan => "plan",
        Level::ApproveEach => "approve-each",
        Level::TierOne => "tier-one",
        Level::TierTwo => "tier-two",
    }
}

pub(crate) fn level_of(name: &str) -> Option<Level> {
    Level::ALL.into_iter().find(|level| level_name(*level) == name)
}
