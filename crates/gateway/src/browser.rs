//! What a browser is called in the list of sessions: its name and the machine's, where they can be told.
//!
//! The header is whatever its sender likes. It is only ever shown, and nothing is decided by it.

use crate::name::Label;

/// The most particular first: every browser also calls itself one of those below it.
const BROWSERS: &[(&str, &str)] = &[
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
];

const MACHINES: &[(&str, &str)] = &[
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Macintosh", "a Mac"),
    ("Linux", "Linux"),
];

/// Much longer ones say nothing more.
const LOOKED_AT: usize = 512;

/// `Firefox on Linux`; the beginning of what it says itself where it is none of these.
pub(crate) fn named(header: &str) -> Label {
    let text: String = header.chars().take(LOOKED_AT).collect();
    let of = |known: &[(&str, &'static str)]| {
        known.iter().find(|(token, _)| text.contains(token)).map(|(_, name)| *name)
    };
    match (of(BROWSERS), of(MACHINES)) {
        (Some(browser), Some(machine)) => Label::near(&format!("{browser} on {machine}"), "a browser"),
        (Some(browser), None) => Label::near(browser, "a browser"),
        (None, _) => Label::near(&text, "a browser"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_called_as_people_call_them() {
        for (header, name) in [
            ("Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0", "Firefox on Linux"),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36 Edg/156.0.0.0",
                "Edge on Windows",
            ),
            (
                "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Mobile Safari/537.36",
                "Chrome on Android",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 19_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.1 Mobile/15E148 Safari/604.1",
                "Safari on iPhone",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.1 Safari/605.1.15",
                "Safari on a Mac",
            ),
            ("curl/8.5.0", "curl"),
            ("a program of ours", "a program of ours"),
            ("", "a browser"),
            ("\u{202e}Firefox/1 Linux", "Firefox on Linux"),
        ] {
            assert_eq!(named(header).as_str(), name, "{header}");
        }
        assert!(named(&"x".repeat(100_000)).as_str().len() <= 200);
    }
}
