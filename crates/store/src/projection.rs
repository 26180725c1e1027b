//! A projection: tables made from entries, and from nothing else.

use rusqlite::Transaction;

use crate::error::sql_cause;
use crate::seen::Seen;

/// Turns entries into rows. For the same entries it makes the same rows, whatever the batches they came in: no
/// clock, no randomness, nothing but the entry and its own tables.
pub trait Projection: Send {
    /// Its tables are called this, or begin with this and an underscore. Lower-case letters, digits, underscores.
    fn name(&self) -> &'static str;

    /// Raised when tables or their meaning change: the tables are dropped and filled again from the first entry.
    fn version(&self) -> u32;

    /// The SQL that makes its tables.
    fn schema(&self) -> &'static str;

    /// The SQL that makes the indexes of its tables. Apart, because a rebuild makes them when the tables are full: sorting
    /// once costs a third of putting every row in its place.
    fn indexes(&self) -> &'static str {
        ""
    }

    /// Entries of other kinds are not shown to it.
    fn wants(&self, _kind: &str) -> bool {
        true
    }

    /// Puts one entry into the tables.
    fn apply(&mut self, tx: &Transaction<'_>, entry: &Seen<'_>) -> Result<(), Halt>;

    /// Writes what it held back to write once per batch; called before each commit. What fails here halts the
    /// projection before the whole batch, so a fault of one entry belongs in [`Projection::apply`].
    fn settle(&mut self, _tx: &Transaction<'_>) -> rusqlite::Result<()> {
        Ok(())
    }

    /// Drops what it remembers of its tables: they were rolled back, or are other ones now.
    fn forget(&mut self) {}
}

/// Why a projection can go no further. Only this one stops; the entry stays where it is, and the next opening, perhaps by
/// a program that knows more, tries it again.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    #[error("{kind} has version {version}, which this program does not know")]
    UnknownVersion { kind: String, version: u16 },
    #[error("{0}")]
    Damaged(String),
    #[error("{0}")]
    Sql(#[from] rusqlite::Error),
}

impl Halt {
    /// Trouble of the machine, not of the entry: nothing is wrong with the projection.
    pub(crate) fn into_trouble(self) -> Result<rusqlite::Error, Halt> {
        use rusqlite::ErrorCode;
        let machine = |e: &rusqlite::Error| {
            let code = e.sqlite_error_code();
            sql_cause(e).is_some()
                || matches!(
                    code,
                    Some(
                        ErrorCode::SystemIoFailure
                            | ErrorCode::CannotOpen
                            | ErrorCode::OutOfMemory
                            | ErrorCode::OperationInterrupted
                            | ErrorCode::FileLockingProtocolFailed
                    )
                )
        };
        match self {
            Halt::Sql(e) if machine(&e) => Ok(e),
            other => Err(other),
        }
    }
}
