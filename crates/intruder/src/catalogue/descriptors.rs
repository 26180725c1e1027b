//! Descriptors that were left open, or that others hold.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use crate::Decoys;
use crate::aim::at_process;
use crate::files::{holds, open};
use crate::judge::{Tried, could_not, done, prepare, reached, refused, step, through};
use crate::marks::telling;
use crate::raw::{Arg, ROOM, ask};

/// Beyond the limit of open files that is usual.
const NUMBERS: std::ops::Range<i32> = 3..4096;

attempts! { Descriptors:
    "read-inherited-descriptor" [Descriptors] HARMLESS
    "Reads from a descriptor that was left open outside."
    => |d| read_inherited(d);

    // Only the pipe over which the outcome is told may be open.
    "find-inherited-descriptors" [Descriptors] HARMLESS
    "Looks for any open descriptor beside the three standard ones."
    => |_d| {
        let open = NUMBERS.filter(|number| *number != telling() && is_open(*number));
        let open: Vec<String> = open.take(16).map(|number| number.to_string()).collect();
        Ok(if open.is_empty() { refused("none is open") } else { through(format!("open: {}", open.join(", "))) })
    };

    "receive-descriptor-from-outside" [NetNamespace Landlock] HARMLESS
    "Connects to an abstract socket outside that hands a descriptor to whoever comes."
    => |d| receive(d);

    // The standard input of the decoy. It is closed with the process of the attempt.
    "take-descriptor-of-decoy" [PidNamespace Seccomp UserNamespace Landlock] HARMLESS
    "Takes a descriptor out of a process outside."
    => |d| at_process(d, |pid| {
        let process = step(ask!(PIDFD_OPEN, pid, 0))?;
        done(ask!(PIDFD_GETFD, process.descriptor(), 0, 0), "its descriptor was taken")
    });

    // Of no process: the kernel answers EBADF or EINVAL, so only the filter can refuse.
    "take-descriptors-at-all" [Seccomp] HARMLESS
    "Asks for the call by which descriptors are taken out of other processes."
    => |_d| reached(ask!(PIDFD_GETFD, -1, 0, 0));

    "open-descriptor-of-decoy" [View UserNamespace Landlock] HARMLESS
    "Opens a descriptor of a process outside by its entry in /proc."
    => |d| at_process(d, |pid| open(format!("/proc/{pid}/fd/0")));

    "list-descriptors-of-decoy" [View] HARMLESS
    "Lists the descriptors of a process outside."
    => |d| at_process(d, |pid| done(std::fs::read_dir(format!("/proc/{pid}/fd")), "they were listed"));

    "name-descriptor-of-decoy" [View UserNamespace Landlock] HARMLESS
    "Asks where a descriptor of a process outside leads to."
    => |d| at_process(d, |pid| done(std::fs::read_link(format!("/proc/{pid}/fd/0")), "it was told"));
}

fn is_open(number: i32) -> bool {
    ask!(FCNTL, number, libc::F_GETFD, 0).is_ok()
}

fn read_inherited(d: &Decoys) -> Tried {
    let number = *d.inherited_descriptor()?;
    if number < 64 {
        return Err(could_not(
            "the decoy `inherited_descriptor` is below 64, where the intruder has its own",
        ));
    }
    Ok(match ask!(PREAD, number, Arg::Room, ROOM, 0) {
        Ok(read) if holds(read.room(0), d.file_content()?) => through("the decoy was read"),
        _ if is_open(number) => through("it is open"),
        Ok(_) => refused("it was closed"),
        Err(e) => refused(e.to_string()),
    })
}

fn receive(d: &Decoys) -> Tried {
    let address = prepare(SocketAddr::from_abstract_name(d.handing_socket()?), "naming the socket")?;
    let stream = step(UnixStream::connect_addr(&address))?;
    prepare(stream.set_read_timeout(Some(Duration::from_millis(500))), "setting a time-out")?;
    let mut byte = [0; 1];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = recvmsg(&stream, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::empty());
    let has_one = |message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next().is_some(),
        _ => false,
    };
    let handed = got.is_ok() && control.drain().any(has_one);
    Ok(through(if handed {
        "a descriptor was handed over"
    } else {
        "connected, but nothing was handed over"
    }))
}
