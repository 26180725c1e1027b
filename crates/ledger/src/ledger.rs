//! The ledger at work: the only file here that writes.
//!
//! Every call takes its turn, brings its state up to date with the journal, decides by the pure rules and appends at most
//! one entry that counts. Whatever goes wrong on the way, nobody was told a number.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdfast_journal::{Appended, Draft, Journal, Screen};
use holdfast_store::Index;
use holdfast_types::{Actor, Key, Kind};

use crate::decide::{self, Ask, Decision};
use crate::error::{Error, Result};
use crate::event::{Event, KEY_PREFIX, ROOM, Step};
use crate::name::{Evidence, Holder, Purpose};
use crate::number::Number;
use crate::occupied::{InUse, Occupied};
use crate::projection::{self, NAME};
use crate::series::{Series, Space};
use crate::state::{Line, Standing, State};

/// Each time somebody else got on, so this is far beyond what any crowd of callers needs.
const ATTEMPTS_MAX: u32 = 64;

/// The ledger of one log.
#[derive(Debug)]
pub struct Ledger {
    journal: Journal,
    index: Arc<Index>,
    /// The one the journal was opened with.
    screen: Arc<dyn Screen>,
    in_use: Arc<dyn InUse>,
    /// Held from the look at the state to the end of the append.
    book: Mutex<Book>,
}

/// The state as of the last look.
#[derive(Debug, Default)]
struct Book {
    state: State,
    /// The first entry that is not in it.
    next: u64,
}

/// A number that the holder has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    pub number: Number,
    /// The entry it was given by.
    pub seq: u64,
    /// It was not there before.
    pub fresh: bool,
}

/// A holder that has its numbers under the new name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// All it holds.
    pub numbers: Vec<Number>,
    /// It was so before.
    pub repeated: bool,
}

impl Ledger {
    /// `index` must have the [`LedgerProjection`](crate::LedgerProjection) of this journal; `screen` is the one the
    /// journal was opened with.
    pub fn new(
        journal: Journal,
        index: Arc<Index>,
        screen: Arc<dyn Screen>,
        in_use: Arc<dyn InUse>,
    ) -> Ledger {
        Ledger { journal, index, screen, in_use, book: Mutex::default() }
    }

    /// The number that the holder has for this, or a new one. When this returns, it is on the disk.
    pub fn give(&self, ask: &Ask, by: &Actor) -> Result<Given> {
        let mut book = self.open()?;
        let held = |state: &State| state.held(ask.series(), &ask.holder, &ask.purpose).cloned();
        let wrote = self.settle(&mut book, by, &|state| match held(state) {
            Some(_) => Ok(Decision::Already),
            // Looked at only now: what was given is given, whoever listens there.
            None => decide::give(state, ask, &self.look(ask.series().space())?).map(Decision::Write),
        })?;
        match wrote {
            Some((seq, Event::Given { number, .. })) => Ok(Given { number, seq, fresh: true }),
            _ => {
                let Line { number, seq, .. } = held(&book.state).ok_or_else(vanished)?;
                Ok(Given { number, seq, fresh: false })
            }
        }
    }

    /// Takes a number from its holder. Nobody gets it until it is reclaimed. Gives its tombstone.
    pub fn release(&self, series: Series, holder: &Holder, purpose: &Purpose, by: &Actor) -> Result<Line> {
        let mut book = self.open()?;
        self.release_one(&mut book, series, holder, purpose, by)
    }

    /// Takes all its numbers from a holder; one that has none has none afterwards. A crash in the middle leaves the rest
    /// held, and doing it again goes on from there.
    pub fn release_all(&self, holder: &Holder, by: &Actor) -> Result<Vec<Line>> {
        let mut book = self.open()?;
        let held: Vec<Line> = book.state.held_by(holder).cloned().collect();
        let mut released = Vec::with_capacity(held.len());
        for line in held {
            let Standing::Held { holder, purpose } = line.standing else { return Err(vanished()) };
            released.push(self.release_one(&mut book, line.number.series(), &holder, &purpose, by)?);
        }
        Ok(released)
    }

    /// Lets a released or skipped number be given again. The evidence is kept in the journal; that it is true is for the
    /// caller to see to, and so is the approval of a person where one is needed.
    pub fn reclaim(&self, number: Number, evidence: &Evidence, by: &Actor) -> Result<Line> {
        let mut book = self.open()?;
        let occupied = self.look(number.series().space())?;
        let wrote =
            self.settle(&mut book, by, &|state| decide::reclaim(state, number, evidence, &occupied))?;
        match wrote {
            Some((seq, Event::Reclaimed { number, evidence })) => {
                Ok(Line { number, standing: Standing::Reclaimed { evidence }, seq })
            }
            _ => book.state.line(number).cloned().ok_or_else(vanished),
        }
    }

    /// Gives a holder another name; its numbers stay what they are.
    pub fn rename(&self, from: &Holder, to: &Holder, by: &Actor) -> Result<Renamed> {
        let mut book = self.open()?;
        let wrote = self.settle(&mut book, by, &|state| decide::rename(state, from, to))?;
        let numbers = book.state.held_by(to).map(|line| line.number).collect();
        Ok(Renamed { numbers, repeated: wrote.is_none() })
    }

    /// Everything as it is now.
    pub fn state(&self) -> Result<State> {
        Ok(self.open()?.state.clone())
    }

    fn release_one(
        &self,
        book: &mut Book,
        series: Series,
        holder: &Holder,
        purpose: &Purpose,
        by: &Actor,
    ) -> Result<Line> {
        match self.settle(book, by, &|state| decide::release(state, series, holder, purpose))? {
            Some((seq, Event::Released { number, holder, purpose })) => {
                Ok(Line { number, standing: Standing::Released { holder, purpose }, seq })
            }
            _ => decide::tombstone(&book.state, series, holder, purpose).cloned().ok_or_else(vanished),
        }
    }

    /// Decides by the state of the moment and writes it down. Where another ledger of the same journal came between, decides
    /// again. Gives the entry and what it says, if one was needed.
    fn settle(
        &self,
        book: &mut Book,
        by: &Actor,
        decide: &dyn Fn(&State) -> Result<Decision>,
    ) -> Result<Option<(u64, Event)>> {
        let mut with_key = true;
        for _ in 0..ATTEMPTS_MAX {
            let Decision::Write(event) = decide(&book.state)? else { return Ok(None) };
            let step = Step { turn: book.state.turns(), event };
            let key = if with_key { Some(step.key()?) } else { None };
            let draft = step.draft(by, key)?;
            self.screened_as_it_is(&draft)?;
            let Appended { seq, repeated, .. } = self.journal.append(&draft)?;
            let counted = self.catch_up(book)?;
            if !repeated && counted.contains(&seq) {
                return Ok(Some((seq, step.event)));
            }
            // An entry that has our key and is not of the ledger must not keep us out: whether ours counts is told by
            // its turn alone.
            with_key = book.state.turns() > step.turn;
        }
        Err(Error::Contended { attempts: ATTEMPTS_MAX })
    }

    /// The book, with all in it that the journal holds.
    fn open(&self) -> Result<MutexGuard<'_, Book>> {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        self.catch_up(&mut book)?;
        Ok(book)
    }

    /// Gives the entries that count and that were not in the book.
    fn catch_up(&self, book: &mut Book) -> Result<Vec<u64>> {
        let done = self.index.catch_up(&self.journal, &mut |_| ControlFlow::Continue(()))?;
        if let Some(halted) = done.halted.iter().find(|halted| halted.name == NAME) {
            let why = format!("it stands still at entry {}: {}", halted.seq, halted.reason);
            return Err(Error::Behind { why });
        }
        let news = self.index.read(|conn| Ok(projection::from(conn, book.next)?))?;
        for (seq, step) in &news {
            let applied = book.state.apply(step, *seq);
            applied.map_err(|e| Error::Behind { why: format!("entry {seq}: {e}") })?;
            book.next = seq + 1;
        }
        Ok(news.into_iter().map(|(seq, _)| seq).collect())
    }

    fn look(&self, space: Space) -> Result<Occupied> {
        self.in_use.look(space).map_err(|source| Error::CannotLook { space, source })
    }

    /// Refuses what the screen would change: a name must stand in the log as it is, or nobody finds its numbers again.
    fn screened_as_it_is(&self, draft: &Draft) -> Result<()> {
        match draft.preview(self.journal.origin(), self.screen.as_ref()) {
            Ok(preview) if preview.redactions == 0 => Ok(()),
            Ok(_) | Err(_) => Err(Error::Secret),
        }
    }
}

/// For what cannot be: it was decided that nothing has to be written, and the state does not show why.
fn vanished() -> Error {
    Error::Behind { why: "what it was decided by is not there".to_owned() }
}

/// Refuses an entry that only this room may write, wherever entries are taken from outside.
pub fn refuse_reserved(kind: &Kind, key: Option<&Key>) -> Result<()> {
    if kind.room().as_str() == ROOM {
        return Err(Error::Reserved { kind: kind.clone() });
    }
    match key.filter(|key| key.as_str().starts_with(KEY_PREFIX)) {
        Some(key) => Err(Error::ReservedKey { key: key.clone() }),
        None => Ok(()),
    }
}
