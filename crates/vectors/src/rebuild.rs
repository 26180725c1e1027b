//! Making the base anew: what counts of the old base and of the tail, arranged, linked and written to a file aside.
//!
//! [`Index::begin_rebuild`](crate::Index::begin_rebuild) takes down what there is, [`Rebuild::run`] does the work in any thread while the index is used
//! and changed, and [`Index::adopt`](crate::Index::adopt) switches. What is put in meanwhile stays in the log; what is forgotten meanwhile is
//! left out or wiped before the call that forgets returns.

use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::aside::{Aside, Row};
use crate::base::{Source, read_vector};
use crate::build::{Known, build};
use crate::code::Code;
use crate::error::Error;
use crate::files;
use crate::key::Key;
use crate::layout::{DEGREE, Header, Layout, NO_LINK, vector_crc};
use crate::log::RECORD_BYTES;
use crate::model::Model;
use crate::shelf::Shelf;
use crate::vector::{VECTOR_BYTES, Vector};

/// Rows written at once, with what is forgotten waiting: some six megabytes.
const WRITTEN: usize = 4096;

/// A rebuild that was begun.
#[derive(Debug)]
pub struct Rebuild {
    pub(crate) folder: PathBuf,
    pub(crate) generation: u64,
    pub(crate) model: Model,
    pub(crate) base: Option<(Source, Header)>,
    pub(crate) log: Source,
    pub(crate) items: Vec<Item>,
    pub(crate) aside: Arc<Mutex<Aside>>,
    pub(crate) snapshot: Snapshot,
    pub(crate) graph_beyond: usize,
}

/// Where the log was when the rebuild was begun: what follows goes into the next log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snapshot {
    pub(crate) log_end: u64,
    pub(crate) applied: Option<u64>,
}

/// A vector to be taken over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) key: Key,
    pub(crate) at: u64,
    pub(crate) from: From,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum From {
    Base { row: u32, crc: u32 },
    Log,
}

/// A base that is whole and durable, and does not count yet. Dropped, it is shredded.
#[derive(Debug)]
pub struct Rebuilt {
    pub(crate) aside: Arc<Mutex<Aside>>,
    pub(crate) generation: u64,
    pub(crate) snapshot: Snapshot,
}

impl Rebuild {
    /// Makes a graph for more than this many rows, in place of [`EXACT_MAX`](crate::EXACT_MAX): for measuring where that should be, and for tests.
    pub fn with_graph_beyond(mut self, rows: usize) -> Rebuild {
        self.graph_beyond = rows;
        self
    }

    /// Does the work. How many threads do it changes nothing but the time; `go_on` is asked now and then, and a no ends it with
    /// [`Error::Stopped`].
    pub fn run(mut self, threads: NonZeroUsize, go_on: &(dyn Fn() -> bool + Sync)) -> Result<Rebuilt, Error> {
        let (mut shelf, mut rows) = self.read(go_on)?;
        let order = crate::arrange::arrange(&shelf, threads);
        shelf.reorder(&order);
        self.items = order.iter().map(|n| self.items[*n as usize]).collect();
        rows = order.iter().map(|n| rows[*n as usize]).collect();
        let links = if rows.len() > self.graph_beyond {
            Some(build(&shelf, self.known_links()?, threads, go_on)?)
        } else {
            None
        };
        if !rows.is_empty() {
            self.write(&rows, &shelf, links.as_deref(), go_on)?;
        }
        Ok(Rebuilt { aside: self.aside, generation: self.generation, snapshot: self.snapshot })
    }

    /// Codes of all vectors that are still to be taken over, and leaves the others out of the items.
    fn read(&mut self, go_on: &(dyn Fn() -> bool + Sync)) -> Result<(Shelf, Vec<Row>), Error> {
        let (mut shelf, mut rows) =
            (Shelf::with_room(self.items.len()), Vec::with_capacity(self.items.len()));
        let mut items = Vec::with_capacity(self.items.len());
        for (n, item) in self.items.iter().enumerate() {
            if n % WRITTEN == 0 && !go_on() {
                return Err(Error::Stopped);
            }
            if let Some((vector, crc)) = self.vector(item)? {
                shelf.push(&Code::of(&vector));
                rows.push(Row { key: item.key, crc });
                items.push(*item);
            }
        }
        self.items = items;
        Ok((shelf, rows))
    }

    /// A vector and its checksum; `None` when it was forgotten meanwhile.
    fn vector(&self, item: &Item) -> Result<Option<(Vector, u32)>, Error> {
        let read = match (item.from, &self.base) {
            (From::Base { crc, .. }, Some((base, _))) => {
                read_vector(&base.file, item.at, &base.path, |bytes| vector_crc(item.key, bytes) == crc)
                    .map(|vector| (vector, crc))
            }
            _ => self.vector_of_log(item),
        };
        match read {
            Err(Error::Damaged { .. }) if self.aside().forgotten.contains(&item.key) => Ok(None),
            read => read.map(Some),
        }
    }

    fn vector_of_log(&self, item: &Item) -> Result<(Vector, u32), Error> {
        let mut crc = [0; 4];
        self.log.file.read_exact_at(&mut crc, item.at + 4)?;
        let crc = u32::from_le_bytes(crc);
        let at = item.at + RECORD_BYTES as u64;
        let whole = |bytes: &[u8; VECTOR_BYTES]| vector_crc(item.key, bytes) == crc;
        Ok((read_vector(&self.log.file, at, &self.log.path, whole)?, crc))
    }

    /// Links of the old base between rows that are taken over, in the numbers of the new one.
    fn known_links(&self) -> Result<Option<Known>, Error> {
        let Some((base, header)) = self.base.as_ref().filter(|(_, header)| header.graph) else {
            return Ok(None);
        };
        let mut now = vec![NO_LINK; header.rows as usize];
        for (new, item) in (0..).zip(&self.items) {
            if let From::Base { row, .. } = item.from {
                now[row as usize] = new;
            }
        }
        let links = Layout::of(header.rows, true).links;
        let mut known = vec![NO_LINK; self.items.len() * DEGREE];
        for (item, into) in self.items.iter().zip(known.as_chunks_mut::<DEGREE>().0) {
            if let From::Base { row, .. } = item.from {
                let (mut bytes, at) = ([0; DEGREE * 4], links + u64::from(row) * (DEGREE * 4) as u64);
                base.file.read_exact_at(&mut bytes, at)?;
                let old = bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
                let taken =
                    old.filter_map(|link| now.get(link as usize).copied().filter(|link| *link != NO_LINK));
                into.iter_mut().zip(taken).for_each(|(place, link)| *place = link);
            }
        }
        Ok(Some(Known(known)))
    }

    fn write(
        &self,
        rows: &[Row],
        shelf: &Shelf,
        links: Option<&[u32]>,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Error> {
        let path = files::base(&self.folder, self.generation);
        self.aside().begin(path, rows, links.is_some())?;
        let mut begin = 0;
        for (items, rows) in self.items.chunks(WRITTEN).zip(rows.chunks(WRITTEN)) {
            if !go_on() {
                return Err(Error::Stopped);
            }
            let mut vectors = Vec::with_capacity(rows.len() * VECTOR_BYTES);
            for item in items {
                match self.vector(item)? {
                    Some((vector, _)) => vectors.extend_from_slice(&vector.to_bytes()),
                    None => vectors.extend_from_slice(&[0; VECTOR_BYTES]),
                }
            }
            self.aside().write(begin, rows, shelf, links, &vectors)?;
            begin += rows.len() as u32;
        }
        let header = Header {
            generation: self.generation,
            model: self.model,
            rows: rows.len() as u32,
            graph: links.is_some(),
            keys_crc: 0,
            order_crc: 0,
        };
        self.aside().finish(header, rows)
    }

    fn aside(&self) -> MutexGuard<'_, Aside> {
        lock(&self.aside)
    }
}

pub(crate) fn lock(aside: &Mutex<Aside>) -> MutexGuard<'_, Aside> {
    aside.lock().unwrap_or_else(PoisonError::into_inner)
}
