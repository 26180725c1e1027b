//! The list: which of the two users may reach what, and which setting wants it. A pure function of the configuration and of what the
//! tripwire is told; nothing else adds to it.

use std::collections::{BTreeMap, BTreeSet};

use holdfast_config::{Config, Driver, Outlet, OutletProtocol, OutletUser, StewardTarget};
use holdfast_probe::Check;
use holdfast_tripwire::provider::Provider;
use holdfast_tripwire::settings::{Route, Settings, Target};
use serde::Serialize;

use crate::destination::{Destination, Host, Protocol};

/// More than any estate names; beyond it the filter's sets would be a burden.
pub(crate) const DESTINATIONS_MAX: usize = 16_384;

/// Whose packets the rules are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Who {
    Daemon,
    Tripwire,
}

impl Who {
    pub const ALL: [Who; 2] = [Who::Daemon, Who::Tripwire];

    /// The user's name on the machine.
    pub fn user(self) -> &'static str {
        match self {
            Who::Daemon => "holdfast",
            Who::Tripwire => "holdfast-tripwire",
        }
    }

    /// What its chain and sets are called in the filter.
    pub fn word(self) -> &'static str {
        match self {
            Who::Daemon => "daemon",
            Who::Tripwire => "tripwire",
        }
    }
}

/// Something that may want to go out and of which the settings do not say where to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    pub who: Who,
    /// The setting.
    pub setting: String,
    /// Why its destination is not known.
    pub why: &'static str,
}

/// What one user may reach, with the settings that want it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reachable {
    pub destinations: BTreeMap<Destination, BTreeSet<String>>,
    /// Ports on which others may call it.
    pub serves: BTreeSet<u16>,
}

/// The whole list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub daemon: Reachable,
    pub tripwire: Reachable,
    pub gaps: Vec<Gap>,
}

/// The tripwire's settings, and where its webhook is: that lies in a file of its own.
#[derive(Debug)]
pub struct Told {
    pub settings: Settings,
    /// The host and port of the webhook; the rest of its address is a secret.
    pub webhook: Option<Destination>,
}

const SECRET: &str =
    "its address is a secret; name host and port under `egress.also`, with this setting as `for`";
const PROGRAM: &str =
    "a program may go anywhere; name what it has to reach under `egress.also`, with this setting as `for`";
const NO_HOST: &str = "this is neither a host's name nor an address";

impl Wanted {
    pub fn of(config: &Config, tripwire: Option<&Told>) -> Wanted {
        let mut list = Wanted::default();
        for target in &config.steward.targets {
            list.target(target);
        }
        list.listening(config);
        list.secrets(config);
        if let Some(told) = tripwire {
            list.told(told);
        }
        for outlet in &config.egress.also {
            list.outlet(outlet);
        }
        // What is named under `also` for a setting is known now.
        let named = |gap: &Gap| {
            config.egress.also.iter().any(|it| who(it.user) == gap.who && it.reason == gap.setting)
        };
        list.gaps.retain(|gap| gap.why == NO_HOST || !named(gap));
        list
    }

    pub fn reachable(&self, who: Who) -> &Reachable {
        match who {
            Who::Daemon => &self.daemon,
            Who::Tripwire => &self.tripwire,
        }
    }

    /// Every name that has to be looked up.
    pub fn names(&self) -> BTreeSet<&str> {
        let all = Who::ALL.into_iter().flat_map(|who| self.reachable(who).destinations.keys());
        all.filter_map(|it| match &it.host {
            Host::Name(name) => Some(name.as_str()),
            Host::Ip(_) => None,
        })
        .collect()
    }

    fn add(&mut self, who: Who, destination: Destination, setting: impl Into<String>) {
        let reachable = match who {
            Who::Daemon => &mut self.daemon,
            Who::Tripwire => &mut self.tripwire,
        };
        if reachable.destinations.len() < DESTINATIONS_MAX
            || reachable.destinations.contains_key(&destination)
        {
            reachable.destinations.entry(destination).or_default().insert(setting.into());
        }
    }

    fn gap(&mut self, who: Who, setting: impl Into<String>, why: &'static str) {
        self.gaps.push(Gap { who, setting: setting.into(), why });
    }

    /// A place as a setting writes it: what is none is said.
    fn place(&mut self, who: Who, host: &str, protocol: Protocol, port: u16, setting: String) {
        match Host::read(host) {
            Some(host) => self.add(who, Destination { host, protocol, port }, setting),
            None => self.gap(who, setting, NO_HOST),
        }
    }

    fn target(&mut self, target: &StewardTarget) {
        let name = &target.name;
        if matches!(target.driver, Driver::Systemd | Driver::Agentless) {
            let port = u16::try_from(target.reach.port).unwrap_or(22);
            let setting = format!("steward.targets {name} address");
            self.place(Who::Daemon, &target.reach.address, Protocol::Tcp, port, setting);
        }
        if let Some(endpoint) = &target.endpoint {
            let setting = format!("steward.targets {name} endpoint");
            match place_of(endpoint) {
                Some((host, port)) => self.place(Who::Daemon, &host, Protocol::Tcp, port, setting),
                None => self.gap(Who::Daemon, setting, NO_HOST),
            }
        }
    }

    /// Whoever calls the health page from another machine gets an answer.
    fn listening(&mut self, config: &Config) {
        if !config.health.listen.ip().is_loopback() && config.health.allow_remote {
            self.daemon.serves.insert(config.health.listen.port());
        }
    }

    fn secrets(&mut self, config: &Config) {
        let notifications = &config.notifications;
        if notifications.webhook.url.is_some() {
            self.gap(Who::Daemon, "notifications.webhook.url", SECRET);
        }
        if notifications.alive.url.is_some() {
            self.gap(Who::Daemon, "notifications.alive.url", SECRET);
        }
    }

    fn told(&mut self, told: &Told) {
        if told.settings.webhook.is_some() {
            match &told.webhook {
                Some(webhook) => self.add(Who::Tripwire, webhook.clone(), "tripwire webhook"),
                None => self.gap(Who::Tripwire, "tripwire webhook", SECRET),
            }
        }
        for target in &told.settings.targets {
            self.guarded(target);
        }
    }

    fn guarded(&mut self, target: &Target) {
        let name = &target.name;
        let mut route = |route: &Route, which: &str| {
            let setting = format!("tripwire {name} {which}");
            self.place(Who::Tripwire, &route.address, Protocol::Tcp, route.port, setting);
        };
        route(&target.first, "first route");
        if let Some(second) = &target.second {
            route(second, "second route");
        }
        if let Some(provider) = &target.provider {
            self.provider(provider, &format!("tripwire {name} provider"));
        }
        let checks = target.probes.iter().map(|check| (check, "probe"));
        for (check, which) in checks.chain(target.references.iter().map(|check| (check, "reference"))) {
            self.check(check, format!("tripwire {name} {which}"));
        }
    }

    fn provider(&mut self, provider: &Provider, setting: &str) {
        match provider {
            Provider::Command { .. } => self.gap(Who::Tripwire, setting, PROGRAM),
            Provider::Hetzner { .. } | Provider::Http(_) => {
                for address in provider.addresses() {
                    self.written(&address, Protocol::Tcp, setting.to_owned());
                }
            }
        }
    }

    fn check(&mut self, check: &Check, setting: String) {
        match check {
            Check::Tcp { address } | Check::Tls { address, .. } | Check::Ssh { address } => {
                self.written(&address.to_string(), Protocol::Tcp, setting);
            }
            Check::Http { url, .. } | Check::Gatus { url, .. } => {
                self.written(&url.address().to_string(), Protocol::Tcp, setting);
            }
            Check::Icmp { host } => {
                self.place(Who::Tripwire, &host.to_string(), Protocol::Icmp, 0, setting);
            }
            // It asks a service of this machine, which goes out by itself.
            Check::Tailscale { .. } => {}
        }
    }

    /// `host:port`, as a checked setting writes itself.
    fn written(&mut self, address: &str, protocol: Protocol, setting: String) {
        match place_of(address) {
            Some((host, port)) => self.place(Who::Tripwire, &host, protocol, port, setting),
            None => self.gap(Who::Tripwire, setting, NO_HOST),
        }
    }

    fn outlet(&mut self, outlet: &Outlet) {
        let protocol = match outlet.protocol {
            OutletProtocol::Tcp => Protocol::Tcp,
            OutletProtocol::Udp => Protocol::Udp,
            OutletProtocol::Icmp => Protocol::Icmp,
        };
        let setting = format!("egress.also, for {}", outlet.reason);
        self.place(who(outlet.user), &outlet.host, protocol, outlet.port, setting);
    }
}

fn who(user: OutletUser) -> Who {
    match user {
        OutletUser::Daemon => Who::Daemon,
        OutletUser::Tripwire => Who::Tripwire,
    }
}

/// The host and port of `host:port` or of a page.
pub(crate) fn place_of(text: &str) -> Option<(String, u16)> {
    let (rest, usual) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
        (Some(rest), _) => (rest, Some(443)),
        (_, Some(rest)) => (rest, Some(80)),
        _ => (text, None),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let port = match port {
        Some(digits) => digits.parse().ok().filter(|port| *port != 0),
        None => usual,
    };
    Some((host.to_owned(), port?))
}
