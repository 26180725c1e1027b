//! What is written down of the repository elsewhere: the journal remembers what was done there, and what was found.

use holdfast_lifeline::EpisodeId;
use holdfast_types::KindDef;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::object::Oid;

/// The room these records belong to.
pub const ROOM: &str = "history";

/// One thing that happened at the repository elsewhere, or at its forge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The branch of an episode is there.
    Pushed { episode: EpisodeId, commit: Oid },
    /// The branch of an episode is gone from there, by our hand.
    Removed { episode: EpisodeId, why: Gone },
    /// There is a change request for an episode.
    Requested { episode: EpisodeId, number: u64, address: String },
    /// Somebody merged or closed it.
    Answered { episode: EpisodeId, number: u64, merged: bool },
    /// Somebody else moved a branch that only records move.
    Drifted { branch: String, expected: Oid, found: Oid },
}

/// Why a branch was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gone {
    /// What it had was taken back.
    TakenBack,
    /// It was old, and nobody was asked about it any more.
    Old,
}

const EPISODE: (&str, &str) = ("episode", "the episode by id");
const NUMBER: (&str, &str) = ("number", "the request's number at the forge");

const PUSHED: KindDef = KindDef {
    name: "history.branch.pushed",
    version: 1,
    when: "The branch of an episode that was kept is in the repository elsewhere.",
    fields: &[EPISODE, ("commit", "where it stands")],
};
const REMOVED: KindDef = KindDef {
    name: "history.branch.removed",
    version: 1,
    when: "The branch of an episode was removed from the repository elsewhere.",
    fields: &[EPISODE, ("why", "taken_back, or old")],
};
const REQUESTED: KindDef = KindDef {
    name: "history.request.opened",
    version: 1,
    when: "There is a change request for an episode.",
    fields: &[EPISODE, NUMBER, ("address", "where people read it")],
};
const ANSWERED: KindDef = KindDef {
    name: "history.request.answered",
    version: 1,
    when: "Somebody merged or closed a change request.",
    fields: &[EPISODE, NUMBER, ("merged", "whether it was merged")],
};
const DRIFTED: KindDef = KindDef {
    name: "history.branch.drifted",
    version: 1,
    when: "Somebody else moved a branch of the repository elsewhere that only the steward moves. It is left as it is.",
    fields: &[("branch", "which"), ("expected", "where it should stand"), ("found", "where it stands")],
};

/// All of them, for the page that lists every kind.
pub const KINDS: &[KindDef] = &[PUSHED, REMOVED, REQUESTED, ANSWERED, DRIFTED];

impl Event {
    pub fn kind(&self) -> &'static KindDef {
        match self {
            Event::Pushed { .. } => &PUSHED,
            Event::Removed { .. } => &REMOVED,
            Event::Requested { .. } => &REQUESTED,
            Event::Answered { .. } => &ANSWERED,
            Event::Drifted { .. } => &DRIFTED,
        }
    }

    /// Its fields, as an entry has them.
    pub fn body(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(outer)) => match outer.into_iter().next() {
                Some((_, Value::Object(fields))) => fields,
                _ => Map::new(),
            },
            _ => Map::new(),
        }
    }

    /// The event in an entry of this room; nothing where it is of a version that is not known.
    pub fn read(kind: &str, version: u16, body: &Map<String, Value>) -> Option<Event> {
        let name = match kind {
            _ if version != 1 => return None,
            "history.branch.pushed" => "pushed",
            "history.branch.removed" => "removed",
            "history.request.opened" => "requested",
            "history.request.answered" => "answered",
            "history.branch.drifted" => "drifted",
            _ => return None,
        };
        let event = Map::from_iter([(name.to_owned(), Value::Object(body.clone()))]);
        serde_json::from_value(Value::Object(event)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Object;

    #[test]
    fn what_is_written_down_reads_back() {
        let (episode, at): (EpisodeId, Oid) = ("ep_1".parse().unwrap(), Object::blob("").id);
        let address = "https://forge.example/1".to_owned();
        let all = [
            Event::Pushed { episode: episode.clone(), commit: at },
            Event::Removed { episode: episode.clone(), why: Gone::Old },
            Event::Requested { episode: episode.clone(), number: 7, address },
            Event::Answered { episode, number: 7, merged: false },
            Event::Drifted { branch: "deployed/web".to_owned(), expected: at, found: at },
        ];
        for event in all {
            let kind = event.kind();
            assert_eq!(Event::read(kind.name, 1, &event.body()), Some(event.clone()), "{event:?}");
            assert_eq!(Event::read(kind.name, 2, &event.body()), None);
            let mut names: Vec<&str> = kind.fields.iter().map(|(name, _)| *name).collect();
            names.sort_unstable();
            assert_eq!(event.body().keys().map(String::as_str).collect::<Vec<_>>(), names, "{}", kind.name);
        }
    }
}
