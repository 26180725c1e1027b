//! Secrets in disguise: with invisible characters in them, or with letters that only look like the ones they stand for.
//!
//! Where a text holds such characters next to plain ones, it is looked at a second time as it would be read, and what is
//! found there is found where it stands.

use std::ops::Range;

use crate::pass::{Candidate, Lore, Pass, is_token_byte};
use crate::scene::{Looking, Scene};

/// How far around a disguised character a token, with the name before it, may reach.
const AROUND: usize = 1500;

/// Adds what only shows when disguises are dropped.
pub(crate) fn look_behind(
    text: &[u8],
    scene: &Scene,
    lore: Lore<'_>,
    from: usize,
    found: &mut Vec<Candidate>,
) {
    let mut scene = *scene;
    scene.looking = if scene.looking.random() { Looking::Secrets } else { Looking::Named };
    for window in windows(text) {
        let Some(plain) = Plain::of(&text[window.clone()]) else { continue };
        let mut pass = Pass::new(&plain.text, scene, lore);
        pass.run(plain.position(from.saturating_sub(window.start)), false);
        for candidate in &pass.found {
            if plain.changed_within(candidate.start, candidate.end) {
                let (start, end) = (
                    window.start + plain.original(candidate.start),
                    window.start + plain.original_end(candidate.end),
                );
                let from = window.start + plain.original(candidate.from);
                if !found.iter().any(|c| c.start == start && c.end == end) {
                    found.push(Candidate { start, end, from, ..*candidate });
                }
            }
        }
    }
}

/// The stretches of a text that hold a disguised character, each begun where a word begins.
fn windows(text: &[u8]) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let block = &text[at..text.len().min(at + 64)];
        if block.is_ascii() {
            at += block.len();
            continue;
        }
        for i in at..at + block.len() {
            if text[i] >= 0xc2 && is_disguise(text, i) {
                let start = word_start(text, i.saturating_sub(AROUND));
                let end = text.len().min(i + AROUND);
                match all.last_mut() {
                    Some(last) if start <= last.end => last.end = end,
                    _ => all.push(start..end),
                }
            }
        }
        at += block.len();
    }
    all
}

fn word_start(text: &[u8], at: usize) -> usize {
    let back = text[at.saturating_sub(128)..at]
        .iter()
        .rev()
        .take_while(|b| is_token_byte(**b) || **b >= 0x80)
        .count();
    at - back
}

/// Whether the character that begins here is read as another, with a plain one beside it.
fn is_disguise(text: &[u8], at: usize) -> bool {
    let length = match text[at] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    };
    let c =
        text.get(at..at + length).and_then(|bytes| str::from_utf8(bytes).ok()).and_then(|c| c.chars().next());
    let before = at.checked_sub(1).map(|i| text[i]);
    c.and_then(reading).is_some() && beside_plain(before, text.get(at + length).copied())
}

/// A text as it would be read, and how to find one's way back.
struct Plain {
    text: Vec<u8>,
    /// Where the two texts part: place in the plain text, place in the original behind the change.
    changes: Vec<(usize, usize)>,
}

impl Plain {
    /// Nothing where nothing is disguised.
    fn of(text: &[u8]) -> Option<Plain> {
        let mut plain = Plain { text: Vec::with_capacity(text.len()), changes: Vec::new() };
        let mut at = 0;
        for chunk in text.utf8_chunks() {
            for c in chunk.valid().chars() {
                let length = c.len_utf8();
                let before = plain.text.last().copied();
                let after = text.get(at + length).copied();
                match reading(c).filter(|_| beside_plain(before, after)) {
                    Some(read) => {
                        plain.text.extend(read);
                        plain.changes.push((plain.text.len(), at + length));
                    }
                    None => plain.text.extend_from_slice(&text[at..at + length]),
                }
                at += length;
            }
            plain.text.extend_from_slice(chunk.invalid());
            at += chunk.invalid().len();
        }
        (!plain.changes.is_empty()).then_some(plain)
    }

    /// The place in the original of the byte at `plain`.
    fn original(&self, plain: usize) -> usize {
        match self.changes.partition_point(|(p, _)| *p <= plain).checked_sub(1) {
            Some(last) => self.changes[last].1 + (plain - self.changes[last].0),
            None => plain,
        }
    }

    /// The place in the original behind the byte before `plain`.
    fn original_end(&self, plain: usize) -> usize {
        // A character that was read as another ends where the original character ended.
        match self.changes.iter().find(|(p, _)| *p == plain) {
            Some((_, original)) => *original,
            None => self.original(plain.saturating_sub(1)) + 1,
        }
    }

    /// The place in the plain text of an original place.
    fn position(&self, original: usize) -> usize {
        match self.changes.partition_point(|(_, o)| *o <= original).checked_sub(1) {
            Some(last) => self.changes[last].0 + (original - self.changes[last].1),
            None => original.min(self.text.len()),
        }
    }

    fn changed_within(&self, start: usize, end: usize) -> bool {
        let after = self.changes.partition_point(|(p, _)| *p <= start);
        // A change right at the start belongs to what follows only if a character was read there.
        self.changes.get(after).is_some_and(|(p, _)| *p <= end)
            || self.changes.iter().any(|(p, _)| *p > start && *p <= end)
    }
}

/// Whether a plain character stands on either side: whole words of another script are no disguise.
fn beside_plain(before: Option<u8>, after: Option<u8>) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'=' | b'.');
    before.is_some_and(plain) || after.is_some_and(plain)
}

/// How a disguised character is read: as nothing, or as a plain one.
fn reading(c: char) -> Option<Option<u8>> {
    let code = u32::from(c);
    let read = match c {
        '\u{ad}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2060}'..='\u{2064}'
        | '\u{feff}'
        | '\u{180e}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' => return Some(None),
        '\u{ff01}'..='\u{ff5e}' => (code - 0xff01) as u8 + b'!',
        '\u{2010}' | '\u{2011}' => b'-',
        '\u{1d7ce}'..='\u{1d7ff}' => b'0' + ((code - 0x1d7ce) % 10) as u8,
        '\u{1d400}'..='\u{1d6a3}' => {
            let letter = (code - 0x1d400) % 52;
            if letter < 26 { b'A' + letter as u8 } else { b'a' + (letter - 26) as u8 }
        }
        'а' | 'α' => b'a',
        'с' | 'ϲ' => b'c',
        'ԁ' => b'd',
        'е' => b'e',
        'һ' => b'h',
        'і' | 'ι' => b'i',
        'ј' => b'j',
        'ο' | 'о' => b'o',
        'р' | 'ρ' => b'p',
        'ѕ' => b's',
        'ν' => b'v',
        'ԝ' => b'w',
        'х' => b'x',
        'у' => b'y',
        'А' | 'Α' => b'A',
        'В' | 'Β' => b'B',
        'С' => b'C',
        'Е' | 'Ε' => b'E',
        'Н' | 'Η' => b'H',
        'І' | 'Ι' => b'I',
        'Ј' => b'J',
        'К' | 'Κ' => b'K',
        'М' | 'Μ' => b'M',
        'Ν' => b'N',
        'О' | 'Ο' => b'O',
        'Р' | 'Ρ' => b'P',
        'Ѕ' => b'S',
        'Т' | 'Τ' => b'T',
        'Х' | 'Χ' => b'X',
        'Υ' => b'Y',
        'Ζ' => b'Z',
        _ => return None,
    };
    Some(Some(read))
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
        ] {
            let text = format!("Für später: {disguised} — danke");
            let found = Guard::builtin().find(text.as_bytes(), &Scene::text(Looking::Secrets));
            let spans: Vec<&str> = found.iter().map(|f| &text[f.span.clone()]).collect();
            assert_eq!(spans, [disguised.as_str()], "{name}");
            assert_eq!(found[0].kind.id, "api_key_github", "{name}");
        }
    }
}
