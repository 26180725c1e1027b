//! Messages over local sockets: to the caller, and between the launcher's own processes.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
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

/// The most descriptors that go beside a message.
pub(crate) const MOST: usize = 32;

pub(crate) fn send(to: impl AsFd, bytes: &[u8], beside: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !beside.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(beside)) {
        return Err(io::Error::other("too many descriptors"));
    }
    let sent = rustix::net::sendmsg(&to, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)?;
    if sent == bytes.len() { Ok(()) } else { Err(io::Error::other("a message was cut")) }
}

/// One read; no bytes mean that the other end is closed.
pub(crate) fn receive(from: impl AsFd, into: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received =
        rustix::net::recvmsg(&from, &mut [IoSliceMut::new(into)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let beside = ancillary
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        })
        .flatten()
        .collect();
    Ok((received.bytes, beside))
}

pub(crate) fn say(to: impl AsFd, word: &Word, beside: &[BorrowedFd<'_>]) -> io::Result<()> {
    send(to, &serde_json::to_vec(word)?, beside)
}

/// The next word; nothing where nobody is left to say one.
pub(crate) fn hear(from: impl AsFd) -> io::Result<Option<(Word, Vec<OwnedFd>)>> {
    let mut space = [0; 8192];
    let (length, beside) = receive(from, &mut space)?;
    if length == 0 {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&space[..length])?, beside)))
}
