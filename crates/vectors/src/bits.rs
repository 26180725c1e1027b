//! A set of rows, a bit each.

/// Rows from 0 on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits {
    words: Vec<u64>,
    count: usize,
}

impl Bits {
    pub(crate) fn with_room(rows: usize) -> Bits {
        Bits { words: vec![0; rows.div_ceil(64)], count: 0 }
    }

    #[inline]
    pub(crate) fn has(&self, row: u32) -> bool {
        self.words.get(row as usize / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Whether it was not in before.
    #[inline]
    pub(crate) fn add(&mut self, row: u32) -> bool {
        let place = row as usize / 64;
        if place >= self.words.len() {
            self.words.resize(place + 1, 0);
        }
        let bit = 1 << (row % 64);
        let new = self.words[place] & bit == 0;
        self.words[place] |= bit;
        self.count += usize::from(new);
        new
    }

    /// Of a row that is in.
    pub(crate) fn remove(&mut self, row: u32) {
        debug_assert!(self.has(row));
        self.words[row as usize / 64] &= !(1 << (row % 64));
        self.count -= 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }
}
