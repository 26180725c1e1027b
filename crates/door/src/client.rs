//! Who is at the other end, as far as a socket can say.

use std::net::{IpAddr, SocketAddr};

use tokio::sync::Semaphore;

use crate::sockets;

/// Looks at once for whose a program is: each reads a table of all connections, and whoever opens many makes it long.
pub const UID_LOOKS_MAX: usize = 2;

static UID_LOOKS: Semaphore = Semaphore::const_new(UID_LOOKS_MAX);

/// Put into the extensions of every request that reaches the own app or an [`Admit`](crate::Admit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    pub address: SocketAddr,
    /// Where it connected to; nothing where a proxy speaks for it.
    pub to: Option<SocketAddr>,
    /// Whether the request came encrypted; only then may a cookie be `Secure`.
    pub https: bool,
}

impl Client {
    /// Whose program it is, where that runs on this machine and can be told.
    pub async fn uid(&self) -> Option<u32> {
        let (ours, theirs) = (canonical(self.to?), canonical(self.address));
        if !theirs.ip().is_loopback() {
            return None;
        }
        let _look = UID_LOOKS.acquire().await.ok()?;
        let look = tokio::task::spawn_blocking(move || sockets::uid_of_peer(ours, theirs));
        look.await.ok()?.ok()?
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.https { "https" } else { "http" }
    }
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// What counts as one client when connections are counted: an IPv4 address, an IPv6 /64, which is what one household gets, or this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Neighbourhood(u128);

impl Neighbourhood {
    /// All of loopback, both families: whoever can bind one of its addresses can bind them all. It also stands for everybody who comes through a
    /// tunnel. No network is `::1`: those end in 64 zeros.
    pub(crate) const HERE: Neighbourhood = Neighbourhood(1);

    pub(crate) fn of(address: IpAddr) -> Neighbourhood {
        match address.to_canonical() {
            address if address.is_loopback() => Neighbourhood::HERE,
            IpAddr::V4(v4) => Neighbourhood(v4.to_ipv6_mapped().to_bits()),
            IpAddr::V6(v6) => Neighbourhood(v6.to_bits() >> 64 << 64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[tokio::test]
    async fn a_program_of_this_machine_is_its_users_and_nobody_elses_can_be_told() {
        let me = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (ours, address) = listener.accept().unwrap();
        let client = Client { address, to: ours.local_addr().ok(), https: false };
        assert_eq!(client.uid().await, Some(me));
        assert_eq!(Client { to: None, ..client }.uid().await, None, "a proxy speaks for it");
        let afar = Client { address: "192.0.2.1:1".parse().unwrap(), ..client };
        assert_eq!(afar.uid().await, None);
    }
}
