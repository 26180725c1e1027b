//! The entries that count, kept in the index: what they fold to can be had when their segments have left the journal.

use holdfast_store::{Halt, Projection, Result, Seen};
use holdfast_types::Origin;
use rusqlite::{Connection, Transaction, params};
use serde_json::{Map, Value};

use crate::event::{Misfit, ROOM, Step};
use crate::state::{State, Took};

/// Its name, which its table begins with.
pub(crate) const NAME: &str = "ledger";

const SCHEMA: &str = "
    CREATE TABLE ledger_entries (
        seq INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        body TEXT NOT NULL
    ) STRICT;
";

/// Keeps the table that [`Ledger`](crate::Ledger) reads.
#[derive(Clone, Debug)]
pub struct LedgerProjection {
    own: Origin,
    /// What the table folds to, once it was needed.
    state: Option<State>,
}

impl LedgerProjection {
    /// `own` is the origin of the log that is projected; entries taken over from other logs count for nothing.
    pub fn new(own: Origin) -> LedgerProjection {
        LedgerProjection { own, state: None }
    }
}

impl Projection for LedgerProjection {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        1
    }

    fn schema(&self) -> &'static str {
        SCHEMA
    }

    /// Kinds of this room that are not known, too: they are refused, not passed over.
    fn wants(&self, kind: &str) -> bool {
        kind.split('.').next() == Some(ROOM)
    }

    fn apply(&mut self, tx: &Transaction<'_>, seen: &Seen<'_>) -> Result<(), Halt> {
        let Some(step) = Step::read(seen.entry()?, &self.own).map_err(halt)? else { return Ok(()) };
        let state = match &mut self.state {
            Some(state) => state,
            none => none.insert(fold(tx)?),
        };
        match state.apply(&step, seen.seq()).map_err(halt)? {
            Took::TooLate => Ok(()),
            Took::Counted => Ok(put(tx, &step, seen.seq())?),
        }
    }

    fn forget(&mut self) {
        self.state = None;
    }
}

fn halt(misfit: Misfit) -> Halt {
    match misfit {
        Misfit::UnknownVersion { kind, version } => Halt::UnknownVersion { kind: kind.to_string(), version },
        other => Halt::Damaged(other.to_string()),
    }
}

fn put(tx: &Transaction<'_>, step: &Step, seq: u64) -> rusqlite::Result<()> {
    let body = Value::Object(step.body()).to_string();
    let sql = "INSERT INTO ledger_entries (seq, kind, body) VALUES (?1, ?2, ?3)";
    tx.prepare_cached(sql)?.execute(params![seq, step.def().name, body])?;
    Ok(())
}

fn fold(conn: &Connection) -> Result<State, Halt> {
    let mut state = State::default();
    for (seq, step) in from(conn, 0)? {
        state.apply(&step, seq).map_err(halt)?;
    }
    Ok(state)
}

/// The entries that count, from `seq` on.
pub(crate) fn from(conn: &Connection, seq: u64) -> rusqlite::Result<Vec<(u64, Step)>> {
    let sql = "SELECT seq, kind, body FROM ledger_entries WHERE seq >= ?1 ORDER BY seq";
    let mut found = conn.prepare_cached(sql)?;
    let rows = found.query_map([seq], |row| {
        let (seq, kind, body): (u64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let body = serde_json::from_str::<Map<String, Value>>(&body).map_err(|e| e.to_string());
        let step = body.and_then(|body| Step::parse(&kind, &body)).map_err(|why| {
            rusqlite::Error::FromSqlConversionFailure(2, rusqlite::types::Type::Text, why.into())
        })?;
        Ok((seq, step))
    })?;
    rows.collect()
}
