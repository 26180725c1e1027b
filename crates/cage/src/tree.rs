//! What is where on the machine: all a plan asks about files.

use std::path::{Path, PathBuf};

/// What a path leads to, itself and not what it points at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Missing,
    Folder,
    File,
    Link(PathBuf),
}

pub trait Tree {
    fn look(&self, path: &Path) -> Entry;
}

/// The machine's own files.
#[derive(Clone, Copy, Debug)]
pub struct Machine;

impl Tree for Machine {
    fn look(&self, path: &Path) -> Entry {
        match std::fs::symlink_metadata(path) {
            Err(_) => Entry::Missing,
            Ok(found) if found.is_symlink() => std::fs::read_link(path).map_or(Entry::Missing, Entry::Link),
            Ok(found) if found.is_dir() => Entry::Folder,
            Ok(_) => Entry::File,
        }
    }
}
