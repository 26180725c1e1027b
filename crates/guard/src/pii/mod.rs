//! Personal data in text: mail addresses, phone numbers, cards, accounts, ids, addresses of machines and places, birth
//! dates, web addresses.
//!
//! The engine makes one pass over a text and calls here at triggers: a run of letters and digits that holds a digit
//! ([`word`]), an at sign ([`at_sign`]), `://` ([`scheme`]), `www.` ([`www`]) and `::` ([`double_colon`]).
//!
//! What holds for each of them:
//! - the answer depends on nothing beyond [`BEFORE_MAX`] bytes before the trigger and [`AFTER_MAX`] after its start, so
//!   a stream cut anywhere else gives the same answer;
//! - a trigger costs at most that window, so time is linear in the text whatever it holds;
//! - nothing is allocated unless something is found;
//! - any bytes are taken, valid text or not, and a span begins and ends where a character does.
//!
//! Absent on purpose: names and postal addresses, which cannot be told from other words by their form.

mod address;
mod birth;
mod card;
mod checks;
mod cluster;
mod context;
mod iban;
mod mail;
mod national;
mod phone;
mod place;
mod registry;
mod ssn;
mod url;

#[cfg(test)]
mod linear;
#[cfg(test)]
mod pass;

use crate::hit::Hit;
use cluster::Cluster;

pub(crate) use mail::at_sign;
pub(crate) use url::{scheme, www};

/// How far before a trigger anything looks.
pub(crate) const BEFORE_MAX: usize = 128;
/// How far after the start of a trigger anything looks.
pub(crate) const AFTER_MAX: usize = 160;

/// A run longer than this is a digest, a key or noise; the longest thing known here, an IBAN, has 34.
const WORD_MAX: usize = 64;
/// A run no longer than this is nothing by itself unless a word, a sign or letters before it say so.
const LONE_MAX: usize = 6;

/// The names of the national ids that can be found.
pub(crate) fn national_ids() -> impl Iterator<Item = &'static str> {
    registry::ENTRIES.iter().map(|entry| entry.id).chain(["us_itin", "passport", "drivers_licence"])
}

/// Judges `text[start..end]`, a whole run of letters and digits with a digit in it, together with what it is part of.
/// Answers where to go on: the end of the run, or of what was found.
pub(crate) fn word(text: &[u8], start: usize, end: usize, out: &mut Vec<Hit>) -> usize {
    let start = start + usize::from(cluster::escaped(text, start + 1));
    if end - start > WORD_MAX {
        return end;
    }
    let found = if text[start..end].iter().all(u8::is_ascii_digit) {
        digits(text, start, end, out)
    } else {
        mixed(text, start, end, out)
    };
    found.map_or(end, |reached| reached.max(end))
}

/// `text[at..]` starts with `::`: an IPv6 address that begins so, or whose words hold no digit.
pub(crate) fn double_colon(text: &[u8], at: usize, out: &mut Vec<Hit>) -> usize {
    address::colons(text, at, out).map_or(at + 2, |reached| reached.max(at + 2))
}

/// A run of digits alone. Most of them in most texts are a lone small number, which the first lines turn away.
fn digits(text: &[u8], start: usize, end: usize, out: &mut Vec<Hit>) -> Option<usize> {
    let (before, after) = neighbours(text, start, end);
    if (after == b':' || before == b':')
        && let Some(reached) = address::colons(text, start, out)
    {
        return Some(reached);
    }
    if end - start <= LONE_MAX && !cluster::continues(text, end) {
        return lone(text, start, end, out);
    }
    let cluster = Cluster::read(text, start);
    if cluster.len() == 0 {
        return None;
    }
    if let Some(reached) = birth::plain_date(text, &cluster) {
        return birth::judge(text, &cluster, out).or(Some(reached));
    }
    let machine = place::judge(text, &cluster, out)
        .or_else(|| address::dotted(text, &cluster, out))
        .or_else(|| address::hardware(text, start, end, out));
    if machine.is_some() || cluster::left(text, start) == cluster::Left::Joined {
        return machine;
    }
    ssn::judge(text, &cluster, out)
        .or_else(|| card::judge(text, &cluster, out))
        .or_else(|| birth::judge(text, &cluster, out))
        .or_else(|| national::judge(text, &cluster, out))
        .or_else(|| phone::judge(text, &cluster, out))
}

/// A few digits that no other group follows.
fn lone(text: &[u8], start: usize, end: usize, out: &mut Vec<Hit>) -> Option<usize> {
    match end - start {
        1..=3 if text.get(end) == Some(&0xC2) => place::degrees(text, start, out),
        1 | 2 => birth::worded(text, start, end, out).or_else(|| address::hardware(text, start, end, out)),
        4 => address::hardware(text, start, end, out),
        6 => national::lone(text, start, end, out),
        _ => None,
    }
}

fn neighbours(text: &[u8], start: usize, end: usize) -> (u8, u8) {
    (cluster::byte_before(text, start), text.get(end).copied().unwrap_or(b' '))
}

/// A run with letters in it.
fn mixed(text: &[u8], start: usize, end: usize, out: &mut Vec<Hit>) -> Option<usize> {
    let (before, after) = neighbours(text, start, end);
    if end - start <= 4 {
        let colon = before == b':' || after == b':';
        let machine =
            if colon { address::colons(text, start, out) } else { address::hardware(text, start, end, out) };
        let day = cluster::run(text, start, 3);
        return machine
            .or_else(|| if day == 0 { None } else { birth::worded(text, start, start + day, out) })
            .or_else(|| iban::judge(text, start, end, out));
    }
    if !text[start].is_ascii_digit() {
        return iban::judge(text, start, end, out).or_else(|| national::lettered(text, start, end, out));
    }
    national::lettered(text, start, end, out).or_else(|| {
        // `2125550123x45`: a number and its extension in one run.
        let extended = text[start..end].iter().any(|b| matches!(b, b'x' | b'X'));
        if extended { phone::judge(text, &Cluster::read(text, start), out) } else { None }
    })
}
