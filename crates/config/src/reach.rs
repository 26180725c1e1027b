//! How a real target is reached, how it is looked at from outside, and which of its units are looked after: the texts of those keys, each
//! with its form.
//!
//! The forms are strict, because these words become arguments of `ssh`: nothing in them can be taken for an option.

use serde_json::{Value as Json, json};

use crate::diagnostic::Code;
use crate::quote::quoted;
use crate::tree::{Kind, Node};
use crate::value::{Mismatch, text};

/// More units than this are not looked after one by one, and no target needs more looks.
const UNITS_MAX: usize = 16;
const PROBES_MAX: usize = 16;

/// A text of one form.
pub(crate) struct Form {
    words: &'static str,
    pattern: &'static str,
    is: fn(&str) -> bool,
}

pub(crate) const ADDRESS: Form = Form {
    words: "a host name or address of 1 to 253 characters of a-z A-Z 0-9 . : -, the first a letter, a digit or `:`",
    pattern: "^[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}$",
    is: is_address,
};

pub(crate) const USER: Form = Form {
    words: "the name of a user, 1 to 32 characters of a-z 0-9 _ -, the first a letter or `_`",
    pattern: "^[a-z_][a-z0-9_-]{0,31}$",
    is: is_user,
};

pub(crate) const ENDPOINT: Form = Form {
    words: "an address and a port like `box-1.lan:8080`, or a page like `https://box-1.lan/health`",
    pattern: r"^(https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9.-]{0,252})(:[0-9]{1,5})?(/[!-~]{0,300})?|(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9.-]{0,252}):[0-9]{1,5})$",
    is: is_endpoint,
};

/// The pattern only has the beginnings; what follows is as the looks themselves read it.
const PROBE: Form = Form {
    words: "a look from outside: tcp://HOST:PORT, ssh://HOST, icmp://HOST, tls://HOST:PORT?days=N, a page (https://…), \
            gatus+https://MONITOR/#ENDPOINT or tailscale:ID",
    pattern: r"^((tcp|ssh|icmp|tls|https?|gatus\+https?)://[!-~]{1,2048}|tailscale:[A-Za-z0-9]{1,64})$",
    is: |text| text.parse::<holdfast_probe::Check>().is_ok(),
};

pub(crate) const REASON: Form = Form {
    words: "a setting or a few words, 1 to 100 characters of a-z A-Z 0-9 space . , _ / ( ) -, the first a letter or digit",
    pattern: r"^[A-Za-z0-9][A-Za-z0-9 .,_/()-]{0,99}$",
    is: is_reason,
};

const UNIT: Form = Form {
    words: "the name of a service, 1 to 128 characters of a-z A-Z 0-9 . _ @ - that end in `.service`",
    pattern: r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,119}\.service$",
    is: is_unit,
};

impl Form {
    pub(crate) fn read(&self, node: &Node) -> Result<String, Mismatch> {
        let found = text(node, self.words)?;
        let wrong = || {
            let said = quoted(found);
            Mismatch::new(Code::WrongValue, format!("takes {}, and this is the text {said}", self.words))
        };
        (self.is)(found).then(|| found.to_owned()).ok_or_else(wrong)
    }

    pub(crate) fn schema(&self) -> Json {
        json!({ "type": "string", "pattern": self.pattern })
    }
}

/// Texts of one form, each of them once.
pub(crate) struct Several {
    of: Form,
    one: &'static str,
    words: &'static str,
    least: usize,
    most: usize,
}

/// The services that are looked after, the most important one first.
pub(crate) const UNITS: Several =
    Several { of: UNIT, one: "service", words: "a list of 1 to 16 services", least: 1, most: UNITS_MAX };

/// How a target is looked at besides its endpoint, and who answers when it is this machine's network that is gone.
pub(crate) const PROBES: Several =
    Several { of: PROBE, one: "look", words: "a list of at most 16 looks", least: 0, most: PROBES_MAX };

impl Several {
    pub(crate) fn read(&self, node: &Node) -> Result<Vec<String>, Mismatch> {
        let Kind::List(items) = &node.kind else { return Err(Mismatch::wrong_type(node, self.words)) };
        let wrong = |what: String| Mismatch::new(Code::WrongValue, format!("takes {what}"));
        if !(self.least..=self.most).contains(&items.len()) {
            return Err(wrong(format!("{}, and this has {}", self.words, items.len())));
        }
        let mut found: Vec<String> = Vec::new();
        for item in items {
            let text = self.of.read(item)?;
            if found.contains(&text) {
                return Err(wrong(format!("each {} once, and {text} is there twice", self.one)));
            }
            found.push(text);
        }
        Ok(found)
    }

    pub(crate) fn schema(&self) -> Json {
        let (least, most) = (self.least, self.most);
        json!({ "type": "array", "items": self.of.schema(), "minItems": least, "maxItems": most, "uniqueItems": true })
    }
}

fn is_address(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b".:-".contains(&b))
        && !text.starts_with(['.', '-'])
}

fn is_reason(text: &str) -> bool {
    (1..=100).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b" .,_/()-".contains(&b))
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn is_user(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b))
        && text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
}

/// A page, or an address that takes connections. Both are looked at as a probe is.
fn is_endpoint(text: &str) -> bool {
    let is_probe = |text: &str| text.parse::<holdfast_probe::Check>().is_ok();
    match text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) {
        Some(rest) => is_probe(text) && is_page(rest),
        None => is_probe(&format!("tcp://{text}")) && !text.contains('_'),
    }
}

/// Nothing in it that a person might have meant for a shell.
fn is_page(rest: &str) -> bool {
    let (host, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
    !host.contains(['?', '_']) && path.len() <= 300 && path.bytes().all(|b| !b"\"'\\<>".contains(&b))
}

fn is_unit(text: &str) -> bool {
    text.len() <= 128
        && text.strip_suffix(".service").is_some_and(|stem| !stem.is_empty())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._@-".contains(&b))
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !text.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_an_option_could_be_made_of_is_an_address_a_user_or_an_endpoint() {
        for bad in ["", "-oProxyCommand=x", "a b", "a;b", "a\nb", "$(x)", "ä", "a/b", "a@b"] {
            assert!(!is_address(bad) && !is_user(bad) && !is_endpoint(bad), "{bad:?}");
        }
        for good in ["box-1.lan", "10.0.0.7", "fd00::1", "::1"] {
            assert!(is_address(good), "{good}");
        }
        for good in ["box-1.lan:8080", "10.0.0.7:1", "[fd00::1]:65535"] {
            assert!(is_endpoint(good), "{good}");
        }
        for good in ["https://box-1.lan", "http://10.0.0.7:8080/health?deep=1", "https://[fd00::1]/"] {
            assert!(is_endpoint(good), "{good}");
        }
        for bad in [
            "https://",
            "https://me@box/",
            "ftp://box/",
            "https://box:0/",
            "https://box/a b",
            "https://box/#x",
            "https:/box",
        ] {
            assert!(!is_endpoint(bad), "{bad}");
        }
        for bad in ["box-1.lan", "box:0", "box:65536", "fd00::1:80", "[x]:80", "box:+80", ":80"] {
            assert!(!is_endpoint(bad), "{bad}");
        }
        assert!(is_user("root") && is_user("_holdfast-observer") && !is_user("Root") && !is_user("9x"));
        assert!(
            is_unit("web@1.service") && !is_unit(".service") && !is_unit("a..b.service") && !is_unit("web")
        );
    }
}
