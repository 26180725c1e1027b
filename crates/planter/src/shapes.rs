//! Shapes: so many characters of an alphabet, tails that check what stands before them, and a few composed ones.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};

use crate::rng::Rng;
use crate::template::span;

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const DIGITS: &str = "0123456789";
const BASE62: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Draws a shape by name; `argument` says how long, or what stands before a tail.
pub(crate) fn draw(rng: &mut Rng, name: &str, argument: &str) -> Option<String> {
    if let Some(alphabet) = alphabet(name) {
        let range = span(argument).unwrap_or_else(|| panic!("how many of {name:?}? {argument:?} says not"));
        let n = rng.within(range);
        return Some(rng.text(&alphabet, n));
    }
    Some(match name {
        "bytes64" => BASE64_STANDARD.encode(bytes(rng, argument)),
        "bytes64url" => BASE64_URL_SAFE_NO_PAD.encode(bytes(rng, argument)),
        "crc62" => checked_62(argument, 6),
        "crc36" => checked_36(rng, argument),
        "int" => number(rng, argument),
        "uuid" => uuid(rng),
        "jwt" => jwt(rng),
        _ => return None,
    })
}

fn alphabet(name: &str) -> Option<String> {
    let upper = LOWER.to_uppercase();
    Some(match name {
        "b62" => BASE62.to_owned(),
        "low" => format!("{LOWER}{DIGITS}"),
        "up" => format!("{upper}{DIGITS}"),
        "hex" => format!("{DIGITS}abcdef"),
        "HEX" => format!("{DIGITS}ABCDEF"),
        "dig" => DIGITS.to_owned(),
        "abc" => format!("{LOWER}{upper}"),
        "ABC" => upper,
        "id" => format!("{BASE62}_-"),
        "b64" => format!("{BASE62}+/"),
        "b32" => format!("{upper}234567"),
        "b32low" => format!("{LOWER}234567"),
        "bech32" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".to_owned(),
        "tilde" => format!("{BASE62}_~.-"),
        _ => return None,
    })
}

fn bytes(rng: &mut Rng, argument: &str) -> Vec<u8> {
    let range = span(argument).unwrap_or_else(|| panic!("how many bytes? {argument:?} says not"));
    let n = rng.within(range);
    rng.bytes(n)
}

fn number(rng: &mut Rng, argument: &str) -> String {
    rng.within(span(argument).unwrap_or(1..=99)).to_string()
}

pub(crate) fn uuid(rng: &mut Rng) -> String {
    let hex = rng.text("0123456789abcdef", 32);
    let variant = rng.pick(&['8', '9', 'a', 'b']);
    format!("{}-{}-4{}-{variant}{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
}

fn jwt(rng: &mut Rng) -> String {
    let id = rng.within(1000..=999_999);
    let issued = rng.within(1_690_000_000..=1_760_000_000);
    let scope = rng.pick(&["admin", "service", "reader", "billing:write"]);
    let head = r#"{"alg":"HS256","typ":"JWT"}"#;
    let body = format!(r#"{{"sub":"{id}","scope":"{scope}","iat":{issued},"exp":{}}}"#, issued + 31_536_000);
    let encode = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
    format!("{}.{}.{}", encode(head), encode(&body), BASE64_URL_SAFE_NO_PAD.encode(rng.bytes(32)))
}

/// The text with its CRC32 behind it, in base 62, as GitHub and npm do it: the check is over the random part alone,
/// which follows the last underscore.
fn checked_62(text: &str, digits: usize) -> String {
    let random = text.rsplit('_').next().unwrap_or(text);
    format!("{text}{}", in_base(crc32(random.as_bytes()), BASE62, digits))
}

/// GitLab's routable tokens: two characters of length, then seven of CRC32 over all that stands before, in base 36.
fn checked_36(rng: &mut Rng, text: &str) -> String {
    let body = format!("{text}.{}", rng.text("0123456789abcdefghijklmnopqrstuvwxyz", 2));
    format!("{body}{}", in_base(crc32(body.as_bytes()), "0123456789abcdefghijklmnopqrstuvwxyz", 7))
}

fn in_base(mut value: u32, digits: &str, width: usize) -> String {
    let digits = digits.as_bytes();
    let mut out = vec!['0'; width];
    for place in out.iter_mut().rev() {
        *place = char::from(digits[value as usize % digits.len()]);
        value /= digits.len() as u32;
    }
    out.into_iter().collect()
}

fn crc32(bytes: &[u8]) -> u32 {
    let shift = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_is_the_published_one() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(in_base(0, BASE62, 6), "000000");
        assert_eq!(in_base(u32::MAX, BASE62, 6), "4gfFC3");
    }

    #[test]
    fn a_tail_changes_with_what_it_checks() {
        let tail = |text: &str| checked_62(text, 6)[text.len()..].to_owned();
        assert_ne!(tail("a_bcd"), tail("a_bce"));
        assert_eq!(tail("a_bcd"), tail("b_bcd"));
    }

    #[test]
    fn shapes_have_the_length_asked_for() {
        let mut rng = Rng::new(1);
        for (name, argument, len) in
            [("b62", "20", 20), ("hex", "40", 40), ("bytes64", "64", 88), ("uuid", "", 36)]
        {
            assert_eq!(draw(&mut rng, name, argument).map(|s| s.len()), Some(len), "{name}");
        }
        assert_eq!(draw(&mut rng, "unheard", ""), None);
        assert_eq!(draw(&mut rng, "jwt", "").map(|s| s.matches('.').count()), Some(2));
    }
}
