//! The repository on the disk: made, looked at, written to, checked, and put aside when it is damaged.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_durable::Mode;
use holdfast_git::{Ask, Git, NotDone};
use holdfast_types::Timestamp;

use crate::book::Refs;
use crate::object::{Object, Oid};
use crate::pack::pack;
use crate::settle::Move;

/// Reading every object takes its time.
const CHECK_WITHIN: Duration = Duration::from_secs(300);
/// No call of ours takes so long: whoever held a lock that is older is gone.
const LOCK_OLD: Duration = Duration::from_secs(600);
/// More objects than this stay together in one file, which is made durable in one step.
const PACKED_FROM: usize = 20;
/// Files that are looked at for old locks.
const FILES_MAX: usize = 20_000;
const ZERO: &str = "0000000000000000000000000000000000000000";

#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error(transparent)]
    Git(#[from] NotDone),
    #[error("{what}: {source}")]
    File { what: String, source: io::Error },
    /// It is not one any more, or an object of it is lost or altered.
    #[error("the repository is damaged: {said}")]
    Damaged { said: String },
    /// More has to be written than is at hand: everything is to be made again from the records.
    #[error("the repository has lost what was written before")]
    Behind,
}

fn file(what: impl Into<String>) -> impl FnOnce(io::Error) -> Trouble {
    let what = what.into();
    move |source| Trouble::File { what, source }
}

/// How it was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// It was not there.
    pub made: bool,
    /// Somebody else had written its settings.
    pub settings_restored: bool,
}

/// A commit as it lies there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    pub commit: Oid,
    /// Whether its signature is good, and by a key that is believed.
    pub signed: bool,
}

#[derive(Clone, Debug)]
pub struct Repository {
    git: Git,
    /// A line for each key whose commits are believed.
    signers: String,
}

impl Repository {
    /// The one in this folder; `signers` says whose commits are believed, as OpenSSH writes it.
    pub fn at(folder: &Path, signers: &str) -> Repository {
        Repository { git: Git::at(folder), signers: signers.to_owned() }
    }

    pub fn with_program(self, program: &Path) -> Repository {
        Repository { git: self.git.with_program(program), ..self }
    }

    pub fn folder(&self) -> &Path {
        self.git.repository()
    }

    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    pub fn is_there(&self) -> bool {
        self.folder().join("HEAD").is_file() && self.folder().join("objects").is_dir()
    }

    /// Makes it where there is none, and gives it its settings. Safe to repeat after a crash anywhere.
    pub fn prepare(&self) -> Result<Prepared, Trouble> {
        let made = !self.is_there();
        if made {
            let folder = self.folder();
            holdfast_durable::create_dir(folder).map_err(file(format!("making {}", folder.display())))?;
            let init = ["init", "--quiet", "--bare", "--template=", "--initial-branch=main"];
            self.git.ask(Ask::new("make a repository", &init))?;
        }
        let found = fs::read_to_string(self.folder().join("config")).unwrap_or_default();
        let settings = settings(&self.folder().join("allowed_signers"));
        let settings_restored = !made && without_path(&found) != without_path(&settings);
        if settings_restored {
            // What somebody wrote there is kept to be read.
            self.put("config.aside", &found)?;
        }
        if found != settings {
            self.put("config", &settings)?;
        }
        if fs::read_to_string(self.folder().join("allowed_signers")).unwrap_or_default() != self.signers {
            self.put("allowed_signers", &self.signers)?;
        }
        Ok(Prepared { made, settings_restored })
    }

    fn put(&self, name: &str, text: &str) -> Result<(), Trouble> {
        let path = self.folder().join(name);
        holdfast_durable::replace(&path, text.as_bytes(), Mode::Private)
            .map_err(file(format!("writing {}", path.display())))
    }

    /// Every reference.
    pub fn look(&self) -> Result<Refs, Trouble> {
        let args = ["for-each-ref", "--format=%(objectname) %(refname)"];
        let said = self.git.ask(Ask::new("list its references", &args)).map_err(|e| match e {
            NotDone::Refused { said, .. } => Trouble::Damaged { said },
            NotDone::TooMuch { .. } => Trouble::Damaged { said: "it has far too many references".to_owned() },
            other => other.into(),
        })?;
        let read = |line: &str| {
            let (id, name) = line.split_once(' ')?;
            Some((name.to_owned(), id.parse().ok()?))
        };
        Ok(said.lines().filter_map(read).collect())
    }

    /// The newest commits of a branch by the entry of the journal each follows from. Nothing is written.
    pub fn commits(&self, branch: &str, max: usize) -> Result<BTreeMap<u64, Written>, Trouble> {
        let signers = self.folder().join("allowed_signers");
        let count = format!("--max-count={max}");
        let format = "--format=%H %G? %(trailers:key=Entry,valueonly,separator=%x2C)";
        let args = ["log", &count, format, "--end-of-options", branch];
        let ask = Ask { allowed_signers: Some(&signers), ..Ask::new("read its commits", &args) };
        let said = self.git.ask(ask)?;
        let read = |line: &str| {
            let mut words = line.split(' ');
            let (commit, signed) = (words.next()?.parse().ok()?, words.next()? == "G");
            Some((words.next()?.parse().ok()?, Written { commit, signed }))
        };
        Ok(said.lines().filter_map(read).collect())
    }

    /// Takes objects in, each checked by git.
    pub fn store(&self, objects: &[Object]) -> Result<(), Trouble> {
        if objects.is_empty() {
            return Ok(());
        }
        let args: &[&str] = match objects.len() {
            0..=PACKED_FROM => &["unpack-objects", "-q", "--strict"],
            _ => &["index-pack", "--strict", "--stdin"],
        };
        let mut ask = Ask::new("take in what was applied", args);
        ask.input = pack(objects).map_err(file("packing objects"))?;
        ask.within = CHECK_WITHIN;
        self.git.ask(ask)?;
        Ok(())
    }

    /// Moves references, all of them or none, each from where it was seen.
    pub fn move_refs(&self, moves: &[Move]) -> Result<(), Trouble> {
        if moves.is_empty() {
            return Ok(());
        }
        let at = |id: Option<Oid>| id.map_or_else(|| ZERO.to_owned(), |id| id.to_string());
        let mut input = Vec::new();
        for Move { name, from, to } in moves {
            input.extend(format!("update {name}\0{}\0{}\0", at(*to), at(*from)).into_bytes());
        }
        let mut ask = Ask::new("move its references", &["update-ref", "--no-deref", "--stdin", "-z"]);
        ask.input = input;
        self.git.ask(ask)?;
        Ok(())
    }

    /// Reads every object and follows every link.
    pub fn check(&self) -> Result<(), Trouble> {
        let mut ask = Ask::new(
            "check the repository",
            &["fsck", "--full", "--strict", "--no-dangling", "--no-progress"],
        );
        ask.within = CHECK_WITHIN;
        match self.git.ask(ask) {
            Ok(_) => Ok(()),
            Err(NotDone::Refused { said, .. }) => Err(Trouble::Damaged { said }),
            Err(NotDone::TooMuch { .. }) => {
                Err(Trouble::Damaged { said: "far too much is wrong with it".to_owned() })
            }
            Err(other) => Err(other.into()),
        }
    }

    /// Packs loose objects together; what nothing leads to any more goes after two weeks.
    pub fn tidy(&self) -> Result<(), Trouble> {
        for args in [&["repack", "-d", "-q", "-l"][..], &["prune", "--expire=2.weeks.ago"]] {
            let mut ask = Ask::new("tidy the repository", args);
            ask.within = CHECK_WITHIN;
            self.git.ask(ask)?;
        }
        Ok(())
    }

    /// Out of the way, whole, in place of what was put there before.
    pub fn put_aside(&self) -> Result<PathBuf, Trouble> {
        let aside = self.folder().with_extension("damaged");
        holdfast_durable::replace_dir(self.folder(), &aside)
            .map_err(file(format!("putting {} aside", self.folder().display())))?;
        Ok(aside)
    }

    /// Removes locks that a git which was cut off has left; how many.
    pub fn unlock(&self, now: Timestamp) -> Result<usize, Trouble> {
        let mut removed = 0;
        for path in locks(self.folder()) {
            let modified = fs::symlink_metadata(&path).and_then(|meta| meta.modified());
            let Some(modified) = modified.ok().and_then(timestamp) else { continue };
            if now.since(modified) >= LOCK_OLD {
                holdfast_durable::remove(&path).map_err(file(format!("removing {}", path.display())))?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

fn timestamp(time: std::time::SystemTime) -> Option<Timestamp> {
    let since = time.duration_since(std::time::SystemTime::UNIX_EPOCH).ok()?;
    Timestamp::from_micros(i64::try_from(since.as_micros()).ok()?).ok()
}

/// Every lock file, of so many files that are looked at. Links are not followed.
fn locks(folder: &Path) -> Vec<PathBuf> {
    let (mut todo, mut found, mut seen) = (vec![folder.to_owned()], Vec::new(), 0);
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > FILES_MAX {
                return found;
            }
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !path.ends_with("objects") => todo.push(path),
                Ok(kind) if kind.is_file() && path.extension().is_some_and(|e| e == "lock") => {
                    found.push(path)
                }
                _ => {}
            }
        }
    }
    found
}

/// The repository's own settings, for whoever reads it with their own git.
fn settings(signers: &Path) -> String {
    let path = signers.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n[gc]\n\tauto = 0\n[gpg]\n\tformat = ssh\n\
         [gpg \"ssh\"]\n\tallowedSignersFile = \"{path}\"\n"
    )
}

/// A home may be moved; that is no change of somebody's.
fn without_path(settings: &str) -> String {
    settings.lines().filter(|line| !line.trim_start().starts_with("allowedSignersFile")).collect()
}
