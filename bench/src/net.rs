//! What the safety net costs and how soon it acts: the tripwire beside a daemon with one host, idle; and the time from a loss to the claim
//! that begins the way back.
//!
//! The host is the lab's, a network namespace with a real sshd and a doorman behind the guard's key. What is lost is an endpoint of this
//! program's own; a second one, which stays, is the reference.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use holdfast_doorman::wire::Role;
use holdfast_doorman::{Place, authorized_line};
use holdfast_durable::Mode;
use holdfast_lifeline::{Identity, Owner, Steady, WindowRecord, WindowState};
use holdfast_testkit::lab::Hosts;
use holdfast_tripwire::clock::Moment;
use holdfast_tripwire::window::{Found, Granted, WindowFile};
use serde_json::json;

use crate::daemon::Daemon;
use crate::home::Home;
use crate::idle::{self, Idled};
use crate::program::{Program, built};
use crate::step;

const RELEASE: &str = "bookworm";
const USER: &str = "agent";
/// Longer than any goal.
const CLAIMED_WITHIN: Duration = Duration::from_secs(90);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) idle: Duration,
    pub(crate) losses: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Netted {
    pub(crate) tripwire: Idled,
    pub(crate) daemon: Idled,
    /// Seconds from the loss to the claim. It falls right after a look, so that the next one is a whole period away.
    pub(crate) claimed_s: Vec<f64>,
}

pub(crate) fn measure(dir: &Path, target: &Path, plan: Plan) -> Result<Netted> {
    let (tripwire, doorman) = (built(target, "holdfast-tripwire")?, built(target, "holdfast-doorman")?);
    let hosts = Hosts::start(RELEASE, 1)?;
    let site = Site::make(dir, &hosts, &doorman)?;
    step("a daemon and a tripwire with one host, idle");
    let home = site.home(target)?;
    let (daemon, _) = Daemon::start(&home)?;
    let guard = site.guard(&tripwire)?;
    let began = Instant::now();
    let idle = idle::Plan { age: Duration::from_secs(20), window: plan.idle };
    let (of_guard, of_daemon) = std::thread::scope(|scope| {
        let daemon = scope.spawn(|| idle::measure(daemon.pid(), began, idle));
        (idle::measure(guard.0.id(), began, idle), daemon.join())
    });
    let of_daemon = of_daemon.map_err(|_| anyhow::anyhow!("measuring the daemon ended"))??;
    daemon.stop()?;
    drop(guard);
    step("losing an endpoint");
    let claimed_s = (0..plan.losses).map(|nth| site.loses(&tripwire, nth)).collect::<Result<_>>()?;
    Ok(Netted { tripwire: of_guard?, daemon: of_daemon, claimed_s })
}

/// A process that ends with its owner.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Site {
    dir: PathBuf,
    address: String,
    key: PathBuf,
    known_hosts: PathBuf,
}

impl Site {
    fn make(dir: &Path, hosts: &Hosts, doorman: &Path) -> Result<Site> {
        let host = hosts.first().context("one was started")?;
        let dir = dir.join("net");
        holdfast_durable::create_dir(&dir)?;
        let key = dir.join("rescue");
        let keygen =
            Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).status()?;
        ensure!(keygen.success(), "no key was made");
        let place = Place::default();
        host.put(doorman, &place.program.to_string_lossy())?;
        let public = std::fs::read_to_string(key.with_extension("pub"))?;
        let line = authorized_line(&place, Role::Rescue, &public, &[]).context("a good key")?;
        let append = r#"mkdir -p /home/agent/.ssh && printf '%s\n' "$1" >>/home/agent/.ssh/authorized_keys && chown -R agent /home/agent/.ssh && chmod -R go= /home/agent/.ssh"#;
        ensure!(host.run(&["sh", "-c", append, "append", &line]).status.success(), "the key was not taken");
        let address = host.address().to_string();
        let known = std::fs::read_to_string(hosts.known_hosts())?;
        let pinned = known.lines().find_map(|line| line.strip_prefix(&format!("{address} ")));
        let known_hosts = dir.join("known_hosts");
        let pinned = format!("box-1 {}\n", pinned.context("a host has a key")?);
        holdfast_durable::replace(&known_hosts, pinned.as_bytes(), Mode::Private)?;
        Ok(Site { dir, address, key, known_hosts })
    }

    /// A home with that host in it, looked at over a plain account.
    fn home(&self, target: &Path) -> Result<Home> {
        let home = Home::make(&Program::find(target)?, &self.dir.join("home"), 0)?;
        let config = format!(
            "version: 1\nsteward:\n  targets:\n    - {{ name: box-1, driver: agentless, address: {}, observer: {USER}, units: [made-up.service] }}\n",
            self.address
        );
        holdfast_durable::replace(&home.dir.join("etc/config.yaml"), config.as_bytes(), Mode::Private)?;
        Ok(home)
    }

    fn guard(&self, program: &Path) -> Result<Guard> {
        let reference = TcpListener::bind("127.0.0.1:0")?;
        let reference = reference.local_addr()?.to_string();
        self.start(program, "idle", &json!([]), &reference)
    }

    fn start(
        &self,
        program: &Path,
        name: &str,
        probes: &serde_json::Value,
        reference: &str,
    ) -> Result<Guard> {
        let place = |what: &str| self.dir.join(name).join(what);
        holdfast_durable::create_dir(&self.dir.join(name))?;
        let settings = json!({
            "windows": place("windows"), "state": place("state"), "run": place("run"),
            "targets": [{
                "name": "box-1", "first": {"address": self.address, "user": USER}, "key": self.key, "known_hosts": self.known_hosts,
                "probes": probes, "references": [{"tcp": {"address": reference}}],
            }]
        });
        holdfast_durable::replace(&place("tripwire.json"), settings.to_string().as_bytes(), Mode::Private)?;
        let mut guard = Command::new(program);
        // As its unit has it.
        guard.env("MALLOC_ARENA_MAX", "1").arg("run").arg(place("tripwire.json"));
        guard.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Guard(guard.spawn().context("starting a tripwire")?))
    }

    /// From when an endpoint falls, right after a look at it, to the claim.
    fn loses(&self, program: &Path, nth: usize) -> Result<f64> {
        let name = format!("loss-{nth}");
        let (endpoint, reference) = (TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?);
        let probes = json!([{"tcp": {"address": endpoint.local_addr()?.to_string()}}]);
        let _guard = self.start(program, &name, &probes, &reference.local_addr()?.to_string())?;
        let file = WindowFile::of(&self.dir.join(&name).join("windows"), &"box-1".parse()?);
        let record = WindowRecord {
            episode: "ep_1".parse()?,
            known_good: Identity([1; 32]),
            candidate: Identity([2; 32]),
            state: WindowState::Active { since: Steady(0) },
            deadline: Steady(3_600_000),
        };
        let opened = file.open(&record, Moment::now(Steady(600_000)));
        ensure!(matches!(opened, Granted::Won), "the window was not opened");
        // Whoever watches has looked once.
        endpoint.accept().context("nobody looked")?;
        drop(endpoint);
        let lost = Instant::now();
        loop {
            if matches!(file.read(), Found::Record(sheet) if sheet.record.state == (WindowState::Undoing { by: Owner::Tripwire }))
            {
                return Ok(lost.elapsed().as_secs_f64());
            }
            ensure!(lost.elapsed() < CLAIMED_WITHIN, "nobody claimed the window");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
