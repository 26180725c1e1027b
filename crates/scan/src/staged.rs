//! What the next commit would hold: blobs of the index, whatever the work tree says meanwhile.

use std::collections::BTreeMap;
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::Path;

use crate::cat_file::{NOT_HERE, Objects};
use crate::changes::{Change, Item, Items, State};
use crate::crew;
use crate::error::{Error, Result};
use crate::found::{Looked, Name, Why};
use crate::git::Repository;
use crate::look::look;
use crate::review::{BYTES_MAX, REVIEW_FILE, Review};
use crate::scan::{Area, Progress, Which};
use crate::shown::shown;

const ASKED: &str = "what is staged";

/// Looks at every staged file.
pub(crate) fn staged(
    repository: &Repository,
    which: Which,
    area: &Area,
    review: &Review,
    threads: NonZeroUsize,
    progress: &Progress,
) -> Result<Vec<Looked>> {
    let changes = changes(repository)?;
    let changes: Vec<Change> = changes.into_iter().filter(|change| area.covers(&change.path)).collect();
    progress.expect(changes.len());
    let begin = || Ok((Objects::of(repository)?, Vec::new()));
    // In a merge, what the other side has is no more this commit's doing than what was here.
    let other_side = repository.commit("MERGE_HEAD")?;
    let before = |change: &Change| before(change, which, repository, other_side.as_deref());
    let seen = crew::share(&changes, threads, begin, |(objects, buffer), change| {
        let seen = one(change, before, review, objects, buffer);
        progress.one_more();
        seen
    })?;
    Ok(seen.into_iter().flatten().collect())
}

/// The list of exceptions as it is staged: a commit carries its own.
pub(crate) fn staged_review(repository: &Repository) -> Result<Review> {
    let path = Path::new(REVIEW_FILE);
    let Some(id) = repository.object(&format!(":0:{REVIEW_FILE}"))? else { return Ok(Review::default()) };
    let mut bytes = Vec::new();
    let read = Objects::of(repository)?.read(&id, |source| source.take(BYTES_MAX).read_to_end(&mut bytes))?;
    let missing = || Error::Object { id: id.clone(), why: "it is not in this partial clone".to_owned() };
    read.ok_or_else(missing)?.map_err(|source| Error::Read { path: path.to_owned(), source })?;
    Review::parse(&String::from_utf8_lossy(&bytes), path)
}

fn changes(repository: &Repository) -> Result<Vec<Change>> {
    let base = match repository.commit("HEAD")? {
        Some(commit) => commit,
        None => repository.empty_tree()?,
    };
    let compared = |renames| {
        let arguments = ["diff-index", "--cached", "--raw", "-z", renames, "--no-abbrev", &base];
        // To find renames, git reads attributes.
        repository.answer_of_index(ASKED, &arguments)
    };
    let listed = match compared("-M") {
        // Renames are found by what was there before, which a partial clone need not have. Then a file that was renamed counts as new.
        Err(Error::Git { .. }) if repository.is_partial() => compared("--no-renames")?,
        listed => listed?,
    };
    let fields = listed.split(|byte| *byte == 0).map(<[u8]>::to_vec);
    // After the last NUL stands nothing.
    let fields = fields.take(memchr::memchr_iter(0, &listed).count());
    let change = |item| match item {
        Ok(Item::Change(change)) => Ok(change),
        Ok(Item::Commit(_)) | Err(_) => {
            Err(Error::Git { asked: ASKED, said: "the list has another form".into() })
        }
    };
    Items(fields).map(change).collect()
}

fn one(
    change: &Change,
    before: impl Fn(&Change) -> Result<Vec<String>>,
    review: &Review,
    objects: &mut Objects<'_>,
    buffer: &mut Vec<u8>,
) -> Result<Option<Looked>> {
    let name = Name::same(shown(&change.path));
    let id = match &change.now {
        State::Blob(id) => id,
        State::Gone => return Ok(None),
        State::Submodule => return Ok(Some(Looked::skipped(name, Why::Submodule))),
        State::Unmerged => return Ok(Some(Looked::skipped(name, Why::Unmerged))),
    };
    if !review.covers(&name.place) {
        return Ok(Some(Looked::skipped(name, Why::OutOfScope)));
    }
    let Some(mut seen) = objects.read(id, |source| look(name.clone(), source, buffer))? else {
        return Ok(Some(Looked::failed(name, NOT_HERE.to_owned())));
    };
    if !seen.findings.is_empty() {
        for id in before(change)? {
            // What is not here takes nothing away: then the findings count as new.
            if let Some(old) = objects.read(&id, |source| look(name.clone(), source, buffer))? {
                leave_what_was_there(&mut seen, &old);
            }
        }
    }
    Ok(Some(seen))
}

/// The blobs whose findings are not this commit's doing.
fn before(
    change: &Change,
    which: Which,
    repository: &Repository,
    other_side: Option<&str>,
) -> Result<Vec<String>> {
    if which == Which::Whole {
        return Ok(Vec::new());
    }
    let mut all = change.before.clone();
    // A name that is no text cannot be asked for; then the file counts as new, which is the safe side.
    if let (Some(commit), Ok(path)) = (other_side, str::from_utf8(&change.path)) {
        all.extend(repository.object(&format!("{commit}:{path}"))?);
    }
    Ok(all)
}

/// Takes out findings that the file had before. Counted by value: a moved line is not new, a second copy is.
fn leave_what_was_there(seen: &mut Looked, old: &Looked) {
    let mut there: BTreeMap<&str, usize> = BTreeMap::new();
    for found in &old.findings {
        *there.entry(&found.fingerprint).or_default() += 1;
    }
    seen.findings.retain(|found| match there.get_mut(found.fingerprint.as_str()) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    });
}
