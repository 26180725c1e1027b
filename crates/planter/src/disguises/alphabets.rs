//! Other letters: forms that normalisation makes plain, letters of other scripts that look alike, and letters with
//! marks on them.

use super::Disguise;
use super::forms::{self, math, of, wide};
use super::place::Where::{All, Fifth, Head, Last, Middle, Third};
use super::place::{insert, insert_with, turn};

pub(super) fn all() -> Vec<Disguise> {
    [compatibility(), look_alikes(), marked()].concat()
}

fn compatibility() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "compatibility", put_on };
    vec![
        d("full-width, all", |s| turn(s, All, |_, c| wide(c))),
        d("full-width, every third", |s| turn(s, Third, |_, c| wide(c))),
        d("full-width, the middle one", |s| turn(s, Middle, |_, c| wide(c))),
        d("full-width, the fifth", |s| turn(s, Fifth, |_, c| wide(c))),
        d("full-width, the last", |s| turn(s, Last, |_, c| wide(c))),
        d("full-width, the first four", |s| turn(s, Head, |_, c| wide(c))),
        d("bold, all", |s| turn(s, All, |_, c| math(forms::BOLD, c))),
        d("bold, the middle one", |s| turn(s, Middle, |_, c| math(forms::BOLD, c))),
        d("italic, all", |s| turn(s, All, |_, c| math(forms::ITALIC, c))),
        d("bold italic, every third", |s| turn(s, Third, |_, c| math(forms::BOLD_ITALIC, c))),
        d("script, all", |s| turn(s, All, |_, c| math(forms::SCRIPT, c))),
        d("bold script, all", |s| turn(s, All, |_, c| math(forms::BOLD_SCRIPT, c))),
        d("fraktur, all", |s| turn(s, All, |_, c| math(forms::FRAKTUR, c))),
        d("fraktur, the fifth", |s| turn(s, Fifth, |_, c| math(forms::FRAKTUR, c))),
        d("double-struck, all", |s| turn(s, All, |_, c| math(forms::DOUBLE_STRUCK, c))),
        d("sans-serif, all", |s| turn(s, All, |_, c| math(forms::SANS, c))),
        d("sans-serif bold, the last", |s| turn(s, Last, |_, c| math(forms::SANS_BOLD, c))),
        d("monospace, all", |s| turn(s, All, |_, c| math(forms::MONOSPACE, c))),
        d("monospace digits only", |s| {
            or_wide(s, turn(s, All, |_, c| math(forms::MONOSPACE, c).filter(|_| c.is_ascii_digit())))
        }),
        d("circled, all", |s| turn(s, All, |_, c| forms::circled(c))),
        d("circled, the middle one", |s| turn(s, Middle, |_, c| forms::circled(c))),
        d("squared capitals", |s| or_wide(s, turn(s, All, |_, c| math(forms::SQUARED, c)))),
        d("seven-segment digits", |s| or_wide(s, turn(s, All, |_, c| math(forms::SEGMENTED, c)))),
        d("outlined capitals and digits", |s| or_wide(s, turn(s, All, |_, c| math(forms::OUTLINED, c)))),
        d("superscripts, all", |s| turn(s, All, |_, c| of(forms::SUPERSCRIPT, c))),
        d("superscripts, every third", |s| or_wide(s, turn(s, Third, |_, c| of(forms::SUPERSCRIPT, c)))),
        d("subscripts, all", |s| or_wide(s, turn(s, All, |_, c| of(forms::SUBSCRIPT, c)))),
        d("Roman numerals for letters", |s| or_wide(s, turn(s, All, |_, c| of(forms::ROMAN, c)))),
        d("long s, Kelvin sign and other strays", |s| or_wide(s, turn(s, All, |_, c| of(forms::STRAYS, c)))),
        d("long s, Kelvin sign and other strays, only one", |s| {
            or_wide(s, turn(s, Middle, |_, c| of(forms::STRAYS, c)))
        }),
        d("small forms of the marks", |s| or_wide(s, turn(s, All, |_, c| of(forms::SMALL, c)))),
        d("full-width marks only", |s| {
            or_wide(s, turn(s, All, |_, c| wide(c).filter(|_| c.is_ascii_punctuation())))
        }),
        d("five alphabets in turn", |s| turn(s, All, five)),
    ]
}

/// For a secret with nothing the table knows.
fn or_wide(secret: &str, out: String) -> String {
    if out == secret { turn(secret, Middle, |_, c| wide(c)) } else { out }
}

fn five(at: usize, c: char) -> Option<char> {
    let turns = [
        math(forms::SANS_BOLD, c),
        wide(c),
        math(forms::DOUBLE_STRUCK, c),
        forms::circled(c),
        of(forms::SUPERSCRIPT, c),
    ];
    turns[at % turns.len()].or_else(|| wide(c))
}

fn look_alikes() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "look-alike", put_on };
    vec![
        d("Cyrillic, all that have one", |s| turn(s, All, |_, c| of(forms::CYRILLIC, c))),
        d("Cyrillic, every third", |s| or_one(s, turn(s, Third, |_, c| of(forms::CYRILLIC, c)))),
        d("Cyrillic, only one in the middle", |s| turn(s, Middle, |_, c| of(forms::CYRILLIC, c))),
        d("Cyrillic, only one after the first four", |s| turn(s, Fifth, |_, c| of(forms::CYRILLIC, c))),
        d("Cyrillic, only the last", |s| turn(s, Last, |_, c| of(forms::CYRILLIC, c))),
        d("Cyrillic in the first four", |s| or_one(s, turn(s, Head, |_, c| of(forms::CYRILLIC, c)))),
        d("Greek, all that have one", |s| or_one(s, turn(s, All, |_, c| of(forms::GREEK, c)))),
        d("Greek, only one in the middle", |s| or_one(s, turn(s, Middle, |_, c| of(forms::GREEK, c)))),
        d("Armenian, all that have one", |s| or_one(s, turn(s, All, |_, c| of(forms::ARMENIAN, c)))),
        d("Cherokee, all that have one", |s| or_one(s, turn(s, All, |_, c| of(forms::CHEROKEE, c)))),
        d("Lisu capitals", |s| or_one(s, turn(s, All, |_, c| of(forms::LISU, c)))),
        d("Latin letters of phonetics", |s| or_one(s, turn(s, All, |_, c| of(forms::LATIN, c)))),
        d("Latin script g or dotless i, only one", |s| {
            or_one(s, turn(s, Middle, |_, c| of(forms::LATIN, c)))
        }),
        d("other hyphens, underscores and dots", |s| or_one(s, turn(s, All, |_, c| of(forms::MARKS, c)))),
        d("five scripts in turn", |s| or_one(s, turn(s, All, scripts))),
    ]
}

/// For a secret with nothing the table knows.
fn or_one(secret: &str, out: String) -> String {
    if out == secret { turn(secret, Middle, |_, c| of(forms::CYRILLIC, c)) } else { out }
}

fn scripts(at: usize, c: char) -> Option<char> {
    let tables = [forms::CYRILLIC, forms::GREEK, forms::LISU, forms::CHEROKEE, forms::ARMENIAN];
    (0..tables.len()).find_map(|next| of(tables[(at + next) % tables.len()], c))
}

fn marked() -> Vec<Disguise> {
    let d = |name, put_on| Disguise { name, family: "marked", put_on };
    vec![
        d("acute on all, combining", |s| insert(s, All, "\u{301}")),
        d("acute on all, in one piece where there is one", |s| {
            let out = turn(s, All, |_, c| of(forms::ACUTE, c));
            if out == s { insert(s, Middle, "\u{301}") } else { out }
        }),
        d("dot below, only one in the middle", |s| insert(s, Middle, "\u{323}")),
        d("low line under all", |s| insert(s, All, "\u{332}")),
        d("long stroke through all", |s| insert(s, All, "\u{336}")),
        d("slash through every third", |s| insert(s, Third, "\u{338}")),
        d("circle around one, after the first four", |s| insert(s, Fifth, "\u{20dd}")),
        d("keycap before the last", |s| insert(s, Last, "\u{20e3}")),
        d("heaps of marks on every third", |s| {
            insert(s, Third, "\u{30d}\u{352}\u{367}\u{489}\u{316}\u{35c}\u{1dc4}\u{fe20}")
        }),
        d("another mark on each", |s| {
            insert_with(s, All, |at| {
                char::from_u32(0x300 + at as u32 % 0x40).map(String::from).unwrap_or_default()
            })
        }),
        d("thousand marks on one", |s| insert(s, Middle, &"\u{307}\u{331}".repeat(500))),
    ]
}
