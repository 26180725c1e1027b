//! Looks at one content, whatever it is: the one place where bytes become findings.

use std::io::{self, Read};
use std::ops::Range;

use holdfast_guard::{Confidence, Finding, Guard, Scene, fingerprint, masked};

use crate::allow::{self, Said};
use crate::archive::{self, Bounds, Member, Packing};
use crate::found::{Found, Looked, Name, Skipped, Why};
use crate::keystore::{self, Keystore};
use crate::lines::{Lines, Place};
use crate::notebook;
use crate::text::{self, Content, HEAD};

/// What is read at once. Larger content is looked at in windows of this size, so that memory has a bound.
const WINDOW: usize = 64 << 20;
/// What two windows share: no secret is longer than half of it, so one of the two sees each whole.
const OVERLAP: usize = 1 << 20;
/// So many findings of one content are listed; more help nobody.
const FINDINGS_MAX: usize = 100_000;

/// Looks at everything that can be read from `source`. `buffer` is kept between calls for its memory alone.
pub(crate) fn look(name: Name, source: &mut dyn Read, buffer: &mut Vec<u8>) -> Looked {
    look_in(Windows { size: WINDOW, overlap: OVERLAP }, name, source, buffer)
}

#[derive(Clone, Copy, Debug)]
struct Windows {
    size: usize,
    overlap: usize,
}

fn look_in(windows: Windows, name: Name, source: &mut dyn Read, buffer: &mut Vec<u8>) -> Looked {
    buffer.clear();
    let mut looked = Looked::new(name);
    match fill(buffer, source, windows.size) {
        Err(e) => return Looked::failed(looked.name, e.to_string()),
        Ok(End::Reached) => {
            looked.bytes = buffer.len() as u64;
            let name = looked.name.clone();
            Judging { looked: &mut looked, bounds: Bounds::of(buffer.len() as u64) }.content(&name, buffer);
        }
        Ok(End::Beyond) => large(&mut looked, windows, source, buffer),
    }
    looked
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Reached,
    Beyond,
}

fn fill(buffer: &mut Vec<u8>, source: &mut dyn Read, size: usize) -> io::Result<End> {
    let missing = size.saturating_sub(buffer.len()) as u64;
    source.take(missing).read_to_end(buffer)?;
    Ok(if buffer.len() < size { End::Reached } else { End::Beyond })
}

/// Content that is larger than one window. The first one is in the buffer.
fn large(looked: &mut Looked, windows: Windows, source: &mut dyn Read, buffer: &mut Vec<u8>) {
    let name = looked.name.clone();
    let unread = match text::of(&name.place, buffer) {
        Content::Text | Content::Notebook => None,
        Content::Wide(_) => Some(Why::WideTextTooLarge),
        Content::Zip | Content::Gzip | Content::Tar => Some(Why::Bound(archive::TOO_LARGE)),
        Content::Keystore(found) => {
            looked.findings.push(keystore_found(&name, found, buffer));
            return;
        }
        Content::Unread(why) => Some(why),
    };
    if let Some(why) = unread {
        looked.skip(why);
        return;
    }
    let scene = scene_of(&name, buffer);
    let (mut start, mut from) = (Place::START, 0);
    let mut end = End::Beyond;
    loop {
        let to = if end == End::Reached { buffer.len() } else { cut(buffer, windows, buffer.len()) };
        let reading =
            Reading { text: buffer, file: buffer, origin: &|offset| offset, start, within: from..to };
        let mut judging = Judging { looked, bounds: Bounds::of(0) };
        judging.findings(&name, &scene, &reading);
        looked.bytes += (to - from) as u64;
        if end == End::Reached {
            return;
        }
        let next = cut(buffer, windows, to);
        start = Lines::new(buffer, start).place(next);
        from = to - next;
        buffer.drain(..next);
        match fill(buffer, source, windows.size) {
            Ok(ended) => end = ended,
            Err(e) => {
                looked.failed.extend(Looked::failed(name, e.to_string()).failed);
                return;
            }
        }
    }
}

/// Half the overlap before this offset, at the beginning of a line where there is one close by.
fn cut(buffer: &[u8], windows: Windows, before: usize) -> usize {
    let at = before.saturating_sub(windows.overlap / 2);
    let earliest = at.saturating_sub(windows.overlap / 4);
    memchr::memrchr(b'\n', &buffer[earliest..at]).map_or(at, |n| earliest + n + 1)
}

fn scene_of(name: &Name, bytes: &[u8]) -> Scene {
    Scene::file(&name.place, &bytes[..bytes.len().min(HEAD)])
}

/// A text to look at, and where it stands.
pub(crate) struct Reading<'a> {
    pub(crate) text: &'a [u8],
    /// The file it came from; lines are counted there.
    pub(crate) file: &'a [u8],
    /// From an offset in the text to one in the file.
    pub(crate) origin: &'a dyn Fn(usize) -> usize,
    /// Where the file's bytes begin.
    pub(crate) start: Place,
    /// Only what begins in here is reported.
    pub(crate) within: Range<usize>,
}

struct Judging<'l> {
    looked: &'l mut Looked,
    bounds: Bounds,
}

impl Judging<'_> {
    /// A content that is whole, or a member of one.
    fn content(&mut self, name: &Name, bytes: &[u8]) {
        match text::of(&name.place, bytes) {
            Content::Text => self.plain(name, bytes),
            Content::Wide(order) => self.plain(name, text::narrowed(bytes, order).as_bytes()),
            Content::Notebook => self.notebook(name, bytes),
            Content::Zip => self.archive(Packing::Zip, name, bytes),
            Content::Gzip => self.archive(Packing::Gzip, name, bytes),
            Content::Tar => self.archive(Packing::Tar, name, bytes),
            Content::Keystore(found) => self.looked.findings.push(keystore_found(name, found, bytes)),
            Content::Unread(why) => self.skip(name, why),
        }
    }

    fn skip(&mut self, name: &Name, why: Why) {
        self.looked.skipped.push(Skipped { file: name.file.clone(), why });
    }

    fn plain(&mut self, name: &Name, text: &[u8]) {
        let whole = 0..text.len();
        let reading =
            Reading { text, file: text, origin: &|offset| offset, start: Place::START, within: whole };
        self.findings(name, &scene_of(name, text), &reading);
    }

    fn notebook(&mut self, name: &Name, file: &[u8]) {
        let unescaped = notebook::unescaped(file);
        let (text, within) = (&unescaped.text, 0..unescaped.text.len());
        let origin = |offset| unescaped.origin(offset);
        let reading = Reading { text, file, origin: &origin, start: Place::START, within };
        self.findings(name, &scene_of(name, file), &reading);
    }

    fn archive(&mut self, packing: Packing, name: &Name, bytes: &[u8]) {
        let mut bounds = self.bounds.clone();
        let ended =
            archive::unpack(packing, bytes, &name.place, &mut bounds, &mut |member, content, left| {
                let name = name.member(member);
                match content {
                    Member::Unread(why) => self.skip(&name, why),
                    Member::Content(bytes) => {
                        self.bounds = left.clone();
                        self.content(&name, &bytes);
                        *left = self.bounds.clone();
                    }
                }
            });
        self.bounds = bounds;
        if let Err(why) = ended {
            self.skip(name, why);
        }
    }

    fn findings(&mut self, name: &Name, scene: &Scene, reading: &Reading<'_>) {
        let mut lines = Lines::new(reading.file, reading.start);
        for finding in Guard::builtin().find(reading.text, scene) {
            if !reading.within.contains(&finding.span.start) {
                continue;
            }
            let note = match allow::said(reading.text, &finding.span, &finding.kind.id) {
                Said::Allowed => {
                    self.looked.allowed += 1;
                    continue;
                }
                Said::ButNot(note) => Some(note),
                Said::Nothing => None,
            };
            if self.looked.findings.len() >= FINDINGS_MAX {
                self.skip(name, Why::MoreFindings);
                return;
            }
            let found = Found { note, ..found(name, &finding, reading, &mut lines) };
            self.looked.findings.push(found);
        }
    }
}

fn found(name: &Name, finding: &Finding<'_>, reading: &Reading<'_>, lines: &mut Lines<'_>) -> Found {
    let secret = &reading.text[finding.span.clone()];
    let start = lines.place((reading.origin)(finding.span.start));
    let end = lines.clone().place((reading.origin)(finding.span.end));
    Found {
        file: name.file.clone(),
        place: name.place.clone(),
        line: start.line,
        column: start.column,
        end_line: end.line,
        end_column: end.column,
        rule: finding.kind.id.clone(),
        what: finding.kind.what.clone(),
        confidence: finding.confidence,
        reason: finding.reason.to_owned(),
        masked: masked(secret),
        fingerprint: fingerprint(&finding.kind.id, secret),
        commit: None,
        note: None,
    }
}

fn keystore_found(name: &Name, found: Keystore, bytes: &[u8]) -> Found {
    Found {
        file: name.file.clone(),
        place: name.place.clone(),
        line: 1,
        column: 1,
        end_line: 1,
        end_column: 1,
        rule: keystore::RULE.to_owned(),
        what: found.what.to_owned(),
        confidence: Confidence::percent(found.confidence),
        reason: "the whole file has the structure of one".to_owned(),
        masked: masked(bytes),
        fingerprint: fingerprint(keystore::RULE, bytes),
        commit: None,
        note: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn token(n: usize) -> String {
        // Drawn, so that nothing here looks like one to a scanner.
        let letters: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').collect();
        let mut state = n as u64 * 7919 + 17;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            letters[(state >> 33) as usize % letters.len()]
        };
        format!("ghp_{}", std::iter::repeat_with(&mut next).take(36).collect::<String>())
    }

    fn places(windows: Windows, text: &[u8]) -> Vec<(u64, u64, String)> {
        let looked = look_in(windows, Name::same("a.txt".into()), &mut &text[..], &mut Vec::new());
        assert_eq!(looked.bytes, text.len() as u64);
        looked.findings.into_iter().map(|f| (f.line, f.column, f.fingerprint)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// However a text is cut into windows, the same is found at the same places.
        #[test]
        fn windows_make_no_difference(gaps in prop::collection::vec((0_usize..700, any::<bool>()), 1..12)) {
            let mut text = String::new();
            for (n, (gap, feeds)) in gaps.into_iter().enumerate() {
                let filler = if feeds { "lorem ü ipsum\n" } else { "lorem ü ipsum " };
                text.push_str(&filler.repeat(gap / 10));
                text.push_str(&format!(" {} ", token(n)));
            }
            let whole = places(Windows { size: 1 << 20, overlap: 1 << 10 }, text.as_bytes());
            let cut = places(Windows { size: 1024, overlap: 512 }, text.as_bytes());
            prop_assert_eq!(whole, cut);
        }
    }

    #[test]
    fn a_source_that_fails_is_never_called_clean() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("input/output error"))
            }
        }
        let name = || Name::same("a".into());
        let at_once = look(name(), &mut Failing, &mut Vec::new());
        let windows = Windows { size: 100, overlap: 16 };
        let later = look_in(windows, name(), &mut (&[b'a'; 150][..]).chain(Failing), &mut Vec::new());
        for looked in [at_once, later] {
            assert_eq!(looked.failed.len(), 1, "{looked:?}");
        }
    }
}
