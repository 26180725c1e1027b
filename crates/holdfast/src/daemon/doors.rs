//! Where others than commands can ask or tell something: the addresses that are listened on.
//!
//! A browser that is told `localhost` tries `::1` and `127.0.0.1`, in either order. Whoever has the other one of the two owns that name too, and any
//! user of this machine may listen on a port that is free. So a door at either loopback holds both, and a start that cannot is refused with the name
//! of whoever holds it. A machine without IPv6 has one, and the status says so.
//!
//! While the daemon is down nobody holds anything, unless somebody does it in its place: `inherited.rs` takes what the service manager holds.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use holdfast_config::Config;
use holdfast_control::Listening;
use holdfast_door::sockets;
use rustix::io::Errno;
use tracing::{info, warn};

use super::inherited::Inherited;
use crate::owner::user_named;
use crate::problem::{CliError, Result};

/// How often another port is tried where any would do and the other loopback's is taken.
const PORTS_TRIED_MAX: usize = 16;
/// Connections that wait to be accepted: a burst of a browser's, and of a flood's that is let go one after another.
const BACKLOG: i32 = 1_024;

/// One door: every address at which it is listened, the one that was asked for first.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) name: &'static str,
    pub(crate) listeners: Vec<TcpListener>,
    /// An address that ought to be held too and is not there.
    pub(crate) without: Option<SocketAddr>,
}

#[derive(Debug)]
pub(crate) struct Doors {
    pub(crate) health: Bound,
    pub(crate) verdicts: Option<Bound>,
    pub(crate) gateway: Option<Bound>,
    /// What the service manager holds and no setting wants.
    pub(crate) idle: Vec<TcpListener>,
}

impl Doors {
    pub(crate) fn open(config: &Config, inherited: &mut Inherited) -> Result<Doors> {
        let health = Bound::at("health", config.health.listen, Also::Loopback, inherited)?;
        let verdicts = config.approvals.webhook.listen;
        let verdicts =
            verdicts.map(|listen| Bound::at("verdicts", listen, Also::Loopback, inherited)).transpose()?;
        let gateway = &config.gateway;
        // Whatever it listens on: people are told to go to `localhost`.
        let also = if gateway.address.is_none() { Also::Localhost } else { Also::Loopback };
        let gateway =
            gateway.enabled.then(|| Bound::at("gateway", gateway.listen, also, inherited)).transpose()?;
        let doors = Doors { health, verdicts, gateway, idle: Vec::new() };
        doors.compare_with_the_unit(inherited)?;
        Ok(Doors { idle: inherited.rest(), ..doors })
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Bound> {
        [Some(&self.health), self.verdicts.as_ref(), self.gateway.as_ref()].into_iter().flatten()
    }

    /// For the status.
    pub(crate) fn listening(&self) -> Result<Vec<Listening>> {
        let one = |bound: &Bound| {
            Ok(Listening {
                door: bound.name.to_owned(),
                addresses: bound.addresses()?.iter().map(ToString::to_string).collect(),
                without: bound.without.map(|address| address.to_string()),
            })
        };
        self.all().map(one).collect()
    }

    /// Says what the daemon listens on and the service manager does not hold for it.
    fn compare_with_the_unit(&self, inherited: &Inherited) -> Result<()> {
        if !inherited.is_used() {
            return Ok(());
        }
        let mut wanted = Vec::new();
        for bound in self.all() {
            wanted.extend(bound.addresses()?);
        }
        let own: Vec<String> =
            wanted.iter().filter(|it| !inherited.had(**it)).map(ToString::to_string).collect();
        if !own.is_empty() {
            warn!(
                addresses = own.join(", "),
                "holdfast.socket does not hold every address of the settings: somebody else may listen there while the daemon is down. \
                 Write `ListenStream=` and then `ListenStream=ADDRESS` for each of them into \
                 /etc/systemd/system/holdfast.socket.d/listen.conf, below [Socket], as docs/gateway.md shows"
            );
        }
        Ok(())
    }
}

/// Which addresses are held beside the one that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Also {
    /// The other loopback, where it is one of the two that `localhost` is, or both of its family.
    Loopback,
    /// Both loopbacks in any case.
    Localhost,
}

impl Bound {
    fn at(name: &'static str, address: SocketAddr, also: Also, inherited: &mut Inherited) -> Result<Bound> {
        let mut tried = 0;
        loop {
            tried += 1;
            match Bound::try_at(name, address, also, inherited) {
                // Any port would do, and this one is taken at the other address.
                Err(CliError::Listen { address: taken, source, .. })
                    if address.port() == 0
                        && taken.port() != 0
                        && source.kind() == io::ErrorKind::AddrInUse
                        && tried < PORTS_TRIED_MAX => {}
                other => return Ok(other?),
            }
        }
    }

    fn try_at(
        name: &'static str,
        address: SocketAddr,
        also: Also,
        inherited: &mut Inherited,
    ) -> Result<Bound, CliError> {
        let first = listen(address, inherited)?;
        let port = local(&first)?.port();
        let mut bound = Bound { name, listeners: vec![first], without: None };
        for ip in beside(address.ip(), also) {
            let beside = SocketAddr::new(ip, port);
            match listen(beside, inherited) {
                Ok(listener) => bound.listeners.push(listener),
                Err(CliError::Listen { source, .. }) if is_missing(&source) => {
                    info!(
                        door = name,
                        address = %beside,
                        "this machine does not have that address: the door is at the other loopback alone"
                    );
                    bound.without = Some(beside);
                }
                Err(e) => return Err(e),
            }
        }
        Ok(bound)
    }

    /// Where it is in fact: a port of 0 is any.
    pub(crate) fn addresses(&self) -> Result<Vec<SocketAddr>> {
        Ok(self.listeners.iter().map(local).collect::<Result<_, _>>()?)
    }

    pub(crate) fn address(&self) -> Result<SocketAddr> {
        let first = self.listeners.first().map(local).transpose()?;
        first.ok_or_else(|| CliError::Start { what: "a door", source: io::ErrorKind::NotFound.into() }.into())
    }
}

const LOOPBACKS: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// The loopbacks that are held beside an address. Other addresses of 127.0.0.0/8 are nobody's `localhost`. What listens everywhere has both already,
/// but for IPv4's everywhere, beside which `::1` is free.
fn beside(ip: IpAddr, also: Also) -> Vec<IpAddr> {
    let wanted = |other: &IpAddr| match ip {
        _ if *other == ip => false,
        _ if LOOPBACKS.contains(&ip) => true,
        IpAddr::V4(v4) if v4.is_unspecified() => other.is_ipv6(),
        IpAddr::V6(v6) if v6.is_unspecified() => false,
        _ => also == Also::Localhost,
    };
    LOOPBACKS.into_iter().filter(wanted).collect()
}

/// The machine has no such address, as without IPv6.
fn is_missing(e: &io::Error) -> bool {
    e.kind() == io::ErrorKind::AddrNotAvailable
        || Errno::from_io_error(e).is_some_and(|e| e == Errno::AFNOSUPPORT)
}

fn local(listener: &TcpListener) -> Result<SocketAddr, CliError> {
    listener.local_addr().map_err(|source| CliError::Start { what: "a door", source })
}

fn listen(address: SocketAddr, inherited: &mut Inherited) -> Result<TcpListener, CliError> {
    let listener = match inherited.take(address) {
        Some(listener) => Ok(listener),
        None => TcpListener::bind(address),
    };
    let ready = listener.and_then(|listener| {
        rustix::net::listen(&listener, BACKLOG)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    ready.map_err(|source| CliError::Listen { address, held_by: held_by(address, &source), source })
}

/// Who stands in the way, in words.
fn held_by(address: SocketAddr, e: &io::Error) -> String {
    if e.kind() != io::ErrorKind::AddrInUse {
        return String::new();
    }
    let holders = sockets::holders(address).unwrap_or_default();
    if holders.is_empty() {
        return "; a socket that does not listen yet holds it, and the system does not say whose".to_owned();
    }
    let one = |holder: &sockets::Holder| {
        let name = user_named(holder.uid).map(|name| format!(" ({name})")).unwrap_or_default();
        format!("{} is held by uid {}{name}", holder.address, holder.uid)
    };
    format!("; {}", holders.iter().map(one).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_at_either_loopback_holds_both_and_others_hold_what_they_are() {
        let check = |ip: &str, also: Also, expected: &[&str]| {
            let found: Vec<String> =
                beside(ip.parse().unwrap(), also).iter().map(ToString::to_string).collect();
            assert_eq!(found, expected, "{ip} {also:?}");
        };
        check("127.0.0.1", Also::Loopback, &["::1"]);
        check("::1", Also::Loopback, &["127.0.0.1"]);
        check("127.0.0.2", Also::Loopback, &[]);
        check("127.0.0.2", Also::Localhost, &["127.0.0.1", "::1"]);
        check("0.0.0.0", Also::Loopback, &["::1"]);
        check("::", Also::Localhost, &[]);
        check("192.0.2.1", Also::Loopback, &[]);
    }

    #[test]
    fn a_port_that_is_held_is_refused_with_the_name_of_whoever_holds_it() {
        let me = rustix::process::geteuid().as_raw();
        for (held, wanted) in [("127.0.0.1", "127.0.0.1"), ("[::1]", "127.0.0.1"), ("[::]", "127.0.0.1")] {
            let Ok(squatter) = TcpListener::bind(format!("{held}:0")) else { continue };
            let port = squatter.local_addr().unwrap().port();
            let wanted: SocketAddr = format!("{wanted}:{port}").parse().unwrap();
            let refused = Bound::at("x", wanted, Also::Loopback, &mut Inherited::none());
            let crate::problem::Failure::Problem(problem) = refused.unwrap_err() else { panic!() };
            assert!(problem.what.contains(&format!("is held by uid {me}")), "{held}: {}", problem.what);
        }
    }
}
