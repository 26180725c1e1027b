//! Names people give: to each other, to their devices and tokens. They are shown in pages, logs and authenticators, so
//! they are short, have one spelling, and hold nothing that turns, hides, or ends a line, or cannot be seen.

use holdfast_types::drives_a_terminal;
use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, Script};
use icu_properties::script::{ScriptWithExtensions, ScriptWithExtensionsBorrowed};
use icu_properties::{CodePointMapData, CodePointSetData};
use unicode_normalization::{UnicodeNormalization as _, is_nfc};

/// Characters of a person's name.
pub const NAME_MAX: usize = 64;

/// Characters of a label; a browser's own description of itself fits when it is cut.
pub const LABEL_MAX: usize = 80;

/// Marks that may stand on one letter. No language needs more; a stack of them covers the lines above and below.
const MARKS_MAX: usize = 4;

holdfast_types::names! {
    /// What a person is called here.
    PersonName, "name", is_name, "a name has 1 to 64 visible characters of one script, one space between words, and no space at either end";
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
/// spellings do not count, nor do spaces, nor letters, digits and pairs of letters that are drawn alike.
pub(crate) fn key_of(name: &str) -> String {
    let flat = |text: &str| -> String { text.nfkc().flat_map(char::to_lowercase).collect() };
    // Twice: lower case may have compatible spellings of its own, and the other way round.
    let key = flat(&flat(name));
    let key: String =
        key.chars().filter(|c| !c.is_whitespace() && !is_invisible(*c)).map(plain_look).collect();
    // `vv` first: the others cannot make one.
    key.replace("vv", "w").replace("rn", "m")
}

/// Letters of other alphabets, and of other corners of the Latin one, that are drawn like a plain one in every usual font (Unicode's
/// UTS 39, as far as a whole name can be written with them). `I`, `l`, `1` and `|` are one, as are `O` and `0`: which of them is meant
/// depends on the font, and case does not count.
fn plain_look(c: char) -> char {
    LOOKS.iter().find(|(_, alike)| alike.contains(c)).map_or(c, |(plain, _)| *plain)
}

const LOOKS: [(char, &str); 25] = [
    ('a', "\u{430}\u{3b1}\u{251}"),
    ('b', "\u{432}\u{44c}\u{185}"),
    ('c', "\u{441}\u{3c2}\u{1d04}\u{2ca5}"),
    ('d', "\u{501}"),
    ('e', "\u{435}\u{212e}\u{4bd}"),
    ('f', "\u{3dd}\u{584}\u{1e9d}"),
    ('g', "\u{261}\u{581}\u{18d}"),
    ('h', "\u{43d}\u{4bb}\u{570}"),
    ('j', "\u{458}\u{3f3}\u{237}"),
    ('k', "\u{43a}\u{3ba}\u{138}"),
    ('l', "i1|\u{456}\u{3b9}\u{131}\u{269}\u{26a}\u{4cf}\u{1c0}"),
    ('m', "\u{43c}"),
    ('n', "\u{578}\u{57c}\u{3b7}"),
    ('o', "0\u{43e}\u{3bf}\u{585}\u{3c3}\u{1d0f}"),
    ('p', "\u{440}\u{3c1}\u{2ca3}"),
    ('q', "\u{51b}\u{563}\u{566}"),
    ('r', "\u{433}\u{1d26}\u{2c85}"),
    ('s', "\u{455}\u{1bd}\u{a731}"),
    ('t', "\u{442}\u{3c4}"),
    ('u', "\u{3bc}\u{57d}\u{28b}\u{1d1c}"),
    ('v', "\u{3bd}\u{475}\u{1d20}"),
    ('w', "\u{51d}\u{461}\u{26f}\u{1d21}\u{561}"),
    ('x', "\u{445}\u{3c7}\u{2cad}"),
    ('y', "\u{443}\u{3c5}\u{4af}\u{263}\u{28f}"),
    ('z', "\u{1d22}"),
];

/// Whether all letters are of scripts that are written together: one, or those of Chinese, Japanese or Korean with Latin (UTS 39, "highly
/// restrictive"). Whoever needs a letter of another script in a name wants it to be taken for one of the first.
fn is_of_one_script(text: &str) -> bool {
    const TOGETHER: [&[Script]; 3] = [
        &[Script::Latin, Script::Han, Script::Hiragana, Script::Katakana],
        &[Script::Latin, Script::Han, Script::Bopomofo],
        &[Script::Latin, Script::Han, Script::Hangul],
    ];
    let scripts = ScriptWithExtensions::new();
    let written_in =
        |script: Script| text.chars().all(|c| is_of_all(scripts, c) || scripts.has_script(c, script));
    let written_with = |all: &[Script]| {
        text.chars().all(|c| is_of_all(scripts, c) || all.iter().any(|script| scripts.has_script(c, *script)))
    };
    text.chars().all(|c| is_of_all(scripts, c))
        || text.chars().any(|c| written_in(scripts.get_script_val(c)))
        || TOGETHER.iter().any(|all| written_with(all))
}

/// Digits, signs and marks, which all scripts share.
fn is_of_all(scripts: ScriptWithExtensionsBorrowed<'_>, c: char) -> bool {
    [Script::Common, Script::Inherited].iter().any(|script| scripts.get_script_val(c) == *script)
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
    fits(text, NAME_MAX) && is_of_one_script(text)
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

/// Whether a character is not seen, or turns what stands around it, as the tables of Unicode say: all that is default ignorable
/// (fillers, variation selectors, tags and what is reserved for more of them), all that formats or separates, private use, and what is no
/// character (yet). Besides, the mark of an unreadable one and the blank Braille cell.
fn is_invisible(c: char) -> bool {
    use GeneralCategory as Is;
    const BLANK: [char; 2] = ['\u{2800}', '\u{fffd}'];
    let unseen = matches!(
        CodePointMapData::<GeneralCategory>::new().get(c),
        Is::Control
            | Is::Format
            | Is::PrivateUse
            | Is::Surrogate
            | Is::Unassigned
            | Is::LineSeparator
            | Is::ParagraphSeparator
    );
    unseen
        || drives_a_terminal(c)
        || BLANK.contains(&c)
        || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
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
            // Written together: one script, or those of East Asia with Latin.
            ("\u{410}\u{43d}\u{430}", true),
            ("\u{391}\u{3bd}\u{3b1} 2", true),
            ("\u{3042}\u{30a2}\u{65e5} Ana", true),
            ("\u{d55c}\u{6f22} Ana", true),
            ("An\u{430}", false),
            ("\u{410}na", false),
            ("An\u{3b1}", false),
            ("\u{430}\u{3bd}\u{430}", false),
            ("Ana \u{561}", false),
            ("\u{3042}\u{430}", false),
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
    fn nothing_that_unicode_calls_ignorable_is_in_a_name() {
        let ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>();
        let all: Vec<char> = ('\0'..=char::MAX).filter(|c| ignorable.contains(*c)).collect();
        assert!(all.len() > 4_000, "{}", all.len());
        for c in all {
            assert!(format!("A{c}na").parse::<PersonName>().is_err(), "{c:?}");
            assert_eq!(key_of(&format!("A{c}na")), key_of("Ana"), "{c:?}");
        }
    }

    #[test]
    fn a_whole_name_in_another_alphabet_that_looks_like_one_of_ours_is_that_one() {
        for (alike, ours) in [
            ("\u{430}\u{43c}\u{43e}\u{441}", "amoc"),
            ("\u{441}\u{430}\u{440}\u{430}", "capa"),
            ("\u{455}\u{441}\u{43e}\u{440}\u{435}", "scope"),
            ("\u{3bf}\u{3c4}\u{3c4}\u{3bf}", "otto"),
            ("\u{585}\u{578}\u{585}", "ono"),
        ] {
            assert!(alike.parse::<PersonName>().is_ok(), "{alike}: one script");
            assert_eq!(key_of(alike), key_of(ours), "{alike}");
        }
        for (plain, alike) in LOOKS {
            for c in alike.chars() {
                // As the key has it, and in one place.
                assert_eq!(key_of(&c.to_string()), plain.to_string(), "{c:?}");
                assert_eq!(LOOKS.iter().filter(|(_, all)| all.contains(c)).count(), 1, "{c:?}");
            }
        }
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
        for (one, other) in [
            ("AIice", "Alice"),
            ("A1ice", "Alice"),
            ("A|ice", "Alice"),
            ("ALICE", "aiice"),
            ("B0b", "Bob"),
            ("BOB", "b0b"),
            ("Arny", "Amy"),
            ("Ar Ny", "Amy"),
            ("0I O1", "OlOI"),
            ("Vvendy", "Wendy"),
            ("\u{421}\u{456}\u{430}", "Cla"),
        ] {
            assert_eq!(key_of(one), key_of(other), "{one} {other}");
        }
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
