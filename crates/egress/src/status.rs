//! How it is, in a file that anybody may read; and what the next life of the program goes on from, in one that only it can.

use std::path::Path;
use std::time::Duration;

use holdfast_durable::{Mode, replace, replace_passing};
use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};

use crate::book::Known;
use crate::refusals::Row;

const FILE: &str = "status.json";
const MEMORY: &str = "memory.json";
const BYTES_MAX: u64 = 8 << 20;
/// It is written every ten seconds; one that is older was written by a program that has ended.
pub const STALE_AFTER: Duration = Duration::from_secs(60);

/// How it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub version: u32,
    pub at: Timestamp,
    /// Whether the filter has our rules, as they should be.
    pub in_force: bool,
    /// When the rules were last given to the filter.
    #[serde(default)]
    pub loaded_at: Option<Timestamp>,
    /// When a name was last looked up.
    #[serde(default)]
    pub refreshed_at: Option<Timestamp>,
    /// How often somebody else had changed the rules, and they were put back.
    pub restored: u64,
    /// What is wrong, in sentences.
    pub trouble: Vec<String>,
    pub users: Vec<UserStatus>,
    pub names: Vec<Known>,
    pub refusals: Vec<Row>,
    /// Packets to destinations that are not among `refusals`, which has only so many.
    pub refusals_unlisted: u64,
    /// What no setting names and is open for a while.
    #[serde(default)]
    pub lent: Vec<Lent>,
}

/// A place that is lent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lent {
    pub destination: String,
    pub reason: String,
    pub until: Timestamp,
    /// The filter lets it through. A name has to have an address for it.
    pub is_open: bool,
}

/// How it is for one user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserStatus {
    pub user: String,
    pub uid: u32,
    /// How many addresses with port and protocol it may reach.
    pub places: usize,
    /// Packets refused since the program runs, told of or not.
    pub refused_packets: u64,
}

impl Status {
    /// What the program last wrote; nothing where it never ran since the boot.
    pub fn read(run: &Path) -> std::io::Result<Option<Status>> {
        let path = run.join(FILE);
        match std::fs::metadata(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
            Ok(about) if about.len() > BYTES_MAX => return Err(std::io::Error::other("it is too large")),
            Ok(_) => {}
        }
        serde_json::from_slice(&std::fs::read(&path)?).map(Some).map_err(std::io::Error::other)
    }

    pub(crate) fn write(&self, run: &Path) -> std::io::Result<()> {
        let bytes = serde_json::to_vec(self).map_err(std::io::Error::other)?;
        replace_passing(&run.join(FILE), &bytes, Mode::Readable)
    }

    /// Takes it away; one that is not there is fine.
    pub fn forget(run: &Path) -> std::io::Result<()> {
        match std::fs::remove_file(run.join(FILE)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    /// Whether the program that wrote it still lives, as far as a clock can say.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        now >= self.at && now.since(self.at) > STALE_AFTER
    }
}

/// What outlives the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Memory {
    pub(crate) names: Vec<Known>,
    pub(crate) refusals: Vec<Row>,
    /// The configuration that was last believed.
    #[serde(default)]
    pub(crate) config: Option<String>,
}

impl Memory {
    /// One that cannot be read is none: names are asked for again.
    pub(crate) fn read(state: &Path) -> Memory {
        let path = state.join(MEMORY);
        let fits = std::fs::metadata(&path).is_ok_and(|about| about.len() <= BYTES_MAX);
        let bytes = if fits { std::fs::read(&path).unwrap_or_default() } else { Vec::new() };
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    pub(crate) fn write(&self, state: &Path) -> std::io::Result<()> {
        let bytes = serde_json::to_vec(self).map_err(std::io::Error::other)?;
        replace(&state.join(MEMORY), &bytes, Mode::Private)
    }
}
