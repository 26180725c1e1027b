//! What is seen of a real host: what its doorman says of the inside, and how its service answers from outside.

use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::time::{Duration, Instant};

use holdfast_doorman::wire::{Ask, Collected, Reply, Role};
use holdfast_lifeline::Now;
use holdfast_steward::effect::Probe;
use holdfast_steward::invariant::Health;
use holdfast_steward::setting::UnitName;
use holdfast_steward::watch::Sighting;
use holdfast_steward_host::{Follow, Way};

use super::eyes::{Outdoors, PROBE_WITHIN};
use super::host::way;
use super::settings::{Place, Real, endpoint_name};

/// A collection has to be there before the next one is due, whatever hangs.
const COLLECT_WITHIN: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct RealEyes {
    units: Vec<UnitName>,
    way: Way,
    endpoint: Option<String>,
    follow: Follow,
    cursor: Option<String>,
    trouble: Option<String>,
}

impl RealEyes {
    pub(super) fn of(place: &Place, real: &Real, state: &Path) -> RealEyes {
        RealEyes {
            units: place.units().to_vec(),
            way: way(place, real, state),
            endpoint: real.endpoint.clone(),
            follow: Follow::default(),
            cursor: None,
            trouble: None,
        }
    }

    pub(super) fn collect(&mut self, now: Now) -> Option<Sighting> {
        match self.ask() {
            Ok(collected) => {
                self.trouble = None;
                self.cursor.clone_from(&collected.cursor);
                let latency = self.endpoint.as_deref().and_then(answers_in);
                let latency = latency.map(|took| took.as_secs_f64() * 1000.0);
                Some(self.follow.next(now.steady, collected, &self.units, latency))
            }
            Err(why) => {
                self.trouble = Some(why);
                None
            }
        }
    }

    fn ask(&self) -> Result<Collected, String> {
        let ask = Ask::Collect { cursor: self.cursor.clone() };
        match self.way.ask(Role::Observe, &ask, COLLECT_WITHIN).map_err(|e| e.to_string())? {
            Reply::Collected(collected) => Ok(*collected),
            Reply::Broken { why } | Reply::NotAdmitted { why } => Err(format!("its doorman says: {why}")),
            _ => Err("its doorman answered something else than was asked".to_owned()),
        }
    }

    pub(super) fn look(&mut self, now: Now, _ssh: Probe) -> Outdoors {
        let health = |endpoint: &str| Health { healthy: answers_in(endpoint).is_some(), at: now.steady };
        let endpoint = self.endpoint.as_deref();
        Outdoors {
            endpoints: endpoint.map(|it| (endpoint_name(it), Some(health(it)))).into_iter().collect(),
            references: true,
            // Nobody guards a real host yet from beside this process, so nothing is tried on one.
            heartbeat: None,
            rehearsed: Vec::new(),
        }
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble.clone()
    }
}

/// How long an endpoint takes to accept a connection; nothing when it does not in time. On a thread of its own, because nobody
/// limits how long a name takes to look up.
fn answers_in(endpoint: &str) -> Option<Duration> {
    let (tell, told) = std::sync::mpsc::channel();
    let endpoint = endpoint.to_owned();
    std::thread::spawn(move || {
        let _nobody_waits_any_more = tell.send(connects_in(&endpoint));
    });
    told.recv_timeout(PROBE_WITHIN).ok().flatten()
}

fn connects_in(endpoint: &str) -> Option<Duration> {
    let addresses: Vec<_> = endpoint.to_socket_addrs().ok()?.take(4).collect();
    let began = Instant::now();
    let left = || PROBE_WITHIN.checked_sub(began.elapsed()).filter(|left| !left.is_zero());
    addresses
        .iter()
        .find_map(|address| TcpStream::connect_timeout(address, left()?).ok())
        .map(|_| began.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_answers_or_it_does_not() {
        let open = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = open.local_addr().unwrap().to_string();
        assert!(answers_in(&address).is_some());
        drop(open);
        assert_eq!(answers_in(&address), None);
    }
}
