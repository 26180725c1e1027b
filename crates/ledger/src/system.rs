//! What this machine uses already, as its files tell.
//!
//! | space | where it is read | what counts |
//! |---|---|---|
//! | uids | `/etc/passwd`, `/etc/group` | every user and every group: a user's own group has the same number |
//! | ports | `/proc/net/tcp`, `tcp6`, `udp`, `udp6` | who listens, and every bound socket of UDP |
//! | subnets | `/proc/net/route` | every route but the default one and those that turn away |
//! | marks | nowhere | nothing: the kernel does not tell; see [`MARK_MASK`](crate::MARK_MASK) |
//! | interfaces | `/sys/class/net` | those that are named like ours |
//!
//! The files of `/proc/net` are those of the network namespace that asks. A line that cannot be read is an error: what
//! cannot be seen is not free.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::number::Number;
use crate::occupied::{InUse, Occupied};
use crate::series::{Series, Space};

/// A hundred thousand sockets take 15 MB; beyond this something is wrong.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The state of a socket that listens, as the kernel prints it.
const LISTEN: &str = "0A";

/// The flag of a route by which whatever has no better one is turned away. Nobody is behind it.
const REJECT: u32 = 0x0200;

/// The machine this runs on.
#[derive(Clone, Debug)]
pub struct Machine {
    root: PathBuf,
}

impl Default for Machine {
    fn default() -> Machine {
        Machine::below("/")
    }
}

impl Machine {
    /// The one whose root lies here.
    pub fn below(root: impl Into<PathBuf>) -> Machine {
        Machine { root: root.into() }
    }

    /// What `read` finds in the lines of a file.
    fn lines<T>(
        &self,
        name: &str,
        headings: usize,
        read: impl Fn(&str) -> Option<Option<T>>,
    ) -> io::Result<Vec<T>> {
        let path = self.root.join(name);
        let text = text_of(&path).map_err(|e| about(&path, &e))?;
        let mut found = Vec::new();
        for line in text.lines().skip(headings).filter(|line| !line.trim().is_empty()) {
            let odd = || about(&path, &io::Error::other("it has a line of an unknown form"));
            found.extend(read(line).ok_or_else(odd)?);
        }
        Ok(found)
    }

    fn uids(&self) -> io::Result<Occupied> {
        let mut ids: Vec<u32> = self.lines("etc/passwd", 0, account)?;
        ids.extend(self.lines("etc/group", 0, account)?);
        Ok(ids.into_iter().collect())
    }

    fn ports(&self) -> io::Result<Occupied> {
        let listening = |line: &str| socket(line).map(|(port, state)| (state == LISTEN).then_some(port));
        let bound = |line: &str| socket(line).map(|(port, _)| Some(port));
        let mut ports: Vec<u32> = self.lines("proc/net/tcp", 1, listening)?;
        ports.extend(self.lines("proc/net/udp", 1, bound)?);
        // A kernel without IPv6 does not have these.
        ports.extend(if_there(self.lines("proc/net/tcp6", 1, listening))?);
        ports.extend(if_there(self.lines("proc/net/udp6", 1, bound))?);
        Ok(ports.into_iter().collect())
    }

    fn subnets(&self) -> io::Result<Occupied> {
        Ok(Occupied::new(self.lines("proc/net/route", 1, route)?))
    }

    fn interfaces(&self) -> io::Result<Occupied> {
        let dir = self.root.join("sys/class/net");
        let listing = std::fs::read_dir(&dir).map_err(|e| about(&dir, &e))?;
        let mut numbers = Vec::new();
        for entry in listing {
            let name = entry.map_err(|e| about(&dir, &e))?.file_name();
            numbers.extend(name.to_str().and_then(|name| Number::parse(Series::Interface, name).ok()));
        }
        Ok(numbers.into_iter().map(Number::raw).collect())
    }
}

impl InUse for Machine {
    fn look(&self, space: Space) -> io::Result<Occupied> {
        match space {
            Space::Uids => self.uids(),
            Space::Ports => self.ports(),
            Space::Subnets => self.subnets(),
            Space::Marks => Ok(Occupied::default()),
            Space::Interfaces => self.interfaces(),
        }
    }
}

/// The number of a user or a group: both files have it third.
fn account(line: &str) -> Option<Option<u32>> {
    // Comments, and the lines by which other sources of accounts are let in.
    if line.starts_with(['#', '+', '-']) {
        return Some(None);
    }
    line.split(':').nth(2)?.parse().ok().map(Some)
}

/// The local port of a socket and its state.
fn socket(line: &str) -> Option<(u32, &str)> {
    let mut fields = line.split_ascii_whitespace();
    let (local, state) = (fields.nth(1)?, fields.nth(1)?);
    Some((u32::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?, state))
}

/// The first and last address of a route that leads somewhere; nothing for the default one, which leads everywhere.
fn route(line: &str) -> Option<Option<(u32, u32)>> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (destination, mask) = (address(fields.get(1)?)?, address(fields.get(7)?)?);
    let flags = u32::from_str_radix(fields.get(3)?, 16).ok()?;
    let leads = mask != 0 && flags & REJECT == 0;
    Some(leads.then_some((destination & mask, destination | !mask)))
}

/// The kernel prints the bytes of the network as a number of this machine.
fn address(hex: &str) -> Option<u32> {
    u32::from_str_radix(hex, 16).ok().map(|printed| u32::from_be_bytes(printed.to_ne_bytes()))
}

fn text_of(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    let read = File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if read as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other("it is too long to be read"));
    }
    // A name in another encoding does not hide its number.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn if_there<T>(lines: io::Result<Vec<T>>) -> io::Result<Vec<T>> {
    match lines {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other,
    }
}

fn about(path: &Path, e: &io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("{}: {e}", path.display()))
}
