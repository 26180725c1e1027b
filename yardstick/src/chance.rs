//! Chance from a seed, the only source of it here.

/// The next draw of SplitMix64 (Steele, Lea and Flood, 2014): small, quick, and good enough where nothing secret hangs on it.
pub(crate) fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Evenly between 0 and 1, and never either.
pub(crate) fn even(state: &mut u64) -> f64 {
    ((draw(state) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}
