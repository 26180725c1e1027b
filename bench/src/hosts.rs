//! What looking after real hosts costs: a word to a doorman beside a bare command over the same kind of connection, one
//! collection on the target, and a daemon with a hundred hosts. And how soon a test has a guest of the lab.
//!
//! The hosts are the lab's: network namespaces with a real sshd each, and a container with a real systemd, all on this machine's own
//! kernel. The hundred have no systemd, so their units cannot be read; everything else of a collection is real, and each has its own
//! connection.
//!
//! What counts as the cost of many hosts: the daemon, every `ssh` it starts, and the connections those leave open (the daemon keeps
//! some, and opens the others when it looks). Not the hosts themselves.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use holdfast_doorman::wire::Role;
use holdfast_doorman::{Place, authorized_line};
use holdfast_durable::Mode;
use holdfast_testkit::Guest;
use holdfast_testkit::lab::{self, Container, Hosts, RELEASES};
use serde::Deserialize;

use crate::daemon::Daemon;
use crate::home::Home;
use crate::idle;
use crate::program::{Program, built};
use crate::step;

const RELEASE: &str = "bookworm";
const USER: &str = "agent";
/// Units that every container has.
const UNITS: [&str; 3] = ["dbus.service", "systemd-journald.service", "ssh.service"];

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) words: usize,
    pub(crate) collections: usize,
    /// Of a guest, for each release.
    pub(crate) resumes: usize,
    pub(crate) hosts: u32,
    /// A few times as long as between two collections.
    pub(crate) watched: Duration,
}

#[derive(Clone, Debug)]
pub(crate) struct Hosted {
    /// Milliseconds of a word to a doorman, and of `true`, over connections that are open, in turns.
    pub(crate) word_ms: Vec<f64>,
    pub(crate) true_ms: Vec<f64>,
    /// Milliseconds of processor time on the target, means of rounds: the doorman and what it starts, and what its manager did for it.
    pub(crate) collect_ms: Vec<f64>,
    pub(crate) manager_ms: f64,
    /// Seconds until root was logged in to a guest, by release, and how guests run here.
    pub(crate) resumes: Resumes,
    pub(crate) accelerator: String,
    pub(crate) many: Many,
}

/// A daemon with many hosts.
#[derive(Clone, Debug)]
pub(crate) struct Many {
    pub(crate) hosts: u32,
    /// Of the daemon, everything it started, and the connections that are open.
    pub(crate) cpu_s: f64,
    pub(crate) seconds: f64,
    /// Proportional set sizes when they came to most, looked at every second.
    pub(crate) daemon_mib: f64,
    pub(crate) connections_mib: f64,
    /// Processes of ssh then.
    pub(crate) connections: usize,
    /// Collections in that time.
    pub(crate) collected: u64,
}

pub(crate) fn measure(dir: &Path, target: &Path, plan: Plan) -> Result<Hosted> {
    let doorman = built(target, "holdfast-doorman")?;
    step("saying words to a doorman");
    let (word_ms, true_ms) = words(dir, &doorman, plan.words)?;
    step("collecting in a container");
    let (collect_ms, manager_ms) = collections(dir, &doorman, plan.collections)?;
    step("resuming guests");
    let (resumes, accelerator) = resumes(plan.resumes)?;
    step(&format!("looking after {} hosts", plan.hosts));
    let many = many(dir, target, plan)?;
    Ok(Hosted { word_ms, true_ms, collect_ms, manager_ms, resumes, accelerator, many })
}

/// Seconds, by release.
type Resumes = Vec<(&'static str, Vec<f64>)>;

/// Releases in turns; what each waited for others is not counted.
fn resumes(count: usize) -> Result<(Resumes, String)> {
    let mut all: Resumes = RELEASES.map(|release| (release, Vec::new())).into();
    let mut accelerator = String::new();
    for _ in 0..count {
        for (release, seconds) in &mut all {
            let guest = Guest::resume(release)?;
            seconds.push(guest.resumed_in().as_secs_f64());
            accelerator = guest.accelerator().to_owned();
        }
    }
    Ok((all, accelerator))
}

// --- words

fn words(dir: &Path, doorman: &Path, count: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let hosts = Hosts::start(RELEASE, 1)?;
    let host = hosts.first().context("one was started")?;
    let key = dir.join("observe");
    run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key))?;
    let place = Place::default();
    host.put(doorman, &place.program.to_string_lossy())?;
    let public = std::fs::read_to_string(key.with_extension("pub"))?;
    let line = authorized_line(&place, Role::Observe, &public, &[]).context("a good key")?;
    let append = r#"mkdir -p /home/agent/.ssh && printf '%s\n' "$1" >>/home/agent/.ssh/authorized_keys && chown -R agent /home/agent/.ssh && chmod -R go= /home/agent/.ssh"#;
    ensure!(host.run(&["sh", "-c", append, "append", &line]).status.success(), "the key was not taken");
    let address = host.address().to_string();
    let over = |name: &str, key: &Path| {
        let mut ssh = lab::ssh(&hosts.known_hosts(), key);
        ssh.args(["-o", "ControlMaster=auto", "-o", "ControlPersist=60"]);
        ssh.arg("-o").arg(format!("ControlPath={}/{name}", dir.display()));
        ssh.args(["-l", USER, &address]);
        ssh
    };
    let (word, bare) = (|| over("w", &key), || over("t", &hosts.key()));
    let said = |mut ssh: Command, words: &str| run(ssh.arg(words));
    said(word(), "ping")?;
    said(bare(), "true")?;
    let (mut word_ms, mut true_ms) = (Vec::new(), Vec::new());
    for _ in 0..count {
        word_ms.push(timed(|| said(word(), "ping"))?);
        true_ms.push(timed(|| said(bare(), "true"))?);
    }
    for ssh in [word(), bare()] {
        let mut ssh = ssh;
        let _gone = ssh.args(["-O", "exit"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
    Ok((word_ms, true_ms))
}

fn run(command: &mut Command) -> Result<()> {
    // A shared connection keeps what it was given open, so it is given nothing to write to.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().with_context(|| format!("running {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed().as_secs_f64() * 1000.0)
}

// --- collections

/// Runs the doorman as a key would, from where the journal was read to, and says what that took of the processor.
const COLLECTING: &str = r#"
import os, sys
program, rounds, each = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def manager():
    fields = open('/proc/1/stat').read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000.0 / os.sysconf('SC_CLK_TCK')
def children():
    times = os.times()
    return (times.children_user + times.children_system) * 1000.0
def collect(cursor):
    with open('/root/ask', 'w') as ask:
        ask.write('{"collect":{"cursor":%s}}' % ('"%s"' % cursor if cursor else 'null'))
    files = [(os.POSIX_SPAWN_OPEN, 0, '/root/ask', os.O_RDONLY, 0),
             (os.POSIX_SPAWN_OPEN, 1, '/root/said', os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)]
    pid = os.posix_spawn(program, [program, 'observe'], {'SSH_ORIGINAL_COMMAND': 'collect'}, file_actions=files)
    os.waitpid(pid, 0)
    return open('/root/said').read().split('"cursor":"', 1)[1].split('"', 1)[0]
cursor, took, before = collect(None), [], manager()
for _ in range(rounds):
    began = children()
    for _ in range(each):
        cursor = collect(cursor)
    took.append((children() - began) / each)
print('{"took":%s,"manager":%r}' % (took, (manager() - before) / (rounds * each)))
"#;
/// Collections in a round: the kernel counts in steps of 10 ms.
const COLLECTIONS_EACH: usize = 8;

#[derive(Deserialize)]
struct Collected {
    took: Vec<f64>,
    manager: f64,
}

fn collections(dir: &Path, doorman: &Path, count: usize) -> Result<(Vec<f64>, f64)> {
    let container = Container::start(RELEASE)?;
    let program = Place::default().program.to_string_lossy().into_owned();
    container.put(doorman, &program)?;
    let script = dir.join("collecting.py");
    std::fs::write(&script, COLLECTING)?;
    container.put(&script, "/usr/local/lib/collecting.py")?;
    let settings = serde_json::json!({"units": UNITS, "ssh": "ssh.service", "vpn": null, "firewall": null});
    let enrolled = container.run(&[&program, "enrol", &settings.to_string()]);
    ensure!(enrolled.status.success(), "enrolling: {}", String::from_utf8_lossy(&enrolled.stderr));
    let (rounds, each) = ((count / COLLECTIONS_EACH).max(1).to_string(), COLLECTIONS_EACH.to_string());
    let ran = container.run(&["python3", "/usr/local/lib/collecting.py", &program, &rounds, &each]);
    let Collected { took, manager } = serde_json::from_slice(&ran.stdout)
        .with_context(|| format!("collecting said: {}", String::from_utf8_lossy(&ran.stderr)))?;
    Ok((took, manager))
}

// --- many

fn many(dir: &Path, target: &Path, plan: Plan) -> Result<Many> {
    let hosts = Hosts::start(RELEASE, plan.hosts)?;
    let home = Home::make(&Program::find(target)?, &dir.join("many"), 0)?;
    let known = std::fs::read_to_string(hosts.known_hosts())?;
    let mut config = String::from("version: 1\nsteward:\n  targets:\n");
    for (number, host) in hosts.iter().enumerate() {
        let (name, address) = (format!("host-{number}"), host.address().to_string());
        config.push_str(&format!(
            "    - {{ name: {name}, driver: agentless, address: {address}, observer: {USER}, units: [made-up.service] }}\n"
        ));
        let folder = home.dir.join("state/steward").join(&name);
        holdfast_durable::create_dir(&folder)?;
        let key = known.lines().find_map(|line| line.strip_prefix(&format!("{address} ")));
        let pinned = format!("{name} {}\n", key.context("a host has a key")?);
        holdfast_durable::replace(&folder.join("known_hosts"), pinned.as_bytes(), Mode::Private)?;
        holdfast_durable::replace(&folder.join("observe"), &std::fs::read(hosts.key())?, Mode::Private)?;
    }
    holdfast_durable::replace(&home.dir.join("etc/config.yaml"), config.as_bytes(), Mode::Private)?;
    let (daemon, _) = Daemon::start(&home)?;
    let place = home.dir.to_string_lossy().into_owned();
    wait_until_all_were_asked(&home, &hosts)?;
    let before = (observations(&home, &hosts)?, processor(daemon.pid(), &place)?, Instant::now());
    let mut most = (0.0, 0.0, 0);
    while before.2.elapsed() < plan.watched {
        std::thread::sleep(Duration::from_secs(1));
        let now = memory(daemon.pid(), &place)?;
        if now.0 + now.1 > most.0 + most.1 {
            most = now;
        }
    }
    let cpu_s = processor(daemon.pid(), &place)? - before.1;
    let seconds = before.2.elapsed().as_secs_f64();
    let (daemon_mib, connections_mib, connections) = most;
    let collected = observations(&home, &hosts)? - before.0;
    let many =
        Many { hosts: plan.hosts, cpu_s, seconds, daemon_mib, connections_mib, connections, collected };
    daemon.stop()?;
    Ok(many)
}

fn wait_until_all_were_asked(home: &Home, hosts: &Hosts) -> Result<()> {
    let began = Instant::now();
    loop {
        let asked = observations(home, hosts)?;
        if asked >= hosts.len() as u64 {
            break;
        }
        ensure!(
            began.elapsed() < Duration::from_secs(180),
            "only {asked} of {} hosts were asked",
            hosts.len()
        );
        std::thread::sleep(Duration::from_secs(2));
    }
    // What was begun ends.
    std::thread::sleep(Duration::from_secs(3));
    Ok(())
}

/// The processes that hold a connection open: they name their socket.
fn connections(home: &str) -> Vec<u32> {
    naming(home).into_iter().filter(|(_, line)| line.starts_with("ssh: ")).map(|(pid, _)| pid).collect()
}

/// Every `ssh` of this daemon, also one that is only there for a moment, with what its line says: all name something in its home.
fn naming(home: &str) -> Vec<(u32, String)> {
    let listed = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = listed.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let lines = pids.map(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        (pid, String::from_utf8_lossy(&line).into_owned())
    });
    lines.filter(|(_, line)| line.starts_with("ssh") && line.contains(home)).collect()
}

/// MiB in the daemon and in everything it connects with, and how many processes that is besides it.
fn memory(daemon: u32, home: &str) -> Result<(f64, f64, usize)> {
    // One may have ended meanwhile.
    let sizes: Vec<f64> =
        naming(home).into_iter().filter_map(|(pid, _)| Some(idle::memory(pid).ok()?.0 / 1024.0)).collect();
    Ok((idle::memory(daemon)?.0 / 1024.0, sizes.iter().sum(), sizes.len()))
}

/// Seconds of one processor that a daemon, whatever it has waited for, and its connections have taken.
fn processor(daemon: u32, home: &str) -> Result<f64> {
    let own = idle::cpu_with_children(daemon)?;
    let others: f64 = connections(home).iter().filter_map(|pid| idle::cpu_with_children(*pid).ok()).sum();
    Ok(own + others)
}

fn observations(home: &Home, hosts: &Hosts) -> Result<u64> {
    let mut all = 0;
    for number in 0..hosts.len() {
        let name = format!("host-{number}");
        let said = home.program.ask(&home.dir, &["--json", "steward", "metrics", &name])?;
        let found: serde_json::Value = serde_json::from_str(&said)?;
        all += found["observations"].as_u64().context("metrics count observations")?;
    }
    Ok(all)
}
