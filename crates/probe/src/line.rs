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
    let mut worst: Option<Trouble> = None;
    for (tried, address) in addresses.iter().enumerate() {
        match until.share(addresses.len() - tried).and_then(|share| attempt(address, share)) {
            Ok(done) => return Ok(done),
            Err(trouble) => {
                worst = Some(match worst {
                    Some(before) => before.more_telling(trouble),
                    None => trouble,
                });
            }
        }
    }
    Err(worst.unwrap_or_else(|| Trouble::ours("the name has no address")))
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn of_several_addresses_the_most_telling_trouble_is_told() {
        let (ours, late, theirs) =
            (|| Trouble::ours("no network"), || Trouble::Late, || Trouble::theirs("refused"));
        let cases: [(Vec<Trouble>, Trouble); 5] = [
            (vec![ours()], ours()),
            (vec![ours(), Trouble::ours("another")], ours()),
            (vec![ours(), late()], late()),
            (vec![late(), theirs(), ours()], theirs()),
            (vec![], Trouble::ours("the name has no address")),
        ];
        for (troubles, expected) in cases {
            let anywhere: SocketAddr = "192.0.2.7:1".parse().unwrap();
            let mut next = troubles.clone().into_iter();
            let addresses = vec![anywhere; troubles.len()];
            let until = Until::after(Duration::from_secs(5));
            let told = in_turn::<()>(&addresses, until, |_, _| Err(next.next().unwrap()));
            assert_eq!(told, Err(expected), "{troubles:?}");
        }
    }

    #[test]
    fn an_address_that_swallows_everything_leaves_time_for_the_next() {
        let addresses: Vec<SocketAddr> =
            ["192.0.2.7:1", "192.0.2.8:1"].map(|it| it.parse().unwrap()).to_vec();
        let until = Until::after(Duration::from_millis(100));
        let done = in_turn(&addresses, until, |address, share| {
            if *address == addresses[0] {
                std::thread::sleep(share.left()?);
                return Err(Trouble::Late);
            }
            share.left()
        });
        assert!(done.is_ok(), "{done:?}");
    }
}
