//! Examples of tokens, written without writing a token.
//!
//! A file full of real-looking keys sets off every scanner that reads it, ours included. So an example names the random
//! parts: `ghp_<b62:36>` stands for `ghp_` and 36 letters and digits, drawn anew but always the same for the same example.

use crate::shape::{ByteSet, Shape};

/// Why an example cannot be written out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the example has <{0}>, which is no alphabet and count")]
pub struct ExampleError(pub String);

/// Writes an example out. `<name:count>` is replaced; everything else stays. `<<` stands for `<`.
pub(crate) fn written_out(example: &str) -> Result<String, ExampleError> {
    let mut draw = Draw(seed(example));
    let mut out = String::with_capacity(example.len() + 64);
    let mut rest = example;
    while let Some(open) = rest.find('<') {
        out.push_str(&rest[..open]);
        rest = &rest[open + 1..];
        if let Some(after) = rest.strip_prefix('<') {
            out.push('<');
            rest = after;
            continue;
        }
        let wrong = || ExampleError(rest.chars().take(24).collect());
        let close = rest.find('>').ok_or_else(wrong)?;
        let (alphabet, count) = rest[..close].rsplit_once(':').ok_or_else(wrong)?;
        let alphabet = alphabet_of(alphabet).ok_or_else(wrong)?;
        let count: usize = count.parse().ok().filter(|n| *n <= 4096).ok_or_else(wrong)?;
        out.extend((0..count).map(|_| alphabet[draw.below(alphabet.len())] as char));
        rest = &rest[close + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

fn alphabet_of(name: &str) -> Option<Vec<u8>> {
    let class = match name {
        "digit" => "[0-9]",
        "hex" => "[0-9a-f]",
        "HEX" => "[0-9A-F]",
        "lower" => "[a-z]",
        "upper" => "[A-Z]",
        "lowernum" => "[a-z0-9]",
        "uppernum" => "[A-Z0-9]",
        "b62" => "[A-Za-z0-9]",
        "b64" => "[A-Za-z0-9+/]",
        "b64url" => "[A-Za-z0-9_-]",
        "b32" => "[A-Z2-7]",
        class if class.starts_with('[') && class.ends_with(']') => class,
        _ => return None,
    };
    // A class of one piece: every byte of which it is made matches it.
    let shape = Shape::parse(class).ok()?;
    let branch = shape.branches().first()?;
    let bytes: Vec<u8> = ByteSet::EMPTY
        .with_range(0x20, 0x7e)
        .bytes()
        .filter(|b| branch.matches(&[*b], 0).is_some())
        .collect();
    (!bytes.is_empty()).then_some(bytes)
}

fn seed(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// A small generator: examples need to look random, not to be unguessable.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_parts_are_drawn_and_always_the_same() {
        let once = written_out("ghp_<b62:36> and <<b>").unwrap();
        assert_eq!(once, written_out("ghp_<b62:36> and <<b>").unwrap());
        assert!(once.starts_with("ghp_") && once.ends_with(" and <b>"));
        assert_eq!(once.len(), 4 + 36 + 8);
        assert_ne!(once[4..40], written_out("gho_<b62:36>").unwrap()[4..40]);
    }

    #[test]
    fn an_unknown_alphabet_is_refused() {
        for wrong in ["<b63:3>", "<b62>", "<b62:x>", "<open", "<:3>"] {
            assert!(written_out(wrong).is_err(), "{wrong}");
        }
    }
}
