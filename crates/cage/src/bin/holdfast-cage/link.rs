//! What the launcher's own processes say to each other.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use holdfast_cage::line;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use serde::{Deserialize, Serialize};

/// What the inner processes say.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Word {
    /// The maps are written: go on.
    Go,
    /// The sockets that listen inside, beside it.
    Listening,
    /// The temporary folders, beside it.
    Temporary,
    /// Where refused calls are read from, beside it.
    Refusals,
    /// What the second fence came to.
    Landlock(String),
    Running,
    Failed {
        step: String,
        why: String,
    },
    /// How the program ended.
    Status(i32),
}

/// A pair of connected ends that keep messages apart.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

pub(crate) fn say(to: impl AsFd, word: &Word, beside: &[BorrowedFd<'_>]) -> io::Result<()> {
    line::send(to, &serde_json::to_vec(word)?, beside).map(drop)
}

/// The next word; nothing where nobody is left to say one.
pub(crate) fn hear(from: impl AsFd) -> io::Result<Option<(Word, Vec<OwnedFd>)>> {
    let mut space = [0; 8192];
    let (length, beside) = line::receive(from, &mut space)?;
    if length == 0 {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&space[..length])?, beside)))
}
