//! The library `ruptures`, where it is installed: series go in, its change points and the seconds it took come out.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::json;

use crate::step;
use crate::tools::peers_dir;

/// The fewest samples of a regime, for everybody.
pub(super) const MIN_LENGTH: usize = 2;
const PROGRAM: &str = "yardstick/peers/ruptures_peer.py";

/// Its Python.
#[derive(Clone, Debug)]
pub(super) struct Ruptures {
    python: PathBuf,
}

/// One method on one series.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Answer {
    pub(super) change_points: Vec<usize>,
    pub(super) seconds: f64,
}

impl Ruptures {
    /// Nothing where it is not installed, which is said.
    pub(super) fn find() -> Option<Ruptures> {
        let found = python();
        if found.is_none() {
            step("ruptures is not installed (scripts/peers.sh), so it is not compared with");
        }
        found.map(|python| Ruptures { python })
    }

    /// What each of the methods says of each series, series by series.
    pub(super) fn ask(&self, series: &[(&[f64], f64)], methods: &[&str]) -> Result<Vec<Vec<Answer>>> {
        let mut child = Command::new(&self.python)
            .arg(PROGRAM)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting ruptures")?;
        let mut stdin = child.stdin.take().context("ruptures has no standard input")?;
        let tasks: Vec<String> = series
            .iter()
            .map(|(values, penalty)| {
                json!({"values": values, "penalty": penalty, "min_size": MIN_LENGTH, "methods": methods})
                    .to_string()
            })
            .collect();
        // Beside the reading: it answers while it is asked, and neither pipe holds it all.
        let asking = thread::spawn(move || tasks.iter().try_for_each(|task| writeln!(stdin, "{task}")));
        let done = child.wait_with_output()?;
        ensure!(done.status.success(), "ruptures ended with {}", done.status);
        asking.join().ok().context("asking ruptures")??;
        let lines = String::from_utf8(done.stdout)?;
        let answers: Vec<Answer> =
            lines.lines().map(serde_json::from_str).collect::<Result<_, _>>().context("reading ruptures")?;
        ensure!(answers.len() == series.len() * methods.len(), "ruptures left answers out");
        Ok(answers.chunks(methods.len()).map(<[Answer]>::to_vec).collect())
    }
}

fn python() -> Option<PathBuf> {
    let python = peers_dir().ok()?.join("python/bin/python");
    let has_it = Command::new(&python).args(["-c", "import ruptures"]).stderr(Stdio::null()).status().ok()?;
    has_it.success().then_some(python)
}
