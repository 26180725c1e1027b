//! What is asked of `git`: all of it through `holdfast-git`, which runs nothing of the repository and fetches nothing.
//!
//! In a hook, the environment says which index the commit is made from; those few variables reach git, and no other.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use holdfast_git::{Ask, Git, NotDone};

use crate::error::{Error, Result};

/// A list of changes may be long, and finding renames in it takes time.
const LIST_WITHIN: Duration = Duration::from_secs(120);
const LIST_BYTES_MAX: usize = 512 << 20;

/// A repository, with or without a work tree.
#[derive(Debug)]
pub struct Repository {
    git: Git,
    /// The root of the work tree, where there is one.
    top: Option<PathBuf>,
    is_partial: OnceLock<bool>,
}

impl Repository {
    /// The repository around a path.
    pub fn around(path: &Path) -> Result<Repository> {
        let dir = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        // Asked here first: whether there is a repository is no question of whether git is installed.
        let told = std::env::var_os("GIT_DIR").is_some();
        if !told && !holdfast_git::surround(dir) {
            return Err(Error::NoRepository { path: path.to_owned() });
        }
        let git = Git::around(dir).map_err(|e| of("where its parts are", e))?;
        let top = git.work_tree().map_err(|e| of("where the work tree begins", e))?;
        Ok(Repository { git, top, is_partial: OnceLock::new() })
    }

    /// The root of the work tree, where there is one.
    pub fn top(&self) -> Option<&Path> {
        self.top.as_deref()
    }

    /// Where hooks lie: shared by all work trees, or where `core.hooksPath` says.
    pub(crate) fn hooks(&self) -> Result<PathBuf> {
        self.git.hooks().map_err(|e| of("where hooks lie", e))
    }

    /// Starts it for a caller who reads what it says.
    pub(crate) fn start(&self, asked: &'static str, arguments: &[&str], input: Stdio) -> Result<Child> {
        self.git.start(&Ask::new(asked, arguments), input).map_err(|e| of(asked, e))
    }

    /// What git says to this; anything but success is an error.
    pub(crate) fn answer(&self, asked: &'static str, arguments: &[&str]) -> Result<Vec<u8>> {
        let ask = Ask { within: LIST_WITHIN, output_max: LIST_BYTES_MAX, ..Ask::new(asked, arguments) };
        self.git.ask_bytes(ask).map_err(|e| of(asked, e))
    }

    /// The same about the index and objects. Nothing of the work tree is opened.
    pub(crate) fn answer_of_index(&self, asked: &'static str, arguments: &[&str]) -> Result<Vec<u8>> {
        let ask = Ask { within: LIST_WITHIN, output_max: LIST_BYTES_MAX, ..Ask::new(asked, arguments) };
        self.git.ask_bytes_beside(ask).map_err(|e| of(asked, e))
    }

    /// The commit of a name, if there is one.
    pub(crate) fn commit(&self, name: &str) -> Result<Option<String>> {
        self.object(&format!("{name}^{{commit}}"))
    }

    /// The id of an object by any name git takes, if there is one.
    pub(crate) fn object(&self, name: &str) -> Result<Option<String>> {
        const ASKED: &str = "which object has a name";
        let arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", name];
        match self.git.ask(Ask::new(ASKED, &arguments)) {
            Ok(text) => Ok(Some(text.trim().to_owned()).filter(|id| !id.is_empty())),
            Err(NotDone::Refused { .. }) => Ok(None),
            Err(e) => Err(of(ASKED, e)),
        }
    }

    /// The tree without an entry, which is what a first commit is compared with.
    pub(crate) fn empty_tree(&self) -> Result<String> {
        let id = self.answer("which tree is empty", &["hash-object", "-t", "tree", "--stdin"])?;
        Ok(String::from_utf8_lossy(&id).trim().to_owned())
    }

    /// Whether its history ends at commits that a file of it names.
    pub(crate) fn is_shallow(&self) -> Result<bool> {
        let said = self.answer("whether it is a shallow clone", &["rev-parse", "--is-shallow-repository"])?;
        Ok(said.trim_ascii() == b"true")
    }

    /// Whether objects may be missing on purpose: git would fetch them when they are wanted, and here does not.
    pub(crate) fn is_partial(&self) -> bool {
        *self.is_partial.get_or_init(|| {
            let partial = r"^(extensions\.partialclone|remote\..*\.(promisor|partialclonefilter))$";
            self.answer("whether it is a partial clone", &["config", "--get-regexp", partial]).is_ok()
        })
    }
}

/// The error of a question, in a scan's words.
fn of(asked: &'static str, e: NotDone) -> Error {
    match e {
        NotDone::NotRun(source) => Error::NoGit { source },
        NotDone::NotOurs { path, owner } => Error::NotYours { path, owner },
        NotDone::Waits { .. } | NotDone::Odd { .. } => Error::Unusable { why: e.to_string() },
        NotDone::Refused { said, .. } => Error::Git { asked, said },
        NotDone::TooLong { .. } | NotDone::TooMuch { .. } | NotDone::Cut { .. } => {
            Error::Git { asked, said: e.to_string() }
        }
    }
}

/// What git said, bounded, as the reason of an error.
pub(crate) fn refused(asked: &'static str, stderr: &[u8]) -> Error {
    Error::Git { asked, said: holdfast_git::why(stderr) }
}
