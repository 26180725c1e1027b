//! What the steward has set on a target, as its records say: one value for each setting, the newest in place of the one before.

use std::collections::BTreeMap;

use holdfast_lifeline::EpisodeId;
use holdfast_steward::setting::{Change, Setting, Value};
use holdfast_types::Timestamp;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied(BTreeMap<Setting, Held>);

/// A value of ours, and what people had there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub value: Value,
    pub people: Value,
    pub since: Timestamp,
    pub episode: EpisodeId,
}

impl Applied {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Setting, &Held)> {
        self.0.iter()
    }

    /// With these changes in it. A change back to what people had takes our word away.
    #[must_use]
    pub fn with(&self, changes: &[Change], episode: &EpisodeId, at: Timestamp) -> Applied {
        let mut held = self.0.clone();
        for Change { setting, from, to } in changes {
            // What was there before anything of ours is what people wrote.
            let people = held.get(setting).map_or(*from, |held| held.people);
            if *to == people {
                held.remove(setting);
            } else {
                let one = Held { value: *to, people, since: at, episode: episode.clone() };
                held.insert(setting.clone(), one);
            }
        }
        Applied(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_steward::setting::Property;

    fn change(from: u64, to: u64) -> Change {
        let setting = Setting { unit: "web.service".parse().unwrap(), property: Property::MemoryMax };
        Change { setting, from: Value::Bytes(from), to: Value::Bytes(to) }
    }

    #[test]
    fn a_setting_is_there_once_and_goes_when_it_is_what_people_had() {
        let episode: EpisodeId = "ep_1".parse().unwrap();
        let mut applied = Applied::default();
        for (from, to) in [(1, 2), (2, 3), (3, 4)] {
            applied = applied.with(&[change(from, to)], &episode, Timestamp::EPOCH);
            let held: Vec<(Value, Value)> =
                applied.iter().map(|(_, held)| (held.value, held.people)).collect();
            assert_eq!(held, [(Value::Bytes(to), Value::Bytes(1))]);
        }
        assert!(applied.with(&[change(4, 1)], &episode, Timestamp::EPOCH).is_empty());
    }
}
