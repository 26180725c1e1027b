//! Who is at the other end, as far as a socket can say.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;

use tokio::sync::OnceCell;

use crate::owner::owner_of;
use crate::sockets::{Opener, Pair};

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
    /// What it counts as when connections are counted.
    pub(crate) fn neighbourhood(&self) -> Neighbourhood {
        match self.is_at_our_address() {
            true => Neighbourhood::HERE,
            false => Neighbourhood::of(self.address.ip()),
        }
    }

    /// Whether it connected from the very address it connected to: nobody else has that one.
    fn is_at_our_address(&self) -> bool {
        self.to.is_some_and(|to| to.ip().to_canonical() == self.address.ip().to_canonical())
    }

    async fn find_host(&self) -> ClientHost {
        let local = ClientHost::Here { uid: None };
        let near = self.address.ip().to_canonical().is_loopback() || self.is_at_our_address();
        let Some(to) = self.to else { return if near { local } else { ClientHost::Elsewhere } };
        if !near && !is_ours(self.address) {
            return ClientHost::Elsewhere;
        }
        let pair = Pair { ours: canonical(to), theirs: canonical(self.address), opened_by: Opener::Them };
        match owner_of(pair).await {
            Ok(Some(uid)) => ClientHost::Here { uid: Some(uid) },
            _ if near => local,
            _ => ClientHost::Elsewhere,
        }
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.https { "https" } else { "http" }
    }
}

/// Where a client's program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientHost {
    Elsewhere,
    /// On this machine, as the user with this number where that can be told.
    Here {
        uid: Option<u32>,
    },
}

/// Finds out where the client of a connection runs. Put into the extensions of every request that reaches the own app.
///
/// It may have to read a table of the system and takes up to some tenths of a second, so ask only where the answer is needed. The answer is kept for the connection.
#[derive(Clone, Debug)]
pub struct ClientFinder {
    client: Client,
    found: Arc<OnceCell<ClientHost>>,
}

impl ClientFinder {
    pub(crate) fn of(client: Client) -> ClientFinder {
        ClientFinder { client, found: Arc::default() }
    }

    pub async fn find(&self) -> ClientHost {
        *self.found.get_or_init(|| self.client.find_host()).await
    }
}

/// Whether an address is one of this machine's: only such can be bound. Where the system lets programs bind any, all are, and the tables decide.
fn is_ours(mut address: SocketAddr) -> bool {
    address.set_port(0);
    UdpSocket::bind(address).is_ok()
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

    /// An address of this machine that is not loopback, where it has one. Nothing is sent.
    fn own_address() -> Option<IpAddr> {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.connect("192.0.2.77:9").ok()?;
        Some(socket.local_addr().ok()?.ip())
    }

    #[tokio::test]
    async fn a_program_of_this_machine_is_its_users_by_whichever_address_it_comes() {
        let me = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap());
        let mine = ClientHost::Here { uid: Some(me) };
        let somebodys = ClientHost::Here { uid: None };
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        for to in own_address().into_iter().chain(["127.0.0.1".parse().unwrap()]) {
            let _theirs = TcpStream::connect((to, port)).unwrap();
            let (ours, address) = listener.accept().unwrap();
            let client = Client { address, to: ours.local_addr().ok(), https: false };
            assert_eq!(ClientFinder::of(client).find().await, mine, "{to}");
            assert_eq!(client.neighbourhood(), Neighbourhood::HERE, "{to}");
            let gone = Client { address: SocketAddr::new(to, 1), ..client };
            assert_eq!(ClientFinder::of(gone).find().await, somebodys, "{to}: not in the tables");
            // From another address of this machine.
            let beside = Client { to: Some(SocketAddr::new("127.9.9.9".parse().unwrap(), port)), ..client };
            assert_eq!(beside.address.ip().is_loopback(), beside.neighbourhood() == Neighbourhood::HERE);
            let afar = Client { address: "198.51.100.1:1".parse().unwrap(), ..client };
            assert_eq!(ClientFinder::of(afar).find().await, ClientHost::Elsewhere);
        }
        let proxied = Client { address: "127.0.0.1:0".parse().unwrap(), to: None, https: true };
        assert_eq!(ClientFinder::of(proxied).find().await, somebodys, "a proxy speaks for it");
    }

    #[tokio::test]
    async fn a_program_that_comes_from_another_address_of_this_machine_is_found_too() {
        let me = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap());
        let Some(own) = own_address() else { return };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let theirs = tokio::net::TcpSocket::new_v4().unwrap();
        theirs.bind(SocketAddr::new(own, 0)).unwrap();
        let _theirs = theirs.connect(listener.local_addr().unwrap()).await.unwrap();
        let (ours, address) = listener.accept().unwrap();
        assert_eq!(address.ip(), own);
        let client = Client { address, to: ours.local_addr().ok(), https: false };
        assert_eq!(ClientFinder::of(client).find().await, ClientHost::Here { uid: Some(me) });
    }
}
