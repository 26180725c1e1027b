//! A script of `lab/` that holds machines: it says one line when they are up, and ends them when its standard
//! input ends, so also when we are killed.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use rustix::process::geteuid;

use super::LabError;
use super::bounded::wait_within;

/// Stopping a container takes a second, and ten at most.
const END_WITHIN: Duration = Duration::from_secs(30);
const LINE_LEN_MAX: u64 = 100;

#[derive(Debug)]
pub(super) struct Held {
    script: Child,
    open: Option<ChildStdin>,
    /// What it said when they were up.
    pub(super) said: String,
}

impl Held {
    /// As root. What it says besides goes to a file in the folder.
    pub(super) fn start(name: &str, arguments: &[&str], folder: &Path) -> Result<Held, LabError> {
        let failed = |e: &dyn std::fmt::Display| LabError::new(format!("lab/{name}: {e}"));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab").join(name);
        let log = folder.join("lab.log");
        let mut command = as_root(script.to_str().ok_or_else(|| failed(&"its path is no text"))?);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(File::create(&log).map_err(|e| failed(&e))?);
        let mut script = command.spawn().map_err(|e| failed(&e))?;
        let (open, stdout) = (script.stdin.take(), script.stdout.take());
        let said = stdout.map(first_line).unwrap_or_default();
        if said.is_empty() {
            let _status = script.wait();
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            return Err(failed(&log.trim().trim_start_matches("lab: ")));
        }
        Ok(Held { script, open, said })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.open = None;
        if !matches!(wait_within(&mut self.script, END_WITHIN), Ok(Some(_))) {
            // What it started is tied to it.
            let _already_gone = self.script.kill();
            let _status = self.script.wait();
        }
    }
}

/// The program as root, or through sudo where that asks nothing.
pub(super) fn as_root(program: &str) -> Command {
    if geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("sudo");
    command.args(["-n", "--", program]);
    command
}

/// Empty when it ended instead.
fn first_line(stdout: impl Read) -> String {
    let mut line = String::new();
    let _unreadable = BufReader::new(stdout.take(LINE_LEN_MAX)).read_line(&mut line);
    line.trim_end().to_owned()
}
