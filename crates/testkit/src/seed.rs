//! Randomness a failing test can print and a person can repeat.
//!
//! A [`Seed`] is one number. `HOLDFAST_SEED` (decimal, or hex after `0x`) replaces a test's default, and
//! [`with_seeds`] runs that very seed first, so the line a failure prints is all one needs to repeat it.
//! `HOLDFAST_SOAK=1`, which `make soak` sets, makes [`rounds`] answer with the long number.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

const SEED_ENV: &str = "HOLDFAST_SEED";
const SOAK_ENV: &str = "HOLDFAST_SOAK";

/// Any number does as the default, as long as it stays the same from run to run.
const BASE_DEFAULT: u64 = 0x686f_6c64_6661_7374;

/// Where a stream of random values begins. Equal seeds give equal streams, on every machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seed(u64);

impl Seed {
    pub const fn new(number: u64) -> Seed {
        Seed(number)
    }

    /// The seed in `HOLDFAST_SEED`, else `default`. Panics on a value that is not a number: a mistyped
    /// seed that quietly ran the default would "prove" a bug gone.
    #[track_caller]
    pub fn from_env_or(default: u64) -> Seed {
        std::env::var(SEED_ENV)
            .map_or(Seed(default), |text| text.parse().unwrap_or_else(|e| panic!("{SEED_ENV}={text}: {e}")))
    }

    pub fn rng(self) -> Rng {
        Rng::new(self.0)
    }

    /// Another seed that depends on this one and on the name, so that one part of a test can draw more
    /// values without disturbing the others.
    #[must_use]
    pub fn child(self, name: &str) -> Seed {
        // FNV-1a: spreads short names well enough for the mixing below to finish the job.
        let hash = |h: u64, byte: u8| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let mut mixed = name.bytes().fold(0xcbf2_9ce4_8422_2325 ^ self.0, hash);
        Seed(split_mix(&mut mixed))
    }
}

/// Runs `test` with `count` seeds: the base itself (`HOLDFAST_SEED` or a fixed one), then seeds derived from
/// it. When one panics, says on stderr how to repeat exactly that one.
pub fn with_seeds(count: u32, mut test: impl FnMut(Seed)) {
    let base = Seed::from_env_or(BASE_DEFAULT);
    for round in 0..count {
        let seed = if round == 0 { base } else { base.child(&format!("round {round}")) };
        let _say = SayOnPanic(seed);
        test(seed);
    }
}

/// How many rounds a randomised test runs: few in `make test`, many in `make soak`.
pub fn rounds(make_test: u32, soak: u32) -> u32 {
    let soaking = std::env::var_os(SOAK_ENV).is_some_and(|value| value == "1");
    if soaking { soak } else { make_test }
}

/// A small fast generator (xoshiro256**). Not for keys.
#[derive(Clone, Debug)]
pub struct Rng([u64; 4]);

impl Rng {
    fn new(mut seed: u64) -> Rng {
        // The authors' advice: fill the state from SplitMix64, which never yields the all-zero state.
        Rng(std::array::from_fn(|_| split_mix(&mut seed)))
    }

    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.0;
        let value = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        value
    }

    /// A number from 0 up to but not including `n`.
    #[track_caller]
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "there is no number below 0");
        // The high half of a 128-bit product; its bias of n/2^64 is far below what any test can see.
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// A number in the half-open range.
    #[track_caller]
    pub fn range(&mut self, range: Range<u64>) -> u64 {
        assert!(range.start < range.end, "the range {range:?} is empty");
        range.start + self.below(range.end - range.start)
    }

    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(n + 7);
        while bytes.len() < n {
            bytes.extend_from_slice(&self.next_u64().to_le_bytes());
        }
        bytes.truncate(n);
        bytes
    }

    #[track_caller]
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        assert!(!from.is_empty(), "nothing to pick from");
        &from[self.below(from.len() as u64) as usize]
    }

    /// True with probability `p`; never at 0.0, always at 1.0.
    pub fn chance(&mut self, p: f64) -> bool {
        // 53 bits are what a double holds exactly.
        ((self.next_u64() >> 11) as f64) < p * (1u64 << 53) as f64
    }
}

/// Lives while a seed is in use; dropped by a panic, it tells how to get the panic again.
#[derive(Debug)]
pub(crate) struct SayOnPanic(pub(crate) Seed);

impl Drop for SayOnPanic {
    #[expect(clippy::print_stderr, reason = "the person reading the failed test is the audience")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{SEED_ENV}={} reproduces this", self.0);
        }
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seed({self})")
    }
}

impl FromStr for Seed {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Seed, Self::Err> {
        let number = match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => text.parse(),
        };
        number.map(Seed)
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn split_mix_gives_the_published_values() {
        let mut state = 1234567;
        let got: Vec<u64> = (0..3).map(|_| split_mix(&mut state)).collect();
        assert_eq!(got, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }

    #[test]
    fn xoshiro_gives_the_published_values() {
        let mut rng = Rng([1, 2, 3, 4]);
        let got: Vec<u64> = (0..4).map(|_| rng.next_u64()).collect();
        assert_eq!(got, [11520, 0, 1509978240, 1215971899390074240]);
    }

    #[test]
    fn equal_seeds_give_equal_streams_and_names_part_them() {
        let seed = Seed::new(7);
        assert_eq!(seed.rng().bytes(100), seed.rng().bytes(100));
        assert_eq!(seed.child("disk"), seed.child("disk"));
        let all: BTreeSet<u64> =
            [seed, seed.child("disk"), seed.child("net"), Seed::new(8).child("disk"), seed.child("")]
                .iter()
                .map(|s| s.rng().next_u64())
                .collect();
        assert_eq!(all.len(), 5);
    }

    #[test]
    fn draws_stay_inside_and_reach_both_ends() {
        let mut rng = Seed::new(1).rng();
        let drawn: BTreeSet<u64> = (0..500).map(|_| rng.range(10..15)).collect();
        assert_eq!(drawn, (10..15).collect());
        let picked: BTreeSet<char> = (0..100).map(|_| *rng.pick(&['a', 'b', 'c'])).collect();
        assert_eq!(picked.len(), 3);
        assert_eq!(rng.below(1), 0);
        assert_eq!([0, 1, 8, 9].map(|n| rng.bytes(n).len()), [0, 1, 8, 9]);
    }

    #[test]
    fn chance_keeps_its_promise_at_the_ends_and_in_the_middle() {
        let mut rng = Seed::new(2).rng();
        assert!((0..1000).all(|_| !rng.chance(0.0)));
        assert!((0..1000).all(|_| rng.chance(1.0)));
        let hits = (0..10_000).filter(|_| rng.chance(0.25)).count();
        assert!((2300..2700).contains(&hits), "{hits}");
    }

    #[test]
    fn the_printed_form_is_the_one_that_is_read() {
        for number in [0, 1, 0xabc, u64::MAX] {
            assert_eq!(Seed::new(number).to_string().parse(), Ok(Seed::new(number)));
            assert_eq!(number.to_string().parse(), Ok(Seed::new(number)));
        }
        for bad in ["", "0x", "seven", "-1", "0x1_0"] {
            assert!(bad.parse::<Seed>().is_err(), "{bad}");
        }
    }
}
