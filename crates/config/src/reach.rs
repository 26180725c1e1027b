//! How a real target is reached and which of its units are looked after: the texts of those keys, each with its form.
//!
//! The forms are strict, because these words become arguments of `ssh`: nothing in them can be taken for an option.

use serde_json::{Value as Json, json};

use crate::diagnostic::Code;
use crate::quote::quoted;
use crate::tree::{Kind, Node};
use crate::value::{Mismatch, text};

/// More units than this are not looked after one by one.
const UNITS_MAX: usize = 16;

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

/// The services that are looked after, the most important one first.
pub(crate) fn units_of(node: &Node) -> Result<Vec<String>, Mismatch> {
    const WORDS: &str = "a list of 1 to 16 services";
    let Kind::List(items) = &node.kind else { return Err(Mismatch::wrong_type(node, WORDS)) };
    if !(1..=UNITS_MAX).contains(&items.len()) {
        return Err(Mismatch::new(Code::WrongValue, format!("takes {WORDS}, and this has {}", items.len())));
    }
    let mut units: Vec<String> = Vec::new();
    for item in items {
        let unit = UNIT.read(item)?;
        if units.contains(&unit) {
            return Err(Mismatch::new(
                Code::WrongValue,
                format!("takes each service once, and {unit} is there twice"),
            ));
        }
        units.push(unit);
    }
    Ok(units)
}

pub(crate) fn units_schema() -> Json {
    json!({ "type": "array", "items": UNIT.schema(), "minItems": 1, "maxItems": UNITS_MAX, "uniqueItems": true })
}

fn is_address(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b".:-".contains(&b))
        && !text.starts_with(['.', '-'])
}

fn is_user(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b))
        && text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
}

fn is_endpoint(text: &str) -> bool {
    let page = text.strip_prefix("https://").map(|rest| (rest, "443"));
    match page.or_else(|| text.strip_prefix("http://").map(|rest| (rest, "80"))) {
        Some((rest, usual)) => is_page(rest, usual),
        None => is_host_and_port(text),
    }
}

/// Nobody's password, and nothing after it that a server would not be asked for.
fn is_page(rest: &str, usual_port: &str) -> bool {
    let (host, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
    let with_port = if host.ends_with(']') || !host.contains(':') {
        format!("{host}:{usual_port}")
    } else {
        host.to_owned()
    };
    is_host_and_port(&with_port)
        && path.len() <= 300
        && path.bytes().all(|b| b.is_ascii_graphic() && !b"\"'\\<>#".contains(&b))
}

fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let good_host = match inner {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => is_address(host) && !host.contains(':'),
    };
    let good_port =
        port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0);
    good_host && good_port
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
