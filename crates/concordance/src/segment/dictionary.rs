//! The words of a segment in order, in blocks of 32 of which each begins anew; see docs/formats/concordance.md.

use std::ops::Range;

use super::layout::take_varint;
use crate::analyse::TERM_LEN_MAX;

/// What the dictionary says of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) rank: u32,
    pub(crate) df: u32,
    /// Where its list begins.
    pub(crate) offset: u32,
}

/// The first word of every block, in memory.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// The words, one behind the other, and where each ends.
    firsts: String,
    ends: Vec<u32>,
    /// Where each block begins, and where the last ends.
    bounds: Vec<u32>,
}

impl Blocks {
    pub(crate) fn decode(mut bytes: &[u8], words_len: u64) -> Option<Blocks> {
        let mut blocks = Blocks::default();
        while !bytes.is_empty() {
            blocks.bounds.push(take_varint(&mut bytes)?);
            let len = take_varint(&mut bytes)? as usize;
            let (first, rest) = bytes.split_at_checked(len)?;
            bytes = rest;
            blocks.firsts.push_str(std::str::from_utf8(first).ok()?);
            blocks.ends.push(blocks.firsts.len() as u32);
        }
        blocks.bounds.push(u32::try_from(words_len).ok()?);
        let sound = blocks.bounds.is_sorted()
            && (1..blocks.ends.len()).all(|at| blocks.first(at - 1) < blocks.first(at));
        sound.then_some(blocks)
    }

    /// Where the block lies that has the word, if any has.
    pub(crate) fn place_of(&self, term: &str) -> Option<Range<u64>> {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = (low + high) / 2;
            if self.first(middle) <= term {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let block = low.checked_sub(1)?;
        Some(self.bounds[block].into()..self.bounds[block + 1].into())
    }

    fn first(&self, block: usize) -> &str {
        let start = block.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.firsts[start as usize..self.ends[block] as usize]
    }
}

/// Looks for a word in one block.
pub(crate) fn find(block: &[u8], term: &str) -> Result<Option<Entry>, &'static str> {
    let mut reader = Reader::new(block);
    while let Some(entry) = reader.next()? {
        match reader.word.as_slice().cmp(term.as_bytes()) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => return Ok(Some(entry)),
            std::cmp::Ordering::Greater => break,
        }
    }
    Ok(None)
}

/// All words, by rank.
pub(crate) fn by_rank(words: &[u8], terms: u32) -> Result<Vec<String>, &'static str> {
    let mut all = vec![String::new(); terms as usize];
    let mut reader = Reader::new(words);
    while let Some(entry) = reader.next()? {
        let word = std::str::from_utf8(&reader.word).map_err(|_| DAMAGED)?;
        word.clone_into(all.get_mut(entry.rank as usize).ok_or(DAMAGED)?);
    }
    if all.iter().any(String::is_empty) { Err(DAMAGED) } else { Ok(all) }
}

const DAMAGED: &str = "its dictionary";

struct Reader<'a> {
    rest: &'a [u8],
    word: Vec<u8>,
}

impl<'a> Reader<'a> {
    fn new(words: &'a [u8]) -> Reader<'a> {
        Reader { rest: words, word: Vec::with_capacity(TERM_LEN_MAX) }
    }

    fn next(&mut self) -> Result<Option<Entry>, &'static str> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.entry().map(Some).ok_or(DAMAGED)
    }

    fn entry(&mut self) -> Option<Entry> {
        let (shared, own) = (take_varint(&mut self.rest)? as usize, take_varint(&mut self.rest)? as usize);
        if shared > self.word.len() || shared + own > TERM_LEN_MAX {
            return None;
        }
        let (suffix, rest) = self.rest.split_at_checked(own)?;
        self.rest = rest;
        self.word.truncate(shared);
        self.word.extend_from_slice(suffix);
        let mut number = || take_varint(&mut self.rest);
        Some(Entry { rank: number()?, df: number()?, offset: number()? })
    }
}
