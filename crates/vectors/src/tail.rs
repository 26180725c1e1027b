//! What was put in since the base was sealed: codes in memory, vectors in the log. It is always looked through whole.

use std::collections::HashMap;

use crate::bits::Bits;
use crate::code::Code;
use crate::key::Key;
use crate::vector::{Vector, WIDTH};

/// Of a row that is the first of its key.
const NONE: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(crate) struct Tail {
    keys: Vec<Key>,
    /// Where the record of each row begins in the log.
    places: Vec<u64>,
    codes: Vec<u8>,
    scales: Vec<f32>,
    errors: Vec<f32>,
    /// The row of the same key that this one took the place of.
    earlier: Vec<u32>,
    /// Forgotten, or put again since.
    dead: Bits,
    newest: HashMap<Key, u32>,
}

impl Tail {
    /// Takes a vector in; an earlier one of the same key no longer counts.
    pub(crate) fn put(&mut self, key: Key, place: u64, vector: &Vector) {
        self.push(key, place, &Code::of(vector));
    }

    /// Takes in that there was a vector which can no longer be read: it is to be forgotten.
    pub(crate) fn put_unreadable(&mut self, key: Key, place: u64) {
        let row = self.push(key, place, &Code { bytes: [0; WIDTH], scale: 0.0, error: 0.0 });
        self.dead.add(row);
    }

    /// Forgets a key, all there ever was of it; the places in the log that have to be wiped.
    pub(crate) fn forget(&mut self, key: Key) -> Vec<u64> {
        let mut places = Vec::new();
        let mut next = self.newest.remove(&key).unwrap_or(NONE);
        while next != NONE {
            let row = next as usize;
            places.push(self.places[row]);
            self.dead.add(next);
            self.codes[row * WIDTH..(row + 1) * WIDTH].fill(0);
            (self.scales[row], self.errors[row]) = (0.0, 0.0);
            next = self.earlier[row];
        }
        places
    }

    pub(crate) fn rows(&self) -> u32 {
        self.keys.len() as u32
    }

    pub(crate) fn live(&self) -> usize {
        self.keys.len() - self.dead.len()
    }

    pub(crate) fn holds(&self, key: Key) -> bool {
        self.newest.contains_key(&key)
    }

    pub(crate) fn row_of(&self, key: Key) -> Option<u32> {
        self.newest.get(&key).copied().filter(|row| !self.dead.has(*row))
    }

    /// Keys of an entry's pieces.
    pub(crate) fn keys_of_entry(&self, entry: u64) -> impl Iterator<Item = Key> {
        self.keys.iter().copied().filter(move |key| key.entry == entry)
    }

    pub(crate) fn is_dead(&self, row: u32) -> bool {
        self.dead.has(row)
    }

    pub(crate) fn key(&self, row: u32) -> Key {
        self.keys[row as usize]
    }

    pub(crate) fn place(&self, row: u32) -> u64 {
        self.places[row as usize]
    }

    pub(crate) fn error(&self, row: u32) -> f32 {
        self.errors[row as usize]
    }

    pub(crate) fn codes(&self) -> &[u8] {
        &self.codes
    }

    pub(crate) fn scales(&self) -> &[f32] {
        &self.scales
    }

    fn push(&mut self, key: Key, place: u64, code: &Code) -> u32 {
        let row = self.rows();
        self.keys.push(key);
        self.places.push(place);
        self.codes.extend_from_slice(&code.bytes);
        self.scales.push(code.scale);
        self.errors.push(code.error);
        let earlier = self.newest.insert(key, row);
        self.earlier.push(earlier.unwrap_or(NONE));
        if let Some(earlier) = earlier {
            self.dead.add(earlier);
        }
        row
    }
}
