//! Who is at the other end, as far as a socket can say.

use std::net::{IpAddr, SocketAddr};

/// Put into the extensions of every request that reaches the own app or an [`Admit`](crate::Admit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    pub address: SocketAddr,
    /// Whether the request came encrypted; only then may a cookie be `Secure`.
    pub https: bool,
}

impl Client {
    pub(crate) fn scheme(&self) -> &'static str {
        if self.https { "https" } else { "http" }
    }
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
