//! Every token of a sequence hears the others, as much as their keys answer its question. Twelve heads do so, each with its own
//! columns; none knows of the other sequences of the batch.

use super::lanes::Lanes;
use super::linear::Rows;
use super::rows;
use super::team::Member;
use super::tile::{Finish, Left, PANEL, strip, times_panel};
use crate::aligned::Aligned;
use crate::pinned::WIDTH;

const HEADS: usize = 12;
/// Columns of a head. They are a panel, so that values need no other layout than row after row.
const HEAD: usize = WIDTH / HEADS;
const _: () = assert!(HEAD == PANEL);
/// One by the root of a head's columns.
const SCALE: f32 = 0.176_776_7;
/// No tile has more rows than this.
const STRIP: usize = 14;

/// Room for one head of one sequence.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Keys in panels: a column for each token.
    keys: Aligned,
    values: Aligned,
    /// How much some tokens hear of each.
    scores: Aligned,
    longest: usize,
}

impl Scratch {
    pub(super) fn fit(&mut self, longest: usize) {
        let room = longest.next_multiple_of(PANEL);
        self.keys.at_least(HEAD * room);
        self.values.at_least(HEAD * room);
        self.scores.at_least(STRIP * room);
        self.longest = longest;
    }
}

/// A member does its share of the heads of all sequences.
///
/// # Safety
///
/// As [`Lanes`]; `asked` and `heard` have a row for every token of all sequences, and during this step `asked` is not written and
/// `heard` not used.
#[inline(always)]
pub(super) unsafe fn hear<V: Lanes>(
    asked: Rows,
    heard: Rows,
    lengths: &[usize],
    scratch: &mut Scratch,
    member: &Member<'_>,
) {
    let share = member.share(lengths.len() * HEADS);
    let mut first = 0;
    for (index, length) in lengths.iter().enumerate() {
        for head in 0..HEADS {
            if share.contains(&(index * HEADS + head)) {
                // SAFETY: the sequence's rows are `first..first + length`.
                unsafe { one_head::<V>(asked, heard, first, *length, head, scratch) }
            }
        }
        first += length;
    }
}

/// # Safety
///
/// As [`hear`]; the sequence has the rows `first..first + length`.
#[inline(always)]
unsafe fn one_head<V: Lanes>(
    asked: Rows,
    heard: Rows,
    first: usize,
    length: usize,
    head: usize,
    scratch: &mut Scratch,
) {
    assert!(length <= scratch.longest);
    let room = length.next_multiple_of(PANEL);
    let (keys, values) = (scratch.keys.as_mut_ptr(), scratch.values.as_mut_ptr());
    let scores = Rows { at: scratch.scores.as_mut_ptr(), stride: room, count: STRIP };
    // SAFETY: the buffers have room for a sequence of this length; a row of `asked` has a question, a key and a value for each head,
    // one of `heard` has what each head heard.
    unsafe {
        lay_out(asked, first, length, head, keys, values);
        let mut row = 0;
        while row < length {
            let count = strip(length, row, V::TILE_ROWS);
            let questions =
                Left { at: asked.row(first + row).add(head * HEAD), stride: asked.stride, rows: count };
            for panel in 0..room / PANEL {
                let finish = Score { to: scores, first: panel * PANEL };
                times_panel::<V, _>(questions, keys.add(panel * PANEL * HEAD), HEAD, &finish);
            }
            let mut shares = [0.0; STRIP];
            for (r, share) in shares.iter_mut().enumerate().take(count) {
                *share = rows::softmax::<V>(scores.row(r), length, SCALE);
            }
            let weights = Left { at: scores.at, stride: room, rows: count };
            let to = Rows { at: heard.row(first + row).add(head * HEAD), stride: heard.stride, count };
            times_panel::<V, _>(weights, values, length, &Heard { to, shares: &shares });
            row += count;
        }
    }
}

/// Keys into panels with a column for each token, values one after the other.
///
/// # Safety
///
/// As [`one_head`].
#[inline(always)]
unsafe fn lay_out(asked: Rows, first: usize, length: usize, head: usize, keys: *mut f32, values: *mut f32) {
    // SAFETY: the caller's; keys beyond the last token are zeros, up to a whole panel.
    unsafe {
        for token in 0..length {
            let row = asked.row(first + token).add(head * HEAD);
            let (key, value) = (row.add(WIDTH), row.add(2 * WIDTH));
            std::ptr::copy_nonoverlapping(value, values.add(token * HEAD), HEAD);
            let column = keys.add(token / PANEL * PANEL * HEAD + token % PANEL);
            for k in 0..HEAD {
                *column.add(k * PANEL) = *key.add(k);
            }
        }
        for beyond in length..length.next_multiple_of(PANEL) {
            let column = keys.add(beyond / PANEL * PANEL * HEAD + beyond % PANEL);
            for k in 0..HEAD {
                *column.add(k * PANEL) = 0.0;
            }
        }
    }
}

struct Score {
    to: Rows,
    first: usize,
}

impl<V: Lanes> Finish<V> for Score {
    #[inline(always)]
    unsafe fn begin(&self, _: usize) -> V {
        // SAFETY: the caller's.
        unsafe { V::splat(0.0) }
    }
    #[inline(always)]
    unsafe fn put(&self, sums: V, row: usize, column: usize) {
        // SAFETY: the caller's.
        unsafe { sums.store(self.to.row(row).add(self.first + column)) }
    }
}

struct Heard<'a> {
    to: Rows,
    /// What each row's sums are to be multiplied with, to make its scores add up to one.
    shares: &'a [f32; STRIP],
}

impl<V: Lanes> Finish<V> for Heard<'_> {
    #[inline(always)]
    unsafe fn begin(&self, _: usize) -> V {
        // SAFETY: the caller's.
        unsafe { V::splat(0.0) }
    }
    #[inline(always)]
    unsafe fn put(&self, sums: V, row: usize, column: usize) {
        // SAFETY: the caller's.
        unsafe { sums.mul(V::splat(self.shares[row])).store(self.to.row(row).add(column)) }
    }
}
