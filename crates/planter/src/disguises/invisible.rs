//! Characters that do not show: set between those of the secret, turning its direction, or carrying all of it.

use super::Disguise;
use super::place::Where::{All, Fifth, Last, Middle, Third};
use super::place::{halves, insert, insert_with, write};

pub(super) fn all() -> Vec<Disguise> {
    [between(), directions(), carried()].concat()
}

fn between() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "invisible", put_on };
    vec![
        d("zero-width space between all", |s| insert(s, All, "\u{200b}")),
        d("zero-width space in the middle", |s| insert(s, Middle, "\u{200b}")),
        d("zero-width space after the first four", |s| insert(s, Fifth, "\u{200b}")),
        d("zero-width space before the last", |s| insert(s, Last, "\u{200b}")),
        d("zero-width non-joiner between every third", |s| insert(s, Third, "\u{200c}")),
        d("zero-width joiner in the middle", |s| insert(s, Middle, "\u{200d}")),
        d("word joiner after the first four", |s| insert(s, Fifth, "\u{2060}")),
        d("word joiner between all", |s| insert(s, All, "\u{2060}")),
        d("byte order mark before the last", |s| insert(s, Last, "\u{feff}")),
        d("byte order mark between every third", |s| insert(s, Third, "\u{feff}")),
        d("soft hyphen between all", |s| insert(s, All, "\u{ad}")),
        d("soft hyphen in the middle", |s| insert(s, Middle, "\u{ad}")),
        d("soft hyphen after the first four", |s| insert(s, Fifth, "\u{ad}")),
        d("combining grapheme joiner between all", |s| insert(s, All, "\u{34f}")),
        d("combining grapheme joiner before the last", |s| insert(s, Last, "\u{34f}")),
        d("Hangul filler in the middle", |s| insert(s, Middle, "\u{3164}")),
        d("Hangul choseong and jungseong fillers between every third", |s| {
            insert(s, Third, "\u{115f}\u{1160}")
        }),
        d("half-width Hangul filler after the first four", |s| insert(s, Fifth, "\u{ffa0}")),
        d("Mongolian vowel separator between all", |s| insert(s, All, "\u{180e}")),
        d("Mongolian variation selector in the middle", |s| insert(s, Middle, "\u{180b}")),
        d("Mongolian fourth variation selector before the last", |s| insert(s, Last, "\u{180f}")),
        d("function application between every third", |s| insert(s, Third, "\u{2061}")),
        d("invisible times between all", |s| insert(s, All, "\u{2062}")),
        d("invisible separator in the middle", |s| insert(s, Middle, "\u{2063}")),
        d("invisible plus after the first four", |s| insert(s, Fifth, "\u{2064}")),
        d("annotation anchor and terminator in the middle", |s| insert(s, Middle, "\u{fff9}\u{fffb}")),
        d("annotation separator before the last", |s| insert(s, Last, "\u{fffa}")),
        d("emoji variation selector between all", |s| insert(s, All, "\u{fe0f}")),
        d("first variation selector in the middle", |s| insert(s, Middle, "\u{fe00}")),
        d("supplementary variation selector between every third", |s| insert(s, Third, "\u{e0100}")),
        d("last supplementary variation selector before the last", |s| insert(s, Last, "\u{e01ef}")),
        d("musical beam begin between every third", |s| insert(s, Third, "\u{1d173}")),
        d("musical slur end after the first four", |s| insert(s, Fifth, "\u{1d178}")),
        d("musical null notehead in the middle", |s| insert(s, Middle, "\u{1d159}")),
        d("language tag in the middle", |s| insert(s, Middle, "\u{e0001}")),
        d("tag letters between every third", |s| insert(s, Third, "\u{e0061}\u{e007f}")),
        d("shorthand overlap before the last", |s| insert(s, Last, "\u{1bca0}")),
        d("Khmer inherent vowels between every third", |s| insert(s, Third, "\u{17b4}\u{17b5}")),
        d("deprecated shaping controls in the middle", |s| insert(s, Middle, "\u{206a}\u{206f}")),
        d("unassigned ignorable U+2065 after the first four", |s| insert(s, Fifth, "\u{2065}")),
        d("unassigned ignorable U+E0080 in the middle", |s| insert(s, Middle, "\u{e0080}")),
        d("unassigned ignorable U+FFF0 before the last", |s| insert(s, Last, "\u{fff0}")),
        d("another invisible character in each gap", |s| insert_with(s, All, |at| of_many(at).to_string())),
        d("two hundred zero-width characters in the middle", |s| {
            insert(s, Middle, &"\u{200b}\u{200c}\u{200d}\u{2060}".repeat(50))
        }),
        d("zero-width space and soft hyphen together between all", |s| insert(s, All, "\u{200b}\u{ad}")),
    ]
}

/// A different invisible character for each gap.
fn of_many(at: usize) -> char {
    const MANY: [char; 17] = [
        '\u{200b}',
        '\u{ad}',
        '\u{2063}',
        '\u{200e}',
        '\u{fe01}',
        '\u{180e}',
        '\u{34f}',
        '\u{2060}',
        '\u{e0020}',
        '\u{1d17a}',
        '\u{200d}',
        '\u{61c}',
        '\u{e0150}',
        '\u{115f}',
        '\u{feff}',
        '\u{206b}',
        '\u{2069}',
    ];
    MANY[at % MANY.len()]
}

fn directions() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "direction", put_on };
    vec![
        d("left-to-right mark between all", |s| insert(s, All, "\u{200e}")),
        d("left-to-right mark after the first four", |s| insert(s, Fifth, "\u{200e}")),
        d("Arabic letter mark in the middle", |s| insert(s, Middle, "\u{61c}")),
        d("left-to-right override and its end around each", |s| {
            write(s, All, "", |c| format!("\u{202d}{c}\u{202c}"))
        }),
        d("left-to-right embedding and its end in the middle", |s| insert(s, Middle, "\u{202a}\u{202c}")),
        d("left-to-right isolates around the halves", |s| {
            let (one, two) = halves(s);
            format!("\u{2066}{one}\u{2069}\u{2066}{two}\u{2069}")
        }),
        d("first-strong isolate, empty, before the last", |s| insert(s, Last, "\u{2068}\u{2069}")),
        d("right-to-left override over the letters turned around", |s| {
            let turned = |line: &str| format!("\u{202e}{}\u{202c}", line.chars().rev().collect::<String>());
            s.split('\n').map(turned).collect::<Vec<_>>().join("\n")
        }),
    ]
}

fn carried() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "carried", put_on };
    vec![
        d("all in tag characters", tags),
        d("tag characters between language tag and cancel tag", |s| format!("\u{e0001}{}\u{e007f}", tags(s))),
        d("tag characters behind a flag", |s| format!("\u{1f3f4}{}\u{e007f}", tags(s))),
        d("tag characters inside a word", |s| format!("Tha{}nks!", tags(s))),
        d("second half in tag characters", |s| {
            let (one, two) = halves(s);
            format!("{one}{}", tags(two))
        }),
        d("first four in tag characters", |s| {
            let (head, tail) = s.split_at(4.min(s.len()));
            format!("{}{tail}", tags(head))
        }),
        d("the middle one in a tag character", |s| write(s, Middle, "", |c| tags(&c.to_string()))),
        d("variation selectors behind an emoji", |s| format!("\u{1f60a}{}", selectors(s, 0))),
        d("variation selectors behind a letter", |s| format!("a{}", selectors(s, 0))),
        d("supplementary variation selectors only, one per byte", |s| format!("x{}", selectors(s, 16))),
        d("variation selectors, one behind each letter of a sentence", |s| {
            let cover = "The build is green and the report is attached below. ".chars().cycle();
            selectors(s, 0).chars().zip(cover).flat_map(|(hidden, shown)| [shown, hidden]).collect()
        }),
        d("second half in variation selectors", |s| {
            let (one, two) = halves(s);
            format!("{one}{}", selectors(two, 0))
        }),
        d("bits as zero-width space and non-joiner", |s| bits(s, ['\u{200b}', '\u{200c}'])),
        d("bits as invisible times and plus", |s| bits(s, ['\u{2062}', '\u{2064}'])),
    ]
}

fn tags(secret: &str) -> String {
    secret.chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect()
}

/// Bytes below 16 as U+FE00 and on, the rest from U+E0100; with `from` 16 all bytes go to the second block, unmoved.
fn selectors(secret: &str, from: u32) -> String {
    let one = |byte: u8| match u32::from(byte) {
        low if low < 16 && from == 0 => char::from_u32(0xfe00 + low),
        high => char::from_u32(0xe0100 + high + from - 16),
    };
    secret.bytes().filter_map(one).collect()
}

/// Eight to a byte, the high one first.
fn bits(secret: &str, as_chars: [char; 2]) -> String {
    let eight = |byte: u8| (0..8).rev().map(move |at| as_chars[usize::from(byte >> at & 1)]);
    secret.bytes().flat_map(eight).collect()
}
