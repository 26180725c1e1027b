//! Written files, found and read. Whoever calls this does so with rights of their own; what becomes of the texts is in `read_in.rs`.
//!
//! What holds: memory's own files are never read, since they would become memories of memories; links, hidden names and what is no prose by its
//! name are passed over; how much is read is bounded, and what is left out besides is told with the reason. A file that is named itself is read
//! whatever its name.

use std::fs::{File, FileType};
use std::io::{self, Read as _};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use holdfast_memory::parts;
use rustix::fs::OFlags;

/// What is longer is data, or a book.
const BYTES_MAX: u64 = 1 << 20;
/// Of all files together, which are held until they are taken in.
const BYTES_IN_ALL_MAX: u64 = 64 << 20;
const FILES_MAX: usize = 1_000;
const FOLDERS_MAX: usize = 10_000;
const DEPTH_MAX: usize = 8;
/// Pieces that are taken in at once: a second or two of a slow disk, so that nobody waits long for an answer.
const PART_PIECES: usize = 250;
/// And so many times a file: 2,000 pieces.
const PARTS_MAX: usize = 8;

/// How names of prose end. A name without an ending, such as README, is prose too. What else is text is code or data, and hardly a line of it is
/// worth remembering.
const PROSE: [&str; 9] = ["md", "markdown", "mdx", "txt", "text", "rst", "adoc", "asciidoc", "org"];

/// Whether a file is prose, by its name.
pub fn is_prose(path: &Path) -> bool {
    match path.extension() {
        None => true,
        Some(ending) => PROSE.iter().any(|it| ending.eq_ignore_ascii_case(it)),
    }
}

/// Written files that are to be read for what is worth keeping.
#[derive(Clone, Debug, Default)]
pub struct Files {
    pub read: Vec<WrittenFile>,
    pub skipped: Vec<(PathBuf, Skipped)>,
    /// Where memory keeps its own.
    own: PathBuf,
    bytes: u64,
    files: usize,
    folders: usize,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// Below the folder that was named; of a file that was named itself, what it is called.
    pub name: String,
    text: String,
    parts: Vec<Range<usize>>,
}

/// A part of a written file, and where it begins there. It is divided so that nothing that belongs together is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    pub name: &'a str,
    pub text: &'a str,
    pub at: u64,
}

/// Why a file was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// Memory wrote it itself.
    OurOwn,
    TooLong,
    NotText,
    /// There were enough before it; nothing after it was looked at.
    TooMany,
    TooDeep,
    /// A link, or what is neither a file nor a folder.
    NotAFile,
    Unreadable,
    /// It was read, and had more pieces than are looked at.
    TheRest,
}

impl Skipped {
    pub const fn as_str(self) -> &'static str {
        match self {
            Skipped::OurOwn => "our_own",
            Skipped::TooLong => "too_long",
            Skipped::NotText => "not_text",
            Skipped::TooMany => "too_many",
            Skipped::TooDeep => "too_deep",
            Skipped::NotAFile => "not_a_file",
            Skipped::Unreadable => "unreadable",
            Skipped::TheRest => "the_rest",
        }
    }

    pub const fn sentence(self) -> &'static str {
        match self {
            Skipped::OurOwn => "memory wrote it itself",
            Skipped::TooLong => "it has more than a mebibyte",
            Skipped::NotText => "it is no text in UTF-8",
            Skipped::TooMany => "there were enough before it; name what comes after it by itself",
            Skipped::TooDeep => "it lies too deep; name it by itself",
            Skipped::NotAFile => "it is a link, or no file",
            Skipped::Unreadable => "it could not be read",
            Skipped::TheRest => "only its first 2,000 pieces were looked at",
        }
    }
}

impl WrittenFile {
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let part = |range: &Range<usize>| Part {
            name: &self.name,
            text: &self.text[range.clone()],
            at: range.start as u64,
        };
        self.parts.iter().map(part)
    }
}

impl Files {
    /// None yet. What is in this folder is memory's own.
    pub fn beside(own: &Path) -> Files {
        let own = own.canonicalize().unwrap_or_else(|_| own.to_owned());
        Files { own, ..Files::default() }
    }

    /// Reads a file, or the files of a folder.
    pub fn take(&mut self, path: &Path) -> io::Result<()> {
        let about = path.symlink_metadata()?;
        let root = if about.is_dir() { path } else { path.parent().unwrap_or(path) };
        for file in self.found(path, about.file_type()) {
            let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned();
            self.read(file, name);
        }
        Ok(())
    }

    /// Reads one file, where it is one: of what is gone meanwhile, or a folder, it is told that it was passed over.
    pub fn take_file(&mut self, path: &Path) {
        match path.symlink_metadata() {
            Ok(about) if !about.is_dir() => {
                // It is there, or was a moment ago.
                if self.take(path).is_err() {
                    self.skip(path.to_owned(), Skipped::Unreadable);
                }
            }
            Ok(_) => self.skip(path.to_owned(), Skipped::NotAFile),
            Err(_) => self.skip(path.to_owned(), Skipped::Unreadable),
        }
    }

    /// The files of a path in order, no more than so many and not too deep.
    fn found(&mut self, path: &Path, kind: FileType) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![(path.to_owned(), 0, kind)];
        while let Some((path, depth, kind)) = open.pop() {
            if self.is_own(&path) {
                self.skip(path, Skipped::OurOwn);
            } else if self.files >= FILES_MAX && kind.is_file() || self.folders >= FOLDERS_MAX {
                self.skip(path, Skipped::TooMany);
                break;
            } else if kind.is_file() {
                self.files += 1;
                found.push(path);
            } else if kind.is_dir() && depth >= DEPTH_MAX {
                self.skip(path, Skipped::TooDeep);
            } else if kind.is_dir() {
                self.folders += 1;
                match entries(&path) {
                    Some(within) => {
                        open.extend(within.into_iter().map(|(path, kind)| (path, depth + 1, kind)))
                    }
                    None => self.skip(path, Skipped::Unreadable),
                }
            } else if depth == 0 {
                // In a folder such things are passed over; this one was named.
                self.skip(path, Skipped::NotAFile);
            }
        }
        found.sort_unstable();
        found
    }

    fn is_own(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|path| path.starts_with(&self.own))
    }

    fn read(&mut self, path: PathBuf, name: String) {
        let text = match text_of(&path) {
            Ok(text) if self.bytes + text.len() as u64 <= BYTES_IN_ALL_MAX => text,
            Ok(_) => return self.skip(path, Skipped::TooMany),
            Err(why) => return self.skip(path, why),
        };
        self.bytes += text.len() as u64;
        let mut parts = parts(&text, PART_PIECES);
        if parts.len() > PARTS_MAX {
            parts.truncate(PARTS_MAX);
            self.skip(path, Skipped::TheRest);
        }
        self.read.push(WrittenFile { name, text, parts });
    }

    fn skip(&mut self, path: PathBuf, why: Skipped) {
        self.skipped.push((path, why));
    }
}

/// What is in a folder and neither hidden nor a file that is no prose.
fn entries(folder: &Path) -> Option<Vec<(PathBuf, FileType)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).ok()?.flatten() {
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        match entry.file_type() {
            Ok(kind) if !is_hidden && (!kind.is_file() || is_prose(&entry.path())) => {
                found.push((entry.path(), kind));
            }
            _ => {}
        }
    }
    found.sort_by(|(a, _), (b, _)| b.cmp(a));
    Some(found)
}

fn text_of(path: &Path) -> Result<String, Skipped> {
    // Not following what has become a link since, and not waiting for the other end of a pipe.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let open = File::options().read(true).custom_flags(flags.bits() as i32).open(path);
    let file = open.map_err(|_| Skipped::Unreadable)?;
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return Err(Skipped::NotAFile);
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|_| Skipped::Unreadable)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(Skipped::TooLong);
    }
    let text = String::from_utf8(bytes).map_err(|_| Skipped::NotText)?;
    if text.contains('\0') { Err(Skipped::NotText) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &Files) -> Vec<&str> {
        files.read.iter().map(|file| file.name.as_str()).collect()
    }

    fn why(files: &Files) -> Vec<(&str, Skipped)> {
        let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).unwrap().to_owned();
        files.skipped.iter().map(|(path, why)| (&*name(path).leak(), *why)).collect()
    }

    #[test]
    fn what_is_passed_over_is_told_where_it_was_named_or_might_be_missed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("docs");
        let deep = folder.join("1/2/3/4/5/6/7/8/9");
        std::fs::create_dir_all(&deep).unwrap();
        let put = |name: &str, text: &[u8]| std::fs::write(folder.join(name), text).unwrap();
        put("ops.md", b"The gateway listens on port 9096.");
        put("gateway.rs", b"// The gateway listens on port 9096.");
        put("1/in.md", b"Backups are kept for fourteen days.");
        put(".hidden", b"Nobody is to see this line.");
        put("list.md", "- an item of many\n".repeat(2_100).as_bytes());
        std::fs::write(deep.join("deep.md"), "Too far down to be looked at.").unwrap();
        std::os::unix::fs::symlink(folder.join("ops.md"), folder.join("link.md")).unwrap();

        let mut files = Files::beside(&dir.path().join("own"));
        files.take(&folder).unwrap();
        assert_eq!(read(&files), ["1/in.md", "list.md", "ops.md"]);
        assert_eq!(why(&files), [("8", Skipped::TooDeep), ("list.md", Skipped::TheRest)]);
        let list = &files.read[1];
        let last = list.parts().last().unwrap();
        assert_eq!((list.parts().count(), last.at), (8, 7 * 250 * "- an item of many\n".len() as u64));

        let mut named = Files::beside(&folder.join("1"));
        named.take(&folder.join("link.md")).unwrap();
        named.take(&folder.join("ops.md")).unwrap();
        named.take(&folder.join("gateway.rs")).unwrap();
        named.take_file(&folder.join("1/in.md"));
        named.take_file(&folder);
        named.take_file(&folder.join("gone.md"));
        assert_eq!(read(&named), ["ops.md", "gateway.rs"]);
        assert_eq!(
            why(&named),
            [
                ("link.md", Skipped::NotAFile),
                ("in.md", Skipped::OurOwn),
                ("docs", Skipped::NotAFile),
                ("gone.md", Skipped::Unreadable)
            ]
        );
        assert!(named.take(&folder.join("gone.md")).is_err());
    }

    #[test]
    fn no_more_files_are_read_than_so_many() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..FILES_MAX + 5 {
            std::fs::write(dir.path().join(format!("{n:04}.txt")), "One line of many files.").unwrap();
        }
        let mut files = Files::beside(Path::new("/nowhere/at/all"));
        files.take(dir.path()).unwrap();
        assert_eq!((files.read.len(), why(&files)), (FILES_MAX, vec![("1000.txt", Skipped::TooMany)]));
    }
}
