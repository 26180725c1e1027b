//! Dates of birth: a date in any common form right after a word such as "born". Only the date is taken.

use super::checks::day_month;
use super::cluster::{Cluster, Gap, Left, ends, left, number, run};
use super::context::{self, Words};
use crate::hit::{Hit, Known};

#[rustfmt::skip]
static WORDS: Words = Words::new(&[
    "born", "birth", "birthday", "birthdate", "birth_date", "dob", "d.o.b", "dateofbirth", "bday", "geb",
    "geboren*", "geburtsdatum", "geburtstag", "née le", "né le", "née", "né", "naissance", "nacimiento",
    "nacido", "nacida", "nació", "nascimento", "nascido", "nascida", "nato il", "nata il", "nascita",
    "geboortedatum", "född", "födelsedatum", "født", "fødselsdato", "syntynyt", "syntymäaika", "urodz*",
    "narozen*", "született", "родил*", "рождения", "生日", "出生", "生年月日", "생년월일",
]);

/// The first three bytes of the months in the languages above, in small letters.
#[rustfmt::skip]
static MONTHS: Words = Words::new(&[
    "jan*", "feb*", "mar*", "apr*", "may*", "jun*", "jul*", "aug*", "sep*", "oct*", "nov*", "dec*", "mär*", "mai*", "okt*",
    "dez*", "fé*", "avr*", "jui*", "aoû*", "aou*", "dé*", "ene*", "abr*", "ago*", "dic*", "fev*", "set*", "out*", "gen*",
    "mag*", "giu*", "lug*", "ott*", "maa*", "mei*", "maj*",
]);

/// A date in figures at the head of the cluster, or in words around its first figure.
pub(super) fn judge(text: &[u8], cluster: &Cluster, out: &mut Vec<Hit>) -> Option<usize> {
    let first = cluster.groups().first()?;
    match numeric(text, cluster).or_else(|| compact(text, cluster)) {
        Some(date) => told(text, date, out),
        None => worded(text, first.start, first.end, out),
    }
}

/// A date with its month in letters, around the day in `text[start..end]`.
pub(super) fn worded(text: &[u8], start: usize, end: usize, out: &mut Vec<Hit>) -> Option<usize> {
    if end - start > 2 || !(1..=31).contains(&number(&text[start..end])) {
        return None;
    }
    told(text, day_first(text, start, end).or_else(|| month_first(text, start, end))?, out)
}

fn told(text: &[u8], (start, end): (usize, usize), out: &mut Vec<Hit>) -> Option<usize> {
    if left(text, start) == Left::Joined || !context::says(text, start, &WORDS) {
        return None;
    }
    out.push(Hit {
        known: Known::BirthDate,
        start,
        end,
        confidence: 85,
        reason: "a date right after a word for birth",
    });
    Some(end)
}

/// The end of a date whose year has four digits, so that nothing else need look at it.
pub(super) fn plain_date(text: &[u8], cluster: &Cluster) -> Option<usize> {
    let (_, end) = numeric(text, cluster)?;
    let [first, _, third, ..] = cluster.groups() else { return None };
    (first.len() == 4 || third.len() == 4).then_some(end)
}

/// `1981-03-05`, `5.3.1981`, `03/05/81`.
fn numeric(text: &[u8], cluster: &Cluster) -> Option<(usize, usize)> {
    let [first, second, third, ..] = cluster.groups() else { return None };
    if second.gap != third.gap
        || !matches!(second.gap, Gap::Hyphen | Gap::Dot | Gap::Slash)
        || second.len() > 2
    {
        return None;
    }
    let value = |group| cluster.value(text, group);
    let whole = match (first.len(), third.len()) {
        (4, 1 | 2) => year(value(0)) && day(value(2), value(1)),
        (1 | 2, 4) => year(value(2)) && either(value(0), value(1)),
        (1 | 2, 2) => cluster.len() == 3 && either(value(0), value(1)),
        _ => false,
    };
    let more = cluster.groups().get(3).is_some_and(|next| next.gap == second.gap);
    let time = matches!(text.get(third.end), Some(b'T' | b'_'));
    (whole && !more && (ends(text, third.end) || time)).then_some((first.start, third.end))
}

/// `19810305` or `05031981`.
fn compact(text: &[u8], cluster: &Cluster) -> Option<(usize, usize)> {
    let [only] = cluster.groups() else { return None };
    let digits = &text[only.start..only.end];
    if digits.len() != 8 || !ends(text, only.end) {
        return None;
    }
    let part = |from: usize, to: usize| number(&digits[from..to]);
    let date = (year(part(0, 4)) && day(part(6, 8), part(4, 6)))
        || (year(part(4, 8)) && either(part(0, 2), part(2, 4)));
    date.then_some((only.start, only.end))
}

/// `5 March 1981`, `5th of March, 1981`, `5. März 1981`, `5 de marzo de 1981`.
fn day_first(text: &[u8], start: usize, end: usize) -> Option<(usize, usize)> {
    let at = joined(text, end + ordinal(text, end));
    let month = month(text, at)?;
    Some((start, year_at(text, joined(text, month))?))
}

/// `March 5, 1981`.
fn month_first(text: &[u8], start: usize, end: usize) -> Option<(usize, usize)> {
    let head = text[..start].strip_suffix(b" ")?;
    let head = head.strip_suffix(b".").unwrap_or(head);
    let letters = head.iter().rev().take(12).take_while(|b| b.is_ascii_alphabetic() || **b >= 0x80).count();
    let from = head.len() - letters;
    month(text, from)?;
    let at = joined(text, end + ordinal(text, end));
    Some((from, year_at(text, at)?))
}

fn year(value: u32) -> bool {
    (1850..=2100).contains(&value)
}

fn day(day: u32, month: u32) -> bool {
    u8::try_from(day).is_ok_and(|day| u8::try_from(month).is_ok_and(|month| day_month(day, month)))
}

fn either(first: u32, second: u32) -> bool {
    day(first, second) || day(second, first)
}

/// `st`, `nd`, `rd`, `th`, or the point that other languages write.
fn ordinal(text: &[u8], at: usize) -> usize {
    match text.get(at..).unwrap_or_default() {
        [b's', b't', ..]
        | [b'n' | b'r', b'd', ..]
        | [b't', b'h', ..]
        | [b'e', b'r', ..]
        | [0xC2, 0xBA, ..] => 2,
        [b'.', ..] => 1,
        _ => 0,
    }
}

/// Passes over what stands between the parts of a date.
fn joined(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let plain = rest.iter().take(2).take_while(|b| matches!(b, b' ' | b',' | b'-' | b'.')).count();
    let word = [&b"of "[..], b"de ", b"del "]
        .iter()
        .find(|word| rest[plain..].starts_with(word))
        .map_or(0, |word| word.len());
    at + plain + word
}

/// The end of the month's name that begins here.
fn month(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    if !rest.first()?.is_ascii_alphabetic() {
        return None;
    }
    MONTHS.at(rest)?;
    let name = rest.iter().take(13).take_while(|b| b.is_ascii_alphabetic() || **b >= 0x80).count();
    (3..=12).contains(&name).then_some(at + name)
}

fn year_at(text: &[u8], at: usize) -> Option<usize> {
    let end = at + 4;
    (run(text, at, 5) == 4 && year(number(&text[at..end])) && ends(text, end)).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::super::pass::check;

    #[test]
    fn dates_after_a_word_for_birth_are_taken() {
        for date in [
            "1981-03-05",
            "05/03/1981",
            "5.3.1981",
            "3/5/81",
            "5 March 1981",
            "5th of March, 1981",
            "March 5, 1981",
            "Mar. 5th 1981",
            "5. März 1981",
            "5 de marzo de 1981",
            "5 mars 1981",
            "19810305",
        ] {
            check(&format!("she was born on {date}, at home"), &[("birth_date", date)]);
            check(&format!("DOB: {date}"), &[("birth_date", date)]);
            check(&format!("geb. am {date}"), &[("birth_date", date)]);
        }
        check("née le 14 juillet 1989", &[("birth_date", "14 juillet 1989")]);
        check("\"dateOfBirth\": \"1981-03-05T00:00:00\"", &[("birth_date", "1981-03-05")]);
    }

    #[test]
    fn other_dates_are_kept() {
        for text in [
            "released on 1981-03-05",
            "due March 5, 1981",
            "born in 1981",
            "born 13/13/1981",
            "born on the 5th",
            "version born 1.2.3",
            "born 99-99-9999",
        ] {
            check(text, &[]);
        }
    }
}
