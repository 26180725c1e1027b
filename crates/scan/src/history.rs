//! Everything a repository ever held: each blob once, with the commit that brought it.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::num::NonZeroUsize;
use std::process::{Child, Stdio};
use std::thread::JoinHandle;

use crate::cat_file::{NOT_HERE, Objects};
use crate::changes::{Item, Items, State};
use crate::crew;
use crate::error::{Error, Result};
use crate::found::{Looked, Name, Why};
use crate::git::{Repository, refused};
use crate::look::look;
use crate::review::Review;
use crate::scan::{Area, Progress};
use crate::shown::shown;

const ASKED: &str = "what its history holds";

/// A blob, where it first stood, and the commit that put it there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Blob {
    id: String,
    path: Vec<u8>,
    commit: String,
}

/// Looks at every blob that these revisions brought. A secret that stays in a file is told once, with its first commit.
pub(crate) fn history(
    repository: &Repository,
    revisions: &[String],
    area: &Area,
    review: &Review,
    threads: NonZeroUsize,
    progress: &Progress,
) -> Result<Vec<Looked>> {
    let blobs = blobs(repository, revisions, area)?;
    progress.expect(blobs.len());
    let begin = || Ok((Objects::of(repository)?, Vec::new()));
    let mut seen = crew::share(&blobs, threads, begin, |(objects, buffer), blob| {
        let name = Name::same(shown(&blob.path));
        let mut seen = if review.covers(&name.place) {
            let seen = objects.read(&blob.id, |source| look(name.clone(), source, buffer))?;
            seen.unwrap_or_else(|| Looked::failed(name, NOT_HERE.to_owned()))
        } else {
            Looked::skipped(name, Why::OutOfScope)
        };
        for found in &mut seen.findings {
            found.commit = Some(blob.commit.clone());
        }
        progress.one_more();
        Ok(seen)
    })?;
    let mut told = HashSet::new();
    for looked in &mut seen {
        // Within one version of a file every place is told.
        let new: Vec<bool> = looked
            .findings
            .iter()
            .map(|f| !told.contains(&(f.place.clone(), f.fingerprint.clone())))
            .collect();
        let mut new = new.into_iter();
        looked.findings.retain(|_| new.next().unwrap_or(true));
        told.extend(looked.findings.iter().map(|f| (f.place.clone(), f.fingerprint.clone())));
    }
    if repository.is_shallow()? {
        // Said, since whoever wrote that file could hide a history by it.
        seen.push(Looked::skipped(Name::same(".git/shallow".to_owned()), Why::Shallow));
    }
    Ok(seen)
}

/// Every blob once, in the order of history: parents before children.
fn blobs(repository: &Repository, revisions: &[String], area: &Area) -> Result<Vec<Blob>> {
    if revisions.is_empty() {
        return Ok(Vec::new());
    }
    let mut arguments = vec!["rev-list", "--reverse", "--topo-order"];
    arguments.extend(revisions.iter().map(String::as_str));
    let mut list = repository.start(ASKED, &arguments, Stdio::null())?;
    let commits = list.stdout.take().map_or_else(Stdio::null, Stdio::from);
    // For a merge, only what is in no parent: the rest came with the parents.
    let compare =
        ["diff-tree", "--stdin", "-r", "-z", "--root", "--raw", "-c", "--no-renames", "--no-abbrev"];
    let mut compared = repository.start(ASKED, &compare, commits)?;
    let unusable = || Error::Git { asked: ASKED, said: "the list has another form".into() };
    let output = compared.stdout.take().ok_or_else(unusable)?;
    let said = [said_by(&mut list), said_by(&mut compared)];
    // A field that cannot be read is an empty one, and that is no list.
    let fields = BufReader::new(output).split(0).map(std::result::Result::unwrap_or_default);
    let (mut seen, mut all, mut commit) = (HashSet::new(), Vec::new(), String::new());
    for item in Items(fields) {
        match item.map_err(|_| unusable()) {
            Ok(Item::Commit(id)) => commit = id,
            Ok(Item::Change(change)) => {
                if let State::Blob(id) = change.now
                    && area.covers(&change.path)
                    && seen.insert(id.clone())
                {
                    all.push(Blob { id, path: change.path, commit: commit.clone() });
                }
            }
            Err(e) => {
                let _ = (compared.kill(), compared.wait(), list.kill(), list.wait());
                return Err(e);
            }
        }
    }
    // Both must have ended well: half a list is no list.
    let mut failed = Vec::new();
    for (mut child, said) in [list, compared].into_iter().zip(said) {
        let said = said.map(|said| said.join().unwrap_or_default()).unwrap_or_default();
        if !child.wait().is_ok_and(|status| status.success()) {
            failed.push(said);
        }
    }
    // Where one ends, the other has nobody to talk to, and nothing to say of it.
    let why = failed.iter().find(|said| !said.is_empty()).or(failed.first());
    why.map_or(Ok(all), |said| Err(refused(ASKED, said)))
}

/// Reads what a process complains of, so that it never waits for somebody to do so.
fn said_by(child: &mut Child) -> Option<JoinHandle<Vec<u8>>> {
    let mut stderr = child.stderr.take()?;
    Some(std::thread::spawn(move || {
        let mut said = Vec::new();
        let _ = stderr.by_ref().take(4096).read_to_end(&mut said);
        let _ = std::io::copy(&mut stderr, &mut std::io::sink());
        said
    }))
}

/// The revisions that a push brings, from what git tells a pre-push hook: a line for each ref with its name and commit
/// here, its name and commit there. Nothing where only refs are deleted.
pub(crate) fn pushed(repository: &Repository, remote: &str, told: &str) -> Result<Vec<String>> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for line in told.lines().filter(|line| !line.trim().is_empty()) {
        let [_, here, _, there] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err(Error::Git {
                asked: "what is pushed",
                said: "a line of the push has another form".into(),
            });
        };
        let is_none = |id: &str| id.bytes().all(|byte| byte == b'0');
        if !is_none(here) {
            ours.push(here.to_owned());
        }
        // What the other side has need not be known here; then what was fetched from it says what is new.
        if !is_none(there) && repository.commit(there)?.is_some() {
            theirs.push(there.to_owned());
        }
    }
    if ours.is_empty() {
        return Ok(Vec::new());
    }
    ours.push("--not".to_owned());
    ours.extend(theirs);
    ours.push(format!("--remotes={remote}"));
    Ok(ours)
}
