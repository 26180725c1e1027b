//! Bank accounts as IBAN: country, its length, and the check over 97. In a row or in fours, whatever the case.

use crate::hit::{Hit, Known};

const LENGTH_MAX: usize = 34;

/// The countries of the registry and how long their accounts are.
#[rustfmt::skip]
const LENGTHS: &[(&[u8; 2], usize)] = &[
    (b"AD", 24), (b"AE", 23), (b"AL", 28), (b"AT", 20), (b"AZ", 28), (b"BA", 20), (b"BE", 16), (b"BG", 22),
    (b"BH", 22), (b"BI", 27), (b"BR", 29), (b"BY", 28), (b"CH", 21), (b"CR", 22), (b"CY", 28), (b"CZ", 24),
    (b"DE", 22), (b"DJ", 27), (b"DK", 18), (b"DO", 28), (b"EE", 20), (b"EG", 29), (b"ES", 24), (b"FI", 18),
    (b"FK", 18), (b"FO", 18), (b"FR", 27), (b"GB", 22), (b"GE", 22), (b"GI", 23), (b"GL", 18), (b"GR", 27),
    (b"GT", 28), (b"HN", 28), (b"HR", 21), (b"HU", 28), (b"IE", 22), (b"IL", 23), (b"IQ", 23), (b"IS", 26),
    (b"IT", 27), (b"JO", 30), (b"KW", 30), (b"KZ", 20), (b"LB", 28), (b"LC", 32), (b"LI", 21), (b"LT", 20),
    (b"LU", 20), (b"LV", 21), (b"LY", 25), (b"MC", 27), (b"MD", 24), (b"ME", 22), (b"MK", 19), (b"MN", 20),
    (b"MR", 27), (b"MT", 31), (b"MU", 30), (b"NI", 28), (b"NL", 18), (b"NO", 15), (b"OM", 23), (b"PK", 24),
    (b"PL", 28), (b"PS", 29), (b"PT", 25), (b"QA", 29), (b"RO", 24), (b"RS", 22), (b"RU", 33), (b"SA", 24),
    (b"SC", 31), (b"SD", 18), (b"SE", 24), (b"SI", 19), (b"SK", 24), (b"SM", 27), (b"SO", 23), (b"ST", 25),
    (b"SV", 28), (b"TL", 23), (b"TN", 24), (b"TR", 26), (b"UA", 29), (b"VA", 22), (b"VG", 24), (b"XK", 20),
    (b"YE", 30),
];

/// `text[start..end]` is a run that begins with a letter.
pub(super) fn judge(text: &[u8], start: usize, end: usize, out: &mut Vec<Hit>) -> Option<usize> {
    let length = length_of(text, start, end)?;
    if start > 0 && matches!(text[start - 1], b'_' | b'.') {
        return None;
    }
    let mut account = [0; LENGTH_MAX];
    let reached = collect(text, start, &mut account[..length])?;
    if text.get(reached).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
        || remainder(&account[..length]) != 1
    {
        return None;
    }
    out.push(Hit {
        known: Known::Iban,
        start,
        end: reached,
        confidence: 98,
        reason: "account of a known country with valid check digits",
    });
    Some(reached)
}

/// How long an account of this country is, if the run begins as one.
fn length_of(text: &[u8], start: usize, end: usize) -> Option<usize> {
    let head = text[start..end].get(..4)?;
    if !(head[..2].iter().all(u8::is_ascii_alphabetic) && head[2..].iter().all(u8::is_ascii_digit)) {
        return None;
    }
    let country = [head[0].to_ascii_uppercase(), head[1].to_ascii_uppercase()];
    LENGTHS.iter().find(|(name, _)| **name == country).map(|(_, length)| *length)
}

/// Fills the account from the text; a space or hyphen may stand after each four.
fn collect(text: &[u8], start: usize, account: &mut [u8]) -> Option<usize> {
    let mut at = start;
    let grouped = text.get(start + 4).is_some_and(|b| matches!(b, b' ' | b'-' | 0xC2));
    for (index, place) in account.iter_mut().enumerate() {
        if grouped && index > 0 && index % 4 == 0 {
            at += if text.get(at) == Some(&b'-') { 1 } else { super::cluster::space(text, at) };
        }
        let byte = *text.get(at).filter(|b| b.is_ascii_alphanumeric())?;
        *place = byte.to_ascii_uppercase();
        at += 1;
    }
    Some(at)
}

fn remainder(account: &[u8]) -> u32 {
    account[4..].iter().chain(&account[..4]).fold(0, |sum, byte| match byte {
        b'0'..=b'9' => (sum * 10 + u32::from(byte - b'0')) % 97,
        _ => (sum * 100 + u32::from(byte - b'A') + 10) % 97,
    })
}

#[cfg(test)]
mod tests {
    use super::super::pass::check;

    #[test]
    fn accounts_of_many_countries_are_taken_in_a_row_and_in_fours() {
        for account in [
            "GB82WEST12345698765432",
            "GB82 WEST 1234 5698 7654 32",
            "gb82west12345698765432",
            "DE89370400440532013000",
            "DE89 3704 0044 0532 0130 00",
            "FR1420041010050500013M02606",
            "NL91ABNA0417164300",
            "NO9386011117947",
            "NO93 8601 1117 947",
            "BE68539007547034",
            "ES9121000418450200051332",
            "CH9300762011623852957",
            "IT60X0542811101000000123456",
            "MT84MALT011000012345MTLCAST001S",
            "SE4550000000058398257466",
            "PL61109010140000071219812874",
        ] {
            check(&format!("Pay to {account} today."), &[("iban", account)]);
        }
    }

    #[test]
    fn a_wrong_check_length_or_country_is_kept() {
        for text in [
            "GB82WEST12345698765433",
            "GB82WEST1234569876543",
            "GB82WEST123456987654321",
            "ZZ82WEST12345698765432",
            "GB82",
        ] {
            check(text, &[]);
        }
    }
}
