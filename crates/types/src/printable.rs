//! Text that somebody else wrote, made safe to show: a terminal obeys control characters, and a reader does not see
//! what turns or hides the text beside it.

/// Whether a terminal obeys the character instead of showing it, or a reader cannot see it.
pub fn drives_a_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The text with such characters spelled out.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if drives_a_terminal(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_printed_drives_the_terminal() {
        for text in ["\u{1b}[2J", "a\rb", "\u{9b}31m", "\u{202e}evil", "\u{7f}", "a\u{200b}b", "\u{feff}"] {
            let safe = printable(text);
            assert!(!safe.chars().any(drives_a_terminal), "{safe}");
            assert!(safe.contains('\\'), "{safe}");
        }
        assert_eq!(printable("Grüße, 日本 ●"), "Grüße, 日本 ●");
    }
}
