//! The kinds of entry this room writes. Together they are the outbox: everything in the view comes from them.

use holdfast_types::KindDef;

pub(crate) const RAISED: KindDef = KindDef {
    name: "notice.message.raised",
    version: 1,
    when: "Something happened that people should be told.",
    fields: &[
        ("severity", "info, warning or critical"),
        ("message", "one sentence"),
        ("context", "a few named facts"),
        ("source", "the instance that says so"),
        ("fold", "present when repeats with the same key may be told as one"),
    ],
};

pub(crate) const DELIVERED: KindDef = KindDef {
    name: "notice.message.delivered",
    version: 1,
    when: "A sink's receiver accepted a notice.",
    fields: &[
        ("sink", "its name"),
        ("notice", "seq of the notice; the last one where several were told as one"),
        ("count", "how many notices were told by it"),
        ("attempts", "how many tries it took"),
        ("cursor", "every notice up to this seq is done with for this sink"),
    ],
};

pub(crate) const ABANDONED: KindDef = KindDef {
    name: "notice.message.abandoned",
    version: 1,
    when: "A sink's receiver refused a notice again and again, and it was given up for this sink.",
    fields: &[
        ("sink", "its name"),
        ("notice", "seq of the notice; the last one where several were told as one"),
        ("count", "how many notices it was"),
        ("attempts", "how many tries were made"),
        ("why", "the class of the last refusal"),
        ("cursor", "every notice up to this seq is done with for this sink"),
    ],
};

pub(crate) const OPENED: KindDef = KindDef {
    name: "notice.sink.opened",
    version: 1,
    when: "A sink is in the configuration for the first time; it is told what is raised after this.",
    fields: &[("sink", "its name")],
};

pub(crate) const CLOSED: KindDef = KindDef {
    name: "notice.sink.closed",
    version: 1,
    when: "A sink is no longer in the configuration; what it was not told yet it will not be told.",
    fields: &[("sink", "its name")],
};

/// All of them, for the page that lists every kind.
pub const KINDS: &[KindDef] = &[RAISED, DELIVERED, ABANDONED, OPENED, CLOSED];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_proper_name_in_this_room() {
        for def in KINDS {
            let kind: holdfast_types::Kind = def.name.parse().unwrap();
            assert_eq!(kind.room().as_str(), "notice");
        }
    }
}
