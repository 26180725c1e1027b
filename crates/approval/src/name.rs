//! The two names an action has: what kind of act it is, and what it is done to.

use holdfast_types::drives_a_terminal;

holdfast_types::names! {
    /// What kind of act it is: the room and a word of its own, as in `steward.trial` or `repair.install`.
    Subject, "subject", is_subject,
        "a subject is room.noun: two lower-case words of letters, digits and _, at most 32 characters each";
    /// What it is done to, in the words of the room that asks: `tgt_01j…`, `npm:left-pad`, `IDENTITY.md`.
    Target, "target", is_target,
        "a target is 1 to 200 bytes that a terminal can show, without a space at either end";
}

fn is_subject(text: &str) -> bool {
    let word = |word: &str| {
        (1..=32).contains(&word.len())
            && word.as_bytes()[0].is_ascii_lowercase()
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    text.split('.').count() == 2 && text.split('.').all(word)
}

fn is_target(text: &str) -> bool {
    (1..=200).contains(&text.len()) && text.trim() == text && !text.chars().any(drives_a_terminal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_a_room_and_a_word() {
        for (text, ok) in [
            ("steward.trial", true),
            ("repair.install", true),
            ("steward", false),
            ("steward.trial.started", false),
            ("Steward.trial", false),
            (".trial", false),
            ("", false),
        ] {
            assert_eq!(text.parse::<Subject>().is_ok(), ok, "{text}");
        }
    }

    #[test]
    fn a_target_cannot_drive_a_terminal_and_is_not_endless() {
        for (text, ok) in [
            ("npm:@scope/name@1.2.3", true),
            ("Größe 1", true),
            ("", false),
            (" a", false),
            ("a\nb", false),
            ("a\u{202e}b", false),
            (&"x".repeat(201), false),
        ] {
            assert_eq!(text.parse::<Target>().is_ok(), ok, "{text:?}");
        }
    }
}
