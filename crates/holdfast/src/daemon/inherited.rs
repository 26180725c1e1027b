//! Sockets that the service manager holds and hands over (systemd's socket activation).
//!
//! It holds them while the daemon is down, so that nobody else gets its address then. What is handed over is believed only where this very process is
//! meant and the socket is what a setting asks for: one that listens, at exactly that address.

use std::net::{SocketAddr, TcpListener};

use listenfd::ListenFd;
use rustix::net::sockopt::socket_acceptconn;
use tracing::warn;

/// More than the unit of the package has by far.
const SOCKETS_MAX: usize = 16;

/// What was handed over and is not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Inherited {
    left: Vec<(SocketAddr, TcpListener)>,
    had: Vec<SocketAddr>,
    /// Why others were left alone; told once there is a log.
    unfit: Vec<String>,
}

impl Inherited {
    #[cfg(test)]
    pub(crate) fn none() -> Inherited {
        Inherited::default()
    }

    /// Takes over what the environment says. Said once, at the start, before anything else of this process can have a descriptor of that number; the
    /// variables are gone afterwards, and no program that is started later gets the sockets.
    pub(crate) fn of_this_process() -> Inherited {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<usize>().ok());
        let meant = number("LISTEN_PID") == usize::try_from(std::process::id()).ok();
        let known = number("LISTEN_FDS").is_some_and(|count| (1..=SOCKETS_MAX).contains(&count));
        // Not of systemd's protocol, and the library would believe it.
        let plain = std::env::var_os("LISTEN_FDS_FIRST_FD").is_none();
        if !(meant && known && plain) {
            return Inherited::default();
        }
        let mut handed = ListenFd::from_env();
        let mut inherited = Inherited::default();
        for at in 0..handed.len() {
            match handed.take_tcp_listener(at) {
                Ok(Some(listener)) => inherited.add(listener),
                Ok(None) => {}
                Err(e) => inherited.unfit.push(e.to_string()),
            }
        }
        inherited
    }

    fn add(&mut self, listener: TcpListener) {
        match (listener.local_addr(), socket_acceptconn(&listener)) {
            (Ok(address), Ok(true)) => {
                self.had.push(address);
                self.left.push((address, listener));
            }
            _ => self.unfit.push("it does not listen".to_owned()),
        }
    }

    /// The socket at exactly this address.
    pub(crate) fn take(&mut self, address: SocketAddr) -> Option<TcpListener> {
        let at = self.left.iter().position(|(there, _)| *there == address)?;
        Some(self.left.swap_remove(at).1)
    }

    /// Whether anything was handed over.
    pub(crate) fn is_used(&self) -> bool {
        !self.had.is_empty()
    }

    pub(crate) fn had(&self, address: SocketAddr) -> bool {
        self.had.contains(&address)
    }

    /// What no setting wants.
    pub(crate) fn rest(&mut self) -> Vec<TcpListener> {
        for why in std::mem::take(&mut self.unfit) {
            warn!(why, "a socket that was handed over is not of use here");
        }
        let rest = std::mem::take(&mut self.left);
        if !rest.is_empty() {
            let addresses: Vec<String> = rest.iter().map(|(address, _)| address.to_string()).collect();
            warn!(
                addresses = addresses.join(", "),
                "holdfast.socket holds addresses that no setting names: whoever comes there is let go"
            );
        }
        rest.into_iter().map(|(_, listener)| listener).collect()
    }
}
