//! Text that somebody else wrote, made safe to repeat on a terminal and in a log.

/// How much of a value a message repeats.
const QUOTED_MAX: usize = 40;

/// Whether a terminal obeys the character instead of showing it, or a reader cannot see it.
pub(crate) fn drives_a_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

pub(crate) fn escaped(text: &str) -> String {
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

/// A value as a message quotes it: bounded and escaped, between backquotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut kept: String = text.chars().take(QUOTED_MAX).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    format!("`{}`", escaped(&kept))
}

/// Whether a text looks like the name of a key. What does not may be a pasted secret and is not repeated.
pub(crate) fn is_key_like(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}
