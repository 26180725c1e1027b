//! The sealed part of an index: one file, written once, in which rows are later only wiped.
//!
//! What open reads whole is small (header, keys, their order) and checked then. Codes and links are mapped, and checked the first time a
//! row is touched; vectors are read when they are needed and checked each time. So what a search relies on was checked, and opening
//! loads next to nothing. [`Base::verify`] checks all of it.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::beam::Graph;
use crate::bits::Bits;
use crate::error::Error;
use crate::key::Key;
use crate::layout::{
    CHECK_BYTES, Check, DEGREE, FORMAT, HEADER_BYTES, Header, KEY_BYTES, Layout, NO_LINK, Unreadable,
    code_crc, key_from_bytes, links_crc, vector_crc,
};
use crate::map::Map;
use crate::measure::prefetch;
use crate::vector::{VECTOR_BYTES, Vector, WIDTH};

/// Rows that a word of checked bits stands for, and that are scanned together.
pub(crate) const BLOCK: usize = 64;

#[derive(Debug)]
pub(crate) struct Base {
    file: Arc<File>,
    path: PathBuf,
    header: Header,
    layout: Layout,
    map: Map,
    codes_checked: Vec<AtomicU64>,
    links_checked: Vec<AtomicU64>,
    /// Forgotten, or put again since.
    dead: Bits,
    /// Forgotten, and nothing is left of them.
    wiped: Bits,
}

impl Base {
    /// Opens a base and checks what must hold before anything is read through it.
    pub(crate) fn open(path: PathBuf) -> Result<Base, Error> {
        let opened = File::options().read(true).write(true).open(&path);
        let file = opened.map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Error::damaged(&path, "it is missing"),
            _ => holdfast_durable::while_doing("opening", &path, e).into(),
        })?;
        let header = read_header(&file, &path)?;
        let layout = Layout::of(header.rows, header.graph);
        if file.metadata()?.len() != layout.end {
            return Err(Error::damaged(&path, "it does not have the length its header says"));
        }
        let rows = u64::from(header.rows);
        for (begin, bytes_each, crc, what) in [
            (layout.keys, KEY_BYTES as u64, header.keys_crc, "its keys do not match their checksum"),
            (layout.order, 4, header.order_crc, "the order of its keys does not match its checksum"),
        ] {
            if crc_of(&file, begin, rows * bytes_each)? != crc {
                return Err(Error::damaged(&path, what));
            }
        }
        let map = Map::of(&file, layout.vectors as usize)?;
        let checked = || (0..header.rows.div_ceil(BLOCK as u32)).map(|_| AtomicU64::new(0)).collect();
        Ok(Base {
            codes_checked: checked(),
            links_checked: checked(),
            dead: Bits::with_room(header.rows as usize),
            wiped: Bits::default(),
            file: Arc::new(file),
            path,
            header,
            layout,
            map,
        })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn rows(&self) -> u32 {
        self.header.rows
    }

    pub(crate) fn live(&self) -> usize {
        self.header.rows as usize - self.dead.len()
    }

    pub(crate) fn is_dead(&self, row: u32) -> bool {
        self.dead.has(row)
    }

    /// The row no longer counts; whether it did.
    pub(crate) fn bury(&mut self, row: u32) -> bool {
        self.dead.add(row)
    }

    pub(crate) fn key(&self, row: u32) -> Key {
        self.key_and_crc(row).0
    }

    /// The row of a key, dead or not.
    pub(crate) fn row_of(&self, key: Key) -> Option<u32> {
        let at = self.place_of(key);
        self.in_order().get(at).copied().filter(|row| *row < self.rows() && self.key(*row) == key)
    }

    /// The rows of all pieces of an entry, dead or not.
    pub(crate) fn rows_of_entry(&self, entry: u64) -> impl Iterator<Item = u32> {
        let begin = self.place_of(Key { entry, chunk: 0 });
        let rest = self.in_order()[begin..].iter().copied();
        rest.take_while(move |row| *row < self.rows() && self.key(*row).entry == entry)
    }

    /// The greatest entry there is a row of.
    pub(crate) fn last_entry(&self) -> u64 {
        self.in_order().last().filter(|row| **row < self.rows()).map_or(u64::MAX, |row| self.key(*row).entry)
    }

    /// A row's vector as it was put in.
    pub(crate) fn vector(&self, row: u32) -> Result<Vector, Error> {
        let (key, crc) = self.key_and_crc(row);
        let at = self.layout.vectors + u64::from(row) * VECTOR_BYTES as u64;
        read_vector(&self.file, at, &self.path, |bytes| vector_crc(key, bytes) == crc)
    }

    /// The rows of a block, all of them checked.
    pub(crate) fn checked_block(&self, block: usize) -> Result<std::ops::Range<u32>, Error> {
        let begin = block * BLOCK;
        let rows = begin as u32..((begin + BLOCK).min(self.rows() as usize)) as u32;
        if self.codes_checked[block].load(Ordering::Relaxed) != u64::MAX {
            for row in rows.clone().filter(|row| !self.dead.has(*row) && !is_set(&self.codes_checked, *row)) {
                self.check_code(row)?;
            }
        }
        Ok(rows)
    }

    /// How far a row's code is from its vector.
    pub(crate) fn error(&self, row: u32) -> f32 {
        self.check(row).error
    }

    /// Wipes rows: everything that was made of their vectors becomes zeros, in this order and then on the disk. Wiping twice is wiping
    /// once. Their keys stay: they say that there was something, not what.
    pub(crate) fn wipe(&mut self, rows: &[u32]) -> Result<(), Error> {
        let mut changed = false;
        for row in rows {
            changed |= wipe(&self.file, &self.layout, *row)?;
        }
        if changed {
            self.file.sync_data().map_err(|e| holdfast_durable::while_doing("syncing", &self.path, e))?;
        }
        for row in rows {
            self.wiped.add(*row);
        }
        Ok(())
    }

    /// Whether something is left of a row, counted or not.
    pub(crate) fn is_wiped(&self, row: u32) -> bool {
        self.wiped.has(row)
    }

    /// Checks every row that counts, in full.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        let mut before = None;
        let mut met = Bits::with_room(self.rows() as usize);
        for row in self.in_order() {
            if *row >= self.rows() || !met.add(*row) || before.is_some_and(|key| key >= self.key(*row)) {
                return Err(Error::damaged(&self.path, "its keys are not in order"));
            }
            before = Some(self.key(*row));
        }
        for row in (0..self.rows()).filter(|row| !self.dead.has(*row)) {
            self.check_code(row)?;
            if self.header.graph {
                self.check_links(row)?;
            }
            self.vector(row)?;
        }
        Ok(())
    }

    /// A handle for reading while others go on with the index; it sees what is wiped meanwhile as damage.
    pub(crate) fn source(&self) -> Source {
        Source { file: Arc::clone(&self.file), path: self.path.clone() }
    }

    pub(crate) fn vector_place(&self, row: u32) -> (u64, u32) {
        (self.layout.vectors + u64::from(row) * VECTOR_BYTES as u64, self.key_and_crc(row).1)
    }

    fn place_of(&self, key: Key) -> usize {
        self.in_order().partition_point(|row| *row < self.rows() && self.key(*row) < key)
    }

    fn key_and_crc(&self, row: u32) -> (Key, u32) {
        let bytes = self.map.bytes(self.layout.keys as usize, self.rows() as usize * KEY_BYTES);
        key_from_bytes(&bytes.as_chunks::<KEY_BYTES>().0[row as usize])
    }

    fn in_order(&self) -> &[u32] {
        self.map.words(self.layout.order as usize, self.rows() as usize)
    }

    fn check(&self, row: u32) -> Check {
        let bytes = self.map.bytes(self.layout.checks as usize, self.rows() as usize * CHECK_BYTES);
        Check::from_bytes(&bytes.as_chunks::<CHECK_BYTES>().0[row as usize])
    }

    fn links_bare(&self, row: u32) -> &[u32] {
        self.map.words(self.layout.links as usize + row as usize * DEGREE * 4, DEGREE)
    }

    fn check_code(&self, row: u32) -> Result<(), Error> {
        let check = self.check(row);
        let code = &self.codes().as_chunks::<WIDTH>().0[row as usize];
        if code_crc(row, code, self.scales()[row as usize], check.error) != check.code_crc {
            return Err(Error::damaged(&self.path, "a code does not match its checksum"));
        }
        set(&self.codes_checked, row);
        Ok(())
    }

    fn check_links(&self, row: u32) -> Result<(), Error> {
        let links = self.links_bare(row);
        let inside = |link: &u32| *link < self.rows() || *link == NO_LINK;
        if links_crc(row, links) != self.check(row).links_crc || !links.iter().all(inside) {
            return Err(Error::damaged(&self.path, "links do not match their checksum"));
        }
        set(&self.links_checked, row);
        Ok(())
    }
}

impl Graph for Base {
    fn codes(&self) -> &[u8] {
        self.map.bytes(self.layout.codes as usize, self.rows() as usize * WIDTH)
    }

    fn scales(&self) -> &[f32] {
        self.map.floats(self.layout.scales as usize, self.rows() as usize)
    }

    fn links(&self, row: u32) -> Result<&[u32], Error> {
        if !is_set(&self.links_checked, row) {
            self.check_links(row)?;
        }
        Ok(self.links_bare(row))
    }

    #[inline]
    fn admits(&self, row: u32) -> Result<bool, Error> {
        if self.dead.has(row) {
            return Ok(false);
        }
        if !is_set(&self.codes_checked, row) {
            self.check_code(row)?;
        }
        Ok(true)
    }

    fn expect(&self, row: u32) {
        let links = self.links_bare(row);
        prefetch(links, 0);
        prefetch(links, 16);
    }
}

/// A file that vectors are read from, base or log.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) file: Arc<File>,
    pub(crate) path: PathBuf,
}

/// A vector at a place of a file, if its bytes are what the checksum says.
pub(crate) fn read_vector(
    file: &File,
    at: u64,
    path: &Path,
    whole: impl Fn(&[u8; VECTOR_BYTES]) -> bool,
) -> Result<Vector, Error> {
    let mut bytes = [0; VECTOR_BYTES];
    file.read_exact_at(&mut bytes, at).map_err(|e| holdfast_durable::while_doing("reading", path, e))?;
    let vector = if whole(&bytes) { Vector::from_bytes(&bytes) } else { None };
    vector.ok_or_else(|| Error::damaged(path, "a vector does not match its checksum"))
}

/// Wipes what was made of one vector; whether there was something to wipe.
pub(crate) fn wipe(file: &File, layout: &Layout, row: u32) -> Result<bool, Error> {
    const LONGEST: usize = VECTOR_BYTES;
    let mut changed = false;
    let links = if layout.vectors == layout.links { 0 } else { DEGREE * 4 };
    for (begin, len) in [
        (layout.checks, CHECK_BYTES),
        (layout.scales, 4),
        (layout.codes, WIDTH),
        (layout.links, links),
        (layout.vectors, VECTOR_BYTES),
    ] {
        let at = begin + u64::from(row) * len as u64;
        let mut bytes = [0; LONGEST];
        file.read_exact_at(&mut bytes[..len], at)?;
        if bytes[..len].iter().any(|byte| *byte != 0) {
            file.write_all_at(&[0; LONGEST][..len], at)?;
            changed = true;
        }
    }
    Ok(changed)
}

fn read_header(file: &File, path: &Path) -> Result<Header, Error> {
    let mut bytes = [0; HEADER_BYTES];
    file.read_exact_at(&mut bytes, 0).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::damaged(path, "it is shorter than its header"),
        _ => holdfast_durable::while_doing("reading", path, e).into(),
    })?;
    Header::from_bytes(&bytes).map_err(|unreadable| match unreadable {
        Unreadable::Newer(found) => Error::Newer { found, known: FORMAT },
        Unreadable::Damaged(what) => Error::damaged(path, what),
    })
}

/// Read, not mapped: what is only checked does not stay in memory.
fn crc_of(file: &File, begin: u64, len: u64) -> Result<u32, Error> {
    use std::io::{Seek, SeekFrom};
    let mut file = file;
    file.seek(SeekFrom::Start(begin))?;
    let (mut reader, mut buffer, mut crc) = (file.take(len), vec![0; 1 << 18], 0);
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(crc),
            read => crc = crc32c::crc32c_append(crc, &buffer[..read]),
        }
    }
}

#[inline]
fn is_set(bits: &[AtomicU64], row: u32) -> bool {
    bits[row as usize / BLOCK].load(Ordering::Relaxed) >> (row as usize % BLOCK) & 1 == 1
}

fn set(bits: &[AtomicU64], row: u32) {
    bits[row as usize / BLOCK].fetch_or(1 << (row as usize % BLOCK), Ordering::Relaxed);
}
