//! The hook that puts a scan in front of every commit or push.
//!
//! A hook that is there already is kept: it moves aside under a name of its own, is called first, and is put back byte
//! for byte when ours goes. What holds at every moment: the kept hook exists under one of its two names. A crash in
//! the middle leaves [`Standing::Lost`], which installing or removing again puts right.

use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use holdfast_durable::Mode;

use crate::error::{Error, Result};
use crate::git::Repository;

/// Which of git's hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    PreCommit,
    PrePush,
}

/// How a hook stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Absent,
    /// Somebody else's is there, and ours is not.
    Foreign,
    /// Ours is there.
    Installed {
        /// Whether another hook was kept and is called first.
        keeps_another: bool,
        /// Whether it calls the program that asks.
        is_current: bool,
    },
    /// Only a kept hook is there, under its name aside: something was interrupted.
    Lost,
    /// Somebody put a hook in the place of ours, and a kept one is there too.
    TwoHooks,
}

/// What is or would be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    Installed { keeps_another: bool },
    Renewed,
    WasThere,
    Removed { puts_back: bool },
    WasNotThere,
}

/// Whether to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Only say what would be done.
    Plan,
    CarryOut,
}

/// By this line a hook is known as ours.
const MARK: &str = "# holdfast-hook 1:";
/// More of a hook is not read to find that line.
const READ_MAX: u64 = 64 << 10;

impl Hook {
    pub const ALL: [Hook; 2] = [Hook::PreCommit, Hook::PrePush];

    /// As git calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Hook::PreCommit => "pre-commit",
            Hook::PrePush => "pre-push",
        }
    }

    /// Where it lies in this repository.
    pub fn path(self, repository: &Repository) -> Result<PathBuf> {
        Ok(repository.hooks()?.join(self.name()))
    }

    /// How it stands; `program` is what it should call.
    pub fn standing(self, repository: &Repository, program: &Path) -> Result<Standing> {
        let path = self.path(repository)?;
        let keeps_another = is_there(&aside(&path))?;
        let text = match is_there(&path)? {
            true => Some(beginning(&path)?),
            false => None,
        };
        Ok(match text {
            None if keeps_another => Standing::Lost,
            None => Standing::Absent,
            Some(text) if is_ours(&text) => {
                Standing::Installed { keeps_another, is_current: text == self.script(program) }
            }
            Some(_) if keeps_another => Standing::TwoHooks,
            Some(_) => Standing::Foreign,
        })
    }

    /// Puts the hook in its place, and keeps the one that is there.
    pub fn install(self, repository: &Repository, program: &Path, deed: Deed) -> Result<Done> {
        let path = self.path(repository)?;
        let standing = self.standing(repository, program)?;
        let done = match standing {
            Standing::Absent => Done::Installed { keeps_another: false },
            Standing::Foreign | Standing::Lost => Done::Installed { keeps_another: true },
            Standing::Installed { is_current: true, .. } => return Ok(Done::WasThere),
            Standing::Installed { is_current: false, .. } => Done::Renewed,
            Standing::TwoHooks => return Err(Error::TwoHooks { path }),
        };
        if deed == Deed::CarryOut {
            self.put(&path, standing, program).map_err(|source| Error::Write { path, source })?;
        }
        Ok(done)
    }

    /// Takes the hook away, and puts back the one that was kept.
    pub fn remove(self, repository: &Repository, deed: Deed) -> Result<Done> {
        let path = self.path(repository)?;
        let (ours, puts_back) = match self.standing(repository, Path::new(""))? {
            Standing::Absent | Standing::Foreign => return Ok(Done::WasNotThere),
            Standing::Installed { keeps_another, .. } => (true, keeps_another),
            Standing::Lost => (false, true),
            Standing::TwoHooks => return Err(Error::TwoHooks { path }),
        };
        if deed == Deed::CarryOut {
            let take_away = || {
                if ours {
                    holdfast_durable::remove(&path)?;
                }
                if puts_back { holdfast_durable::move_to_new(&aside(&path), &path) } else { Ok(()) }
            };
            take_away().map_err(|source| Error::Write { path: path.clone(), source })?;
        }
        Ok(Done::Removed { puts_back })
    }

    fn put(self, path: &Path, standing: Standing, program: &Path) -> io::Result<()> {
        if let Some(hooks) = path.parent() {
            fs::create_dir_all(hooks)?;
        }
        // Made beside and whole before it gets its name: a hook that is not executable would be passed over by git.
        let new = path.with_file_name(format!("{}.holdfast-new", self.name()));
        holdfast_durable::replace(&new, &self.script(program), Mode::Readable)?;
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755))?;
        match standing {
            Standing::Foreign => holdfast_durable::move_to_new(path, &aside(path))?,
            Standing::Installed { .. } => holdfast_durable::remove(path)?,
            Standing::Absent | Standing::Lost | Standing::TwoHooks => {}
        }
        holdfast_durable::move_to_new(&new, path)
    }

    /// The hook itself: calls what was kept, then the program. If that is gone, it refuses and says the way out.
    fn script(self, program: &Path) -> Vec<u8> {
        let (deed, scan) = match self {
            Hook::PreCommit => ("commit", "exec \"$holdfast\" scan --staged --format lines\n"),
            Hook::PrePush => ("push", "say | \"$holdfast\" scan --pushed \"${1:-origin}\" --format lines\n"),
        };
        let (listen, before) = match self {
            Hook::PreCommit => ("", "\"$before\" \"$@\""),
            Hook::PrePush => (
                "told=$(cat)\nsay() { [ -z \"$told\" ] || printf '%s\\n' \"$told\"; }\n",
                "say | \"$before\" \"$@\"",
            ),
        };
        let mut script = format!(
            "#!/bin/sh\n\
             {MARK} made by `holdfast hook install`; `holdfast hook remove` puts back what was here before.\n\
             {listen}\
             before=\"${{0%/*}}/{}{ASIDE}\"\n\
             if [ -x \"$before\" ]; then\n  {before} || exit $?\nfi\n\
             holdfast=",
            self.name()
        )
        .into_bytes();
        script.extend(quoted(program.as_os_str().as_bytes()));
        script.extend_from_slice(
            format!(
                "\nif [ ! -x \"$holdfast\" ]; then\n  \
                 echo \"holdfast is gone from $holdfast, so this {deed} cannot be checked and is refused.\" >&2\n  \
                 echo \"Put it back, or take this hook away: rm '$0'\" >&2\n  \
                 [ ! -e \"$before\" ] || echo \"and put back the one before it: mv '$before' '$0'\" >&2\n  \
                 exit 3\nfi\n{scan}"
            )
            .as_bytes(),
        );
        script
    }
}

const ASIDE: &str = ".before-holdfast";

/// Where the hook that was there before is kept.
fn aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ASIDE);
    name.into()
}

/// A link that leads nowhere is there too.
fn is_there(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
    }
}

fn beginning(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
        // A folder or a pipe is somebody else's, and is not waited for.
        return Ok(bytes);
    }
    match fs::File::open(path).and_then(|file| file.take(READ_MAX).read_to_end(&mut bytes)) {
        Ok(_) => Ok(bytes),
        // A link that leads nowhere is somebody else's hook.
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(bytes),
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
    }
}

fn is_ours(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n').nth(1).is_some_and(|line| line.starts_with(MARK.as_bytes()))
}

/// A word for the shell, whatever is in it.
fn quoted(word: &[u8]) -> Vec<u8> {
    let mut out = vec![b'\''];
    for byte in word {
        match byte {
            b'\'' => out.extend_from_slice(b"'\\''"),
            _ => out.push(*byte),
        }
    }
    out.push(b'\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_for_the_shell() {
        assert_eq!(quoted(b"/opt/it's/$x"), b"'/opt/it'\\''s/$x'");
    }

    #[test]
    fn the_hooks_are_small_and_plain() {
        let script =
            |hook: Hook| String::from_utf8(hook.script(Path::new("/usr/local/bin/holdfast"))).unwrap();
        insta::assert_snapshot!("pre_commit", script(Hook::PreCommit));
        insta::assert_snapshot!("pre_push", script(Hook::PrePush));
    }
}
