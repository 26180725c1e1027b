//! Runs `git`: argument lists, names separated by NUL, nothing of the user's configuration that changes the output.
//!
//! The environment is handed on as it is: in a hook, it says which index the commit is made from.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Error, Result};

/// A repository, with or without a work tree.
#[derive(Clone, Debug)]
pub struct Repository {
    /// Where git is run.
    dir: PathBuf,
    /// The root of the work tree, where there is one.
    top: Option<PathBuf>,
}

impl Repository {
    /// The repository around a path.
    pub fn around(path: &Path) -> Result<Repository> {
        let dir = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir }.to_owned();
        // Asked here first: whether there is a repository is no question of whether git is installed.
        let told = std::env::var_os("GIT_DIR").is_some();
        let absolute = std::path::absolute(&dir).unwrap_or_else(|_| dir.clone());
        if !told && !absolute.ancestors().any(is_repository) {
            return Err(Error::NoRepository { path: path.to_owned() });
        }
        let mut repository = Repository { dir, top: None };
        let bare =
            repository.answer("whether there is a work tree", ["rev-parse", "--is-inside-work-tree"])?;
        if bare.trim_ascii() == b"true" {
            let top = repository.answer("where the work tree begins", ["rev-parse", "--show-toplevel"])?;
            repository.top = Some(path_of(top.strip_suffix(b"\n").unwrap_or(&top)));
        }
        Ok(repository)
    }

    /// The root of the work tree, where there is one.
    pub fn top(&self) -> Option<&Path> {
        self.top.as_deref()
    }

    /// Where hooks lie: shared by all work trees, or where `core.hooksPath` says.
    pub(crate) fn hooks(&self) -> Result<PathBuf> {
        let path = self.answer("where hooks lie", ["rev-parse", "--git-path", "hooks"])?;
        let path = path_of(path.strip_suffix(b"\n").unwrap_or(&path));
        // What git says is seen from where it ran.
        Ok(if self.dir == Path::new(".") { path } else { self.dir.join(path) })
    }

    pub(crate) fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new("git");
        command
            .args(["--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-C"])
            .arg(&self.dir);
        command.args(arguments);
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// What git says to this; anything but success is an error.
    pub(crate) fn answer<A: AsRef<OsStr>>(
        &self,
        asked: &'static str,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>> {
        let output = self.command(arguments).output().map_err(|source| Error::NoGit { source })?;
        if output.status.success() { Ok(output.stdout) } else { Err(refused(asked, &output.stderr)) }
    }

    /// The commit of a name, if there is one.
    pub(crate) fn commit(&self, name: &str) -> Result<Option<String>> {
        self.object(&format!("{name}^{{commit}}"))
    }

    /// The id of an object by any name git takes, if there is one.
    pub(crate) fn object(&self, name: &str) -> Result<Option<String>> {
        let arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", name];
        let output = self.command(arguments).output().map_err(|source| Error::NoGit { source })?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok((output.status.success() && !text.is_empty()).then_some(text))
    }

    /// The tree without an entry, which is what a first commit is compared with.
    pub(crate) fn empty_tree(&self) -> Result<String> {
        let id = self.answer("which tree is empty", ["hash-object", "-t", "tree", "--stdin"])?;
        Ok(String::from_utf8_lossy(&id).trim().to_owned())
    }
}

/// What git said, bounded, as the reason of an error.
pub(crate) fn refused(asked: &'static str, stderr: &[u8]) -> Error {
    let said: String = String::from_utf8_lossy(stderr).trim().chars().take(400).collect();
    let said = if said.is_empty() { "it ended without a word".to_owned() } else { said };
    Error::Git { asked, said }
}

fn is_repository(dir: &Path) -> bool {
    let is_bare = || ["HEAD", "objects", "refs"].iter().all(|name| dir.join(name).exists());
    dir.join(".git").exists() || is_bare()
}

fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}
