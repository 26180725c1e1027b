//! The way through the gateway to a service, beside nginx as a plain proxy to the same one: the same load, in turns.
//!
//! Ours asks who it is at every request and tells the service; nginx asks nobody. Both keep connections open on both sides, and both have as
//! many threads at work as the machine has processors, which they share with the load and the service.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::origin::{Origin, Turn, load};
use super::site::Site;
use super::talk::{Talk, head};
use crate::daemon::free_address;
use crate::idle::cpu_with_children;
use crate::weather::{Rounds, calm_rounds_beside, in_turns};

/// As the goal has it.
pub(crate) const CONNECTIONS: usize = 64;
const READY_MAX: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    pub(crate) turn: Duration,
    pub(crate) time_max: Duration,
}

/// What came of it, round by round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Raced {
    pub(crate) version: String,
    pub(crate) ours: Racer,
    pub(crate) nginx: Racer,
    pub(crate) rounds: Rounds,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Racer {
    pub(crate) per_second: Vec<f64>,
    pub(crate) micros: Vec<f64>,
    /// Processor time of the proxy alone for one request, in microseconds.
    pub(crate) cpu_micros: Vec<f64>,
}

impl Racer {
    fn take(&mut self, (turn, cpu): (Turn, f64)) {
        self.cpu_micros.push(cpu * 1e6 / turn.answered as f64);
        self.per_second.push(turn.per_second);
        self.micros.extend(turn.micros);
    }
}

/// Fails where there is no peer.
pub(super) fn measure(dir: &Path, site: &Site, origin: &Origin, plan: Plan) -> Result<Raced> {
    let nginx = Nginx::start(&dir.join("nginx"), origin.address)?;
    let ours = head("GET", "/", &site.service_host, &[("cookie", &site.service_cookie)]) + "\r\n";
    let theirs = head("GET", "/", "origin.localhost", &[]) + "\r\n";
    let daemon = [site.daemon.pid()];
    let turn = |to: SocketAddr, request: &str, pids: &[u32]| -> Result<(Turn, f64)> {
        let cpu = || pids.iter().map(|pid| cpu_with_children(*pid)).sum::<Result<f64>>();
        let before = cpu()?;
        let turn = load(to, request, CONNECTIONS, plan.turn)?;
        Ok((turn, cpu()? - before))
    };
    let beside = [&daemon[..], &nginx.pids].concat();
    let (rounds, counted) = calm_rounds_beside(&beside, plan.rounds, plan.time_max, |number| {
        in_turns::<_, 2>(number, |who| match who {
            0 => turn(site.daemon.gateway(), &ours, &daemon).context("through the gateway"),
            _ => turn(nginx.address, &theirs, &nginx.pids).context("through nginx"),
        })
    })?;
    let mut raced = Raced { version: nginx.version.clone(), rounds: counted, ..Raced::default() };
    for [ours, theirs] in rounds {
        ours.into_iter().for_each(|turn| raced.ours.take(turn));
        theirs.into_iter().for_each(|turn| raced.nginx.take(turn));
    }
    Ok(raced)
}

/// A plain proxy in a folder of its own.
struct Nginx {
    child: Child,
    address: SocketAddr,
    /// The workers: the one that started them only waits.
    pids: Vec<u32>,
    version: String,
}

impl Nginx {
    fn start(dir: &Path, origin: SocketAddr) -> Result<Nginx> {
        let program = found().context("nginx is not installed (scripts/setup.sh bench)")?;
        std::fs::create_dir_all(dir)?;
        let address = free_address()?;
        std::fs::write(dir.join("nginx.conf"), config(dir, address, origin))?;
        let said = Command::new(&program).arg("-v").output()?.stderr;
        let version = String::from_utf8_lossy(&said).trim().rsplit('/').next().unwrap_or_default().to_owned();
        let mut command = Command::new(program);
        command.arg("-p").arg(dir).arg("-c").arg(dir.join("nginx.conf"));
        command.arg("-e").arg(dir.join("error.log"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut nginx = Nginx { child, address, pids: Vec::new(), version };
        let began = Instant::now();
        while Talk::to(address, "origin").and_then(|mut talk| talk.get("/", &[])).is_err() {
            if began.elapsed() > READY_MAX || nginx.child.try_wait()?.is_some() {
                bail!("nginx: {}", std::fs::read_to_string(dir.join("error.log")).unwrap_or_default());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        nginx.pids = children(nginx.child.id())?;
        Ok(nginx)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Killed, it would leave its workers behind.
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

/// On the path, or where Debian has it, which is not on everybody's.
fn found() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    folders.map(|folder| folder.join("nginx")).find(|file| file.is_file())
}

fn config(dir: &Path, address: SocketAddr, origin: SocketAddr) -> String {
    let temp: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|what| format!("  {what}_temp_path {};\n", dir.join(what).display()))
        .collect();
    let user = if rustix::process::geteuid().is_root() { "user root;\n" } else { "" };
    format!(
        "{user}daemon off;\nworker_processes auto;\npid {};\nevents {{ worker_connections 4096; }}\nhttp {{\n{temp}  access_log off;\n  \
         keepalive_requests 1000000000;\n  upstream origin {{ server {origin}; keepalive 128; keepalive_requests 1000000000; }}\n  \
         server {{\n    listen {address};\n    location / {{\n      proxy_pass http://origin;\n      proxy_http_version 1.1;\n      \
         proxy_set_header Connection \"\";\n    }}\n  }}\n}}\n",
        dir.join("pid").display()
    )
}

fn children(pid: u32) -> Result<Vec<u32>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    Ok(text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
}
