//! Where a request came from. Whoever listens puts it into the request's extensions.

use std::net::{IpAddr, Ipv4Addr};

/// The address of the client, as the listener knows it: never taken from a header, unless a proxy that was declared wrote it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    pub address: IpAddr,
    /// Whose program it is, where that is on this machine and can be told.
    pub uid: Option<u32>,
}

impl Caller {
    pub fn at(address: IpAddr) -> Caller {
        Caller { address, uid: None }
    }
}

impl Default for Caller {
    /// Nobody said: all such requests count as one place.
    fn default() -> Caller {
        Caller::at(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }
}
