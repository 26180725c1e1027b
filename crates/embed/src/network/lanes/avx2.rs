//! Two registers of AVX2, with fused multiplication.

use std::arch::x86_64::*;

use super::Lanes;

#[derive(Clone, Copy)]
pub(in crate::network) struct Pair(__m256, __m256);

// SAFETY of all below: the trait's callers have seen that the processor has AVX2 and FMA, and give pointers to sixteen numbers.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lanes for Pair {
    // Twelve of the sixteen registers hold sums, two a row of the panel, one the other factor.
    const TILE_ROWS: usize = 6;
    const TILE_LANES: usize = 1;

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe { Pair(_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe {
            _mm256_storeu_ps(to, self.0);
            _mm256_storeu_ps(to.add(8), self.1);
        }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        unsafe { Pair(_mm256_set1_ps(value), _mm256_set1_ps(value)) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { Pair(_mm256_add_ps(self.0, other.0), _mm256_add_ps(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        unsafe { Pair(_mm256_sub_ps(self.0, other.0), _mm256_sub_ps(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        unsafe { Pair(_mm256_mul_ps(self.0, other.0), _mm256_mul_ps(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        unsafe { Pair(_mm256_div_ps(self.0, other.0), _mm256_div_ps(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        unsafe { Pair(_mm256_max_ps(self.0, other.0), _mm256_max_ps(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn mul_add(self, by: Self, plus: Self) -> Self {
        unsafe { Pair(_mm256_fmadd_ps(self.0, by.0, plus.0), _mm256_fmadd_ps(self.1, by.1, plus.1)) }
    }
    #[inline(always)]
    unsafe fn round(self) -> Self {
        const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        unsafe { Pair(_mm256_round_ps::<NEAREST>(self.0), _mm256_round_ps::<NEAREST>(self.1)) }
    }
    #[inline(always)]
    unsafe fn scaled(self, power: Self) -> Self {
        unsafe { self.mul(Pair(power_of_two(power.0), power_of_two(power.1))) }
    }
    #[inline(always)]
    unsafe fn abs(self) -> Self {
        unsafe {
            let sign = _mm256_set1_ps(-0.0);
            Pair(_mm256_andnot_ps(sign, self.0), _mm256_andnot_ps(sign, self.1))
        }
    }
    #[inline(always)]
    unsafe fn with_sign_of(self, other: Self) -> Self {
        unsafe { Pair(signed(self.0, other.0), signed(self.1, other.1)) }
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        unsafe { sum8(_mm256_add_ps(self.0, self.1)) }
    }
    #[inline(always)]
    unsafe fn largest(self) -> f32 {
        unsafe { largest8(_mm256_max_ps(self.0, self.1)) }
    }
}

#[inline(always)]
#[allow(clippy::undocumented_unsafe_blocks)]
unsafe fn power_of_two(power: __m256) -> __m256 {
    unsafe {
        let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(power), _mm256_set1_epi32(127));
        _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent))
    }
}

#[inline(always)]
#[allow(clippy::undocumented_unsafe_blocks)]
unsafe fn signed(magnitude: __m256, other: __m256) -> __m256 {
    unsafe {
        let sign = _mm256_set1_ps(-0.0);
        _mm256_or_ps(_mm256_andnot_ps(sign, magnitude), _mm256_and_ps(sign, other))
    }
}

/// # Safety
///
/// The processor has AVX.
#[inline(always)]
#[allow(clippy::undocumented_unsafe_blocks)]
pub(super) unsafe fn sum8(v: __m256) -> f32 {
    unsafe {
        let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }
}

/// # Safety
///
/// The processor has AVX.
#[inline(always)]
#[allow(clippy::undocumented_unsafe_blocks)]
pub(super) unsafe fn largest8(v: __m256) -> f32 {
    unsafe {
        let four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
        let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }
}
