//! A TCP connection that knows when it is over: each read and write waits only as long as is left.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::address::Address;
use crate::found::Trouble;
use crate::look_up::addresses;
use crate::until::Until;

#[derive(Debug)]
pub(crate) struct Line {
    tcp: TcpStream,
    until: Until,
}

impl Line {
    /// Connects to the first of the host's addresses that takes it.
    pub(crate) fn to(address: &Address, until: Until) -> Result<Line, Trouble> {
        Line::to_any(&addresses(&address.host, address.port, until)?, until)
    }

    pub(crate) fn to_any(addresses: &[SocketAddr], until: Until) -> Result<Line, Trouble> {
        in_turn(addresses, until, |address, share| {
            let tcp = TcpStream::connect_timeout(address, share.left()?)?;
            Ok(Line { tcp, until })
        })
    }

    fn left(&self) -> io::Result<Option<std::time::Duration>> {
        self.until.left().map(Some).map_err(|_| io::ErrorKind::TimedOut.into())
    }
}

/// Tries one address after the other, each with its share of the time: the first may be a hole that swallows everything.
pub(crate) fn in_turn<T>(
    addresses: &[SocketAddr],
    until: Until,
    mut attempt: impl FnMut(&SocketAddr, Until) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    let mut worst = Trouble::ours("the name has no address");
    for (tried, address) in addresses.iter().enumerate() {
        match until.share(addresses.len() - tried).and_then(|share| attempt(address, share)) {
            Ok(done) => return Ok(done),
            Err(trouble) => worst = worst.more_telling(trouble),
        }
    }
    Err(worst)
}

impl Read for Line {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.tcp.set_read_timeout(self.left()?)?;
        self.tcp.read(into).map_err(late)
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tcp.set_write_timeout(self.left()?)?;
        self.tcp.write(bytes).map_err(late)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket says "would block" when its time is over, which others take for an invitation to try again.
fn late(e: io::Error) -> io::Error {
    match e.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => e,
    }
}
