//! Hears from the packet filter which packets were refused, over a socket to the kernel. Only one can listen to a group of a network
//! namespace; whoever is second is told so.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::{NETFILTER, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_recv_buffer_size, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
};

use crate::packet::{Refused, answered, refused, subscription};
use crate::rules::LOG_BYTES;

/// A message of the kernel is shorter.
const MESSAGE_MAX: usize = 256 << 10;
/// What waits for us in the kernel; more is not told of, and counted all the same.
const WAITING_MAX: usize = 512 << 10;
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Why nobody is told of refusals.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Deaf {
    #[error("somebody else listens to what the packet filter refuses")]
    Taken,
    #[error("the packet filter does not tell what it refuses: {0}")]
    NotTold(#[from] Errno),
}

#[derive(Debug)]
pub(crate) struct Listener {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

/// What one turn of listening gave.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Packets(Vec<Refused>),
    /// Nobody was refused for a while.
    Nothing,
    /// More came than could be told of.
    TooMuch,
}

impl Listener {
    pub(crate) fn open() -> Result<Listener, Deaf> {
        let socket =
            socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(NETFILTER))?;
        bind(&socket, &SocketAddrNetlink::new(0, 0))?;
        set_socket_recv_buffer_size(&socket, WAITING_MAX)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_WITHIN))?;
        let mut listener = Listener { socket, buffer: vec![0; MESSAGE_MAX] };
        for wish in subscription(LOG_BYTES) {
            send(&listener.socket, &wish, SendFlags::empty())?;
            listener.await_answer()?;
        }
        Ok(listener)
    }

    /// Packets may come before the answer; there will be more of them.
    fn await_answer(&mut self) -> Result<(), Deaf> {
        for _ in 0..16 {
            let (length, _) = recv(&self.socket, &mut self.buffer[..], RecvFlags::empty())?;
            match answered(self.buffer.get(..length).unwrap_or_default()) {
                Some(0) => return Ok(()),
                Some(error) => {
                    let error = Errno::from_raw_os_error(error.saturating_neg());
                    return Err(if error == Errno::BUSY { Deaf::Taken } else { Deaf::NotTold(error) });
                }
                None => {}
            }
        }
        Err(Deaf::NotTold(Errno::TIMEDOUT))
    }

    /// Waits a few seconds at most.
    pub(crate) fn hear(&mut self) -> Result<Heard, Deaf> {
        match recv(&self.socket, &mut self.buffer[..], RecvFlags::empty()) {
            Ok((length, _)) => Ok(Heard::Packets(refused(self.buffer.get(..length).unwrap_or_default()))),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Heard::Nothing),
            Err(Errno::NOBUFS) => Ok(Heard::TooMuch),
            Err(other) => Err(other.into()),
        }
    }
}
