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

/// The text with each character as `written` has it, cut so that all of it has at most `max` units of UTF-16, which is
/// what chat services count at most. What stands for one character is never cut apart.
pub(crate) fn fitted(text: &str, max: usize, written: impl Fn(char) -> String) -> String {
    let (mut out, mut units, mut kept) = (String::new(), 0, 0);
    for piece in text.chars().map(written) {
        units += piece.encode_utf16().count();
        if units > max {
            out.truncate(kept);
            if max > 0 {
                out.push('…');
            }
            return out;
        }
        out.push_str(&piece);
        // From here there would be room for the sign of the cut.
        if units < max {
            kept = out.len();
        }
    }
    out
}

/// The text, cut to `max` bytes of UTF-8 at the end of a character, of which the last then says that there was more.
pub(crate) fn cut_bytes(text: &str, max: usize) -> String {
    const MORE: &str = "…";
    if text.len() <= max {
        return text.to_owned();
    }
    let room = max.saturating_sub(MORE.len());
    let end = text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= room).last();
    format!("{}{MORE}", &text[..end.unwrap_or(0)])
}

/// The text without a word that would call people: an `@` that could begin a name no longer touches it. Addresses of
/// mail stay as they are.
pub(crate) fn unpinged(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        out.push(c);
        let rest = &text[at + c.len_utf8()..];
        let names = rest.chars().next().is_some_and(char::is_alphanumeric);
        if c == '@' && names && (!before.is_alphanumeric() || calls_all(rest)) {
            out.push(APART);
        }
        before = c;
    }
    out
}

/// Takes no space. What comes in has none of these, so whoever reads one here knows who put it in.
const APART: char = '\u{200b}';
/// What calls everybody somewhere.
const EVERYBODY: [&str; 4] = ["everyone", "here", "channel", "all"];

fn calls_all(name: &str) -> bool {
    EVERYBODY.iter().any(|word| name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)))
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

    #[test]
    fn nobody_is_called() {
        for (text, said) in [
            ("@everyone look", "@\u{200b}everyone look"),
            ("x@Here", "x@\u{200b}Here"),
            ("(@ana) @channel,@all", "(@\u{200b}ana) @\u{200b}channel,@\u{200b}all"),
            ("ana@example.org and a @ b @", "ana@example.org and a @ b @"),
            ("<!channel> <@U123> @@everyone", "<!channel> <@\u{200b}U123> @@\u{200b}everyone"),
        ] {
            assert_eq!(unpinged(text), said, "{text:?}");
        }
    }

    #[test]
    fn what_stands_for_a_character_is_not_cut_apart() {
        let doubled = |c: char| if c == '*' { "\\*".to_owned() } else { c.to_string() };
        for (text, max, said) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("a*bc", 5, "a\\*bc"),
            ("a*bc", 4, "a\\*…"),
            ("a**", 4, "a\\*…"),
            ("a**", 3, "a…"),
            ("🚨🚨", 3, "🚨…"),
            ("🚨🚨", 2, "…"),
            ("ab", 0, ""),
        ] {
            assert_eq!(fitted(text, max, doubled), said, "{text:?} {max}");
        }
        for (text, max, said) in
            [("abcd", 4, "abcd"), ("abcde", 4, "a…"), ("日本語", 8, "日…"), ("abcd", 3, "…")]
        {
            assert_eq!(cut_bytes(text, max), said, "{text:?} {max}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_longer_than_allowed(text in "\\PC*|.*", max in 0usize..50) {
            prop_assert!(clean(&text, max).chars().count() <= max);
            prop_assert!(cut(&text, max.max(1)).chars().count() <= max.max(1));
            prop_assert!(!clean(&text, max).chars().any(char::is_control));
            prop_assert!(fitted(&text, max, |c| c.to_string()).encode_utf16().count() <= max);
            prop_assert!(cut_bytes(&text, max.max(3)).len() <= max.max(3));
        }
    }
}
