//! One entry on its way into the tables: the header at once, the body only when somebody asks.
//!
//! The header is read by walking over the line's first fields, which stand in the order of the format and hold
//! nothing to unescape. A line that looks any different (a newer minor version's field, another spelling) is
//! parsed instead, so the shortcut never decides what is an entry.

use std::cell::OnceCell;
use std::ops::Range;

use holdfast_journal::{Entry, RawEntry, Subject};
use holdfast_types::{Timestamp, Trust};

use crate::projection::Halt;

/// An entry as a projection sees it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    scanned: &'a Scanned,
    header: Fields<'a>,
}

/// The header's fields, borrowed from the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fields<'a> {
    version: u16,
    at: i64,
    trust: Trust,
    origin: &'a str,
    kind: &'a str,
    actor: &'a str,
    subject: Option<&'a str>,
    run: Option<&'a str>,
}

impl<'a> Seen<'a> {
    pub fn seq(&self) -> u64 {
        self.scanned.raw.seq
    }

    /// The version of the kind's body.
    pub fn version(&self) -> u16 {
        self.header.version
    }

    /// Microseconds since 1970.
    pub fn at_micros(&self) -> i64 {
        self.header.at
    }

    /// The log it was first written to.
    pub fn origin(&self) -> &'a str {
        self.header.origin
    }

    pub fn kind(&self) -> &'a str {
        self.header.kind
    }

    pub fn actor(&self) -> &'a str {
        self.header.actor
    }

    /// The id of the agent or target it is about.
    pub fn subject(&self) -> Option<&'a str> {
        self.header.subject
    }

    pub fn run(&self) -> Option<&'a str> {
        self.header.run
    }

    pub fn trust(&self) -> Trust {
        self.header.trust
    }

    /// The exact bytes of the line.
    pub fn line(&self) -> &'a [u8] {
        &self.scanned.raw.line
    }

    /// The whole entry, parsed the first time anybody asks.
    pub fn entry(&self) -> Result<&'a Entry, Halt> {
        self.scanned.entry()
    }
}

/// A line with its header found; owned, so that it can be handed from the thread that reads to the one that writes.
#[derive(Debug)]
pub(crate) struct Scanned {
    raw: RawEntry,
    head: Head,
    entry: OnceCell<Result<Box<Entry>, String>>,
}

#[derive(Debug)]
enum Head {
    Quick(Spans),
    /// Found by parsing.
    Slow {
        at: i64,
        subject: Option<String>,
        run: Option<String>,
    },
}

/// Where the header's fields stand in the line.
#[derive(Debug, Default)]
struct Spans {
    version: u16,
    at: i64,
    trust: Option<Trust>,
    origin: Range<u32>,
    kind: Range<u32>,
    actor: Range<u32>,
    subject: Option<Range<u32>>,
    run: Option<Range<u32>>,
}

impl Scanned {
    pub(crate) fn new(raw: RawEntry) -> Scanned {
        if let Some(spans) = quick(&raw.line) {
            return Scanned { raw, head: Head::Quick(spans), entry: OnceCell::new() };
        }
        let parsed = Entry::parse(&raw.line).map(Box::new).map_err(|e| e.to_string());
        let (at, subject, run) = match &parsed {
            Ok(e) => (e.at.as_micros(), e.subject.map(subject_text), e.run.map(|run| run.to_string())),
            Err(_) => (0, None, None),
        };
        Scanned { raw, head: Head::Slow { at, subject, run }, entry: OnceCell::from(parsed) }
    }

    pub(crate) fn seq(&self) -> u64 {
        self.raw.seq
    }

    pub(crate) fn line(&self) -> &[u8] {
        &self.raw.line
    }

    /// What a projection is shown; a line that is no entry stops it.
    pub(crate) fn seen(&self) -> Result<Seen<'_>, Halt> {
        let header = match &self.head {
            Head::Quick(spans) => spans.fields(&self.raw.line).ok_or_else(|| self.damaged("not text"))?,
            Head::Slow { at, subject, run } => {
                let e = self.entry()?;
                Fields {
                    version: e.version,
                    at: *at,
                    trust: e.trust,
                    origin: e.origin.as_str(),
                    kind: e.kind.as_str(),
                    actor: e.actor.as_str(),
                    subject: subject.as_deref(),
                    run: run.as_deref(),
                }
            }
        };
        Ok(Seen { scanned: self, header })
    }

    fn entry(&self) -> Result<&Entry, Halt> {
        let parse = || Entry::parse(&self.raw.line).map(Box::new).map_err(|e| e.to_string());
        self.entry.get_or_init(parse).as_deref().map_err(|why| self.damaged(why))
    }

    fn damaged(&self, why: &str) -> Halt {
        Halt::Damaged(format!("entry {}: {why}", self.raw.seq))
    }
}

/// The text form of whom an entry is about.
pub(crate) fn subject_text(subject: Subject) -> String {
    match subject {
        Subject::Agent(id) => id.to_string(),
        Subject::Target(id) => id.to_string(),
    }
}

impl Spans {
    fn fields<'a>(&self, line: &'a [u8]) -> Option<Fields<'a>> {
        let text =
            |span: &Range<u32>| std::str::from_utf8(line.get(span.start as usize..span.end as usize)?).ok();
        let optional = |span: &Option<Range<u32>>| match span {
            Some(span) => text(span).map(Some),
            None => Some(None),
        };
        Some(Fields {
            version: self.version,
            at: self.at,
            trust: self.trust?,
            origin: text(&self.origin)?,
            kind: text(&self.kind)?,
            actor: text(&self.actor)?,
            subject: optional(&self.subject)?,
            run: optional(&self.run)?,
        })
    }
}

/// Finds the header of a line that is written as ours are; `None` for any other.
fn quick(line: &[u8]) -> Option<Spans> {
    let mut walk = Walk { line, at: 0 };
    let mut found = Spans::default();
    walk.literal(b"{\"seq\":")?;
    walk.number()?;
    walk.literal(b",\"v\":")?;
    found.version = u16::try_from(walk.number()?).ok()?;
    found.at = micros(&line[walk.span(b",\"at\":\"")?])?;
    found.origin = walk.text(b",\"origin\":\"")?;
    walk.text(b",\"room\":\"")?;
    found.kind = walk.text(b",\"kind\":\"")?;
    found.actor = walk.text(b",\"actor\":\"")?;
    found.subject = walk.text(b",\"agent\":\"").or_else(|| walk.text(b",\"target\":\""));
    found.run = walk.text(b",\"run\":\"");
    if walk.literal(b",\"cause\":").is_some() {
        walk.number()?;
    }
    walk.text(b",\"key\":\"");
    let trust = walk.span(b",\"trust\":\"")?;
    found.trust = Some(std::str::from_utf8(&line[trust]).ok()?.parse().ok()?);
    walk.literal(b",\"body\":{").or_else(|| walk.literal(b",\"blob\":{"))?;
    Some(found)
}

/// A place in a line. What does not stand there leaves the place where it was.
struct Walk<'a> {
    line: &'a [u8],
    at: usize,
}

impl Walk<'_> {
    fn literal(&mut self, text: &[u8]) -> Option<()> {
        self.line[self.at..].starts_with(text).then(|| self.at += text.len())
    }

    fn number(&mut self) -> Option<u64> {
        let rest = &self.line[self.at..];
        let len = rest.iter().position(|b| !b.is_ascii_digit())?;
        let number = std::str::from_utf8(&rest[..len]).ok()?.parse().ok()?;
        self.at += len;
        Some(number)
    }

    /// A text up to its closing quote, after what comes before it.
    fn span(&mut self, before: &[u8]) -> Option<Range<usize>> {
        let start = self.line[self.at..].starts_with(before).then_some(self.at + before.len())?;
        let len = self.line[start..].iter().position(|b| *b == b'"')?;
        let text = &self.line[start..start + len];
        // Names are plain ASCII. Anything else is for the parser to judge.
        if text.contains(&b'\\') || !text.is_ascii() {
            return None;
        }
        self.at = start + len + 1;
        Some(start..start + len)
    }

    fn text(&mut self, before: &[u8]) -> Option<Range<u32>> {
        let span = self.span(before)?;
        Some(u32::try_from(span.start).ok()?..u32::try_from(span.end).ok()?)
    }
}

/// Microseconds since 1970 of `2026-11-15T08:17:16.000000Z`; `None` for any other form, which is then parsed.
fn micros(text: &[u8]) -> Option<i64> {
    const FORM: &[u8; 27] = b"0000-00-00T00:00:00.000000Z";
    let fits = text.len() == FORM.len()
        && text.iter().zip(FORM).all(|(b, f)| if *f == b'0' { b.is_ascii_digit() } else { b == f });
    if !fits {
        return None;
    }
    let number = |range: Range<usize>| text[range].iter().fold(0, |n, b| n * 10 + i64::from(b - b'0'));
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    let (hour, minute, second) = (number(11..13), number(14..16), number(17..19));
    if !(1..=12).contains(&month) || !(1..=28).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        // The last days of a month depend on the month; a leap second has no number of its own.
        return slow_micros(text);
    }
    let seconds = days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    Some(seconds * 1_000_000 + number(20..26))
}

fn slow_micros(text: &[u8]) -> Option<i64> {
    Some(std::str::from_utf8(text).ok()?.parse::<Timestamp>().ok()?.as_micros())
}

/// Days since 1970-01-01 in the Gregorian calendar, counted in years that begin in March, so that the leap day
/// comes last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINE: &str = r#"{"seq":41,"v":2,"at":"2026-11-15T08:17:16.204311Z","origin":"holdfast/web-1","room":"steward","kind":"steward.trial.started","actor":"ana","target":"tgt_01arz3ndektsv4rrffq69g5fav","run":"run_01arz3ndektsv4rrffq69g5fav","cause":7,"key":"once","trust":"semi-trusted","body":{"n":1},"crc":"00000000"}"#;

    fn scanned(line: &str) -> Scanned {
        Scanned::new(RawEntry { seq: 41, line: line.as_bytes().to_vec() })
    }

    /// The header by the quick way or not, and the same as parsing says.
    #[track_caller]
    fn check(line: &str, quickly: bool) {
        let scanned = scanned(line);
        assert_eq!(matches!(scanned.head, Head::Quick(_)), quickly, "{line}");
        let seen = scanned.seen().unwrap();
        let e = Entry::parse(line.as_bytes()).unwrap();
        assert_eq!((seen.seq(), seen.version(), seen.at_micros()), (41, e.version, e.at.as_micros()));
        assert_eq!(
            (seen.origin(), seen.kind(), seen.actor()),
            (e.origin.as_str(), e.kind.as_str(), e.actor.as_str())
        );
        assert_eq!(seen.subject().map(str::to_owned), e.subject.map(subject_text));
        assert_eq!(seen.run().map(str::to_owned), e.run.map(|r| r.to_string()));
        assert_eq!((seen.trust(), seen.entry().unwrap()), (e.trust, &e));
    }

    #[test]
    fn the_quick_way_finds_what_parsing_finds() {
        check(LINE, true);
        check(&LINE.replace("\"target\":\"tgt_", "\"agent\":\"agt_"), true);
        check(&LINE.replace("\"target\":\"tgt_01arz3ndektsv4rrffq69g5fav\",", ""), true);
        check(
            &LINE.replace("\"run\":\"run_01arz3ndektsv4rrffq69g5fav\",\"cause\":7,\"key\":\"once\",", ""),
            true,
        );
        check(&LINE.replace("11-15", "02-28"), true);
        check(&LINE.replace("11-15", "12-31"), true);
    }

    #[test]
    fn whatever_looks_different_is_parsed() {
        check(&LINE.replace("\"trust\"", "\"later\":[1],\"trust\""), false);
        check(&LINE.replace("\"ana\"", "\"\\u0061na\""), false);
        check(&LINE.replace("\"v\":2", "\"v\": 2"), false);
    }

    #[test]
    fn a_line_that_is_no_entry_halts_whoever_looks() {
        for bad in ["", "{}", "[]", &LINE.replace("semi-trusted", "root"), &LINE.replace("11-15", "02-30")] {
            assert!(matches!(scanned(bad).seen(), Err(Halt::Damaged(_))), "{bad}");
        }
        // The header stands and the body does not: only who asks for the body notices.
        let broken = scanned(&LINE.replace("{\"n\":1}", "{\"n\":}"));
        assert!(broken.seen().is_ok_and(|seen| matches!(seen.entry(), Err(Halt::Damaged(_)))));
    }

    proptest! {
        #[test]
        fn every_moment_is_read_as_the_calendar_has_it(micros_in in -62_167_219_200_000_000i64..253_402_207_200_000_000) {
            let text = Timestamp::from_micros(micros_in).unwrap().to_string();
            prop_assert_eq!(micros(text.as_bytes()), Some(micros_in));
        }

        #[test]
        fn no_text_makes_the_quick_way_panic_or_disagree(cut in 0usize..300, with in "[ -~]{0,3}") {
            let cut = cut.min(LINE.len());
            let line = format!("{}{with}{}", &LINE[..cut], &LINE[(cut + with.len()).min(LINE.len())..]);
            let scanned = scanned(&line);
            if let (Ok(seen), Ok(e)) = (scanned.seen(), Entry::parse(line.as_bytes())) {
                prop_assert_eq!(seen.kind(), e.kind.as_str());
                prop_assert_eq!(seen.at_micros(), e.at.as_micros());
            }
        }
    }
}
