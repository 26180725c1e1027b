//! What is done to all rows of a batch: products with the learned matrices, and what goes with them.

use std::ops::Range;

use super::lanes::Lanes;
use super::rows;
use super::team::Member;
use super::tile::{Finish, Left, PANEL, times_panel};
use crate::pinned::WIDTH;
use crate::weights::{Linear, Norm};

/// Rows of numbers in a buffer.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub(super) at: *mut f32,
    pub(super) stride: usize,
    pub(super) count: usize,
}

impl Rows {
    /// # Safety
    ///
    /// There is such a row.
    #[inline(always)]
    pub(super) unsafe fn row(self, row: usize) -> *mut f32 {
        // SAFETY: the caller's.
        unsafe { self.at.add(row * self.stride) }
    }

    fn left(self) -> Left {
        Left { at: self.at, stride: self.stride, rows: self.count }
    }
}

/// `to = from * linear`.
///
/// # Safety
///
/// As [`Lanes`]; the buffers have the matrix's rows and columns, and during this step `from` is not written and `to` not used.
#[inline(always)]
pub(super) unsafe fn set<V: Lanes>(from: Rows, linear: &Linear, to: Rows, member: &Member<'_>) {
    // SAFETY: the caller's.
    unsafe { times::<V, _>(from, linear, member, |bias, first| Set { bias, to, first }) }
}

/// `to = gelu(from * linear)`.
///
/// # Safety
///
/// As [`set`].
#[inline(always)]
pub(super) unsafe fn set_bent<V: Lanes>(from: Rows, linear: &Linear, to: Rows, member: &Member<'_>) {
    // SAFETY: the caller's.
    unsafe { times::<V, _>(from, linear, member, |bias, first| SetBent { bias, to, first }) }
}

/// `to += from * linear`.
///
/// # Safety
///
/// As [`set`].
#[inline(always)]
pub(super) unsafe fn add<V: Lanes>(from: Rows, linear: &Linear, to: Rows, member: &Member<'_>) {
    // SAFETY: the caller's.
    unsafe { times::<V, _>(from, linear, member, |bias, first| Add { bias, to, first }) }
}

/// Normalises some rows where they lie.
///
/// # Safety
///
/// As [`Lanes`]; the buffer has these rows of `WIDTH`, and during this step nobody else uses them.
#[inline(always)]
pub(super) unsafe fn normalise<V: Lanes>(it: Rows, share: Range<usize>, norm: &Norm) {
    for row in share {
        // SAFETY: the caller's.
        unsafe { rows::normalise::<V, WIDTH>(it.row(row), norm.gain.as_ptr(), norm.shift.as_ptr()) }
    }
}

/// A member does its share of the panels, that is of the columns.
///
/// # Safety
///
/// As [`set`].
#[inline(always)]
unsafe fn times<V: Lanes, F: Finish<V>>(
    from: Rows,
    linear: &Linear,
    member: &Member<'_>,
    finish: impl Fn(*const f32, usize) -> F,
) {
    for index in member.share(linear.panels()) {
        let (panel, bias) = linear.panel(index);
        // SAFETY: the panel has as many rows as the matrix has inputs, and so many numbers has every row of `from`.
        unsafe { times_panel(from.left(), panel, linear.inputs(), &finish(bias, index * PANEL)) }
    }
}

struct Set {
    bias: *const f32,
    to: Rows,
    /// The panel's first column in `to`.
    first: usize,
}

impl<V: Lanes> Finish<V> for Set {
    #[inline(always)]
    unsafe fn begin(&self, column: usize) -> V {
        // SAFETY: the caller's; a panel's bias has as many numbers as it has columns.
        unsafe { V::load(self.bias.add(column)) }
    }
    #[inline(always)]
    unsafe fn put(&self, sums: V, row: usize, column: usize) {
        // SAFETY: the caller's.
        unsafe { sums.store(self.to.row(row).add(self.first + column)) }
    }
}

struct SetBent {
    bias: *const f32,
    to: Rows,
    first: usize,
}

impl<V: Lanes> Finish<V> for SetBent {
    #[inline(always)]
    unsafe fn begin(&self, column: usize) -> V {
        // SAFETY: as for `Set`.
        unsafe { V::load(self.bias.add(column)) }
    }
    #[inline(always)]
    unsafe fn put(&self, sums: V, row: usize, column: usize) {
        // SAFETY: the caller's.
        unsafe { rows::gelu(sums).store(self.to.row(row).add(self.first + column)) }
    }
}

struct Add {
    bias: *const f32,
    to: Rows,
    first: usize,
}

impl<V: Lanes> Finish<V> for Add {
    #[inline(always)]
    unsafe fn begin(&self, column: usize) -> V {
        // SAFETY: as for `Set`.
        unsafe { V::load(self.bias.add(column)) }
    }
    #[inline(always)]
    unsafe fn put(&self, sums: V, row: usize, column: usize) {
        // SAFETY: the caller's.
        unsafe {
            let place = self.to.row(row).add(self.first + column);
            V::load(place).add(sums).store(place);
        }
    }
}
