//! BM25 in whole numbers: how much a term of the question adds to an entry.
//!
//! ```text
//!  weight(term)   = ln((N + 1) / (df + 1/2)) · (k1 + 1) · how often it is asked for · (a share, for the commonest words)
//!  share(tf, len) = tf / (tf + k1 · (1 − b + b · len / average len))
//!  score(entry)   = Σ weight · share
//! ```
//!
//! Weights and shares are rounded down to 1/2^14 and their product to 1/2^16 ([`Score`]). Sums of whole numbers do not depend on their order,
//! so a search that skips most entries gives the very scores of one that skips none, and two machines give the same: logarithms are computed
//! here, from operations that IEEE 754 defines to the last bit. For the same reason what goes in is coarse where it matters little: a
//! term counts at most [`TF_MAX`] times, and lengths above 127 words are kept to 1/16.

use std::fmt;

use crate::query::Wanted;

/// How often one term counts in one entry: the share of 15 is within 8 % of that of any more, and it fits in four bits.
pub(crate) const TF_MAX: u8 = 15;

const SHARE_BITS: u32 = 14;
const WEIGHT_BITS: u32 = 14;
const SCORE_BITS: u32 = 16;

/// No weight is more; far above what a term can come to, and low enough that no sum of 128 terms overflows.
const WEIGHT_MAX: f64 = 127.0;

/// How much an entry answers a question: BM25 in units of 1/65536.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Score(pub(crate) u32);

impl Score {
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(1_u32 << SCORE_BITS)
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4}", self.as_f64())
    }
}

/// The two constants of BM25, and what the commonest words are worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bm25 {
    k1: f64,
    b: f64,
    common: f64,
}

impl Bm25 {
    /// `k1` within 0 and 4 (how soon a word that is repeated stops to count), `b` within 0 and 1 (how much long entries are discounted),
    /// `common` within 0 and 1 (the share of their weight that the commonest words keep). What lies outside is brought to the border.
    pub fn new(k1: f64, b: f64, common: f64) -> Bm25 {
        let within = |value: f64, most: f64| if value.is_finite() { value.clamp(0.0, most) } else { most };
        Bm25 { k1: within(k1, 4.0), b: within(b, 1.0), common: within(common, 1.0) }
    }
}

impl Bm25 {
    pub fn k1(self) -> f64 {
        self.k1
    }

    pub fn b(self) -> f64 {
        self.b
    }

    pub fn common(self) -> f64 {
        self.common
    }
}

impl Default for Bm25 {
    /// Found on 495 questions about three long conversations, where it is flat around these: docs/decisions/0049 has the figures.
    fn default() -> Bm25 {
        Bm25::new(0.9, 0.4, 0.25)
    }
}

/// What the collection is like, at the moment of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Collection {
    pub(crate) entries: u64,
    /// Lengths of all entries, each as its class says.
    pub(crate) words: u64,
}

/// How telling it is that an entry has a term that `df` of all entries have.
pub(crate) fn rarity(entries: u64, df: u64) -> f64 {
    ln((2 * entries + 2) as f64 / (2 * df + 1) as f64).max(0.0)
}

/// The weight of a term that stands in `df` entries.
pub(crate) fn weight(bm25: Bm25, collection: Collection, df: u64, wanted: &Wanted) -> u32 {
    let rarity = rarity(collection.entries, df);
    let common = if wanted.is_common { bm25.common } else { 1.0 };
    let weight = rarity * (bm25.k1 + 1.0) * wanted.share * common;
    // Rounded down: a cast of a number that is not negative and far below the border.
    (weight.min(WEIGHT_MAX) * f64::from(1_u32 << WEIGHT_BITS)) as u32
}

/// The shares of every pair of how often and how long.
#[derive(Clone)]
pub(crate) struct Shares(Box<[u16; 16 * 256]>);

impl Shares {
    pub(crate) fn of(bm25: Bm25, collection: Collection) -> Shares {
        let average = (collection.words as f64 / collection.entries.max(1) as f64).max(1.0);
        let mut shares = Box::new([0; 16 * 256]);
        for class in 0..=u8::MAX {
            let k = bm25.k1 * (1.0 - bm25.b + bm25.b * f64::from(length_of(class)) / average);
            for tf in 1..=TF_MAX {
                let share = f64::from(tf) / (f64::from(tf) + k);
                shares[index(tf, class)] = (share * f64::from(1_u32 << SHARE_BITS)) as u16;
            }
        }
        Shares(shares)
    }

    /// What a term of this weight adds to an entry of this length class that has it `tf` times.
    #[inline(always)]
    pub(crate) fn add(&self, weight: u32, tf: u8, class: u8) -> u32 {
        const SHIFT: u32 = WEIGHT_BITS + SHARE_BITS - SCORE_BITS;
        ((u64::from(weight) * u64::from(self.0[index(tf, class)])) >> SHIFT) as u32
    }
}

#[inline(always)]
fn index(tf: u8, class: u8) -> usize {
    usize::from(tf & TF_MAX) << 8 | usize::from(class)
}

/// Lengths below this are classes of their own.
const EXACT: u32 = 128;

/// The longest there is a class for.
const LENGTH_MAX: u32 = 32_767;

/// The class of an entry of so many words, in one byte.
pub(crate) fn class_of(words: u32) -> u8 {
    let words = words.min(LENGTH_MAX);
    if words < EXACT {
        return words as u8;
    }
    let octave = words.ilog2() - EXACT.ilog2();
    let sixteenth = (words >> (octave + 3)) - 16;
    (EXACT + 16 * octave + sixteenth) as u8
}

/// How many words an entry of this class counts as: the fewest it may have.
pub(crate) fn length_of(class: u8) -> u32 {
    let class = u32::from(class);
    match class.checked_sub(EXACT) {
        None => class,
        Some(above) => (16 + above % 16) << (above / 16 + 3),
    }
}

/// The natural logarithm of a number from 1 on, to about 1e-15, the same on every machine.
fn ln(x: f64) -> f64 {
    if x.is_nan() || x < 1.0 {
        return 0.0;
    }
    let mut doublings = 0.0;
    let mut m = x;
    // Exact: halving only changes the exponent.
    while m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        doublings += 1.0;
    }
    // ln m = 2 (z + z³/3 + z⁵/5 …) with z = (m − 1)/(m + 1), at most 0.172: twelve terms are below the last bit.
    let z = (m - 1.0) / (m + 1.0);
    let (mut power, mut sum) = (z, z);
    for n in 1..12 {
        power *= z * z;
        sum += power / f64::from(2 * n + 1);
    }
    doublings * std::f64::consts::LN_2 + 2.0 * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(share: f64) -> Wanted {
        Wanted { term: String::new(), share, is_common: false }
    }

    #[test]
    fn the_logarithm_is_the_library_s_to_the_last_digits() {
        for x in [1.0, 1.000_001, 1.4, 1.5, 2.0, 3.7, 10.0, 999.5, 1e6, 4e9, 1e18] {
            assert!((ln(x) - x.ln()).abs() <= 1e-14 * x.ln().max(1.0), "{x}: {} {}", ln(x), x.ln());
        }
        assert_eq!((ln(0.3), ln(f64::NAN), ln(-1.0)), (0.0, 0.0, 0.0));
    }

    #[test]
    fn short_lengths_are_exact_and_long_ones_within_a_sixteenth() {
        for words in 0..40_000_u32 {
            let counted = length_of(class_of(words));
            if words < 128 {
                assert_eq!(counted, words);
            }
            let kept = words.min(LENGTH_MAX);
            assert!(counted <= kept && kept - counted <= kept / 16, "{words} counts as {counted}");
        }
        assert!((1..=255).all(|class| length_of(class) > length_of(class - 1)), "classes are in order");
        assert!((0..=255).all(|class| class_of(length_of(class)) == class));
    }

    #[test]
    fn the_sum_is_bm25_to_four_digits() {
        let collection = Collection { entries: 1000, words: 40_000 };
        let bm25 = Bm25::new(1.2, 0.75, 0.25);
        let shares = Shares::of(bm25, collection);
        for (df, tf, len) in [(1_u32, 1_u8, 10_u32), (3, 2, 40), (500, 15, 120), (999, 1, 40)] {
            let idf = (1.0 + (1000.0 - f64::from(df) + 0.5) / (f64::from(df) + 0.5)).ln();
            let k = 1.2 * (0.25 + 0.75 * f64::from(len) / 40.0);
            let expected = idf * f64::from(tf) * 2.2 / (f64::from(tf) + k);
            let got = Score(shares.add(weight(bm25, collection, df.into(), &wanted(1.0)), tf, class_of(len)))
                .as_f64();
            assert!((got - expected).abs() < 5e-4 * expected.max(1.0), "df {df} tf {tf}: {got} {expected}");
        }
    }

    #[test]
    fn no_weight_is_so_large_that_a_question_of_the_most_terms_overflows() {
        let collection = Collection { entries: u64::from(u32::MAX), words: u64::MAX / 4 };
        let bm25 = Bm25::new(f64::INFINITY, f64::NAN, 7.0);
        let most = Shares::of(bm25, collection).add(weight(bm25, collection, 0, &wanted(1e9)), TF_MAX, 0);
        assert!(most.checked_mul(crate::query::TERMS_MAX as u32).is_some(), "{most}");
    }
}
