//! One host, asked to echo.
//!
//! Linux lets whoever is in `net.ipv4.ping_group_range` send echoes without any privilege; where that is refused a raw socket is tried,
//! which takes CAP_NET_RAW. An answer is known by random bytes in it: the kernel writes the id of the first kind of socket itself, and a raw one
//! hears the answers to everybody.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto};
use rustix::net::{connect, recv, send, socket_with};

use crate::address::Host;
use crate::found::Trouble;
use crate::line::in_turn;
use crate::look_up::addresses;
use crate::until::Until;

/// One packet may be lost; the next is sent after this long, as ping does.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
const HEADER_LEN: usize = 8;

pub(crate) fn echo(host: &Host, until: Until) -> Result<(), Trouble> {
    let addresses = addresses(host, 0, until)?;
    in_turn(&addresses, until, echo_of)
}

/// A socket that is connected hears only its peer, on either kind.
fn echo_of(address: &SocketAddr, until: Until) -> Result<(), Trouble> {
    let dialect = if address.is_ipv4() { Dialect::V4 } else { Dialect::V6 };
    let socket = open(dialect)?;
    connect(&socket, address).map_err(io::Error::from)?;
    let token = RandomState::new().hash_one(address).to_be_bytes();
    for turn in 0u16.. {
        until.left()?;
        send(&socket, &dialect.request(turn, token), SendFlags::empty()).map_err(io::Error::from)?;
        if hears(&socket, dialect, token, until.or_after(AGAIN_AFTER))? {
            break;
        }
    }
    Ok(())
}

/// Whether the answer comes by then.
fn hears(socket: &OwnedFd, dialect: Dialect, token: [u8; 8], until: Until) -> Result<bool, Trouble> {
    let mut packet = [0; 1500];
    while let Ok(left) = until.left() {
        set_socket_timeout(socket, Timeout::Recv, Some(left)).map_err(io::Error::from)?;
        match recv(socket, &mut packet[..], RecvFlags::empty()) {
            Ok((len, _)) if dialect.is_reply(&packet[..len], token) => return Ok(true),
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(e) => return Err(io::Error::from(e).into()),
        }
    }
    Ok(false)
}

fn open(dialect: Dialect) -> Result<OwnedFd, Trouble> {
    let (family, protocol) = dialect.spoken_by();
    let open = |kind| socket_with(family, kind, SocketFlags::CLOEXEC, Some(protocol));
    open(SocketType::DGRAM).or_else(|_| open(SocketType::RAW)).map_err(|e| match e {
        Errno::PERM | Errno::ACCESS => Trouble::ours(
            "this process may not send echoes: its group is not in net.ipv4.ping_group_range and it has no CAP_NET_RAW",
        ),
        other => io::Error::from(other).into(),
    })
}

#[derive(Clone, Copy, Debug)]
enum Dialect {
    V4,
    V6,
}

impl Dialect {
    fn spoken_by(self) -> (AddressFamily, Protocol) {
        match self {
            Dialect::V4 => (AddressFamily::INET, ipproto::ICMP),
            Dialect::V6 => (AddressFamily::INET6, ipproto::ICMPV6),
        }
    }

    fn request(self, turn: u16, token: [u8; 8]) -> [u8; HEADER_LEN + 8] {
        let kind = match self {
            Dialect::V4 => 8,
            Dialect::V6 => 128,
        };
        let [id_high, id_low, ..] = token;
        let [turn_high, turn_low] = turn.to_be_bytes();
        let mut packet = [0; HEADER_LEN + 8];
        packet[..HEADER_LEN].copy_from_slice(&[kind, 0, 0, 0, id_high, id_low, turn_high, turn_low]);
        packet[HEADER_LEN..].copy_from_slice(&token);
        // Of ICMPv6 the kernel makes the sum, for it covers addresses too.
        if let Dialect::V4 = self {
            let sum = checksum(&packet);
            packet[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        packet
    }

    fn is_reply(self, packet: &[u8], token: [u8; 8]) -> bool {
        let (kind, icmp) = match (self, packet.first()) {
            // A raw socket of IPv4 also gives the IP header, which begins with a 4 and its length in words; no ICMP type in use does.
            (Dialect::V4, Some(first)) if first >> 4 == 4 => {
                (0, packet.get(4 * usize::from(first & 0xf)..).unwrap_or_default())
            }
            (Dialect::V4, _) => (0, packet),
            (Dialect::V6, _) => (129, packet),
        };
        icmp.first() == Some(&kind) && icmp.get(HEADER_LEN..) == Some(&token[..])
    }
}

/// RFC 1071, of an even number of bytes.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) as u16 + (folded >> 16) as u16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_packet_with_its_sum_adds_up(turn: u16, token: [u8; 8]) {
            let packet = Dialect::V4.request(turn, token);
            prop_assert_eq!(checksum(&packet), 0);
        }

        #[test]
        fn only_the_answer_to_this_request_counts(turn: u16, token: [u8; 8], other: [u8; 8], junk: Vec<u8>) {
            for dialect in [Dialect::V4, Dialect::V6] {
                let mut packet = dialect.request(turn, token).to_vec();
                prop_assert!(!dialect.is_reply(&packet, token), "a raw socket here hears the request too");
                packet[0] = match dialect { Dialect::V4 => 0, Dialect::V6 => 129 };
                prop_assert!(dialect.is_reply(&packet, token));
                prop_assert_eq!(dialect.is_reply(&packet, other), token == other);
                prop_assert!(!dialect.is_reply(&packet[..15], token));
                prop_assert!(!dialect.is_reply(&junk, token));
                if let Dialect::V4 = dialect {
                    let mut with_header = vec![0; 20];
                    with_header[0] = 0x45;
                    with_header.extend(&packet);
                    prop_assert!(dialect.is_reply(&with_header, token));
                }
            }
        }
    }
}
