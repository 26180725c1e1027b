//! What the tests of the cage share: a folder to work in, a user to be, and a run with everything that came of it.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

pub mod scene;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use holdfast_cage::host::Host;
use holdfast_cage::{
    CageError, Call, Evidence, Identity, Input, Launcher, Layer, Machine, Plan, Policy, Running, Sinks,
};
use tempfile::TempDir;

/// Nobody on the machine has it.
pub const USER: u32 = 48_211;

pub fn launcher() -> Launcher {
    Launcher::at(env!("CARGO_BIN_EXE_holdfast-cage"))
}

pub fn host() -> &'static Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    HOST.get_or_init(|| launcher().host().unwrap())
}

pub fn identity() -> Identity {
    let uid = rustix::process::geteuid();
    if uid.is_root() {
        Identity { uid: USER, gid: USER }
    } else {
        Identity { uid: uid.as_raw(), gid: rustix::process::getegid().as_raw() }
    }
}

/// A folder that belongs to whoever the program is.
pub fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    own(folder.path());
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Gives a file or folder to whoever the program is.
pub fn own(path: &Path) {
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(path, Some(USER), Some(USER)).unwrap();
    }
}

/// What a stream said.
#[derive(Clone, Debug, Default)]
pub struct Kept(pub Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Kept {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

/// A program to be run in a cage.
pub struct Trial {
    pub policy: Policy,
    pub work: PathBuf,
    pub environment: Vec<(String, String)>,
    pub off: Vec<Layer>,
}

/// Everything that came of it.
#[derive(Debug)]
pub struct Outcome {
    pub evidence: Evidence,
    pub out: String,
    pub err: String,
}

impl Trial {
    pub fn of(policy: &str, work: &Path) -> Trial {
        Trial {
            policy: Policy::named(policy).unwrap(),
            work: work.canonicalize().unwrap(),
            environment: vec![],
            off: vec![],
        }
    }

    pub fn limited(mut self, change: impl FnOnce(&mut holdfast_cage::Limits)) -> Trial {
        change(&mut self.policy.limits);
        self
    }

    pub fn plan(&self, argv: &[&str]) -> Plan {
        let call = Call {
            argv: argv.iter().map(|a| (*a).to_owned()).collect(),
            work: self.work.clone(),
            identity: identity(),
            environment: self.environment.clone(),
        };
        Plan::of(&self.policy, &call, host(), &Machine).unwrap().without(&self.off)
    }

    pub fn start(&self, argv: &[&str]) -> Result<(Running, Kept, Kept), CageError> {
        let (out, err) = (Kept::default(), Kept::default());
        let sinks = Sinks { output: Box::new(out.clone()), errors: Box::new(err.clone()) };
        let running = launcher().start(&self.plan(argv), &self.policy, Input::Nothing, sinks)?;
        Ok((running, out, err))
    }

    pub fn try_run(&self, argv: &[&str]) -> Result<Outcome, CageError> {
        let (running, out, err) = self.start(argv)?;
        let evidence = running.wait()?;
        Ok(Outcome { evidence, out: out.text(), err: err.text() })
    }

    pub fn run(&self, argv: &[&str]) -> Outcome {
        self.try_run(argv).unwrap_or_else(|e| panic!("{argv:?}: {e}"))
    }

    pub fn sh(&self, script: &str) -> Outcome {
        self.run(&["sh", "-c", script])
    }
}

/// Waits until something is so.
pub fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(10), "{what} did not come about");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Processes of the user programs are run as, by what they were started with. Only root's tests have a user of their own.
pub fn left_behind(marker: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(marker))
        .collect()
}
