//! Secrets in disguise: with characters in them that are not shown, with letters that only look like the ones they stand
//! for, and written in escapes, references, bytes or pieces that whoever reads the text puts together again.
//!
//! The pass marks where a text may be read in another way ([`Mark`]). Around the marks it is read as it is meant, and looked
//! at a second time; what is found there is found where it stands.

mod characters;
mod escapes;
mod lines;
mod marks;
mod markup;
mod reader;
mod reading;
mod wrapped;

use std::ops::Range;

pub(crate) use marks::{Mark, mark_at, mark_of_bytes, mark_of_run, may_begin, may_begin_bytes, worth_a_look};

use crate::finding::Confidence;
use crate::hit::Known;
use crate::pass::{Candidate, Lore, Pass, What, is_token_byte};
use crate::scene::{Looking, Scene};
use escapes::Backslash;
use marks::Signs;
use reader::{Hidden, Joined, Mail, Way};
use reading::Reading;

/// A text is read in blocks, counted from its beginning, so that a stream comes to the same findings wherever it was cut.
const BLOCK: usize = 16 * 1024;
/// How much is read before a block: a name, or a word that must be near.
const BEFORE: usize = 2 * 1024;
/// How much is read behind a block: the rest of what begins in it.
const AFTER: usize = 12 * 1024;
/// A mark is decided by what stands this far behind it at most.
const MARK_AHEAD: usize = 2 * 1024;
/// How far around a mark a token, with the name before it, may reach.
const AROUND: usize = 1500;
/// How far back a word may begin.
const WORD: usize = 128;
/// What is decided of a place depends on at most so much behind it, and so much before it.
pub(crate) const AHEAD: usize = BLOCK + AFTER;
pub(crate) const BEHIND: usize = BLOCK + BEFORE + WORD;
/// How often what was read is read again.
const DEEPEST: u8 = 4;

/// A text that may be a part of a longer one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'t> {
    pub(crate) text: &'t [u8],
    /// How many bytes came before it.
    pub(crate) gone: usize,
    /// Findings are wanted that begin within these places of it.
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// Adds what only shows when disguises are dropped.
pub(crate) fn look_behind(
    part: Part<'_>,
    scene: &Scene,
    lore: Lore<'_>,
    marks: &mut [Mark],
    found: &mut Vec<Candidate>,
) {
    if marks.is_empty() {
        return;
    }
    // What was wrapped is marked when its end is seen.
    marks.sort_by_key(|mark| mark.at.start);
    cover(marks, found, scene);
    let mut start = part.from;
    while start < part.to {
        let block = (part.gone + start) / BLOCK * BLOCK;
        let end = block + BLOCK - part.gone;
        let begin = block.saturating_sub(part.gone);
        let around = found_around(part, begin..end, scene, lore, marks);
        found.extend(around.into_iter().filter(|c| c.start >= start && c.start < end));
        start = end;
    }
}

/// A mark so close to the end of what is taken out may be the reason why it ends there.
const LAST: usize = 16;

/// Notes which marks lie in what is taken out anyway: behind those nothing is looked for.
fn cover(marks: &mut [Mark], found: &mut [Candidate], scene: &Scene) {
    found.sort_by_key(|c| c.start);
    let mut candidates = found.iter().filter(|c| Confidence::percent(c.confidence) >= scene.least).peekable();
    let mut covered = 0..0;
    for mark in marks {
        while let Some(candidate) = candidates.next_if(|c| c.start <= mark.at.start) {
            if candidate.end > covered.end {
                covered = candidate.start..candidate.end;
            }
        }
        // A disguise may make a value look as if it ended: then the rest is behind the last mark in it.
        let end = if mark.is_whole { mark.at.end } else { mark.at.end + LAST };
        mark.covered |= covered.start <= mark.at.start && end <= covered.end;
    }
}

/// What shows in a block and around it.
fn found_around(
    part: Part<'_>,
    block: Range<usize>,
    scene: &Scene,
    lore: Lore<'_>,
    marks: &[Mark],
) -> Vec<Candidate> {
    let from = word_start(part.text, block.start.saturating_sub(BEFORE));
    let to = part.text.len().min(block.end + AFTER);
    let first = marks.partition_point(|mark| mark.start() < from);
    let last = marks.partition_point(|mark| mark.start() < block.end + AFTER - MARK_AHEAD);
    let mut found = Vec::new();
    // Only what begins before the block's end is known in the same way wherever a stream was cut.
    let open = |mark: &&Mark| !mark.covered || mark.start() >= block.end;
    let marks: Vec<Mark> = marks.get(first..last).unwrap_or_default().iter().filter(open).cloned().collect();
    let mut rest = &marks[..];
    while !rest.is_empty() {
        let (near, others) = rest.split_at(stretch(rest));
        rest = others;
        let begin = word_start(part.text, near[0].start().saturating_sub(AROUND)).max(from);
        let end = near.iter().map(|mark| mark.at.end + AROUND).max().unwrap_or(begin).min(to);
        if end <= block.start || begin >= block.end {
            continue;
        }
        let place = |at| begin + at;
        found.extend(
            found_behind(&part.text[begin..end], begin, *scene, lore, near, 0)
                .into_iter()
                .map(|c| Candidate { start: place(c.start), end: place(c.end), from: place(c.from), ..c }),
        );
    }
    found
}

/// How many marks stand close together.
fn stretch(marks: &[Mark]) -> usize {
    marks.windows(2).take_while(|pair| pair[1].start() - pair[0].start() <= 2 * AROUND).count() + 1
}

/// What shows in a text that was marked; places of the marks are counted from `offset`.
fn found_behind(
    text: &[u8],
    offset: usize,
    scene: Scene,
    lore: Lore<'_>,
    marks: &[Mark],
    depth: u8,
) -> Vec<Candidate> {
    let signs = marks.iter().fold(Signs::NONE, |signs, mark| signs.with(mark.signs));
    let wraps: Vec<usize> = marks
        .iter()
        .filter(|mark| mark.signs.has(Signs::WRAPPED))
        .map(|mark| mark.at.start - offset)
        .collect();
    let mut found = Vec::new();
    for (reading, belief) in readings(text, signs, &wraps, depth) {
        let candidates = found_in(&reading, scene_behind(scene), lore, depth);
        for candidate in candidates.into_iter().filter(|c| belief.holds(c)) {
            found.push(Candidate {
                start: reading.start_of(candidate.start),
                end: reading.end_of(candidate.end),
                from: reading.start_of(candidate.from),
                ..candidate
            });
        }
    }
    found
}

/// What is looked for behind a disguise: no people, who hide from nobody.
fn scene_behind(mut scene: Scene) -> Scene {
    scene.looking = if scene.looking.random() { Looking::Secrets } else { Looking::Named };
    scene
}

/// What a reading is believed. Ordinary texts put lines and words side by side that nobody puts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Belief {
    /// Whatever is found in it.
    All,
    /// What has a form or a name, and not what only looks random.
    Named,
    /// What has the form of a token.
    Forms,
}

impl Belief {
    fn holds(self, candidate: &Candidate) -> bool {
        match (self, candidate.what) {
            (Belief::All, _) | (_, What::Rule(_)) | (_, What::Known(Known::PrivateKey)) => true,
            (Belief::Named, What::Known(known)) => known != Known::HighEntropy,
            (Belief::Forms, What::Known(_)) => false,
        }
    }
}

/// What is found in a reading and is not plain in the original.
fn found_in(reading: &Reading, scene: Scene, lore: Lore<'_>, depth: u8) -> Vec<Candidate> {
    let mut pass = Pass::new(&reading.text, scene, lore);
    if depth < DEEPEST {
        pass.marks = Some(Vec::new());
    }
    pass.run(0, false);
    let mut marks = pass.marks.take().unwrap_or_default();
    marks.sort_by_key(|mark| mark.at.start);
    let mut found = std::mem::take(&mut pass.found);
    if !marks.is_empty() {
        found.extend(found_behind(&reading.text, 0, scene, lore, &marks, depth + 1));
    }
    found.retain(|c| reading.changed_within(c.from.min(c.start), c.end));
    found
}

/// The text in every way in which it may be meant; `wraps` says where bytes begin that are text. Below the surface only the
/// usual ways are tried, or the ways would multiply.
fn readings(text: &[u8], signs: Signs, wraps: &[usize], depth: u8) -> Vec<(Reading, Belief)> {
    let letters = Way { written: false, ..Way::USUAL };
    let usual = [
        (Signs::WRITTEN, Way::USUAL, Belief::All),
        (Signs::LETTERS, letters, Belief::All),
        (Signs::MAIL, Way { mail: Mail::Characters, ..Way::USUAL }, Belief::All),
        (Signs::TAGS, Way { hidden: Hidden::Tags, ..Way::USUAL }, Belief::All),
    ];
    let others = [
        (Signs::SOFT_BREAKS, Way { mail: Mail::Lines, ..Way::USUAL }, Belief::Forms),
        (Signs::SEAMS, Way { joined: Joined::Beside, ..Way::USUAL }, Belief::Named),
        (Signs::LISTS, Way { joined: Joined::Listed, ..Way::USUAL }, Belief::Forms),
        (Signs::HEX_ESCAPES, Way { backslash: Backslash::Hex, ..Way::USUAL }, Belief::All),
        (Signs::BARE_ESCAPES, Way { backslash: Backslash::Bare, ..Way::USUAL }, Belief::All),
        (Signs::DELETES, Way { delete_takes_back: true, ..Way::USUAL }, Belief::All),
        (Signs::SELECTORS, Way { hidden: Hidden::Selectors, ..Way::USUAL }, Belief::All),
        (Signs::TAGS, Way { hidden: Hidden::TagsApart, ..Way::USUAL }, Belief::All),
        (Signs::LIKES, Way { likes_everywhere: true, ..Way::USUAL }, Belief::All),
    ];
    let ways = if depth == 0 { [&usual[..], &others[..]].concat() } else { usual.to_vec() };
    let mut all: Vec<(Reading, Belief)> = ways
        .into_iter()
        .filter(|(sign, ..)| signs.has(*sign))
        .map(|(_, way, belief)| (reader::read(text, way, &[]), belief))
        .collect();
    if signs.has(Signs::WRAPPED) {
        all.push((reader::read(text, letters, wraps), Belief::All));
    }
    if depth == 0 && signs.has(Signs::SELECTORS) {
        all.extend([0, 16].map(|from| (reader::only_selectors(text, from), Belief::All)));
    }
    if depth == 0 && signs.has(Signs::OVERWRITES) {
        all.push((lines::shown(text), Belief::Named));
    }
    if depth == 0 && signs.has(Signs::DUMPS) {
        all.extend([false, true].map(|low_first| (lines::undumped(text, low_first), Belief::All)));
    }
    all.retain(|(reading, _)| !reading.is_unchanged());
    all
}

/// Where the word begins in which a place lies.
fn word_start(text: &[u8], at: usize) -> usize {
    let at = at.min(text.len());
    let back = text[at.saturating_sub(WORD)..at]
        .iter()
        .rev()
        .take_while(|b| is_token_byte(**b) || **b >= 0x80)
        .count();
    at - back
}

#[cfg(test)]
mod tests {
    use crate::{Guard, Looking, Scene};

    // shows: HRD-F24
    #[test]
    fn a_token_in_disguise_is_found_where_it_stands() {
        let tail = crate::example::written_out("<b62:36>").unwrap();
        let plain = format!("ghp_{tail}");
        let fullwidth: String = plain.chars().map(|c| if c == 'g' { 'ｇ' } else { c }).collect();
        let cyrillic = plain.replacen('p', "р", 1);
        for (name, disguised) in [
            ("zero width", format!("{}\u{200b}{}", &plain[..12], &plain[12..])),
            ("soft hyphen", format!("{}\u{ad}{}", &plain[..2], &plain[2..])),
            ("full width", fullwidth),
            ("Cyrillic", cyrillic),
            ("percent", plain.replace('_', "%5F")),
            ("JSON", plain.replace('_', "\\u005f")),
            ("a reference", plain.replace('h', "&#104;")),
            ("NUL", plain.replace('h', "h\0")),
            (
                "tag characters",
                plain.chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect(),
            ),
            ("hex", plain.bytes().map(|b| format!("{b:02x}")).collect()),
        ] {
            let text = format!("Für später: {disguised} — danke");
            let found = Guard::builtin().find(text.as_bytes(), &Scene::text(Looking::Secrets));
            let spans: Vec<&str> = found.iter().map(|f| &text[f.span.clone()]).collect();
            assert_eq!(spans, [disguised.as_str()], "{name}");
            assert_eq!(found[0].kind.id, "api_key_github", "{name}");
        }
    }
}
