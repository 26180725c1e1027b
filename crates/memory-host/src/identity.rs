//! The identity document on the disk: read, and changed by what was approved. It is written before the change is logged, and it is not made
//! from the journal: it lies where whoever keeps the agent's files says.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_durable::Mode;
use holdfast_memory::event::{Event, IdentityChanged};
use holdfast_memory::identity::{BYTES_MAX, Changed, Granted, Identity, Proposal, Section, TEMPLATE};
use holdfast_types::Actor;

use crate::agent::AgentName;
use crate::error::{Error, Result};
use crate::memories::Memories;
use crate::sealed;

/// Of a diff so much is logged: a line of the journal has 64 KiB, and escapes need room.
const DIFF_MAX: usize = 16 * 1024;
/// Another change is over in a moment.
const LOCK_WITHIN: Duration = Duration::from_secs(5);

/// Where an agent's identity document is.
#[derive(Clone, Debug)]
pub struct IdentityFile {
    path: PathBuf,
}

impl IdentityFile {
    pub fn at(path: &Path) -> IdentityFile {
        IdentityFile { path: path.to_owned() }
    }

    /// The document; the template is written where there is none.
    pub fn load(&self) -> Result<Identity> {
        match self.read()? {
            Some(text) => Ok(Identity::load(&text)?),
            None => {
                self.write(TEMPLATE)?;
                Ok(Identity::load(TEMPLATE)?)
            }
        }
    }

    /// Carries out a change that a person approved, for the very document it was proposed for, and logs it once it is written.
    pub fn apply(
        &self,
        memories: &Memories,
        agent: &AgentName,
        proposal: &Proposal,
        granted: &Granted,
        by: &Actor,
    ) -> Result<Changed> {
        let _one_at_a_time = self.locked()?;
        let changed = self.load()?.apply(proposal, granted, memories.options.clock.now())?;
        self.write(changed.identity.text())?;
        let sections = changed.sections.iter().map(|section: &Section| section.title().to_owned()).collect();
        let event = Event::IdentityChanged(IdentityChanged {
            version: changed.identity.version.to_string(),
            from: changed.from,
            to: changed.to,
            sections,
            diff: short(&changed.diff.to_string()),
        });
        memories.options.journal.append(&sealed::happened(&event, by.clone(), agent.id())?)?;
        Ok(changed)
    }

    fn read(&self) -> Result<Option<String>> {
        let file = match std::fs::File::open(&self.path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(self.failed(source)),
        };
        let mut text = String::new();
        // One more than may be there, so that too many are noticed.
        file.take(BYTES_MAX as u64 + 1).read_to_string(&mut text).map_err(|source| self.failed(source))?;
        Ok(Some(text))
    }

    fn write(&self, text: &str) -> Result<()> {
        if let Some(parent) = self.path.parent() {
            holdfast_durable::create_dir(parent).map_err(|source| self.failed(source))?;
        }
        holdfast_durable::replace(&self.path, text.as_bytes(), Mode::Private).map_err(|e| self.failed(e))
    }

    fn locked(&self) -> Result<std::fs::File> {
        let mut name = self.path.as_os_str().to_owned();
        name.push(".lock");
        let open = OpenOptions::new().create(true).truncate(false).write(true).open(PathBuf::from(name));
        let file = open.map_err(|source| self.failed(source))?;
        match holdfast_durable::lock_within(&file, LOCK_WITHIN) {
            Ok(true) => Ok(file),
            Ok(false) => Err(self.failed(std::io::Error::other("another change of it is going on"))),
            Err(source) => Err(self.failed(source)),
        }
    }

    fn failed(&self, source: std::io::Error) -> Error {
        Error::File { path: self.path.clone(), source }
    }
}

fn short(diff: &str) -> String {
    let end = (0..=DIFF_MAX.min(diff.len())).rev().find(|at| diff.is_char_boundary(*at)).unwrap_or(0);
    diff[..end].to_owned()
}
