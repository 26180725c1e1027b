//! Certificates that somebody else puts into files.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use zeroize::Zeroizing;

use super::at;
use super::shelf::Held;
use crate::error::Result;

/// What two files looked like: where that is the same, so are they. Inode and change time, since a renewal may keep the length and
/// set the time of modification back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look([Seen; 2]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    device: u64,
    inode: u64,
    len: u64,
    changed: (i64, i64),
}

pub(super) fn look(chain: &Path, key: &Path) -> Result<Look> {
    Ok(Look([seen(chain)?, seen(key)?]))
}

fn seen(path: &Path) -> Result<Seen> {
    // Follows links: certbot keeps its newest files behind them.
    let about = std::fs::metadata(path).map_err(at(path))?;
    Ok(Seen {
        device: about.dev(),
        inode: about.ino(),
        len: about.len(),
        changed: (about.ctime(), about.ctime_nsec()),
    })
}

/// What they hold, or what is wrong with them in words: the caller says which files they are.
pub(super) fn read(chain: &Path, key: &Path) -> Result<Held, String> {
    let text = |path: &Path| std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    let chain = text(chain)?;
    let key = Zeroizing::new(text(key)?);
    Held::from_pem(&chain, &key)
}
