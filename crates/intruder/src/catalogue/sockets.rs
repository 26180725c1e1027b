//! Unix sockets of the host, by abstract name and by path.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};

use crate::files::below;
use crate::judge::{Tried, done, prepare, refused, step, through};
use crate::marks::{own_folder, place_in};
use crate::{Decoys, Outcome};

attempts! { Sockets:
    "connect-to-abstract-socket" [NetNamespace Landlock] HARMLESS
    "Connects to an abstract socket of the host."
    => |d| done(UnixStream::connect_addr(&abstract_address(d)?), "it is connected");

    "send-to-abstract-socket" [NetNamespace Landlock] HARMLESS
    "Sends a datagram to an abstract socket of the host."
    => |d| {
        let socket = step(UnixDatagram::unbound())?;
        let address = prepare(SocketAddr::from_abstract_name(d.datagram_socket()?), "naming the socket")?;
        done(socket.send_to_addr(b"x", &address), "it was sent")
    };

    // Two sockets cannot have one name: that it is taken shows that names are shared.
    "take-abstract-name" [NetNamespace] HARMLESS
    "Takes the name of an abstract socket of the host, which must be free inside."
    => |d| match UnixListener::bind_addr(&abstract_address(d)?) {
        Err(e) if e.raw_os_error() == Some(libc::EADDRINUSE) => Ok(through("the name is taken: it is shared")),
        Err(e) => Ok(refused(crate::errno::Errno::from(e).to_string())),
        Ok(_) => Ok(refused("the name is free here")),
    };

    "connect-to-path-socket" [View] HARMLESS
    "Connects to a socket outside by its path."
    => |d| done(UnixStream::connect(d.path_socket()?), "it is connected");

    "connect-to-path-socket-by-proc-self-root" [View] HARMLESS
    "Connects to a socket outside below /proc/self/root."
    => |d| done(UnixStream::connect(below("/proc/self/root", d.path_socket()?)), "it is connected");

    "connect-to-path-socket-by-link" [View] HARMLESS
    "Connects to a socket outside through a link in the work folder."
    => |d| {
        let link = own_folder(d)?.join("link");
        prepare(symlink(d.path_socket()?, &link), "making a link")?;
        done(UnixStream::connect(link), "it is connected")
    };

    "connect-to-path-socket-by-hard-link" [View Landlock] HARMLESS
    "Gives a socket outside a name in the work folder and connects to that."
    => |d| {
        let name = place_in(d.work()?);
        step(std::fs::hard_link(d.path_socket()?, &name))?;
        done(UnixStream::connect(name), "it is connected")
    };

    // The decoy is a stream: EPROTOTYPE says that it was found.
    "send-to-path-socket" [View] HARMLESS
    "Sends a datagram to a socket outside."
    => |d| {
        let socket = step(UnixDatagram::unbound())?;
        found(socket.send_to(b"x", d.path_socket()?).map(drop))
    };
}

fn abstract_address(d: &Decoys) -> Result<SocketAddr, Outcome> {
    prepare(SocketAddr::from_abstract_name(d.abstract_socket()?), "naming the socket")
}

fn found(sent: std::io::Result<()>) -> Tried {
    match sent {
        Err(e) if e.raw_os_error() == Some(libc::EPROTOTYPE) => Ok(through("it was found, of another kind")),
        sent => done(sent, "it was sent"),
    }
}
