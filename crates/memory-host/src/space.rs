//! One agent's space: its table, its words, its vectors. All three are made from the journal and can be made again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use holdfast_concordance::{Bm25, Concordance, IdSet};
use holdfast_embed::Model;
use holdfast_memory::event::Event;
use holdfast_memory::{Citations, Decision, Entry, MemoryId, Standing};
use holdfast_types::{AgentId, Clock, Timestamp};
use holdfast_vectors::{Index, Key, Vector};

use crate::error::{Error, Result};
use crate::heard::{fact, heard, searchable, spoken};
use crate::rows::{Fact, Rows};
use crate::table::{Row, Table};

/// Texts that are embedded in one go: enough for the network to be busy, few enough that whoever waits is not kept waiting.
const EMBED_AT_ONCE: usize = 64;

#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) agent: AgentId,
    pub(crate) table: Table,
    pub(crate) words: Concordance,
    pub(crate) vectors: Index,
    pub(crate) rows: Rows,
    /// Those a search does not find.
    pub(crate) dead: IdSet,
    /// Who found which of use.
    pub(crate) votes: BTreeMap<u64, Citations>,
    /// What others may read, by whom.
    pub(crate) shared: BTreeMap<AgentId, BTreeSet<u64>>,
    /// The newest id that was given out.
    pub(crate) last_id: Option<MemoryId>,
}

/// What happened to a space, in the order of the journal.
#[derive(Debug)]
pub(crate) enum Happened {
    Captured(Box<Entry>),
    /// Captured, and its key is gone.
    CapturedForgotten,
    /// The key of one of its texts was destroyed.
    Erased {
        seq: u64,
    },
    Other(Event),
}

impl Space {
    /// Opens what is there. What is damaged is made anew; the journal is then replayed from where the furthest behind of the three is.
    pub(crate) fn open(folder: &Path, agent: AgentId, clock: &dyn Clock) -> Result<Space> {
        holdfast_durable::create_dir(folder)
            .map_err(|source| Error::File { path: folder.to_owned(), source })?;
        let table = Table::open(&folder.join("space.db"), clock)?;
        let words = open_words(&folder.join("words"))?;
        let (vectors, renewed) = open_vectors(&folder.join("vectors"))?;
        if renewed {
            table.write(|pen| pen.nothing_embedded())?;
        }
        let rows = open_rows(&folder.join("rows"), &table)?;
        let last_id = table.last_id()?;
        let mut space = Space {
            agent,
            table,
            words,
            vectors,
            rows,
            dead: IdSet::default(),
            votes: BTreeMap::new(),
            shared: BTreeMap::new(),
            last_id,
        };
        space.look_again()?;
        Ok(space)
    }

    fn look_again(&mut self) -> Result<()> {
        self.dead = self.table.dead()?.into_iter().collect();
        self.votes = self.table.votes()?;
        self.shared = self.table.shares()?;
        Ok(())
    }

    /// The row of a memory that a search finds; why not, where it does not.
    pub(crate) fn live(&self, seq: u64, id: MemoryId) -> Result<Row> {
        let row = self.table.row(seq)?.ok_or(Error::NoMemory(id))?;
        match row.standing {
            Standing::Forgotten => Err(Error::Forgotten(id)),
            standing if standing.is_live() => Ok(row),
            _ => Err(Error::NotLive(id)),
        }
    }

    /// The first entry of the journal that this space has not all of.
    pub(crate) fn applied(&self) -> Result<u64> {
        let rows = if self.rows.len() as u64 == self.table.len()? { u64::MAX } else { 0 };
        Ok(self.table.applied()?.min(self.words.applied()).min(rows))
    }

    /// Takes in a batch, whole or not at all as far as the table goes; the indexes take what they had not.
    pub(crate) fn take_in(&mut self, batch: &[(u64, Timestamp, Happened)], upto: u64) -> Result<()> {
        let from = self.table.applied()?;
        for (seq, _, what) in batch {
            if let Happened::Captured(entry) = what {
                self.words.add(*seq, &searchable(entry))?;
            }
        }
        self.words.advance(upto);
        let facts: Vec<Fact> = batch.iter().filter_map(|(seq, _, what)| fact_of(*seq, what)).collect();
        self.rows.add(&facts)?;
        let mut gone = Vec::new();
        self.table.write(|pen| {
            for (seq, at, what) in batch.iter().filter(|(seq, ..)| *seq >= from) {
                match what {
                    Happened::Captured(entry) => pen.capture(*seq, *at, entry, &heard(entry))?,
                    Happened::CapturedForgotten => pen.capture_forgotten(*seq, *at)?,
                    Happened::Erased { seq: erased } => pen.forget(*seq, *erased)?,
                    Happened::Other(event) => pen.apply(*seq, *at, event)?,
                }
            }
            pen.advance(upto)
        })?;
        for (seq, _, what) in batch {
            match what {
                Happened::Captured(entry) => self.last_id = self.last_id.max(Some(entry.id())),
                Happened::CapturedForgotten => gone.push(*seq),
                Happened::Erased { seq } => gone.push(*seq),
                Happened::Other(Event::Forgotten(forgotten)) => {
                    for id in &forgotten.entries {
                        gone.extend(self.table.seq_of(*id)?);
                    }
                }
                Happened::Other(_) => {}
            }
        }
        self.let_go(&gone)?;
        if batch.iter().any(|(_, _, what)| may_end_or_cite(what)) {
            self.look_again()?;
        }
        Ok(())
    }

    /// Takes everything made of these texts out of every file.
    fn let_go(&mut self, seqs: &[u64]) -> Result<()> {
        if seqs.is_empty() {
            return Ok(());
        }
        self.words.erase(seqs)?;
        for seq in seqs {
            self.vectors.forget_entry(*seq)?;
            self.rows.forget(*seq)?;
        }
        self.vectors.sync()?;
        self.table.scrub()
    }

    /// Some that have no vector.
    pub(crate) fn pending(&self) -> Result<Vec<u64>> {
        self.table.pending(EMBED_AT_ONCE)
    }

    /// Takes in the vectors of memories. What was forgotten while they were computed gets none.
    pub(crate) fn take_vectors(&mut self, seqs: &[u64], vectors: &[(Key, Vector)]) -> Result<()> {
        let mut forgotten = Vec::new();
        for seq in seqs {
            let row = self.table.row(*seq)?;
            if row.is_none_or(|row| row.standing == Standing::Forgotten) {
                forgotten.push(*seq);
            }
        }
        let still = |(key, _): &&(Key, Vector)| !forgotten.contains(&key.entry);
        let vectors: Vec<(Key, Vector)> = vectors.iter().filter(still).cloned().collect();
        self.vectors.put(&vectors)?;
        self.table.write(|pen| pen.embedded(seqs))
    }

    /// Work on the words for a quiet moment. Says whether there was any.
    pub(crate) fn tend_words(&self) -> Result<bool> {
        Ok(!self.words.tend()?.is_idle())
    }

    /// Everything is on the disk, so that the next start replays nothing.
    pub(crate) fn flush(&self) -> Result<()> {
        self.words.flush()?;
        Ok(self.vectors.sync()?)
    }
}

/// The vectors of memories, one for each part of a text that the model reads at once.
pub(crate) fn embedded(model: &Model, memories: &[(u64, Entry)]) -> Result<Vec<(Key, Vector)>> {
    let texts: Vec<&str> = memories.iter().map(|(_, entry)| spoken(entry)).collect();
    let mut vectors = Vec::with_capacity(memories.len());
    for ((seq, _), embedded) in memories.iter().zip(model.embed(&texts)?) {
        for (chunk, part) in (0u16..).zip(&embedded.chunks) {
            if let Ok(vector) = Vector::new(&part.vector) {
                vectors.push((Key { entry: *seq, chunk }, vector));
            }
        }
    }
    Ok(vectors)
}

/// Whether a search may find less, or see more citations, than before: then the whole table is looked through, which an import of many would
/// notice.
fn may_end_or_cite(what: &Happened) -> bool {
    let keeps = |decision: &Decision| {
        matches!(decision, Decision::Promote { .. } | Decision::Conflict { .. } | Decision::Confirm { .. })
    };
    match what {
        Happened::Captured(_) => false,
        Happened::Other(Event::Decided(decided)) => !decided.decisions.iter().all(keeps),
        Happened::CapturedForgotten | Happened::Erased { .. } | Happened::Other(_) => true,
    }
}

fn fact_of(seq: u64, what: &Happened) -> Option<Fact> {
    match what {
        Happened::Captured(entry) => Some(fact(seq, entry)),
        Happened::CapturedForgotten => Some(Fact::gone(seq)),
        Happened::Erased { .. } | Happened::Other(_) => None,
    }
}

/// The rows, or none where they are not those of the table: the journal is then replayed for them.
fn open_rows(path: &Path, table: &Table) -> Result<Rows> {
    let rows = Rows::open(path)?;
    let is_same = rows.len() as u64 == table.len()? && rows.last() == table.last()?;
    if is_same { Ok(rows) } else { rows.emptied() }
}

fn open_words(folder: &Path) -> Result<Concordance> {
    match Concordance::open(folder, Bm25::default()) {
        Err(
            holdfast_concordance::Error::Damaged { .. } | holdfast_concordance::Error::OtherAnalysis { .. },
        ) => Ok(Concordance::renew(folder, Bm25::default())?),
        opened => Ok(opened?),
    }
}

/// The index, and whether it had to be begun again.
fn open_vectors(folder: &Path) -> Result<(Index, bool)> {
    let model = holdfast_vectors::Model(crate::model::fingerprint());
    match Index::open(folder, model) {
        Err(holdfast_vectors::Error::Damaged { .. } | holdfast_vectors::Error::OtherModel) => {
            Index::discard(folder)?;
            Ok((Index::open(folder, model)?, true))
        }
        opened => Ok((opened?, false)),
    }
}
