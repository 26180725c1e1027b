//! Where to look: hosts, addresses and URLs, in the few forms that mean one thing only.
//!
//! Deliberately narrower than what browsers read: plain ASCII, no user and password in a URL, no numbers that are half an
//! address. What is refused is not repeated in the message, for it may have a secret in it.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const HOST_LEN_MAX: usize = 253;
const LABEL_LEN_MAX: usize = 63;
const URL_LEN_MAX: usize = 2048;

/// Why something is no address, host, URL or list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub(crate) &'static str);

/// A host by its address or by its name: letters, digits, hyphens, dots and underscores, and nothing a resolver would take for a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Host(Known);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    ByIp(IpAddr),
    ByName(String),
}

impl Host {
    pub(crate) fn known(&self) -> &Known {
        &self.0
    }
}

impl FromStr for Host {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Host, Malformed> {
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Ok(Host(Known::ByIp(ip)));
        }
        let labels = text.strip_suffix('.').unwrap_or(text).split('.');
        let is_label = |label: &str| {
            (1..=LABEL_LEN_MAX).contains(&label.len())
                && !label.starts_with('-')
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        // A resolver takes "127.1" and "0x7f000001" for addresses; whoever reads the file does not.
        let is_number = labels.clone().next_back().is_some_and(|last| {
            let digits = last.bytes().all(|b| b.is_ascii_digit());
            digits || last.starts_with("0x") || last.starts_with("0X")
        });
        if text.len() > HOST_LEN_MAX || is_number || !labels.clone().all(is_label) {
            return Err(Malformed("this is neither an IP address nor the name of a host"));
        }
        Ok(Host(Known::ByName(text.to_owned())))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Known::ByIp(ip) => fmt::Display::fmt(ip, f),
            Known::ByName(name) => f.write_str(name),
        }
    }
}

/// A host and a port: `example.org:22`, `192.0.2.7:22`, `[2001:db8::7]:22`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Address {
    pub(crate) host: Host,
    pub(crate) port: u16,
}

impl Address {
    /// With this port where none is said.
    pub(crate) fn or_port(text: &str, usual: u16) -> Result<Address, Malformed> {
        let (host, port) = host_and_port(text)?;
        Ok(Address { host, port: port.unwrap_or(usual) })
    }
}

impl FromStr for Address {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Address, Malformed> {
        let (host, port) = host_and_port(text)?;
        let port = port.ok_or(Malformed("the port is missing: write host:port"))?;
        Ok(Address { host, port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host.0 {
            Known::ByIp(IpAddr::V6(ip)) => write!(f, "[{ip}]:{}", self.port),
            _ => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

fn host_and_port(text: &str) -> Result<(Host, Option<u16>), Malformed> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (ip, after) = rest.split_once(']').ok_or(Malformed("a bracket is not closed"))?;
            let ip: Ipv6Addr = ip.parse().map_err(|_| Malformed("in brackets stands no IPv6 address"))?;
            (Host(Known::ByIp(IpAddr::V6(ip))), after.strip_prefix(':').or((!after.is_empty()).then_some("")))
        }
        None if text.matches(':').count() > 1 => {
            return Err(Malformed("an IPv6 address stands in brackets: [2001:db8::7]:22"));
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host.parse()?, Some(port)),
            None => (text.parse()?, None),
        },
    };
    let port = match port {
        None => None,
        Some(digits) => Some(port_of(digits).ok_or(Malformed("the port is not a number from 1 to 65535"))?),
    };
    Ok((host, port))
}

fn port_of(digits: &str) -> Option<u16> {
    let is_plain = digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|port| *port != 0 && is_plain)
}

/// An http or https URL without user and password. What follows a `#` is dropped: no server hears of it. Shown without its query; written
/// out whole.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Url {
    secure: bool,
    address: Address,
    /// Begins with a slash.
    path: String,
    /// Begins with a question mark, or is empty.
    query: String,
}

impl Url {
    pub(crate) fn is_secure(&self) -> bool {
        self.secure
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What a server calls the place: path and query.
    pub(crate) fn target(&self) -> String {
        format!("{}{}", self.path, self.query)
    }

    /// What a server calls itself: the port only where it is not the usual one.
    pub(crate) fn authority(&self) -> String {
        let usual = if self.secure { 443 } else { 80 };
        let whole = self.address.to_string();
        if self.address.port != usual {
            return whole;
        }
        whole.strip_suffix(&format!(":{usual}")).unwrap_or(&whole).to_owned()
    }

    /// A place below this one, with a query of its own.
    pub(crate) fn below(&self, path: &str, query: &str) -> Url {
        let path = format!("{}/{path}", self.path.trim_end_matches('/'));
        Url { path, query: format!("?{query}"), ..self.clone() }
    }

    fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }
}

impl FromStr for Url {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Url, Malformed> {
        if text.len() > URL_LEN_MAX || !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(Malformed("a URL is printable ASCII without spaces, at most 2048 characters"));
        }
        let (scheme, rest) =
            text.split_once("://").ok_or(Malformed("a URL begins with https:// or http://"))?;
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(Malformed("only https and http can be asked")),
        };
        let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
        let (authority, place) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(Malformed("a user and password do not belong in a URL"));
        }
        let (host, port) = host_and_port(authority)?;
        let port = port.unwrap_or(if secure { 443 } else { 80 });
        let (path, query) = place.split_at(place.find('?').unwrap_or(place.len()));
        let path = if path.is_empty() { "/" } else { path };
        Ok(Url { secure, address: Address { host, port }, path: path.to_owned(), query: query.to_owned() })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme(), self.authority(), self.path)
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Url> for String {
    fn from(url: Url) -> String {
        format!("{url}{}", url.query)
    }
}

impl From<Host> for String {
    fn from(host: Host) -> String {
        host.to_string()
    }
}

impl From<Address> for String {
    fn from(address: Address) -> String {
        address.to_string()
    }
}

impl TryFrom<String> for Url {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Url, Malformed> {
        text.parse()
    }
}

impl TryFrom<String> for Host {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Host, Malformed> {
        text.parse()
    }
}

impl TryFrom<String> for Address {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Address, Malformed> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_address_has_one_meaning() {
        for good in ["example.org:22", "192.0.2.7:22", "[2001:db8::7]:443", "web_1.lan:65535", "localhost.:1"]
        {
            assert_eq!(good.parse::<Address>().unwrap().to_string(), good);
        }
        for bad in [
            "",
            ":22",
            "example.org",
            "example.org:",
            "example.org:0",
            "example.org:65536",
            "example.org:+22",
            "2001:db8::7:22",
            "[2001:db8::7]",
            "[2001:db8::7]22",
            "[192.0.2.7]:22",
            "[::1:22",
            "127.1:22",
            "0x7f000001:22",
            "1.2.3.0x4:22",
            "a..b:22",
            "-o.org:22",
            "a b:22",
            "exämple.org:22",
            "a\n:22",
            ".:22",
        ] {
            assert!(bad.parse::<Address>().is_err(), "{bad:?}");
        }
        assert!("a".repeat(64).parse::<Host>().is_err());
        assert!("a.".repeat(127).parse::<Host>().is_err());
    }

    #[test]
    fn a_url_is_told_apart_and_shown_without_its_query() {
        let cases = [
            ("https://example.org", "example.org:443", "/", "example.org", "https://example.org/"),
            ("HTTP://example.org:80?a=b", "example.org:80", "/?a=b", "example.org", "http://example.org/"),
            ("http://[::1]:8080/a/b?c#d", "[::1]:8080", "/a/b?c", "[::1]:8080", "http://[::1]:8080/a/b"),
            ("https://[::1]/x", "[::1]:443", "/x", "[::1]", "https://[::1]/x"),
            ("http://a.b:443/", "a.b:443", "/", "a.b:443", "http://a.b:443/"),
        ];
        for (text, address, target, authority, shown) in cases {
            let url: Url = text.parse().unwrap();
            assert_eq!(url.address().to_string(), address, "{text}");
            assert_eq!(url.target(), target, "{text}");
            assert_eq!(url.authority(), authority, "{text}");
            assert_eq!((url.to_string(), format!("{url:?}")), (shown.to_owned(), shown.to_owned()), "{text}");
            assert_eq!(String::from(url.clone()).parse::<Url>().unwrap(), url, "{text}");
        }
    }

    #[test]
    fn a_url_with_a_password_is_refused_and_not_repeated() {
        for bad in [
            "https://user:hunter2@example.org/",
            "ftp://hunter2.org/",
            "hunter2",
            "https://hunter2 x/",
            "https://hunter2.org:x/",
            "https:///hunter2",
            "https://hunter2\r\nHost: x/",
        ] {
            let refused = bad.parse::<Url>().unwrap_err();
            assert!(!format!("{refused} {refused:?}").contains("hunter2"), "{refused}");
        }
    }

    #[test]
    fn a_place_below_keeps_the_folder_and_drops_the_query() {
        let base: Url = "https://example.org/gatus/?x=1".parse().unwrap();
        assert_eq!(base.below("api/v1", "n=1").target(), "/gatus/api/v1?n=1");
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_the_same(text in "(https?://)?[a-z0-9.:\\[\\]/?@#-]{0,40}") {
            if let Ok(url) = text.parse::<Url>() {
                prop_assert_eq!(String::from(url.clone()).parse::<Url>(), Ok(url));
            }
            if let Ok(address) = text.parse::<Address>() {
                prop_assert_eq!(address.to_string().parse::<Address>(), Ok(address));
            }
        }
    }
}
