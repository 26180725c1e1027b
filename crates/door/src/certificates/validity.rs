//! From when to when a certificate is good, read out of its DER: the only thing in it that is decided about here.
//!
//! A reader for exactly the way to the dates (RFC 5280, 4.1): everything before them is stepped over by its length, and whatever is
//! not of the expected shape is no certificate.

use std::time::Duration;

use holdfast_types::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life {
    pub(super) not_before: Timestamp,
    pub(super) not_after: Timestamp,
}

impl Life {
    pub(super) fn span(&self) -> Duration {
        self.not_after.since(self.not_before)
    }
}

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

pub(super) fn life(der: &[u8]) -> Option<Life> {
    let mut certificate = Reader(der).inside(SEQUENCE)?;
    let mut signed = certificate.inside(SEQUENCE)?;
    if signed.0.first() == Some(&VERSION) {
        signed.take(VERSION)?;
    }
    signed.take(INTEGER)?; // serial number
    signed.take(SEQUENCE)?; // signature algorithm
    signed.take(SEQUENCE)?; // issuer
    let mut dates = signed.inside(SEQUENCE)?;
    let life = Life { not_before: dates.time()?, not_after: dates.time()? };
    (life.not_before < life.not_after).then_some(life)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The content of the next value, which must have this tag.
    fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (found, rest) = self.0.split_first()?;
        let (len, rest) = length(rest)?;
        if *found != tag || rest.len() < len {
            return None;
        }
        let (content, rest) = rest.split_at(len);
        self.0 = rest;
        Some(content)
    }

    fn inside(&mut self, tag: u8) -> Option<Reader<'a>> {
        self.take(tag).map(Reader)
    }

    fn time(&mut self) -> Option<Timestamp> {
        match *self.0.first()? {
            // Two digits stand for 1950 to 2049.
            UTC_TIME => {
                let text = std::str::from_utf8(self.take(UTC_TIME)?).ok()?;
                let century = if text.get(..2)? < "50" { "20" } else { "19" };
                moment(&format!("{century}{text}"))
            }
            GENERALIZED_TIME => moment(std::str::from_utf8(self.take(GENERALIZED_TIME)?).ok()?),
            _ => None,
        }
    }
}

/// A length of at most four bytes; no certificate is longer.
fn length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    match *first {
        short @ 0..=0x7f => Some((usize::from(short), rest)),
        long @ 0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            let len = digits.iter().fold(0_usize, |sum, digit| sum << 8 | usize::from(*digit));
            Some((len, rest))
        }
        _ => None,
    }
}

/// `20261115081716Z`.
fn moment(text: &str) -> Option<Timestamp> {
    let digits = text.strip_suffix('Z')?;
    if digits.len() != 14 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize, to: usize| &digits[from..to];
    let text = format!(
        "{}-{}-{}T{}:{}:{}.000000Z",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        part(8, 10),
        part(10, 12),
        part(12, 14)
    );
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn made(from: (i32, u8, u8), to: (i32, u8, u8)) -> Vec<u8> {
        let mut params = rcgen::CertificateParams::new(["a.example".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(from.0, from.1, from.2);
        params.not_after = rcgen::date_time_ymd(to.0, to.1, to.2);
        params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn dates_are_read_in_both_spellings() {
        for (from, to, text) in [
            ((2026, 11, 15), (2027, 2, 3), ("2026-11-15T00:00:00.000000Z", "2027-02-03T00:00:00.000000Z")),
            ((1999, 1, 1), (2051, 1, 1), ("1999-01-01T00:00:00.000000Z", "2051-01-01T00:00:00.000000Z")),
        ] {
            let life = life(&made(from, to)).unwrap();
            assert_eq!((life.not_before.to_string().as_str(), life.not_after.to_string().as_str()), text);
        }
    }

    #[test]
    fn a_certificate_that_ends_before_it_begins_is_none() {
        assert_eq!(life(&made((2026, 1, 2), (2026, 1, 1))), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_stop(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = life(&bytes);
        }

        #[test]
        fn nor_does_a_damaged_certificate(at in 0usize..300, with in any::<u8>(), cut in 0usize..400) {
            let mut der = made((2026, 11, 15), (2027, 2, 3));
            let at = at % der.len();
            der[at] = with;
            der.truncate(cut);
            let _ = life(&der);
        }
    }
}
