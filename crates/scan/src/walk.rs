//! A tree of files, walked and looked at by several threads at once.
//!
//! What `.gitignore` leaves out is left out, hidden files are not, `.git` always is. A file that is named is looked at
//! whatever else says. Links are not followed out of the tree, or at all, unless one is named.

use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use ignore::{DirEntry, WalkBuilder, WalkState};

use crate::found::{Looked, Name, Why};
use crate::look::look;
use crate::review::Review;
use crate::scan::{IgnoreFiles, Progress};
use crate::shown::shown;

/// Standard input, as a path.
const STDIN: &str = "-";

/// The root that a path belongs to: that of the repository around it, else the named folder itself.
pub(crate) fn root_of(path: &Path) -> Option<PathBuf> {
    if path == Path::new(STDIN) {
        return None;
    }
    let path = path.canonicalize().ok()?;
    let dir = if path.is_dir() { path.as_path() } else { path.parent()? };
    let top = dir.ancestors().find(|dir| dir.join(".git").exists());
    Some(top.unwrap_or(dir).to_owned())
}

/// Looks at every file below these paths.
pub(crate) fn tree(
    paths: &[PathBuf],
    root: Option<&Path>,
    ignore_files: IgnoreFiles,
    review: &Review,
    threads: NonZeroUsize,
    progress: &Progress,
) -> Vec<Looked> {
    let mut seen = Vec::new();
    for path in paths {
        if path == Path::new(STDIN) {
            seen.push(look(Name::same("<stdin>".into()), &mut io::stdin().lock(), &mut Vec::new()));
        } else {
            seen.extend(below(path, root, ignore_files, review, threads, progress));
        }
    }
    // Two of the paths may lead to the same file.
    seen.sort_by(|a, b| a.name.cmp(&b.name));
    seen.dedup_by(|a, b| a.name.place == b.name.place && a.name.file == b.name.file);
    seen
}

fn below(
    path: &Path,
    root: Option<&Path>,
    ignore_files: IgnoreFiles,
    review: &Review,
    threads: NonZeroUsize,
    progress: &Progress,
) -> Vec<Looked> {
    let naming = Naming::of(path, root);
    let respected = ignore_files == IgnoreFiles::Respected;
    // A link to a folder that is named stands for the folder; the slash says so.
    let start = if path.is_symlink() && path.is_dir() { path.join("") } else { path.to_owned() };
    let mut builder = WalkBuilder::new(start);
    builder.hidden(false).ignore(false).follow_links(false).require_git(false).threads(threads.get());
    builder.git_ignore(respected).git_global(respected).git_exclude(respected).parents(respected);
    builder.filter_entry(|entry| entry.file_name() != ".git" || entry.depth() == 0);
    let (sender, receiver) = mpsc::channel();
    builder.build_parallel().run(|| {
        let (sender, naming) = (sender.clone(), &naming);
        let mut buffer = Vec::new();
        Box::new(move |entry| {
            let seen = match entry {
                Ok(entry) => one(&entry, naming, review, &mut buffer),
                Err(e) => Some(unreachable_entry(&e, naming)),
            };
            progress.one_more();
            // Nobody stops listening before the walk is over.
            seen.map_or(WalkState::Continue, |seen| match sender.send(seen) {
                Ok(()) => WalkState::Continue,
                Err(_) => WalkState::Quit,
            })
        })
    });
    drop(sender);
    receiver.into_iter().collect()
}

fn one(entry: &DirEntry, naming: &Naming, review: &Review, buffer: &mut Vec<u8>) -> Option<Looked> {
    let kind = entry.file_type()?;
    if kind.is_dir() {
        return None;
    }
    let name = naming.name(entry.path());
    let was_named = entry.depth() == 0;
    if !was_named && kind.is_symlink() {
        return Some(Looked::skipped(name, Why::Link));
    }
    if !was_named && !kind.is_file() {
        return Some(Looked::skipped(name, Why::NotAFile));
    }
    if !review.covers(&name.place) {
        return Some(Looked::skipped(name, Why::OutOfScope));
    }
    Some(match File::open(entry.path()) {
        Ok(mut file) => look(name, &mut file as &mut dyn Read, buffer),
        Err(e) => Looked::failed(name, e.to_string()),
    })
}

/// What the walk could not reach: its path is somewhere in the error.
fn unreachable_entry(e: &ignore::Error, naming: &Naming) -> Looked {
    let why = e.io_error().map_or_else(|| e.to_string(), ToString::to_string);
    let path = path_in(e).unwrap_or(&naming.path);
    Looked::failed(naming.name(path), why)
}

fn path_in(e: &ignore::Error) -> Option<&Path> {
    match e {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithLineNumber { err, .. } | ignore::Error::WithDepth { err, .. } => path_in(err),
        ignore::Error::Loop { child, .. } => Some(child),
        _ => None,
    }
}

/// How files below a named path are called: as the user would reach them, and as the repository knows them.
#[derive(Clone, Debug)]
struct Naming {
    path: PathBuf,
    /// The named path from the root, where it lies below it.
    from_root: Option<PathBuf>,
}

impl Naming {
    fn of(path: &Path, root: Option<&Path>) -> Naming {
        let real = path.canonicalize().ok();
        let from_root =
            real.zip(root).and_then(|(real, root)| Some(real.strip_prefix(root).ok()?.to_owned()));
        Naming { path: path.to_owned(), from_root }
    }

    fn name(&self, path: &Path) -> Name {
        let text = |path: &Path| shown(path.as_os_str().as_bytes());
        let file = text(path.strip_prefix("./").unwrap_or(path));
        let below = path.strip_prefix(&self.path).ok();
        let place =
            self.from_root.as_ref().zip(below).map(|(from_root, below)| match below.as_os_str().is_empty() {
                true => text(from_root),
                false => text(&from_root.join(below)),
            });
        Name { place: place.unwrap_or_else(|| file.clone()), file }
    }
}
