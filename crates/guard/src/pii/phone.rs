//! Phone numbers, told from other numbers by a plus, by brackets, by the grouping of a country, or by a word beside them.
//!
//! Three strengths: a form nothing else has; a form of some country, which a word against it ("order", "ISBN") outweighs;
//! and a form many numbers have, which needs a word for it ("phone", "call").

mod form;
mod words;

use super::cluster::{Cluster, Gap, Left, ends, left};
use crate::hit::{Hit, Known};
use form::Form;

/// More digits than this no number in the world has.
const DIGITS_MAX: usize = 15;

pub(super) fn judge(text: &[u8], cluster: &Cluster, out: &mut Vec<Hit>) -> Option<usize> {
    let lead = Lead::of(text, cluster.groups().first()?.start);
    if lead.left == Left::Joined || figures(cluster) {
        return None;
    }
    for groups in (1..=cluster.len()).rev() {
        let count = cluster.digits(groups).len();
        if !(6..=DIGITS_MAX + 2).contains(&count) {
            continue;
        }
        let Some(end) = complete(text, cluster, groups) else { continue };
        let form = form::of(text, cluster, groups, &lead);
        let whole = groups == cluster.len();
        if let Some((confidence, reason)) = accept(text, form, &lead, end, whole) {
            out.push(Hit { known: Known::Phone, start: lead.start, end, confidence, reason });
            return Some(end);
        }
    }
    None
}

/// Single figures in a row: a list, not a number.
fn figures(cluster: &Cluster) -> bool {
    cluster.groups().iter().take(4).filter(|group| group.len() == 1).count() > 2
}

/// What opens a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    None,
    Plus,
    Bracket,
}

struct Lead {
    /// Where the number begins, with its plus or bracket.
    start: usize,
    sign: Sign,
    left: Left,
}

impl Lead {
    fn of(text: &[u8], first: usize) -> Lead {
        let head = &text[..first];
        let (start, sign) = match head {
            [.., b'(', b'+'] | [.., b'+', b'('] => (first - 2, Sign::Plus),
            [.., b'+'] => (first - 1, Sign::Plus),
            [.., b'('] => (first - 1, Sign::Bracket),
            _ => (first, Sign::None),
        };
        Lead { start, sign, left: left(text, start) }
    }
}

/// The end of the number, with its extension, if nothing goes on there.
fn complete(text: &[u8], cluster: &Cluster, groups: usize) -> Option<usize> {
    let last = cluster.groups()[groups - 1];
    let end = last.end;
    if let Some(next) = cluster.groups().get(groups) {
        // Another group like the last makes it a list.
        let list = groups > 1 && last.gap == Gap::Space && next.len() == last.len();
        if list || !matches!(next.gap, Gap::Space | Gap::Open) {
            return None;
        }
    }
    if let Some(reached) = extension(text, end) {
        return Some(reached);
    }
    let decimal = text.get(end) == Some(&b',') && text.get(end + 1).is_some_and(u8::is_ascii_digit);
    let list = decimal && groups >= 3;
    (ends(text, end) && (!decimal || list)).then_some(end)
}

/// `x123`, ` ext. 123`, ` #12`: up to six digits.
fn extension(text: &[u8], end: usize) -> Option<usize> {
    let rest = text.get(end..)?;
    let rest = &rest[..rest.len().min(24)];
    let blank = rest.iter().take_while(|b| matches!(b, b' ' | b',')).count().min(2);
    let named = [&b"extension"[..], b"ext.", b"ext", b"x", b"durchwahl", b"poste"];
    let name = named
        .iter()
        .find(|name| rest[blank..].get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name)))?;
    let mut at = end + blank + name.len();
    at += usize::from(matches!(text.get(at), Some(b' ' | b':')));
    let digits = super::cluster::run(text, at, 7);
    ((1..=6).contains(&digits) && ends(text, at + digits)).then_some(at + digits)
}

fn accept(text: &[u8], form: Form, lead: &Lead, end: usize, whole: bool) -> Option<(u8, &'static str)> {
    match form {
        Form::No => None,
        Form::Sure(reason) => Some((90, reason)),
        Form::Likely(reason) => {
            let told = words::around(text, lead.start, end);
            let named = lead.left == Left::Named && !told.for_it();
            (!named && !told.against() && !words::counted(text, lead.start, end)).then_some((80, reason))
        }
        Form::Weak | Form::Bare => {
            // Not a number of a list, nor a part of a name.
            if !whole || lead.left != Left::Clean {
                return None;
            }
            let told = words::around(text, lead.start, end);
            let enough = if form == Form::Bare { told.plainly_for_it() } else { told.for_it() };
            (enough && !words::counted(text, lead.start, end))
                .then_some((75, "digits beside a word for phones"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pass::check;

    fn taken(text: &str, number: &str) {
        check(text, &[("phone", number)]);
    }

    #[test]
    fn a_plus_or_brackets_are_enough() {
        for number in [
            "+1-212-555-0123",
            "+1 (212) 555-0123",
            "+44 20 7946 0958",
            "+447700900123",
            "+46 (0)8 928 571 38",
            "+41 (0)96 471 07 95",
            "+49 30 123456",
            "+33 6 12 34 56 78",
            "+351 912 345 678",
            "+91-98765-43210",
            "+86 138 1234 5678",
            "(37) 788-063",
            "(08) 9076 0123",
            "(212) 555-0123",
            "(212)555-0123",
            "(01632) 960123",
            "(11) 91234-5678",
            "(021) 123-4567",
            "1 (212) 555-0123",
            "8 (912) 345-67-89",
        ] {
            taken(&format!("see {number}."), number);
        }
    }

    #[test]
    fn the_grouping_of_a_country_is_enough() {
        for number in [
            "212-555-0123",
            "212.555.0123",
            "212 555 0123",
            "1-800-555-0199",
            "07700 900123",
            "06 12 34 56 78",
            "01.84.17.61.18",
            "030 123456",
            "0490 75 40 81",
            "60-56-85-91",
            "044 668 18 00",
            "083 564 9312",
            "0688 872 49 99",
            "06-12345678",
            "0480-123 45 67",
            "010-1234-5678",
            "090-1234-5678",
            "0532 123 45 67",
            "8-912-345-67-89",
            "138 1234 5678",
            "1300 123 456",
            "0046 8 123 456 78",
            "001-345-899-3560",
            "030/123456",
            "02/123.45.67",
            "912 345 678",
            "345-899-3560x4587",
            "212-555-0123 ext. 45",
        ] {
            taken(&format!("see {number}."), number);
        }
    }

    #[test]
    fn other_forms_need_a_word_before_or_after() {
        for number in [
            "467 3395",
            "78 651 450",
            "9472 7916",
            "416 60 039",
            "21 284 698 2548",
            "555-0123",
            "9498777106",
            "98765 43210",
        ] {
            check(&format!("see {number}."), &[]);
            taken(&format!("Phone: {number}"), number);
            taken(&format!("Téléphone :\n{number}"), number);
            taken(&format!("please call me on {number}?"), number);
            taken(&format!("{number} (mobile)"), number);
        }
    }

    #[test]
    fn the_nearest_word_decides() {
        check("call about order 467 3395", &[]);
        check("order number 9498777106", &[]);
        taken("my number is 9498777106", "9498777106");
        taken("about my order: no message on my registered 212-555-0123", "212-555-0123");
        check("the office is at 17031 2202 Rissik St", &[]);
        taken("Office: 467 3395", "467 3395");
        check("tracking number 212-555-0123", &[]);
        check("a so-called ISO-10646-1 font, so-called ISO-8859-1234", &[]);
    }

    #[test]
    fn other_numbers_are_kept() {
        for text in [
            "call me at 2024-01-15 10:30",
            "phone him on 15.03.2024",
            "call 12/1/1981",
            "text 10:30:45",
            "call foo(12345678, 9)",
            "call version 192.168.1.10",
            "a total of 12 345 678 bytes",
            "call 1,234,567",
            "number 3.14159265",
            "contact 1990-2000",
            "dial 0x1234567890",
            "2024-01-15T10:00:00+02:00",
            "+262142-12-31",
            "sum of 4 + 4294967295",
            "const FILL_RING: u64 = 4294967296; const SET_CALL: u32 = 2148052769;",
            "port 8080",
            "zip 12345-6789",
            "$212 555 0123",
            "1 000 000 000 people",
            "550e8400-e29b-41d4-a716-446655440000",
            "call 123456789012345678",
            "ISBN 978-3-16-148410-0",
            "from 10 20 30 40 50",
            "01 02 03 04 05 06 07 08 09 10 11 12",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn numbers_beside_each_other_are_told_apart() {
        check("212-555-0123,212-555-0124", &[("phone", "212-555-0123"), ("phone", "212-555-0124")]);
        check("Tel:\\n467 3395\\n212-555-0123\\n", &[("phone", "467 3395"), ("phone", "212-555-0123")]);
        check("in 2024 212-555-0123 24 hours", &[("phone", "212-555-0123")]);
    }
}
