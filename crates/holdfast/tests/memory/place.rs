//! A home whose memory is asked through a daemon, or by the commands themselves.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::home::{Home, Ran, run};
use crate::running::Running;

pub struct Place {
    pub home: Home,
    pub daemon: Option<Running>,
    model: Option<PathBuf>,
}

impl Place {
    /// One without a daemon and one with, neither of which has a model.
    pub fn both() -> [Place; 2] {
        [Place::new(Daemon::None, None), Place::new(Daemon::Runs, None)]
    }

    pub fn both_with_the_model() -> [Place; 2] {
        [Place::new(Daemon::None, Some(model())), Place::new(Daemon::Runs, Some(model()))]
    }

    pub fn new(daemon: Daemon, model: Option<PathBuf>) -> Place {
        let home = Home::made("web-1");
        let daemon = (daemon == Daemon::Runs).then(|| {
            Running::with(&home, |command| match &model {
                Some(folder) => command.env("HOLDFAST_MODEL", folder),
                None => command,
            })
        });
        Place { home, daemon, model }
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(&[&["memory"], args].concat());
        if let Some(folder) = &self.model {
            command.env("HOLDFAST_MODEL", folder);
        }
        command
    }

    pub fn memory(&self, args: &[&str]) -> Ran {
        run(self.command(args), None)
    }

    pub fn memory_with(&self, args: &[&str], input: &str) -> Ran {
        run(self.command(args), Some(input.as_bytes()))
    }

    #[track_caller]
    pub fn json(&self, args: &[&str]) -> Value {
        self.memory(&[args, &["--json"]].concat()).ok().json()
    }

    /// Remembers a text and gives its id.
    #[track_caller]
    pub fn add(&self, text: &str, more: &[&str]) -> String {
        self.json(&[&["add", text], more].concat())["id"].as_str().unwrap().to_owned()
    }

    /// Writes a file beside the home.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.home.beside(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    }

    /// The answers to a batch, a line each.
    #[track_caller]
    pub fn batch(&self, queries: &str, more: &[&str]) -> Vec<Value> {
        let ran = self.memory_with(&[&["search", "--batch", "-"], more].concat(), queries).ok();
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The texts that a question finds.
    pub fn found(&self, query: &str, more: &[&str]) -> Vec<String> {
        let ran = self.memory(&[&["search", query, "--json"], more].concat());
        assert!([0, 1].contains(&ran.code), "{}", ran.err);
        let hits = match ran.out.is_empty() {
            true => Vec::new(),
            false => ran.json()["hits"].as_array().unwrap().clone(),
        };
        hits.iter().map(|hit| hit["text"].as_str().unwrap().to_owned()).collect()
    }

    /// Nobody has the home open any more, and all of it is on the disk.
    pub fn closed(mut self) -> Home {
        if let Some(daemon) = self.daemon.take() {
            daemon.terminated().well();
        }
        self.home
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Daemon {
    None,
    Runs,
}

/// The folder `scripts/model.sh` fills, or the one `HOLDFAST_MODEL` names.
pub fn model() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = || set("XDG_CACHE_HOME").unwrap_or_else(|| set("HOME").unwrap().join(".cache"));
    let tools = || set("HOLDFAST_TOOLS").unwrap_or_else(|| cache().join("holdfast/tools"));
    let folder = set("HOLDFAST_MODEL").unwrap_or_else(|| tools().join("models/all-minilm-l6-v2"));
    assert!(folder.is_dir(), "no model: run scripts/model.sh (`make lab` does), or set HOLDFAST_MODEL");
    folder
}

/// The file below a folder that has these bytes, however they are written.
pub fn holds(folder: &Path, needle: &str) -> Option<PathBuf> {
    let needle = needle.to_ascii_lowercase();
    let mut todo = vec![folder.to_owned()];
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.is_file() {
            let bytes = std::fs::read(&path).unwrap().to_ascii_lowercase();
            if bytes.windows(needle.len()).any(|part| part == needle.as_bytes()) {
                return Some(path);
            }
        }
    }
    None
}
