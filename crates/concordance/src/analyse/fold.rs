//! One word written in two ways becomes one: compatibility forms (NFKC), accents, invisible characters, case.
//!
//! Case is folded apart from the rest and later, because `CamelCase` is taken to pieces by it.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// The text with compatibility forms resolved, accents taken off and invisible characters gone; its case is kept.
///
/// Only the marks of Latin, Greek and Cyrillic letters go. What other scripts write as marks (vowels of Hindi, points of Hebrew, the voicing of
/// kana) tells words apart.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let bare = text.chars().filter(|c| !is_invisible(*c)).nfkd().filter(|c| !is_accent(*c));
    Cow::Owned(bare.nfc().collect())
}

/// Appends the character in lower case, and as the letters it is usually typed as where a keyboard lacks it.
pub(super) fn push_folded(c: char, to: &mut String) {
    if c.is_ascii() {
        to.push(c.to_ascii_lowercase());
        return;
    }
    for lower in c.to_lowercase() {
        match lower {
            'ß' => to.push_str("ss"),
            'æ' => to.push_str("ae"),
            'œ' => to.push_str("oe"),
            'ø' => to.push('o'),
            'ł' => to.push('l'),
            'đ' | 'ð' => to.push('d'),
            'ı' => to.push('i'),
            'ς' => to.push('σ'),
            // A capital I with a dot comes apart only when its case is folded.
            other if is_accent(other) => {}
            other => to.push(other),
        }
    }
}

fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}')
}

/// Joiners, direction marks, soft hyphens, variation selectors: a text that has them in it reads as if it had not.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180e}' | '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}
