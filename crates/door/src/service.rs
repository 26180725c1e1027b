//! A local service behind the door, and the question who may pass to it.

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;

use http::request::Parts;
use http::{HeaderValue, StatusCode};
use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};
use crate::host::HostName;
use crate::identity::IdentityKey;

/// A request's body, unless the service's setting says otherwise: ordinary uploads, not disk images.
const BODY_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A service with an origin of its own.
#[derive(Clone, Debug)]
pub struct Service {
    name: String,
    host: HostName,
    to: To,
    key: IdentityKey,
    /// The least role that may pass; means nothing here, and is for the [`Admit`] to read.
    pub least: String,
    pub body_bytes_max: u64,
    pub run_by: RunBy,
}

/// Whose program a service is. While it is down anybody on this machine may listen at its port: who answers there is asked what they are, not only
/// where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunBy {
    own: u32,
    declared: Option<u32>,
}

impl RunBy {
    /// `own` is the uid of this process. Root may answer in any case, who can do all of it anyway.
    pub fn new(own: u32, declared: Option<u32>) -> RunBy {
        RunBy { own, declared }
    }

    /// The uid that stands for all that cannot be told apart here is nobody's word for who they are.
    pub(crate) fn may_answer(self, uid: u32) -> bool {
        uid != OVERFLOW && [Some(0), Some(self.own), self.declared].contains(&Some(uid))
    }
}

/// What the kernel says of a uid that this process's user namespace does not have; also the user `nobody`.
const OVERFLOW: u32 = 65_534;

/// Where a service listens: never beyond this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Service {
    pub fn new(
        name: &str,
        host: HostName,
        to: To,
        run_by: RunBy,
        least: &str,
        key: IdentityKey,
    ) -> Result<Service> {
        let fits = (1..=32).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        let reachable = match &to {
            To::Tcp(address) if !address.ip().is_loopback() => {
                return Err(Error::ServiceBeyondLoopback { name: name.to_owned(), address: *address });
            }
            To::Tcp(address) => address.port() != 0,
            To::Unix(path) => path.is_absolute(),
        };
        if !fits || !reachable {
            return Err(Error::BadService { name: name.chars().take(40).collect() });
        }
        Ok(Service {
            name: name.to_owned(),
            host,
            to,
            key,
            least: least.to_owned(),
            body_bytes_max: BODY_BYTES_MAX,
            run_by,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn host(&self) -> &HostName {
        &self.host
    }

    pub fn to(&self) -> &To {
        &self.to
    }

    pub(crate) fn key(&self) -> &IdentityKey {
        &self.key
    }
}

/// Whether a request may go on to a service.
#[derive(Clone, Debug)]
pub enum Verdict {
    Pass(Pass),
    /// To this address, to sign in first. Only a page is sent there: an upgrade or anything that is not a read gets 401.
    GoTo(String),
    /// To this address, with a cookie for the service's origin: how somebody leaves to sign in, and how they come back. Whatever the cookie is
    /// called, it has one of our names and never reaches the service.
    Enter {
        to: String,
        cookie: HeaderValue,
    },
    Refuse(StatusCode),
}

#[derive(Clone, Debug)]
pub struct Pass {
    /// Who it is, as the service is told.
    pub person: String,
    /// Cancelled when the session ends; what still flows for it ends then.
    pub ended: CancellationToken,
}

pub type Admitting<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// Says who may pass. The parts carry a [`Client`](crate::Client) in their extensions and every header the client sent.
pub trait Admit: Send + Sync + fmt::Debug + 'static {
    fn admit<'a>(&'a self, service: &'a Service, parts: &'a Parts) -> Admitting<'a>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_answered_for_by_root_this_process_and_whom_it_names() {
        let may = |declared, uid| RunBy::new(992, declared).may_answer(uid);
        assert!(may(None, 0) && may(None, 992) && may(Some(113), 113));
        assert!(!may(None, 1000) && !may(Some(113), 1000));
        assert!(!may(Some(OVERFLOW), OVERFLOW), "that is everybody who is not known here");
    }

    #[test]
    fn a_service_is_on_this_machine_and_has_a_plain_name() {
        let made = |name: &str, to: To| {
            let key = IdentityKey::from_bytes([0; 32]);
            Service::new(name, "a.example".parse().unwrap(), to, RunBy::new(0, None), "viewer", key)
        };
        assert!(made("grafana-2", To::Tcp("127.0.0.1:3000".parse().unwrap())).is_ok());
        assert!(made("app", To::Unix("/run/app.sock".into())).is_ok());
        for (name, to) in [
            ("Grafana", To::Tcp("127.0.0.1:3000".parse().unwrap())),
            ("", To::Tcp("127.0.0.1:3000".parse().unwrap())),
            ("a", To::Tcp("127.0.0.1:0".parse().unwrap())),
            ("a", To::Tcp("192.0.2.1:80".parse().unwrap())),
            ("a", To::Unix("app.sock".into())),
        ] {
            assert!(made(name, to.clone()).is_err(), "{name} {to:?}");
        }
    }
}
