//! The tree's hashes on disk: one flat file for every eighth level.
//!
//! `tree/00` holds the leaf hashes one after another, `tree/08` the roots of 256 leaves each, and so on, so
//! the files are the full tiles of the C2SP tile layout laid end to end. Levels in between are folded from
//! at most 128 neighbours. All of it can be made again from the entries; what makes it trustworthy is that
//! it folds to the root of a signed checkpoint.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use holdfast_durable::while_doing;

use super::proof::HashSource;
use super::tree::{Frontier, Hash, node_hash};

const HASH_LEN: u64 = 32;
const LEVELS_PER_ROW: u8 = 8;
/// Rows for levels 0, 8, … 56: enough for any 64-bit size.
const ROWS: usize = 8;

/// The rows of one journal. Clones of the handle read; only the notary writes.
#[derive(Debug)]
pub(crate) struct Rows {
    dir: PathBuf,
    files: Vec<File>,
    /// Hashes not yet handed to the kernel, per row, each with the index of its first hash.
    waiting: Vec<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    first: u64,
    bytes: Vec<u8>,
}

impl Rows {
    pub(crate) fn create(dir: &Path) -> io::Result<()> {
        holdfast_durable::create_dir(dir)?;
        Rows::open_with(
            dir,
            OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600),
        )?;
        holdfast_durable::sync_dir(dir)
    }

    pub(crate) fn open_writable(dir: &Path) -> io::Result<Rows> {
        Rows::open_with(dir, OpenOptions::new().read(true).write(true))
    }

    pub(crate) fn open_read_only(dir: &Path) -> io::Result<Rows> {
        Rows::open_with(dir, OpenOptions::new().read(true))
    }

    fn open_with(dir: &Path, options: &OpenOptions) -> io::Result<Rows> {
        let open = |row: usize| {
            let path = dir.join(format!("{:02}", row * usize::from(LEVELS_PER_ROW)));
            options.open(&path).map_err(|e| while_doing("opening", &path, e))
        };
        let files = (0..ROWS).map(open).collect::<io::Result<Vec<_>>>()?;
        Ok(Rows { dir: dir.to_owned(), files, waiting: (0..ROWS).map(|_| Waiting::default()).collect() })
    }

    /// How many leaf hashes are on disk.
    pub(crate) fn leaves(&self) -> io::Result<u64> {
        Ok(self.files[0].metadata()?.len() / HASH_LEN)
    }

    /// The lowest level above the leaves whose row lacks hashes of the first `size` leaves.
    pub(crate) fn first_short_level(&self, size: u64) -> Option<u8> {
        let short = |row: &usize| {
            let needed = size >> (row * usize::from(LEVELS_PER_ROW));
            self.files[*row].metadata().map_or(true, |m| m.len() / HASH_LEN < needed)
        };
        (1..ROWS).find(short).map(|row| row as u8 * LEVELS_PER_ROW)
    }

    /// Forgets everything beyond the first `size` leaves.
    pub(crate) fn cut_to(&mut self, size: u64) -> io::Result<()> {
        for (row, file) in self.files.iter().enumerate() {
            let hashes = size >> (row * usize::from(LEVELS_PER_ROW));
            file.set_len(hashes * HASH_LEN)?;
            self.waiting[row] = Waiting { first: hashes, bytes: Vec::new() };
        }
        Ok(())
    }

    /// Notes a complete subtree's hash; kept only where a row exists for its level.
    pub(crate) fn note(&mut self, level: u8, hash: &Hash) {
        if level.is_multiple_of(LEVELS_PER_ROW) {
            self.waiting[usize::from(level / LEVELS_PER_ROW)].bytes.extend_from_slice(hash);
        }
    }

    /// Writes what was noted and returns when it is durable.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        for (file, waiting) in self.files.iter().zip(&mut self.waiting) {
            if waiting.bytes.is_empty() {
                continue;
            }
            let failed = |e| while_doing("writing tree hashes in", &self.dir, e);
            file.write_all_at(&waiting.bytes, waiting.first * HASH_LEN).map_err(failed)?;
            file.sync_data().map_err(failed)?;
            waiting.first += waiting.bytes.len() as u64 / HASH_LEN;
            waiting.bytes.clear();
        }
        Ok(())
    }

    /// The frontier of the tree of the first `size` leaves, from the hashes on disk.
    pub(crate) fn frontier(&self, size: u64) -> io::Result<Frontier> {
        let bits = (0..64u8).rev().filter(|bit| size >> bit & 1 == 1);
        let peaks =
            bits.map(|level| self.hash(level, (size >> level) - 1)).collect::<io::Result<Vec<_>>>()?;
        Frontier::resume(size, peaks).ok_or_else(|| io::Error::other("the frontier has one peak per bit"))
    }
}

impl HashSource for Rows {
    type Error = io::Error;

    fn hash(&self, level: u8, index: u64) -> io::Result<Hash> {
        let row = level / LEVELS_PER_ROW;
        let width = 1usize << (level % LEVELS_PER_ROW);
        let mut bytes = vec![0; width * HASH_LEN as usize];
        self.files[usize::from(row)]
            .read_exact_at(&mut bytes, index * width as u64 * HASH_LEN)
            .map_err(|e| while_doing("reading tree hashes in", &self.dir, e))?;
        let mut hashes: Vec<Hash> = bytes.as_chunks::<32>().0.to_vec();
        while hashes.len() > 1 {
            hashes = hashes.chunks_exact(2).map(|pair| node_hash(&pair[0], &pair[1])).collect();
        }
        Ok(hashes[0])
    }
}

/// A window over the stored leaf hashes, for comparing them with entries in order.
#[derive(Debug, Default)]
pub(crate) struct LeafWindow {
    first: u64,
    bytes: Vec<u8>,
}

impl LeafWindow {
    /// The stored hash of a leaf; `None` when there is none.
    pub(crate) fn get(&mut self, rows: &Rows, leaf: u64) -> Option<Hash> {
        const HASHES_AT_ONCE: usize = 2048;
        let held = self.bytes.len() as u64 / HASH_LEN;
        if leaf < self.first || leaf >= self.first + held {
            self.bytes.resize(HASHES_AT_ONCE * HASH_LEN as usize, 0);
            let got = rows.files[0].read_at(&mut self.bytes, leaf * HASH_LEN).unwrap_or(0);
            self.bytes.truncate(got - got % HASH_LEN as usize);
            self.first = leaf;
        }
        let at = ((leaf - self.first) * HASH_LEN) as usize;
        self.bytes.get(at..)?.first_chunk::<32>().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merkle::{leaf_hash, prove_inclusion, verify_inclusion};

    #[test]
    fn rows_give_frontier_and_proofs_at_any_size_and_survive_reopening() {
        let dir = tempfile::tempdir().unwrap();
        Rows::create(dir.path()).unwrap();
        let mut frontier = Frontier::default();
        let mut roots = vec![frontier.root()];
        {
            let mut rows = Rows::open_writable(dir.path()).unwrap();
            for i in 0u64..70_000 {
                let leaf = leaf_hash(&i.to_be_bytes());
                rows.note(0, &leaf);
                frontier.push(leaf, |level, _, hash| rows.note(level, hash));
                roots.push(frontier.root());
                if i % 997 == 0 {
                    rows.flush().unwrap();
                }
            }
            rows.flush().unwrap();
        }
        let mut rows = Rows::open_writable(dir.path()).unwrap();
        assert_eq!(rows.leaves().unwrap(), 70_000);
        for size in [0u64, 1, 2, 255, 256, 257, 65_535, 65_536, 65_537, 70_000] {
            assert_eq!(rows.frontier(size).unwrap().root(), roots[size as usize], "{size}");
        }
        for index in [0u64, 1, 255, 256, 65_535, 65_536, 69_999] {
            let proof = prove_inclusion(&rows, index, 70_000).unwrap();
            let leaf = leaf_hash(&index.to_be_bytes());
            assert_eq!(verify_inclusion(&leaf, index, 70_000, &roots[70_000], &proof), Ok(()));
        }
        rows.cut_to(300).unwrap();
        assert_eq!(rows.frontier(300).unwrap().root(), roots[300]);
        assert_eq!(rows.leaves().unwrap(), 300);
        let mut leaves = LeafWindow::default();
        assert_eq!(leaves.get(&rows, 298), Some(leaf_hash(&298u64.to_be_bytes())));
        assert_eq!(leaves.get(&rows, 3), Some(leaf_hash(&3u64.to_be_bytes())));
        assert_eq!(leaves.get(&rows, 300), None);
    }
}
