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
/// A path, and a word before it.
const LINK_BYTES_MAX: u64 = 16 << 10;

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
    let (sender, receiver) = mpsc::channel();
    if respected && let Some(list) = path.canonicalize().ok().and_then(|path| above(&path)) {
        return vec![Looked::failed(naming.name(&list), NO_LIST.to_owned())];
    }
    let (teller, called) = (sender.clone(), naming.clone());
    builder.filter_entry(move |entry| {
        if entry.depth() > 0 && entry.file_name() == ".git" {
            return false;
        }
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let list = (respected && is_folder).then(|| no_list(entry.path())).flatten();
        // Nobody stops listening before the walk is over.
        list.is_none_or(|list| {
            let _told = teller.send(Looked::failed(called.name(&list), NO_LIST.to_owned()));
            false
        })
    });
    let walk = builder.build_parallel();
    walk.run(|| {
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
    // The rules of the walk hold one too.
    drop((sender, builder));
    receiver.into_iter().collect()
}

/// Why a folder was not looked into.
const NO_LIST: &str = "what should say which files are ignored is no file, so this folder was not looked at";

/// A list of ignored files that is none: whoever opens a pipe waits.
fn no_list(folder: &Path) -> Option<PathBuf> {
    let dot = folder.join(".git");
    let lists = [folder.join(".gitignore"), dot.join("info/exclude")];
    // A work tree beside its repository says where that is, and that says what it shares.
    let beside = first_line(&dot).map_or_else(Vec::new, |line| match line.strip_prefix("gitdir:") {
        Some(dir) => shared(folder, Path::new(dir.trim())),
        None => Vec::new(),
    });
    lists.into_iter().chain(beside).find(|list| list.metadata().is_ok_and(|meta| !meta.is_file()))
}

/// What the walk reads of a repository that is elsewhere. It takes a relative path from where we are; git takes it from the folder.
fn shared(folder: &Path, dir: &Path) -> Vec<PathBuf> {
    let mut lists = Vec::new();
    for dir in [folder.join(dir), dir.to_owned()] {
        let common = dir.join("commondir");
        let line = first_line(&common).unwrap_or_default();
        lists.extend([dir.join("info/exclude"), dir.join(&line).join("info/exclude"), common]);
        lists.push(Path::new(&line).join("info/exclude"));
    }
    lists
}

/// Nothing of what is no file.
fn first_line(path: &Path) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LINK_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Some(String::from_utf8_lossy(line).trim().to_owned())
}

/// The same in the folders above, whose lists count as well.
fn above(path: &Path) -> Option<PathBuf> {
    path.ancestors().find_map(no_list)
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
