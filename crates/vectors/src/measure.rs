//! Products of vectors and of codes, with the widest instructions the processor has.
//!
//! One of the two modules with `unsafe` in them: instructions that not every processor has may be used only where they are, which
//! [`Means::best`] looks up once. Every means gives the same bits. Codes are whole numbers, so there is nothing to round; products of
//! vectors are summed in one order, in 64 sums side by side that are then folded in halves, and without the instruction that multiplies
//! and adds with one rounding. So an answer made on one machine is the answer on every other.

use crate::code::{OFFSET, Probe};
use crate::vector::WIDTH;

/// Sums side by side: four registers of the widest kind, enough that adding need not wait for the sum before.
const LANES: usize = 64;

/// Codes asked for ahead of the one that is looked at. Measured: from three on the memory is kept busy, and beyond six nothing is won.
const AHEAD: usize = 4;

/// What a processor can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// With the instructions for products of bytes.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Means {
    pub(crate) fn best() -> Means {
        Means::all().last().copied().unwrap_or(Means::Portable)
    }

    /// What this processor has, the best last.
    pub(crate) fn all() -> Vec<Means> {
        let mut all = vec![Means::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                all.push(Means::Avx2);
            }
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vnni")
            {
                all.push(Means::Avx512);
            }
        }
        all
    }

    pub(crate) fn dot(self, a: &[f32; WIDTH], b: &[f32; WIDTH]) -> f32 {
        match self {
            Means::Portable => portable::dot(a, b),
            // SAFETY: made by `all` alone, where the processor has what the function needs.
            #[cfg(target_arch = "x86_64")]
            Means::Avx2 => unsafe { avx2::dot(a, b) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Means::Avx512 => unsafe { avx512::dot(a, b) },
        }
    }

    /// The scores of these rows, which may lie anywhere; in their order.
    pub(crate) fn scores_of(
        self,
        probe: &Probe,
        codes: &[u8],
        scales: &[f32],
        rows: &[u32],
        out: &mut [f32],
    ) {
        match self {
            Means::Portable => scores_of(probe, codes, scales, rows, out, portable::product),
            // SAFETY: made by `all` alone, where the processor has what the function needs.
            #[cfg(target_arch = "x86_64")]
            Means::Avx2 => unsafe { avx2::of(probe, codes, scales, rows, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Means::Avx512 => unsafe { avx512::of(probe, codes, scales, rows, out) },
        }
    }

    /// The scores of codes that lie one after another, as many as there are scales.
    pub(crate) fn scores_run(self, probe: &Probe, codes: &[u8], scales: &[f32], out: &mut [f32]) {
        match self {
            Means::Portable => scores_run(probe, codes, scales, out, portable::product),
            // SAFETY: made by `all` alone, where the processor has what the function needs.
            #[cfg(target_arch = "x86_64")]
            Means::Avx2 => unsafe { avx2::run(probe, codes, scales, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Means::Avx512 => unsafe { avx512::run(probe, codes, scales, out) },
        }
    }
}

/// Asks for memory that will be read soon; a hint, and harmless wherever it points.
#[inline(always)]
pub(crate) fn prefetch<T>(of: &[T], place: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = of.get(place) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of every x86-64, and a prefetch reads nothing that the program sees.
        unsafe { _mm_prefetch(std::ptr::from_ref(item).cast::<i8>(), _MM_HINT_T0) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (of, place);
}

fn prefetch_row(codes: &[u8], scales: &[f32], row: u32) {
    let begin = row as usize * WIDTH;
    (0..WIDTH / 64).for_each(|line| prefetch(codes, begin + 64 * line));
    prefetch(scales, row as usize);
}

/// Inlined into the functions that may use more instructions than every processor has, and made of those there.
#[inline(always)]
fn scores_of(
    probe: &Probe,
    codes: &[u8],
    scales: &[f32],
    rows: &[u32],
    out: &mut [f32],
    product: impl Fn(&[i8; WIDTH], &[u8; WIDTH]) -> i32,
) {
    let all = codes.as_chunks::<WIDTH>().0;
    rows.iter().take(AHEAD).for_each(|row| prefetch_row(codes, scales, *row));
    for (place, (row, score)) in rows.iter().zip(out).enumerate() {
        if let Some(ahead) = rows.get(place + AHEAD) {
            prefetch_row(codes, scales, *ahead);
        }
        let row = *row as usize;
        *score = scaled(probe, product(&probe.signed, &all[row]), scales[row]);
    }
}

#[inline(always)]
fn scores_run(
    probe: &Probe,
    codes: &[u8],
    scales: &[f32],
    out: &mut [f32],
    product: impl Fn(&[i8; WIDTH], &[u8; WIDTH]) -> i32,
) {
    for ((code, scale), score) in codes.as_chunks::<WIDTH>().0.iter().zip(scales).zip(out) {
        *score = scaled(probe, product(&probe.signed, code), *scale);
    }
}

#[inline(always)]
fn scaled(probe: &Probe, product: i32, scale: f32) -> f32 {
    (product - probe.offset) as f32 * (probe.scale * scale)
}

/// Sixteen sums folded in halves: the end of every means' sum.
fn fold(mut sums: [f32; 16]) -> f32 {
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
    }
    sums[0]
}

mod portable {
    use super::{LANES, WIDTH, fold};

    pub(super) fn dot(a: &[f32; WIDTH], b: &[f32; WIDTH]) -> f32 {
        let mut sums = [0.0_f32; LANES];
        for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
            for lane in 0..LANES {
                sums[lane] += a[lane] * b[lane];
            }
        }
        let mut sixteen = [0.0; 16];
        for lane in 0..16 {
            sixteen[lane] = (sums[lane] + sums[lane + 32]) + (sums[lane + 16] + sums[lane + 48]);
        }
        fold(sixteen)
    }

    pub(super) fn product(probe: &[i8; WIDTH], code: &[u8; WIDTH]) -> i32 {
        probe.iter().zip(code).map(|(p, c)| i32::from(*p) * i32::from(*c)).sum()
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{OFFSET, Probe, WIDTH, fold, scores_of, scores_run};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx2")]
    pub(super) fn dot(a: &[f32; WIDTH], b: &[f32; WIDTH]) -> f32 {
        let mut sums = [_mm256_setzero_ps(); 8];
        for (a, b) in a.as_chunks::<64>().0.iter().zip(b.as_chunks::<64>().0) {
            for (lane, sum) in sums.iter_mut().enumerate() {
                // SAFETY: eight numbers from 8 · lane on are within the 64 of the chunk; the load needs no alignment.
                let (a, b) = unsafe {
                    (_mm256_loadu_ps(a.as_ptr().add(8 * lane)), _mm256_loadu_ps(b.as_ptr().add(8 * lane)))
                };
                *sum = _mm256_add_ps(*sum, _mm256_mul_ps(a, b));
            }
        }
        let mut sixteen = [0.0; 16];
        for half in 0..2 {
            let sum = _mm256_add_ps(
                _mm256_add_ps(sums[half], sums[half + 4]),
                _mm256_add_ps(sums[half + 2], sums[half + 6]),
            );
            // SAFETY: eight numbers from 8 · half on are within the sixteen.
            unsafe { _mm256_storeu_ps(sixteen.as_mut_ptr().add(8 * half), sum) };
        }
        fold(sixteen)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn of(probe: &Probe, codes: &[u8], scales: &[f32], rows: &[u32], out: &mut [f32]) {
        scores_of(probe, codes, scales, rows, out, |p, c| product(p, c) + probe.offset);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn run(probe: &Probe, codes: &[u8], scales: &[f32], out: &mut [f32]) {
        scores_run(probe, codes, scales, out, |p, c| product(p, c) + probe.offset);
    }

    /// With the offset already taken off. Two products of at most 127 · 128 fit into 16 bits, so nothing saturates: the first factor
    /// loses its sign to the second.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn product(probe: &[i8; WIDTH], code: &[u8; WIDTH]) -> i32 {
        let (offset, ones) = (_mm256_set1_epi8(OFFSET as i8), _mm256_set1_epi16(1));
        let mut sum = _mm256_setzero_si256();
        for place in (0..WIDTH).step_by(32) {
            // SAFETY: 32 bytes from `place` on are within the row; the load needs no alignment.
            let (p, c) = unsafe {
                (
                    _mm256_loadu_si256(probe.as_ptr().add(place).cast()),
                    _mm256_loadu_si256(code.as_ptr().add(place).cast()),
                )
            };
            let c = _mm256_xor_si256(c, offset);
            let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(p), _mm256_sign_epi8(c, p));
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
        }
        let four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
        let two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0b00_00_11_10));
        _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0b00_00_00_01)))
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::{Probe, WIDTH, fold, scores_of, scores_run};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f")]
    pub(super) fn dot(a: &[f32; WIDTH], b: &[f32; WIDTH]) -> f32 {
        let mut sums = [_mm512_setzero_ps(); 4];
        for (a, b) in a.as_chunks::<64>().0.iter().zip(b.as_chunks::<64>().0) {
            for (lane, sum) in sums.iter_mut().enumerate() {
                // SAFETY: sixteen numbers from 16 · lane on are within the 64 of the chunk; the load needs no alignment.
                let (a, b) = unsafe {
                    (_mm512_loadu_ps(a.as_ptr().add(16 * lane)), _mm512_loadu_ps(b.as_ptr().add(16 * lane)))
                };
                *sum = _mm512_add_ps(*sum, _mm512_mul_ps(a, b));
            }
        }
        let sum = _mm512_add_ps(_mm512_add_ps(sums[0], sums[2]), _mm512_add_ps(sums[1], sums[3]));
        let mut sixteen = [0.0; 16];
        // SAFETY: the array holds the sixteen numbers of a register.
        unsafe { _mm512_storeu_ps(sixteen.as_mut_ptr(), sum) };
        fold(sixteen)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn of(probe: &Probe, codes: &[u8], scales: &[f32], rows: &[u32], out: &mut [f32]) {
        scores_of(probe, codes, scales, rows, out, |p, c| product(p, c));
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub(super) fn run(probe: &Probe, codes: &[u8], scales: &[f32], out: &mut [f32]) {
        scores_run(probe, codes, scales, out, |p, c| product(p, c));
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    fn product(probe: &[i8; WIDTH], code: &[u8; WIDTH]) -> i32 {
        let mut sums = [_mm512_setzero_si512(); 2];
        for place in (0..WIDTH).step_by(64) {
            // SAFETY: 64 bytes from `place` on are within the row; the load needs no alignment.
            let (p, c) = unsafe {
                (
                    _mm512_loadu_si512(probe.as_ptr().add(place).cast()),
                    _mm512_loadu_si512(code.as_ptr().add(place).cast()),
                )
            };
            let sum = &mut sums[place / 64 % 2];
            *sum = _mm512_dpbusd_epi32(*sum, c, p);
        }
        _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Code;
    use crate::vector::Vector;
    use proptest::prelude::*;

    /// Numbers of all sizes and both signs, with zeros among them, that follow from a seed: drawing each would take longer than the test.
    fn vector(seed: u64) -> Vector {
        let mut bits = seed;
        let numbers: Vec<f32> = (0..WIDTH)
            .map(|_| {
                bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let number = (bits >> 40) as f32 / (1 << 23) as f32 - 1.0;
                if bits >> 30 & 7 == 0 { 0.0 } else { number * number * number }
            })
            .collect();
        Vector::new(&numbers).unwrap()
    }

    proptest! {
        // shows: DOC-F01
        #[test]
        fn every_means_gives_the_same_bits(seeds in prop::collection::vec(any::<u64>(), 9)) {
            let vectors: Vec<Vector> = seeds.into_iter().map(vector).collect();
            let codes: Vec<Code> = vectors.iter().map(Code::of).collect();
            let bytes: Vec<u8> = codes.iter().flat_map(|c| c.bytes).collect();
            let scales: Vec<f32> = codes.iter().map(|c| c.scale).collect();
            let rows = [8, 0, 3, 3, 7, 1, 2];
            let probe = Probe::of(&codes[4]);
            let of = |means: Means| {
                let (mut run, mut some) = ([0.0; 9], [0.0; 7]);
                means.scores_run(&probe, &bytes, &scales, &mut run);
                means.scores_of(&probe, &bytes, &scales, &rows, &mut some);
                let dots: Vec<u32> =
                    vectors.iter().map(|v| means.dot(v.numbers(), vectors[0].numbers()).to_bits()).collect();
                (run.map(f32::to_bits), some.map(f32::to_bits), dots)
            };
            for means in Means::all() {
                prop_assert_eq!(of(means), of(Means::Portable), "{:?}", means);
            }
            let (run, some, _) = of(Means::best());
            prop_assert_eq!(some.to_vec(), rows.map(|row| run[row as usize]).to_vec());
        }
    }

    #[test]
    fn the_greatest_codes_do_not_overflow() {
        for number in [1.0, -1.0] {
            let ends = Code::of(&Vector::new(&[number; WIDTH]).unwrap());
            for means in Means::all() {
                let mut score = [0.0];
                means.scores_run(&Probe::of(&ends), &ends.bytes, &[ends.scale], &mut score);
                assert!((score[0] - 1.0).abs() < 1e-4, "{means:?} {score:?}");
            }
        }
    }
}
