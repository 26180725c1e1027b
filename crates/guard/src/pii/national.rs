//! Numbers a state gives its people: those of the [registry](super::registry), and passports and driving licences, which
//! have no check digit and are believed only right after their name.

use super::cluster::{Cluster, Left, ends, left, space};
use super::context::{self, Words};
use super::registry::{Check, Entry, LENGTH_MAX, entries};
use crate::hit::{Hit, Known};

/// No id made of digits alone has fewer.
const DIGITS_MIN: usize = 7;
/// A document's number stands within this of its name.
const DOCUMENT_REACH: usize = 24;

static PASSPORT: Words =
    Words::new(&["passport*", "reisepass*", "passeport*", "pasaporte*", "passaporto*", "paspoort*"]);
#[rustfmt::skip]
static DOCUMENTS: Words = Words::new(&[
    "passport*", "reisepass*", "passeport*", "pasaporte*", "passaporto*", "paspoort*", "driver license*",
    "driver licence*", "drivers license*", "drivers licence*", "driver's license*", "driver's licence*",
    "driver’s license*", "driver’s licence*", "driving license*", "driving licence*", "dl number", "dl no",
    "führerschein*", "permis de conduire", "license number", "licence number",
]);

/// A run of digits with others behind it, or a long one.
pub(super) fn judge(text: &[u8], cluster: &Cluster, out: &mut Vec<Hit>) -> Option<usize> {
    let run = cluster.groups().first()?;
    let long = cluster.digits(cluster.len()).len() >= DIGITS_MIN;
    let found = if long { known(text, run.start, out) } else { None };
    found.or_else(|| after_letters(text, run.start, out)).or_else(|| document(text, run.start, run.end, out))
}

/// Six digits with nothing behind them.
pub(super) fn lone(text: &[u8], start: usize, end: usize, out: &mut Vec<Hit>) -> Option<usize> {
    after_letters(text, start, out).or_else(|| document(text, start, end, out))
}

/// A run that holds letters too.
pub(super) fn lettered(text: &[u8], start: usize, end: usize, out: &mut Vec<Hit>) -> Option<usize> {
    if end - start < 6 || left(text, start) == Left::Joined {
        return None;
    }
    known(text, start, out).or_else(|| document(text, start, end, out))
}

/// `AB 12 34 56 C`: the run of digits comes after letters of the same number.
fn after_letters(text: &[u8], start: usize, out: &mut Vec<Hit>) -> Option<usize> {
    let [before @ .., first, second, b' ' | b'-'] = &text[..start] else { return None };
    let bounded = before.last().is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'_');
    let capitals = first.is_ascii_uppercase() && second.is_ascii_uppercase();
    if capitals && bounded { known(text, start - 3, out) } else { None }
}

fn known(text: &[u8], start: usize, out: &mut Vec<Hit>) -> Option<usize> {
    if left(text, start) == Left::Joined {
        return None;
    }
    let lengths = lengths(text, start);
    entries(lengths, text[start].is_ascii_digit()).find_map(|entry| {
        let (end, confidence) = alone(text, start, entry).or_else(|| told(text, start, lengths, entry))?;
        let reason = if confidence > 85 {
            "form and check digits of a national id"
        } else {
            "check digits of a national id beside its name"
        };
        out.push(Hit { known: Known::NationalId(entry.id), start, end, confidence, reason });
        Some(end)
    })
}

/// How many letters and digits stand up to each separator and to the end, a bit for each count. A word in small letters
/// is not part of a number.
fn lengths(text: &[u8], start: usize) -> u32 {
    let (mut at, mut count, mut found) = (start, 0, 0u32);
    loop {
        let run = text
            .get(at..)
            .unwrap_or_default()
            .iter()
            .take(LENGTH_MAX + 1)
            .take_while(|b| b.is_ascii_alphanumeric())
            .count();
        count += run;
        at += run;
        if run == 0 || count > LENGTH_MAX {
            return found;
        }
        found |= 1 << count;
        let wide = if text.get(at) == Some(&b'(') { 1 } else { separator(text, at) };
        if wide == 0 || text.get(at + wide).is_none_or(u8::is_ascii_lowercase) {
            return found;
        }
        at += wide;
    }
}

fn alone(text: &[u8], start: usize, entry: &Entry) -> Option<(usize, u8)> {
    let fit = entry.alone.iter().find_map(|form| Fit::exactly(text, start, form))?;
    (fit.capitals && fit.holds(entry.check)).then_some((fit.end, 90))
}

fn told(text: &[u8], start: usize, lengths: u32, entry: &Entry) -> Option<(usize, u8)> {
    // A lone figure before a separator is an item of a list.
    if lengths & 0b10 != 0 {
        return None;
    }
    entry.told.iter().filter(|form| lengths >> form.len() & 1 == 1).find_map(|form| {
        let fit = Fit::loosely(text, start, form)?;
        (fit.holds(entry.check) && context::says(text, start, &entry.words)).then_some((fit.end, 85))
    })
}

/// A text that has the form of an id: its letters and digits, in capitals, without what separates them.
struct Fit {
    compact: [u8; LENGTH_MAX],
    length: usize,
    end: usize,
    /// No small letter stood in it.
    capitals: bool,
}

impl Fit {
    /// The form as it is written, separators and all.
    fn exactly(text: &[u8], start: usize, form: &str) -> Option<Fit> {
        Fit::read(text, start, form, false)
    }

    /// The letters and digits of the form, with single separators anywhere between.
    fn loosely(text: &[u8], start: usize, form: &str) -> Option<Fit> {
        Fit::read(text, start, form, true)
    }

    fn read(text: &[u8], start: usize, form: &str, loose: bool) -> Option<Fit> {
        let mut fit = Fit { compact: [0; LENGTH_MAX], length: 0, end: start, capitals: true };
        for wanted in form.bytes() {
            if loose && fit.length > 0 {
                fit.end += separator(text, fit.end);
            }
            let byte = *text.get(fit.end)?;
            match wanted {
                b'9' if byte.is_ascii_digit() => fit.keep(byte)?,
                b'A' if byte.is_ascii_alphabetic() => fit.keep(byte)?,
                b'*' if byte.is_ascii_alphanumeric() => fit.keep(byte)?,
                b' ' if space(text, fit.end) > 0 => fit.end += space(text, fit.end),
                _ if wanted == byte && !byte.is_ascii_alphanumeric() => fit.end += 1,
                _ => return None,
            }
        }
        ends(text, fit.end).then_some(fit)
    }

    fn keep(&mut self, byte: u8) -> Option<()> {
        *self.compact.get_mut(self.length)? = byte.to_ascii_uppercase();
        self.length += 1;
        self.end += 1;
        self.capitals &= !byte.is_ascii_lowercase();
        Some(())
    }

    fn holds(&self, check: Check) -> bool {
        let compact = &self.compact[..self.length];
        match check {
            Check::Text(check) => check(compact),
            Check::Digits(check) => {
                let mut digits = self.compact;
                digits.iter_mut().for_each(|b| *b = b.wrapping_sub(b'0'));
                check(&digits[..self.length])
            }
        }
    }
}

fn separator(text: &[u8], at: usize) -> usize {
    let wide = match text.get(at) {
        Some(b'-' | b'.' | b'/' | b'+') => 1,
        _ => space(text, at),
    };
    let goes_on = text.get(at + wide).is_some_and(u8::is_ascii_alphanumeric);
    if goes_on { wide } else { 0 }
}

/// A passport or driving licence: letters, digits and hyphens right after its name.
fn document(text: &[u8], start: usize, end: usize, out: &mut Vec<Hit>) -> Option<usize> {
    let end = document_end(text, start, end)?;
    let window = context::before(text, start);
    let far = context::nearest(window, &DOCUMENTS).filter(|far| *far <= DOCUMENT_REACH)?;
    let passport = context::nearest(window, &PASSPORT) == Some(far);
    let id = if passport { "passport" } else { "drivers_licence" };
    out.push(Hit {
        known: Known::NationalId(id),
        start,
        end,
        confidence: 75,
        reason: "number right after the name of a document",
    });
    Some(end)
}

/// Where it ends, if it could be one: six to sixteen letters and digits, four digits at least, perhaps with hyphens.
fn document_end(text: &[u8], start: usize, end: usize) -> Option<usize> {
    let mut end = end;
    while text.get(end) == Some(&b'-') && end - start < 16 {
        let more = text[end + 1..].iter().take(16).take_while(|b| b.is_ascii_alphanumeric()).count();
        if more == 0 {
            break;
        }
        end += 1 + more;
    }
    let body = &text[start..end];
    let digits = body.iter().filter(|b| b.is_ascii_digit()).count();
    let fits = (6..=18).contains(&body.len()) && digits >= 4 && !matches!(left(text, start), Left::Joined);
    (fits && ends(text, end)).then_some(end)
}

#[cfg(test)]
mod tests;
