//! The hand that changes what the tripwire is told: its own program, `holdfast-tripwire charge`.
//!
//! In a system install those files are root's, and a command of root works as the service's user. So the hand is reached out
//! before root is given away, and does nothing until it is asked; elsewhere it is the caller's own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use holdfast_config as config;
use holdfast_tripwire::charge::{Answer, Places as Work, Request, SETTINGS};

use super::Fault;
use super::person::here;
use super::pipe::Pipe;
use crate::owner::gives_away;
use crate::places::Places;

/// All ways back are tried, three times at most, and a service is started.
const ANSWER_WITHIN: Duration = Duration::from_secs(400);

/// Where a guard of this home works and what it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Post {
    pub(crate) settings: PathBuf,
    pub(crate) work: Work,
    /// It is a service of this machine, and its files are root's.
    pub(crate) is_system: bool,
}

impl Post {
    /// In a system install where the package has it; else below the home, unless the configuration says otherwise.
    pub(crate) fn of(places: &Places, steward: &config::Steward) -> Post {
        let is_system = places.home.is_none();
        let said = |path: &Option<config::AbsolutePath>, usual: PathBuf| {
            path.as_ref().map_or(usual, |path| path.as_path().to_owned())
        };
        let (settings, windows, state, run): (PathBuf, PathBuf, PathBuf, PathBuf) = match is_system {
            true => (
                SETTINGS.into(),
                "/var/lib/holdfast-windows".into(),
                "/var/lib/holdfast-tripwire".into(),
                "/run/holdfast-tripwire".into(),
            ),
            false => (
                places.etc.join("tripwire").join("tripwire.json"),
                places.state.join("windows"),
                places.state.join("tripwire"),
                places.run.join("tripwire"),
            ),
        };
        let work = Work {
            windows: said(&steward.tripwire.windows, windows),
            state,
            run: said(&steward.tripwire.hearts, run),
        };
        Post { settings, work, is_system }
    }
}

/// Reached out, and waiting to be asked.
#[derive(Debug)]
pub(crate) struct Hand(Pipe);

impl Hand {
    /// Root's, where this process is about to become the service's user.
    pub(crate) fn of_root(places: &Places) -> Option<Hand> {
        gives_away(places).then(|| Hand::reached_out(Path::new(SETTINGS)).ok()).flatten()
    }

    /// The caller's own.
    pub(crate) fn own(post: &Post) -> Result<Hand, Fault> {
        if post.is_system && !rustix::process::geteuid().is_root() {
            return Err(Fault::NotRoot);
        }
        Hand::reached_out(&post.settings)
    }

    fn reached_out(settings: &Path) -> Result<Hand, Fault> {
        let program = program().map_err(here("finding holdfast-tripwire beside this program"))?;
        let mut command = Command::new(&program);
        command.arg("charge").arg(settings);
        Pipe::open(command).map(Hand).map_err(here(&program.display().to_string()))
    }

    /// One request, one answer.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Answer, Fault> {
        let wrong = |said: &str| Fault::Here { what: "holdfast-tripwire".to_owned(), said: said.to_owned() };
        self.0.ask(request, ANSWER_WITHIN).map_err(wrong)
    }
}

/// Beside this program, as everything of a release is.
pub(crate) fn program() -> std::io::Result<PathBuf> {
    let beside = std::env::current_exe()?.with_file_name("holdfast-tripwire");
    match beside.is_file() {
        true => Ok(beside),
        false => Err(std::io::Error::new(
            std::io::ErrorKind::NotFound,
            format!("{} is not there", beside.display()),
        )),
    }
}
