//! The view as one of the store's projections.

use holdfast_store::{Halt, Projection, Seen};
use holdfast_types::Origin;
use rusqlite::Transaction;

use crate::view;

/// Keeps the tables the outbox reads.
#[derive(Clone, Debug)]
pub struct NoticeProjection {
    own: Origin,
}

impl NoticeProjection {
    /// `own` is the origin of the log that is projected; see [`Journal::origin`](holdfast_journal::Journal::origin).
    pub fn new(own: Origin) -> NoticeProjection {
        NoticeProjection { own }
    }
}

impl Projection for NoticeProjection {
    fn name(&self) -> &'static str {
        "notice"
    }

    fn version(&self) -> u32 {
        3
    }

    fn schema(&self) -> &'static str {
        view::SCHEMA
    }

    fn wants(&self, kind: &str) -> bool {
        view::wants(kind)
    }

    fn apply(&mut self, tx: &Transaction<'_>, seen: &Seen<'_>) -> Result<(), Halt> {
        let foreign = seen.origin() != self.own.as_str();
        if view::halts(seen.kind(), seen.version(), foreign) {
            return Err(Halt::UnknownVersion { kind: seen.kind().to_owned(), version: seen.version() });
        }
        Ok(view::apply(tx, &self.own, seen.entry()?)?)
    }
}
