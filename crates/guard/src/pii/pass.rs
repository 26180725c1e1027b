//! The pass of the engine over a text, as far as personal data goes, for the tests here.

use super::{at_sign, double_colon, scheme, word, www};
use crate::hit::{Hit, Known};

/// Calls what the engine calls at each trigger, in order.
pub(super) fn scan(text: &[u8]) -> Vec<Hit> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < text.len() {
        at = step(text, at, &mut out);
    }
    out
}

fn step(text: &[u8], at: usize, out: &mut Vec<Hit>) -> usize {
    let rest = &text[at..];
    match rest[0] {
        b'@' => {
            at_sign(text, at, out);
            at + 1
        }
        b':' if rest.starts_with(b"://") => scheme(text, at, out),
        b':' if rest.starts_with(b"::") => double_colon(text, at, out),
        b if b.is_ascii_alphanumeric() => {
            if rest.get(..4).is_some_and(|head| head.eq_ignore_ascii_case(b"www.")) {
                return www(text, at, out);
            }
            let end = at + rest.iter().take_while(|b| b.is_ascii_alphanumeric()).count();
            if text[at..end].iter().any(u8::is_ascii_digit) { word(text, at, end, out) } else { end }
        }
        _ => at + 1,
    }
}

pub(super) fn id(known: Known) -> &'static str {
    match known {
        Known::Email => "email",
        Known::Phone => "phone",
        Known::Ssn => "ssn",
        Known::CreditCard => "credit_card",
        Known::Iban => "iban",
        Known::IpAddress => "ip_address",
        Known::MacAddress => "mac_address",
        Known::Coordinates => "coordinates",
        Known::BirthDate => "birth_date",
        Known::Url => "url",
        Known::NationalId(id) => id,
        other => panic!("{other:?} is not personal data"),
    }
}

/// What is found in a text, in the order in which it begins.
pub(super) fn found(text: &str) -> Vec<(&'static str, &str)> {
    let mut hits = scan(text.as_bytes());
    hits.sort_by_key(|hit| (hit.start, std::cmp::Reverse(hit.end)));
    hits.iter().map(|hit| (id(hit.known), &text[hit.start..hit.end])).collect()
}

pub(super) fn check(text: &str, expected: &[(&str, &str)]) {
    assert_eq!(found(text), expected, "{text:?}");
}
