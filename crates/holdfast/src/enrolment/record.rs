//! What is done when a host is taken in, written down before it is done: `state/steward/NAME/enrolment.json`.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use holdfast_durable::Mode;
use holdfast_steward::setting::UnitName;
use serde::{Deserialize, Serialize};

use super::Fault;
use super::configure::Inserted;
use super::guard::Guarded;
use super::inventory::Inventory;
use super::person::here;
use crate::places::Places;

pub(crate) const VERSION: u32 = 1;
const FILE: &str = "enrolment.json";
/// A record is a page of text.
const BYTES_MAX: u64 = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    pub(crate) version: u32,
    pub(crate) target: String,
    /// The account of the person, and where it is.
    pub(crate) user: String,
    pub(crate) host: String,
    pub(crate) address: String,
    pub(crate) port: u16,
    /// Whether that account is root itself.
    pub(crate) is_root: bool,
    /// The fingerprint that a person has seen.
    pub(crate) host_key: String,
    pub(crate) units: Vec<UnitName>,
    pub(crate) endpoint: Option<String>,
    pub(crate) from: Vec<IpAddr>,
    pub(crate) os: String,
    /// What was found there on the first day; nothing in a record of an earlier release.
    #[serde(default)]
    pub(crate) inventory: Option<Inventory>,
    pub(crate) began: String,
    /// In the order in which it was begun.
    pub(crate) begun: Vec<Step>,
    /// All of it was done and proved.
    pub(crate) finished: bool,
    /// What was put into config.yaml.
    pub(crate) config: Option<Inserted>,
    /// What was done for its guard, where it has one.
    #[serde(default)]
    pub(crate) guard: Option<Guarded>,
}

/// What can be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    Keys,
    Program,
    Arrival,
    Config,
    Guard,
}

impl Record {
    /// The folder of a target: its keys, its pinned host key, this record.
    pub(crate) fn folder(places: &Places, name: &str) -> PathBuf {
        places.state.join("steward").join(name)
    }

    pub(crate) fn read(places: &Places, name: &str) -> Result<Record, Fault> {
        let path = Record::folder(places, name).join(FILE);
        let unknown = || Fault::Unknown { name: name.to_owned(), known: known(places) };
        match std::fs::metadata(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(unknown()),
            Ok(meta) if meta.len() > BYTES_MAX => return Err(unknown()),
            _ => {}
        }
        let bytes = std::fs::read(&path).map_err(here(&format!("reading {}", path.display())))?;
        serde_json::from_slice(&bytes).map_err(|e| Fault::Here {
            what: format!("{} cannot be read", path.display()),
            said: e.to_string(),
        })
    }

    pub(crate) fn write(&self, places: &Places) -> Result<(), Fault> {
        let folder = Record::folder(places, &self.target);
        let what = format!("writing {}", folder.join(FILE).display());
        let bytes = serde_json::to_vec_pretty(self)
            .map_err(|e| Fault::Here { what: what.clone(), said: e.to_string() })?;
        holdfast_durable::create_dir(&folder)
            .and_then(|()| holdfast_durable::replace(&folder.join(FILE), &bytes, Mode::Private))
            .map_err(here(&what))
    }

    /// Whether somebody guards it, and not by half.
    pub(crate) fn is_guarded(&self) -> bool {
        self.guard.as_ref().is_some_and(|guard| guard.finished)
    }

    /// The port, where it is not ssh's own: then the person's configuration counts.
    pub(crate) fn named_port(&self) -> Option<u16> {
        (self.port != 22).then_some(self.port)
    }

    /// Written down before it is done.
    pub(crate) fn begin(&mut self, step: Step, places: &Places) -> Result<(), Fault> {
        if !self.begun.contains(&step) {
            self.begun.push(step);
        }
        self.write(places)
    }

    pub(crate) fn ended(&mut self, step: Step) {
        self.begun.retain(|it| *it != step);
    }

    pub(crate) fn remove(folder: &Path) -> std::io::Result<()> {
        holdfast_durable::remove(&folder.join(FILE))
    }
}

/// The targets that were taken in by this program.
pub(crate) fn known(places: &Places) -> Vec<String> {
    let entries = std::fs::read_dir(places.state.join("steward")).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().join(FILE).is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}
