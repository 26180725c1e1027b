//! Whether the check digits of each id hold. Digits are 0 to 9; text is in capitals. Both have the length of a form of the
//! id, and digits and letters where the form has them.

use super::super::checks::{day_month, ean, luhn, mod_11_10, pair, remainder, verhoeff, weighted};

/// The value of one capital or digit as numbers count on past nine: A is 10.
fn value(byte: u8) -> u32 {
    if byte.is_ascii_digit() { u32::from(byte - b'0') } else { u32::from(byte - b'A') + 10 }
}

/// Text of digits as a number; letters never reach it.
fn whole(text: &[u8]) -> u32 {
    text.iter().fold(0u32, |sum, b| sum.wrapping_mul(10).wrapping_add(value(*b)))
}

/// `yymmdd` at `at` is a day.
fn born(digits: &[u8], at: usize) -> bool {
    day_month(pair(digits, at + 4), pair(digits, at + 2))
}

pub(super) fn curp(text: &[u8]) -> bool {
    const ORDER: &[u8] = b"0123456789ABCDEFGHIJKLMN*OPQRSTUVWXYZ";
    let worth = |byte: &u8| ORDER.iter().position(|b| b == byte).unwrap_or(0) as u32;
    let sum: u32 = text[..17].iter().zip((2..=18).rev()).map(|(byte, weight)| worth(byte) * weight).sum();
    matches!(text[10], b'H' | b'M' | b'X') && (10 - sum % 10) % 10 == value(text[17])
}

pub(super) fn resident(text: &[u8]) -> bool {
    let year = whole(&text[6..10]);
    let day = day_month(whole(&text[12..14]) as u8, whole(&text[10..12]) as u8);
    let sum: u32 = text[..17]
        .iter()
        .zip([7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2])
        .map(|(b, w)| value(*b) * w)
        .sum();
    let known = matches!(text[0], b'1'..=b'8');
    known && (1900..2100).contains(&year) && day && b"10X98765432"[(sum % 11) as usize] == text[17]
}

pub(super) fn codice_fiscale(text: &[u8]) -> bool {
    const ODD: [u32; 26] =
        [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    let place = |byte: u8| if byte.is_ascii_digit() { byte - b'0' } else { byte - b'A' };
    let sum: u32 = text[..15]
        .iter()
        .enumerate()
        .map(|(at, byte)| if at % 2 == 0 { ODD[usize::from(place(*byte))] } else { u32::from(place(*byte)) })
        .sum();
    b"ABCDEHLMPRST".contains(&text[8]) && u32::from(text[15] - b'A') == sum % 26
}

pub(super) fn nir(text: &[u8]) -> bool {
    let mut digits = [0; 15];
    for (digit, byte) in digits.iter_mut().zip(text) {
        *digit = if byte.is_ascii_digit() { byte - b'0' } else { 0 };
    }
    let corsica = match text[6] {
        b'A' => 1_000_000,
        b'B' => 2_000_000,
        byte if byte.is_ascii_digit() => 0,
        _ => return false,
    };
    if corsica != 0 && text[5] != b'2' {
        return false;
    }
    let month = pair(&digits, 3);
    let body = digits[..13].iter().fold(0u64, |sum, d| sum * 10 + u64::from(*d)) - corsica;
    let key = u64::from(pair(&digits, 13));
    matches!(text[0], b'1' | b'2')
        && matches!(month, 1..=12 | 20 | 30..=42 | 50..=99)
        && 97 - body % 97 == key
}

fn brazil(digits: &[u8], weights: &[u32]) -> bool {
    let rest = weighted(digits, weights) % 11;
    u32::from(digits[weights.len()]) == if rest < 2 { 0 } else { 11 - rest }
}

pub(super) fn cnpj(digits: &[u8]) -> bool {
    brazil(digits, &[5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])
        && brazil(digits, &[6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])
}

pub(super) fn cpf(digits: &[u8]) -> bool {
    let varied = digits.iter().any(|d| *d != digits[0]);
    varied
        && brazil(digits, &[10, 9, 8, 7, 6, 5, 4, 3, 2])
        && brazil(digits, &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2])
}

pub(super) fn ahv(digits: &[u8]) -> bool {
    digits[..3] == [7, 5, 6] && ean(digits)
}

pub(super) fn rrn(digits: &[u8]) -> bool {
    let sum = weighted(digits, &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]);
    born(digits, 0) && (11 - sum % 11) % 10 == u32::from(digits[12])
}

pub(super) fn cnp(digits: &[u8]) -> bool {
    let rest = weighted(digits, &[2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
    digits[0] != 0 && born(digits, 1) && u32::from(digits[12]) == if rest == 10 { 1 } else { rest }
}

pub(super) fn south_africa(digits: &[u8]) -> bool {
    born(digits, 0) && digits[10] <= 2 && luhn(digits)
}

pub(super) fn aadhaar(digits: &[u8]) -> bool {
    digits[0] >= 2 && verhoeff(digits)
}

pub(super) fn cuit(digits: &[u8]) -> bool {
    let known = matches!(pair(digits, 0), 20 | 23 | 24 | 25 | 26 | 27 | 30 | 33 | 34);
    let rest = weighted(digits, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
    known && (11 - rest) % 11 == u32::from(digits[10])
}

pub(super) fn belgium(digits: &[u8]) -> bool {
    let (body, key) = (remainder(&digits[..9], 97), u64::from(pair(digits, 9)));
    // Those born from 2000 on count with a 2 before.
    let later = (2_000_000_000 % 97 + body) % 97;
    97 - body == key || 97 - later == key
}

pub(super) fn steuer_id(digits: &[u8]) -> bool {
    digits[0] != 0 && mod_11_10(digits)
}

pub(super) fn pesel(digits: &[u8]) -> bool {
    let sum = weighted(digits, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3]);
    day_month(pair(digits, 4), pair(digits, 2) % 20) && (10 - sum % 10) % 10 == u32::from(digits[10])
}

pub(super) fn norway(digits: &[u8]) -> bool {
    let first = weighted(digits, &[3, 7, 6, 1, 8, 9, 4, 5, 2, 1]) % 11;
    first == 0 && weighted(digits, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]).is_multiple_of(11)
}

pub(super) fn amka(digits: &[u8]) -> bool {
    day_month(pair(digits, 0), pair(digits, 2)) && luhn(digits)
}

pub(super) fn kimlik(digits: &[u8]) -> bool {
    let odd: u32 = (0..9).step_by(2).map(|at| u32::from(digits[at])).sum();
    let even: u32 = (1..8).step_by(2).map(|at| u32::from(digits[at])).sum();
    let all: u32 = digits[..10].iter().map(|d| u32::from(*d)).sum();
    digits[0] != 0 && (odd * 7 + 100 - even) % 10 == u32::from(digits[9]) && all % 10 == u32::from(digits[10])
}

pub(super) fn medicare(digits: &[u8]) -> bool {
    matches!(digits[0], 2..=6) && weighted(digits, &[1, 3, 7, 9, 1, 3, 7, 9]) % 10 == u32::from(digits[8])
}

pub(super) fn hetu(text: &[u8]) -> bool {
    let (tail, digits) = (&text[text.len() - 4..], &text[..6]);
    if !tail[..3].iter().all(u8::is_ascii_digit) || (text.len() == 11 && !b"ABCDEFYXWVU".contains(&text[6])) {
        return false;
    }
    let day = day_month(whole(&digits[..2]) as u8, whole(&digits[2..4]) as u8);
    let number = whole(digits) * 1000 + whole(&tail[..3]);
    day && b"0123456789ABCDEFHJKLMNPRSTUVWXY"[(number % 31) as usize] == tail[3]
}

pub(super) fn nhs(digits: &[u8]) -> bool {
    let check = 11 - weighted(digits, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    check != 10 && check % 11 == u32::from(digits[9])
}

pub(super) fn sweden(digits: &[u8]) -> bool {
    let short = &digits[digits.len() - 10..];
    let day = pair(short, 4);
    day_month(if day > 60 { day - 60 } else { day }, pair(short, 2)) && luhn(short)
}

pub(super) fn cpr(digits: &[u8]) -> bool {
    // The sum over eleven has not been promised since 2007; the day has.
    day_month(pair(digits, 0), pair(digits, 2))
}

pub(super) fn austria(digits: &[u8]) -> bool {
    let check = weighted(digits, &[3, 7, 9, 0, 5, 8, 4, 2, 1, 6]) % 11;
    digits[0] != 0 && check == u32::from(digits[3])
}

pub(super) fn birth_number(digits: &[u8]) -> bool {
    day_month(pair(digits, 4), pair(digits, 2) % 50 % 20) && remainder(digits, 11) == 0
}

pub(super) fn egn(digits: &[u8]) -> bool {
    let check = weighted(digits, &[2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11 % 10;
    day_month(pair(digits, 4), pair(digits, 2) % 20) && check == u32::from(digits[9])
}

pub(super) fn taiwan(text: &[u8]) -> bool {
    const ORDER: &[u8] = b"ABCDEFGHJKLMNPQRSTUVXYWZIO";
    let Some(place) = ORDER.iter().position(|b| *b == text[0]) else { return false };
    let region = place as u32 + 10;
    let rest: u32 =
        text[1..].iter().zip([8, 7, 6, 5, 4, 3, 2, 1, 1]).map(|(b, weight)| value(*b) * weight).sum();
    matches!(text[1], b'1' | b'2' | b'8' | b'9') && (region / 10 + region % 10 * 9 + rest).is_multiple_of(10)
}

pub(super) fn pan(text: &[u8]) -> bool {
    b"ABCFGHLJPT".contains(&text[3])
}

pub(super) fn nino(text: &[u8]) -> bool {
    let (first, second) = (text[0], text[1]);
    let never = [b"BG", b"GB", b"KN", b"NK", b"NT", b"TN", b"ZZ"];
    !b"DFIQUV".contains(&first)
        && !b"DFIOQUV".contains(&second)
        && !never.contains(&&[first, second])
        && matches!(text[8], b'A'..=b'D')
}

pub(super) fn nric(text: &[u8]) -> bool {
    let sum: u32 = text[1..8].iter().zip([2, 7, 6, 5, 4, 3, 2]).map(|(b, weight)| value(*b) * weight).sum();
    let (extra, letters) = match text[0] {
        b'S' => (0, b"JZIHGFEDCBA"),
        b'T' => (4, b"JZIHGFEDCBA"),
        b'F' => (0, b"XWUTRQPNMLK"),
        b'G' => (4, b"XWUTRQPNMLK"),
        b'M' => (3, b"XWUTRQPNJLK"),
        _ => return false,
    };
    letters[((sum + extra) % 11) as usize] == text[8]
}

const DNI_LETTERS: &[u8; 23] = b"TRWAGMYFPDXBNJZSQVHLCKE";

pub(super) fn dni(text: &[u8]) -> bool {
    DNI_LETTERS[(whole(&text[..8]) % 23) as usize] == text[8]
}

pub(super) fn nie(text: &[u8]) -> bool {
    let lead = match text[0] {
        b'X' => 0,
        b'Y' => 10_000_000,
        b'Z' => 20_000_000,
        _ => return false,
    };
    DNI_LETTERS[((lead + whole(&text[1..8])) % 23) as usize] == text[8]
}

pub(super) fn rut(text: &[u8]) -> bool {
    let Some((last, body)) = text.split_last() else { return false };
    let sum: u32 =
        body.iter().rev().zip([2, 3, 4, 5, 6, 7].iter().cycle()).map(|(b, weight)| value(*b) * weight).sum();
    b"0K987654321"[(sum % 11) as usize] == *last
}

pub(super) fn pps(text: &[u8]) -> bool {
    let second = text.get(8).map_or(0, |b| if *b == b'W' { 0 } else { u32::from(b - b'A') + 1 });
    let sum: u32 = text[..7].iter().zip((2..=8).rev()).map(|(b, weight)| value(*b) * weight).sum();
    b"WABCDEFGHIJKLMNOPQRSTUV"[((sum + second * 9) % 23) as usize] == text[7]
}

pub(super) fn bsn(digits: &[u8]) -> bool {
    let sum = weighted(digits, &[9, 8, 7, 6, 5, 4, 3, 2]);
    digits.iter().any(|d| *d != 0) && sum % 11 == u32::from(digits[8])
}

pub(super) fn portugal(digits: &[u8]) -> bool {
    let check = 11 - weighted(digits, &[9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    digits[0] != 0 && u32::from(digits[8]) == if check > 9 { 0 } else { check }
}

pub(super) fn taj(digits: &[u8]) -> bool {
    weighted(digits, &[3, 7, 3, 7, 3, 7, 3, 7]) % 10 == u32::from(digits[8])
}

pub(super) fn canada(digits: &[u8]) -> bool {
    digits[0] != 8 && luhn(digits)
}

pub(super) fn tfn(digits: &[u8]) -> bool {
    weighted(digits, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11)
}

pub(super) fn ird(digits: &[u8]) -> bool {
    let (check, body) = (digits[digits.len() - 1], &digits[..digits.len() - 1]);
    let close = |weights: &[u32]| (11 - weighted(body, &weights[8 - body.len()..]) % 11) % 11;
    let first = close(&[3, 2, 7, 6, 5, 4, 3, 2]);
    u32::from(check) == if first == 10 { close(&[7, 4, 3, 2, 5, 2, 7, 6]) } else { first }
}

pub(super) fn hong_kong(text: &[u8]) -> bool {
    let Some((last, body)) = text.split_last() else { return false };
    let sum: u32 = body.iter().rev().zip(2..).map(|(b, weight)| value(*b) * weight).sum();
    let blank = if body.len() == 7 { 36 * 9 } else { 0 };
    let check = (11 - (sum + blank) % 11) % 11;
    if check == 10 { *last == b'A' } else { value(*last) == check }
}
