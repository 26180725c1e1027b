//! The kinds of entry the journal itself writes.

use holdfast_types::KindDef;

pub(crate) const TAIL_SET_ASIDE: KindDef = KindDef {
    name: "journal.tail.set_aside",
    version: 1,
    when: "Opening found bytes that a crash had left after the last whole entry, and moved them to a file.",
    fields: &[
        ("segment", "the file they were in"),
        ("offset", "where in it they began"),
        ("bytes", "how many there were"),
        ("kept_in", "the file they are in now"),
    ],
};

pub(crate) const BLOB_ERASED: KindDef = KindDef {
    name: "journal.blob.erased",
    version: 1,
    when: "The key of a blob was destroyed; its text cannot be read any more, here or in any copy.",
    fields: &[("seq", "the entry whose blob it was"), ("name", "the blob's name, which now says nothing")],
};

pub(crate) const BLOB_KEPT: KindDef = KindDef {
    name: "journal.blob.kept",
    version: 1,
    when: "What earlier entries say was erased is still there: its key could not be destroyed after they had been written. Erase it again.",
    fields: &[("of", "the seqs of those entries"), ("seqs", "the entries whose blobs are still there")],
};

pub(crate) const FOREIGN_INGESTED: KindDef = KindDef {
    name: "journal.foreign.ingested",
    version: 1,
    when: "Entries of another log were taken in under their own origin.",
    fields: &[
        ("origin", "the other log"),
        ("from", "the first of its entries that is new here"),
        ("to", "one more than the last"),
        ("root", "the root of the other log at that size"),
        ("checkpoint", "its signed checkpoint"),
    ],
};

/// All of them, for the page that lists every kind.
pub const KINDS: &[KindDef] = &[TAIL_SET_ASIDE, BLOB_ERASED, BLOB_KEPT, FOREIGN_INGESTED];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_proper_name_in_this_room() {
        for def in KINDS {
            let kind: holdfast_types::Kind = def.name.parse().unwrap();
            assert_eq!(kind.room().as_str(), "journal");
        }
    }
}
