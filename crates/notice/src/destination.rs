//! Where a webhook may go. Pure: an address is looked at, nothing is called.
//!
//! Without this a configured address, or the name server that answers for it, could make the daemon call the
//! machine's own services, the neighbours or a cloud's metadata service.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Hosts that may be called although they are near, and without encryption: lower case, exact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowHosts(Vec<String>);

impl AllowHosts {
    pub fn new<T: AsRef<str>>(hosts: impl IntoIterator<Item = T>) -> AllowHosts {
        AllowHosts(hosts.into_iter().map(|host| bare(host.as_ref()).to_ascii_lowercase()).collect())
    }

    pub(crate) fn allows(&self, host: &str) -> bool {
        self.0.iter().any(|allowed| allowed.eq_ignore_ascii_case(bare(host)))
    }
}

/// A host without the brackets an IPv6 address has in a URL, and without the root's full stop.
pub(crate) fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.')
}

/// Whether an address is out on the internet: not this machine, not the neighbourhood, not a special purpose.
pub(crate) fn is_public(address: IpAddr) -> bool {
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
