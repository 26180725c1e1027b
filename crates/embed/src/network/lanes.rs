//! Sixteen numbers at once, in whatever registers the processor has.
//!
//! Everything above this file is written once, over [`Lanes`]. All implementations do the same operations in the same order, with
//! sums over the lanes in one fixed tree; those with fused multiplication ([`avx512`], [`avx2`], and [`portable`] on processors
//! that always have it) therefore give the same bits.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
pub(super) mod portable;

/// How many numbers a [`Lanes`] has.
pub(super) const LANES: usize = 16;

/// Sixteen numbers.
///
/// # Safety
///
/// Every method may use instructions of its implementation's kind: the caller has seen that the processor has them. Pointers must be
/// good for sixteen numbers; they need no alignment.
pub(super) trait Lanes: Copy {
    /// How many rows, and how many `Lanes` of columns, a tile of a product has: as many as the registers hold.
    const TILE_ROWS: usize;
    const TILE_LANES: usize;

    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn splat(value: f32) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    unsafe fn max(self, other: Self) -> Self;
    /// `self * by + plus`, rounded once where the processor can.
    unsafe fn mul_add(self, by: Self, plus: Self) -> Self;
    /// To the nearest whole number, halves to the even one.
    unsafe fn round(self) -> Self;
    /// `self * 2^power` for whole powers that leave it a normal number.
    unsafe fn scaled(self, power: Self) -> Self;
    unsafe fn abs(self) -> Self;
    /// The magnitude of one with the sign of another.
    unsafe fn with_sign_of(self, other: Self) -> Self;
    /// The first eight and the last eight are added, of those the first four and the last four, and so on.
    unsafe fn sum(self) -> f32;
    unsafe fn largest(self) -> f32;
}
