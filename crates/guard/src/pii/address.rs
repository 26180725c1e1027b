//! Addresses of machines: IPv4, IPv6 and hardware (MAC).
//!
//! Addresses that name no machine in particular are let be: loopback, unspecified, broadcast and netmasks, multicast.

use super::cluster::{Cluster, Gap, byte_before, escaped};
use super::context::{self, Words};
use crate::hit::{Hit, Known};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The longest IPv6 address as text, with an IPv4 tail.
const IPV6_MAX: usize = 45;
/// `00-11-22-33-44-55`.
const HARDWARE_LEN: usize = 17;
/// The longest name of an interface that is kept with an address.
const ZONE_MAX: usize = 15;

static NUMBERING: Words = Words::new(&[
    "version*", "ver", "v", "release", "build", "section", "chapter", "clause", "oid", "figure", "rev",
    "revision",
]);
static HARDWARE_WORDS: Words = Words::new(&[
    "mac*",
    "hwaddr",
    "ether",
    "hardware",
    "arp",
    "bssid",
    "lladdr",
    "wlan*",
    "eth*",
    "bluetooth",
]);

/// An IPv4 address at the head of the cluster.
pub(super) fn dotted(text: &[u8], cluster: &Cluster, out: &mut Vec<Hit>) -> Option<usize> {
    let octets = octets(text, cluster)?;
    let (start, end) = (cluster.groups()[0].start, cluster.groups()[3].end);
    let address = Ipv4Addr::from(octets);
    if impersonal(address)
        || goes_on(text, end)
        || !stands_free(text, start)
        || numbering(text, start, octets)
    {
        return None;
    }
    out.push(Hit { known: Known::IpAddress, start, end, confidence: 90, reason: "four numbers up to 255" });
    Some(end)
}

fn octets(text: &[u8], cluster: &Cluster) -> Option<[u8; 4]> {
    let longer = cluster.groups().get(4).is_some_and(|fifth| fifth.gap == Gap::Dot);
    if cluster.len() < 4 || !cluster.gaps_are(4, Gap::Dot) || longer {
        return None;
    }
    let mut octets = [0; 4];
    for (index, octet) in octets.iter_mut().enumerate() {
        let group = &cluster.groups()[index];
        if group.len() > 3 || (group.len() > 1 && text[group.start] == b'0') {
            return None;
        }
        *octet = u8::try_from(cluster.value(text, index)).ok()?;
    }
    Some(octets)
}

pub(super) fn impersonal(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    a == 0 || (a, b) == (127, 0) || [a, b, c] == [255; 3] || (a, b) == (255, 255) || address.is_multicast()
}

/// A letter, a further label or a suffix such as `-beta` makes it a name or a version.
fn goes_on(text: &[u8], end: usize) -> bool {
    match text.get(end..).unwrap_or_default() {
        [b'.' | b'-', next, ..] if next.is_ascii_alphabetic() => true,
        [next, ..] => next.is_ascii_alphanumeric() || *next == b'_',
        [] => false,
    }
}

fn stands_free(text: &[u8], start: usize) -> bool {
    match &text[..start] {
        _ if escaped(text, start) => true,
        [.., b'i' | b'I', b'p' | b'P', b'-'] => true,
        [.., letter, b'-'] => !letter.is_ascii_alphabetic(),
        [.., b'=' | b'>' | b'<' | b'~' | b'!', b'='] => false,
        [.., last] => !last.is_ascii_alphanumeric() && !matches!(last, b'_' | b'.' | b'^' | b'~'),
        [] => true,
    }
}

/// A version of something, or the number of a section.
fn numbering(text: &[u8], start: usize, octets: [u8; 4]) -> bool {
    let product =
        matches!(text[..start], [.., letter, b'/'] if letter.is_ascii_alphabetic()) && octets[2..] == [0, 0];
    product || context::nearest(context::before(text, start), &NUMBERING).is_some_and(|far| far <= 4)
}

/// Something with colons around `at`: an IPv6 address or a hardware address. `None` for times, paths and ratios.
pub(super) fn colons(text: &[u8], at: usize, out: &mut Vec<Hit>) -> Option<usize> {
    let of_token = |b: &u8| b.is_ascii_hexdigit() || *b == b':';
    let start = at - text[..at].iter().rev().take(IPV6_MAX).take_while(|b| of_token(b)).count();
    let length = text[start..].iter().take(IPV6_MAX + 1).take_while(|b| of_token(b) || **b == b'.').count();
    let before = byte_before(text, start);
    let bounded = !before.is_ascii_alphanumeric() && !matches!(before, b'_' | b'.' | b':');
    let token = trimmed(&text[start..start + length]);
    if !bounded || length > IPV6_MAX || !enough(token) {
        return None;
    }
    let end = start + token.len();
    if text.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
        return None;
    }
    if pairs(token, b':') {
        return named(token).then(|| push_hardware(start, end, out));
    }
    let address: Ipv6Addr = std::str::from_utf8(token).ok()?.parse().ok()?;
    if !personal(address) && !spelled_out(token) {
        return None;
    }
    let end = end + zone(text, end);
    out.push(Hit { known: Known::IpAddress, start, end, confidence: 90, reason: "an IPv6 address" });
    Some(end)
}

/// As many colons as an address has; a time has two.
fn enough(token: &[u8]) -> bool {
    let colons = token.iter().filter(|b| **b == b':').count();
    colons >= 5 || (colons >= 2 && token.windows(2).any(|pair| pair == b"::"))
}

/// Without the full stop or colon of the sentence.
fn trimmed(token: &[u8]) -> &[u8] {
    match token {
        [head @ .., b'.'] => trimmed(head),
        [head @ .., b':'] if head.last() != Some(&b':') => head,
        _ => token,
    }
}

/// Of the ranges that are given to machines; this also tells `a::b` and `12::30` apart from addresses.
fn personal(address: Ipv6Addr) -> bool {
    if let Some(old) = address.to_ipv4_mapped() {
        return !impersonal(old);
    }
    matches!(address.segments(), [0x2000..=0x3fff | 0xfc00..=0xfdff | 0xfe80..=0xfebf, ..] | [0x64, 0xff9b, ..])
}

/// Nothing else has so many groups of such a length, whatever range it is of.
fn spelled_out(token: &[u8]) -> bool {
    let groups = token.split(|b| *b == b':');
    groups.clone().count() >= 6 && groups.clone().filter(|group| group.len() >= 3).count() >= 3
}

fn zone(text: &[u8], end: usize) -> usize {
    if text.get(end) != Some(&b'%') {
        return 0;
    }
    let name = text[end + 1..].iter().take(ZONE_MAX + 1).take_while(|b| b.is_ascii_alphanumeric()).count();
    if (1..=ZONE_MAX).contains(&name) { name + 1 } else { 0 }
}

/// A hardware address around the run `text[at..end]`, written in pairs with hyphens or in three fours with points.
pub(super) fn hardware(text: &[u8], at: usize, end: usize, out: &mut Vec<Hit>) -> Option<usize> {
    let mark = match end - at {
        2 => b'-',
        4 => b'.',
        _ => return None,
    };
    if text.get(end) != Some(&mark) && text[..at].last() != Some(&mark) {
        return None;
    }
    let of_token = |b: &u8| b.is_ascii_hexdigit() || *b == mark;
    let start = at - text[..at].iter().rev().take(HARDWARE_LEN + 1).take_while(|b| of_token(b)).count();
    let token = &text[start..];
    let token = &token[..token.iter().take(HARDWARE_LEN + 2).take_while(|b| of_token(b)).count()];
    let token = token.strip_suffix(b".").unwrap_or(token);
    let end = start + token.len();
    let free = |b: u8| !b.is_ascii_alphanumeric() && !matches!(b, b'_' | b'-');
    if !(pairs(token, b'-') || fours(token))
        || !free(byte_before(text, start))
        || !free(text.get(end).copied().unwrap_or(b' '))
        || !named(token)
    {
        return None;
    }
    let letters = token.iter().any(u8::is_ascii_alphabetic);
    let told = letters || token.starts_with(b"00") || context::says(text, start, &HARDWARE_WORDS);
    told.then(|| push_hardware(start, end, out))
}

fn push_hardware(start: usize, end: usize, out: &mut Vec<Hit>) -> usize {
    out.push(Hit {
        known: Known::MacAddress,
        start,
        end,
        confidence: 92,
        reason: "six octets of a hardware address",
    });
    end
}

/// Six pairs with this between them.
fn pairs(token: &[u8], mark: u8) -> bool {
    token.len() == HARDWARE_LEN && token.iter().enumerate().all(|(at, b)| (at % 3 == 2) == (*b == mark))
}

/// `0011.2233.4455`.
fn fours(token: &[u8]) -> bool {
    token.len() == 14 && token.iter().enumerate().all(|(at, b)| (at % 5 == 4) == (*b == b'.'))
}

/// Not all noughts and not the broadcast.
fn named(token: &[u8]) -> bool {
    let mut digits = token.iter().filter(|b| b.is_ascii_hexdigit());
    let all = |wanted: &[u8]| token.iter().filter(|b| b.is_ascii_hexdigit()).all(|b| wanted.contains(b));
    digits.next().is_some() && !all(b"0") && !all(b"fF")
}

#[cfg(test)]
mod tests {
    use super::super::pass::check;

    fn taken(id: &str, addresses: &[&str]) {
        for address in addresses {
            check(&format!("from {address} today"), &[(id, address)]);
            check(&format!("({address})."), &[(id, address)]);
        }
    }

    fn kept(texts: &[&str]) {
        for text in texts {
            check(text, &[]);
        }
    }

    #[test]
    fn addresses_of_both_kinds_are_taken() {
        taken("ip_address", &["203.0.113.7", "192.168.1.10", "10.0.0.1", "8.8.8.8"]);
        taken(
            "ip_address",
            &[
                "2001:db8::1",
                "2001:db8:85a3::8a2e:370:7334",
                "2001:0db8:85a3:0000:0000:8a2e:0370:7334",
                "fe80::1%eth0",
                "fd00::5",
                "::ffff:192.0.2.1",
                "e5a2:c7f4:3b9:8d01:77aa:fe12:9c:b001",
                "abcd:ef:fade:beef:cafe:1:dead:face",
                "64:ff9b::192.0.2.33",
                "fdaa:bbcc::dead",
                "2001:db8::",
            ],
        );
    }

    #[test]
    fn what_stands_around_an_address_is_left() {
        check("203.0.113.7:8080", &[("ip_address", "203.0.113.7")]);
        check("203.0.113.0/24", &[("ip_address", "203.0.113.0")]);
        check("203.0.113.7,203.0.113.8", &[("ip_address", "203.0.113.7"), ("ip_address", "203.0.113.8")]);
        check("[2001:db8::1]:443", &[("ip_address", "2001:db8::1")]);
        check("2001:db8::/32", &[("ip_address", "2001:db8::")]);
        check("ip-203.0.113.7", &[("ip_address", "203.0.113.7")]);
    }

    #[test]
    fn versions_paths_and_times_are_kept() {
        kept(&[
            "v1.2.3.4",
            "version 1.2.3.4",
            "Version: 10.2.3.4",
            "section 1.2.3.4",
            "1.2.3.4.5",
            "1.2.3",
            "256.1.1.1",
            "01.2.3.4",
            "a==1.2.3.4",
            "foo-1.2.3.4.jar",
            "1.2.3.4-beta",
            "Chrome/120.0.0.0",
            "0.0.0.0",
            "127.0.0.1",
            "255.255.255.0",
            "1.3.6.1.4.1",
        ]);
        kept(&[
            "::",
            "::1",
            "std::fmt",
            "a::b",
            "a::b1",
            "Foo::bar2::c",
            "12:34:56",
            "12:34:56.789",
            "1::2",
            "dead::beef",
            "1:2:3",
            "x::2001",
            "2024-01-15T10:30:00",
            "ab:cd:ef:12:34:56:78:90:ab:cd:ef:12:34:56:78:90",
        ]);
    }

    #[test]
    fn hardware_addresses_are_taken_in_three_forms() {
        taken(
            "mac_address",
            &[
                "00:1b:44:11:3a:b7",
                "00-1B-44-11-3A-B7",
                "0011.2233.4455",
                "001b.4411.3ab7",
                "aa:bb:cc:dd:ee:0f",
                "de-ad-be-ef-00-01",
            ],
        );
        kept(&[
            "00:00:00:00:00:00",
            "ff:ff:ff:ff:ff:ff",
            "20-24-01-15-10-30",
            "1234.5678.9012",
            "aa:bb:cc:dd:0e",
            "00-1b-44-11-3a-b7-00",
        ]);
    }
}
