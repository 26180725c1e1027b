//! Root in a system install works as the user the service runs as.
//!
//! Its files belong to that user; what root made there the daemon could not read, and what that user made root must
//! not trust. So a command of root becomes that user before it opens anything.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{Gid, Uid};
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};

use crate::places::Places;
use crate::problem::{CliError, Result};

/// Who owns a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) uid: Uid,
    gid: Gid,
}

pub(crate) fn owner_of(dir: &Path) -> Option<Owner> {
    let about = dir.symlink_metadata().ok().filter(|about| about.is_dir())?;
    Some(Owner { uid: Uid::from_raw(about.uid()), gid: Gid::from_raw(about.gid()) })
}

/// Whether this process is root and about to become the service's user.
pub(crate) fn gives_away(places: &Places) -> bool {
    places.home.is_none()
        && rustix::process::geteuid().is_root()
        && owner_of(&places.state).is_some_and(|owner| !owner.uid.is_root())
}

/// Becomes the owner of a system install; does nothing anywhere else. Called before any thread is started, so that
/// all of them are that user.
pub(crate) fn become_owner(places: &Places) -> Result<()> {
    if places.home.is_some() || !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    match owner_of(&places.state) {
        Some(owner) if !owner.uid.is_root() => become_user(owner),
        _ => Ok(()),
    }
}

/// Who has a number, as /etc/passwd says.
pub(crate) fn user_named(uid: u32) -> Option<String> {
    accounts().find_map(|(name, known)| (known == uid).then_some(name))
}

/// The number of a user, who is named or numbered.
pub(crate) fn uid_of(user: &str) -> Option<u32> {
    user.parse().ok().or_else(|| accounts().find_map(|(name, uid)| (name == user).then_some(uid)))
}

fn accounts() -> impl Iterator<Item = (String, u32)> {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let account = |line: &str| {
        let mut fields = line.split(':');
        let name = holdfast_types::printable(fields.next()?).to_string();
        Some((name, fields.nth(1)?.parse().ok()?))
    };
    passwd.lines().filter_map(account).collect::<Vec<_>>().into_iter()
}

fn become_user(owner: Owner) -> Result<()> {
    let failed = |e: rustix::io::Errno| CliError::Start { what: "the service's user", source: e.into() };
    set_thread_groups(&[]).map_err(failed)?;
    set_thread_gid(owner.gid).map_err(failed)?;
    set_thread_uid(owner.uid).map_err(failed)?;
    Ok(())
}
