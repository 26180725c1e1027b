//! The base that a rebuild is writing, shared with the index it is for: what is forgotten meanwhile is left out, or wiped where it is
//! written already.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use holdfast_durable::while_doing;

use crate::base::wipe;
use crate::error::Error;
use crate::files;
use crate::key::Key;
use crate::layout::{CHECK_BYTES, Check, DEGREE, Header, Layout, key_to_bytes};
use crate::shelf::Shelf;
use crate::vector::{VECTOR_BYTES, WIDTH};

#[derive(Debug, Default)]
pub(crate) struct Aside {
    /// Since the rebuild was begun.
    pub(crate) forgotten: HashSet<Key>,
    draft: Option<Draft>,
}

/// A row on its way: its key, and its vector's checksum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) key: Key,
    pub(crate) crc: u32,
}

/// A base that is not whole yet, or whole and not counted yet. Dropped, it is shredded.
#[derive(Debug)]
struct Draft {
    file: File,
    path: PathBuf,
    layout: Layout,
    /// In the order of keys.
    rows: Vec<(Key, u32)>,
    keep: bool,
}

impl Aside {
    /// Leaves keys out from now on, and wipes what is written of them.
    pub(crate) fn forget(&mut self, keys: &[Key]) -> Result<(), Error> {
        self.forgotten.extend(keys);
        self.draft.as_ref().map_or(Ok(()), |draft| draft.wipe(keys))
    }

    /// Begins a file of these rows.
    pub(crate) fn begin(&mut self, path: PathBuf, rows: &[Row], graph: bool) -> Result<(), Error> {
        let layout = Layout::of(rows.len() as u32, graph);
        let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(|e| while_doing("making", &path, e))?;
        let mut in_order: Vec<(Key, u32)> = rows.iter().zip(0..).map(|(row, n)| (row.key, n)).collect();
        in_order.sort_unstable();
        let draft = Draft { file, path, layout, rows: in_order, keep: false };
        draft.file.set_len(layout.end).map_err(|e| while_doing("making room for", &draft.path, e))?;
        self.draft = Some(draft);
        Ok(())
    }

    /// Writes the parts of rows that were made of their vectors, from row `begin` on; `vectors` are the bytes of theirs.
    pub(crate) fn write(
        &self,
        begin: u32,
        rows: &[Row],
        shelf: &Shelf,
        links: Option<&[u32]>,
        vectors: &[u8],
    ) -> Result<(), Error> {
        let Some(draft) = &self.draft else { return Err(Error::NotOurs) };
        let mut parts = Parts::default();
        for (place, row) in rows.iter().enumerate() {
            let number = begin + place as u32;
            let links = links
                .map_or(&[][..], |links| &links[number as usize * DEGREE..(number as usize + 1) * DEGREE]);
            let vector = &vectors[place * VECTOR_BYTES..(place + 1) * VECTOR_BYTES];
            if self.forgotten.contains(&row.key) {
                parts.push_wiped(links.len());
            } else {
                parts.push(number, shelf, links, vector);
            }
        }
        draft.write_parts(begin, &parts)
    }

    /// Writes keys and header and makes it all durable. Until here the file is none.
    pub(crate) fn finish(&self, mut header: Header, rows: &[Row]) -> Result<(), Error> {
        let Some(draft) = &self.draft else { return Err(Error::NotOurs) };
        let keys: Vec<u8> = rows.iter().flat_map(|row| key_to_bytes(row.key, row.crc)).collect();
        let order: Vec<u8> = draft.rows.iter().flat_map(|(_, row)| row.to_le_bytes()).collect();
        (header.keys_crc, header.order_crc) = (crc32c::crc32c(&keys), crc32c::crc32c(&order));
        draft.write_at(&keys, draft.layout.keys)?;
        draft.write_at(&order, draft.layout.order)?;
        draft.write_at(&header.to_bytes(), 0)?;
        Ok(draft.file.sync_all().map_err(|e| while_doing("syncing", &draft.path, e))?)
    }

    /// From now on the file counts.
    pub(crate) fn keep(&mut self) {
        if let Some(draft) = &mut self.draft {
            draft.keep = true;
        }
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.draft.as_ref().map(|draft| draft.path.as_path())
    }
}

impl Draft {
    fn wipe(&self, keys: &[Key]) -> Result<(), Error> {
        for key in keys {
            if let Ok(place) = self.rows.binary_search_by_key(key, |(key, _)| *key) {
                wipe(&self.file, &self.layout, self.rows[place].1)?;
            }
        }
        Ok(self.file.sync_data().map_err(|e| while_doing("syncing", &self.path, e))?)
    }

    fn write_parts(&self, begin: u32, parts: &Parts) -> Result<(), Error> {
        let at = |section: u64, bytes_each: usize| section + u64::from(begin) * bytes_each as u64;
        self.write_at(&parts.checks, at(self.layout.checks, CHECK_BYTES))?;
        self.write_at(&parts.scales, at(self.layout.scales, 4))?;
        self.write_at(&parts.codes, at(self.layout.codes, WIDTH))?;
        self.write_at(&parts.links, at(self.layout.links, DEGREE * 4))?;
        self.write_at(&parts.vectors, at(self.layout.vectors, VECTOR_BYTES))
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> Result<(), Error> {
        Ok(self.file.write_all_at(bytes, at).map_err(|e| while_doing("writing", &self.path, e))?)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.keep {
            // What cannot be shredded now is by the next opening.
            let _ = files::shred_own(&self.file, &self.path);
        }
    }
}

/// Bytes of some rows for each section.
#[derive(Default)]
struct Parts {
    checks: Vec<u8>,
    scales: Vec<u8>,
    codes: Vec<u8>,
    links: Vec<u8>,
    vectors: Vec<u8>,
}

impl Parts {
    fn push(&mut self, row: u32, shelf: &Shelf, links: &[u32], vector: &[u8]) {
        let (code, scale, error) = (shelf.code(row), shelf.scales[row as usize], shelf.errors[row as usize]);
        self.checks.extend_from_slice(&Check::of(row, code, scale, error, links).to_bytes());
        self.scales.extend_from_slice(&scale.to_le_bytes());
        self.codes.extend_from_slice(code);
        self.links.extend(links.iter().flat_map(|link| link.to_le_bytes()));
        self.vectors.extend_from_slice(vector);
    }

    fn push_wiped(&mut self, links: usize) {
        self.checks.extend_from_slice(&[0; CHECK_BYTES]);
        self.scales.extend_from_slice(&[0; 4]);
        self.codes.extend_from_slice(&[0; WIDTH]);
        self.links.extend(std::iter::repeat_n(0, links * 4));
        self.vectors.extend(std::iter::repeat_n(0, VECTOR_BYTES));
    }
}
