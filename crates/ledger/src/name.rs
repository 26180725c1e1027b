//! Who holds a number, what for, and why it may be given again.

use holdfast_types::drives_a_terminal;

holdfast_types::names! {
    /// Who holds numbers: a thing and its name, as in `agent/researcher`, `domain/work`, `machine/lab/web-1`.
    Holder, "holder", is_holder,
        "a holder is one to three parts joined by /, each 1 to 63 characters of a-z 0-9 . _ - that begin with a letter or digit";
    /// What a holder needs the number for, in a word; with the kind of number it makes one ask: `home`, `screen`, `tunnel`.
    Purpose, "purpose", is_purpose,
        "a purpose is a lower-case letter followed by up to 31 lower-case letters, digits, _ or -";
    /// The name of a network interface, as Linux takes one everywhere.
    InterfaceName, "interface name", is_interface,
        "an interface name is a letter followed by up to 14 letters, digits, _ or -";
    /// Why nothing owns a number any more: what was looked at, and what was found.
    Evidence, "evidence", is_evidence,
        "evidence is a text of 1 to 2000 bytes in one line that a terminal can show, without a space at either end";
}

/// The name that belongs to a number. It says nothing of whoever holds it, so no name is too long for it.
pub(crate) fn interface(number: u32) -> InterfaceName {
    InterfaceName(format!("hf{number}"))
}

fn is_holder(text: &str) -> bool {
    let part = |part: &str| {
        (1..=63).contains(&part.len())
            && part.as_bytes()[0].is_ascii_alphanumeric()
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
    };
    text.split('/').count() <= 3 && text.split('/').all(part)
}

fn is_purpose(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && text.as_bytes()[0].is_ascii_lowercase()
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b))
}

fn is_interface(text: &str) -> bool {
    (1..=15).contains(&text.len())
        && text.as_bytes()[0].is_ascii_alphabetic()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
}

fn is_evidence(text: &str) -> bool {
    (1..=2000).contains(&text.len()) && text.trim() == text && !text.chars().any(drives_a_terminal)
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    fn check<T: FromStr>(good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(text.parse::<T>().is_ok(), "{text:?}");
        }
        for text in bad {
            assert!(text.parse::<T>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn names_are_short_and_cannot_break_out_of_anything() {
        check::<Holder>(
            &["agent/researcher", "domain/work", "machine/lab/web-1", "a", "agent/1.2_3"],
            &[
                "",
                "/",
                "agent/",
                "/a",
                "a//b",
                "a/b/c/d",
                "Agent/a",
                "agent/-a",
                "agent/a b",
                "agent/é",
                "a\nb",
                &"a".repeat(64),
            ],
        );
        check::<Purpose>(&["home", "vnc-2", "a"], &["", "Home", "1st", "-a", "a b", &"a".repeat(33)]);
        check::<InterfaceName>(
            &["hf1", "tailscale0", "a23456789012345"],
            &["", "tailscale-agent-researcher", "0a", "a.b", "a/b", "a b", "..", "a234567890123456"],
        );
        check::<Evidence>(
            &["find / -uid 4001 found nothing on 2026-11-15"],
            &["", " ", "two\nlines", "a\u{1b}[2Jb", &"x".repeat(2001)],
        );
    }

    #[test]
    fn the_largest_number_still_makes_a_name() {
        for number in [1, 9_999_999, u32::MAX] {
            assert!(is_interface(interface(number).as_str()), "{number}");
        }
    }
}
