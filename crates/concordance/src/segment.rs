//! A segment: a file of entries that is written once and never changed.
//!
//! `segment/layout.rs` has its first page, `segment/write.rs` makes its bytes, `segment/pages.rs` reads them with their checksums,
//! `segment/dictionary.rs` finds a word. Here is what a search asks of it.
//!
//! What holds: every byte that comes from the file has passed its checksum, and what it says is checked before it is used, so
//! that damage is an [`Error::Damaged`](crate::Error::Damaged) and never a wrong answer.

pub(crate) mod cache;
pub(crate) mod dictionary;
pub(crate) mod layout;
pub(crate) mod pages;
pub(crate) mod write;

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::error::Result;
use crate::gathered::{Gathered, Token};
use crate::list::{Body, List, is_dense};
use cache::Cache;
use dictionary::{Blocks, Entry};
use layout::{Header, Section, take_varint};
use pages::Pages;

/// An open segment. Little of it is in memory: the first page, the checksums, one word in 32, and lists that were used lately.
#[derive(Debug)]
pub(crate) struct Segment {
    pages: Pages,
    blocks: Blocks,
    lengths: OnceLock<Arc<[u8]>>,
    ids: OnceLock<Arc<[u64]>>,
    cache: Mutex<Cache>,
}

impl Segment {
    /// Opens a segment that has this content: `root` covers every byte of it.
    pub(crate) fn open(path: &Path, serial: u64, root: u32) -> Result<Segment> {
        let pages = Pages::open(path, serial, root)?;
        let blocks = pages.section(Section::Blocks)?;
        let words = pages.header().section(Section::Words);
        let blocks = Blocks::decode(&blocks, words.end - words.start)
            .ok_or_else(|| pages.damaged("its list of blocks"))?;
        let cache = Mutex::new(Cache::for_docs(pages.header().docs as usize));
        Ok(Segment { pages, blocks, lengths: OnceLock::new(), ids: OnceLock::new(), cache })
    }

    pub(crate) fn header(&self) -> &Header {
        self.pages.header()
    }

    pub(crate) fn path(&self) -> &Path {
        self.pages.path()
    }

    pub(crate) fn docs(&self) -> usize {
        self.header().docs as usize
    }

    /// The length class of every doc.
    pub(crate) fn lengths(&self) -> Result<Arc<[u8]>> {
        load_once(&self.lengths, || Ok(self.pages.section(Section::Lengths)?.as_slice().into()))
    }

    /// The id of every doc, in order.
    pub(crate) fn ids(&self) -> Result<Arc<[u64]>> {
        load_once(&self.ids, || {
            let (header, bytes) = (self.header(), self.pages.section(Section::Ids)?);
            let ids: Option<Vec<u64>> = bytes
                .chunks(header.id_width())
                .map(|offset| {
                    let mut wide = [0; 8];
                    wide[..offset.len()].copy_from_slice(offset);
                    header.first_id.checked_add(u64::from_le_bytes(wide))
                })
                .collect();
            let in_order = |ids: &Vec<u64>| {
                ids.is_sorted_by(|a, b| a < b)
                    && ids.first() == Some(&header.first_id)
                    && ids.last() == Some(&header.last_id)
            };
            Ok(ids.filter(in_order).ok_or_else(|| self.pages.damaged("its ids are out of order"))?.into())
        })
    }

    /// The list of a term; none when no entry here has it.
    pub(crate) fn list(&self, term: &str) -> Result<Option<Arc<List>>> {
        let cached = self.cache.lock().unwrap_or_else(PoisonError::into_inner).get(term);
        if let Some(known) = cached {
            return Ok(known);
        }
        let list = self.find(term)?.map(|entry| self.read_list(&entry)).transpose()?.map(Arc::new);
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).put(term, list.clone());
        Ok(list)
    }

    fn find(&self, term: &str) -> Result<Option<Entry>> {
        let Some(range) = self.blocks.place_of(term) else { return Ok(None) };
        let block = self.pages.within(Section::Words, range)?;
        dictionary::find(&block, term).map_err(|what| self.pages.damaged(what))
    }

    fn read_list(&self, entry: &Entry) -> Result<List> {
        let damaged = || self.pages.damaged("a list");
        let (docs, df) = (self.docs(), entry.df as usize);
        if df == 0 || df > docs || entry.rank >= self.header().terms {
            return Err(damaged());
        }
        let from = u64::from(entry.offset);
        let bytes = self.pages.within(Section::Lists, from..from + write::list_len(df, docs) as u64)?;
        let lengths = self.lengths()?;
        let list = if is_dense(df, docs) {
            dense_list(entry, bytes.to_vec(), &lengths)
        } else {
            sparse_list(entry, &bytes, &lengths)
        };
        list.ok_or_else(damaged)
    }

    /// The tokens of one doc.
    pub(crate) fn tokens_of(&self, doc: u16) -> Result<Vec<Token>> {
        let damaged = || self.pages.damaged("the words of an entry");
        let at = 4 * u64::from(doc);
        let starts = self.pages.within(Section::Starts, at..at + 8)?;
        let [start, end] = [0, 4].map(|at| starts.get(at..at + 4).map_or(0, le_u32));
        if start > end {
            return Err(damaged());
        }
        let bytes = self.pages.within(Section::Texts, start.into()..end.into())?;
        tokens(&bytes, self.header().terms).ok_or_else(damaged)
    }

    /// Reads every byte.
    pub(crate) fn check(&self) -> Result<()> {
        self.pages.check()?;
        self.gather_into(&mut Gathered::default(), &|_| false)
    }

    /// Adds the entries that are to stay to others that are gathered. Reads the whole segment.
    pub(crate) fn gather_into(&self, gathered: &mut Gathered, stays: &dyn Fn(u64) -> bool) -> Result<()> {
        let words = self.pages.section(Section::Words)?;
        let terms =
            dictionary::by_rank(&words, self.header().terms).map_err(|what| self.pages.damaged(what))?;
        let terms: Vec<&str> = terms.iter().map(String::as_str).collect();
        let (ids, starts, texts) =
            (self.ids()?, self.pages.section(Section::Starts)?, self.pages.section(Section::Texts)?);
        let mut damage = false;
        let entries = ids.iter().enumerate().map_while(|(doc, id)| {
            let bound = |at: usize| starts.get(4 * at..4 * at + 4).map(|bytes| le_u32(bytes) as usize);
            let bytes = bound(doc).zip(bound(doc + 1)).and_then(|(start, end)| texts.get(start..end));
            let tokens = bytes.and_then(|bytes| tokens(bytes, self.header().terms));
            damage |= tokens.is_none();
            Some((*id, tokens?))
        });
        gathered.take_from(&terms, entries, stays);
        if damage { Err(self.pages.damaged("the words of an entry")) } else { Ok(()) }
    }
}

fn load_once<T: ?Sized>(cell: &OnceLock<Arc<T>>, load: impl FnOnce() -> Result<Arc<T>>) -> Result<Arc<T>> {
    match cell.get() {
        Some(loaded) => Ok(Arc::clone(loaded)),
        None => load().map(|loaded| Arc::clone(cell.get_or_init(|| loaded))),
    }
}

fn le_u32(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |chunk| u32::from_le_bytes(*chunk))
}

fn tokens(mut bytes: &[u8], terms: u32) -> Option<Vec<Token>> {
    let mut tokens = Vec::with_capacity(bytes.len());
    while !bytes.is_empty() {
        let token = Token(take_varint(&mut bytes)?);
        tokens.push(Some(token).filter(|token| token.number() < terms)?);
    }
    Some(tokens)
}

fn sparse_list(entry: &Entry, bytes: &[u8], lengths: &[u8]) -> Option<List> {
    let (docs, halves) = bytes.split_at_checked(2 * entry.df as usize)?;
    let docs: Vec<u16> = docs.as_chunks::<2>().0.iter().map(|doc| u16::from_le_bytes(*doc)).collect();
    let tfs: Vec<u8> = halves.iter().flat_map(|byte| [byte & 15, byte >> 4]).take(docs.len()).collect();
    let sound = docs.is_sorted_by(|a, b| a < b)
        && docs.last().is_some_and(|last| usize::from(*last) < lengths.len())
        && tfs.iter().all(|tf| *tf > 0);
    sound.then(|| List::sparse(entry.rank, docs, tfs, lengths))
}

fn dense_list(entry: &Entry, tfs: Vec<u8>, lengths: &[u8]) -> Option<List> {
    let list = List::dense(entry.rank, entry.df, tfs, lengths);
    let Body::Dense { tfs } = &list.body else { return None };
    let on_it: u32 = tfs.iter().map(|byte| u32::from(byte & 15 != 0) + u32::from(byte >> 4 != 0)).sum();
    (on_it == entry.df).then_some(list)
}
