//! Payment cards: 12 to 19 digits with a valid check digit, in a row or grouped by single spaces or hyphens.
//!
//! Where the first digits and the length are those of a known network nothing more is asked. Any other number that
//! passes the check does so one time in ten by chance, so it needs a word such as "card" before it.

use super::checks::luhn;
use super::cluster::{Cluster, Gap, Left, ends, left};
use super::context::{self, Words};
use crate::hit::{Hit, Known};

#[rustfmt::skip]
static WORDS: Words = Words::new(&[
    "card*", "cc", "credit*", "debit*", "visa", "mastercard*", "amex", "american express", "maestro",
    "discover", "diners*", "jcb", "unionpay", "pan", "ccn", "ccnum*", "karte*", "kreditkarte*", "carte",
    "tarjeta", "carta", "cartão", "kort*", "kaart", "kart*",
]);

/// First digits, as a range over as many digits as they have, and the lengths given out.
#[rustfmt::skip]
const NETWORKS: &[(u32, u32, usize, usize)] = &[
    (4, 4, 16, 16), (4, 4, 19, 19), (4, 4, 13, 13), (51, 55, 16, 16), (2221, 2720, 16, 16), (34, 34, 15, 15),
    (37, 37, 15, 15), (6011, 6011, 16, 19), (644, 649, 16, 19), (65, 65, 16, 19), (62, 62, 16, 19),
    (3528, 3589, 16, 19), (1800, 1800, 15, 15), (2131, 2131, 15, 15), (300, 305, 14, 14), (36, 36, 14, 14),
    (38, 39, 14, 14), (5018, 5018, 16, 19), (5020, 5020, 16, 19), (5038, 5038, 16, 19), (5893, 5893, 16, 19),
    (6304, 6304, 16, 19), (6759, 6759, 16, 19), (6761, 6763, 16, 19), (2200, 2204, 16, 16), (60, 60, 16, 16),
    (508, 508, 16, 16), (81, 82, 16, 16), (9792, 9792, 16, 16),
];

/// The ways a card is printed; other groupings are believed only beside a word.
const PRINTED: &[&[usize]] =
    &[&[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4], &[4, 4, 4, 4, 3], &[4, 4, 5], &[4, 4, 4, 3], &[4, 4, 4, 2]];

pub(super) fn judge(text: &[u8], cluster: &Cluster, out: &mut Vec<Hit>) -> Option<usize> {
    let start = cluster.groups()[0].start;
    for groups in (1..=cluster.len()).rev() {
        let digits = cluster.digits(groups);
        if !(12..=19).contains(&digits.len()) {
            continue;
        }
        let end = cluster.groups()[groups - 1].end;
        if let Some((confidence, reason)) = verdict(text, cluster, groups, digits)
            && bounded(text, cluster, groups)
        {
            out.push(Hit { known: Known::CreditCard, start, end, confidence, reason });
            return Some(end);
        }
    }
    None
}

fn verdict(text: &[u8], cluster: &Cluster, groups: usize, digits: &[u8]) -> Option<(u8, &'static str)> {
    let even = cluster.gaps_are(groups, Gap::Space) || cluster.gaps_are(groups, Gap::Hyphen);
    if !even || !luhn(digits) || digits.iter().all(|d| *d == digits[0]) {
        return None;
    }
    let printed = groups == 1 || PRINTED.iter().any(|sizes| cluster.sizes_are(groups, sizes));
    let start = cluster.groups()[0].start;
    let spoken = || context::says(text, start, &WORDS);
    if printed && of_network(digits) {
        // Thirteen digits are also those of a product code, whose check digit is not this one.
        let sure = digits.len() > 13 || spoken();
        return sure.then_some((95, "digits of a card network with a valid check digit"));
    }
    // The last groups of a longer number pass the check by chance.
    (left(text, start) == Left::Clean && spoken())
        .then_some((85, "valid check digit beside a word for cards"))
}

/// Not part of more digits on either side; an expiry date may follow after a space.
fn bounded(text: &[u8], cluster: &Cluster, groups: usize) -> bool {
    let (start, end) = (cluster.groups()[0].start, cluster.groups()[groups - 1].end);
    let before = left(text, start);
    let clean =
        before == Left::Clean || before == Left::Spaced || (before == Left::Named && text[start - 1] == b'#');
    let more = cluster.groups().get(groups).is_some_and(|next| next.gap != Gap::Space);
    clean && !more && ends(text, end)
}

fn of_network(digits: &[u8]) -> bool {
    NETWORKS.iter().any(|&(from, to, least, most)| {
        let width = from.ilog10() as usize + 1;
        let head = digits[..width].iter().fold(0, |sum, d| sum * 10 + u32::from(*d));
        (from..=to).contains(&head) && (least..=most).contains(&digits.len())
    })
}

#[cfg(test)]
mod tests {
    use super::super::pass::check;

    #[test]
    fn the_published_test_numbers_of_each_network_are_taken() {
        for number in [
            "4111111111111111",
            "4111 1111 1111 1111",
            "4111-1111-1111-1111",
            "5555555555554444",
            "2223003122003222",
            "378282246310005",
            "3782 822463 10005",
            "6011111111111117",
            "3530111333300000",
            "30569309025904",
            "3056 930902 5904",
            "6200000000000005",
            "6759649826438453",
        ] {
            check(&format!("it is {number}, thanks"), &[("credit_card", number)]);
        }
    }

    #[test]
    fn a_wrong_check_digit_is_kept() {
        for number in ["4111111111111112", "4111 1111 1111 1112", "378282246310006", "0000000000000000"] {
            check(&format!("card {number}"), &[]);
        }
    }

    #[test]
    fn an_unknown_network_needs_a_word() {
        check("card 630427373398", &[("credit_card", "630427373398")]);
        check("job 630427373398", &[]);
        check("card 1234 5678 9012 3456", &[]);
        check("at 1700000000003 and 1700000000000009", &[]);
    }

    #[test]
    fn part_of_a_longer_number_is_no_card() {
        for text in [
            "0.4111111111111111",
            "4111111111111111.5",
            "a4111111111111111",
            "4111 1111 1111 1111-2",
            "4111111111111111_2",
        ] {
            check(text, &[]);
        }
        check("4111 1111 1111 1111 12/27", &[("credit_card", "4111 1111 1111 1111")]);
        check("12 4111 1111 1111 1111", &[("credit_card", "4111 1111 1111 1111")]);
    }
}
