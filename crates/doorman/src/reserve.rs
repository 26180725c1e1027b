//! A little of the disk, kept for the way back: a full one must not stop an undo.
//!
//! It is held from the first day on. A step of an undo that finds no room gives it back and is done again; it is taken
//! again afterwards, as soon as there is room, and nothing new is tried without it.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::ours::remove;
use crate::place::Place;
use crate::program::Trouble;

/// The desk, a note, a layer and a piece of the log, a hundred times over.
const BYTES: u64 = 4 << 20;
const NAME: &str = "reserve";

/// Makes sure that it is held.
pub(crate) fn hold(place: &Place) -> Result<(), Trouble> {
    for path in files(place) {
        if is_whole(&path) {
            continue;
        }
        if let Err(source) = take(&path) {
            let _ = fs::remove_file(&path);
            let what = "no room is left on the disk of this target for the way back".to_owned();
            return Err(Trouble::File { what, source });
        }
    }
    Ok(())
}

/// Does something that may be done twice. Where there is no room for it, the reserve is given back and it is done again.
pub(crate) fn with<T>(place: &Place, mut step: impl FnMut() -> Result<T, Trouble>) -> Result<T, Trouble> {
    let done = match step() {
        Err(e) if e.is_for_want_of_room() => {
            for path in files(place) {
                remove(&path)?;
            }
            step()
        }
        done => done,
    };
    // Where it cannot be had now, whoever tries something next has to have it first.
    let _ = hold(place);
    done
}

/// One on each disk that an undo writes to.
fn files(place: &Place) -> Vec<PathBuf> {
    let mut files = vec![place.state.join(NAME)];
    let disk = |path: &Path| fs::metadata(path).map(|meta| meta.dev()).ok();
    if let Some(folder) = place.settings.parent().filter(|it| disk(it) != disk(&place.state)) {
        files.push(folder.join(NAME));
    }
    files
}

fn is_whole(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.blocks() * 512 >= BYTES)
}

fn take(path: &Path) -> std::io::Result<()> {
    let _ = fs::remove_file(path);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, BYTES) {
        // A file system that cannot promise room is filled.
        Err(rustix::io::Errno::OPNOTSUPP) => fill(&mut file)?,
        done => done?,
    }
    file.sync_all()
}

fn fill(file: &mut File) -> std::io::Result<()> {
    let piece = vec![b'r'; 64 << 10];
    for _ in 0..BYTES / piece.len() as u64 {
        file.write_all(&piece)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(folder: &Path) -> Place {
        Place { state: folder.to_owned(), settings: folder.join("doorman.json"), ..Place::default() }
    }

    #[test]
    fn it_is_given_back_when_there_is_no_room_and_taken_again_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        hold(&place).unwrap();
        let reserve = folder.path().join(NAME);
        assert!(is_whole(&reserve));
        let mut tries = 0;
        with(&place, || {
            tries += 1;
            match reserve.exists() {
                true => {
                    Err(Trouble::File { what: "writing".to_owned(), source: rustix::io::Errno::NOSPC.into() })
                }
                false => Ok(()),
            }
        })
        .unwrap();
        assert_eq!(tries, 2);
        assert!(is_whole(&reserve), "held again");
        // Anything else is no reason to give it back.
        let other = with(&place, || Err::<(), _>(Trouble::Odd("no".to_owned())));
        assert!(other.is_err() && is_whole(&reserve));
    }
}
