//! Finds an entry within a segment without reading everything before it: lines stand in the order of their seqs, so the place is found by
//! halving.

use std::io;

use crate::line::{self, LINE_MAX};
use crate::scan::Bytes;

/// Bytes that are looked at in one place: a line or two of the usual length.
const GLANCE: usize = 1024;
/// A stretch so short is rather read than halved.
const SHORT: u64 = 8 * 1024;

/// A line of a segment: where it begins, and its seq.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) offset: u64,
    pub(crate) seq: u64,
}

/// A line at or shortly before the entry `seq`, in a segment that begins with entry `first`. Where what stands in between cannot be read as
/// lines in order, it is the first line: whoever reads on from there finds the damage.
pub(crate) fn before(bytes: &Bytes, first: u64, seq: u64) -> io::Result<Found> {
    let beginning = Found { offset: 0, seq: first };
    let (mut low, mut high) = (beginning, bytes.len()?);
    while high.saturating_sub(low.offset) > SHORT {
        let middle = low.offset + (high - low.offset) / 2;
        match next_line(bytes, middle)? {
            Next::Line(found) if found.seq <= low.seq => return Ok(beginning),
            Next::Line(found) if found.seq <= seq && found.offset < high => low = found,
            Next::Line(_) | Next::Nothing => high = middle,
            Next::Strange => return Ok(beginning),
        }
    }
    Ok(low)
}

/// What stands after the end of a line.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Line(Found),
    /// Space that was filled ahead, or the end.
    Nothing,
    /// No line of a log.
    Strange,
}

fn next_line(bytes: &Bytes, from: u64) -> io::Result<Next> {
    for len in [GLANCE, LINE_MAX + GLANCE] {
        let seen = bytes.up_to(len, from)?;
        let Some(end) = memchr::memchr(b'\n', &seen) else { continue };
        let line = &seen[end + 1..];
        if line.is_empty() && seen.len() == len {
            continue;
        }
        match (line.first(), line::seq_of(line)) {
            (None | Some(b'\n'), _) => return Ok(Next::Nothing),
            (_, Some(seq)) => return Ok(Next::Line(Found { offset: from + end as u64 + 1, seq })),
            // The number may go on beyond what was looked at.
            (_, None) if seen.len() < len => return Ok(Next::Strange),
            (_, None) => {}
        }
    }
    Ok(Next::Strange)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of `first` and those after it, each as long as it is told, then space that was filled ahead.
    fn segment(first: u64, lengths: &[usize], blank: usize) -> (Bytes, Vec<u64>) {
        let (mut text, mut offsets) = (Vec::new(), Vec::new());
        for (seq, len) in (first..).zip(lengths) {
            offsets.push(text.len() as u64);
            line::open(&mut text, seq);
            text.push(b',');
            text.resize(text.len() + len, b'x');
            text.push(b'\n');
        }
        text.resize(text.len() + blank, b'\n');
        (Bytes::Fetched(text), offsets)
    }

    #[test]
    fn every_entry_is_found_shortly_after_what_is_given() {
        let uneven: Vec<usize> = (0..700).map(|n| [40, 400, 3000, 20_000][n * 7 % 4]).collect();
        for (first, lengths, blank) in [
            (0, vec![300; 2000], 0),
            (990, vec![300; 2000], 3_000_000),
            (95, uneven, 10_000),
            (5, vec![60_000; 30], 200_000),
            (7, vec![10], 100_000),
        ] {
            let (bytes, offsets) = segment(first, &lengths, blank);
            for (seq, offset) in (first..).zip(&offsets) {
                let found = before(&bytes, first, seq).unwrap();
                assert!(found.seq <= seq, "{found:?} is after {seq}");
                assert_eq!(found.offset, offsets[(found.seq - first) as usize]);
                let most = SHORT + LINE_MAX as u64;
                assert!(offset - found.offset <= most, "{found:?} is far before {seq} at {offset}");
            }
            let last = first + lengths.len() as u64;
            assert!(before(&bytes, first, last + 10).unwrap().seq < last);
        }
    }

    #[test]
    fn what_is_not_in_order_is_read_from_the_beginning() {
        let (Bytes::Fetched(whole), offsets) = segment(100, &[300; 1000], 0) else { unreachable!() };
        // Where the first look falls.
        let middle = offsets[490] as usize..offsets[510] as usize;
        let mut garbled = whole.clone();
        garbled[middle.clone()].chunks_mut(40).for_each(|piece| {
            piece.fill(b'?');
            piece[0] = b'\n';
        });
        let mut doubled = whole.clone();
        let first = &whole[..offsets[1] as usize];
        doubled[middle].chunks_exact_mut(first.len()).for_each(|line| line.copy_from_slice(first));
        for text in [garbled, doubled] {
            let found = before(&Bytes::Fetched(text), 100, 700).unwrap();
            assert_eq!(found, Found { offset: 0, seq: 100 });
        }
        assert_eq!(before(&Bytes::Fetched(Vec::new()), 9, 9).unwrap(), Found { offset: 0, seq: 9 });
    }
}
