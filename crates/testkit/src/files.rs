//! Damage to files, copies and pictures of folders, and a search for bytes that must not be there.
//!
//! Everything panics on an error and names the path: in a test there is nothing else to do with it.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};

/// Large enough that reading costs little, small enough that a test can cross its border.
const CHUNK_LEN: usize = 64 << 10;

/// Inverts one bit (0 is the lowest) of one existing byte.
#[track_caller]
pub fn flip_bit(path: impl AsRef<Path>, byte_offset: u64, bit: u8) {
    assert!(bit < 8, "a byte has no bit {bit}");
    let path = path.as_ref();
    let file = open_to_damage(path);
    let mut byte = [0];
    or_panic(path, file.read_exact_at(&mut byte, byte_offset));
    byte[0] ^= 1 << bit;
    or_panic(path, file.write_all_at(&byte, byte_offset));
}

/// Cuts the file to `len` bytes. Panics if that would make it longer, which is another kind of damage.
#[track_caller]
pub fn truncate(path: impl AsRef<Path>, len: u64) {
    let path = path.as_ref();
    let file = open_to_damage(path);
    let had = or_panic(path, file.metadata()).len();
    assert!(len <= had, "{}: {len} bytes is more than the {had} it has", path.display());
    or_panic(path, file.set_len(len));
}

/// Copies a folder with its files, folders and links (as links) to `to`, which may not exist yet.
#[track_caller]
pub fn copy_tree(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let (from, to) = (from.as_ref(), to.as_ref());
    or_panic(to, fs::create_dir_all(to));
    for entry in entries(from) {
        let target = to.join(entry.file_name().unwrap_or_default());
        match kind_of(&entry) {
            Entry::Folder => copy_tree(&entry, &target),
            Entry::File => drop(or_panic(&entry, fs::copy(&entry, &target))),
            Entry::Link => or_panic(&target, symlink(or_panic(&entry, fs::read_link(&entry)), &target)),
            Entry::Other => panic!("{}: not a file, folder or link", entry.display()),
        }
    }
    // Last, because the copy of a folder nobody may write to could not be filled.
    or_panic(to, fs::set_permissions(to, or_panic(from, fs::metadata(from)).permissions()));
}

/// Every regular file below `dir`, by its path relative to it. Links are not followed.
#[track_caller]
pub fn tree_bytes(dir: impl AsRef<Path>) -> BTreeMap<PathBuf, Vec<u8>> {
    let dir = dir.as_ref();
    let relative = |path: &Path| path.strip_prefix(dir).unwrap_or(path).to_owned();
    files_below(dir).iter().map(|path| (relative(path), or_panic(path, fs::read(path)))).collect()
}

/// The regular files below `dir` (joined to it, sorted) that contain `needle`. Reads in chunks.
#[track_caller]
pub fn find_bytes(dir: impl AsRef<Path>, needle: &[u8]) -> Vec<PathBuf> {
    assert!(!needle.is_empty(), "every file contains the empty string");
    let mut found = files_below(dir.as_ref());
    found.retain(|path| or_panic(path, contains(path, needle)));
    found
}

enum Entry {
    File,
    Folder,
    Link,
    Other,
}

#[track_caller]
fn kind_of(path: &Path) -> Entry {
    let kind = or_panic(path, fs::symlink_metadata(path)).file_type();
    match () {
        () if kind.is_file() => Entry::File,
        () if kind.is_dir() => Entry::Folder,
        () if kind.is_symlink() => Entry::Link,
        () => Entry::Other,
    }
}

#[track_caller]
fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in entries(dir) {
        match kind_of(&entry) {
            Entry::Folder => files.extend(files_below(&entry)),
            Entry::File => files.push(entry),
            Entry::Link | Entry::Other => {}
        }
    }
    files
}

/// Sorted, because the order the filesystem gives differs from machine to machine.
#[track_caller]
fn entries(dir: &Path) -> Vec<PathBuf> {
    let listing = or_panic(dir, fs::read_dir(dir));
    let mut paths: Vec<PathBuf> = listing.map(|entry| or_panic(dir, entry).path()).collect();
    paths.sort();
    paths
}

fn contains(path: &Path, needle: &[u8]) -> std::io::Result<bool> {
    let mut file = File::open(path)?;
    let mut window = Vec::with_capacity(CHUNK_LEN + needle.len());
    loop {
        // The end of the last chunk stays in front of the next: the needle may lie across the border.
        window.drain(..window.len().saturating_sub(needle.len() - 1));
        if (&mut file).take(CHUNK_LEN as u64).read_to_end(&mut window)? == 0 {
            return Ok(false);
        }
        if window.windows(needle.len()).any(|part| part == needle) {
            return Ok(true);
        }
    }
}

#[track_caller]
fn open_to_damage(path: &Path) -> File {
    or_panic(path, OpenOptions::new().read(true).write(true).open(path))
}

#[track_caller]
fn or_panic<T, E: Display>(path: &Path, result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(e) => panic!("{}: {e}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::panic::catch_unwind;

    fn folder_with(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        dir
    }

    #[test]
    fn a_flipped_bit_is_the_only_change_and_flips_back() {
        let dir = folder_with(&[("f", &[0, 0xff, 0])]);
        let path = dir.path().join("f");
        flip_bit(&path, 1, 7);
        assert_eq!(fs::read(&path).unwrap(), [0, 0x7f, 0]);
        flip_bit(&path, 1, 7);
        assert_eq!(fs::read(&path).unwrap(), [0, 0xff, 0]);
    }

    #[test]
    fn damage_outside_the_file_is_a_mistake_of_the_test() {
        let dir = folder_with(&[("f", b"abc")]);
        let path = dir.path().join("f");
        assert!(catch_unwind(|| flip_bit(&path, 3, 0)).is_err());
        assert!(catch_unwind(|| flip_bit(&path, 0, 8)).is_err());
        assert!(catch_unwind(|| truncate(&path, 4)).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"abc");
        truncate(&path, 1);
        assert_eq!(fs::read(&path).unwrap(), b"a");
    }

    #[test]
    fn a_copied_tree_has_the_same_files_links_and_modes() {
        let dir = folder_with(&[("a/b/deep", b"1"), ("top", b"2"), ("a/empty", b"")]);
        symlink("a/b/deep", dir.path().join("link")).unwrap();
        fs::set_permissions(dir.path().join("top"), fs::Permissions::from_mode(0o640)).unwrap();
        fs::set_permissions(dir.path().join("a/b"), fs::Permissions::from_mode(0o500)).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let copy = elsewhere.path().join("copy");
        copy_tree(dir.path(), &copy);
        let mode = |path: &str| fs::metadata(copy.join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(tree_bytes(&copy), tree_bytes(dir.path()));
        assert_eq!(tree_bytes(&copy).len(), 3);
        assert_eq!(fs::read_link(copy.join("link")).unwrap(), Path::new("a/b/deep"));
        assert_eq!((mode("top"), mode("a/b")), (0o640, 0o500));
        // Anyone but root could not clear away what is below a folder closed to writing.
        for root in [&copy, dir.path()] {
            fs::set_permissions(root.join("a/b"), fs::Permissions::from_mode(0o700)).unwrap();
        }
    }

    #[test]
    fn bytes_are_found_wherever_the_chunk_border_falls() {
        let needle = b"needle";
        for start in CHUNK_LEN - 7..CHUNK_LEN + 2 {
            let mut bytes = vec![b'n'; 2 * CHUNK_LEN];
            bytes[start..start + needle.len()].copy_from_slice(needle);
            let dir = folder_with(&[("x/has", &bytes), ("has not", b"needl")]);
            assert_eq!(find_bytes(dir.path(), needle), [dir.path().join("x/has")], "at {start}");
        }
    }

    #[test]
    fn a_needle_longer_than_the_chunk_or_the_file_is_searched_for_too() {
        let long: Vec<u8> = (0..CHUNK_LEN * 2 + 1).map(|i| (i % 251) as u8).collect();
        let dir = folder_with(&[("long", &[b"x", &long[..], b"y"].concat()), ("short", b"x"), ("none", b"")]);
        assert_eq!(find_bytes(dir.path(), &long), [dir.path().join("long")]);
        assert_eq!(find_bytes(dir.path(), b"x").len(), 2);
    }
}
