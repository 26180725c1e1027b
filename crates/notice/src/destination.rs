//! Where a webhook may go. Pure: an address is looked at, nothing is called.
//!
//! Without this a configured address, or the name server that answers for it, could make the daemon call the
//! machine's own services, the neighbours or a cloud's metadata service.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Hosts that may be called although they are near, and, where they are, without encryption: lower case, exact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowHosts(Vec<String>);

impl AllowHosts {
    pub fn new<T: AsRef<str>>(hosts: impl IntoIterator<Item = T>) -> AllowHosts {
        AllowHosts(hosts.into_iter().map(|host| bare(host.as_ref()).to_ascii_lowercase()).collect())
    }

    pub(crate) fn hosts(&self) -> &[String] {
        &self.0
    }

    pub(crate) fn allows(&self, host: &str) -> bool {
        self.0.iter().any(|allowed| allowed.eq_ignore_ascii_case(bare(host)))
    }
}

/// A host without the brackets an IPv6 address has in a URL, and without the root's full stop.
pub(crate) fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.')
}

/// How a host may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leave {
    /// It is one of the explicitly allowed hosts.
    pub(crate) allowed: bool,
    /// It is called without encryption.
    pub(crate) plain: bool,
}

impl Leave {
    /// Without encryption nothing leaves the neighbourhood, and what hands out a machine's own credentials is called
    /// by nobody, allowed or not.
    pub(crate) fn covers(self, address: IpAddr) -> bool {
        let address = meant(address);
        match self {
            _ if is_closed(address) => false,
            Leave { plain: true, allowed } => allowed && is_near(address),
            Leave { plain: false, allowed } => allowed || is_public(address),
        }
    }
}

/// The IPv4 address that some IPv6 addresses carry.
fn meant(address: IpAddr) -> IpAddr {
    let v4 = |high: u16, low: u16| IpAddr::V4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    let IpAddr::V6(v6) = address else { return address };
    match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        _ => address,
    }
}

/// Addresses of the link and of clouds' metadata services.
fn is_closed(address: IpAddr) -> bool {
    const METADATA_V4: [Ipv4Addr; 2] = [Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(100, 100, 100, 200)];
    const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    match address {
        IpAddr::V4(v4) => v4.is_link_local() || METADATA_V4.contains(&v4),
        IpAddr::V6(v6) => v6.is_unicast_link_local() || v6 == METADATA_V6,
    }
}

/// This machine, a private network, or the range providers and overlay networks share.
fn is_near(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let shared = matches!(v4.octets(), [100, second, ..] if second & 0xc0 == 64);
            v4.is_loopback() || v4.is_private() || shared
        }
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local(),
    }
}

/// Whether an address is out on the internet: not this machine, not the neighbourhood, not a special purpose.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let special = address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || address == Ipv4Addr::new(168, 63, 129, 16); // a cloud's metadata service behind a public address
    let octets = address.octets();
    !special
        && match octets {
            [0, ..] | [240..=255, ..] | [192, 0, 0, _] | [192, 88, 99, _] => false,
            [100, second, ..] => second & 0xc0 != 64,
            [198, second, ..] => second & 0xfe != 18,
            _ => true,
        }
}

/// Only 2000::/3 is handed out, and parts of it carry an IPv4 address that then decides.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let s = address.segments();
    let v4 = |high: u16, low: u16| is_public_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match s {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_and_special_addresses_are_told_from_public_ones() {
        for (text, public) in [
            ("8.8.8.8", true),
            ("100.128.0.1", true),
            ("198.20.0.1", true),
            ("127.0.0.1", false),
            ("127.9.9.9", false),
            ("0.0.0.0", false),
            ("10.1.2.3", false),
            ("172.16.0.1", false),
            ("172.32.0.1", true),
            ("192.168.1.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("100.100.100.200", false),
            ("168.63.129.16", false),
            ("198.18.0.1", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("2606:4700::1111", true),
            ("::1", false),
            ("::", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:8.8.8.8", true),
            ("::127.0.0.1", false),
            ("64:ff9b::7f00:1", false),
            ("64:ff9b::808:808", true),
            ("2002:7f00:1::", false),
            ("2001::1", false),
            ("2001:db8::1", false),
            ("fe80::1", false),
            ("fd00:ec2::254", false),
            ("fec0::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(is_public(text.parse().unwrap()), public, "{text}");
        }
    }

    #[test]
    fn leave_grants_no_more_than_it_says() {
        // Encrypted without and with leave, then without encryption and with leave.
        for (text, https, https_allowed, http_allowed) in [
            ("8.8.8.8", true, true, false),
            ("2606:4700::1111", true, true, false),
            ("::ffff:8.8.8.8", true, true, false),
            ("127.0.0.1", false, true, true),
            ("::1", false, true, true),
            ("::ffff:10.0.0.1", false, true, true),
            ("192.168.1.1", false, true, true),
            ("100.64.0.7", false, true, true),
            ("fd12::1", false, true, true),
            ("192.0.2.1", false, true, false),
            ("169.254.169.254", false, false, false),
            ("169.254.1.1", false, false, false),
            ("::ffff:169.254.169.254", false, false, false),
            ("64:ff9b::a9fe:a9fe", false, false, false),
            ("fe80::1", false, false, false),
            ("fd00:ec2::254", false, false, false),
            ("168.63.129.16", false, false, false),
            ("100.100.100.200", false, false, false),
        ] {
            let covers = |allowed, plain| Leave { allowed, plain }.covers(text.parse().unwrap());
            let got = (covers(false, false), covers(true, false), covers(true, true));
            assert_eq!(got, (https, https_allowed, http_allowed), "{text}");
            assert!(!covers(false, true), "{text}");
        }
    }

    #[test]
    fn a_host_is_allowed_by_its_exact_name() {
        let allow = AllowHosts::new(["Hooks.lan", "127.0.0.1", "::1"]);
        for (host, allowed) in [
            ("hooks.lan", true),
            ("HOOKS.LAN.", true),
            ("127.0.0.1", true),
            ("[::1]", true),
            ("x.hooks.lan", false),
            ("hooks.lan.evil.org", false),
            ("127.0.0.2", false),
            ("", false),
        ] {
            assert_eq!(allow.allows(host), allowed, "{host}");
        }
    }
}
