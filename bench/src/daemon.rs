//! A daemon of the product as a child: started, asked over HTTP, stopped.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::home::Home;

/// Far beyond any goal, so that a daemon that never answers is told from a slow one.
const HEALTHY_MAX: Duration = Duration::from_secs(30);
const WORK_MAX: Duration = Duration::from_secs(120);
const STOP_MAX: Duration = Duration::from_secs(30);
/// Between two knocks at a door that is not there yet: what is measured is coarser than that.
const KNOCK: Duration = Duration::from_micros(200);

/// A running daemon. One that is dropped without [`Daemon::stop`] is killed.
#[derive(Debug)]
pub(crate) struct Daemon {
    home: Home,
    child: Child,
    health: SocketAddr,
    gateway: SocketAddr,
}

impl Daemon {
    /// Starts one and waits for its first healthy answer; how long that took.
    pub(crate) fn start(home: &Home) -> Result<(Daemon, Duration)> {
        let (health, gateway) = (free_address()?, free_address()?);
        let (health_at, gateway_at) =
            (format!("health.listen={health}"), format!("gateway.listen={gateway}"));
        let mut call = home.program.call(&home.dir, &["up", "--set", &health_at, "--set", &gateway_at]);
        call.stderr(home.log()?);
        let began = Instant::now();
        let child = call.spawn().context("starting a daemon")?;
        let mut daemon = Daemon { home: home.clone(), child, health, gateway };
        while !daemon.is_healthy() {
            if began.elapsed() > HEALTHY_MAX || daemon.child.try_wait()?.is_some() {
                bail!("a daemon did not become healthy: {}", home.log_end());
            }
            std::thread::sleep(KNOCK);
        }
        Ok((daemon, began.elapsed()))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Where its gateway listens.
    pub(crate) fn gateway(&self) -> SocketAddr {
        self.gateway
    }

    /// Whether health answers 200.
    fn is_healthy(&self) -> bool {
        self.page("/health").is_ok_and(|answer| answer.starts_with("HTTP/1.1 200 "))
    }

    /// What is answered over HTTP, head and all.
    fn page(&self, path: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(self.health)?;
        stream.set_read_timeout(Some(HEALTHY_MAX))?;
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// What `holdfast status` says.
    pub(crate) fn status(&self) -> Result<Value> {
        let said = self.home.program.ask(&self.home.dir, &["--json", "status"])?;
        serde_json::from_str(&said).context("a status is JSON")
    }

    /// Returns when every projection has applied what is in the log.
    pub(crate) fn wait_until_caught_up(&self) -> Result<()> {
        wait("the index did not catch up", || {
            let status = self.status()?;
            let projections = status["projections"].as_array().context("a status has projections")?;
            Ok(!projections.is_empty() && projections.iter().all(|p| p["behind"] == 0))
        })
    }

    /// Returns when the whole journal has been checked once, by this daemon or one before it.
    pub(crate) fn wait_until_verified(&self) -> Result<()> {
        wait("the journal was not checked", || {
            Ok(self.page("/metrics")?.contains("holdfast_verify_finished_seconds"))
        })
    }

    /// Stops it in good order. That something was left unfinished is in good order too.
    pub(crate) fn stop(mut self) -> Result<()> {
        kill_process(self.os_pid()?, Signal::TERM)?;
        let began = Instant::now();
        while began.elapsed() < STOP_MAX {
            if let Some(status) = self.child.try_wait()? {
                ensure!(
                    matches!(status.code(), Some(0 | 1)),
                    "a daemon ended with {status}: {}",
                    self.home.log_end()
                );
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        bail!("a daemon did not stop: {}", self.home.log_end())
    }

    fn os_pid(&self) -> Result<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).context("a process has a number")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Both fail when it has ended, and then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait(otherwise: &str, mut done: impl FnMut() -> Result<bool>) -> Result<()> {
    let began = Instant::now();
    while !done()? {
        ensure!(began.elapsed() < WORK_MAX, "{otherwise} within {} s", WORK_MAX.as_secs());
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// An address nobody listens on. Somebody else could take it before the daemon does; then the start fails.
pub(crate) fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    Ok(listener.local_addr()?)
}
