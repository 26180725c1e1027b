//! Names of what an attempt makes, so that it can be cleared away whatever becomes of the attempt.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::judge::prepare;
use crate::{Decoys, Outcome};

/// Number of the process that makes the attempt. Its own children use the same names.
static MAKER: AtomicI32 = AtomicI32::new(0);

/// Descriptor over which the outcome is told: the one open descriptor that is not an inheritance.
static TELLING: AtomicI32 = AtomicI32::new(-1);

/// Called once in the child that makes the attempt.
pub(crate) fn begin(telling: i32) {
    MAKER.store(std::process::id().cast_signed(), Ordering::Relaxed);
    TELLING.store(telling, Ordering::Relaxed);
}

/// The descriptor over which the outcome is told.
pub(crate) fn telling() -> i32 {
    TELLING.load(Ordering::Relaxed)
}

/// The name under which this attempt makes things.
pub(crate) fn name() -> String {
    name_of(MAKER.load(Ordering::Relaxed))
}

/// A path in `folder` that is this attempt's own, not made yet.
pub(crate) fn place_in(folder: &Path) -> PathBuf {
    folder.join(name())
}

/// A folder of this attempt's own in the writable folder.
pub(crate) fn own_folder(decoys: &Decoys) -> Result<PathBuf, Outcome> {
    let folder = place_in(decoys.work()?);
    prepare(fs::create_dir(&folder), "making a folder in the writable one")?;
    Ok(folder)
}

/// A file of this attempt's own, alone in its folder.
pub(crate) fn own_file(decoys: &Decoys) -> Result<PathBuf, Outcome> {
    let file = own_folder(decoys)?.join("file");
    prepare(fs::write(&file, b"made by the intruder\n"), "making a file in the writable folder")?;
    Ok(file)
}

/// Clears away what the attempt made by process `maker` left. What is not there is as good as cleared.
///
/// It goes one level deep and never further: should a mount have been left standing, what is behind it stays.
pub(crate) fn clear(decoys: &Decoys, maker: i32) {
    let root = PathBuf::from("/");
    let places = [&decoys.work, &decoys.folder, &decoys.readonly].into_iter().flatten().chain([&root]);
    for place in places {
        let made = place.join(name_of(maker));
        if let Ok(inside) = fs::read_dir(&made) {
            inside.flatten().for_each(|entry| remove(&entry.path()));
        }
        remove(&made);
    }
}

fn remove(path: &Path) {
    let Ok(kind) = fs::symlink_metadata(path) else { return };
    // Nothing can be done about one that cannot be removed: the harness looks for leftovers itself.
    let _ = if kind.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
}

fn name_of(maker: i32) -> String {
    format!("intruder-{maker}")
}
