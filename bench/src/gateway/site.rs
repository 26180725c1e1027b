//! A home with much in it, its daemon, and somebody who is signed in.
//!
//! The journal has entries of every room, episodes of the steward among them; `metrics.db` has a week of figures of every host; an agent
//! remembers some hundred things. Hosts are modelled ones, at the pace of the clock, so that hardly anything moves while pages are measured.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use holdfast_durable::Mode;
use holdfast_journal::SystemClock;
use holdfast_metrics::{Count, Limits, Metric, Metrics, Name, Observation, Outcome, Scope};
use holdfast_sim::plain;
use holdfast_steward_host::entry_of;
use holdfast_testkit::authenticator::Key;
use holdfast_types::{Clock as _, Timestamp};
use serde_json::{Value, json};

use super::talk::{Reply, Talk};
use crate::daemon::Daemon;
use crate::home::Home;
use crate::house::append_all;
use crate::program::Program;

/// How much is in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Those of episodes and memories come on top.
    pub(crate) entries: u64,
    pub(crate) samples: usize,
    pub(crate) episodes: u64,
    pub(crate) memories: usize,
}

/// The first of them is the one that was changed again and again.
const HOSTS: [&str; 4] = ["web-1", "web-2", "db-1", "mail-1"];
const UNITS: [&str; 5] = ["web.service", "worker.service", "cache.service", "db.service", "mail.service"];
/// As often as the steward looks, in microseconds.
const EVERY: i64 = 120_000_000;
/// Observations that are written in one transaction.
const BATCH: usize = 200;
const SERVICE: &str = "origin";
const SERVICE_HOST: &str = "origin.localhost";
/// Nobody else of this house remembers anything.
const AGENT: &str = "main";

/// A daemon with somebody signed in.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) daemon: Daemon,
    /// As a request names it: with the port.
    pub(super) host: String,
    pub(super) service_host: String,
    /// `name=value`, for the gateway and for the service.
    pub(super) cookie: String,
    pub(super) service_cookie: String,
}

impl Site {
    /// Makes the home and opens it. The service is what answers at `origin`.
    pub(super) fn open(dir: &Path, target: &Path, origin: SocketAddr, plan: Plan) -> Result<Site> {
        let home = Home::make(&Program::find(target)?, &dir.join("home"), plan.entries)?;
        holdfast_durable::replace(
            &home.dir.join("etc/config.yaml"),
            config(origin).as_bytes(),
            Mode::Private,
        )?;
        write_episodes(&home, plan.episodes)?;
        write_samples(&home, plan.samples)?;
        remember(&home, plan.memories)?;
        let (daemon, _) = Daemon::start(&home)?;
        daemon.wait_until_caught_up()?;
        daemon.wait_until_verified()?;
        let port = daemon.gateway().port();
        let (host, service_host) = (format!("localhost:{port}"), format!("{SERVICE_HOST}:{port}"));
        let link = home.program.ask(&home.dir, &["--json", "gateway", "link"])?;
        let link: Value = serde_json::from_str(&link)?;
        let link = link["url"].as_str().and_then(|url| url.split_once('#')).context("a link has a token")?.1;
        let cookie = register(daemon.gateway(), &host, link)?;
        let service_cookie = enter(daemon.gateway(), &host, &service_host, &cookie)?;
        Ok(Site { daemon, host, service_host, cookie, service_cookie })
    }

    /// A connection to the gateway.
    pub(super) fn talk(&self) -> Result<Talk> {
        Talk::to(self.daemon.gateway(), &self.host)
    }
}

fn config(origin: SocketAddr) -> String {
    let host = |name: &&str| format!("    - {{ name: {name}, driver: sim, seed: 7, trouble: nothing }}\n");
    let hosts: String = HOSTS.iter().map(host).collect();
    format!(
        "version: 1\ngateway:\n  services:\n    - {{ name: {SERVICE}, host: {SERVICE_HOST}, to: \"{origin}\", role: viewer }}\nsteward:\n  targets:\n{hosts}"
    )
}

/// Comes in by a link with a new passkey; the session's cookie.
fn register(to: SocketAddr, host: &str, link: &str) -> Result<String> {
    let (mut talk, origin) = (Talk::to(to, host)?, format!("http://{host}"));
    let from = [("origin", origin.as_str()), ("sec-fetch-site", "same-origin")];
    let begun = talk.post("/auth/register/start", &from, &json!({"link": link, "label": "the bench"}))?;
    ensure!(begun.status == 200, "registering did not begin: {}", begun.text());
    let (marks, begun) = (cookies(&begun), begun.json()?);
    let credential = Key::new().try_create(&origin, &begun["publicKey"]);
    let credential = credential.map_err(anyhow::Error::msg).context("making a passkey")?;
    let body = json!({"ceremony": begun["ceremony"], "credential": credential});
    let known = [from[0], from[1], ("cookie", marks.as_str())];
    let done = talk.post("/auth/register/finish", if marks.is_empty() { &from } else { &known }, &body)?;
    ensure!(done.status == 200, "registering did not end: {}", done.text());
    Ok(cookies(&done))
}

/// Goes to the service by way of the gateway, as a browser is sent; the service's cookie.
fn enter(to: SocketAddr, host: &str, service_host: &str, cookie: &str) -> Result<String> {
    let sent_to = |reply: &Reply, host: &str| -> Result<String> {
        let to = reply.all("location").next().with_context(|| format!("sent nowhere: {}", reply.text()))?;
        Ok(to.strip_prefix(&format!("http://{host}")).context("sent elsewhere")?.to_owned())
    };
    let knocked = Talk::to(to, service_host)?.get("/", &[])?;
    let knock = cookies(&knocked);
    let given = Talk::to(to, host)?.get(&sent_to(&knocked, host)?, &[("cookie", cookie)])?;
    let entered = Talk::to(to, service_host)?.get(&sent_to(&given, service_host)?, &[("cookie", &knock)])?;
    let cookie = cookies(&entered);
    ensure!(!cookie.is_empty(), "no cookie: {} {}", entered.status, entered.text());
    Ok(cookie)
}

/// The cookies that an answer sets, as a request sends them.
fn cookies(reply: &Reply) -> String {
    let set = reply.all("set-cookie").filter(|line| !line.contains("Max-Age=0"));
    let pairs: Vec<&str> = set.filter_map(|line| line.split(';').next()).collect();
    pairs.join("; ")
}

/// Episodes from the ask to the end of their probation, as the steward writes them down.
fn write_episodes(home: &Home, count: u64) -> Result<()> {
    let journal = home.open()?;
    let (target, actor) = (HOSTS[0].parse()?, "holdfast".parse()?);
    let drafts = plain::episodes(count)?.into_iter().map(|record| {
        entry_of(&record, &target, &actor).map_err(|e| anyhow::anyhow!("an entry of the steward: {e}"))
    });
    let drafts: Vec<_> = drafts.collect::<Result<_>>()?;
    drafts.chunks(1000).try_for_each(|some| append_all(&journal, some))?;
    Ok(journal.settle()?)
}

fn write_samples(home: &Home, count: usize) -> Result<()> {
    let clock = SystemClock::new();
    let (metrics, _) = Metrics::open(&home.dir.join("state/metrics.db"), Limits::default(), &clock)?;
    let figures = Figures::new()?;
    let rounds = count.div_ceil(HOSTS.len() * figures.len());
    let now = clock.now().as_micros();
    let times: Vec<i64> = (0..rounds as i64).rev().map(|ago| now - (ago + 1) * EVERY).collect();
    for some in times.chunks(BATCH) {
        let seen = some.iter().flat_map(|at| HOSTS.map(|host| figures.seen(host, *at)));
        metrics.record_all(&seen.collect::<Result<Vec<_>>>()?)?;
    }
    Ok(())
}

/// What is measured of a host and its units.
struct Figures {
    gauges: Vec<Metric>,
    counters: Vec<Metric>,
}

impl Figures {
    fn new() -> Result<Figures> {
        let of_host = Name::all().filter_map(|name| Metric::new(Scope::Host, name).ok());
        let (mut gauges, mut counters) = (of_host.collect::<Vec<_>>(), Vec::new());
        for unit in UNITS {
            let scope = Scope::unit(unit)?;
            gauges.push(Metric::new(scope.clone(), Name::Memory)?);
            for name in [Name::Cpu, Name::Throttled, Name::Kills, Name::Restarts] {
                counters.push(Metric::new(scope.clone(), name)?);
            }
        }
        Ok(Figures { gauges, counters })
    }

    fn len(&self) -> usize {
        self.gauges.len() + self.counters.len()
    }

    /// All figures of one look; they move by the hour.
    fn seen(&self, host: &str, at: i64) -> Result<Observation> {
        let hour = (at / 3_600_000_000 % 24) as f64;
        let gauge = |(n, metric): (usize, &Metric)| (metric.clone(), hour + n as f64);
        let count = |metric: &Metric| (metric.clone(), Count { value: (at / EVERY) as u64, since: Some(1) });
        Ok(Observation {
            target: host.to_owned(),
            at: Timestamp::from_micros(at)?,
            outcome: Outcome::Whole,
            generation: Some(1),
            running: None,
            boot: Some("boot-1".to_owned()),
            gauges: self.gauges.iter().enumerate().map(gauge).collect(),
            counters: self.counters.iter().map(count).collect(),
            endpoints: Vec::new(),
            failed: Vec::new(),
            signs: Vec::new(),
            well: Vec::new(),
            snapshot: json!({"units": UNITS}),
        })
    }
}

fn remember(home: &Home, count: usize) -> Result<()> {
    let line = |n: usize| {
        let (ship, berth) = (["Alma", "Berta", "Clara", "Dora"][n % 4], n % 17);
        json!({"id": format!("D{n}"), "content": format!("The ferry {ship} was moved to berth {berth} of the harbour on day {n}.")})
            .to_string()
    };
    let lines: Vec<String> = (0..count).map(line).collect();
    let file = home.dir.with_file_name("memories.jsonl");
    std::fs::write(&file, lines.join("\n"))?;
    let file = file.to_string_lossy();
    home.program.ask(&home.dir, &["memory", "import", "--without-vectors", "--agent", AGENT, &file])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_of_a_host_is_in_an_observation() {
        let figures = Figures::new().unwrap();
        let seen = figures.seen("web-1", 1_700_000_000_000_000).unwrap();
        assert_eq!(seen.gauges.len() + seen.counters.len(), figures.len());
        assert!(figures.len() > 40);
    }
}
