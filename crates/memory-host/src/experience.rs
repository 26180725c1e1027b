//! The experience library on the disk: mined from a repository's history, kept as memories of their own kind, matched before a brain is asked.

use std::collections::BTreeMap;
use std::path::Path;

use holdfast_git::{Ask, Borrowed, Git, NotDone};
use holdfast_memory::{
    Body, Commit, Confidence, Draft, Entry, EntryType, Experience, ExperienceRecord, Kind, Label, Library,
    Record, Redaction, Said, Scope, Shelf, Source, Tags, mine,
};
use holdfast_types::Trust;

use crate::agent::AgentName;
use crate::error::{Error, Result};
use crate::memories::{By, Memories, Outcome};
use crate::table::Row;

/// The most commits that are looked at: what is older is of another code.
pub const COMMITS_MAX: usize = 10_000;
/// Commits that are read at once; what git says of them is bounded too.
const PAGE: usize = 500;
/// Files named of one commit.
const FILES_MAX: usize = 64;
/// The most experiences that are matched.
const LIBRARY_MAX: usize = 5_000;
/// They were seen, and told by people in a hurry.
const CONFIDENCE: f64 = 0.8;

/// What is to be learnt from.
#[derive(Clone, Copy, Debug)]
pub struct History<'a> {
    pub repository: &'a Path,
    /// What the repository is called: what is learnt says so.
    pub name: Option<&'a str>,
    /// The most commits that are looked at.
    pub commits: usize,
}

impl<'a> History<'a> {
    /// Called as its folder is.
    pub fn of(repository: &'a Path, commits: usize) -> History<'a> {
        History { repository, name: repository.file_name().and_then(|name| name.to_str()), commits }
    }
}

/// What mining came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mined {
    pub commits: usize,
    /// New, or seen more often than before.
    pub captured: usize,
    pub known: usize,
    /// The guard lets nothing of it through.
    pub blocked: usize,
}

/// An experience that fits.
#[derive(Clone, Debug)]
pub struct Matched {
    pub row: Row,
    pub entry: Entry,
    /// From 0 to 1.
    pub score: f64,
    pub why: String,
}

impl Memories {
    /// Learns from the history of a repository, newest commits first and no more than so many. Repeated it learns what is new.
    pub fn mine(&self, agent: &AgentName, from: &History<'_>, by: &By) -> Result<Mined> {
        let borrowed = borrowed(from.repository)?;
        let mut commits = history(borrowed.git(), from.commits.min(COMMITS_MAX))?;
        // Told from the beginning, as it happened.
        commits.reverse();
        let thread = from.name.and_then(|name| Label::new(name).ok());
        let known = self.known_experiences(agent)?;
        let mut mined = Mined { commits: commits.len(), ..Mined::default() };
        // A message is what somebody wrote, however far whoever mines is trusted.
        let by = By { trust: by.trust.min(Trust::SemiTrusted), ..by.clone() };
        for experience in mine(&commits) {
            let Some(experience) = self.cleaned(experience) else {
                mined.blocked += 1;
                continue;
            };
            let record = &experience.record;
            if known.get(&(record.shelf, record.signature.clone())) == Some(record) {
                mined.known += 1;
                continue;
            }
            match self.capture(agent, draft(experience, thread.clone())?, &by, None)? {
                Outcome::Captured(_) => mined.captured += 1,
                Outcome::Blocked { .. } | Outcome::Rejected(_) => mined.blocked += 1,
            }
        }
        Ok(mined)
    }

    /// What was learnt that fits an error or a situation, best first. Nothing is better than a guess: a brain is asked then.
    pub fn matched(&self, agent: &AgentName, situation: &str, limit: usize) -> Result<Vec<Matched>> {
        let all = self.experiences(agent)?;
        let records = all.iter().filter_map(|(_, entry)| match &entry.body.record {
            Record::Experience(record) => Some((record, entry.text())),
            _ => None,
        });
        let library = Library::new(records);
        let found = library.matched(situation, limit).into_iter();
        let matched = found.filter_map(|it| {
            let (row, entry) = all.get(it.at)?.clone();
            Some(Matched { row, entry, score: it.score, why: it.why })
        });
        Ok(matched.collect())
    }

    fn known_experiences(&self, agent: &AgentName) -> Result<BTreeMap<(Shelf, Label), ExperienceRecord>> {
        let all = match self.experiences(agent) {
            Err(Error::NoSpace(_)) => Vec::new(),
            all => all?,
        };
        let records = all.into_iter().filter_map(|(_, entry)| match entry.body.record {
            Record::Experience(record) => Some(((record.shelf, record.signature.clone()), record)),
            _ => None,
        });
        Ok(records.collect())
    }

    fn experiences(&self, agent: &AgentName) -> Result<Vec<(Row, Entry)>> {
        let rows: Vec<Row> = {
            let inner = self.caught_up()?;
            let table = &inner.space_of(agent)?.table;
            let seqs = table.of_kind(Kind::Experience, LIBRARY_MAX)?;
            seqs.into_iter().filter_map(|seq| table.row(seq).transpose()).collect::<Result<_>>()?
        };
        let read = |row: Row| Ok(self.entry(row.seq)?.map(|entry| (row, entry)));
        rows.into_iter().filter_map(|row| read(row).transpose()).collect()
    }

    /// The text is redacted when it is captured; what the record has of it is redacted here. Nothing where that must not be kept at all.
    fn cleaned(&self, experience: Experience) -> Option<Experience> {
        let clean = |label: Label| match self.options.redactor.redact(label.as_str()) {
            Redaction::Unchanged => Some(label),
            Redaction::Rewritten(text) => Label::new(text).ok(),
            Redaction::Blocked { .. } => None,
        };
        let ExperienceRecord { shelf, signature, commit, files, seen } = experience.record;
        let files = files.into_iter().filter_map(clean).collect();
        let record = ExperienceRecord { shelf, signature: clean(signature)?, commit, files, seen };
        Some(Experience { record, ..experience })
    }
}

fn draft(experience: Experience, thread: Option<Label>) -> Result<Draft> {
    let entry_type = match experience.record.shelf {
        Shelf::Fix => EntryType::Error,
        Shelf::Pattern => EntryType::Pattern,
        Shelf::Decision => EntryType::Decision,
    };
    let body = Body {
        content: experience.content,
        tags: Tags::default(),
        source_id: None,
        said: Some(Said { at: None, thread }),
        record: Record::Experience(experience.record),
    };
    let claimed = Confidence::new(CONFIDENCE).map_err(holdfast_memory::DraftError::from)?;
    Ok(Draft { entry_type, source: Source::Observation, claimed, scope: Scope::Project, body })
}

/// Somebody's history, with nothing of theirs that runs: see [`Borrowed`].
fn borrowed(repository: &Path) -> Result<Borrowed> {
    let is_one = repository.join(".git").exists() || repository.join("HEAD").exists();
    match is_one {
        true => Ok(Borrowed::of(repository)?),
        false => Err(Error::NotARepository(repository.to_owned())),
    }
}

/// The newest commits, merges left out.
fn history(git: &Git, limit: usize) -> Result<Vec<Commit>> {
    let mut commits = Vec::new();
    while commits.len() < limit {
        let wanted = PAGE.min(limit - commits.len());
        let (page, read) = page(git, commits.len(), wanted)?;
        commits.extend(page);
        if read < wanted {
            break;
        }
    }
    Ok(commits)
}

/// So many commits from a place on, and how many there were. One of which git has more to say than is read is passed over.
fn page(git: &Git, skip: usize, count: usize) -> Result<(Vec<Commit>, usize)> {
    let (skip_arg, count_arg) = (format!("--skip={skip}"), format!("--max-count={count}"));
    let format = "--format=%x00%H%x00%s%x00%b%x00";
    let args = [
        "log",
        "-z",
        "--no-merges",
        "--no-renames",
        "--name-only",
        &skip_arg,
        &count_arg,
        format,
        "HEAD",
        "--",
    ];
    match git.ask(Ask::new("read the history", &args)) {
        Ok(said) => {
            let commits = parsed(&said);
            let read = commits.len();
            Ok((commits, read))
        }
        Err(NotDone::TooMuch { .. }) if count > 1 => {
            let half = count / 2;
            let (mut first, read) = page(git, skip, half)?;
            if read < half {
                return Ok((first, read));
            }
            let (rest, more) = page(git, skip + half, count - half)?;
            first.extend(rest);
            Ok((first, read + more))
        }
        Err(NotDone::TooMuch { .. }) => Ok((Vec::new(), 1)),
        Err(e) => Err(e.into()),
    }
}

/// An empty piece begins a commit: then its name, title and body, another empty one, and its files. No message and no name has a zero byte.
fn parsed(said: &str) -> Vec<Commit> {
    let mut pieces = said.split('\0').peekable();
    let mut commits = Vec::new();
    while let Some("") = pieces.next() {
        let (Some(id), Some(title), Some(body), Some("")) =
            (pieces.next(), pieces.next(), pieces.next(), pieces.next())
        else {
            break;
        };
        let mut files = Vec::new();
        while let Some(file) = pieces.next_if(|piece| !piece.is_empty()) {
            files.push(file.trim_start_matches('\n').to_owned());
        }
        files.truncate(FILES_MAX);
        commits.push(Commit { id: id.to_owned(), title: title.to_owned(), body: body.to_owned(), files });
    }
    commits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_is_read_with_and_without_files_and_cut_anywhere_it_is_no_panic() {
        let said = "\0aa\0fix it\0why\n\0\0\nsrc/a.rs\0src/b c.rs\0\0bb\0empty\0\0\0\0cc\0last\0\0\0\nf\0";
        let told: Vec<(String, usize)> = parsed(said).into_iter().map(|it| (it.id, it.files.len())).collect();
        assert_eq!(told, [("aa".to_owned(), 2), ("bb".to_owned(), 0), ("cc".to_owned(), 1)]);
        for end in 0..said.len() {
            assert!(parsed(&said[..end]).len() <= 3);
        }
    }
}
