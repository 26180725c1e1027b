//! Where a request came from. Whoever listens puts it into the request's extensions.

use std::net::{IpAddr, Ipv4Addr};

/// The address of the client, as the listener knows it: never taken from a header, unless a proxy that was declared wrote it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    pub address: IpAddr,
}

impl Default for Caller {
    /// Nobody said: all such requests count as one place.
    fn default() -> Caller {
        Caller { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED) }
    }
}
