//! Text made fit to be told: no control characters, no hidden ones, and not too long.
//!
//! Cutting happens twice. What is written down may be longer than what is sent, so that the journal's screen
//! sees a secret whole that stands across the place where the sent text is cut.

/// Most characters of a message as it is sent, and of a value and a name of its context.
pub(crate) const MESSAGE_MAX: usize = 1_000;
pub(crate) const VALUE_MAX: usize = 200;
pub(crate) const NAME_MAX: usize = 64;
/// Most entries of the context.
pub(crate) const CONTEXT_MAX: usize = 16;
/// How much longer a text may be in the journal than on its way to people.
pub(crate) const KEPT_TIMES: usize = 4;
/// Most bytes of a character of a text in the journal, taken over the whole text. With it a notice of the longest
/// message and the fullest context fits into a line, whatever its characters are.
const BYTES_PER_CHAR: usize = 2;

/// The text without what could steer a terminal or hide from a reader; line ends become spaces.
pub(crate) fn clean(text: &str, max: usize) -> String {
    let visible = text.chars().filter_map(|c| match c {
        '\n' | '\r' | '\t' => Some(' '),
        c if c.is_control() || is_hidden(c) => None,
        c => Some(c),
    });
    visible.take(max).collect()
}

/// The text as it is kept: clean, and so short that a notice with all its parts fits into one line of the journal.
pub(crate) fn kept(text: &str, max: usize) -> String {
    let mut room = max * KEPT_TIMES * BYTES_PER_CHAR;
    let mut kept = clean(text, max * KEPT_TIMES);
    let fits = |c: char| {
        // A quotation mark and a backslash are written as two.
        room = room.checked_sub(c.len_utf8() + usize::from(matches!(c, '"' | '\\')))?;
        Some(c.len_utf8())
    };
    let len = kept.chars().map_while(fits).sum();
    kept.truncate(len);
    kept
}

/// The text as it is sent: clean, and cut to `max` characters.
pub(crate) fn sent(text: &str, max: usize) -> String {
    cut(&clean(text, max.saturating_add(1)), max)
}

/// The text, cut to `max` characters of which the last then says that there was more.
pub(crate) fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(max.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Characters that reorder text or take no space: the usual means of making a text read as another one.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_steers_or_hides_is_gone() {
        for (text, cleaned) in [
            ("plain é 日本 🚨", "plain é 日本 🚨"),
            ("a\nb\tc\rd", "a b c d"),
            ("\u{1b}[31mred\u{7}\u{0}", "[31mred"),
            ("abc\u{202e}fed\u{200b}", "abcfed"),
            ("ghp_\u{200b}x", "ghp_x"),
        ] {
            assert_eq!(clean(text, 100), cleaned, "{text:?}");
        }
    }

    #[test]
    fn a_cut_text_says_so() {
        assert_eq!(cut("abcd", 4), "abcd");
        assert_eq!(cut("abcde", 4), "abc…");
        assert_eq!(cut("日本語日本", 3), "日本…");
        assert_eq!(cut("", 0), "");
    }

    proptest! {
        #[test]
        fn nothing_is_longer_than_allowed(text in "\\PC*|.*", max in 0usize..50) {
            prop_assert!(clean(&text, max).chars().count() <= max);
            prop_assert!(cut(&text, max.max(1)).chars().count() <= max.max(1));
            prop_assert!(!clean(&text, max).chars().any(char::is_control));
        }
    }
}
