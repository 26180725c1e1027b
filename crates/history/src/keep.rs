//! Brings a repository to what the book says, however it was found. May be cut off anywhere and done again.

use std::path::PathBuf;

use holdfast_git::NotDone;
use holdfast_types::Timestamp;

use crate::book::Book;
use crate::repository::{Repository, Trouble};
use crate::settle::{Move, settle};

/// What was done, and what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub made: bool,
    pub moved: usize,
    /// References that somebody else had moved; what they pointed at is kept below `refs/aside/`.
    pub foreign: Vec<String>,
    pub settings_restored: bool,
    /// Where a damaged one lies now, and what was wrong with it.
    pub put_aside: Option<(PathBuf, String)>,
    pub unlocked: usize,
}

/// Whether every object is read first: at a start and once a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Shallow,
    Whole,
}

/// One pass. [`Trouble::Behind`] means that the book has to be made again from all records.
pub fn keep(repository: &Repository, book: &mut Book, look: Look, now: Timestamp) -> Result<Told, Trouble> {
    let wanted = book.refs();
    if wanted.is_empty() {
        return Ok(Told::default());
    }
    let mut told = Told::default();
    let seen = match found(repository, &mut told, look) {
        Err(Trouble::Damaged { said }) => {
            told.put_aside = Some((repository.put_aside()?, said));
            found(repository, &mut told, Look::Shallow)?
        }
        found => found?,
    };
    if told.made && !book.is_whole() {
        return Err(Trouble::Behind);
    }
    let settlement = settle(&wanted, &seen, |id| book.knows(id));
    if !settlement.is_empty() {
        repository.store(book.fresh())?;
        for moves in [&settlement.first, &settlement.then] {
            moved(repository, moves, &mut told, now)?;
        }
    }
    book.stored();
    told.foreign = settlement.foreign;
    Ok(told)
}

fn found(repository: &Repository, told: &mut Told, look: Look) -> Result<crate::book::Refs, Trouble> {
    let prepared = repository.prepare()?;
    told.made |= prepared.made;
    told.settings_restored |= prepared.settings_restored;
    if look == Look::Whole && !prepared.made {
        repository.check()?;
    }
    repository.look()
}

/// A lock that nobody holds any more is taken away once.
fn moved(repository: &Repository, moves: &[Move], told: &mut Told, now: Timestamp) -> Result<(), Trouble> {
    if let Err(trouble) = repository.move_refs(moves) {
        let refused = matches!(&trouble, Trouble::Git(NotDone::Refused { .. }));
        let unlocked = if refused { repository.unlock(now)? } else { 0 };
        if unlocked == 0 {
            return Err(trouble);
        }
        told.unlocked += unlocked;
        repository.move_refs(moves)?;
    }
    told.moved += moves.len();
    Ok(())
}
