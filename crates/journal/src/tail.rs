//! Judges the end of the log after a stop nobody planned. Pure: bytes in, verdict out.
//!
//! Only the bytes after the last checkpoint are in question; everything before is signed. A batch is written
//! over space that was filled with newlines before, and is acknowledged only when it is durable, so what a
//! crash can leave is known:
//!
//! | what stands after the last whole entry | what happened | verdict |
//! |---|---|---|
//! | blank space only | nothing | clean |
//! | bytes that are no whole entry, then nothing whole | a batch was cut short | torn |
//! | blank space or zeros, then anything | a power cut wrote a later part of a batch and not an earlier one: the filled space shows through | torn |
//! | bytes that are no whole entry, then whole entries, no blank between | an entry that was durable has changed | damaged |
//! | a whole entry with another number | entries were removed or added | damaged |
//!
//! A torn batch was never acknowledged; it is set aside in a file and reported. Damage stops the opening.

use crate::line;
use crate::merkle::{Hash, leaf_hash};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    /// The entries found, in order: the hash of each and where it ends.
    pub(crate) leaves: Vec<(Hash, usize)>,
    /// Where the last whole entry ends.
    pub(crate) end: usize,
    pub(crate) verdict: Verdict,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Clean,
    /// `end..torn_end` is what a crash left.
    Torn {
        torn_end: usize,
    },
    Damaged {
        offset: usize,
        what: &'static str,
    },
}

/// Judges `bytes`, which begin right after the entry `next_seq - 1`.
pub(crate) fn judge(bytes: &[u8], next_seq: u64) -> Tail {
    let mut scan = Scan { leaves: Vec::new(), end: 0, hole: false, broken: None, whole_after: None };
    let mut at = 0;
    while at < bytes.len() && scan.whole_after.is_none() {
        let len = memchr::memchr(b'\n', &bytes[at..]);
        let line = &bytes[at..at + len.unwrap_or(bytes.len() - at)];
        scan.take(line, at, next_seq, len.is_some());
        at += line.len() + 1;
    }
    let torn_end = bytes.iter().rposition(|b| !is_filler(*b)).map_or(0, |last| last + 1);
    let verdict = scan.verdict(torn_end);
    Tail { leaves: scan.leaves, end: scan.end, verdict }
}

/// A byte that stands where nothing was written: filled ahead, or never brought to the disk.
fn is_filler(b: u8) -> bool {
    b == b'\n' || b == 0
}

struct Scan {
    leaves: Vec<(Hash, usize)>,
    end: usize,
    /// Filler was seen after the last good entry.
    hole: bool,
    /// Where the first thing that is no whole entry begins.
    broken: Option<usize>,
    /// A whole entry stands behind a hole or a broken line, or has the wrong number.
    whole_after: Option<(usize, &'static str)>,
}

impl Scan {
    fn take(&mut self, line: &[u8], at: usize, next_seq: u64, finished: bool) {
        let content = line.iter().position(|b| !is_filler(*b)).map_or(&[][..], |from| &line[from..]);
        if content.len() < line.len() || line.is_empty() {
            self.hole = true;
        }
        if content.is_empty() {
            return;
        }
        let whole = finished && line.len() < line::LINE_MAX && line::is_whole(content);
        let expected = next_seq + self.leaves.len() as u64;
        match (whole, self.broken, self.hole) {
            (true, None, false) if line::seq_of(content) == Some(expected) => {
                self.end = at + line.len() + 1;
                self.leaves.push((leaf_hash(content), self.end));
            }
            (true, None, false) => {
                self.whole_after = Some((at, "an entry has another number than the one before it asks for"))
            }
            (true, Some(broken), false) => {
                self.whole_after = Some((broken, "an entry was changed: whole entries follow it"))
            }
            (true, _, true) => {}
            (false, None, _) => self.broken = Some(at),
            (false, Some(_), _) => {}
        }
    }

    fn verdict(&self, torn_end: usize) -> Verdict {
        if let Some((offset, what)) = self.whole_after {
            return Verdict::Damaged { offset, what };
        }
        if torn_end > self.end { Verdict::Torn { torn_end } } else { Verdict::Clean }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: u64) -> Vec<u8> {
        let mut out = Vec::new();
        line::open(&mut out, seq);
        out.extend_from_slice(format!(",\"v\":1,\"body\":{{\"text\":\"{}\"}}", "abc ".repeat(20)).as_bytes());
        line::close(&mut out, 0);
        out
    }

    fn log(seqs: std::ops::Range<u64>) -> Vec<u8> {
        seqs.flat_map(entry).collect()
    }

    fn filled(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.resize(bytes.len() + 300, b'\n');
        bytes
    }

    fn check(bytes: &[u8], entries: usize, verdict: Verdict) {
        let tail = judge(bytes, 7);
        assert_eq!((tail.leaves.len(), tail.verdict), (entries, verdict));
        assert_eq!(tail.end, log(7..7 + entries as u64).len());
    }

    #[test]
    fn whole_entries_and_blank_space_are_clean() {
        check(b"", 0, Verdict::Clean);
        check(&filled(vec![]), 0, Verdict::Clean);
        check(&log(7..10), 3, Verdict::Clean);
        check(&filled(log(7..10)), 3, Verdict::Clean);
    }

    // shows: MEM-F13
    #[test]
    fn a_cut_at_any_byte_keeps_exactly_the_whole_entries() {
        let bytes = log(7..10);
        for cut in 0..bytes.len() {
            let whole = (1..=3).filter(|n| cut >= log(7..7 + n).len()).count();
            let end = log(7..7 + whole as u64).len();
            let torn = if cut > end { Verdict::Torn { torn_end: cut } } else { Verdict::Clean };
            check(&bytes[..cut], whole, torn);
            // Over filled space the last newline is there already, so one byte less makes an entry whole.
            let whole = (1..=3).filter(|n| cut + 1 >= log(7..7 + n).len()).count();
            let end = log(7..7 + whole as u64).len();
            let torn = if cut > end { Verdict::Torn { torn_end: cut } } else { Verdict::Clean };
            check(&filled(bytes[..cut].to_vec()), whole, torn);
        }
    }

    #[test]
    fn a_flipped_bit_before_a_whole_entry_is_damage_and_in_the_last_one_is_torn() {
        let bytes = log(7..10);
        // The newline before the last entry belongs to it here: without it the two read as one broken line.
        let last = log(7..9).len() - 1;
        for i in 0..bytes.len() {
            for bit in 0..8 {
                let mut bad = filled(bytes.clone());
                bad[i] ^= 1 << bit;
                let tail = judge(&bad, 7);
                assert_ne!(tail.verdict, Verdict::Clean, "byte {i} bit {bit}");
                let damaged = matches!(tail.verdict, Verdict::Damaged { .. });
                assert_eq!(damaged, i < last, "byte {i} bit {bit}: {:?}", tail.verdict);
            }
        }
    }

    #[test]
    fn a_power_cut_that_lost_a_middle_part_of_a_batch_is_torn_not_damage() {
        for filler in [b'\n', 0] {
            let mut bytes = filled(log(7..15));
            let first = entry(7).len();
            let sector = first.next_multiple_of(512);
            bytes[first..sector].fill(filler);
            let tail = judge(&bytes, 7);
            assert_eq!(tail.leaves.len(), 1);
            assert_eq!(tail.verdict, Verdict::Torn { torn_end: log(7..15).len() - 1 });
        }
    }

    #[test]
    fn a_removed_repeated_or_reordered_entry_is_damage() {
        for bytes in
            [[entry(7), entry(9)].concat(), [entry(7), entry(7)].concat(), [entry(8), entry(7)].concat()]
        {
            assert!(matches!(judge(&filled(bytes), 7).verdict, Verdict::Damaged { .. }));
        }
    }
}
