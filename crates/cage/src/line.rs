//! Messages over a local socket, with descriptors beside them: what the caller and the launcher both speak.
//!
//! On a stream a message is its length in four bytes and then JSON ([`say`], [`hear`]). [`send`] and [`receive`] are one
//! call each, for sockets that keep messages apart themselves.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The most descriptors that go beside a message.
pub const BESIDE_MAX: usize = 32;
/// Longer messages are nobody's plan.
pub const LONGEST: usize = 4 << 20;

/// Sends bytes, at least one of them; gives how many went.
pub fn send(to: impl AsFd, bytes: &[u8], beside: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(BESIDE_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !beside.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(beside)) {
        return Err(io::Error::other("too many descriptors"));
    }
    loop {
        match rustix::net::sendmsg(&to, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            sent => return Ok(sent?),
        }
    }
}

/// One read; no bytes mean that the other end is closed.
pub fn receive(from: impl AsFd, into: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(BESIDE_MAX))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut slices = [IoSliceMut::new(into)];
        let received = match rustix::net::recvmsg(&from, &mut slices, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
        {
            Err(Errno::INTR) => continue,
            received => received?,
        };
        let beside = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        });
        return Ok((received.bytes, beside.flatten().collect()));
    }
}

/// Says one message on a stream.
pub fn say(to: impl AsFd, message: &impl Serialize, beside: &[BorrowedFd<'_>]) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    if body.len() > LONGEST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
    bytes.extend(body);
    let mut sent = send(&to, &bytes, beside)?;
    while sent < bytes.len() {
        sent += send(&to, &bytes[sent..], &[])?;
    }
    Ok(())
}

/// Hears the next message on a stream; nothing where nobody is left to say one.
pub fn hear<T: DeserializeOwned>(from: impl AsFd) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut beside = Vec::new();
    let mut head = [0; 4];
    if !fill(&from, &mut head, &mut beside)? {
        return Ok(None);
    }
    let length = u32::from_le_bytes(head) as usize;
    if length > LONGEST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut body = vec![0; length];
    if !fill(&from, &mut body, &mut beside)? {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&body)?, beside)))
}

fn fill(from: impl AsFd, mut into: &mut [u8], beside: &mut Vec<OwnedFd>) -> io::Result<bool> {
    while !into.is_empty() {
        let (length, more) = receive(&from, into)?;
        beside.extend(more);
        if length == 0 {
            return Ok(false);
        }
        into = &mut into[length..];
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn what_is_said_is_heard_with_what_is_beside_it_whatever_its_length() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let null = File::open("/dev/null").unwrap();
        let long = "x".repeat(1 << 20);
        let speaker = {
            let long = long.clone();
            std::thread::spawn(move || {
                say(&ours, &"short", &[null.as_fd()]).unwrap();
                say(&ours, &long, &[]).unwrap();
            })
        };
        let (short, beside) = hear::<String>(&theirs).unwrap().unwrap();
        assert_eq!((short.as_str(), beside.len()), ("short", 1));
        assert_eq!(hear::<String>(&theirs).unwrap().unwrap().0, long);
        speaker.join().unwrap();
        assert!(hear::<String>(&theirs).unwrap().is_none(), "nobody is left");
    }

    #[test]
    fn what_is_too_long_or_no_message_is_an_error_and_what_is_cut_is_the_end() {
        assert!(say(UnixStream::pair().unwrap().0, &"x".repeat(LONGEST), &[]).is_err());
        let heard = |bytes: &[u8]| {
            let (mut ours, theirs) = UnixStream::pair().unwrap();
            ours.write_all(bytes).unwrap();
            drop(ours);
            hear::<String>(&theirs)
        };
        assert!(heard(&u32::MAX.to_le_bytes()).is_err());
        assert!(heard(b"\x02\0\0\0{}").is_err());
        assert!(heard(b"\x09\0\0\0\"cut").unwrap().is_none());
    }
}
