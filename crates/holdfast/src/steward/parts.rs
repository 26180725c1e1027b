//! Whether the safety parts are still the ones that were started: the gates, the auditor, the invariants and the tripwire's
//! checks are all in this one program, so it is the program's file that is watched.
//!
//! The file of a running program cannot be written to, but another can be put in its place, and whatever is started next
//! would be that one. While the two differ nothing is tried.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use holdfast_tripwire::parts::{Stamp, digest};
use tracing::warn;

/// The program that runs, and the file it was started from.
#[derive(Debug)]
pub(super) struct Parts {
    running: PathBuf,
    installed: PathBuf,
    /// The file as it was when it was last read whole, and whether it was the same program.
    seen: Option<(Stamp, bool)>,
}

impl Parts {
    /// This program.
    pub(super) fn of_this_program() -> io::Result<Parts> {
        let running = PathBuf::from("/proc/self/exe");
        let installed = where_it_was(fs::read_link(&running)?);
        Ok(Parts { running, installed, seen: None })
    }

    /// Whether what would be started now is what runs. A file that cannot be read is another one.
    pub(super) fn are_as_started(&mut self) -> bool {
        self.look().unwrap_or_else(|e| {
            warn!(error = %e, "this program's own file cannot be read, so nothing is tried");
            false
        })
    }

    fn look(&mut self) -> io::Result<bool> {
        let stamp = Stamp::of(&fs::metadata(&self.installed)?);
        if let Some((_, same)) = self.seen.filter(|(seen, _)| *seen == stamp) {
            return Ok(same);
        }
        // The kernel lets nobody write to a file that runs, so the same file is the same program.
        let same = stamp.is_same_file(&Stamp::of(&fs::metadata(&self.running)?))
            || digest(&self.installed)? == digest(&self.running)?;
        self.seen = Some((stamp, same));
        Ok(same)
    }
}

/// The kernel adds a word to the name of a file that is no longer there.
fn where_it_was(link: PathBuf) -> PathBuf {
    let name = link.as_os_str().as_bytes();
    match name.strip_suffix(b" (deleted)") {
        Some(before) if !link.exists() => PathBuf::from(OsStr::from_bytes(before)),
        _ => link,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A program that runs, as far as its files go: what was started, and what lies where it was started from.
    fn started(folder: &Path) -> (Parts, PathBuf) {
        let (running, installed) = (folder.join("running"), folder.join("installed"));
        fs::write(&running, b"the auditor").unwrap();
        fs::write(&installed, b"the auditor").unwrap();
        (Parts { running, installed: installed.clone(), seen: None }, installed)
    }

    // shows: STW-161
    #[test]
    fn a_program_that_was_altered_exchanged_or_removed_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let (mut parts, installed) = started(folder.path());
        assert!(parts.are_as_started());
        assert!(parts.are_as_started(), "asked again, without a change");
        fs::write(&installed, b"the auditoR").unwrap();
        assert!(!parts.are_as_started(), "altered, at the same length");
        fs::remove_file(&installed).unwrap();
        fs::write(&installed, b"lets all through").unwrap();
        assert!(!parts.are_as_started(), "another in its place");
        fs::remove_file(&installed).unwrap();
        assert!(!parts.are_as_started(), "gone");
        fs::write(&installed, b"the auditor").unwrap();
        assert!(parts.are_as_started(), "the same as before");
    }

    #[test]
    fn this_program_is_the_one_that_was_started() {
        assert!(Parts::of_this_program().unwrap().are_as_started());
    }
}
