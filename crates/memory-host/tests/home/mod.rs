//! A house whose memory is open, and words for what is done with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use holdfast_embed::Model;
use holdfast_guard::Settings;
use holdfast_memory::{Draft, EntryType, Gates, MemoryId, RawDraft, Record, Redactor, Scope, Source};
use holdfast_memory_host::{AgentName, Ask, By, Found, Memories, Only, Options, Outcome, Screened};
use holdfast_screen::{GuardScreen, PersonalData, Rules};
use holdfast_testkit::house::House;
use holdfast_types::Trust;

pub struct Home {
    pub memories: Memories,
    pub house: House,
}

pub fn agent(name: &str) -> AgentName {
    name.parse().unwrap()
}

pub fn by() -> By {
    By { actor: "ana".parse().unwrap(), owner: "ana".parse().unwrap(), trust: Trust::Trusted }
}

/// The folder `scripts/model.sh` fills, or the one `HOLDFAST_MODEL` names.
pub fn model() -> Arc<Model> {
    let cache = || {
        let home = PathBuf::from(std::env::var_os("HOME").unwrap());
        let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(|| home.join(".cache"), PathBuf::from);
        let tools =
            std::env::var_os("HOLDFAST_TOOLS").map_or_else(|| cache.join("holdfast/tools"), PathBuf::from);
        tools.join("models/all-minilm-l6-v2")
    };
    let folder = std::env::var_os("HOLDFAST_MODEL").map_or_else(cache, PathBuf::from);
    let missing = |e| panic!("{e}: run scripts/model.sh (`make lab` does), or set HOLDFAST_MODEL");
    Arc::new(Model::open(&folder).unwrap_or_else(missing))
}

impl Home {
    pub fn new(model: Option<Arc<Model>>) -> Home {
        Home::of(House::new(), model)
    }

    pub fn of(house: House, model: Option<Arc<Model>>) -> Home {
        let memories = opened(&house, model);
        Home { memories, house }
    }

    /// The house, with nobody in it.
    pub fn closed(self) -> House {
        self.house
    }

    /// As after a restart.
    pub fn again(self, model: Option<Arc<Model>>) -> Home {
        self.again_after(model, || {})
    }

    /// The same, with something that happens in between.
    pub fn again_after(self, model: Option<Arc<Model>>, between: impl FnOnce()) -> Home {
        let Home { memories, house } = self;
        drop(memories);
        between();
        let memories = opened(&house, model);
        Home { memories, house }
    }

    /// As after a restart with other rules about what may be stored.
    pub fn again_with(self, redactor: Arc<dyn Redactor + Send + Sync>) -> Home {
        let Home { memories, house } = self;
        drop(memories);
        let memories = opened_with(&house, None, redactor);
        Home { memories, house }
    }

    pub fn folder(&self) -> PathBuf {
        folder(&self.house)
    }

    pub fn capture(&self, name: &str, text: &str) -> Outcome {
        self.memories.capture(&agent(name), draft(text), &by(), None).unwrap()
    }

    #[track_caller]
    pub fn remember(&self, name: &str, text: &str) -> MemoryId {
        match self.capture(name, text) {
            Outcome::Captured(captured) => captured.id,
            other => panic!("{text}: {other:?}"),
        }
    }

    /// Remembers what a test made itself.
    #[track_caller]
    pub fn keep(&self, name: &str, raw: RawDraft, by: &By) -> MemoryId {
        match self.memories.capture(&agent(name), Draft::try_from(raw).unwrap(), by, None).unwrap() {
            Outcome::Captured(captured) => captured.id,
            other => panic!("{other:?}"),
        }
    }

    pub fn search(&self, name: &str, query: &str) -> Found {
        self.search_only(name, query, &Only::default())
    }

    pub fn search_only(&self, name: &str, query: &str, only: &Only) -> Found {
        let name = agent(name);
        self.memories.search(&Ask { agent: &name, query, top: 10, only, now: None }).unwrap()
    }

    pub fn ids(&self, name: &str, query: &str) -> Vec<MemoryId> {
        self.search(name, query).hits.into_iter().map(|hit| hit.row.id).collect()
    }
}

fn folder(house: &House) -> PathBuf {
    house.state().join("memory")
}

fn opened(house: &House, model: Option<Arc<Model>>) -> Memories {
    // As where the settings say that people are taken out too.
    let rules = Rules::new(&Settings::default(), PersonalData::Redact).unwrap();
    opened_with(house, model, Arc::new(Screened(Arc::new(GuardScreen::new(Arc::new(rules))))))
}

fn opened_with(
    house: &House,
    model: Option<Arc<Model>>,
    redactor: Arc<dyn Redactor + Send + Sync>,
) -> Memories {
    Memories::open(Options {
        journal: house.open(),
        folder: folder(house),
        clock: Arc::new(house.clock.clone()),
        redactor,
        gates: Gates::capture(),
        model,
    })
    .unwrap()
}

pub fn draft(text: &str) -> Draft {
    Draft::try_from(raw(text)).unwrap()
}

/// A fact, of which a test changes what matters to it.
pub fn raw(text: &str) -> RawDraft {
    RawDraft {
        entry_type: EntryType::Fact,
        content: text.to_owned(),
        source: Source::Conversation,
        confidence: 0.9,
        scope: Scope::Project,
        tags: Vec::new(),
        source_id: None,
        record: Record::default(),
    }
}

/// How often files in a folder have these bytes.
pub fn count(folder: &Path, needle: &str) -> usize {
    let files =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|it| it.is_file());
    let in_file = |path: PathBuf| {
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(needle.len()).filter(|part| *part == needle.as_bytes()).count()
    };
    files.map(in_file).sum()
}

/// Whether any file below a folder has these bytes.
pub fn holds(folder: &Path, needle: &str) -> Option<PathBuf> {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let found = match path.is_dir() {
            true => holds(&path, needle),
            false => {
                let bytes = std::fs::read(&path).unwrap().to_ascii_lowercase();
                let needle = needle.to_ascii_lowercase();
                bytes.windows(needle.len()).any(|part| part == needle.as_bytes()).then(|| path.clone())
            }
        };
        if found.is_some() {
            return found;
        }
    }
    None
}
