//! Where to look, and everything that was found there.

use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use holdfast_types::Timestamp;

use crate::accepted::{self, Accepted};
use crate::baseline::Baseline;
use crate::error::Result;
use crate::found::{Looked, Report};
use crate::git::Repository;
use crate::review::Review;
use crate::{history, staged, walk};

/// One scan.
#[derive(Clone, Debug)]
pub struct Scan {
    pub place: Where,
    /// The list of exceptions; without one named, that of the repository.
    pub exceptions: Option<PathBuf>,
    pub baseline: Baseline,
    /// Exceptions expire by it.
    pub now: Timestamp,
    pub threads: NonZeroUsize,
}

/// Where to look.
#[derive(Clone, Debug)]
pub enum Where {
    /// Files and folders; `-` is standard input.
    Tree { paths: Vec<PathBuf>, ignore_files: IgnoreFiles },
    /// What the next commit would hold, below these paths or everywhere.
    Staged { paths: Vec<PathBuf>, which: Which },
    /// Everything that these revisions brought, or all refs.
    History { paths: Vec<PathBuf>, range: Option<String> },
    /// What a push brings, from what git tells a pre-push hook on its standard input.
    Pushed { remote: String, told: String },
}

/// Whether `.gitignore` and its relatives are heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoreFiles {
    Respected,
    Passed,
}

/// Which findings of a staged file count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those the file did not have before, under this name or the one it was renamed from.
    Added,
    Whole,
}

/// How far a scan is; looked at by whoever waits for it.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicUsize,
    all: AtomicUsize,
}

impl Progress {
    /// Files or blobs done, and of how many, where that is known.
    pub fn so_far(&self) -> (usize, Option<usize>) {
        let all = self.all.load(Ordering::Relaxed);
        (self.done.load(Ordering::Relaxed), (all > 0).then_some(all))
    }

    pub(crate) fn expect(&self, count: usize) {
        self.all.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn one_more(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Scan {
    /// Looks, and reports. An error means that nothing can be said; a file that could not be read is in the report.
    pub fn run(&self, progress: &Progress) -> Result<Report> {
        let (review, seen) = self.look(progress)?;
        let accepted =
            Accepted { review: &review, baseline: self.baseline.clone(), today: accepted::day(self.now) };
        Ok(accepted::report(seen, accepted))
    }

    fn look(&self, progress: &Progress) -> Result<(Review, Vec<Looked>)> {
        let threads = self.threads;
        match &self.place {
            Where::Tree { paths, ignore_files } => {
                let root = paths.first().and_then(|path| walk::root_of(path));
                let review =
                    self.review(|| root.as_deref().map_or_else(|| Ok(Review::default()), Review::of_root))?;
                let seen = walk::tree(paths, root.as_deref(), *ignore_files, &review, threads, progress);
                Ok((review, seen))
            }
            Where::Staged { paths, which } => {
                let repository = around(paths)?;
                let review = self.review(|| staged::staged_review(&repository))?;
                let area = Area::of(paths, &repository);
                let seen = staged::staged(&repository, *which, &area, &review, threads, progress)?;
                Ok((review, seen))
            }
            Where::History { paths, range } => {
                let repository = around(paths)?;
                let review = self.review(|| of_repository(&repository))?;
                let area = Area::of(paths, &repository);
                let revisions = match range {
                    None => vec!["--all".to_owned()],
                    Some(range) => vec!["--end-of-options".to_owned(), range.clone()],
                };
                let seen = history::history(&repository, &revisions, &area, &review, threads, progress)?;
                Ok((review, seen))
            }
            Where::Pushed { remote, told } => {
                let repository = Repository::around(Path::new("."))?;
                let review = self.review(|| of_repository(&repository))?;
                let revisions = history::pushed(&repository, remote, told)?;
                let area = Area::default();
                let seen = history::history(&repository, &revisions, &area, &review, threads, progress)?;
                Ok((review, seen))
            }
        }
    }

    /// The list that was named, or else the repository's own.
    fn review(&self, own: impl FnOnce() -> Result<Review>) -> Result<Review> {
        self.exceptions.as_deref().map_or_else(own, Review::read)
    }
}

fn around(paths: &[PathBuf]) -> Result<Repository> {
    Repository::around(paths.first().map_or(Path::new("."), PathBuf::as_path))
}

fn of_repository(repository: &Repository) -> Result<Review> {
    repository.top().map_or_else(|| Ok(Review::default()), Review::of_root)
}

/// The part of a repository that is looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Area {
    /// Files and folders from the root; none is everything.
    below: Vec<Vec<u8>>,
}

impl Area {
    fn of(paths: &[PathBuf], repository: &Repository) -> Area {
        let top = repository.top().and_then(|top| top.canonicalize().ok());
        let from_top = |path: &PathBuf| -> Option<Vec<u8>> {
            // A file that is only staged is not there any more; its folder may be.
            let real = path.canonicalize().or_else(|_| std::path::absolute(path)).ok()?;
            Some(real.strip_prefix(top.as_ref()?).ok()?.as_os_str().as_bytes().to_vec())
        };
        let below: Vec<Vec<u8>> = paths.iter().filter_map(from_top).collect();
        // The root itself is everything.
        let everything = below.iter().any(Vec::is_empty);
        Area { below: if everything { vec![] } else { below } }
    }

    pub(crate) fn covers(&self, path: &[u8]) -> bool {
        let lies_below = |folder: &Vec<u8>| {
            path.strip_prefix(folder.as_slice()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        self.below.is_empty() || self.below.iter().any(lies_below)
    }
}
