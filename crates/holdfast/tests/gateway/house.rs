//! A home with a real daemon whose gateway listens, and people in it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use holdfast_approval::{Action, ApprovalProjection, Approvals, NewAsk, Now};
use holdfast_journal::{Draft, Journal, Options, SystemClock};
use holdfast_keys::{Role as KeyRole, file};
use holdfast_lifeline::{Identity, Sound, Steady};
use holdfast_steward::com::Com;
use holdfast_steward::event::{Event, Record};
use holdfast_steward::ladder::Level;
use holdfast_steward_host::{SimHost, entry_of};
use holdfast_store::Index;
use holdfast_testkit::authority::a_port;
use holdfast_types::{Clock as _, Timestamp, Trust};
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::home::Home;
use crate::running::{Ended, Looking as _, Running, an_address, wait_for, wait_until};

/// The modelled host is pressed at this moment of its time.
const PRESSED: u64 = 13 * 3_600_000;

pub struct House {
    pub home: Home,
    pub port: u16,
    pub daemon: Option<Running>,
}

impl House {
    /// A home with these settings and nothing in it, before its daemon runs.
    pub fn planned(settings: &str) -> House {
        let home = Home::made("gate");
        home.configure(settings);
        House { home, ..House::bare() }
    }

    /// A port, and a place where no home is yet.
    pub fn bare() -> House {
        House { home: Home::bare(), port: a_port(), daemon: None }
    }

    /// The same, running.
    pub fn open(settings: &str) -> House {
        let mut house = House::planned(settings);
        house.start();
        house
    }

    pub fn start(&mut self) {
        self.daemon = Some(Running::start(self.up(&[])));
    }

    /// The command that starts it, as what another program is told to run.
    pub fn up(&self, through: &[&str]) -> Command {
        let health = format!("health.listen={}", an_address());
        let listen = format!("gateway.listen=127.0.0.1:{}", self.port);
        let args = ["--json", "up", "--set", &health, "--set", &listen];
        let Some((program, before)) = through.split_first() else { return self.home.command(&args) };
        let plain = self.home.command(&args);
        let mut command = Command::new(program);
        command.args(before).arg(plain.get_program()).args(plain.get_args());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// Stops it as the service manager does.
    pub fn stop(&mut self) -> Ended {
        self.daemon.take().unwrap().terminated()
    }

    pub fn origin(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    /// A browser of nobody yet, at an address of its own.
    pub fn browser(&self) -> Browser {
        Browser::new(self.port)
    }

    /// A one-time link made at the machine: for the first owner, or for somebody by name.
    pub fn link(&self, name: Option<&str>) -> String {
        let args: Vec<&str> = ["gateway", "link"].into_iter().chain(name).collect();
        let url = self.home.json(&args)["url"].as_str().unwrap().to_owned();
        url.strip_prefix(&format!("{}/register#", self.origin())).unwrap().to_owned()
    }

    /// The first owner, signed in.
    pub async fn owner(&self) -> Browser {
        let mut browser = self.browser();
        browser.register(&self.link(None)).await;
        browser
    }

    /// Somebody who was invited, signed in.
    pub async fn invited(&self, owner: &mut Browser, name: &str, role: &str) -> Browser {
        let reply = owner.post("/auth/people/invite", json!({ "name": name, "role": role })).await.is(200);
        let mut browser = self.browser();
        browser.register(reply.json["link"].as_str().unwrap().strip_prefix("/register#").unwrap()).await;
        browser
    }

    /// The entries that say that requests from an address were refused for this reason: one alone, or among those who came most.
    pub fn refused(&self, from: Ipv4Addr, why: &str) -> Vec<Value> {
        let from = from.to_string();
        let mut all = self.home.bodies("gateway.request.refused");
        let is_among = |body: &Value| {
            body["most"].as_array().is_some_and(|most| most.iter().any(|one| one["from"] == *from))
        };
        all.retain(|body| body["why"] == why && (body["from"] == *from || is_among(body)));
        all
    }

    /// It is written beside the answer, so it is waited for.
    #[track_caller]
    pub fn has_recorded(&self, from: Ipv4Addr, why: &str) {
        wait_until(&format!("{why} from {from} is written down"), || !self.refused(from, why).is_empty());
    }

    /// Writes what the steward itself would have written, while nobody has the home open.
    pub fn trusted(&self, level: Level, why: &str) {
        let journal = self.journal();
        let (target, actor) = ("box-1".parse().unwrap(), "holdfast".parse().unwrap());
        let raised =
            Event::LevelSet { from: Level::Observe, to: level, by_person: true, why: why.to_owned() };
        for event in [Event::Enrolled { known_good: untouched() }, raised] {
            let record = Record { at: Steady(PRESSED), wall: SystemClock::new().now(), synced: false, event };
            journal.append(&entry_of(&record, &target, &actor).unwrap()).unwrap();
        }
    }

    /// An entry as a part of the daemon would have written it, while nobody has the home open.
    pub fn write(&self, kind: &str, body: &Value) {
        let body = body.as_object().unwrap().clone();
        let draft = Draft::new(kind.parse().unwrap(), "holdfast".parse().unwrap(), Trust::Trusted, body);
        self.journal().append(&draft).unwrap();
    }

    /// An ask as a part of the daemon would make it, while nobody has the home open. An ask holds for a minute at least: one that ends sooner
    /// was made before.
    pub fn ask(&self, summary: &str, evidence: &str, left: Duration) -> String {
        let lifetime = left.max(Duration::from_secs(60));
        let journal = self.journal();
        let projection = Box::new(ApprovalProjection::new(journal.origin().clone()));
        let path = self.home.path().with_file_name("inbox.db");
        let (index, _) = Index::open(&path, vec![projection], Arc::new(SystemClock::new())).unwrap();
        let screen = Arc::new(holdfast_screen::GuardScreen::builtin());
        let what = json!({ "option": "swapDevices[0].size", "to": summary.len(), "note": evidence });
        let action = Action::new("steward.trial".parse().unwrap(), "web-1".parse().unwrap(), &what).unwrap();
        let ask = NewAsk {
            evidence: vec![evidence.to_owned()],
            lifetime,
            ..NewAsk::new(action, "steward".parse().unwrap(), summary.to_owned())
        };
        let now = SystemClock::new().now();
        let ago = i64::try_from((lifetime - left).as_micros()).unwrap();
        let made = Timestamp::from_micros(now.as_micros() - ago).unwrap();
        Approvals::new(journal, Arc::new(index), screen)
            .ask(ask, Now::Good(made))
            .unwrap()
            .life
            .ask
            .id
            .to_string()
    }

    /// A program that another test starts this moment may still hold what was just closed here.
    fn journal(&self) -> Journal {
        wait_for("nobody has the journal", || match self.try_journal() {
            Err(holdfast_journal::Error::Busy { .. }) => None,
            opened => Some(opened.unwrap()),
        })
    }

    fn try_journal(&self) -> holdfast_journal::Result<Journal> {
        let key = self.home.path().join("etc/keys/log.key");
        Journal::open(Options {
            dir: self.home.journal(),
            signers: vec![file::read_key(&key, KeyRole::Log).unwrap().key],
            screen: Arc::new(holdfast_screen::GuardScreen::builtin()),
            clock: Arc::new(SystemClock::new()),
            vault: None,
            archive: None,
            limits: Default::default(),
        })
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

/// A modelled host that the steward looks after.
pub fn modelled(speed: u32) -> String {
    format!("steward:\n  targets:\n    - {{ name: box-1, driver: sim, seed: 7, speed: {speed} }}\n")
}
