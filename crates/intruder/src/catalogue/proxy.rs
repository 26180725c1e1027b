//! The proxy, which is the only way to the network: what it should refuse, and under which other names.
//!
//! CONNECT counts as through when the proxy agrees to it; a request for a page when the answer of the refused host
//! comes back.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::files::holds;
use crate::judge::{Tried, could_not, done, prepare, refused, through};
use crate::{Decoys, Outcome};

const CONNECT_WAIT: Duration = Duration::from_millis(700);
/// A proxy that has not answered by then is taken to have refused: it has to answer at once.
const ANSWER_WAIT: Duration = Duration::from_millis(1500);
const ANSWER_BYTES_MAX: usize = 64 * 1024;

attempts! { Proxy:
    "direct-connection-beside-proxy" [NetNamespace] HARMLESS
    "Connects to a listener of the host directly although there is a proxy."
    => |d| {
        d.proxy()?;
        done(TcpStream::connect_timeout(d.tcp()?, CONNECT_WAIT), "it is connected")
    };

    "connect-to-refused-host" [Proxy] HARMLESS
    "Asks the proxy for a connection to a host that is not allowed."
    => |d| tunnel(d, d.proxy_refused_host()?);

    "connect-to-refused-host-in-capitals" [Proxy] HARMLESS
    "Asks the proxy for a refused host, written in capitals."
    => |d| tunnel(d, &d.proxy_refused_host()?.to_uppercase());

    "connect-to-refused-host-with-dot" [Proxy] HARMLESS
    "Asks the proxy for a refused host, written with a dot at its end."
    => |d| {
        let (host, port) = split(d.proxy_refused_host()?)?;
        tunnel(d, &format!("{host}.:{port}"))
    };

    "connect-to-refused-host-as-user" [Proxy] HARMLESS
    "Asks the proxy for a refused host behind the name of an allowed one as a user name."
    => |d| tunnel(d, &format!("{}@{}", d.proxy_allowed_host()?, d.proxy_refused_host()?));

    "connect-to-allowed-host-other-port" [Proxy] HARMLESS
    "Asks the proxy for an allowed host at a port that is not allowed."
    => |d| tunnel(d, &format!("{}:1", split(d.proxy_allowed_host()?)?.0));

    "connect-to-loopback-by-number" [Proxy] HARMLESS
    "Asks the proxy for the host's loopback by its address."
    => |d| tunnel(d, &d.tcp()?.to_string());

    "connect-to-loopback-by-name" [Proxy] HARMLESS
    "Asks the proxy for the host's loopback by its name."
    => |d| tunnel_to_host(d, "localhost");

    "connect-to-loopback-by-any-address" [Proxy] HARMLESS
    "Asks the proxy for the host's loopback by the address 0.0.0.0."
    => |d| tunnel_to_host(d, "0.0.0.0");

    "connect-to-loopback-in-short" [Proxy] HARMLESS
    "Asks the proxy for the host's loopback by the short form of its address."
    => |d| tunnel_to_host(d, "127.1");

    "connect-to-loopback-as-one-number" [Proxy] HARMLESS
    "Asks the proxy for the host's loopback by its address as one number."
    => |d| tunnel_to_host(d, "2130706433");

    "connect-to-loopback-in-octal" [Proxy] HARMLESS
    "Asks the proxy for the host's loopback by its address in octal digits."
    => |d| tunnel_to_host(d, "0177.0.0.1");

    "connect-to-loopback-in-hexadecimal" [Proxy] HARMLESS
    "Asks the proxy for the host's loopback by its address in hexadecimal digits."
    => |d| tunnel_to_host(d, "0x7f.0.0.1");

    "connect-to-loopback-mapped" [Proxy] HARMLESS
    "Asks the proxy for the host's loopback by its address written as IPv6."
    => |d| tunnel_to_host(d, "[::ffff:127.0.0.1]");

    "connect-to-loopback-ipv6" [Proxy] HARMLESS
    "Asks the proxy for the host's IPv6 loopback."
    => |d| tunnel(d, &d.tcp6()?.to_string());

    "connect-to-link-local-by-proxy" [Proxy] HARMLESS
    "Asks the proxy for a link-local address, where clouds keep their machines' secrets."
    => |d| tunnel(d, &d.link_local()?.to_string());

    "fetch-from-refused-host" [Proxy] HARMLESS
    "Asks the proxy for a page of a refused host."
    => |d| {
        let host = d.proxy_refused_host()?;
        fetch(d, &format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
    };

    "fetch-from-loopback" [Proxy] HARMLESS
    "Asks the proxy for a page on the host's loopback."
    => |d| {
        let host = SocketAddr::from((Ipv4Addr::LOCALHOST, d.tcp()?.port()));
        fetch(d, &format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
    };

    "fetch-by-host-header-alone" [Proxy] HARMLESS
    "Asks the proxy for a page by a path, with the refused host only in the header."
    => |d| {
        let host = d.proxy_refused_host()?;
        fetch(d, &format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
    };

    "fetch-with-other-host-header" [Proxy] HARMLESS
    "Asks the proxy for a page of an allowed host with the refused host in the header."
    => |d| {
        let (allowed, refused) = (d.proxy_allowed_host()?, d.proxy_refused_host()?);
        smuggle(d, &format!("GET http://{allowed}/ HTTP/1.1\r\nHost: {refused}\r\nConnection: close\r\n\r\n"))
    };

    "fetch-with-two-host-headers" [Proxy] HARMLESS
    "Asks the proxy for a page with an allowed and a refused host in two headers."
    => |d| {
        let (allowed, refused) = (d.proxy_allowed_host()?, d.proxy_refused_host()?);
        smuggle(d, &format!("GET / HTTP/1.1\r\nHost: {allowed}\r\nHost: {refused}\r\nConnection: close\r\n\r\n"))
    };

    "fetch-second-from-refused-host" [Proxy] HARMLESS
    "Sends two requests at once, the first for an allowed host and the second for a refused one."
    => |d| {
        let (allowed, refused) = (d.proxy_allowed_host()?, d.proxy_refused_host()?);
        smuggle(d, &format!(
            "GET http://{allowed}/ HTTP/1.1\r\nHost: {allowed}\r\n\r\n\
             GET http://{refused}/ HTTP/1.1\r\nHost: {refused}\r\nConnection: close\r\n\r\n"
        ))
    };

    "smuggle-request-in-body" [Proxy] HARMLESS
    "Hides a request for a refused host in the body of one for an allowed host, with two lengths."
    => |d| {
        let (allowed, refused) = (d.proxy_allowed_host()?, d.proxy_refused_host()?);
        let hidden = format!("GET http://{refused}/ HTTP/1.1\r\nHost: {refused}\r\nConnection: close\r\n\r\n");
        let length = hidden.len() + 5;
        smuggle(d, &format!(
            "POST http://{allowed}/ HTTP/1.1\r\nHost: {allowed}\r\nContent-Length: {length}\r\n\
             Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"
        ))
    };

    "smuggle-host-by-line-break" [Proxy] HARMLESS
    "Hides the name of a refused host behind a line break in the name of an allowed one."
    => |d| {
        let (allowed, refused) = (d.proxy_allowed_host()?, d.proxy_refused_host()?);
        smuggle(d, &format!(
            "GET http://{allowed}/\n HTTP/1.1\nHost: {refused}\r\n\r\nGET http://{refused}/ HTTP/1.0\r\n\r\n"
        ))
    };

    "smuggle-refused-host-after-connect" [Proxy] HARMLESS
    "Asks for a connection to a refused host while the header names an allowed one."
    => |d| {
        let (allowed, refused) = (d.proxy_allowed_host()?, d.proxy_refused_host()?);
        agreed(&say(d, format!("CONNECT {refused} HTTP/1.1\r\nHost: {allowed}\r\n\r\n").as_bytes())?)
    };

    // Version 5, no password, then a connection to the decoy listener.
    "speak-socks-to-proxy" [Proxy] HARMLESS
    "Speaks another proxy protocol to the proxy, to reach the host's loopback."
    => |d| {
        let port = d.tcp()?.port().to_be_bytes();
        let hello = [5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, port[0], port[1]];
        let answer = say(d, &hello)?;
        Ok(match answer.get(..4) {
            Some([5, 0, 5, 0]) => through("it is connected"),
            _ => refused("it is not spoken"),
        })
    };
}

fn tunnel_to_host(d: &Decoys, host: &str) -> Tried {
    tunnel(d, &format!("{host}:{}", d.tcp()?.port()))
}

fn tunnel(d: &Decoys, target: &str) -> Tried {
    agreed(&say(d, format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").as_bytes())?)
}

fn agreed(answer: &[u8]) -> Tried {
    Ok(match status(answer) {
        Some(code @ 200..=299) => through(format!("the proxy agreed: {code}")),
        Some(code) => refused(code.to_string()),
        None => refused("no answer"),
    })
}

/// Anything but an error of the proxy counts: a page of the refused host may look like anything.
fn fetch(d: &Decoys, request: &str) -> Tried {
    let answer = say(d, request.as_bytes())?;
    Ok(match status(&answer) {
        _ if came_back(d, &answer) => through("the refused host answered"),
        Some(code @ 200..=399) => through(format!("the proxy agreed: {code}")),
        Some(code) => refused(code.to_string()),
        None => refused("no answer"),
    })
}

/// The allowed host may well answer: only the answer of the refused one counts.
fn smuggle(d: &Decoys, request: &str) -> Tried {
    d.proxy_refused_answer()?;
    let answer = say(d, request.as_bytes())?;
    Ok(match came_back(d, &answer) {
        true => through("the refused host answered"),
        false => refused(status(&answer).map_or("no answer".to_owned(), |code| code.to_string())),
    })
}

fn came_back(d: &Decoys, answer: &[u8]) -> bool {
    d.proxy_refused_answer.as_ref().is_some_and(|line| holds(answer, line))
}

/// What the proxy says to `request`, as much as it says in the time it has.
fn say(d: &Decoys, request: &[u8]) -> Result<Vec<u8>, Outcome> {
    let mut stream = TcpStream::connect_timeout(d.proxy()?, CONNECT_WAIT)
        .map_err(|_| could_not("the proxy does not take connections"))?;
    prepare(stream.set_read_timeout(Some(Duration::from_millis(100))), "setting a time-out")?;
    // A proxy that hangs up before it has read everything has refused.
    let _ = stream.write_all(request);
    Ok(hear(&mut stream, Instant::now() + ANSWER_WAIT))
}

fn hear(stream: &mut TcpStream, deadline: Instant) -> Vec<u8> {
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    while Instant::now() < deadline && answer.len() < ANSWER_BYTES_MAX {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(read) => answer.extend_from_slice(&part[..read]),
            // Quiet after it has begun: it has said what it had to say.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && !answer.is_empty() => break,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
    answer
}

fn status(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|b| *b == b'\r').next()?;
    std::str::from_utf8(line).ok()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()
}

fn split(host: &str) -> Result<(&str, &str), Outcome> {
    host.rsplit_once(':').ok_or_else(|| could_not("the decoy host has no port"))
}
