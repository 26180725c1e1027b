//! Sealed notes in git: what was decided to be kept, with its text as it lies sealed beside the journal. A forget destroys the key of both, so
//! that no clone of the repository, however old, can be read.
//!
//! Bare, and a branch for each agent: there is never a working tree in which a text could be left. Before anything is committed, every text
//! is scanned again with today's rules; a text in which something is found is committed by nobody.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use holdfast_git::{Ask, Git, NotDone};
use holdfast_memory::{Entry, MemoryId, Redaction, Standing};
use holdfast_types::{AgentId, Timestamp};

use super::form::{self, Sealed};
use crate::agent::AgentName;
use crate::error::{Error, Result};
use crate::memories::Memories;
use crate::sealed::opened;
use crate::space::Space;
use crate::table::Row;

const REPOSITORY: &str = "notes.git";

/// What became of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// By this name git knows it.
    Commit(String),
    /// Git has everything already.
    Nothing,
    /// The scan found something in these: nothing was committed. Forget them, or let their rules be looked at.
    Held(Vec<MemoryId>),
}

/// A memory as git has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    pub id: MemoryId,
    pub seq: u64,
    /// Nothing where its key was destroyed.
    pub entry: Option<Entry>,
}

/// Every object is read, as it is again after this.
const WHOLE_WITHIN: Duration = Duration::from_secs(300);

/// Folders of a branch, and in each the names and objects of its files.
type Folders = BTreeMap<String, BTreeMap<String, String>>;

impl Memories {
    /// Commits what is kept of an agent, after a scan. Killed anywhere, the branch is where it was or where it should be.
    pub fn commit_notes(&self, agent: &AgentName) -> Result<Committed> {
        let (kept, found) = {
            let inner = self.caught_up()?;
            let kept = kept(inner.space_of(agent)?)?;
            let found = self.scanned(&kept)?;
            (kept, found)
        };
        if !found.is_empty() {
            return Ok(Committed::Held(found));
        }
        let git = self.repository()?;
        let branch = branch(agent.id());
        let parent = tip(&git, &branch)?;
        let tree = self.write_tree(&git, &kept)?;
        if parent.as_ref().is_some_and(|parent| tree_of(&git, parent).is_ok_and(|there| there == tree)) {
            return Ok(Committed::Nothing);
        }
        if parent.is_none() && kept.is_empty() {
            return Ok(Committed::Nothing);
        }
        let commit = commit(&git, &tree, parent.as_deref(), self.options.clock.now(), kept.len())?;
        let old = parent.unwrap_or_else(|| "0".repeat(commit.len()));
        git.ask(Ask::new("move the branch of the notes", &["update-ref", &branch, &commit, &old]))?;
        Ok(Committed::Commit(commit))
    }

    /// What git has of an agent at the tip of its branch, opened where its keys are there: notes that are lost are read from here.
    pub fn copies(&self, agent: &AgentName) -> Result<Vec<Copy>> {
        let git = self.repository()?;
        let Some(tip) = tip(&git, &branch(agent.id()))? else { return Ok(Vec::new()) };
        let mut copies = Vec::new();
        let listed = objects(&git, &["ls-tree", "-r", "--format=%(objectsize) %(objectname)", &tip])?;
        let blobs: Vec<&str> = listed.iter().map(String::as_str).collect();
        for Sealed { id, seq, bytes, .. } in all_sealed(&git, &blobs)?.ok_or(Error::GitAnswer)? {
            let entry = match self.options.journal.unseal(seq, &bytes) {
                Ok(text) => Some(opened(seq, &text)?),
                Err(holdfast_journal::Error::Erased { .. }) => None,
                Err(e) => return Err(e.into()),
            };
            copies.push(Copy { id, seq, entry });
        }
        copies.sort_by_key(|copy| copy.seq);
        Ok(copies)
    }

    /// Whether nothing in the repository can be read of a memory: every object that was ever committed has sealed texts and nothing else, and
    /// the key of this one's is destroyed.
    pub(crate) fn not_in_git(&self, seq: u64) -> Result<bool> {
        let path = self.repository_path();
        // One that leads to the objects of another repository is no empty one: git is asked, which refuses it.
        if !path.join("objects").is_dir() && path.join("commondir").symlink_metadata().is_err() {
            return Ok(true);
        }
        let git = Git::at(&path);
        // Of a damaged one git lists what it finds, and calls that all. What it cannot read may be anything.
        let whole = ["fsck", "--no-dangling", "--no-progress"];
        git.ask(Ask { within: WHOLE_WITHIN, ..Ask::new("check that the notes are whole", &whole) })?;
        let all =
            ["cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectsize) %(objectname)"];
        let listed = objects(&git, &all)?;
        let blobs: Vec<&str> = listed.iter().filter_map(|line| line.strip_prefix("blob ")).collect();
        let Some(all) = all_sealed(&git, &blobs)? else { return Ok(false) };
        let can_be_opened = |copy: &Sealed| {
            let opened = self.options.journal.unseal(seq, &copy.bytes);
            !matches!(opened, Err(holdfast_journal::Error::Erased { .. }))
        };
        Ok(!all.iter().filter(|copy| copy.seq == seq).any(can_be_opened))
    }

    fn repository_path(&self) -> PathBuf {
        self.options.folder.join(REPOSITORY)
    }

    /// Made where there is none; one that was left half-made is made whole.
    fn repository(&self) -> Result<Git> {
        let path = self.repository_path();
        let git = Git::at(&path);
        if !path.join("HEAD").is_file() || !path.join("objects").is_dir() {
            holdfast_durable::create_dir(&path).map_err(|source| Error::File { path, source })?;
            let init = ["init", "--quiet", "--bare", "--template=", "--initial-branch=main"];
            git.ask(Ask::new("make a repository for notes", &init))?;
        }
        Ok(git)
    }

    /// Those in whose text, tags or names today's rules find something.
    fn scanned(&self, kept: &[Row]) -> Result<Vec<MemoryId>> {
        let redactor = self.options.redactor.as_ref();
        let mut found = Vec::new();
        for row in kept {
            let Some(entry) = self.entry(row.seq)? else { continue };
            let body = &entry.body;
            let words = body.tags.iter().chain(body.source_id.iter().map(|id| id.as_str()));
            let mut all = std::iter::once(entry.text()).chain(words);
            if all.any(|text| redactor.redact(text) != Redaction::Unchanged) {
                found.push(row.id);
            }
        }
        Ok(found)
    }

    fn write_tree(&self, git: &Git, kept: &[Row]) -> Result<String> {
        let mut files: BTreeMap<(String, String), Vec<Sealed>> = BTreeMap::new();
        for row in kept {
            let (id, seq, standing) = (row.id, row.seq, form::word(row.standing));
            let bytes = self.options.journal.sealed(seq)?;
            files.entry(form::file_of(id)).or_default().push(Sealed { id, seq, standing, bytes });
        }
        let mut folders = Folders::new();
        for ((month, name), mut all) in files {
            all.sort_by_key(|it| it.id);
            let Some(day) = all.first().map(|it| it.id.day()) else { continue };
            let object = write_object(git, form::rendered(day, &all))?;
            folders.entry(month).or_default().insert(name, object);
        }
        let mut months = String::new();
        for (month, files) in folders {
            let lines: String =
                files.iter().map(|(name, object)| format!("100644 blob {object}\t{name}\n")).collect();
            months.push_str(&format!("040000 tree {}\t{month}\n", make_tree(git, lines)?));
        }
        make_tree(git, months)
    }
}

/// What is kept for good, in the order of the journal.
fn kept(space: &Space) -> Result<Vec<Row>> {
    let mut rows = space.table.rows(0, usize::MAX >> 1)?;
    rows.retain(|row| {
        !matches!(row.standing, Standing::Session | Standing::Rejected { .. } | Standing::Forgotten)
    });
    Ok(rows)
}

fn branch(agent: AgentId) -> String {
    format!("refs/heads/{agent}")
}

fn tip(git: &Git, branch: &str) -> Result<Option<String>> {
    let said = git
        .ask(Ask::new("read the branch of the notes", &["for-each-ref", "--format=%(objectname)", branch]))?;
    Ok(said.lines().next().map(str::to_owned))
}

fn tree_of(git: &Git, commit: &str) -> Result<String> {
    let wanted = format!("{commit}^{{tree}}");
    one_line(git.ask(Ask::new("read a commit of the notes", &["rev-parse", "--verify", &wanted]))?)
}

fn write_object(git: &Git, text: String) -> Result<String> {
    let mut ask = Ask::new("write notes", &["hash-object", "-w", "--stdin"]);
    ask.input = text.into_bytes();
    one_line(git.ask(ask)?)
}

fn make_tree(git: &Git, lines: String) -> Result<String> {
    let mut ask = Ask::new("write a folder of notes", &["mktree"]);
    ask.input = lines.into_bytes();
    one_line(git.ask(ask)?)
}

fn commit(git: &Git, tree: &str, parent: Option<&str>, at: Timestamp, kept: usize) -> Result<String> {
    let mut args = vec!["commit-tree", tree];
    if let Some(parent) = parent {
        args.extend(["-p", parent]);
    }
    let mut ask = Ask::new("commit notes", &args);
    ask.input = format!("memory: {kept} kept\n").into_bytes();
    let seconds = format!("{} +0000", at.as_micros().div_euclid(1_000_000));
    for role in ["AUTHOR", "COMMITTER"] {
        ask.environment.push((format!("GIT_{role}_NAME"), "holdfast".to_owned()));
        ask.environment.push((format!("GIT_{role}_EMAIL"), "holdfast@localhost".to_owned()));
        ask.environment.push((format!("GIT_{role}_DATE"), seconds.clone()));
    }
    one_line(git.ask(ask)?)
}

fn objects(git: &Git, args: &[&str]) -> Result<Vec<String>> {
    Ok(git.ask(Ask::new("list what the notes hold", args))?.lines().map(str::to_owned).collect())
}

/// So much is asked for at once: git's answer is bounded.
const AT_ONCE: usize = 2 << 20;

/// What objects hold that are named with their sizes, or nothing where any of them is anything else than sealed notes.
fn all_sealed(git: &Git, blobs: &[&str]) -> Result<Option<Vec<Sealed>>> {
    let (mut all, mut names, mut bytes) = (Vec::new(), String::new(), 0);
    for (n, blob) in blobs.iter().enumerate() {
        let Some((size, name)) = blob.split_once(' ') else { return Ok(None) };
        bytes += size.parse::<usize>().unwrap_or(usize::MAX / 2);
        names.push_str(name);
        names.push('\n');
        if bytes < AT_ONCE && n + 1 < blobs.len() {
            continue;
        }
        let mut ask = Ask::new("read notes", &["cat-file", "--batch=%(objectsize)"]);
        ask.input = std::mem::take(&mut names).into_bytes();
        bytes = 0;
        let said = match git.ask(ask) {
            Ok(said) => said,
            Err(NotDone::TooMuch { .. }) => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        let Some(texts) = texts(&said) else { return Ok(None) };
        for text in texts {
            let Some(sealed) = form::parsed(text) else { return Ok(None) };
            all.extend(sealed);
        }
    }
    Ok(Some(all))
}

/// Texts with their lengths before them.
fn texts(mut said: &str) -> Option<Vec<&str>> {
    let mut texts = Vec::new();
    while !said.is_empty() {
        let (size, rest) = said.split_once('\n')?;
        let size: usize = size.parse().ok()?;
        texts.push(rest.get(..size)?);
        said = rest.get(size..)?.strip_prefix('\n')?;
    }
    Some(texts)
}

fn one_line(said: String) -> Result<String> {
    let name = said.trim().to_owned();
    let is_name = name.len() >= 40 && name.bytes().all(|b| b.is_ascii_hexdigit());
    if is_name { Ok(name) } else { Err(Error::GitAnswer) }
}
