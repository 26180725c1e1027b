//! Names people give: to each other and to their devices. They are shown in pages, logs and authenticators, so they are
//! short and hold nothing that turns, hides or ends a line.

use holdfast_types::drives_a_terminal;

/// Characters of a person's name.
pub const NAME_MAX: usize = 64;

/// Characters of a label; a browser's own description of itself fits when it is cut.
pub const LABEL_MAX: usize = 80;

holdfast_types::names! {
    /// What a person is called here.
    PersonName, "name", is_name, "a name has 1 to 64 visible characters and no space at either end";
    /// What a device or token is called.
    Label, "label", is_label, "a label has 1 to 80 visible characters and no space at either end";
}

impl Label {
    /// The nearest label to a text that somebody sent, for what must not fail over a name.
    pub fn near(text: &str, otherwise: &'static str) -> Label {
        let clean: String = text.chars().filter(|c| !drives_a_terminal(*c)).take(LABEL_MAX).collect();
        match clean.trim() {
            "" => Label(otherwise.to_owned()),
            clean => Label(clean.to_owned()),
        }
    }
}

fn is_name(text: &str) -> bool {
    fits(text, NAME_MAX)
}

fn is_label(text: &str) -> bool {
    fits(text, LABEL_MAX)
}

fn fits(text: &str, max: usize) -> bool {
    !text.is_empty()
        && text.trim() == text
        && text.chars().count() <= max
        && !text.chars().any(drives_a_terminal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_visible() {
        for (text, ok) in [
            ("Ana", true),
            ("Grüße 日本", true),
            ("", false),
            (" Ana", false),
            ("a\nb", false),
            ("\u{202e}anA", false),
            ("a\u{200b}b", false),
        ] {
            assert_eq!(text.parse::<PersonName>().is_ok(), ok, "{text:?}");
        }
        assert!("x".repeat(65).parse::<PersonName>().is_err());
    }

    #[test]
    fn any_text_has_a_label_near_it() {
        assert_eq!(Label::near("  Firefox\u{0} on\nLinux ", "a device").as_str(), "Firefox onLinux");
        assert_eq!(Label::near("\u{202e}", "a device").as_str(), "a device");
        assert_eq!(Label::near(&"x".repeat(10_000), "a device").as_str().len(), LABEL_MAX);
    }
}
