//! Whether a string looks drawn at random or written by a person.
//!
//! Two judgements, and both must agree. Entropy counts how evenly the characters are spread; it cannot tell a key from a
//! long identifier. So the second asks how often each pair of letters stands together in what people write, and whether
//! capitals fall as they do in names: random strings are full of pairs nobody writes.

use std::sync::LazyLock;

use crate::bigrams::RATIO;

/// What a look at every byte of a string says of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look<'t> {
    text: &'t [u8],
    pub(crate) length: usize,
    pub(crate) digits: usize,
    pub(crate) lowers: usize,
    pub(crate) uppers: usize,
    /// Letters beyond `f`: a string without any is hexadecimal.
    beyond_hex: usize,
    /// Everything that is no ASCII letter or digit.
    pub(crate) others: usize,
    pub(crate) distinct: usize,
    /// Sum of the pairs' ratios, sixteenths of a bit; negative is random.
    ratio: i32,
    pairs: usize,
    /// Pairs of letters, and those of them that go from a small letter to a capital.
    letter_pairs: usize,
    rises: usize,
    /// Pairs in which the second sign is the one after the first: an alphabet, a row of digits.
    steps: usize,
}

/// Sixteenths of a bit per pair, at or below which a string is called random. Measured: 98 in 100 random strings of 20
/// lie below, 1 in 200 long names of program sources does.
const RANDOM: i32 = -12;

/// No more of a string is looked at than this: a field of [`Look::at`]'s sums holds as much.
const MOST: usize = 32 * 1024;

/// What a byte adds to four sums of sixteen bits each: digits, small letters, capitals, letters beyond `f`.
const ADDS: [u64; 256] = {
    let mut adds = [0u64; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        let letter = b.is_ascii_alphabetic() && !b.is_ascii_hexdigit();
        adds[byte] = b.is_ascii_digit() as u64
            | (b.is_ascii_lowercase() as u64) << 16
            | (b.is_ascii_uppercase() as u64) << 32
            | (letter as u64) << 48;
        byte += 1;
    }
    adds
};

const DIGIT: u8 = 26;
const OTHER: u8 = 27;

/// Letters without case, one sign for digits, and one for the rest.
const SIGN: [u8; 256] = {
    let mut sign = [OTHER; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if b.is_ascii_alphabetic() {
            sign[byte] = b.to_ascii_lowercase() - b'a';
        } else if b.is_ascii_digit() {
            sign[byte] = DIGIT;
        }
        byte += 1;
    }
    sign
};

/// [`RATIO`] with a row and a column of nothing for the rest.
const PAIRS: [[i8; 32]; 28] = {
    let mut pairs = [[0; 32]; 28];
    let mut i = 0;
    while i < 27 {
        let mut j = 0;
        while j < 27 {
            pairs[i][j] = RATIO[i][j];
            j += 1;
        }
        i += 1;
    }
    pairs
};

impl<'t> Look<'t> {
    pub(crate) fn at(text: &'t [u8]) -> Look<'t> {
        let text = &text[..text.len().min(MOST)];
        let mut present = [0u64; 4];
        let (mut ratio, mut sums, mut pairs) = (0, 0, 0u64);
        let (mut before, mut sign_before) = (0u8, OTHER);
        for byte in text {
            let byte = *byte;
            present[usize::from(byte >> 6)] |= 1 << (byte & 63);
            sums += ADDS[usize::from(byte)];
            let sign = SIGN[usize::from(byte)];
            ratio += i32::from(PAIRS[usize::from(sign_before)][usize::from(sign)]);
            let letters = sign < DIGIT && sign_before < DIGIT;
            // A capital has the bit of case unset.
            let rise = letters && before & 0x20 > byte & 0x20;
            pairs += u64::from(sign < OTHER && sign_before < OTHER)
                | u64::from(letters) << 16
                | u64::from(rise) << 32
                | u64::from(byte == before.wrapping_add(1)) << 48;
            (before, sign_before) = (byte, sign);
        }
        // Nothing stands before the first byte, though it may look like a step from 0.
        pairs -= u64::from(text.first() == Some(&1)) << 48;
        let field = |sums: u64, at: u32| (sums >> (16 * at) & 0xffff) as usize;
        let (digits, lowers, uppers) = (field(sums, 0), field(sums, 1), field(sums, 2));
        Look {
            text,
            length: text.len(),
            digits,
            lowers,
            uppers,
            beyond_hex: field(sums, 3),
            others: text.len() - digits - lowers - uppers,
            distinct: present.iter().map(|bits| bits.count_ones() as usize).sum(),
            ratio,
            pairs: field(pairs, 0),
            letter_pairs: field(pairs, 1),
            rises: field(pairs, 2),
            steps: field(pairs, 3),
        }
    }

    /// Shannon entropy, bits per character. Asked last: it costs the most.
    pub(crate) fn entropy(&self) -> f32 {
        if self.length == 0 {
            return 0.0;
        }
        let mut counts = [0u16; 256];
        let mut sum = 0.0;
        for byte in self.text {
            let count = &mut counts[usize::from(*byte)];
            sum += GAIN.get(usize::from(*count)).copied().unwrap_or_else(|| gain(*count));
            *count += 1;
        }
        let length = self.length as f32;
        (length.log2() - sum / length).max(0.0)
    }

    pub(crate) fn is_hex(&self) -> bool {
        self.beyond_hex == 0 && self.others == 0 && self.digits + self.lowers + self.uppers > 0
    }

    pub(crate) fn is_digits(&self) -> bool {
        self.digits == self.length
    }

    /// Of small letters, capitals, digits and the rest: how many are there.
    pub(crate) fn classes(&self) -> usize {
        [self.lowers, self.uppers, self.digits, self.others].iter().filter(|n| **n > 0).count()
    }

    /// Sixteenths of a bit per pair by which this is more like writing than like chance.
    pub(crate) fn likeness(&self) -> i32 {
        let mut sum = self.ratio;
        if self.lowers > 0 && self.uppers > 0 {
            // A capital follows a small letter in one of four pairs by chance, in one of twenty in names.
            let rises = self.rises as i32;
            sum += -37 * rises + 5 * (self.letter_pairs as i32 - rises);
        }
        if self.pairs == 0 { 64 } else { sum / self.pairs as i32 }
    }

    /// Whether it looks drawn at random, with `threshold` the entropy asked for of a long string (4.5 is the middle).
    pub(crate) fn is_random(&self, threshold: f32) -> bool {
        if self.is_digits() || self.length < 8 || self.distinct < 5 || self.steps * 2 > self.length {
            return false;
        }
        if self.is_hex() {
            // Pairs say little of sixteen signs, but letters and digits mixed do.
            let one_case = self.lowers == 0 || self.uppers == 0;
            let letters = self.lowers + self.uppers;
            let mixed = self.digits * 5 >= self.length && letters * 8 >= self.length;
            return one_case && mixed && self.distinct >= 8 && self.entropy() >= self.limit(threshold);
        }
        self.likeness() <= self.random_enough() && self.entropy() >= self.limit(threshold)
    }

    /// A string without digits has to look stranger: names have none either.
    fn random_enough(&self) -> i32 {
        match (self.digits, self.uppers > 0 && self.lowers > 0) {
            (0, true) => RANDOM - 6,
            (0, false) => RANDOM - 4,
            _ => RANDOM,
        }
    }

    /// The entropy asked for, scaled: twenty characters cannot have what sixty-four have, nor hexadecimal what base64 has.
    pub(crate) fn limit(&self, threshold: f32) -> f32 {
        let alphabet = if self.is_hex() {
            16
        } else {
            26 * usize::from(self.lowers > 0)
                + 26 * usize::from(self.uppers > 0)
                + 10 * usize::from(self.digits > 0)
                + 2
        };
        let most = (alphabet.min(self.length).max(2) as f32).log2();
        let share = if self.is_hex() { 0.7 } else { 0.8 };
        share * most * threshold / 4.5
    }
}

/// By how much `n · log₂ n` grows from a count to the next: the sum over a string's characters gives its entropy.
fn gain(count: u16) -> f32 {
    let sum = |n: f32| if n > 0.0 { n * n.log2() } else { 0.0 };
    sum(f32::from(count) + 1.0) - sum(f32::from(count))
}

static GAIN: LazyLock<[f32; 32]> = LazyLock::new(|| std::array::from_fn(|count| gain(count as u16)));

/// Whether it has the exact form of a UUID.
pub(crate) fn is_uuid(text: &[u8]) -> bool {
    text.len() == 36
        && text.iter().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// Whether it has the length and alphabet of a digest: MD5, SHA-1, SHA-2 and their like, in hexadecimal or base64.
pub(crate) fn has_digest_length(text: &[u8]) -> bool {
    let hex = text.iter().all(u8::is_ascii_hexdigit);
    if hex {
        return matches!(text.len(), 32 | 40 | 48 | 56 | 64 | 96 | 128);
    }
    let padding = text.iter().rev().take_while(|b| **b == b'=').count();
    matches!((text.len(), padding), (24, 2) | (28, 1) | (44, 1) | (64, 0) | (88, 2) | (22 | 27 | 43 | 86, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(text: &str) -> bool {
        Look::at(text.as_bytes()).is_random(4.5)
    }

    #[test]
    fn names_paths_and_words_are_not_random() {
        for text in [
            "this_is_a_rather_long_function_name",
            "InternationalizationSupportFactory",
            "x86_64-unknown-linux-gnu",
            "usr/share/doc/libssl-dev/changelog",
            "getElementsByClassNameAndAttribute",
            "SECP256K1_CONTEXT_VERIFY",
            "0000000000000000000000000000",
            "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "12345678901234567890",
            "test_utf8_decoding_of_long_strings_2",
        ] {
            assert!(!random(text), "{text} {:?}", Look::at(text.as_bytes()));
        }
    }

    // shows: HRD-036, HRD-F10
    #[expect(clippy::print_stdout, reason = "the rates are what one wants to read")]
    #[test]
    fn random_strings_of_every_length_and_alphabet_are_caught_and_the_rate_is_known() {
        let alphabets = ["b62", "b64url", "b64", "lowernum", "uppernum", "hex", "b32"];
        for length in [20, 24, 28, 32, 40, 48, 64] {
            for alphabet in alphabets {
                let drawn = |n: usize| {
                    crate::example::written_out(&format!("<{alphabet}:{length}>{}", " ".repeat(n))).unwrap()
                };
                let caught = (0..400).filter(|n| random(drawn(*n).trim_end())).count();
                let rate = caught * 100 / 400;
                println!("{length:>3} {alphabet:<9} {rate}%");
                let least = if length < 24 || alphabet == "b32" { 86 } else { 93 };
                assert!(rate >= least, "{length} characters of {alphabet}: {rate}%");
            }
        }
    }

    #[test]
    fn digests_and_uuids_are_known_by_their_form() {
        assert!(is_uuid(b"123e4567-e89b-12d3-a456-426614174000"));
        assert!(!is_uuid(b"123e4567-e89b-12d3-a456-42661417400g"));
        assert!(!is_uuid(b"123e4567e89b12d3a456426614174000"));
        assert!(has_digest_length(&[b'a'; 40]));
        assert!(!has_digest_length(&[b'a'; 41]));
    }
}
