//! One register of AVX-512.

use std::arch::x86_64::*;

use super::Lanes;
use super::avx2::{largest8, sum8};

#[derive(Clone, Copy)]
pub(in crate::network) struct Wide(__m512);

// SAFETY of all below: the trait's callers have seen that the processor has AVX-512F, and give pointers to sixteen numbers.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lanes for Wide {
    // 28 of the 32 registers hold sums, two a row of the panel; the other factor is broadcast from memory by the instruction itself.
    const TILE_ROWS: usize = 14;
    const TILE_LANES: usize = 2;

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe { Wide(_mm512_loadu_ps(from)) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { _mm512_storeu_ps(to, self.0) }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        unsafe { Wide(_mm512_set1_ps(value)) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { Wide(_mm512_add_ps(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        unsafe { Wide(_mm512_sub_ps(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        unsafe { Wide(_mm512_mul_ps(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        unsafe { Wide(_mm512_div_ps(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        unsafe { Wide(_mm512_max_ps(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn mul_add(self, by: Self, plus: Self) -> Self {
        unsafe { Wide(_mm512_fmadd_ps(self.0, by.0, plus.0)) }
    }
    #[inline(always)]
    unsafe fn round(self) -> Self {
        unsafe { Wide(_mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0)) }
    }
    #[inline(always)]
    unsafe fn scaled(self, power: Self) -> Self {
        unsafe { Wide(_mm512_scalef_ps(self.0, power.0)) }
    }
    #[inline(always)]
    unsafe fn abs(self) -> Self {
        unsafe { Wide(_mm512_abs_ps(self.0)) }
    }
    #[inline(always)]
    unsafe fn with_sign_of(self, other: Self) -> Self {
        unsafe {
            let sign = _mm512_set1_epi32(i32::MIN);
            let (magnitude, other) = (_mm512_castps_si512(self.0), _mm512_castps_si512(other.0));
            let kept = _mm512_or_epi32(_mm512_andnot_epi32(sign, magnitude), _mm512_and_epi32(sign, other));
            Wide(_mm512_castsi512_ps(kept))
        }
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        unsafe { sum8(_mm256_add_ps(self.first(), self.last())) }
    }
    #[inline(always)]
    unsafe fn largest(self) -> f32 {
        unsafe { largest8(_mm256_max_ps(self.first(), self.last())) }
    }
}

#[allow(clippy::undocumented_unsafe_blocks)]
impl Wide {
    #[inline(always)]
    unsafe fn first(self) -> __m256 {
        unsafe { _mm512_castps512_ps256(self.0) }
    }
    #[inline(always)]
    unsafe fn last(self) -> __m256 {
        unsafe { _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(self.0))) }
    }
}
