//! Which segments are made one. Neighbours only, so that segments stay in the order of their ids.
//!
//! Small ones are merged by the eight, so that an entry is written anew about three times in its life; then two or more are merged
//! into a full one, which is left alone: it bounds what an erasure has to write anew. A million entries are 16 full segments
//! and a few small ones.

use std::ops::Range;

use crate::gathered::TOKENS_MAX;
use crate::list::DOCS_MAX;

/// What a segment has in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) docs: usize,
    pub(crate) tokens: usize,
}

const FULL: usize = 1000;

impl Size {
    /// In thousandths of the most a segment may have.
    fn fullness(self) -> usize {
        (self.docs * FULL / DOCS_MAX).max(self.tokens * FULL / TOKENS_MAX)
    }

    fn and(self, other: Size) -> Size {
        Size { docs: self.docs + other.docs, tokens: self.tokens + other.tokens }
    }
}

/// Below this a segment is small: what eight new ones come to is above it.
const SMALL: usize = FULL / 4;

/// So many small ones in a row are merged.
const SMALL_RUN: usize = 8;

/// From this on a segment is as good as full.
const GOOD: usize = FULL * 3 / 4;

/// The next merge, if one is due.
pub(crate) fn plan(sizes: &[Size]) -> Option<Range<usize>> {
    small_run(sizes).or_else(|| half_full_run(sizes))
}

fn small_run(sizes: &[Size]) -> Option<Range<usize>> {
    let mut start = 0;
    for run in sizes.chunk_by(|a, b| (a.fullness() < SMALL) == (b.fullness() < SMALL)) {
        if run.len() >= SMALL_RUN && run[0].fullness() < SMALL {
            return Some(start..start + fitting(run));
        }
        start += run.len();
    }
    None
}

/// Neighbours that together are a full one.
fn half_full_run(sizes: &[Size]) -> Option<Range<usize>> {
    let open = |size: &Size| (SMALL..GOOD).contains(&size.fullness());
    (0..sizes.len()).find_map(|start| {
        let run = &sizes[start..start + sizes[start..].iter().take_while(|size| open(size)).count()];
        let count = fitting(run);
        let total = run[..count].iter().fold(Size::default(), |sum, size| sum.and(*size));
        (count >= 2 && total.fullness() >= GOOD).then_some(start..start + count)
    })
}

/// How many from the first on have room in one segment.
fn fitting(run: &[Size]) -> usize {
    let mut total = Size::default();
    run.iter()
        .take_while(|size| {
            total = total.and(**size);
            total.docs <= DOCS_MAX && total.tokens <= TOKENS_MAX
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WORDS: usize = 45;

    fn size(docs: usize) -> Size {
        Size { docs, tokens: docs * WORDS }
    }

    fn merged(mut sizes: Vec<Size>) -> (Vec<Size>, usize) {
        let mut written = 0;
        while let Some(range) = plan(&sizes) {
            assert!(range.len() >= 2 && range.end <= sizes.len());
            let total = sizes[range.clone()].iter().fold(Size::default(), |sum, size| sum.and(*size));
            assert!(total.docs <= DOCS_MAX && total.tokens <= TOKENS_MAX);
            written += total.docs;
            sizes.splice(range, [total]);
        }
        (sizes, written)
    }

    #[test]
    fn a_million_entries_are_few_segments_and_each_entry_is_written_about_three_times() {
        let (mut sizes, mut written) = (Vec::new(), 0);
        for _ in 0..1_000_000 / 4096 {
            sizes.push(size(4096));
            let done = merged(sizes);
            (sizes, written) = (done.0, written + done.1);
        }
        assert!(sizes.len() <= 25, "{} segments", sizes.len());
        assert!(written <= 2_500_000, "{written} entries written by merges");
    }

    proptest! {
        #[test]
        fn merging_ends_loses_nothing_and_leaves_few_segments(docs in prop::collection::vec(1..DOCS_MAX, 0..200)) {
            let sizes: Vec<Size> = docs.iter().map(|docs| size(*docs)).collect();
            let total: usize = docs.iter().sum();
            let (rest, _) = merged(sizes);
            prop_assert_eq!(rest.iter().map(|size| size.docs).sum::<usize>(), total);
            let small = rest.chunk_by(|a, b| a.fullness() < SMALL && b.fullness() < SMALL);
            prop_assert!(small.into_iter().all(|run| run.len() < SMALL_RUN || run[0].fullness() >= SMALL));
        }
    }
}
