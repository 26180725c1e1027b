//! Check digits. Digits are 0 to 9 in order; functions that take text take it in capitals without separators.

/// The check of cards and many ids: every second digit from the right is doubled.
pub(super) fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| match (place % 2, u32::from(*digit) * 2) {
            (0, twice) => twice / 2,
            (_, twice) => twice / 10 + twice % 10,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// The sum of the digits times the weights; digits beyond the weights are left out.
pub(super) fn weighted(digits: &[u8], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(digit, weight)| u32::from(*digit) * weight).sum()
}

/// ISO 7064 modulo 11,10: the last digit closes a chain through all others.
pub(super) fn mod_11_10(digits: &[u8]) -> bool {
    let Some((last, body)) = digits.split_last() else { return false };
    let chained = body.iter().fold(10, |carry, digit| {
        let sum = (u32::from(*digit) + carry) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    (11 - chained) % 10 == u32::from(*last)
}

/// The check of product codes: weights 1 and 3 in turn.
pub(super) fn ean(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, d)| u32::from(*d) * if place % 2 == 0 { 1 } else { 3 })
        .sum();
    sum.is_multiple_of(10)
}

/// The number the digits make, modulo something small.
pub(super) fn remainder(digits: &[u8], modulus: u64) -> u64 {
    digits.iter().fold(0, |sum, digit| (sum * 10 + u64::from(*digit)) % modulus)
}

/// Verhoeff's check, which knows every swap of neighbours: the dihedral group of the pentagon.
pub(super) fn verhoeff(digits: &[u8]) -> bool {
    const TURN: [u8; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let turned = |digit: u8, times: usize| (0..times % 8).fold(digit, |d, _| TURN[usize::from(d)]);
    digits.iter().rev().enumerate().fold(0, |sum, (place, digit)| dihedral(sum, turned(*digit, place))) == 0
}

fn dihedral(a: u8, b: u8) -> u8 {
    match (a < 5, b < 5) {
        (true, true) => (a + b) % 5,
        (true, false) => (a + b) % 5 + 5,
        (false, true) => (a - b + 5) % 5 + 5,
        (false, false) => (a + 5 - b) % 5,
    }
}

/// A day that exists, as far as day and month tell; the year is not asked.
pub(super) fn day_month(day: u8, month: u8) -> bool {
    let longest = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 29,
        _ => return false,
    };
    (1..=longest).contains(&day)
}

/// Two digits as a number.
pub(super) fn pair(digits: &[u8], at: usize) -> u8 {
    digits[at] * 10 + digits[at + 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits(text: &str) -> Vec<u8> {
        text.bytes().map(|b| b - b'0').collect()
    }

    /// Each check takes its published example and refuses it with any one digit changed.
    #[test]
    fn every_single_wrong_digit_is_noticed() {
        type Rule = fn(&[u8]) -> bool;
        let checks: [(&str, Rule); 4] = [
            ("4111111111111111", luhn),
            ("36574261809", mod_11_10),
            ("4006381333931", ean),
            ("234123412346", verhoeff),
        ];
        for (number, check) in checks {
            let right = digits(number);
            assert!(check(&right), "{number}");
            for place in 0..right.len() {
                for other in (0..10).filter(|other| *other != right[place]) {
                    let mut wrong = right.clone();
                    wrong[place] = other;
                    assert!(!check(&wrong), "{number} with {other} at {place}");
                }
            }
        }
    }

    #[test]
    fn days_that_do_not_exist_are_refused() {
        assert!(day_month(29, 2) && day_month(31, 12));
        assert!(!day_month(30, 2) && !day_month(31, 4) && !day_month(0, 1) && !day_month(1, 13));
    }
}
