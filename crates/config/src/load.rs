//! The one place that touches the disk: opens config.yaml, and only if nobody else can have changed it.
//!
//! Whoever can write the file, or put another in its place, rules the program: an agent could silence monitors
//! or add a webhook to leak to. So file and folder belong to root or to us, and nobody else can write them. The file is
//! looked at through the handle it is then read from, so it cannot be exchanged in between.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::error::Error;
use crate::layers::Layers;
use crate::loaded::Loaded;
use crate::sections::Config;
use crate::source::BYTES_MAX;

const WRITABLE_BY_OTHERS: u32 = 0o022;
/// In a folder with this bit only the owner of a file can exchange it.
const STICKY: u32 = 0o1000;

/// Reads the file, if there is one, and lays environment and flags over it. Without a file, the defaults hold.
pub fn load(path: &Path, environment: &[(String, String)], sets: &[String]) -> Result<Loaded, Error> {
    let bytes = trusted_bytes(path)?;
    let file = bytes.as_deref().map(|bytes| (path, bytes));
    Config::read(Layers { file, environment, sets })
}

/// The bytes of a file that only root and we can change; nothing if there is no file.
fn trusted_bytes(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
    // A missing file means the defaults, so a folder that others can empty is refused as well.
    trusted_folder(path)?;
    let Some(file) = open(path)? else { return Ok(None) };
    let about = file.metadata().map_err(unreadable)?;
    if !about.is_file() {
        return Err(Error::NotAFile { path: path.to_owned(), what: kind_of(&about) });
    }
    if about.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(Error::WritableByOthers { path: path.to_owned(), mode: about.mode() & 0o7777 });
    }
    ours(path, about.uid(), rustix::process::geteuid().as_raw())?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > BYTES_MAX {
        return Err(Error::TooLarge { path: path.to_owned() });
    }
    Ok(Some(bytes))
}

fn open(path: &Path) -> Result<Option<File>, Error> {
    // Not following a link, and not waiting for the other end of a pipe.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(match path.symlink_metadata() {
            Ok(about) if !about.is_file() => Error::NotAFile { path: path.to_owned(), what: kind_of(&about) },
            _ => Error::Unreadable { path: path.to_owned(), source },
        }),
    }
}

fn trusted_folder(path: &Path) -> Result<(), Error> {
    let folder = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Ok(()),
    };
    let about = match folder.metadata() {
        Ok(about) => about,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(Error::Unreadable { path: folder.to_owned(), source }),
    };
    if about.mode() & WRITABLE_BY_OTHERS != 0 && about.mode() & STICKY == 0 {
        return Err(Error::WritableByOthers { path: folder.to_owned(), mode: about.mode() & 0o7777 });
    }
    ours(folder, about.uid(), rustix::process::geteuid().as_raw())
}

fn ours(path: &Path, owner: u32, us: u32) -> Result<(), Error> {
    if owner == 0 || owner == us {
        return Ok(());
    }
    Err(Error::ForeignOwner { path: path.to_owned(), owner, expected: us })
}

fn kind_of(about: &Metadata) -> &'static str {
    let kind = about.file_type();
    if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_root_or_to_us_is_ours() {
        let check = |owner, us, fine| {
            let judged = ours(Path::new("config.yaml"), owner, us);
            assert_eq!(judged.is_ok(), fine, "{owner} for {us}");
            if let Err(e) = judged {
                assert!(
                    matches!(e, Error::ForeignOwner { owner: o, expected, .. } if (o, expected) == (owner, us))
                );
            }
        };
        check(0, 0, true);
        check(0, 1000, true);
        check(1000, 1000, true);
        check(1000, 0, false);
        check(1001, 1000, false);
    }
}
