//! Where somebody may go: a host by name or address, a port, a protocol, and which setting wants it.
//!
//! A name here is a host's name and nothing else: it is asked of a name server and shown to people, and never becomes a word of the packet
//! filter. What is not a host is refused when it is read.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

const NAME_LEN_MAX: usize = 253;
const LABEL_LEN_MAX: usize = 63;

/// A host, as settings name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    Ip(IpAddr),
    /// In lower case and without a dot at its end.
    Name(String),
}

impl Host {
    /// What a setting says: an address, in brackets or with a zone where it has one, or a name.
    pub fn read(text: &str) -> Option<Host> {
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        // The zone says over which interface; the filter knows the address.
        let address = bare.split_once('%').map_or(bare, |(address, _)| address);
        if let Ok(ip) = address.parse::<IpAddr>() {
            return Some(Host::Ip(ip.to_canonical()));
        }
        let name = bare.strip_suffix('.').unwrap_or(bare).to_ascii_lowercase();
        is_name(&name).then_some(Host::Name(name))
    }
}

/// Letters, digits, hyphens, underscores and dots, and nothing that a resolver takes for a number.
pub(crate) fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=LABEL_LEN_MAX).contains(&label.len())
            && !label.starts_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    let is_number = |label: &str| label.bytes().all(|b| b.is_ascii_digit()) || label.starts_with("0x");
    name.len() <= NAME_LEN_MAX
        && name.split('.').all(is_label)
        && !name.split('.').next_back().is_some_and(is_number)
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Ip(ip) => ip.fmt(f),
            Host::Name(name) => f.write_str(name),
        }
    }
}

/// How somebody is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Tcp,
    Udp,
    /// Echoes, which have no port.
    Icmp,
    /// Any other, of which only refusals tell.
    Other,
}

impl Protocol {
    pub fn word(self) -> &'static str {
        match self {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
            Protocol::Icmp => "icmp",
            Protocol::Other => "other",
        }
    }
}

/// One place somebody may reach.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Destination {
    pub host: Host,
    pub protocol: Protocol,
    /// 0 where the protocol has none.
    pub port: u16,
}

impl Destination {
    pub fn tcp(host: Host, port: u16) -> Destination {
        Destination { host, protocol: Protocol::Tcp, port }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.host, self.protocol) {
            (host, Protocol::Icmp) => write!(f, "{host}"),
            (Host::Ip(IpAddr::V6(ip)), _) => write!(f, "[{ip}]:{}", self.port),
            (host, _) => write!(f, "{host}:{}", self.port),
        }
    }
}

/// Whether a packet to it can be meant for one host. A name server that says otherwise opens nothing.
pub(crate) fn is_one_host(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => *ip != Ipv4Addr::BROADCAST && !ip.is_unspecified() && !ip.is_multicast(),
        IpAddr::V6(ip) => *ip != Ipv6Addr::UNSPECIFIED && !ip.is_multicast(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_an_address_or_a_name_and_nothing_else() {
        let good = [
            ("192.0.2.7", "192.0.2.7"),
            ("[2001:db8::7]", "2001:db8::7"),
            ("fe80::1%eth0", "fe80::1"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("Box-1.LAN.", "box-1.lan"),
            ("a_b.example", "a_b.example"),
        ];
        for (text, shown) in good {
            assert_eq!(Host::read(text).map(|host| host.to_string()).as_deref(), Some(shown), "{text}");
        }
        let bad = [
            "",
            ".",
            "a..b",
            "-a",
            "127.1",
            "0x7f000001",
            "a b",
            "a;b",
            "a\nb",
            "a\"b",
            "{ drop }",
            "a}",
            "#a",
            "ex\u{e4}mple",
            &"a".repeat(64),
            &"a.".repeat(200),
        ];
        for text in bad {
            assert_eq!(Host::read(text), None, "{text:?}");
        }
    }

    proptest::proptest! {
        /// Whatever a setting holds: what comes out is an address or has only a name's letters.
        #[test]
        fn nothing_else_comes_out(text in "\\PC{0,40}|[ -~]{0,40}") {
            if let Some(host) = Host::read(&text) {
                let shown = host.to_string();
                assert!(shown.parse::<IpAddr>().is_ok() || is_name(&shown), "{shown:?}");
            }
        }
    }
}
