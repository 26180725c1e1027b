//! Coordinates: a pair of decimals that could be a latitude and a longitude, or degrees with N, S, E, W.
//!
//! Two decimals beside each other are also prices, weights and vectors. So a pair needs four places after the point, or
//! three and a word for places; a longer list of numbers is none, nor are two numbers below one.

use super::cluster::{Cluster, Gap, number, run};
use super::context::{self, Words};
use crate::hit::{Hit, Known};

#[rustfmt::skip]
static WORDS: Words = Words::new(&[
    "lat", "latitude", "lon", "lng", "long", "longitude", "latlng", "coord*", "gps", "location*", "located",
    "position*", "geo*", "map*", "koordinaten", "standort", "coordonnées", "ubicación", "place", "pin",
    "waypoint",
]);
static LATITUDE: Words = Words::new(&["lat", "latitude"]);
static LONGITUDE: Words = Words::new(&["lon*", "lng"]);
/// The numbers of a list stand this close.
const LIST_REACH: usize = 8;
/// How many bytes may stand between a labelled latitude and its longitude.
const LABEL_MAX: usize = 24;

/// A decimal as written.
struct Decimal {
    start: usize,
    end: usize,
    whole: u32,
    places: usize,
}

impl Decimal {
    fn at(text: &[u8], at: usize) -> Option<Decimal> {
        let signed = usize::from(matches!(text.get(at), Some(b'-' | b'+')));
        let first = at + signed;
        let whole = run(text, first, 4);
        let point = first + whole;
        if !(1..=3).contains(&whole) || text.get(point) != Some(&b'.') {
            return None;
        }
        let places = run(text, point + 1, 17);
        let end = point + 1 + places;
        let clean = !text.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        (clean && (1..=16).contains(&places)).then(|| Decimal {
            start: at,
            end,
            whole: number(&text[first..point]),
            places,
        })
    }
}

pub(super) fn judge(text: &[u8], cluster: &Cluster, out: &mut Vec<Hit>) -> Option<usize> {
    let [whole, places, ..] = cluster.groups() else { return None };
    if places.gap != Gap::Dot || places.len() < 3 || whole.len() > 3 {
        return None;
    }
    if text.get(places.end) == Some(&0xC2) {
        return degrees(text, whole.start, out);
    }
    let signed = matches!(text[..whole.start], [.., b'-' | b'+']);
    let latitude = Decimal::at(text, whole.start - usize::from(signed))?;
    if listed_before(text, latitude.start) {
        return None;
    }
    pair(text, &latitude, out).or_else(|| labelled(text, &latitude, out))
}

/// `48.8584, 2.2945`.
fn pair(text: &[u8], latitude: &Decimal, out: &mut Vec<Hit>) -> Option<usize> {
    let gap = text[latitude.end..].iter().take(3).take_while(|b| matches!(b, b',' | b';' | b' ')).count();
    let longitude = Decimal::at(text, latitude.end + gap)?;
    let comma = text[latitude.end..latitude.end + gap].iter().any(|b| matches!(b, b',' | b';'));
    if gap == 0 || !on_earth(latitude, &longitude) || listed_after(text, longitude.end) {
        return None;
    }
    let exact = latitude.places.min(longitude.places);
    let small = latitude.whole == 0 && longitude.whole == 0;
    let enough = comma && exact >= 4 && !small;
    if !enough && (exact < 3 || !context::says(text, latitude.start, &WORDS)) {
        return None;
    }
    push(latitude.start, longitude.end, "a latitude and a longitude", out)
}

/// `"lat": 48.8584, "lng": 2.2945`.
fn labelled(text: &[u8], latitude: &Decimal, out: &mut Vec<Hit>) -> Option<usize> {
    let near = context::nearest(context::before(text, latitude.start), &LATITUDE)?;
    let label = text[latitude.end..]
        .iter()
        .take(LABEL_MAX)
        .take_while(|b| !b.is_ascii_digit() && !matches!(b, b'-' | b'+'))
        .count();
    let between = &text[latitude.end..latitude.end + label];
    let longitude = Decimal::at(text, latitude.end + label)?;
    let named = context::first(between, &LONGITUDE).is_some();
    if near > 4 || !named || !on_earth(latitude, &longitude) || latitude.places.min(longitude.places) < 3 {
        return None;
    }
    push(latitude.start, latitude.end, "a latitude beside its name", out);
    push(longitude.start, longitude.end, "a longitude beside its name", out)
}

fn on_earth(latitude: &Decimal, longitude: &Decimal) -> bool {
    latitude.whole < 90 && longitude.whole < 180
}

/// A number and a comma stand before it, or it is part of something.
fn listed_before(text: &[u8], start: usize) -> bool {
    let near = &text[start.saturating_sub(LIST_REACH)..start];
    match near.trim_ascii_end() {
        [.., digit, b',' | b';'] => digit.is_ascii_digit(),
        _ => near.last().is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_')),
    }
}

fn listed_after(text: &[u8], end: usize) -> bool {
    let rest = &text[end..text.len().min(end + LIST_REACH)];
    let after = rest.trim_ascii_start();
    match after {
        [b',' | b';', more @ ..] => matches!(more.trim_ascii_start(), [b'0'..=b'9' | b'-' | b'.', ..]),
        [b'.', digit, ..] => digit.is_ascii_digit(),
        _ => false,
    }
}

/// `48°51′29″N 2°17′40″E`, `48.8584° N, 2.2945° E`; `text[start]` is the first digit.
pub(super) fn degrees(text: &[u8], start: usize, out: &mut Vec<Hit>) -> Option<usize> {
    let (latitude, first) = angle(text, start)?;
    let gap = text[latitude..].iter().take(3).take_while(|b| matches!(b, b',' | b';' | b' ' | b'/')).count();
    let (end, second) = angle(text, latitude + gap)?;
    let crossed = matches!(first, b'N' | b'S') != matches!(second, b'N' | b'S');
    if crossed { push(start, end, "degrees north or south and east or west", out) } else { None }
}

/// Where an angle ends, and the direction that closes it.
fn angle(text: &[u8], start: usize) -> Option<(usize, u8)> {
    let mut at = start + figure(text, start)?;
    if text.get(at..at + 2) != Some(&[0xC2, 0xB0]) {
        return None;
    }
    at = blank(text, at + 2);
    for _ in 0..2 {
        let Some(length) = figure(text, at) else { break };
        at = blank(text, at + length + mark(text, at + length)?);
    }
    let direction = text.get(at)?.to_ascii_uppercase();
    let ends = !text.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
    (matches!(direction, b'N' | b'S' | b'E' | b'W' | b'O') && ends).then_some((at + 1, direction))
}

/// One to three digits, perhaps with decimals.
fn figure(text: &[u8], at: usize) -> Option<usize> {
    let whole = run(text, at, 4);
    let places =
        if matches!(text.get(at + whole), Some(b'.' | b',')) { run(text, at + whole + 1, 8) } else { 0 };
    (1..=3).contains(&whole).then_some(whole + if places > 0 { places + 1 } else { 0 })
}

/// A mark for minutes or seconds, typed or typeset.
fn mark(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at..)? {
        [b'\'', b'\'', ..] => Some(2),
        [b'\'' | b'"', ..] => Some(1),
        [0xE2, 0x80, 0xB2 | 0xB3 | 0x99 | 0x9D, ..] => Some(3),
        _ => None,
    }
}

fn blank(text: &[u8], at: usize) -> usize {
    at + super::cluster::space(text, at)
}

fn push(start: usize, end: usize, reason: &'static str, out: &mut Vec<Hit>) -> Option<usize> {
    out.push(Hit { known: Known::Coordinates, start, end, confidence: 80, reason });
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::super::pass::check;

    #[test]
    fn pairs_of_decimals_are_taken() {
        for place in ["48.8584, 2.2945", "-33.8568,151.2153", "40.712776, -74.005974", "51.5007; -0.1246"] {
            check(&format!("meet at {place}."), &[("coordinates", place)]);
        }
        check("GPS 48.858, 2.294", &[("coordinates", "48.858, 2.294")]);
        check("location 48.8584 2.2945", &[("coordinates", "48.8584 2.2945")]);
        check(r#"{"lat": 48.8584, "lng": 2.2945}"#, &[("coordinates", "48.8584"), ("coordinates", "2.2945")]);
    }

    #[test]
    fn degrees_are_taken() {
        for place in [
            "48°51′29″N 2°17′40″E",
            "48° 51' 29.6\" N, 2° 17' 40.2\" E",
            "48.8584° N, 2.2945° E",
            "51°30'N 0°7'W",
        ] {
            check(&format!("at {place}."), &[("coordinates", place)]);
        }
    }

    #[test]
    fn other_decimals_are_kept() {
        for text in [
            "12.50, 13.75",
            "48.858, 2.294",
            "0.1234, 0.5678",
            "[0.0123, 1.0456, 2.0789]",
            "1.2345, 2.3456, 3.4567",
            "148.8584, 2.2945",
            "48.8584, 202.2945",
            "v1.2345, 2.3456",
            "it is 48° N here",
            "20°C",
            "98.6°F, 37.0°C",
            "pi is 3.14159 and e 2.71828",
            "1.2345.6, 2.3456",
        ] {
            check(text, &[]);
        }
    }
}
