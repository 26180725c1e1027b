//! Whose a TCP socket of this machine is, as `/proc/net/tcp` and `tcp6` say.
//!
//! Any user may listen on any loopback port that is free. So an address alone says nothing about who answers there, and the owner of the socket
//! does.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
const SYN_RECEIVED: u8 = 0x03;
const TIME_WAIT: u8 = 0x06;
const LISTEN: u8 = 0x0a;

/// Somebody's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    pub address: SocketAddr,
    pub uid: u32,
}

/// Those whose sockets stand in the way of listening at an address. None when it is a socket that does not listen yet: the tables do not have those.
pub fn holders(address: SocketAddr) -> io::Result<Vec<Holder>> {
    let rows: Vec<Row> =
        rows()?.filter(|row| row.state != TIME_WAIT && overlap(row.local, address)).collect();
    let listening = rows.iter().any(|row| row.state == LISTEN);
    let mut found: Vec<Holder> = Vec::new();
    for row in rows.iter().filter(|row| !listening || row.state == LISTEN) {
        let holder = Holder { address: row.local, uid: row.uid };
        if !found.contains(&holder) && found.len() < 8 {
            found.push(holder);
        }
    }
    Ok(found)
}

/// A connection between two sockets of this machine, of which one is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) ours: SocketAddr,
    pub(crate) theirs: SocketAddr,
    pub(crate) opened_by: Opener,
}

/// Which end of a connection called `connect`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opener {
    Us,
    /// Their socket is one that a process holds, or nobody's any more.
    Them,
}

/// What the tables say about the other end of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct End {
    row: Option<Row>,
    /// Those that it could be waiting with.
    listeners: Vec<Row>,
}

/// The uids behind the other ends of open connections, in the order of `pairs`; `None` where it cannot be told for certain. It reads the tables once,
/// and a second time for ends that nobody has accepted yet.
///
/// A connection that was accepted belongs to whoever accepted it. Until then it waits with a listener, and belongs to nobody: it is looked at again after
/// the listeners, so that a listener that came in the meantime does not answer for one that is gone.
pub(crate) fn owners_of(pairs: &[Pair]) -> io::Result<Vec<Option<u32>>> {
    let before = ends_of(pairs)?;
    let mut uids: Vec<Option<u32>> = before.iter().map(End::uid).collect();
    let waits = |at: &usize| pairs[*at].opened_by == Opener::Us && before[*at].is_waiting();
    let again: Vec<usize> = (0..pairs.len()).filter(waits).collect();
    if again.is_empty() {
        return Ok(uids);
    }
    let still: Vec<Pair> = again.iter().map(|at| pairs[*at]).collect();
    for (at, after) in again.into_iter().zip(ends_of(&still)?) {
        uids[at] = match after.is_waiting() {
            true => one_of(&before[at].listeners, pairs[at].theirs),
            false => after.uid(),
        };
    }
    Ok(uids)
}

/// Finds the other ends of these connections in one reading, which stops when all have been found.
fn ends_of(pairs: &[Pair]) -> io::Result<Vec<End>> {
    let mut ends = vec![End::default(); pairs.len()];
    if pairs.is_empty() {
        return Ok(ends);
    }
    let mut places: HashMap<(SocketAddr, SocketAddr), Vec<usize>> = HashMap::new();
    // Only ends that may wait with a listener need listeners: those at which we connected, which are few.
    let mut at_ports: HashMap<u16, Vec<usize>> = HashMap::new();
    for (at, pair) in pairs.iter().enumerate() {
        places.entry((pair.theirs, pair.ours)).or_default().push(at);
        if pair.opened_by == Opener::Us {
            at_ports.entry(pair.theirs.port()).or_default().push(at);
        }
    }
    let mut open = places.len();
    for row in rows()? {
        if row.state == LISTEN {
            let near = at_ports.get(&row.local.port()).into_iter().flatten();
            near.filter(|at| overlap(row.local, pairs[**at].theirs))
                .for_each(|at| ends[*at].listeners.push(row));
        } else if let Some(found) = places.get(&(row.local, row.remote)) {
            let was_accepted = ends[found[0]].row.is_some_and(|row| row.is_accepted());
            if was_accepted {
                continue;
            }
            found.iter().for_each(|at| ends[*at].row = Some(row));
            open -= usize::from(row.is_accepted());
            if open == 0 {
                break;
            }
        }
    }
    Ok(ends)
}

impl End {
    fn uid(&self) -> Option<u32> {
        self.row.filter(Row::is_accepted).map(|row| row.uid)
    }

    fn is_waiting(&self) -> bool {
        self.row.is_some_and(|row| !row.is_accepted())
    }
}

/// The uid of the listener that a connection waits with: the one at that very address, or else at all of its family, or else at all of both.
fn one_of(listeners: &[Row], address: SocketAddr) -> Option<u32> {
    let rank = |row: &Row| match row.local.ip() {
        ip if ip == address.ip() => Some(0),
        ip if ip.is_ipv4() == address.is_ipv4() => Some(1),
        // One of IPv4 has no connections of IPv6.
        _ => address.is_ipv4().then_some(2),
    };
    let nearest = listeners.iter().filter_map(rank).min()?;
    let mut uids = listeners.iter().filter(|row| rank(row) == Some(nearest)).map(|row| row.uid);
    let first = uids.next()?;
    uids.all(|uid| uid == first).then_some(first)
}

/// Whether a socket at one address keeps another from listening at the other.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    one.port() == other.port()
        && (one.ip() == other.ip() || one.ip().is_unspecified() || other.ip().is_unspecified())
}

/// What is read of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    local: SocketAddr,
    remote: SocketAddr,
    state: u8,
    uid: u32,
    /// 0 while no process has it.
    inode: u64,
}

impl Row {
    fn is_accepted(&self) -> bool {
        self.state != SYN_RECEIVED && self.inode != 0
    }

    fn read(line: &str) -> Option<Row> {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (local, remote) = (address(words.next()?)?, address(words.next()?)?);
        let state = u8::from_str_radix(words.next()?, 16).ok()?;
        // Queues, timer, retransmits.
        let uid = words.nth(3)?.parse().ok()?;
        let inode = words.nth(1)?.parse().ok()?;
        Some(Row { local, remote, state, uid, inode })
    }
}

/// Every socket, a line at a time: there may be many. A machine without IPv6 has no table for it.
fn rows() -> io::Result<impl Iterator<Item = Row>> {
    let mut tables = Vec::new();
    for path in TABLES {
        match File::open(path) {
            Ok(file) => tables.push(BufReader::with_capacity(64 * 1024, file)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
    let lines = tables.into_iter().flat_map(|table| table.lines().map_while(Result::ok));
    Ok(lines.filter_map(|line| Row::read(&line)))
}

/// `0100007F:2388`: words of 32 bits as the machine has them in memory.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let word = |at: usize| u32::from_str_radix(ip.get(at * 8..at * 8 + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = match ip.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (at, four) in bytes.chunks_exact_mut(4).enumerate() {
                four.copy_from_slice(&word(at)?);
            }
            IpAddr::from(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[cfg(target_endian = "little")]
    #[test]
    fn lines_are_read_as_the_kernel_writes_them() {
        let check = |line: &str, local: &str, remote: &str, state: u8, uid: u32, inode: u64| {
            let row =
                Row { local: local.parse().unwrap(), remote: remote.parse().unwrap(), state, uid, inode };
            assert_eq!(Row::read(line), Some(row), "{line}");
        };
        check(
            "   0: 0100007F:2388 00000000:0000 0A 00000000:00000000 00:00000000 00000000   992        0 8511 1 0000000000000000 100 0 0 10 0",
            "127.0.0.1:9096",
            "0.0.0.0:0",
            LISTEN,
            992,
            8511,
        );
        check(
            "   1: 00000000000000000000000001000000:2388 0000000000000000FFFF00000100007F:A3C2 01 00000000:00000000 02:000AFB4D 00000000     0        0 0 2 0000000000000000 20 4 30 10 -1",
            "[::1]:9096",
            "127.0.0.1:41922",
            0x01,
            0,
            0,
        );
        for odd in
            ["", "  sl  local_address rem_address   st", "0: 01:1 0:0 0A", "0: \u{e9}\u{e9}\u{e9}\u{e9}:1 x"]
        {
            assert_eq!(Row::read(odd), None, "{odd}");
        }
    }

    #[test]
    fn the_end_of_a_connection_is_its_listeners_until_it_is_accepted_and_then_its_own() {
        let me = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap());
        for at in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0"] {
            let Ok(listener) = TcpListener::bind(at) else {
                assert!(at.starts_with('['), "only IPv6 may be missing");
                continue;
            };
            let mut address = listener.local_addr().unwrap();
            if address.ip().is_unspecified() {
                address.set_ip(Ipv4Addr::LOCALHOST.into());
            }
            let stream = TcpStream::connect(address).unwrap();
            let ours = stream.local_addr().unwrap();
            let to = |theirs| Pair { ours, theirs, opened_by: Opener::Us };
            let from = Pair { ours: address, theirs: ours, opened_by: Opener::Them };
            let nobody = SocketAddr::new(address.ip(), 1);
            let check = |pairs: &[Pair], expected: &[Option<u32>], when: &str| {
                assert_eq!(owners_of(pairs).unwrap(), expected, "{at}: {when}");
            };
            check(&[to(nobody), to(address), from], &[None, Some(me), Some(me)], "not accepted yet");
            let accepted = listener.accept().unwrap();
            drop(listener);
            check(&[to(address), from, to(nobody)], &[Some(me), Some(me), None], "accepted");
            drop(stream);
            check(&[from], &[None], "closed by whoever opened it");
            drop(accepted);
        }
    }

    #[test]
    fn whoever_listens_stands_in_the_way_of_every_address_that_overlaps() {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        for ip in ["127.0.0.1", "0.0.0.0"] {
            let found = holders(SocketAddr::new(ip.parse().unwrap(), port)).unwrap();
            assert!(found.iter().any(|it| it.address == listener.local_addr().unwrap()), "{ip}: {found:?}");
        }
    }
}
