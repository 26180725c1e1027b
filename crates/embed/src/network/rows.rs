//! What is done to numbers where they lie: the two functions the network needs, and what goes over a row.

use super::lanes::{LANES, Lanes};

/// The model's setting, so small that it only keeps zero from being divided by.
const NORM_EPSILON: f32 = 1e-12;

/// e to a power from -87 to zero; what is below that counts as -87. Off by one part in ten million at most.
///
/// A power of two is taken out, and of what is left, at most half the logarithm of two, a polynomial fitted for the even spread of
/// its relative error.
///
/// # Safety
///
/// As [`Lanes`].
#[inline(always)]
pub(super) unsafe fn exp<V: Lanes>(x: V) -> V {
    // The logarithm of two in two parts: the first has few bits, so that it times a whole number is exact.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    const BEYOND: [f32; 5] = [1.375_115e-3, 8.368_988e-3, 4.166_954_4e-2, 0.166_665_18, 0.499_999_88];
    // SAFETY: the caller's.
    unsafe {
        let x = x.max(V::splat(-87.0));
        let power = x.mul(V::splat(std::f32::consts::LOG2_E)).round();
        let rest = power.mul_add(V::splat(-LN_2_HIGH), x);
        let rest = power.mul_add(V::splat(-LN_2_LOW), rest);
        let mut sum = V::splat(BEYOND[0]);
        for term in &BEYOND[1..] {
            sum = sum.mul_add(rest, V::splat(*term));
        }
        let one_more = sum.mul_add(rest.mul(rest), rest);
        one_more.add(V::splat(1.0)).scaled(power)
    }
}

/// x times the share of a normal distribution that is below x: what the network bends its numbers with.
///
/// The error function is formula 7.1.26 of Abramowitz and Stegun, off by 1.5e-7 at most.
///
/// # Safety
///
/// As [`Lanes`].
#[inline(always)]
pub(super) unsafe fn gelu<V: Lanes>(x: V) -> V {
    const P: f32 = 0.327_591_1;
    const A: [f32; 5] = [1.061_405_4, -1.453_152_1, 1.421_413_8, -0.284_496_74, 0.254_829_6];
    // SAFETY: the caller's.
    unsafe {
        let (one, half) = (V::splat(1.0), V::splat(0.5));
        let z = x.mul(V::splat(std::f32::consts::FRAC_1_SQRT_2)).abs();
        let t = one.div(z.mul_add(V::splat(P), one));
        let mut sum = V::splat(A[0]);
        for a in &A[1..] {
            sum = sum.mul_add(t, V::splat(*a));
        }
        let tail = sum.mul(t).mul(exp(V::splat(0.0).sub(z.mul(z))));
        let erf = one.sub(tail).with_sign_of(x);
        let halved = x.mul(half);
        halved.mul_add(erf, halved)
    }
}

/// Makes of scores what is proportional to e to their power, and gives one by their sum. What lies in the last sixteen beyond the
/// row's end is left tiny and counts as nothing.
///
/// # Safety
///
/// As [`Lanes`]; the row has room for `len` numbers, rounded up to sixteen, and `len` is not zero.
#[inline(always)]
pub(super) unsafe fn softmax<V: Lanes>(row: *mut f32, len: usize, scale: f32) -> f32 {
    // SAFETY: the caller's; all places are below `len` rounded up to sixteen.
    unsafe {
        let whole = len.next_multiple_of(LANES);
        for beyond in len..whole {
            *row.add(beyond) = f32::MIN;
        }
        let mut most = V::splat(f32::MIN);
        for at in (0..whole).step_by(LANES) {
            most = most.max(V::load(row.add(at)));
        }
        let most = V::splat(most.largest());
        let mut sum = V::splat(0.0);
        for at in (0..whole).step_by(LANES) {
            let value = exp(V::load(row.add(at)).sub(most).mul(V::splat(scale)));
            value.store(row.add(at));
            sum = sum.add(value);
        }
        1.0 / sum.sum()
    }
}

/// Takes a row's mean away, divides by its deviation, and applies what was learned about each column.
///
/// # Safety
///
/// As [`Lanes`]; all three have `WIDTH` numbers, a multiple of sixteen.
#[inline(always)]
pub(super) unsafe fn normalise<V: Lanes, const WIDTH: usize>(
    row: *mut f32,
    gain: *const f32,
    shift: *const f32,
) {
    // SAFETY: the caller's; all places are below `WIDTH`.
    unsafe {
        let mut sum = V::splat(0.0);
        for at in (0..WIDTH).step_by(LANES) {
            sum = sum.add(V::load(row.add(at)));
        }
        let mean = V::splat(sum.sum() / WIDTH as f32);
        let mut square = V::splat(0.0);
        for at in (0..WIDTH).step_by(LANES) {
            let off = V::load(row.add(at)).sub(mean);
            square = off.mul_add(off, square);
        }
        let by = V::splat(1.0 / (square.sum() / WIDTH as f32 + NORM_EPSILON).sqrt());
        for at in (0..WIDTH).step_by(LANES) {
            let off = V::load(row.add(at)).sub(mean).mul(by);
            off.mul_add(V::load(gain.add(at)), V::load(shift.add(at))).store(row.add(at));
        }
    }
}

/// The direction of the mean of some rows.
///
/// # Safety
///
/// As [`Lanes`]; there are `rows` rows of `WIDTH` numbers, a multiple of sixteen, one after the other.
#[inline(always)]
pub(super) unsafe fn pooled<V: Lanes, const WIDTH: usize>(at: *const f32, rows: usize) -> [f32; WIDTH] {
    let mut pooled = [0.0; WIDTH];
    // SAFETY: the caller's; all places are below `WIDTH` of one of the rows.
    unsafe {
        let mut square = V::splat(0.0);
        for column in (0..WIDTH).step_by(LANES) {
            let mut sum = V::splat(0.0);
            for row in 0..rows {
                sum = sum.add(V::load(at.add(row * WIDTH + column)));
            }
            square = sum.mul_add(sum, square);
            sum.store(pooled.as_mut_ptr().add(column));
        }
        let by = V::splat(1.0 / square.sum().sqrt());
        for column in (0..WIDTH).step_by(LANES) {
            let place = pooled.as_mut_ptr().add(column);
            V::load(place).mul(by).store(place);
        }
    }
    pooled
}
