//! Where a request came from. Whoever listens puts it into the request's extensions.

use std::fmt;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::Arc;

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

    /// A program of this machine, whichever of its addresses it comes from.
    pub fn here(uid: Option<u32>) -> Caller {
        Caller { address: IpAddr::V4(Ipv4Addr::LOCALHOST), uid }
    }
}

impl Default for Caller {
    /// Nobody said: all such requests count as one place.
    fn default() -> Caller {
        Caller::at(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }
}

/// Finds out whose limits a caller has, where its address alone does not say that: as which user of this machine. Whoever listens puts one into the
/// request's extensions. Finding out may take a while, so only a limit that is about to be charged asks for it.
#[derive(Clone)]
pub struct Locator(Arc<dyn Fn() -> Finding + Send + Sync>);

type Finding = Pin<Box<dyn Future<Output = Caller> + Send>>;

impl Locator {
    pub fn new<F: Future<Output = Caller> + Send + 'static>(
        find: impl Fn() -> F + Send + Sync + 'static,
    ) -> Locator {
        Locator(Arc::new(move || Box::pin(find())))
    }

    pub(crate) async fn find(&self) -> Caller {
        self.0().await
    }
}

impl fmt::Debug for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Locator")
    }
}
