//! Where a packet was to go, by its first bytes; and the filter's messages about packets it refused. Pure readers of bytes.

use std::net::IpAddr;

use crate::destination::Protocol;
use crate::rules::LOG_GROUP;
use crate::wanted::Who;

/// One packet that was refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Refused {
    pub who: Who,
    pub protocol: Protocol,
    pub address: IpAddr,
    /// 0 where there is none.
    pub port: u16,
}

const HEADER: usize = 16;
/// After the header: family, version, group.
const GENERAL: usize = 4;
const SUBSYSTEM_LOG: u16 = 4;
const MESSAGE_PACKET: u16 = SUBSYSTEM_LOG << 8;
const MESSAGE_CONFIG: u16 = (SUBSYSTEM_LOG << 8) | 1;
const MESSAGE_ERROR: u16 = 2;
const REQUEST_AND_ANSWER: u16 = 0x1 | 0x4;
const ATTRIBUTE_PAYLOAD: u16 = 9;
const ATTRIBUTE_PREFIX: u16 = 10;
const CONFIG_COMMAND: u16 = 1;
const CONFIG_MODE: u16 = 2;
const CONFIG_WAIT: u16 = 4;
const BIND: u8 = 1;
const COPY_PACKET: u8 = 2;
/// In hundredths of a second: how long the filter collects before it tells.
const COLLECT: u32 = 20;

/// What asks the filter for the packets of our group.
pub(crate) fn subscription(bytes_of_each: u32) -> [Vec<u8>; 2] {
    let mode = [&bytes_of_each.to_be_bytes()[..], &[COPY_PACKET, 0]].concat();
    let more = [attribute(CONFIG_MODE, &mode), attribute(CONFIG_WAIT, &COLLECT.to_be_bytes())].concat();
    [message(&attribute(CONFIG_COMMAND, &[BIND])), message(&more)]
}

fn message(attributes: &[u8]) -> Vec<u8> {
    let length = (HEADER + GENERAL + attributes.len()) as u32;
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(MESSAGE_CONFIG.to_ne_bytes());
    bytes.extend(REQUEST_AND_ANSWER.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([0, 0]);
    bytes.extend(LOG_GROUP.to_be_bytes());
    bytes.extend(attributes);
    bytes
}

fn attribute(kind: u16, data: &[u8]) -> Vec<u8> {
    let mut bytes = ((4 + data.len()) as u16).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The number of the error in an answer; 0 is none.
pub(crate) fn answered(bytes: &[u8]) -> Option<i32> {
    messages(bytes)
        .find(|(kind, _)| *kind == MESSAGE_ERROR)
        .and_then(|(_, body)| body.get(..4)?.try_into().ok().map(|error: [u8; 4]| i32::from_ne_bytes(error)))
}

/// The refused packets that one message of the filter tells of.
pub(crate) fn refused(bytes: &[u8]) -> Vec<Refused> {
    messages(bytes).filter(|(kind, _)| *kind == MESSAGE_PACKET).filter_map(|(_, body)| one(body)).collect()
}

fn one(body: &[u8]) -> Option<Refused> {
    let (mut who, mut place) = (None, None);
    for (kind, data) in attributes(body.get(GENERAL..)?) {
        match kind {
            ATTRIBUTE_PREFIX => {
                let prefix = data.split(|b| *b == 0).next().unwrap_or_default();
                who = Who::ALL.into_iter().find(|who| who.word().as_bytes() == prefix);
            }
            ATTRIBUTE_PAYLOAD => place = goal(data),
            _ => {}
        }
    }
    let (protocol, address, port) = place?;
    Some(Refused { who: who?, protocol, address, port })
}

/// Where an IP packet is to go.
fn goal(packet: &[u8]) -> Option<(Protocol, IpAddr, u16)> {
    let first = *packet.first()?;
    let (number, address, after): (u8, IpAddr, usize) = match first >> 4 {
        4 => {
            let address: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
            (*packet.get(9)?, address.into(), usize::from(first & 0x0f) * 4)
        }
        6 => {
            let address: [u8; 16] = packet.get(24..40)?.try_into().ok()?;
            (*packet.get(6)?, address.into(), 40)
        }
        _ => return None,
    };
    let port = || {
        let bytes = packet.get(after + 2..after + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u16::from_be_bytes).unwrap_or(0)
    };
    Some(match number {
        6 => (Protocol::Tcp, address, port()),
        17 => (Protocol::Udp, address, port()),
        1 | 58 => (Protocol::Icmp, address, 0),
        _ => (Protocol::Other, address, 0),
    })
}

/// Every message with its kind and what follows its header. What is cut short ends it.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
        let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
        let body = bytes.get(HEADER..length)?;
        bytes = bytes.get(length.checked_next_multiple_of(4)?..).unwrap_or_default();
        Some((kind, body))
    })
}

fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        // The two highest bits say how the content is written.
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?) & 0x3fff;
        let data = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, data))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(prefix: &str, packet: &[u8]) -> Vec<u8> {
        let prefix = [prefix.as_bytes(), &[0]].concat();
        let body = [attribute(ATTRIBUTE_PREFIX, &prefix), attribute(ATTRIBUTE_PAYLOAD, packet)].concat();
        let mut bytes = message(&body);
        bytes[4..6].copy_from_slice(&MESSAGE_PACKET.to_ne_bytes());
        bytes
    }

    fn four(number: u8, to: [u8; 4], port: u16) -> Vec<u8> {
        let mut packet = vec![0x46; 1];
        packet.resize(24, 0);
        packet[9] = number;
        packet[16..20].copy_from_slice(&to);
        packet.extend([0, 1]);
        packet.extend(port.to_be_bytes());
        packet
    }

    #[test]
    fn a_refused_packet_says_who_and_where_to() {
        let mut six = vec![0x60; 1];
        six.resize(44, 0);
        six[6] = 17;
        six[24..40].copy_from_slice(&"2001:db8::7".parse::<std::net::Ipv6Addr>().unwrap().octets());
        six[42..44].copy_from_slice(&53_u16.to_be_bytes());
        let bytes = [
            told("daemon", &four(6, [192, 0, 2, 7], 443)),
            told("tripwire", &six),
            told("daemon", &four(1, [192, 0, 2, 1], 9)),
            told("daemon", &four(47, [192, 0, 2, 1], 9)),
            told("stranger", &four(6, [192, 0, 2, 7], 443)),
        ]
        .concat();
        let found: Vec<String> = refused(&bytes)
            .into_iter()
            .map(|it| format!("{} {} {} {}", it.who.word(), it.protocol.word(), it.address, it.port))
            .collect();
        assert_eq!(
            found,
            [
                "daemon tcp 192.0.2.7 443",
                "tripwire udp 2001:db8::7 53",
                "daemon icmp 192.0.2.1 0",
                "daemon other 192.0.2.1 0"
            ]
        );
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_to_an_end(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..400)) {
            let _ = refused(&bytes);
            let _ = answered(&bytes);
            let _ = goal(&bytes);
            let _ = refused(&told("daemon", &bytes));
        }
    }
}
