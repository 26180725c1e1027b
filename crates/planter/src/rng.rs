//! Draws from a seed: equal seeds give equal draws. Not for keys.

use std::ops::RangeInclusive;

/// SplitMix64: one word of state, and good enough for names and noise.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        let mut rng = Rng(seed);
        rng.next();
        rng
    }

    /// A stream of its own for one part, so that a part that draws more does not disturb the others.
    pub(crate) fn child(&self, name: &str) -> Rng {
        // FNV-1a over the name; the generator's own mixing does the rest.
        let hash = |h: u64, byte: u8| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Rng::new(name.bytes().fold(0xcbf2_9ce4_8422_2325 ^ self.0, hash))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 when there is none.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    pub(crate) fn within(&mut self, range: RangeInclusive<usize>) -> usize {
        range.start() + self.below(range.end() - range.start() + 1)
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    pub(crate) fn word(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }

    pub(crate) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }

    pub(crate) fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }

    /// `n` characters of an alphabet of ASCII characters.
    pub(crate) fn text(&mut self, alphabet: &str, n: usize) -> String {
        let alphabet = alphabet.as_bytes();
        (0..n).map(|_| char::from(*self.pick(alphabet))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_draw_alike_and_names_part_them() {
        assert_eq!(Rng::new(7).bytes(50), Rng::new(7).bytes(50));
        let firsts =
            [Rng::new(7), Rng::new(8), Rng::new(7).child("a"), Rng::new(7).child("b")].map(|mut r| r.next());
        assert_eq!(firsts.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
    }

    #[test]
    fn draws_stay_inside_and_reach_both_ends() {
        let mut rng = Rng::new(1);
        let drawn: std::collections::BTreeSet<usize> = (0..500).map(|_| rng.within(3..=6)).collect();
        assert_eq!(drawn, (3..=6).collect());
        assert!((0..500).all(|_| !rng.percent(0)) && (0..500).all(|_| rng.percent(100)));
    }

    #[test]
    fn shuffling_loses_nothing() {
        let mut items: Vec<usize> = (0..50).collect();
        Rng::new(3).shuffle(&mut items);
        assert_ne!(items, (0..50).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }
}
