//! The list: which of the two users may reach what, and which setting wants it. A pure function of the configuration and of what the
//! tripwire is told; nothing else adds to it but what root lends for a while.

use std::collections::{BTreeMap, BTreeSet};

use holdfast_config::{
    CertificateFrom, Channel, Config, Driver, Forge, Notifications, Outlet, OutletProtocol, OutletUser,
    RemoteUrl, StewardTarget,
};
use holdfast_probe::Check;
use holdfast_tripwire::provider::Provider;
use holdfast_tripwire::settings::{Route, Settings, Target};
use serde::Serialize;

use crate::destination::{Destination, Host, Protocol};
use crate::lent::Loan;

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
        list.history(config);
        list.listening(config);
        list.certificate(config);
        list.secrets(config);
        list.told_by(config);
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

    /// What is lent is the daemon's, and says so where a setting would stand.
    pub fn lend(&mut self, loan: &Loan, says: &str) {
        for destination in &loan.destinations {
            self.add(Who::Daemon, destination.clone(), says);
        }
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
            self.written(Who::Daemon, endpoint, setting);
        }
        let probes = target.probes.iter().map(|text| (text, "probe"));
        for (text, which) in probes.chain(target.references.iter().map(|text| (text, "reference"))) {
            let setting = format!("steward.targets {name} {which}");
            match text.parse::<Check>() {
                Ok(check) => self.check(Who::Daemon, &check, setting),
                Err(_) => self.gap(Who::Daemon, setting, NO_HOST),
            }
        }
    }

    /// The repository elsewhere and its forge; the largest one answers at another name.
    fn history(&mut self, config: &Config) {
        let history = &config.steward.history;
        let remote = history.remote.as_ref().map(RemoteUrl::as_str);
        let Some(remote) = remote.filter(|remote| remote.starts_with("http")) else { return };
        self.written(Who::Daemon, remote, "steward.history.remote".to_owned());
        if history.forge == Forge::Github && remote.starts_with("https://github.com/") {
            let setting = "steward.history.forge".to_owned();
            self.place(Who::Daemon, "api.github.com", Protocol::Tcp, 443, setting);
        }
    }

    /// Whoever calls the health page or the gateway, or hands a verdict in, from another machine gets an answer.
    fn listening(&mut self, config: &Config) {
        let (health, door, gateway) = (&config.health, &config.approvals.webhook, &config.gateway);
        let pages = [
            (Some(health.listen), health.allow_remote),
            (door.listen, door.allow_remote),
            // Beyond loopback it is encrypted, or behind a proxy, or refused with the rest of the settings.
            (Some(gateway.listen), gateway.enabled),
        ];
        for (listen, allow_remote) in pages {
            let remote = listen.filter(|listen| allow_remote && !listen.ip().is_loopback());
            self.daemon.serves.extend(remote.map(|listen| listen.port()));
        }
    }

    /// The authority that the gateway's certificate is ordered from. Its other addresses have the same host, as far as authorities are known.
    fn certificate(&mut self, config: &Config) {
        let (gateway, tls) = (&config.gateway, &config.gateway.tls);
        let ordered = gateway.enabled && tls.from == CertificateFrom::Acme;
        if let Some(directory) = tls.directory.as_ref().filter(|_| ordered) {
            self.written(Who::Daemon, directory.as_str(), "gateway.tls.directory".to_owned());
        }
    }

    fn secrets(&mut self, config: &Config) {
        let notifications = &config.notifications;
        let secrets = [
            ("notifications.webhook.url", &notifications.webhook.url),
            ("notifications.slack.url", &notifications.slack.url),
            ("notifications.discord.url", &notifications.discord.url),
            ("notifications.alive.url", &notifications.alive.url),
        ];
        for (setting, url) in secrets {
            if url.is_some() {
                self.gap(Who::Daemon, setting, SECRET);
            }
        }
    }

    /// Where notices go, as far as the settings say it.
    fn told_by(&mut self, config: &Config) {
        let Notifications { channels, ntfy, mail, .. } = &config.notifications;
        if channels.contains(&Channel::Ntfy) {
            self.written(Who::Daemon, ntfy.address(), "notifications.ntfy.server".to_owned());
        }
        let host = mail.host.as_ref().filter(|_| channels.contains(&Channel::Mail));
        if let Some(host) = host {
            let port = u16::try_from(mail.port).unwrap_or(587);
            let setting = "notifications.mail.host".to_owned();
            self.place(Who::Daemon, host.as_str(), Protocol::Tcp, port, setting);
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
            self.check(Who::Tripwire, check, format!("tripwire {name} {which}"));
        }
    }

    fn provider(&mut self, provider: &Provider, setting: &str) {
        match provider {
            Provider::Command { .. } => self.gap(Who::Tripwire, setting, PROGRAM),
            Provider::Hetzner { .. } | Provider::Http(_) => {
                for address in provider.addresses() {
                    self.written(Who::Tripwire, &address, setting.to_owned());
                }
            }
        }
    }

    fn check(&mut self, who: Who, check: &Check, setting: String) {
        match check {
            Check::Tcp { address } | Check::Tls { address, .. } | Check::Ssh { address } => {
                self.written(who, &address.to_string(), setting);
            }
            Check::Http { url, .. } | Check::Gatus { url, .. } => {
                self.written(who, &url.address().to_string(), setting);
            }
            Check::Icmp { host } => {
                self.place(who, &host.to_string(), Protocol::Icmp, 0, setting);
            }
            // It asks a service of this machine, which goes out by itself.
            Check::Tailscale { .. } => {}
        }
    }

    /// `host:port`, as a checked setting writes itself.
    fn written(&mut self, who: Who, address: &str, setting: String) {
        match place_of(address) {
            Some((host, port)) => self.place(who, &host, Protocol::Tcp, port, setting),
            None => self.gap(who, setting, NO_HOST),
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use holdfast_config::Layers;
    use serde_json::json;

    use super::*;

    fn config(body: &str) -> Config {
        let text = format!("version: 1\n{body}");
        let file = Some((Path::new("config.yaml"), text.as_bytes()));
        Config::read(Layers { file, ..Layers::default() }).unwrap().config
    }

    fn told(targets: serde_json::Value, webhook: Option<Destination>) -> Told {
        let mut settings = json!({ "windows": "/w", "state": "/s", "run": "/r", "targets": targets });
        if webhook.is_some() {
            settings["webhook"] = json!("/secret");
        }
        Told { settings: serde_json::from_value(settings).unwrap(), webhook }
    }

    fn shown(wanted: &Wanted) -> String {
        let mut out = String::new();
        for who in Who::ALL {
            let reachable = wanted.reachable(who);
            for (it, wants) in &reachable.destinations {
                out.push_str(&format!("{} {} {it}: {wants:?}\n", who.word(), it.protocol.word()));
            }
            out.extend(reachable.serves.iter().map(|port| format!("{} serves {port}\n", who.word())));
        }
        out.extend(
            wanted.gaps.iter().map(|gap| format!("{} ? {}: {}\n", gap.who.word(), gap.setting, gap.why)),
        );
        out
    }

    #[test]
    fn the_repository_elsewhere_and_its_forge_are_on_the_list() {
        let list = |remote: &str, forge: &str| {
            let history = format!("{{ remote: '{remote}', forge: {forge}, token: {{ secret: t }} }}");
            shown(&Wanted::of(&config(&format!("steward: {{ history: {history} }}\n")), None))
        };
        let own = list("https://forge.example:3000/ana/applied.git", "forgejo");
        assert_eq!(own, "daemon tcp forge.example:3000: {\"steward.history.remote\"}\n");
        let github = list("https://github.com/ana/applied.git", "github");
        assert!(
            github.contains("tcp api.github.com:443") && github.contains("tcp github.com:443"),
            "{github}"
        );
        assert_eq!(list("file:///srv/git/applied.git", "none"), "");
    }

    #[test]
    fn every_setting_that_names_a_destination_is_on_the_list_and_nothing_else_is() {
        let config = config(
            "\
health: { listen: '0.0.0.0:9095', allow_remote: true }
approvals: { webhook: { listen: '192.0.2.1:9096', allow_remote: true } }
gateway:
  listen: 0.0.0.0:8443
  address: https://hold.example:8443
  tls: { from: acme, directory: 'https://authority.example/directory' }
notifications:
  channels: [log, webhook, slack, discord, ntfy, mail]
  webhook: { url: { secret: w }, sign_with: { secret: s }, allow_hosts: [not-on-the-list.example] }
  slack: { url: { secret: c } }
  discord: { url: { secret: d } }
  ntfy: { server: 'https://push.example:8443/x', topic: { secret: t } }
  mail: { host: mail.example, from: a@b.example, to: [c@d.example] }
  alive: { url: { secret: a } }
steward:
  targets:
    - { name: modelled, driver: sim }
    - { name: here, driver: local, units: [web.service], endpoint: 'http://127.0.0.1/x' }
    - { name: box-1, driver: systemd, address: Box-1.lan, units: [web.service], endpoint: 'https://box-1.lan/health?x=1' }
    - { name: box-2, driver: agentless, address: '2001:db8::2', port: 2222, units: [web.service], endpoint: '[2001:db8::2]:80' }
    - name: box-3
      driver: systemd
      address: box-3.lan
      units: [web.service]
      probes: ['tls://box-3.lan:443?days=14', 'gatus+https://status.lan/#home_web', 'tailscale:nAbC123', 'ssh://box-3.lan']
      references: ['icmp://192.0.2.9', 'https://reference.example/']
egress:
  also:
    - { host: hooks.example, port: 443, for: notifications.webhook.url }
    - { host: time.example, port: 123, for: the clock, protocol: udp }
    - { host: hooks.example, port: 443, for: another }
    - { host: 192.0.2.1, for: the router, protocol: icmp, user: tripwire }
    - { host: '127.1', port: 1, for: half an address }
",
        );
        let call = |host: &str| json!({ "url": format!("https://{host}/x") });
        let told = told(
            json!([
                {
                    "name": "box-1", "first": { "address": "box-1.vpn" }, "second": { "address": "fe80::7%eth0", "port": 2222 },
                    "key": "/k", "known_hosts": "/h", "provider": { "hetzner": { "server": 1, "token": "/t" } },
                    "probes": [
                        { "http": { "url": "https://box-1.example/health" } },
                        { "tls": { "address": "box-1.example:443" } },
                        { "ssh": { "address": "box-1.example:22" } },
                        { "gatus": { "url": "http://monitor.lan:8080", "endpoints": ["a"] } },
                        { "tailscale": { "id": "n1" } },
                    ],
                    "references": [{ "icmp": { "host": "192.0.2.254" } }, { "tcp": { "address": "9.9.9.9:853" } }],
                },
                {
                    "name": "box-2", "first": { "address": "box-2.vpn" }, "key": "/k", "known_hosts": "/h",
                    "provider": { "http": { "reboot": call("api.example"), "reset": call("api.example:8443"), "check": call("api.example") } },
                    "references": [{ "tcp": { "address": "9.9.9.9:853" } }],
                },
                {
                    "name": "box-3", "first": { "address": "box-3.vpn" }, "key": "/k", "known_hosts": "/h",
                    "provider": { "command": { "reboot": ["/bin/x"], "reset": ["/bin/x"], "check": ["/bin/x"] } },
                    "references": [{ "tcp": { "address": "9.9.9.9:853" } }],
                },
            ]),
            Some(Destination::tcp(Host::read("alerts.example").unwrap(), 443)),
        );
        let wanted = Wanted::of(&config, Some(&told));
        insta::assert_snapshot!(shown(&wanted));
        assert_eq!(wanted.names().len(), 17);
    }

    #[test]
    fn without_settings_nothing_is_on_the_list() {
        assert_eq!(Wanted::of(&Config::default(), None), Wanted::default());
    }

    #[test]
    fn a_place_is_read_of_an_address_or_a_page() {
        let place = |host: &str, port| Some((host.to_owned(), port));
        assert_eq!(place_of("a.lan:80"), place("a.lan", 80));
        assert_eq!(place_of("https://a.lan"), place("a.lan", 443));
        assert_eq!(place_of("http://a.lan/x:9"), place("a.lan", 80));
        assert_eq!(place_of("https://[2001:db8::1]/x"), place("[2001:db8::1]", 443));
        assert_eq!(place_of("[2001:db8::1]:22"), place("[2001:db8::1]", 22));
        assert_eq!(place_of("a.lan"), None);
        assert_eq!(place_of("a.lan:0"), None);
    }
}
