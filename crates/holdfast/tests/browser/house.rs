//! A real daemon with its gateway open, and modelled hosts that are under pressure from the first moment.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use holdfast_journal::{Journal, Options, SystemClock};
use holdfast_keys::{Role, file};
use holdfast_lifeline::{Identity, Sound, Steady};
use holdfast_steward::com::Com;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::ladder::Level;
use holdfast_steward_host::{SimHost, entry_of};
use holdfast_types::Clock as _;
use serde_json::Value;

use crate::home::Home;
use crate::running::{Running, wait_until};

/// Half an hour into the half of the modelled day that is too much for the host.
const PRESSED: u64 = 13 * 3_600_000;
/// A window of ten minutes takes half a minute where it is watched, and ten seconds where it is waited for.
const SLOW: u32 = 20;
const QUICK: u32 = 60;

/// Hosts that are looked after, and how far each trusts the steward.
pub const WATCHED: &str = "db-1";
pub const ASKING: &str = "web-1";
pub const REFUSED: &str = "web-2";

pub struct House {
    pub home: Home,
    /// What people type into a browser.
    pub origin: String,
    port: u16,
    daemon: Running,
}

impl House {
    /// Nothing is looked after: for whoever only comes in.
    pub fn empty() -> House {
        House::opened(Home::made("house"), a_port())
    }

    /// A program of this machine is reached through it, as `page.localhost`.
    pub fn with_program(port: u16) -> House {
        let home = Home::made("house");
        let service = format!("{{ name: page, host: page.localhost, to: \"127.0.0.1:{port}\" }}");
        let yaml = format!("version: 1\ngateway:\n  services:\n    - {service}\n");
        std::fs::write(home.path().join("etc/config.yaml"), yaml).unwrap();
        House::opened(home, a_port())
    }

    /// One host on which changes are tried, two on which they are asked for first.
    pub fn with_hosts() -> House {
        let home = Home::made("house");
        let hosts = [
            (WATCHED, Level::TierOne, SLOW),
            (ASKING, Level::ApproveEach, QUICK),
            (REFUSED, Level::ApproveEach, QUICK),
        ];
        let line = |(name, _, speed): &(&str, Level, u32)| {
            format!("    - {{ name: {name}, driver: sim, seed: 7, speed: {speed} }}\n")
        };
        let targets: String = hosts.iter().map(line).collect();
        let yaml = format!("version: 1\nsteward:\n  targets:\n{targets}");
        std::fs::write(home.path().join("etc/config.yaml"), yaml).unwrap();
        hosts.iter().for_each(|(name, level, _)| trust(&home, name, *level));
        House::opened(home, a_port())
    }

    fn opened(home: Home, port: u16) -> House {
        let listen = format!("gateway.listen=127.0.0.1:{port}");
        let daemon =
            Running::with(&home, |command| command.args(["--set", "gateway.enabled=true", "--set", &listen]));
        House { home, origin: format!("http://localhost:{port}"), port, daemon }
    }

    /// A link by which somebody comes in, once.
    pub fn link(&self) -> String {
        self.home.json(&["gateway", "link"])["url"].as_str().unwrap().to_owned()
    }

    /// One for an owner who is known already.
    pub fn link_for(&self, name: &str) -> String {
        self.home.json(&["gateway", "link", name])["url"].as_str().unwrap().to_owned()
    }

    /// As if all links had been made an hour ago: nobody waits a quarter of an hour here.
    pub fn let_links_expire(&self) {
        rewrite(&self.home, "UPDATE links SET expires = expires - 3600000000");
    }

    /// Restarted, as if everybody had used their passkey an hour ago.
    pub fn an_hour_later(self) -> House {
        let House { home, port, daemon, .. } = self;
        daemon.terminated();
        rewrite(&home, "UPDATE sessions SET confirmed = confirmed - 3600000000");
        House::opened(home, port)
    }

    /// Under pressure that began before anybody watched, a person has to ask.
    pub fn ask_for_a_plan(&self, host: &str) {
        wait_until("a plan is asked for", || self.home.run(&["steward", "trigger", host]).code == 0);
    }

    /// The latest episode of a host.
    pub fn episode(&self, host: &str) -> Option<Value> {
        let all = self.home.json(&["steward", "episodes"])["episodes"].as_array().unwrap().clone();
        all.into_iter().find(|episode| episode["target"] == host)
    }

    pub fn log(&self) -> String {
        self.daemon.log()
    }
}

/// Changes what is stored of people, where nobody wants to wait for the clock.
fn rewrite(home: &Home, sql: &str) {
    let db = rusqlite::Connection::open(home.path().join("state/gateway.db")).unwrap();
    db.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
    assert!(db.execute(sql, []).unwrap() > 0, "there is nothing to rewrite");
}

/// Writes that a host was taken in and trusted, as the steward itself would have.
fn trust(home: &Home, host: &str, level: Level) {
    let clock = Arc::new(SystemClock::new());
    let wall = clock.now();
    let journal = Journal::open(Options {
        dir: home.journal(),
        signers: vec![file::read_key(&home.path().join("etc/keys/log.key"), Role::Log).unwrap().key],
        screen: Arc::new(holdfast_screen::GuardScreen::builtin()),
        clock,
        vault: None,
        archive: None,
        limits: Default::default(),
    });
    let journal = journal.unwrap();
    let (target, actor) = (host.parse().unwrap(), "holdfast".parse().unwrap());
    let why = "for a test".to_owned();
    let raised = Event::LevelSet { from: Level::Observe, to: level, by_person: true, why };
    for event in [Event::Enrolled { known_good: untouched() }, raised] {
        let record = Record { at: Steady(PRESSED), wall, synced: false, event };
        journal.append(&entry_of(&record, &target, &actor).unwrap()).unwrap();
    }
}

/// What a modelled host runs before anything was changed on it.
fn untouched() -> Identity {
    let bare = Com {
        memory_total: 1 << 30,
        swap: false,
        ssh_enabled: true,
        vpn_enabled: None,
        firewall_enabled: true,
        units: BTreeMap::new(),
        rest: String::new(),
        own_configuration: String::new(),
    };
    SimHost::new(bare, 1, Sound::YES).running()
}

/// A port nobody has, below those that the kernel gives to whoever asks for any.
fn a_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = u16::try_from(std::process::id() % 1_900).unwrap() * 10;
    (0..1_000)
        .map(|_| 12_000 + (start + NEXT.fetch_add(1, Ordering::Relaxed)) % 20_000)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .unwrap()
}
