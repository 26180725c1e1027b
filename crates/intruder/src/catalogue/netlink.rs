//! Interfaces, routes, addresses and packet filters.
//!
//! Each request is one that the kernel turns down after it has asked for the privilege: an interface of a kind that
//! there is not, a route to a prefix that cannot be, an interface of a name that nobody has.

use crate::errno::Errno;
use crate::judge::{Tried, reached, reached_unless, refused, step, through};
use crate::raw::{Arg, NOWHERE, ROOM, ask, words32};

const ROUTE: i32 = 0;
const NETFILTER: i32 = 12;
const AUDIT: i32 = 9;
const TRANSFORM: i32 = 6;

const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;
/// Sub-system 10, request to list tables.
const LIST_TABLES: u16 = 10 << 8 | 1;
const AUDIT_STATUS: u16 = 1000;
/// Flush all security associations; without a body it is turned down.
const FLUSH_ASSOCIATIONS: u16 = 28;

const NO_SUCH_KIND: &[i32] = &[libc::EAFNOSUPPORT, libc::EPROTONOSUPPORT, libc::ECONNREFUSED];

attempts! { Netlink:
    "make-interface" [Capabilities] HARMLESS
    "Makes a network interface, of a kind that there is not."
    => |_d| request(ROUTE, NEW_LINK, &interface_of_no_kind());

    // Of IPv4, with an impossible length of prefix: EINVAL.
    "add-address" [Capabilities] HARMLESS
    "Gives an interface an address."
    => |_d| request(ROUTE, NEW_ADDRESS, &[2, 255, 0, 0, 0, 0, 0, 0]);

    "add-route" [Capabilities] HARMLESS
    "Adds a route for packets."
    => |_d| request(ROUTE, NEW_ROUTE, &[2, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

    "list-packet-filters" [Seccomp Capabilities] HARMLESS
    "Asks for the packet filters of the newer kind."
    => |_d| request(NETFILTER, LIST_TABLES, &[0; 4]);

    "flush-encrypted-connections" [Seccomp Capabilities] DOUBTFUL
    "Asks to end encrypted connections, without saying which."
    => |_d| request(TRANSFORM, FLUSH_ASSOCIATIONS, &[]);

    "audit-status" [Seccomp UserNamespace Capabilities] HARMLESS
    "Asks for the state of the kernel's audit."
    => |_d| request(AUDIT, AUDIT_STATUS, &[]);

    "hear-audit-records" [Seccomp Capabilities UserNamespace] HARMLESS
    "Listens to the records of the kernel's audit."
    => |_d| {
        let socket = step(open(AUDIT))?;
        reached_unless(ask!(BIND, socket, &address(1), 12), NO_SUCH_KIND)
    };

    // Those that a kernel has not, it refuses by itself.
    "open-other-netlink-families" [Seccomp] HARMLESS
    "Opens netlink sockets of every family but the one for addresses and routes."
    => |_d| opened(1..32);

    "open-generic-netlink" [Seccomp] HARMLESS
    "Opens the netlink socket by which drivers of every kind are reached."
    => |_d| opened(16..17);

    "open-kernel-events" [Seccomp] HARMLESS
    "Opens the netlink socket on which the kernel tells of its devices."
    => |_d| opened(15..16);

    "open-socket-diagnosis" [Seccomp Kernel] HARMLESS
    "Opens the netlink socket that lists sockets and ends connections."
    => |_d| opened(4..5);

    // ENOPROTOOPT: this kernel has no filters of the older kind.
    "read-old-packet-filters" [Capabilities] HARMLESS
    "Asks for the packet filters of the older kind."
    => |_d| {
        let socket = step(ask!(SOCKET, libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0))?;
        let length = words32(&[84]);
        reached_unless(ask!(GETSOCKOPT, socket.descriptor(), libc::SOL_IP, 64, Arg::Room, Arg::Filled(&length)), &[libc::ENOPROTOOPT])
    };

    // Of a name that nobody has: ENODEV, after the privilege.
    "switch-interface" [Capabilities] HARMLESS
    "Switches a network interface off."
    => |_d| {
        let socket = step(ask!(SOCKET, libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0))?;
        let mut request = b"intruder-none\0\0\0".to_vec();
        request.resize(40, 0);
        reached(ask!(IOCTL, socket.descriptor(), libc::SIOCSIFFLAGS as i64, Arg::Filled(&request)))
    };
}

fn open(protocol: i32) -> Result<i32, Errno> {
    Ok(ask!(SOCKET, libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol)?.descriptor())
}

/// Which of these families can be opened.
fn opened(families: std::ops::Range<i32>) -> Tried {
    let (mut open_ones, mut last) = (Vec::new(), Errno(libc::EPROTONOSUPPORT));
    for family in families {
        match open(family) {
            Ok(_) => open_ones.push(family),
            Err(e) => last = e,
        }
    }
    Ok(if open_ones.is_empty() { refused(last.to_string()) } else { through(format!("open: {open_ones:?}")) })
}

/// Of the kernel: family, padding, process 0, groups.
fn address(groups: u32) -> Vec<u8> {
    let family = u32::from(u16::try_from(libc::AF_NETLINK).unwrap_or_default().to_le());
    words32(&[family, 0, groups])
}

/// Sends one request and reads the kernel's answer, which is there when sending returns.
fn request(protocol: i32, kind: u16, body: &[u8]) -> Tried {
    let socket = step(open(protocol))?;
    let message = message(kind, body);
    let sent = ask!(SENDTO, socket, &message, message.len(), 0, &address(0), 12);
    if let Err(e) = sent {
        return reached_unless(Err::<(), _>(e), NO_SUCH_KIND);
    }
    let answer = match ask!(RECVFROM, socket, Arg::Room, ROOM, libc::MSG_DONTWAIT, NOWHERE, NOWHERE) {
        Ok(answer) => answer,
        Err(e) => return Ok(through(format!("the request was taken, without an answer: {e}"))),
    };
    let is_error = answer.word32(0, 4) & 0xffff == 2;
    let error = answer.word32(0, 16).cast_signed().unsigned_abs().cast_signed();
    match is_error && error != 0 {
        true => reached_unless(Err::<(), _>(Errno(error)), NO_SUCH_KIND),
        false if answer.value == 0 => Ok(refused("no answer")),
        false => Ok(through("the request was carried out")),
    }
}

/// Length, kind, flags (a request that wants an acknowledgement, and creates), sequence, process.
fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    const FLAGS: u16 = 0x001 | 0x004 | 0x200 | 0x400;
    let length = u32::try_from(16 + body.len()).unwrap_or(16);
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend(FLAGS.to_ne_bytes());
    message.extend(words32(&[1, 0]));
    message.extend(body);
    message
}

/// An empty `ifinfomsg`, then IFLA_LINKINFO with IFLA_INFO_KIND `none`.
fn interface_of_no_kind() -> Vec<u8> {
    let mut body = vec![0; 16];
    let attribute = |length: u16, kind: u16| [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    body.extend(attribute(16, 18));
    body.extend(attribute(9, 1));
    body.extend(b"none\0\0\0\0");
    body
}
