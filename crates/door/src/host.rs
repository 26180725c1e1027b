//! Host names, in one spelling, and which of them leads where.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::error::{Error, Result};

/// What DNS allows for a whole name.
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// A host name in lower case, or an address, without a port. An IPv6 address is held without its brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostName(String);

impl HostName {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn address(&self) -> Option<IpAddr> {
        self.0.parse().ok()
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for HostName {
    type Err = Error;

    fn from_str(text: &str) -> Result<HostName> {
        let bad = || Error::BadHost { text: text.chars().take(80).collect() };
        let bare = text.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(HostName(address.to_string()));
        }
        if is_name(text) { Ok(HostName(text.to_ascii_lowercase())) } else { Err(bad()) }
    }
}

fn is_name(text: &str) -> bool {
    let label = |label: &str| {
        (1..=LABEL_BYTES_MAX).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    // A last label of digits would be an address in one program and a name in another.
    let last_is_word = text.rsplit('.').next().is_some_and(|l| l.bytes().any(|b| b.is_ascii_alphabetic()));
    text.len() <= NAME_BYTES_MAX && text.split('.').all(label) && last_is_word
}

/// Where a host leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Own,
    Service(usize),
}

/// All hosts that are answered for.
#[derive(Debug)]
pub(crate) struct Hosts(HashMap<String, Place>);

impl Hosts {
    pub(crate) fn of<'a>(own: &'a [HostName], services: impl Iterator<Item = &'a HostName>) -> Result<Hosts> {
        let mut hosts = HashMap::new();
        let all = own.iter().map(|host| (host, Place::Own));
        for (host, place) in all.chain(services.enumerate().map(|(n, host)| (host, Place::Service(n)))) {
            if hosts.insert(host.0.clone(), place).is_some() {
                return Err(Error::HostTwice { host: host.0.clone() });
            }
        }
        if own.is_empty() { Err(Error::NoHost) } else { Ok(Hosts(hosts)) }
    }

    /// Where a `Host` field or `:authority` leads. The port is not looked at: a tunnel changes it, and it gives nobody a right.
    pub(crate) fn place(&self, authority: &str) -> Option<Place> {
        let name = without_port(authority)?;
        if let Some(place) = self.0.get(name) {
            return Some(*place);
        }
        // Rare: upper case, or an address in another spelling.
        self.0.get(name.parse::<HostName>().ok()?.as_str()).copied()
    }
}

/// The host of `host[:port]`, IPv6 without brackets; `None` where it is no such thing.
pub(crate) fn without_port(authority: &str) -> Option<&str> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => match authority.split_once(':') {
            Some((host, _)) => (host, &authority[host.len()..]),
            None => (authority, ""),
        },
    };
    let port_is_one = match rest.strip_prefix(':') {
        Some(port) => (1..=5).contains(&port.len()) && port.bytes().all(|b| b.is_ascii_digit()),
        None => rest.is_empty(),
    };
    (port_is_one && !host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_spelling_and_nonsense_is_none() {
        for (text, name) in [
            ("Example.ORG", "example.org"),
            ("localhost", "localhost"),
            ("[::1]", "::1"),
            ("0:0::1", "::1"),
            ("127.0.0.1", "127.0.0.1"),
            ("a-b.c", "a-b.c"),
        ] {
            assert_eq!(text.parse::<HostName>().unwrap().as_str(), name);
        }
        for text in ["", "a..b", ".a", "a.", "-a", "a-", "a b", "a/b", "a_b", "1.2.3", "a:80", "ä.de", "a@b"]
        {
            assert!(text.parse::<HostName>().is_err(), "{text}");
        }
        assert!("x".repeat(254).parse::<HostName>().is_err());
    }

    #[test]
    fn the_port_of_a_host_is_set_aside_and_nonsense_leads_nowhere() {
        let own = ["gate.example".parse().unwrap(), "::1".parse().unwrap(), "127.0.0.1".parse().unwrap()];
        let service = "grafana.gate.example".parse().unwrap();
        let hosts = Hosts::of(&own, [&service].into_iter()).unwrap();
        for (authority, place) in [
            ("gate.example", Some(Place::Own)),
            ("GATE.example:9096", Some(Place::Own)),
            ("[::1]:9096", Some(Place::Own)),
            ("[0::1]", Some(Place::Own)),
            ("127.0.0.1:1", Some(Place::Own)),
            ("grafana.gate.example:9096", Some(Place::Service(0))),
            ("evil.example", None),
            ("gate.example.", None),
            ("gate.example:", None),
            ("gate.example:80:80", None),
            ("gate.example:8x", None),
            ("user@gate.example", None),
            ("gate.example:999999", None),
            ("", None),
            (":80", None),
            ("[::1", None),
        ] {
            assert_eq!(hosts.place(authority), place, "{authority}");
        }
    }

    #[test]
    fn a_host_that_is_claimed_twice_or_not_at_all_is_refused() {
        let own = ["a.example".parse().unwrap()];
        assert!(matches!(Hosts::of(&own, own.iter()), Err(Error::HostTwice { .. })));
        assert!(matches!(Hosts::of(&[], own.iter()), Err(Error::NoHost)));
    }
}
