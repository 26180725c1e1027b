//! Bounded names that go into every log line.
//!
//! Each is ASCII from a small alphabet, so a name can neither forge a line nor need escaping, and has a
//! length limit, so no entry is mostly envelope. What is inside has been checked once, at the door.

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{what} {text:?} is not allowed: {rule}")]
pub struct NameError {
    pub what: &'static str,
    pub text: String,
    pub rule: &'static str,
}

/// Defines names that can only be made by passing their rule: parsing, printing and (de)serialising of each, once for all rooms.
/// A line each: documentation, type, what to call it in errors, the check, the rule in words.
#[macro_export]
macro_rules! names {
    ($($(#[$doc:meta])* $name:ident, $what:literal, $valid:ident, $rule:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            pub const RULE: &'static str = $rule;

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::NameError;

            fn from_str(text: &str) -> Result<Self, $crate::NameError> {
                if $valid(text) {
                    Ok($name(text.to_owned()))
                } else {
                    Err($crate::NameError { what: $what, text: text.chars().take(80).collect(), rule: $rule })
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::NameError;

            fn try_from(text: String) -> Result<Self, $crate::NameError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Debug::fmt(&self.0, f)
            }
        }
    )*};
}

names! {
    /// A part of the house that writes entries: `steward`, `memory`.
    Room, "room", is_word,
        "a room is a lower-case letter followed by up to 31 lower-case letters, digits or _";
    /// What happened: `room.noun.verb_past`, for instance `steward.trial.started`.
    Kind, "kind", is_kind,
        "a kind is room.noun.verb_past: three lower-case words of letters, digits and _, at most 96 characters";
    /// Who did it: a person, an agent, a part. `ana`, `agt_01j…`, `holdfast-tripwire`, `uid:1000`.
    Actor, "actor", is_actor,
        "an actor is 1 to 128 characters of a-z A-Z 0-9 . _ : @ / - and starts with a letter or digit";
    /// An idempotency key: a second append with the same key is the first one.
    Key, "key", is_actor,
        "a key is 1 to 128 characters of a-z A-Z 0-9 . _ : @ / - and starts with a letter or digit";
    /// Which log an entry was written to: `holdfast/<instance>`.
    Origin, "origin", is_origin,
        "an origin is holdfast/<instance>: after the slash 1 to 63 characters of a-z 0-9 . -, starting with a letter or digit";
}

impl Kind {
    /// The room that defines this kind: its first word.
    pub fn room(&self) -> Room {
        let end = self.0.find('.').unwrap_or(self.0.len());
        Room(self.0[..end].to_owned())
    }
}

fn is_word(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && text.as_bytes()[0].is_ascii_lowercase()
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

fn is_kind(text: &str) -> bool {
    text.split('.').count() == 3 && text.split('.').all(is_word)
}

fn is_actor(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text.as_bytes()[0].is_ascii_alphanumeric()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._:@/-".contains(&b))
}

fn is_origin(text: &str) -> bool {
    text.strip_prefix("holdfast/").is_some_and(|instance| {
        (1..=63).contains(&instance.len())
            && instance.as_bytes()[0].is_ascii_alphanumeric()
            && instance
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'.' || b == b'-')
    })
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    fn accepted<T: FromStr<Err = NameError>>(text: &str) -> bool {
        text.parse::<T>().is_ok()
    }

    #[test]
    fn a_kind_has_three_words_and_knows_its_room() {
        for (text, ok) in [
            ("steward.trial.started", true),
            ("a.b.c", true),
            ("steward.trial", false),
            ("steward.trial.started.now", false),
            ("Steward.trial.started", false),
            ("steward..started", false),
            ("steward.trial.st arted", false),
            ("", false),
        ] {
            assert_eq!(accepted::<Kind>(text), ok, "{text}");
        }
        assert_eq!("steward.trial.started".parse::<Kind>().unwrap().room().as_str(), "steward");
    }

    #[test]
    fn no_name_can_break_out_of_a_log_line() {
        for text in ["a\nb", "a\"b", "a\\b", "a\u{0}b", "é", "a b", "", "-a", &"a".repeat(129)] {
            assert!(!accepted::<Actor>(text), "{text:?}");
            assert!(!accepted::<Key>(text), "{text:?}");
            assert!(!accepted::<Origin>(&format!("holdfast/{text}")), "{text:?}");
        }
    }

    #[test]
    fn an_origin_names_its_instance() {
        for (text, ok) in [
            ("holdfast/web-1.lan", true),
            ("holdfast/", false),
            ("other/web", false),
            ("holdfast/a+b", false),
        ] {
            assert_eq!(accepted::<Origin>(text), ok, "{text}");
        }
    }
}
