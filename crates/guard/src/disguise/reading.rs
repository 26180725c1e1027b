//! A text as it would be read, and the way back to where each part of it stood.

use std::ops::Range;

/// A text without its disguise.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) text: Vec<u8>,
    /// Where the two texts part, in order.
    changes: Vec<Change>,
}

/// A stretch of the original and what it reads as; nothing where it was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    read: Range<usize>,
    at: Range<usize>,
}

impl Reading {
    pub(super) fn with_capacity(length: usize) -> Reading {
        Reading { text: Vec::with_capacity(length), changes: Vec::new() }
    }

    pub(super) fn is_unchanged(&self) -> bool {
        self.changes.is_empty()
    }

    pub(super) fn copy(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
    }

    pub(super) fn leave_out(&mut self, at: Range<usize>) {
        let here = self.text.len();
        match self.changes.last_mut() {
            Some(last) if last.read == (here..here) && last.at.end == at.start => last.at.end = at.end,
            _ => self.changes.push(Change { read: here..here, at }),
        }
    }

    pub(super) fn replace(&mut self, at: Range<usize>, with: &[u8]) {
        if with.is_empty() {
            return self.leave_out(at);
        }
        let here = self.text.len();
        self.text.extend_from_slice(with);
        self.changes.push(Change { read: here..self.text.len(), at });
    }

    /// Takes back what was read last, as a backspace does, and leaves out the stretch that says so.
    pub(super) fn take_back(&mut self, at: Range<usize>) {
        let mut from = at.start;
        loop {
            let here = self.text.len();
            match self.changes.pop_if(|last| last.read.end == here) {
                Some(last) => {
                    from = last.at.start;
                    self.text.truncate(last.read.start);
                    if !last.read.is_empty() {
                        break;
                    }
                }
                None => {
                    while let Some(byte) = self.text.pop() {
                        from -= 1;
                        if byte & 0xc0 != 0x80 {
                            break;
                        }
                    }
                    break;
                }
            }
        }
        self.leave_out(from..at.end);
    }

    /// The last change that begins at or before a place of the reading.
    fn change_before(&self, place: usize) -> Option<&Change> {
        let next = self.changes.partition_point(|c| c.read.start <= place);
        self.changes[..next].last()
    }

    /// Where in the original the byte at `place` begins.
    pub(super) fn start_of(&self, place: usize) -> usize {
        match self.change_before(place) {
            Some(change) if place < change.read.end => change.at.start,
            Some(change) => change.at.end + (place - change.read.end),
            None => place,
        }
    }

    /// Where in the original the byte before `place` ends.
    pub(super) fn end_of(&self, place: usize) -> usize {
        let Some(byte) = place.checked_sub(1) else { return 0 };
        match self.change_before(byte) {
            Some(change) if byte < change.read.end => change.at.end,
            Some(change) => change.at.end + (byte - change.read.end) + 1,
            None => place,
        }
    }

    /// Whether something between two places of the reading was written in another way.
    pub(super) fn changed_within(&self, start: usize, end: usize) -> bool {
        let next = self.changes.partition_point(|c| c.read.end <= start);
        self.changes.get(next).is_some_and(|change| change.read.start < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ab<x>cd` with the letter in brackets left out, `cd` read as one letter, and `e` behind it.
    fn reading() -> Reading {
        let mut reading = Reading::default();
        reading.copy(b"ab");
        reading.leave_out(2..5);
        reading.replace(5..7, b"X");
        reading.copy(b"e");
        reading
    }

    #[test]
    fn every_place_leads_back() {
        let reading = reading();
        assert_eq!(reading.text, b"abXe");
        let starts: Vec<usize> = (0..4).map(|at| reading.start_of(at)).collect();
        let ends: Vec<usize> = (0..=4).map(|at| reading.end_of(at)).collect();
        assert_eq!((starts, ends), (vec![0, 1, 5, 7], vec![0, 1, 2, 7, 8]));
    }

    #[test]
    fn what_is_left_out_at_an_edge_changes_nothing_within() {
        let reading = reading();
        assert!(!reading.changed_within(0, 2) && !reading.changed_within(3, 4));
        assert!(reading.changed_within(1, 3) && reading.changed_within(2, 3));
    }

    #[test]
    fn what_was_taken_back_is_left_out_with_what_took_it_back() {
        let mut reading = reading();
        reading.take_back(8..9);
        assert_eq!((&reading.text[..], reading.end_of(3)), (&b"abX"[..], 7));
        reading.take_back(9..10);
        assert_eq!((&reading.text[..], reading.end_of(2)), (&b"ab"[..], 2));
        reading.copy(b"z");
        assert_eq!((reading.start_of(2), reading.end_of(3)), (10, 11));
        let mut empty = Reading::default();
        empty.take_back(0..1);
        assert!(empty.text.is_empty() && empty.start_of(0) == 1);
    }
}
