//! The definition of a kind of entry, given once, in the room that writes it.

/// What a kind means. `docs/formats/events.md` is made from these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindDef {
    /// `room.noun.verb_past`.
    pub name: &'static str,
    /// The version of its body; readers keep and pass over versions they do not know.
    pub version: u16,
    /// When it is written, in a sentence.
    pub when: &'static str,
    /// Its body's fields, each with what it holds.
    pub fields: &'static [(&'static str, &'static str)],
}
