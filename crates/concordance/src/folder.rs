//! The folder of an index: who owns it, what its files are called, and what is cleared away.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_durable::{Mode, while_doing};

use crate::error::{Error, Result};
use crate::gathered::Gathered;
use crate::manifest::{self, Listed, Manifest};
use crate::segment::{Segment, write::encode};

/// Held by the one process that has the index open; let go by the system however that ends.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    _lock: File,
}

const LOCK: &str = "LOCK";
const ENDING: &str = ".seg";

impl Folder {
    pub(crate) fn own(path: &Path) -> Result<Folder> {
        holdfast_durable::create_dir(path)?;
        let lock = path.join(LOCK);
        let file = OpenOptions::new().create(true).write(true).truncate(false).mode(0o600).open(&lock);
        let file = file.map_err(|e| while_doing("opening", &lock, e))?;
        match holdfast_durable::lock_within(&file, Duration::ZERO) {
            Ok(true) => Ok(Folder { path: path.to_owned(), _lock: file }),
            Ok(false) => Err(Error::Busy { path: path.to_owned() }),
            Err(e) => Err(while_doing("locking", &lock, e).into()),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What the manifest says. A folder that has segments and no manifest is damaged, and an empty one gets its first.
    pub(crate) fn manifest(&self) -> Result<Manifest> {
        if let Some(manifest) = Manifest::read(&self.path)? {
            return Ok(manifest);
        }
        if self.files()?.iter().any(|name| serial_of(name).is_some()) {
            return Err(Error::Damaged { path: self.path.join(manifest::NAME), what: "it is missing" });
        }
        let manifest = Manifest::empty();
        manifest.write(&self.path)?;
        Ok(manifest)
    }

    /// Opens what is listed and shreds what is not: what a crash left of a merge or of an erasure.
    pub(crate) fn segments(&self, manifest: &Manifest) -> Result<Vec<Segment>> {
        let open = |listed: &Listed| Segment::open(&self.path_of(listed.serial), listed.serial, listed.root);
        let segments: Vec<Segment> = manifest.segments.iter().map(open).collect::<Result<_>>()?;
        if let Some(pair) =
            segments.windows(2).find(|pair| pair[0].header().last_id >= pair[1].header().first_id)
        {
            return Err(Error::Damaged {
                path: pair[1].path().to_owned(),
                what: "its entries belong before another's",
            });
        }
        let listed = |serial: u64| manifest.segments.iter().any(|listed| listed.serial == serial);
        self.shred_where(&|name| serial_of(name).is_some_and(|serial| !listed(serial)) || is_aside(name))?;
        Ok(segments)
    }

    /// Everything of the index goes.
    pub(crate) fn clear(&self) -> Result<()> {
        // The manifest first: without it nothing half cleared is taken for an index.
        holdfast_durable::remove(&self.path.join(manifest::NAME))?;
        self.shred_where(&|name| serial_of(name).is_some() || is_aside(name))
    }

    /// Writes a segment; it counts once the manifest lists it.
    pub(crate) fn write(&self, gathered: &Gathered, serial: u64) -> Result<(Segment, Listed)> {
        let (bytes, root) = encode(gathered, serial);
        let path = self.path_of(serial);
        // There may be one that an earlier try could not list.
        holdfast_durable::shred(&path)?;
        holdfast_durable::create(&path, &bytes, Mode::Private)?;
        Ok((Segment::open(&path, serial, root)?, Listed { serial, root }))
    }

    pub(crate) fn shred(&self, segment: &Segment) -> Result<()> {
        Ok(holdfast_durable::shred(segment.path())?)
    }

    fn path_of(&self, serial: u64) -> PathBuf {
        self.path.join(format!("{serial:016x}{ENDING}"))
    }

    fn shred_where(&self, goes: &dyn Fn(&str) -> bool) -> Result<()> {
        for name in self.files()?.iter().filter(|name| goes(name)) {
            holdfast_durable::shred(&self.path.join(name))?;
        }
        Ok(())
    }

    fn files(&self) -> Result<Vec<String>> {
        let listing = std::fs::read_dir(&self.path).map_err(|e| while_doing("listing", &self.path, e))?;
        Ok(listing.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }
}

fn serial_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(ENDING).filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}

/// A segment or a manifest that was being written.
fn is_aside(name: &str) -> bool {
    name.split_once(".new").is_some_and(|(whole, _)| whole == manifest::NAME || serial_of(whole).is_some())
}
