//! Who a person of the gateway is in the journal.

use holdfast_gateway::Signed;
use holdfast_types::Actor;

/// Longest part of an actor that is a person's name.
const NAME_MAX: usize = 40;

/// `web:ana`; with the end of the person's id where the name had to be changed to fit, so that no two are the same.
pub(crate) fn actor_of(who: &Signed) -> Actor {
    actor_named(&who.name.to_string(), &who.person.to_string())
}

/// The same by name and id.
pub(crate) fn actor_named(name: &str, id: &str) -> Actor {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c.to_ascii_lowercase() } else { '-' }
    };
    let slug: String = name.chars().take(NAME_MAX).map(plain).collect();
    let tail: String = id.chars().rev().take(6).collect::<Vec<_>>().into_iter().rev().collect();
    let text = if slug == name.to_lowercase() { format!("web:{slug}") } else { format!("web:{slug}-{tail}") };
    // An id has only characters that a name may have.
    text.parse().or_else(|_| format!("web:{tail}").parse()).unwrap_or_else(|_| crate::kinds::own_actor())
}

/// A path of ours from its parts, each escaped.
pub(crate) fn path(parts: &[&str]) -> String {
    let mut out = String::new();
    for part in parts {
        out.push('/');
        for byte in part.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                out.push(char::from(byte));
            } else {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    out
}
