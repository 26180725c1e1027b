//! Where a text that is longer than the model reads at once is divided.

use std::ops::Range;

use crate::pinned::WINDOW;

/// Tokens of the text that the model reads at once: two of the window stand around them.
const CONTENT: usize = WINDOW - 2;
/// Tokens that a chunk has in common with the next: a sentence or two, so that what is said across a division is whole in one of them.
pub const OVERLAP: usize = 32;
const STEP: usize = CONTENT - OVERLAP;

/// The chunks of a text with so many tokens, as ranges of tokens.
///
/// There is always one, and every token is in one. Chunks of a long text are all as long as can be; the last one begins early enough
/// for that. As a text grows at its end, all chunks but the last stay what they are.
pub fn windows(tokens: usize) -> Vec<Range<usize>> {
    let steps = tokens.saturating_sub(CONTENT).div_ceil(STEP);
    let last = tokens.saturating_sub(CONTENT);
    (0..=steps).map(|n| (n * STEP).min(last)).map(|from| from..tokens.min(from + CONTENT)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_that_fits_is_one_chunk_and_one_token_more_makes_two() {
        let one = |range: Range<usize>| vec![range];
        assert_eq!(windows(0), one(0..0));
        assert_eq!(windows(CONTENT), one(0..CONTENT));
        assert_eq!(windows(CONTENT + 1), [0..CONTENT, 1..CONTENT + 1]);
        assert_eq!(windows(CONTENT + STEP), [0..CONTENT, STEP..STEP + CONTENT]);
    }

    proptest! {
        #[test]
        fn chunks_fit_the_window_overlap_and_leave_nothing_out(tokens in 0..20_000_usize) {
            let windows = windows(tokens);
            prop_assert_eq!(windows[0].start, 0);
            prop_assert_eq!(windows[windows.len() - 1].end, tokens);
            prop_assert!(windows.iter().all(|it| it.len() <= CONTENT));
            prop_assert!(windows.len() == 1 || windows.iter().all(|it| it.len() == CONTENT));
            for pair in windows.windows(2) {
                prop_assert!(pair[0].start < pair[1].start);
                prop_assert!(pair[0].end - pair[1].start >= OVERLAP);
            }
        }

        #[test]
        fn a_text_that_grows_keeps_all_its_chunks_but_the_last(tokens in 1..5_000_usize, more in 0..600_usize) {
            let (before, after) = (windows(tokens), windows(tokens + more));
            prop_assert_eq!(&before[..before.len() - 1], &after[..before.len() - 1]);
        }
    }
}
