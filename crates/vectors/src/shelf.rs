//! The codes of all rows of a base that is being made, in memory.

use crate::code::{Code, Probe};
use crate::vector::WIDTH;

#[derive(Debug, Default)]
pub(crate) struct Shelf {
    pub(crate) codes: Vec<u8>,
    pub(crate) scales: Vec<f32>,
    pub(crate) errors: Vec<f32>,
}

impl Shelf {
    pub(crate) fn with_room(rows: usize) -> Shelf {
        Shelf {
            codes: Vec::with_capacity(rows * WIDTH),
            scales: Vec::with_capacity(rows),
            errors: Vec::with_capacity(rows),
        }
    }

    pub(crate) fn push(&mut self, code: &Code) {
        self.codes.extend_from_slice(&code.bytes);
        self.scales.push(code.scale);
        self.errors.push(code.error);
    }

    pub(crate) fn rows(&self) -> u32 {
        self.scales.len() as u32
    }

    pub(crate) fn code(&self, row: u32) -> &[u8; WIDTH] {
        &self.codes.as_chunks::<WIDTH>().0[row as usize]
    }

    pub(crate) fn probe(&self, row: u32) -> Probe {
        Probe::stored(self.code(row), self.scales[row as usize])
    }

    /// Whether two rows cannot be told apart by their codes.
    pub(crate) fn alike(&self, a: u32, b: u32) -> bool {
        self.scales[a as usize] == self.scales[b as usize] && self.code(a) == self.code(b)
    }

    /// Puts the rows into another order: `order` says which row comes first, second, and so on. In place, since there may be much of it.
    pub(crate) fn reorder(&mut self, order: &[u32]) {
        let mut done = vec![false; order.len()];
        for begin in 0..order.len() {
            let mut place = begin;
            while !done[place] {
                done[place] = true;
                let from = order[place] as usize;
                if done[from] {
                    break;
                }
                self.swap(place, from);
                place = from;
            }
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.codes.as_chunks_mut::<WIDTH>().0.swap(a, b);
        self.scales.swap(a, b);
        self.errors.swap(a, b);
    }
}
