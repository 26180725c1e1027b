//! Asking a name server, with an end in time, and with how long its answer holds: the system's resolver says neither.
//!
//! `question` and `answer` are the words on the wire, pure; `ask` sends them. Only what answers this question, from the server that was
//! asked, under the number it was asked with, is believed.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use crate::destination::is_one_host;
use crate::machine::Resolvers;

/// What a name server is given before the next one is asked.
const ONE_WITHIN: Duration = Duration::from_secs(2);
/// What a name is given with all its servers and completions.
const ALL_WITHIN: Duration = Duration::from_secs(6);
/// More than that over UDP is asked again over TCP.
const UDP_BYTES_MAX: usize = 4096;
const TCP_BYTES_MAX: usize = 65_535;
/// A name with more addresses than that is followed in these.
pub(crate) const ADDRESSES_MAX: usize = 64;
const ALIASES_MAX: usize = 16;
const POINTERS_MAX: usize = 32;
const DNS_PORT: u16 = 53;
const CLASS_IN: u16 = 1;
const TYPE_CNAME: u16 = 5;

/// Which addresses are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Family {
    V4,
    V6,
}

impl Family {
    fn record(self) -> u16 {
        match self {
            Family::V4 => 1,
            Family::V6 => 28,
        }
    }

    pub(crate) fn has(self, ip: &IpAddr) -> bool {
        matches!((self, ip), (Family::V4, IpAddr::V4(_)) | (Family::V6, IpAddr::V6(_)))
    }
}

/// What a name server said of a name: its addresses, none where it has none of this family, and how long that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) holds: Duration,
}

/// Why a name has no addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unanswered {
    #[error("there is no such name")]
    NoSuchName,
    #[error("the name server refuses to say (code {0})")]
    Refused(u8),
    #[error("no name server answers")]
    Silent,
    #[error("the name server's answer makes no sense")]
    Nonsense,
    #[error("the answer is too long for one message")]
    Cut,
}

/// Asks for a name as the machine would: completed as its resolvers say, each server in turn.
pub(crate) fn look_up(resolvers: &Resolvers, name: &str, family: Family) -> Result<Said, Unanswered> {
    let until = Instant::now() + ALL_WITHIN;
    let mut last = Unanswered::Silent;
    for candidate in resolvers.candidates(name) {
        for server in &resolvers.servers {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(last);
            }
            match ask(SocketAddr::new(*server, DNS_PORT), &candidate, family, left.min(ONE_WITHIN)) {
                Ok(said) => return Ok(said),
                // Another completion may be one.
                Err(Unanswered::NoSuchName) => {
                    last = Unanswered::NoSuchName;
                    break;
                }
                Err(other) => last = other,
            }
        }
    }
    Err(last)
}

fn ask(server: SocketAddr, name: &str, family: Family, within: Duration) -> Result<Said, Unanswered> {
    let mut number = [0; 2];
    getrandom::fill(&mut number).map_err(|_| Unanswered::Silent)?;
    let number = u16::from_be_bytes(number);
    let question = question(number, name, family);
    match over_udp(server, &question, number, name, family, within) {
        Err(Unanswered::Cut) => over_tcp(server, &question, number, name, family, within),
        other => other,
    }
}

fn over_udp(
    server: SocketAddr,
    question: &[u8],
    number: u16,
    name: &str,
    family: Family,
    within: Duration,
) -> Result<Said, Unanswered> {
    let silent = |_| Unanswered::Silent;
    let until = Instant::now() + within;
    let any: IpAddr =
        if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    // Bound anew each time: another port that a liar has to guess.
    let socket = UdpSocket::bind((any, 0)).map_err(silent)?;
    socket.connect(server).map_err(silent)?;
    socket.send(question).map_err(silent)?;
    let mut bytes = vec![0; UDP_BYTES_MAX];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Unanswered::Silent);
        }
        socket.set_read_timeout(Some(left)).map_err(silent)?;
        let length = socket.recv(&mut bytes).map_err(silent)?;
        let heard = bytes.get(..length).unwrap_or_default();
        // What somebody else threw in is no answer; the real one may still come.
        if heard.get(..2) == Some(&number.to_be_bytes()) {
            return answer(heard, number, name, family);
        }
    }
}

fn over_tcp(
    server: SocketAddr,
    question: &[u8],
    number: u16,
    name: &str,
    family: Family,
    within: Duration,
) -> Result<Said, Unanswered> {
    let silent = |_| Unanswered::Silent;
    let mut stream = TcpStream::connect_timeout(&server, within).map_err(silent)?;
    stream.set_read_timeout(Some(within)).map_err(silent)?;
    stream.set_write_timeout(Some(within)).map_err(silent)?;
    let length = u16::try_from(question.len()).map_err(|_| Unanswered::Nonsense)?;
    stream.write_all(&[&length.to_be_bytes()[..], question].concat()).map_err(silent)?;
    let mut length = [0; 2];
    stream.read_exact(&mut length).map_err(silent)?;
    let mut bytes = vec![0; usize::from(u16::from_be_bytes(length)).min(TCP_BYTES_MAX)];
    stream.read_exact(&mut bytes).map_err(silent)?;
    answer(&bytes, number, name, family)
}

/// One question, which asks the server to find out for us.
fn question(number: u16, name: &str, family: Family) -> Vec<u8> {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.extend([0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in name.split('.') {
        // Names have been checked: a label has at most 63 bytes.
        bytes.push(label.len().min(63) as u8);
        bytes.extend(label.bytes().take(63));
    }
    bytes.push(0);
    bytes.extend(family.record().to_be_bytes());
    bytes.extend(CLASS_IN.to_be_bytes());
    bytes
}

/// What an answer says about the name that was asked for, aliases followed.
fn answer(bytes: &[u8], number: u16, name: &str, family: Family) -> Result<Said, Unanswered> {
    let mut read = Reader { bytes, at: 0 };
    let header = read.header().ok_or(Unanswered::Nonsense)?;
    if header.number != number || !header.is_answer || header.questions != 1 {
        return Err(Unanswered::Nonsense);
    }
    let asked = read.question().ok_or(Unanswered::Nonsense)?;
    if asked != (name.to_owned(), family.record(), CLASS_IN) {
        return Err(Unanswered::Nonsense);
    }
    match header.code {
        0 if header.is_cut => return Err(Unanswered::Cut),
        0 => {}
        3 => return Err(Unanswered::NoSuchName),
        code => return Err(Unanswered::Refused(code)),
    }
    let mut records = Vec::new();
    for _ in 0..header.answers {
        records.push(read.record().ok_or(Unanswered::Nonsense)?);
    }
    Ok(followed(&records, name, family))
}

fn followed(records: &[Record], name: &str, family: Family) -> Said {
    let mut name = name.to_owned();
    let mut holds = u32::MAX;
    for _ in 0..ALIASES_MAX {
        let Some((to, seconds)) = records.iter().find_map(|record| match &record.holds {
            Held::Alias(to) if record.name == name => Some((to, record.seconds)),
            _ => None,
        }) else {
            break;
        };
        holds = holds.min(seconds);
        name.clone_from(to);
    }
    let mut addresses = Vec::new();
    for record in records.iter().filter(|record| record.name == name) {
        if let Held::Address(ip) = &record.holds
            && family.has(ip)
            && is_one_host(ip)
            && addresses.len() < ADDRESSES_MAX
        {
            holds = holds.min(record.seconds);
            addresses.push(*ip);
        }
    }
    Said { addresses, holds: Duration::from_secs(u64::from(if holds == u32::MAX { 0 } else { holds })) }
}

struct Header {
    number: u16,
    is_answer: bool,
    is_cut: bool,
    code: u8,
    questions: u16,
    answers: u16,
}

#[derive(Debug)]
struct Record {
    name: String,
    seconds: u32,
    holds: Held,
}

#[derive(Debug)]
enum Held {
    Address(IpAddr),
    Alias(String),
    Other,
}

/// Reads and never beyond the end.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    fn header(&mut self) -> Option<Header> {
        let number = self.u16()?;
        let flags = self.u16()?;
        let (questions, answers) = (self.u16()?, self.u16()?);
        self.take(4)?;
        Some(Header {
            number,
            is_answer: flags & 0x8000 != 0,
            is_cut: flags & 0x0200 != 0,
            code: (flags & 0x000f) as u8,
            questions,
            answers,
        })
    }

    fn question(&mut self) -> Option<(String, u16, u16)> {
        Some((self.name()?, self.u16()?, self.u16()?))
    }

    fn record(&mut self) -> Option<Record> {
        let name = self.name()?;
        let (record, class, seconds, length) = (self.u16()?, self.u16()?, self.u32()?, self.u16()?);
        let begin = self.at;
        let end = begin.checked_add(usize::from(length)).filter(|end| *end <= self.bytes.len())?;
        let holds = match (record, class, length) {
            (1, CLASS_IN, 4) => Held::Address(<[u8; 4]>::try_from(self.take(4)?).ok()?.into()),
            (28, CLASS_IN, 16) => {
                Held::Address(IpAddr::from(<[u8; 16]>::try_from(self.take(16)?).ok()?).to_canonical())
            }
            (TYPE_CNAME, CLASS_IN, _) => Held::Alias(self.name()?),
            _ => Held::Other,
        };
        self.at = end;
        Some(Record { name, seconds, holds })
    }

    /// In lower case, pointers followed, and only so many: a circle of them is no name.
    fn name(&mut self) -> Option<String> {
        let (mut name, mut at, mut back, mut pointers) = (String::new(), self.at, None, 0);
        loop {
            let length = usize::from(*self.bytes.get(at)?);
            match length {
                0 => break,
                1..=63 => {
                    let label = self.bytes.get(at + 1..at + 1 + length)?;
                    if !name.is_empty() {
                        name.push('.');
                    }
                    name.extend(label.iter().map(|b| char::from(b.to_ascii_lowercase())));
                    if name.len() > 512 {
                        return None;
                    }
                    at += 1 + length;
                }
                0xc0..=0xff => {
                    pointers += 1;
                    if pointers > POINTERS_MAX {
                        return None;
                    }
                    back.get_or_insert(at + 2);
                    at = ((length & 0x3f) << 8) | usize::from(*self.bytes.get(at + 1)?);
                }
                _ => return None,
            }
        }
        self.at = back.unwrap_or(at + 1);
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        for label in text.split('.') {
            bytes.push(label.len() as u8);
            bytes.extend(label.bytes());
        }
        bytes.push(0);
        bytes
    }

    fn record(owner: &[u8], kind: u16, seconds: u32, data: &[u8]) -> Vec<u8> {
        let mut bytes = owner.to_vec();
        bytes.extend(kind.to_be_bytes());
        bytes.extend(CLASS_IN.to_be_bytes());
        bytes.extend(seconds.to_be_bytes());
        bytes.extend((data.len() as u16).to_be_bytes());
        bytes.extend(data);
        bytes
    }

    fn message(asked: &str, flags: u16, records: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = question(7, asked, Family::V4);
        bytes[2..4].copy_from_slice(&flags.to_be_bytes());
        bytes[6..8].copy_from_slice(&(records.len() as u16).to_be_bytes());
        bytes.extend(records.concat());
        bytes
    }

    /// A pointer to the name in the question.
    const ASKED: [u8; 2] = [0xc0, 12];

    #[test]
    fn an_answer_is_followed_through_its_aliases_and_the_shortest_time_holds() {
        let records = [
            record(&ASKED, TYPE_CNAME, 300, &name("cdn.example")),
            record(&name("cdn.example"), 1, 60, &[192, 0, 2, 1]),
            record(&name("cdn.example"), 1, 90, &[192, 0, 2, 2]),
            record(&name("other.example"), 1, 90, &[192, 0, 2, 99]),
            record(&name("cdn.example"), 1, 90, &[0, 0, 0, 0]),
        ];
        let said = answer(&message("a.example", 0x8180, &records), 7, "a.example", Family::V4).unwrap();
        let addresses: Vec<String> = said.addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["192.0.2.1", "192.0.2.2"]);
        assert_eq!(said.holds, Duration::from_secs(60));
    }

    #[test]
    fn what_does_not_answer_the_question_is_not_believed() {
        let good = [record(&ASKED, 1, 60, &[192, 0, 2, 1])];
        let check = |bytes: &[u8], number, asked| answer(bytes, number, asked, Family::V4).unwrap_err();
        assert_eq!(check(&message("a.example", 0x8180, &good), 8, "a.example"), Unanswered::Nonsense);
        assert_eq!(check(&message("b.example", 0x8180, &good), 7, "a.example"), Unanswered::Nonsense);
        assert_eq!(check(&message("a.example", 0x0180, &good), 7, "a.example"), Unanswered::Nonsense);
        assert_eq!(check(&message("a.example", 0x8183, &[]), 7, "a.example"), Unanswered::NoSuchName);
        assert_eq!(check(&message("a.example", 0x8182, &[]), 7, "a.example"), Unanswered::Refused(2));
        assert_eq!(check(&message("a.example", 0x8380, &good), 7, "a.example"), Unanswered::Cut);
        let circle = [record(&[0xc0, 27], 1, 60, &[192, 0, 2, 1])];
        assert_eq!(check(&message("a.example", 0x8180, &circle), 7, "a.example"), Unanswered::Nonsense);
        let none = answer(&message("a.example", 0x8180, &[]), 7, "a.example", Family::V4).unwrap();
        assert!(none.addresses.is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_to_an_end(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..600)) {
            let mut message = message("a.example", 0x8180, &[]);
            let _ = answer(&bytes, 7, "a.example", Family::V4);
            message[7] = 20;
            message.extend(bytes);
            let _ = answer(&message, 7, "a.example", Family::V4);
        }
    }
}
