//! What comes over HTTP/2, frame by frame, as far as it takes to see a flood.
//!
//! Some frames cost their sender a dozen bytes and us work: a request that is taken back as soon as it was made, a question whether we are there, new
//! settings that have to be acknowledged. A peer has so many of them at once, and gets some back every second; whoever sends more is cut off before
//! anything of it is acted on. Frames that carry something are not counted: requests and bodies have limits of their own, and how much a peer is ready
//! to take (`WINDOW_UPDATE`) is said often by whoever loads something large.

use std::time::Duration;

use crate::settings::STREAMS_MAX;

/// What a connection begins with (RFC 9113, 3.4).
const PREFACE_BYTES: usize = 24;
/// Length, kind, flags, stream.
const HEAD_BYTES: usize = 9;

const DATA: u8 = 0x0;
const HEADERS: u8 = 0x1;
const WINDOW_UPDATE: u8 = 0x8;
const END_STREAM: u8 = 0x1;

/// A browser that leaves a page takes back all it had asked for; and the next page at once.
const AT_ONCE: u32 = 2 * STREAMS_MAX;
/// Far more than browsers need, and too few to keep us at work.
const EVERY_SECOND: u32 = 32;

#[derive(Debug)]
pub(crate) struct Frames {
    /// Bytes until the next head begins: of the preface, then of each frame's content.
    skip: usize,
    /// As much of a head as has come.
    head: [u8; HEAD_BYTES],
    have: usize,
    left: u32,
    /// Up to when what is given back was given back, as the time since the connection began.
    counted_at: Duration,
}

/// More of what is worth nothing than anybody needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flood;

impl Frames {
    pub(crate) fn new() -> Frames {
        Frames {
            skip: PREFACE_BYTES,
            head: [0; HEAD_BYTES],
            have: 0,
            left: AT_ONCE,
            counted_at: Duration::ZERO,
        }
    }

    /// Looks at what was read. `now` is the time since the connection began.
    pub(crate) fn take(&mut self, mut bytes: &[u8], now: Duration) -> Result<(), Flood> {
        while !bytes.is_empty() {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = &bytes[skipped..];
            let wanted = (HEAD_BYTES - self.have).min(bytes.len());
            self.head[self.have..self.have + wanted].copy_from_slice(&bytes[..wanted]);
            self.have += wanted;
            bytes = &bytes[wanted..];
            if self.have == HEAD_BYTES {
                self.have = 0;
                self.skip = self.content();
                if !self.carries() {
                    self.spend(now)?;
                }
            }
        }
        Ok(())
    }

    fn content(&self) -> usize {
        self.head[..3].iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
    }

    /// Whether it is a part of a request, or makes room for an answer.
    fn carries(&self) -> bool {
        match self.head[3] {
            DATA => self.content() > 0 || self.head[4] & END_STREAM != 0,
            HEADERS | WINDOW_UPDATE => true,
            _ => false,
        }
    }

    fn spend(&mut self, now: Duration) -> Result<(), Flood> {
        let seconds = now.saturating_sub(self.counted_at).as_secs();
        if seconds > 0 {
            let back = u32::try_from(seconds).unwrap_or(u32::MAX).saturating_mul(EVERY_SECOND);
            self.left = self.left.saturating_add(back).min(AT_ONCE);
            self.counted_at = now;
        }
        self.left = self.left.checked_sub(1).ok_or(Flood)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RESET: u8 = 0x3;
    const PING: u8 = 0x6;

    fn frame(kind: u8, flags: u8, content: &[u8]) -> Vec<u8> {
        let len = u32::try_from(content.len()).unwrap().to_be_bytes();
        [&len[1..], &[kind, flags, 0, 0, 0, 1], content].concat()
    }

    fn begun() -> Frames {
        let mut frames = Frames::new();
        frames.take(&[b'p'; PREFACE_BYTES], Duration::ZERO).unwrap();
        frames
    }

    /// Whether so many resets at these moments are too many.
    fn is_flood(resets: &[(u32, u64)]) -> bool {
        let mut frames = begun();
        let reset = frame(RESET, 0, &[0; 4]);
        let all = resets.iter().flat_map(|(count, millis)| std::iter::repeat_n(*millis, *count as usize));
        let mut all = all.map(|millis| frames.take(&reset, Duration::from_millis(millis)));
        all.any(|seen| seen == Err(Flood))
    }

    #[test]
    fn a_peer_has_so_many_at_once_and_some_every_second() {
        assert!(!is_flood(&[(AT_ONCE, 0)]));
        assert!(is_flood(&[(AT_ONCE + 1, 0)]));
        assert!(is_flood(&[(AT_ONCE, 0), (1, 900)]));
        assert!(!is_flood(&[(AT_ONCE, 0), (EVERY_SECOND, 1_000)]));
        assert!(is_flood(&[(AT_ONCE, 0), (EVERY_SECOND, 1_000), (1, 1_900)]));
        assert!(is_flood(&[(1, 0), (AT_ONCE + 1, 1_000_000)]), "no more is saved up");
    }

    #[test]
    fn what_carries_something_is_not_counted() {
        for (kind, flags, content, counted) in [
            (DATA, 0, &b"x"[..], false),
            (DATA, END_STREAM, b"", false),
            (DATA, 0, b"", true),
            (HEADERS, 0x4, b"x", false),
            (WINDOW_UPDATE, 0, &[0; 4], false),
            (PING, 0, &[0; 8], true),
            (0x2, 0, &[0; 5], true),
            (0x4, 0, b"", true),
            (0x9, 0, b"x", true),
            (0xfa, 0, b"x", true),
        ] {
            let mut frames = begun();
            let many = frame(kind, flags, content).repeat(AT_ONCE as usize + 1);
            assert_eq!(frames.take(&many, Duration::ZERO).is_err(), counted, "{kind:#x} {flags:#x}");
        }
    }

    proptest! {
        #[test]
        fn however_it_is_cut_the_same_is_counted(
            kinds in proptest::collection::vec((0u8..12, 0u8..2, 0usize..40), 0..600),
            cut in 1usize..50,
        ) {
            let all: Vec<u8> =
                kinds.iter().flat_map(|(kind, flags, len)| frame(*kind, *flags, &vec![7; *len])).collect();
            let (mut whole, mut parts) = (begun(), begun());
            let at_once = whole.take(&all, Duration::ZERO);
            let piecewise = all.chunks(cut).try_for_each(|part| parts.take(part, Duration::ZERO));
            prop_assert_eq!(at_once, piecewise);
            prop_assert!(at_once.is_err() || whole.left == parts.left);
        }
    }
}
