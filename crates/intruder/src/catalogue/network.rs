//! The network: the host's loopback, link-local addresses, resolvers, ports, and kinds of socket.
//!
//! Connections go to listeners of the harness. Every wait is shorter than a second.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::num::NonZeroU32;
use std::time::Duration;

use rustix::net::{AddressFamily, Protocol, SendFlags, SocketFlags, SocketType};

use crate::errno::Errno;
use crate::judge::{Tried, done, reached_unless, refused, step, through};
use crate::raw::{Arg, NOWHERE, ask, words32};

const CONNECT_WAIT: Duration = Duration::from_millis(700);
const ANSWER_WAIT: Duration = Duration::from_millis(700);

/// By which the kernel says that it has no such kind of socket.
const NO_SUCH_KIND: &[i32] =
    &[libc::EAFNOSUPPORT, libc::EPROTONOSUPPORT, libc::ESOCKTNOSUPPORT, libc::EPROTOTYPE, libc::EINVAL];

/// A port that takes a privilege and that no service is known by.
const LOW_PORT: u16 = 987;

attempts! { Network:
    "connect-to-host-loopback" [NetNamespace] HARMLESS
    "Connects to a listener on the host's loopback."
    => |d| connect(*d.tcp()?);

    "connect-to-host-loopback-ipv6" [NetNamespace] HARMLESS
    "Connects to a listener on the host's IPv6 loopback."
    => |d| connect(*d.tcp6()?);

    "connect-to-host-loopback-mapped" [NetNamespace] HARMLESS
    "Connects to a listener on the host's loopback by its address written as IPv6."
    => |d| {
        let address = Ipv4Addr::LOCALHOST.to_ipv6_mapped();
        connect(SocketAddr::new(IpAddr::V6(address), d.tcp()?.port()))
    };

    "connect-to-host-by-any-address" [NetNamespace] HARMLESS
    "Connects to a listener of the host by the address 0.0.0.0, which means this host."
    => |d| connect(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), d.tcp()?.port()));

    // The newer protocol falls back to the older one; path rules know only the latter.
    "connect-to-host-loopback-by-mptcp" [Seccomp NetNamespace] HARMLESS
    "Connects to a listener on the host's loopback by multipath TCP."
    => |d| connect_by(libc::IPPROTO_MPTCP, *d.tcp()?);

    "connect-to-host-loopback-by-fast-open" [NetNamespace] HARMLESS
    "Connects to a listener on the host's loopback by sending, without a call to connect."
    => |d| {
        let socket = step(tcp_socket(0))?;
        let fast_open = SendFlags::from_bits_retain(libc::MSG_FASTOPEN.cast_unsigned());
        done(rustix::net::sendto(&socket, b"x", fast_open, d.tcp()?), "it is connected")
    };

    "send-to-host-loopback" [NetNamespace] HARMLESS
    "Sends a datagram to a socket on the host's loopback and waits for the answer."
    => |d| exchange(*d.udp()?, b"x");

    "connect-to-link-local" [NetNamespace] HARMLESS
    "Connects to a link-local address, where clouds keep their machines' secrets."
    => |d| connect(*d.link_local()?);

    "ask-resolver" [NetNamespace] HARMLESS
    "Asks a resolver for a name by datagram, which would carry secrets out as names."
    => |d| exchange(*d.dns()?, QUESTION);

    "connect-to-resolver" [NetNamespace] HARMLESS
    "Connects to a resolver."
    => |d| connect(*d.dns()?);

    // Two listeners cannot have one port: that it is taken shows that ports are shared.
    "take-port-of-host" [NetNamespace] HARMLESS
    "Listens on a port that the host listens on, which must be free inside."
    => |d| match TcpListener::bind(*d.tcp()?) {
        Err(e) if e.kind() == io::ErrorKind::AddrInUse => Ok(through("the port is taken: it is shared")),
        Err(e) => Ok(refused(Errno::from(e).to_string())),
        Ok(_) => Ok(refused("the port is free here")),
    };

    "bind-low-port" [Capabilities] HARMLESS
    "Listens on a port below 1024."
    => |_d| match TcpListener::bind((Ipv4Addr::LOCALHOST, LOW_PORT)) {
        // An address that is not there is no permission.
        Err(e) if e.kind() == io::ErrorKind::AddrInUse => Ok(through("it was permitted, but taken")),
        listening => done(listening, "it listens"),
    };

    "bind-low-port-ipv6" [Capabilities] HARMLESS
    "Listens on an IPv6 port below 1024."
    => |_d| done(TcpListener::bind((Ipv6Addr::LOCALHOST, LOW_PORT)), "it listens");

    "see-other-interfaces" [NetNamespace] HARMLESS
    "Looks for a network interface that is up beside the loopback."
    => |_d| see_interfaces();

    "raw-socket" [Seccomp Capabilities] HARMLESS
    "Opens a socket for raw packets."
    => |_d| socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP);

    "raw-socket-ipv6" [Seccomp Capabilities] HARMLESS
    "Opens a socket for raw IPv6 packets."
    => |_d| socket(libc::AF_INET6, libc::SOCK_RAW, libc::IPPROTO_ICMPV6);

    "ping-socket" [Seccomp NetNamespace Kernel] HARMLESS
    "Opens a socket for pings."
    => |_d| socket(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP);

    "ping-socket-ipv6" [Seccomp NetNamespace Kernel] HARMLESS
    "Opens a socket for pings of IPv6."
    => |_d| socket(libc::AF_INET6, libc::SOCK_DGRAM, libc::IPPROTO_ICMPV6);

    "multipath-socket" [Seccomp Kernel] HARMLESS
    "Opens a socket that speaks multipath TCP."
    => |_d| socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, libc::IPPROTO_MPTCP);

    "multipath-socket-ipv6" [Seccomp Kernel] HARMLESS
    "Opens a socket that speaks multipath TCP over IPv6."
    => |_d| socket(libc::AF_INET6, libc::SOCK_STREAM, libc::IPPROTO_MPTCP);

    "light-datagram-socket" [Seccomp Kernel] HARMLESS
    "Opens a socket for UDP-Lite."
    => |_d| socket(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_UDPLITE);

    "light-datagram-socket-ipv6" [Seccomp Kernel] HARMLESS
    "Opens a socket for UDP-Lite over IPv6."
    => |_d| socket(libc::AF_INET6, libc::SOCK_DGRAM, libc::IPPROTO_UDPLITE);

    "transmission-control-socket" [Seccomp Kernel] HARMLESS
    "Opens a socket for SCTP streams."
    => |_d| socket(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_SCTP);

    "sequenced-internet-socket" [Seccomp Kernel] HARMLESS
    "Opens a socket for SCTP sequences, without naming the protocol."
    => |_d| socket(libc::AF_INET6, libc::SOCK_SEQPACKET, 0);

    "congestion-control-socket" [Seccomp Kernel] HARMLESS
    "Opens a socket for DCCP."
    => |_d| socket(libc::AF_INET, libc::SOCK_DCCP, libc::IPPROTO_DCCP);

    "raw-local-socket" [Seccomp] HARMLESS
    "Opens a raw local socket, which is no kind that is granted."
    => |_d| socket(libc::AF_UNIX, libc::SOCK_RAW, 0);

    "router-socket" [Seccomp Kernel] HARMLESS
    "Opens a socket to the processors of a mobile chip."
    => |_d| socket(42, libc::SOCK_DGRAM, 0);

    "hand-connection-to-another-protocol" [Seccomp Kernel] HARMLESS
    "Hands a TCP connection to another protocol of the kernel's."
    => |_d| {
        let socket = step(ask!(SOCKET, libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0))?;
        let name = b"smc".to_vec();
        reached_unless(
            ask!(SETSOCKOPT, socket.descriptor(), libc::SOL_TCP, libc::TCP_ULP, &name, name.len()),
            &[libc::ENOPROTOOPT],
        )
    };

    "packet-socket" [Seccomp Capabilities] HARMLESS
    "Opens a socket that hears every packet of an interface."
    => |_d| socket(libc::AF_PACKET, libc::SOCK_RAW, libc::ETH_P_ALL.to_be() >> 16);

    "machine-socket" [Seccomp Kernel] HARMLESS
    "Opens a socket to the machine around this virtual one, which no network namespace holds."
    => |_d| socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0);

    "crypto-socket" [Seccomp Kernel] HARMLESS
    "Opens a socket to the kernel's ciphers."
    => |_d| socket(libc::AF_ALG, libc::SOCK_SEQPACKET, 0);

    "bluetooth-socket" [Seccomp Kernel] HARMLESS
    "Opens a socket for Bluetooth."
    => |_d| socket(libc::AF_BLUETOOTH, libc::SOCK_SEQPACKET, 0);

    "can-socket" [Seccomp Kernel] HARMLESS
    "Opens a socket for the bus of vehicles and machines."
    => |_d| socket(libc::AF_CAN, libc::SOCK_RAW, 1);

    "express-data-socket" [Seccomp Capabilities] HARMLESS
    "Opens a socket that takes packets past the network stack."
    => |_d| socket(libc::AF_XDP, libc::SOCK_RAW, 0);

    "tipc-socket" [Seccomp Kernel] HARMLESS
    "Opens a socket for a cluster protocol."
    => |_d| socket(libc::AF_TIPC, libc::SOCK_SEQPACKET, 0);

    "rds-socket" [Seccomp Kernel] HARMLESS
    "Opens a socket for a datagram protocol of databases."
    => |_d| socket(libc::AF_RDS, libc::SOCK_SEQPACKET, 0);

    "smc-socket" [Seccomp Kernel] HARMLESS
    "Opens a socket that speaks TCP over shared memory, past rules about TCP."
    => |_d| socket(43, libc::SOCK_STREAM, 0);

    "key-socket" [Seccomp Capabilities Kernel] HARMLESS
    "Opens a socket to the keys of encrypted connections."
    => |_d| socket(libc::AF_KEY, libc::SOCK_RAW, 2);

    "dial-up-socket" [Seccomp Kernel] HARMLESS
    "Opens a socket for dial-up connections."
    => |_d| socket(libc::AF_PPPOX, libc::SOCK_STREAM, 0);

    "mark-packets" [Capabilities] HARMLESS
    "Marks its packets, so that the host's routes and filters treat them otherwise."
    => |_d| option(libc::SOL_SOCKET, libc::SO_MARK, 1);

    "bypass-buffer-limit" [Capabilities UserNamespace] HARMLESS
    "Gives a socket more memory than the limit."
    => |_d| option(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 4096);

    "borrow-addresses" [Capabilities] HARMLESS
    "Lets a socket speak with addresses that are not its own."
    => |_d| option(libc::SOL_IP, libc::IP_TRANSPARENT, 1);

    "repair-connection" [Capabilities] HARMLESS
    "Sets the inner state of a connection."
    => |_d| option(libc::SOL_TCP, libc::TCP_REPAIR, 1);
}

/// A question for the address of `decoy.invalid`.
const QUESTION: &[u8] =
    b"\x48\x46\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x05decoy\x07invalid\x00\x00\x01\x00\x01";

fn connect(address: SocketAddr) -> Tried {
    done(TcpStream::connect_timeout(&address, CONNECT_WAIT), "it is connected")
}

fn tcp_socket(protocol: i32) -> Result<std::os::fd::OwnedFd, rustix::io::Errno> {
    let protocol = NonZeroU32::new(protocol.cast_unsigned()).map(Protocol::from_raw);
    rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, protocol)
}

/// To an address on a loopback, which answers at once either way.
fn connect_by(protocol: i32, address: SocketAddr) -> Tried {
    let socket = step(tcp_socket(protocol))?;
    done(rustix::net::connect(&socket, &address), "it is connected")
}

/// That a datagram was sent says nothing: only an answer does.
fn exchange(address: SocketAddr, question: &[u8]) -> Tried {
    let socket = step(UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)))?;
    step(socket.set_read_timeout(Some(ANSWER_WAIT)))?;
    step(socket.send_to(question, address))?;
    let mut answer = [0; 512];
    match socket.recv_from(&mut answer) {
        Ok(_) => Ok(through("it answered")),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(refused("no answer")),
        Err(e) => Ok(refused(Errno::from(e).to_string())),
    }
}

/// Opened and not used.
fn socket(family: i32, kind: i32, protocol: i32) -> Tried {
    reached_unless(ask!(SOCKET, family, kind | libc::SOCK_CLOEXEC, protocol), NO_SUCH_KIND)
}

/// On a socket of the process's own, connected to nothing.
fn option(level: i32, name: i32, value: u32) -> Tried {
    let socket = step(ask!(SOCKET, libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0))?;
    let value = words32(&[value]);
    reached_unless(
        ask!(SETSOCKOPT, socket.descriptor(), level, name, &value, value.len()),
        &[libc::ENOPROTOOPT],
    )
}

/// A fresh namespace may have further interfaces that lead nowhere; those are down.
fn see_interfaces() -> Tried {
    let socket = step(ask!(SOCKET, libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, NOWHERE))?;
    let socket = socket.descriptor();
    // A request is a name of 16 bytes and then a number or flags, 40 bytes in all.
    let about = |request: i64, filled: &[u8]| ask!(IOCTL, socket, request, Arg::Filled(filled));
    for index in 1..64_u32 {
        let Ok(named) = about(libc::SIOCGIFNAME as i64, &words32(&[0, 0, 0, 0, index])) else { continue };
        let name = named.room(0)[..16].to_vec();
        let Ok(flags) = about(libc::SIOCGIFFLAGS as i64, &name) else { continue };
        if !name.starts_with(b"lo\0") && flags.word32(0, 16) & libc::IFF_UP.cast_unsigned() != 0 {
            return Ok(through(format!("{} is up", String::from_utf8_lossy(&name).trim_end_matches('\0'))));
        }
    }
    Ok(refused("there is none"))
}
