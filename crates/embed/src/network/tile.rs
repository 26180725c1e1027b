//! Products of matrices, a tile at a time that fits into registers.
//!
//! The right factor lies in panels of [`PANEL`] columns, row after row, so that it is read from memory in one go. Every number of the
//! result is one chain of multiply-and-add from the first term to the last, whatever the shape of the tile it is computed in: that
//! is why a text has the same vector in every batch.

use super::lanes::{LANES, Lanes};

/// Columns of the right factor that lie together.
pub(crate) const PANEL: usize = 32;

/// The left factor: where its first row begins, from one row to the next, and how many there are.
#[derive(Clone, Copy)]
pub(super) struct Left {
    pub(super) at: *const f32,
    pub(super) stride: usize,
    pub(super) rows: usize,
}

/// What becomes of a product's numbers.
pub(super) trait Finish<V: Lanes> {
    /// What the sums of sixteen columns of the panel begin with.
    ///
    /// # Safety
    ///
    /// As [`Lanes`]; `column` is one of the panel's.
    unsafe fn begin(&self, column: usize) -> V;
    /// Puts the sums of sixteen columns of a row where they go.
    ///
    /// # Safety
    ///
    /// As [`Lanes`]; `row` is one of the left factor's, `column` one of the panel's, and nobody else uses what is written.
    unsafe fn put(&self, sums: V, row: usize, column: usize);
}

/// All rows of the left factor times one panel.
///
/// # Safety
///
/// As [`Lanes`]; every row of `left` and the panel have `depth` numbers and rows of numbers.
#[inline(always)]
pub(super) unsafe fn times_panel<V: Lanes, F: Finish<V>>(
    left: Left,
    panel: *const f32,
    depth: usize,
    finish: &F,
) {
    // SAFETY: the columns are those of the panel, and the strips are those of the left factor.
    unsafe {
        let mut column = 0;
        while column < PANEL {
            let mut row = 0;
            while row < left.rows {
                let rows = strip(left.rows, row, V::TILE_ROWS);
                if V::TILE_LANES == 2 {
                    some_rows::<V, F, 2>(rows, left, row, panel, column, depth, finish);
                } else {
                    some_rows::<V, F, 1>(rows, left, row, panel, column, depth, finish);
                }
                row += rows;
            }
            column += V::TILE_LANES * LANES;
        }
    }
}

/// How many rows the strip that begins at a row has: as few strips as can be, all about as high.
#[inline(always)]
pub(super) fn strip(rows: usize, from: usize, most: usize) -> usize {
    let left = rows - from;
    left.div_ceil(left.div_ceil(most))
}

/// # Safety
///
/// As [`times_panel`].
#[inline(always)]
unsafe fn some_rows<V: Lanes, F: Finish<V>, const COLUMNS: usize>(
    rows: usize,
    left: Left,
    row: usize,
    panel: *const f32,
    column: usize,
    depth: usize,
    finish: &F,
) {
    macro_rules! by_height {
        ($($height:literal)*) => {
            match rows {
                $($height if $height <= V::TILE_ROWS => {
                    // SAFETY: as this function's.
                    unsafe { tile::<V, F, $height, COLUMNS>(left, row, panel, column, depth, finish) }
                })*
                _ => unreachable!("a strip has as many rows as a tile at most"),
            }
        };
    }
    by_height!(1 2 3 4 5 6 7 8 9 10 11 12 13 14)
}

/// # Safety
///
/// As [`times_panel`]; the left factor has `ROWS` rows from `row` on.
#[inline(always)]
unsafe fn tile<V: Lanes, F: Finish<V>, const ROWS: usize, const COLUMNS: usize>(
    left: Left,
    row: usize,
    panel: *const f32,
    column: usize,
    depth: usize,
    finish: &F,
) {
    // SAFETY: all that is read lies in rows `row..row + ROWS` of the left factor and in the panel.
    unsafe {
        let begin: [V; COLUMNS] = std::array::from_fn(|c| finish.begin(column + c * LANES));
        let mut sums = [begin; ROWS];
        let first = left.at.add(row * left.stride);
        for k in 0..depth {
            let right: [V; COLUMNS] =
                std::array::from_fn(|c| V::load(panel.add(k * PANEL + column + c * LANES)));
            for (r, sums) in sums.iter_mut().enumerate() {
                let factor = V::splat(*first.add(r * left.stride + k));
                for (sum, right) in sums.iter_mut().zip(right) {
                    *sum = factor.mul_add(right, *sum);
                }
            }
        }
        for (r, sums) in sums.into_iter().enumerate() {
            for (c, sum) in sums.into_iter().enumerate() {
                finish.put(sum, row + r, column + c * LANES);
            }
        }
    }
}
