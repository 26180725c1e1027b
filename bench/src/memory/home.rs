//! A home with memory in it, as the product opens one: a journal, a vault beside it, and the spaces.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use holdfast_embed::Model;
use holdfast_journal::{Journal, SystemClock, Vault};
use holdfast_memory::Gates;
use holdfast_memory_host::{AgentName, By, Line, Memories, Options, Screened};
use holdfast_screen::GuardScreen;
use holdfast_types::Trust;
use serde_json::Value;

use crate::house::House;
use crate::tools::tools_dir;

/// Lines that are imported with one call.
const AT_ONCE: usize = 8192;

/// Where it lies.
#[derive(Clone, Debug)]
pub(super) struct Home {
    root: PathBuf,
}

impl Home {
    pub(super) fn create(root: &Path) -> Result<Home> {
        std::fs::create_dir_all(root).with_context(|| format!("making {}", root.display()))?;
        House::create(&root.join("journal"))?;
        Vault::create(&root.join("vault")).context("making a vault")?;
        Ok(Home::at(root))
    }

    pub(super) fn at(root: &Path) -> Home {
        Home { root: root.to_owned() }
    }

    pub(super) fn journal(&self) -> Result<Journal> {
        let mut options = House::at(&self.root.join("journal")).options();
        options.vault = Some(Vault::open(&self.root.join("vault")).context("opening a vault")?);
        Journal::open(options).context("opening a journal")
    }

    pub(super) fn memories(&self, model: Option<Arc<Model>>) -> Result<Memories> {
        self.memories_on(self.journal()?, model)
    }

    /// On a journal that is open.
    pub(super) fn memories_on(&self, journal: Journal, model: Option<Arc<Model>>) -> Result<Memories> {
        let options = Options {
            journal,
            folder: self.root.join("memory"),
            clock: Arc::new(SystemClock::new()),
            redactor: Arc::new(Screened(Arc::new(GuardScreen::builtin()))),
            gates: Gates::capture(),
            model,
        };
        Memories::open(options).context("opening a memory")
    }

    /// Where an agent's table and indexes are.
    pub(super) fn folder_of(&self, agent: &AgentName) -> PathBuf {
        self.root.join("memory").join(agent.id().to_string())
    }
}

/// Imports, as anybody does.
pub(super) fn import(
    memories: &Memories,
    agent: &AgentName,
    lines: impl Iterator<Item = Value>,
) -> Result<()> {
    let mut lines = lines.map(|line| Ok(Line::parse(&line.to_string())?)).peekable();
    while lines.peek().is_some() {
        let some = lines.by_ref().take(AT_ONCE).collect::<Result<Vec<_>>>()?;
        memories.import(agent, some, &by()?, false)?;
    }
    Ok(())
}

pub(super) fn by() -> Result<By> {
    Ok(By { actor: "ana".parse()?, owner: "ana".parse()?, trust: Trust::Trusted })
}

/// The folder `scripts/model.sh` fills, or the one `HOLDFAST_MODEL` names; nothing where the model is not.
pub(super) fn model_folder() -> Option<PathBuf> {
    let folder = match std::env::var_os("HOLDFAST_MODEL") {
        Some(folder) => PathBuf::from(folder),
        None => tools_dir().ok()?.join("models/all-minilm-l6-v2"),
    };
    folder.join(holdfast_embed::WEIGHTS.name).is_file().then_some(folder)
}
