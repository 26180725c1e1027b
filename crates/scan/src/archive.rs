//! Archives, opened in memory within bounds. A bomb costs its bounds and is told as left out; it never ends a scan.

use std::io::{self, Cursor, Read};

use flate2::read::MultiGzDecoder;

use crate::found::Why;
use crate::shown::shown;
use crate::text::is_tar;

/// How an archive is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Zip,
    Gzip,
    Tar,
}

/// What is left for everything that comes out of one outermost archive.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    depth: u8,
    members: u32,
    bytes: u64,
}

/// An archive in an archive is opened, one in that is not: a person packs once, a build twice.
const DEPTH: u8 = 2;
const MEMBERS: u32 = 20_000;
/// Text packs to a tenth, rarely to a fiftieth; what unpacks to a hundred times its size was made to.
const RATIO: u64 = 100;
/// Below this no ratio is judged: a small file of one repeated line is no attack.
const BYTES_LEAST: u64 = 32 << 20;
const BYTES_MOST: u64 = 512 << 20;

pub(crate) const TOO_DEEP: &str = "more than two archives inside each other";
pub(crate) const TOO_MANY: &str = "more than 20,000 members";
pub(crate) const TOO_MUCH: &str = "unpacks to far more than it holds";
pub(crate) const TOO_LARGE: &str = "larger than 64 MiB";

impl Bounds {
    /// For an archive of this size.
    pub(crate) fn of(packed: u64) -> Bounds {
        let bytes = packed.saturating_mul(RATIO).clamp(BYTES_LEAST, BYTES_MOST);
        Bounds { depth: DEPTH, members: MEMBERS, bytes }
    }

    fn deeper(&mut self) -> Result<(), Why> {
        self.depth = self.depth.checked_sub(1).ok_or(Why::Bound(TOO_DEEP))?;
        Ok(())
    }

    fn one_more(&mut self) -> Result<(), Why> {
        self.members = self.members.checked_sub(1).ok_or(Why::Bound(TOO_MANY))?;
        Ok(())
    }

    /// Reads a member whole, within what is left.
    fn read(&mut self, member: &mut dyn Read) -> Result<Vec<u8>, Why> {
        let mut bytes = Vec::new();
        member.take(self.bytes + 1).read_to_end(&mut bytes).map_err(|e| broken(&e))?;
        self.bytes = self.bytes.checked_sub(bytes.len() as u64).ok_or(Why::Bound(TOO_MUCH))?;
        Ok(bytes)
    }
}

/// What came out of an archive.
#[derive(Debug)]
pub(crate) enum Member {
    Content(Vec<u8>),
    Unread(Why),
}

/// Takes an archive apart. Each member is handed over with its name; `Err` says why the rest was left out.
pub(crate) fn unpack(
    packing: Packing,
    bytes: &[u8],
    name: &str,
    bounds: &mut Bounds,
    each: &mut dyn FnMut(&str, Member, &mut Bounds),
) -> Result<(), Why> {
    bounds.deeper()?;
    let ended = match packing {
        Packing::Zip => unzip(bytes, bounds, each),
        Packing::Tar => untar(&mut Cursor::new(bytes), bounds, each),
        Packing::Gzip => gunzip(bytes, name, bounds, each),
    };
    bounds.depth += 1;
    ended
}

type Each<'a> = &'a mut dyn FnMut(&str, Member, &mut Bounds);

fn unzip(bytes: &[u8], bounds: &mut Bounds, each: Each<'_>) -> Result<(), Why> {
    let mut archive =
        zip::ZipArchive::new(Cursor::new(bytes)).map_err(|e| Why::BrokenArchive(e.to_string()))?;
    for index in 0..archive.len() {
        bounds.one_more()?;
        let (name, encrypted, is_file) = match archive.by_index_raw(index) {
            Ok(raw) => (shown(raw.name_raw()), raw.encrypted(), raw.is_file()),
            Err(e) => return Err(Why::BrokenArchive(e.to_string())),
        };
        if encrypted {
            each(&name, Member::Unread(Why::Encrypted), bounds);
        } else if is_file {
            let member = match archive.by_index(index) {
                Ok(mut file) => bounds.read(&mut file),
                Err(e) => Err(Why::BrokenArchive(e.to_string())),
            };
            hand_over(&name, member, bounds, each)?;
        }
    }
    Ok(())
}

fn untar(source: &mut dyn Read, bounds: &mut Bounds, each: Each<'_>) -> Result<(), Why> {
    let mut archive = tar::Archive::new(source);
    for entry in archive.entries().map_err(|e| broken(&e))? {
        bounds.one_more()?;
        let mut entry = entry.map_err(|e| broken(&e))?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = shown(&entry.path_bytes());
        let member = bounds.read(&mut entry);
        hand_over(&name, member, bounds, each)?;
    }
    Ok(())
}

/// A packed tar is one archive to everybody; anything else is one packed file.
fn gunzip(bytes: &[u8], name: &str, bounds: &mut Bounds, each: Each<'_>) -> Result<(), Why> {
    let mut unpacked = MultiGzDecoder::new(bytes);
    let mut head = Vec::new();
    unpacked.by_ref().take(512).read_to_end(&mut head).map_err(|e| broken(&e))?;
    let holds_tar = is_tar(&head);
    let mut whole = Cursor::new(head).chain(unpacked);
    if holds_tar {
        // What tar passes over is unpacked too, and counts.
        let allowed = bounds.bytes.saturating_add(1);
        return untar(&mut whole.take(allowed.saturating_mul(2)), bounds, each);
    }
    bounds.one_more()?;
    let member = bounds.read(&mut whole);
    let file = name.rsplit('/').next().unwrap_or(name);
    let inner = file.get(..file.len().saturating_sub(3)).filter(|s| !s.is_empty()).unwrap_or("content");
    hand_over(inner, member, bounds, each)
}

/// A member that is broken is left out alone; a bound ends the archive.
fn hand_over(
    name: &str,
    member: Result<Vec<u8>, Why>,
    bounds: &mut Bounds,
    each: Each<'_>,
) -> Result<(), Why> {
    match member {
        Ok(bytes) => each(name, Member::Content(bytes), bounds),
        Err(why @ Why::Bound(_)) => return Err(why),
        Err(why) => each(name, Member::Unread(why), bounds),
    }
    Ok(())
}

fn broken(e: &io::Error) -> Why {
    Why::BrokenArchive(e.to_string())
}
