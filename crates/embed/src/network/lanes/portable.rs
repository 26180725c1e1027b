//! Sixteen plain numbers, for the compiler to make of them what the target has.

use super::{LANES, Lanes};

#[derive(Clone, Copy)]
pub(in crate::network) struct Plain([f32; LANES]);

impl Plain {
    #[inline(always)]
    fn each(self, other: Plain, with: impl Fn(f32, f32) -> f32) -> Plain {
        Plain(std::array::from_fn(|i| with(self.0[i], other.0[i])))
    }

    #[inline(always)]
    fn folded(self, with: impl Fn(f32, f32) -> f32) -> f32 {
        let mut all = self.0;
        for half in [8, 4, 2, 1] {
            for i in 0..half {
                all[i] = with(all[i], all[i + half]);
            }
        }
        all[0]
    }
}

// SAFETY of the two that take a pointer: the trait's callers give one to sixteen numbers. The others are safe.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lanes for Plain {
    // What fits the sixteen registers of four numbers that every x86-64 has, and the 32 of aarch64.
    const TILE_ROWS: usize = 3;
    const TILE_LANES: usize = 1;

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe { Plain(from.cast::<[f32; LANES]>().read_unaligned()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { to.cast::<[f32; LANES]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Plain([value; LANES])
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.each(other, |a, b| a + b)
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        self.each(other, |a, b| a - b)
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        self.each(other, |a, b| a * b)
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        self.each(other, |a, b| a / b)
    }
    // Written out: `f32::max` asks about values that are no numbers, which the vector instructions do not.
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        self.each(other, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    unsafe fn mul_add(self, by: Self, plus: Self) -> Self {
        Plain(std::array::from_fn(|i| mul_add(self.0[i], by.0[i], plus.0[i])))
    }
    #[inline(always)]
    unsafe fn round(self) -> Self {
        // Adding and taking away a number so large that it has no fraction rounds to even, without a call that old processors need.
        const LARGE: f32 = 1.5 * (1 << 23) as f32;
        Plain(self.0.map(|a| (a + LARGE) - LARGE))
    }
    #[inline(always)]
    unsafe fn scaled(self, power: Self) -> Self {
        self.each(power, |a, n| a * f32::from_bits(((n as i32 + 127) << 23) as u32))
    }
    #[inline(always)]
    unsafe fn abs(self) -> Self {
        Plain(self.0.map(f32::abs))
    }
    #[inline(always)]
    unsafe fn with_sign_of(self, other: Self) -> Self {
        self.each(other, f32::copysign)
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        self.folded(|a, b| a + b)
    }
    #[inline(always)]
    unsafe fn largest(self) -> f32 {
        self.folded(|a, b| if a > b { a } else { b })
    }
}

/// Fused only where the target always can: elsewhere it would be a call for every number.
#[inline(always)]
fn mul_add(a: f32, by: f32, plus: f32) -> f32 {
    if cfg!(any(target_arch = "aarch64", target_feature = "fma")) {
        a.mul_add(by, plus)
    } else {
        a * by + plus
    }
}
