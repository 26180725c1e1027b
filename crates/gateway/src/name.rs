//! Names people give: to each other, to their devices and tokens. They are shown in pages, logs and authenticators, so
//! they are short, have one spelling, and hold nothing that turns, hides, or ends a line, or cannot be seen.

use holdfast_types::drives_a_terminal;
use unicode_normalization::{UnicodeNormalization as _, is_nfc};

/// Characters of a person's name.
pub const NAME_MAX: usize = 64;

/// Characters of a label; a browser's own description of itself fits when it is cut.
pub const LABEL_MAX: usize = 80;

/// Marks that may stand on one letter. No language needs more; a stack of them covers the lines above and below.
const MARKS_MAX: usize = 4;

holdfast_types::names! {
    /// What a person is called here.
    PersonName, "name", is_name, "a name has 1 to 64 visible characters, one space between words, and no space at either end";
    /// What a device or token is called.
    Label, "label", is_label, "a label has 1 to 80 visible characters, one space between words, and no space at either end";
}

impl Label {
    /// The nearest label to a text that somebody sent, for what must not fail over a name.
    pub fn near(text: &str, otherwise: &'static str) -> Label {
        // Looked at no further than a label can come of it.
        let spaced = text.chars().take(8 * LABEL_MAX).map(|c| if is_odd_space(c) { ' ' } else { c });
        let visible: String = spaced.filter(|c| !is_invisible(*c)).nfc().collect();
        let mut clean = String::new();
        for word in visible.split(' ').filter(|word| !word.is_empty()) {
            if !clean.is_empty() {
                clean.push(' ');
            }
            clean.extend(without_towers(word));
        }
        let clean: String = clean.chars().take(LABEL_MAX).collect();
        Some(clean.trim().to_owned())
            .filter(|clean| is_label(clean))
            .map_or_else(|| Label(otherwise.to_owned()), Label)
    }
}

/// What a name is compared by: two that look the same are the same. Case, width, ligatures and the other compatible
/// spellings do not count, nor do spaces.
pub(crate) fn key_of(name: &str) -> String {
    let flat = |text: &str| -> String { text.nfkc().flat_map(char::to_lowercase).collect() };
    // Twice: lower case may have compatible spellings of its own, and the other way round.
    let key = flat(&flat(name));
    key.chars().filter(|c| !c.is_whitespace() && !is_invisible(*c)).map(plain_look).collect()
}

/// Letters of other alphabets that are drawn like a Latin one in every usual font.
fn plain_look(c: char) -> char {
    match c {
        '\u{430}' | '\u{3b1}' => 'a',
        '\u{435}' => 'e',
        '\u{456}' | '\u{3b9}' | '\u{131}' => 'i',
        '\u{458}' => 'j',
        '\u{43a}' | '\u{3ba}' => 'k',
        '\u{43e}' | '\u{3bf}' | '\u{585}' => 'o',
        '\u{440}' | '\u{3c1}' => 'p',
        '\u{441}' | '\u{3f2}' => 'c',
        '\u{455}' => 's',
        '\u{443}' | '\u{3c5}' => 'y',
        '\u{445}' | '\u{3c7}' => 'x',
        '\u{43c}' => 'm',
        '\u{43d}' => 'h',
        '\u{442}' => 't',
        '\u{432}' => 'b',
        '\u{3bd}' => 'v',
        '\u{3bc}' => 'u',
        other => other,
    }
}

impl PersonName {
    /// A name that was stored under earlier rules, with whatever is not seen in it spelled out.
    pub(crate) fn stored(text: &str) -> PersonName {
        text.parse().unwrap_or_else(|_| PersonName(spelled_out(text, NAME_MAX)))
    }
}

impl Label {
    /// The same for a label.
    pub(crate) fn stored(text: &str) -> Label {
        text.parse().unwrap_or_else(|_| Label(spelled_out(text, LABEL_MAX)))
    }
}

fn spelled_out(text: &str, max: usize) -> String {
    let mut out = String::new();
    let odd = |c: char| is_invisible(c) || is_odd_space(c);
    for c in text.chars().take(max) {
        if odd(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    let out: String = without_towers(&out).nfc().take(max).collect();
    match out.trim() {
        "" => "?".to_owned(),
        out => out.to_owned(),
    }
}

fn is_name(text: &str) -> bool {
    fits(text, NAME_MAX)
}

fn is_label(text: &str) -> bool {
    fits(text, LABEL_MAX)
}

fn fits(text: &str, max: usize) -> bool {
    let odd = |c: char| is_invisible(c) || is_odd_space(c);
    !text.is_empty()
        && text.trim() == text
        && text.chars().count() <= max
        && !text.chars().any(odd)
        && !text.contains("  ")
        && is_nfc(text)
        && without_towers(text).count() == text.chars().count()
        // A mark needs something to stand on.
        && !text.starts_with(is_mark)
}

/// Whether a character is not seen, or turns what stands around it. Besides those that drive a terminal: all that Unicode
/// calls default ignorable (fillers, variation selectors, tags and what is reserved for more of them), private use, what
/// is no character, the mark of an unreadable one, and the blank Braille cell.
fn is_invisible(c: char) -> bool {
    drives_a_terminal(c)
        || matches!(c,
            '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{2800}' | '\u{3164}' | '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{fff0}'..='\u{ffff}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{10ffff}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// Whether a character only looks like a space.
fn is_odd_space(c: char) -> bool {
    c != ' ' && c.is_whitespace() && !c.is_control()
}

fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// The text with at most so many marks on each letter.
fn without_towers(text: &str) -> impl Iterator<Item = char> {
    let mut marks = 0;
    text.chars().filter(move |c| {
        marks = if is_mark(*c) { marks + 1 } else { 0 };
        marks <= MARKS_MAX
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What cannot be seen, turns the line, or only looks like a space.
    const HIDDEN: &[char] = &[
        '\0',
        '\t',
        '\n',
        '\r',
        '\u{7f}',
        '\u{85}',
        '\u{9b}',
        '\u{ad}',
        '\u{34f}',
        '\u{61c}',
        '\u{115f}',
        '\u{1160}',
        '\u{17b4}',
        '\u{17b5}',
        '\u{180b}',
        '\u{180e}',
        '\u{180f}',
        '\u{200b}',
        '\u{200c}',
        '\u{200d}',
        '\u{200e}',
        '\u{200f}',
        '\u{2028}',
        '\u{2029}',
        '\u{202a}',
        '\u{202e}',
        '\u{2060}',
        '\u{2063}',
        '\u{2065}',
        '\u{2066}',
        '\u{2069}',
        '\u{206f}',
        '\u{2800}',
        '\u{3164}',
        '\u{e000}',
        '\u{fe00}',
        '\u{fe0f}',
        '\u{feff}',
        '\u{ffa0}',
        '\u{fff0}',
        '\u{fff9}',
        '\u{fffd}',
        '\u{fffe}',
        '\u{1bca0}',
        '\u{1d173}',
        '\u{1d17a}',
        '\u{e0001}',
        '\u{e0041}',
        '\u{e007f}',
        '\u{e0100}',
        '\u{e01ef}',
        '\u{f0000}',
        '\u{10ffff}',
        '\u{a0}',
        '\u{1680}',
        '\u{2000}',
        '\u{2003}',
        '\u{200a}',
        '\u{202f}',
        '\u{205f}',
        '\u{3000}',
    ];

    #[test]
    fn a_name_is_short_and_visible() {
        for (text, ok) in [
            ("Ana", true),
            ("Grüße 日本", true),
            ("Zoë van der Meer", true),
            ("नीला", true),
            ("משה", true),
            ("", false),
            (" Ana", false),
            ("Ana  Lis", false),
            ("a\nb", false),
            ("\u{202e}anA", false),
            ("a\u{200b}b", false),
            ("Zoe\u{308}", false),
            ("\u{301}a", false),
            ("a\u{316}\u{317}\u{318}\u{319}\u{31a}", false),
        ] {
            assert_eq!(text.parse::<PersonName>().is_ok(), ok, "{text:?}");
        }
        assert!("x".repeat(65).parse::<PersonName>().is_err());
    }

    #[test]
    fn what_cannot_be_seen_is_in_no_name_wherever_it_stands() {
        for hidden in HIDDEN {
            for text in
                [format!("{hidden}Ana"), format!("A{hidden}na"), format!("Ana{hidden}"), hidden.to_string()]
            {
                assert!(text.parse::<PersonName>().is_err(), "{text:?}");
                assert!(text.parse::<Label>().is_err(), "{text:?}");
                let near = Label::near(&text, "a device");
                assert!(near.as_str().parse::<Label>().is_ok(), "{text:?} {near:?}");
                assert!(!near.as_str().contains(*hidden), "{text:?} {near:?}");
            }
        }
    }

    #[test]
    fn what_was_stored_under_earlier_rules_is_shown_spelled_out() {
        assert_eq!(PersonName::stored("An\u{3164}a").as_str(), "An\\u{3164}a");
        assert_eq!(PersonName::stored("Zoe\u{308}").as_str(), "Zoë");
        assert_eq!(Label::stored("\u{e0041}").as_str(), "\\u{e0041}");
        assert!(PersonName::stored(&"\u{e0041}".repeat(64)).as_str().chars().count() <= NAME_MAX);
    }

    #[test]
    fn names_that_look_alike_are_one() {
        let ana = key_of("Ana Lis");
        for alike in [
            "ana lis",
            "ANA LIS",
            "AnaLis",
            "Ana  Lis",
            "\u{ff21}na Lis",
            "An\u{430} L\u{456}s",
            "\u{1d400}na Lis",
        ] {
            assert_eq!(key_of(alike), ana, "{alike}");
        }
        assert_eq!(key_of("\u{fb01}ona"), key_of("Fiona"));
        assert_ne!(key_of("Anna Lis"), ana);
        assert_ne!(key_of("Zoë"), key_of("Zoe"));
    }

    #[test]
    fn any_text_has_a_label_near_it() {
        assert_eq!(Label::near("  Firefox\u{0} on\nLinux ", "a device").as_str(), "Firefox onLinux");
        assert_eq!(Label::near("\u{202e}", "a device").as_str(), "a device");
        assert_eq!(Label::near("My\u{3000}phone", "a device").as_str(), "My phone");
        assert_eq!(Label::near(&"x".repeat(10_000), "a device").as_str().len(), LABEL_MAX);
    }
}
