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

pub(crate) const GATHERED: KindDef = KindDef {
    name: "notice.message.gathered",
    version: 1,
    when: "Before a message is sent that another time might tell other notices (repeats, a digest): which ones it tells, so that a restart sends the same.",
    fields: &[("sink", "its name"), ("notices", "seqs of the notices; the message has the id of the first")],
};

pub(crate) const DELIVERED: KindDef = KindDef {
    name: "notice.message.delivered",
    version: 2,
    when: "A sink's receiver accepted a notice.",
    fields: &[
        ("sink", "its name"),
        ("notice", "seq of the notice; the first one where several were told as one"),
        ("count", "how many notices were told by it"),
        ("attempts", "how many tries it took"),
    ],
};

pub(crate) const ABANDONED: KindDef = KindDef {
    name: "notice.message.abandoned",
    version: 2,
    when: "A sink's receiver refused a notice again and again, and it was given up there; the other sinks are told.",
    fields: &[
        ("sink", "its name"),
        ("notice", "seq of the notice; the first one where several were told as one"),
        ("count", "how many notices it was"),
        ("attempts", "how many tries were made"),
        ("why", "the class of the last refusal"),
    ],
};

pub(crate) const OPENED: KindDef = KindDef {
    name: "notice.sink.opened",
    version: 1,
    when: "A sink is in the configuration for the first time; it is told what is raised after this.",
    fields: &[("sink", "its name"), ("min_severity", "what matters less is not told there")],
};

pub(crate) const CHANGED: KindDef = KindDef {
    name: "notice.sink.changed",
    version: 1,
    when: "A sink has another least severity; it holds for what is raised after this.",
    fields: &[("sink", "its name"), ("min_severity", "what matters less is not told there")],
};

pub(crate) const CLOSED: KindDef = KindDef {
    name: "notice.sink.closed",
    version: 1,
    when: "A sink is no longer in the configuration; what it was not told yet it will not be told.",
    fields: &[("sink", "its name")],
};

/// All of them, for the page that lists every kind.
pub const KINDS: &[KindDef] = &[RAISED, GATHERED, DELIVERED, ABANDONED, OPENED, CHANGED, CLOSED];

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
