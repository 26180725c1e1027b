//! How much of what somebody else wrote a message repeats.

use std::ops::Range;

use holdfast_guard::{Guard, Looking, Scene};
use holdfast_types::printable;

/// How much of a value a message repeats.
const QUOTED_MAX: usize = 40;

/// A value as a message quotes it: bounded and escaped, between backquotes. What is known for a secret is not repeated at
/// all, because half of one is no longer known for it.
pub(crate) fn quoted(text: &str) -> String {
    if !secrets_in(text).is_empty() {
        return "`…`".to_owned();
    }
    let mut kept: String = text.chars().take(QUOTED_MAX).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    format!("`{}`", printable(&kept))
}

/// Where in a text secrets stand that are known by their form or by what is around them.
pub(crate) fn secrets_in(text: &str) -> Vec<Range<usize>> {
    let found = Guard::builtin().find(text.as_bytes(), &Scene::text(Looking::Named));
    found.into_iter().map(|finding| finding.span).collect()
}

/// Whether a text looks like the name of a key. What does not may be a pasted secret and is not repeated.
pub(crate) fn is_key_like(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
        && secrets_in(text).is_empty()
}
