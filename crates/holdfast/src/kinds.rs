//! The kinds of entry the binary itself writes.

use holdfast_types::KindDef;

pub(crate) const INITIALISED: KindDef = KindDef {
    name: "holdfast.instance.initialised",
    version: 1,
    when: "The home was made; always the first entry.",
    fields: &[
        ("version", "the program that made it"),
        ("log_vkey", "the key the log's checkpoints are signed with"),
    ],
};

/// Every kind that is written, by the binary and by the rooms it wires.
pub(crate) fn all() -> impl Iterator<Item = &'static KindDef> {
    const OWN: &[KindDef] = &[INITIALISED];
    OWN.iter().chain(holdfast_journal::KINDS)
}
