//! How much of what somebody else wrote a message repeats.

use holdfast_types::printable;

/// How much of a value a message repeats.
const QUOTED_MAX: usize = 40;

/// A value as a message quotes it: bounded and escaped, between backquotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut kept: String = text.chars().take(QUOTED_MAX).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    format!("`{}`", printable(&kept))
}

/// Whether a text looks like the name of a key. What does not may be a pasted secret and is not repeated.
pub(crate) fn is_key_like(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}
