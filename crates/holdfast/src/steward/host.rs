//! What a steward works on: a modelled host, a real one over SSH, or one that is only looked at.

use std::path::Path;
use std::time::{Duration, Instant};

use holdfast_config as config;
use holdfast_doorman::wire::Role;
use holdfast_lifeline::{EpisodeId, Identity, Steady};
use holdfast_steward::effect::{Answer, Fault, TargetState, Verb};
use holdfast_steward_host::{Driver, SystemdHost, Way};

use super::leased::{Leased, Left};
use super::model::Model;
use super::settings::{Place, Real};
use crate::places::Places;

/// How long what was kept once stays on a target after something else is kept there.
pub(super) const GENERATIONS_FOR: Duration = Duration::from_secs(14 * 86_400);

#[derive(Debug)]
pub(super) enum Host {
    Modelled(Model),
    Systemd(Box<SystemdHost>, Leased),
    /// Nothing is ever asked of it that would change it.
    Watched(config::Driver),
}

impl Host {
    pub(super) fn of_a_real_one(place: &Place, real: &Real, places: &Places) -> Host {
        match real.driver {
            config::Driver::Systemd => {
                Host::Systemd(Box::new(SystemdHost::new(way(place, real, places))), Leased::default())
            }
            other => Host::Watched(other),
        }
    }

    /// What is truly in force there.
    pub(super) fn running(&mut self) -> Result<Identity, String> {
        match self {
            Host::Modelled(model) => Ok(model.running()),
            Host::Systemd(host, _) => {
                is_ready(host.way(), Role::Act)?;
                host.state(false, None, None).map(|state| state.running).map_err(|fault| {
                    host.trouble().map_or_else(
                        || format!("it did not say what runs there: {fault:?}"),
                        ToString::to_string,
                    )
                })
            }
            // Nothing of ours is on it, and nothing will be.
            Host::Watched(_) => Ok(holdfast_doorman::layer::Layer::default().identity()),
        }
    }

    /// Removes what nobody goes back to any more; how much that was. On what is only looked at there is nothing of ours.
    pub(super) fn tidy(&mut self) -> Result<Option<usize>, Fault> {
        match self {
            Host::Systemd(host, _) => host.tidy(GENERATIONS_FOR).map(Some),
            Host::Modelled(model) => model.tidy(GENERATIONS_FOR).map(Some),
            Host::Watched(_) => Ok(None),
        }
    }

    /// What is left of the lease on it, where that is known here.
    pub(super) fn lease(&self, now: Steady) -> Option<Left> {
        match self {
            Host::Modelled(model) => {
                model.lease().map(|lease| Left { left: lease.expires.since(now), whole: lease.lasts })
            }
            Host::Systemd(_, leased) => leased.left(Instant::now()),
            Host::Watched(_) => None,
        }
    }

    fn driver(&mut self) -> Option<&mut dyn Driver> {
        match self {
            Host::Modelled(model) => Some(model),
            Host::Systemd(host, _) => Some(host.as_mut()),
            Host::Watched(_) => None,
        }
    }
}

/// How a real host is reached. Its keys and its pinned host key lie in a folder of the state directory; shared connections are
/// sockets, whose paths must be short.
pub(super) fn way(place: &Place, real: &Real, places: &Places) -> Way {
    way_to(place.name.as_str(), &real.reach, places)
}

/// The same by name, also for a host that no configuration has yet.
pub(crate) fn way_to(name: &str, reach: &config::Reach, places: &Places) -> Way {
    let keys = places.state.join("steward").join(name);
    let short: String = blake3::hash(name.as_bytes()).to_hex().chars().take(8).collect();
    let config::Reach { address, port, observer, actor } = reach;
    Way {
        address: address.clone(),
        port: u16::try_from(*port).unwrap_or(22),
        alias: name.to_owned(),
        known_hosts: keys.join("known_hosts"),
        sockets: places.run.join("ssh").join(short),
        keys,
        observer: observer.clone(),
        actor: actor.clone(),
    }
}

/// Whether everything is there that reaching it takes; ssh would say the same less clearly.
pub(super) fn is_ready(way: &Way, role: Role) -> Result<(), String> {
    let missing = |what: &str, path: &Path| {
        format!("{} has no {what} at {}: `holdfast target add` makes it", way.alias, path.display())
    };
    let key = way.keys.join(role.as_str());
    if !way.known_hosts.is_file() {
        return Err(missing("pinned host key", &way.known_hosts));
    }
    if !key.is_file() {
        return Err(missing(&format!("key `{role}`"), &key));
    }
    holdfast_durable::create_dir(&way.sockets).map_err(|e| e.to_string())
}

impl Driver for Host {
    fn kind(&self) -> &'static str {
        match self {
            Host::Modelled(model) => model.kind(),
            Host::Systemd(host, _) => host.kind(),
            Host::Watched(driver) => driver.word(),
        }
    }

    fn call(&mut self, verb: &Verb) -> Result<Answer, Fault> {
        let asked = Instant::now();
        let answer = self.driver().map_or(Err(Fault::Unreachable), |driver| driver.call(verb));
        if let (Host::Systemd(_, leased), Ok(_)) = (self, &answer) {
            leased.done(verb, asked);
        }
        answer
    }

    fn state(
        &mut self,
        full: bool,
        renew: Option<&EpisodeId>,
        about: Option<&EpisodeId>,
    ) -> Result<TargetState, Fault> {
        let asked = Instant::now();
        let seen = self.driver().map_or(Err(Fault::Unreachable), |driver| driver.state(full, renew, about));
        if let (Host::Systemd(_, leased), Ok(seen)) = (self, &seen) {
            leased.seen(seen.leased, renew.is_some(), asked);
        }
        seen
    }

    fn is_heard(&mut self, within: Duration) -> Result<(), Fault> {
        self.driver().map_or(Err(Fault::Unreachable), |driver| driver.is_heard(within))
    }

    fn generations(&self) -> Vec<Identity> {
        match self {
            Host::Modelled(model) => model.generations(),
            Host::Systemd(host, _) => host.generations(),
            Host::Watched(_) => Vec::new(),
        }
    }

    fn collect_garbage(&mut self, keep: usize) -> Result<usize, Fault> {
        self.driver().map_or(Err(Fault::Unreachable), |driver| driver.collect_garbage(keep))
    }

    fn reboot(&mut self, reset: bool) -> Result<(), Fault> {
        self.driver().map_or(Err(Fault::Unreachable), |driver| driver.reboot(reset))
    }
}
