//! Checks on one line, as people write them: `tls://example.org:443?days=14`. A file that lists many of them stays readable; what a
//! line cannot say (a text on a page, roots of one's own) takes the long form.

use std::str::FromStr;

use crate::address::{Address, Malformed};
use crate::check::{Check, Endpoints};

const DAYS_MAX: u32 = 3650;
const ID_LEN_MAX: usize = 64;

/// How a check can be written, for messages.
pub const FORMS: &str = "tcp://HOST:PORT, ssh://HOST[:PORT], icmp://HOST, tls://HOST:PORT[?days=N], http:// or https:// and a page, \
     gatus+https://MONITOR/#ENDPOINT[,ENDPOINT], tailscale:ID";

impl FromStr for Check {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Check, Malformed> {
        if let Some(id) = text.strip_prefix("tailscale:") {
            return peer(id);
        }
        let (scheme, rest) = text.split_once("://").ok_or(Malformed("it does not say how to look"))?;
        match scheme {
            "tcp" => Ok(Check::Tcp { address: rest.parse()? }),
            "ssh" => Ok(Check::Ssh { address: Address::or_port(rest, 22)? }),
            "icmp" => Ok(Check::Icmp { host: rest.parse()? }),
            "tls" => tls(rest),
            "http" | "https" if text.contains('#') => Err(Malformed("a page has no part after a #")),
            "http" | "https" => {
                Ok(Check::Http { url: text.parse()?, status: None, contains: None, roots: None })
            }
            "gatus+http" | "gatus+https" => gatus(text.strip_prefix("gatus+").unwrap_or(text)),
            _ => Err(Malformed("nobody knows how to look that way")),
        }
    }
}

fn tls(rest: &str) -> Result<Check, Malformed> {
    let (address, query) =
        rest.split_once('?').map_or((rest, None), |(address, query)| (address, Some(query)));
    let days = |query: &str| {
        let digits = query.strip_prefix("days=").filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
        digits.and_then(|digits| digits.parse().ok()).filter(|days| *days <= DAYS_MAX)
    };
    let days_left = match query {
        None => 0,
        Some(query) => days(query).ok_or(Malformed("after the ? stands days= and a number up to 3650"))?,
    };
    Ok(Check::Tls { address: address.parse()?, name: None, days_left, roots: None })
}

fn gatus(text: &str) -> Result<Check, Malformed> {
    let (page, names) = text.split_once('#').ok_or(Malformed("after a # stands which endpoint is meant"))?;
    let endpoints = Endpoints::try_from(names.split(',').map(str::to_owned).collect::<Vec<_>>())?;
    Ok(Check::Gatus { url: page.parse()?, endpoints, roots: None })
}

fn peer(id: &str) -> Result<Check, Malformed> {
    let is_id = (1..=ID_LEN_MAX).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric());
    let id = is_id.then(|| id.to_owned()).ok_or(Malformed("a peer's id is letters and digits"))?;
    Ok(Check::Tailscale { id, program: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_line_means_what_the_long_form_means() {
        for (line, long) in [
            ("tcp://box-1.lan:8080", json!({"tcp": {"address": "box-1.lan:8080"}})),
            ("ssh://[fd00::1]", json!({"ssh": {"address": "[fd00::1]:22"}})),
            ("ssh://box:2222", json!({"ssh": {"address": "box:2222"}})),
            ("icmp://10.0.0.7", json!({"icmp": {"host": "10.0.0.7"}})),
            ("tls://box:443", json!({"tls": {"address": "box:443"}})),
            ("tls://box:443?days=14", json!({"tls": {"address": "box:443", "days_left": 14}})),
            ("https://box/health?deep=1", json!({"http": {"url": "https://box/health?deep=1"}})),
            (
                "gatus+https://status.lan/#home_web,home_db",
                json!({"gatus": {"url": "https://status.lan/", "endpoints": ["home_web", "home_db"]}}),
            ),
            ("tailscale:nAbC123", json!({"tailscale": {"id": "nAbC123"}})),
        ] {
            let long: Check = serde_json::from_value(long).unwrap();
            assert_eq!(line.parse(), Ok(long), "{line}");
        }
    }

    #[test]
    fn what_cannot_be_looked_at_is_no_check() {
        for bad in [
            "",
            "box:80",
            "udp://box:1",
            "tcp://box",
            "tcp://box:0",
            "tls://box:443?days=-1",
            "tls://box:443?days=9999",
            "tls://box:443?x",
            "icmp://box:1",
            "http://me@box/",
            "https://box/#x",
            "gatus+https://status.lan/",
            "gatus+https://status.lan/#",
            "gatus+https://status.lan/#a,,b",
            "tailscale:",
            "tailscale:a b",
        ] {
            assert!(bad.parse::<Check>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "((tcp|ssh|icmp|tls|https?|gatus\\+https)://|tailscale:)?\\PC{0,80}") {
            let _ = text.parse::<Check>();
        }
    }
}
