//! The doors of a cage: what listens on its loopback, served from outside.
//!
//! A socket belongs to the network it was made in, so the launcher makes one inside and hands it out; whoever connects to
//! it inside is accepted here. A service is handed on as it is. The proxy speaks HTTP: `CONNECT` for whatever is
//! encrypted, whole addresses for what is not. It looks names up itself, refuses what is not granted, and refuses names
//! that lead to one's own networks, unless that is granted.

mod address;
mod request;

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use self::request::{Asked, HEAD_MAX};
use crate::policy::Destination;

/// What is behind a door.
#[derive(Clone, Debug)]
pub(crate) enum Door {
    /// An address or the path of a socket.
    Service(String),
    Proxy(Vec<Destination>),
}

/// No more ends of connections are open at once, two for each.
const ENDS_MAX: usize = 128;
/// How long a request may take to come, and a host to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long nobody is let in when that has failed.
const AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// What is remembered of refusals.
const REFUSED_MAX: usize = 256;

type Refused = Arc<Mutex<BTreeMap<String, u64>>>;

/// Both ends of all connections there are, so that they can be closed with the cage: an open one would keep its network, and
/// whoever serves it waiting. None are let in any more when the cage has ended.
type Open = Arc<Mutex<Option<Vec<Weak<dyn End>>>>>;

trait End: Send + Sync {
    fn close(&self);
}

impl End for TcpStream {
    fn close(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl End for UnixStream {
    fn close(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

/// Remembers an end, unless there are too many or it is too late.
fn remember(open: &Open, end: Weak<dyn End>) -> bool {
    let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(open) = open.as_mut() else { return false };
    open.retain(|one| one.strong_count() > 0);
    let room = open.len() < ENDS_MAX;
    if room {
        open.push(end);
    }
    room
}

/// All doors of one cage.
#[derive(Debug)]
pub(crate) struct Doors {
    keepers: Vec<JoinHandle<()>>,
    /// Closing it sends the keepers home.
    stay: Option<OwnedFd>,
    refused: Refused,
    open: Open,
}

impl Doors {
    pub(crate) fn none() -> Doors {
        Doors { keepers: Vec::new(), stay: None, refused: Refused::default(), open: Open::default() }
    }

    pub(crate) fn open(doors: Vec<(TcpListener, Door)>) -> io::Result<Doors> {
        let (refused, open): (Refused, Open) = (Refused::default(), Arc::new(Mutex::new(Some(Vec::new()))));
        let mut keepers = Vec::new();
        let (leave, stay) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let leave = Arc::new(leave);
        for (listener, door) in doors {
            listener.set_nonblocking(true)?;
            let keeper = Keeper {
                listener,
                door,
                leave: Arc::clone(&leave),
                refused: Arc::clone(&refused),
                open: Arc::clone(&open),
            };
            keepers.push(std::thread::spawn(move || keeper.keep()));
        }
        Ok(Doors { keepers, stay: Some(stay), refused, open })
    }

    /// Closes them, and says what was refused.
    pub(crate) fn close(&mut self) -> BTreeMap<String, u64> {
        self.stay.take();
        self.keepers.drain(..).for_each(|keeper| drop(keeper.join()));
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        for end in open.into_iter().flatten() {
            end.upgrade().inspect(|end| end.close());
        }
        std::mem::take(&mut *self.refused.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Keeper {
    listener: TcpListener,
    door: Door,
    leave: Arc<OwnedFd>,
    refused: Refused,
    open: Open,
}

impl Keeper {
    fn keep(self) {
        loop {
            let mut poll =
                [PollFd::new(&self.listener, PollFlags::IN), PollFd::new(&*self.leave, PollFlags::IN)];
            if rustix::event::poll(&mut poll, None).is_err() {
                continue;
            }
            if !poll[1].revents().is_empty() {
                return;
            }
            let Ok((inside, _)) = self.listener.accept() else {
                // It may be that there are no descriptors left; whoever waits here waits until there are.
                let mut leave = [PollFd::new(&*self.leave, PollFlags::IN)];
                let _ = rustix::event::poll(&mut leave, Some(&AGAIN));
                continue;
            };
            let inside = Arc::new(inside);
            let end: Arc<dyn End> = inside.clone();
            if !remember(&self.open, Arc::downgrade(&end)) {
                continue;
            }
            let (door, refused, open) =
                (self.door.clone(), Arc::clone(&self.refused), Arc::clone(&self.open));
            std::thread::spawn(move || {
                let _ = inside.set_nonblocking(false);
                let _ = match door {
                    Door::Service(to) => hand_on(&inside, &to, &open),
                    Door::Proxy(destinations) => serve(&inside, &destinations, &refused, &open),
                };
            });
        }
    }
}

/// To a service of the machine.
fn hand_on(inside: &TcpStream, to: &str, open: &Open) -> io::Result<()> {
    if to.starts_with('/') {
        let outside = Arc::new(UnixStream::connect(to)?);
        return join(inside, &outside, open, || outside.shutdown(Shutdown::Write));
    }
    let address: SocketAddr = to.parse().map_err(io::Error::other)?;
    let outside = Arc::new(TcpStream::connect_timeout(&address, PATIENCE)?);
    join(inside, &outside, open, || outside.shutdown(Shutdown::Write))
}

/// Both directions, until both have ended.
fn join<O: End + 'static>(
    inside: &TcpStream,
    outside: &Arc<O>,
    open: &Open,
    end: impl Fn() -> io::Result<()> + Sync,
) -> io::Result<()>
where
    for<'o> &'o O: io::Read + io::Write,
{
    let known: Arc<dyn End> = outside.clone();
    if !remember(open, Arc::downgrade(&known)) {
        return Ok(());
    }
    inside.set_read_timeout(None)?;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut from, mut to) = (inside, &**outside);
            let _ = io::copy(&mut from, &mut to);
            let _ = end();
        });
        let (mut from, mut to) = (&**outside, inside);
        let _ = io::copy(&mut from, &mut to);
        let _ = inside.shutdown(Shutdown::Write);
    });
    Ok(())
}

fn serve(
    mut inside: &TcpStream,
    destinations: &[Destination],
    refused: &Refused,
    open: &Open,
) -> io::Result<()> {
    let Some(asked) = read_request(inside, PATIENCE)? else {
        return answer(
            inside,
            "400 Bad Request",
            "this proxy takes CONNECT, and whole addresses with http://",
        );
    };
    let granted = destinations.iter().find(|destination| destination.is(&asked.host, asked.port));
    let Some(granted) = granted else {
        note(refused, &asked);
        return answer(inside, "403 Forbidden", "the policy of this cage does not grant this destination");
    };
    let found: Vec<SocketAddr> = match (asked.host.as_str(), asked.port).to_socket_addrs() {
        Ok(found) => found.take(8).collect(),
        Err(_) => return answer(inside, "502 Bad Gateway", "the name is not known"),
    };
    let outward: Vec<SocketAddr> =
        found.iter().copied().filter(|at| granted.private || address::is_public(at.ip())).collect();
    if outward.is_empty() {
        note(refused, &asked);
        return answer(inside, "403 Forbidden", "the name leads to a network that is not granted");
    }
    let outside = outward.iter().find_map(|at| TcpStream::connect_timeout(at, PATIENCE).ok());
    let Some(outside) = outside else {
        return answer(inside, "504 Gateway Timeout", "the host does not answer");
    };
    let outside = Arc::new(outside);
    match &asked.forward {
        None => inside.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
        Some(head) => (&*outside).write_all(head)?,
    }
    join(inside, &outside, open, || outside.shutdown(Shutdown::Write))
}

/// The request, up to the end of its head and not a byte further.
fn read_request(mut inside: &TcpStream, patience: Duration) -> io::Result<Option<Asked>> {
    let mut head = Vec::with_capacity(1024);
    let mut byte = [0];
    let until = Instant::now() + patience;
    while !head.ends_with(b"\r\n\r\n") {
        // For the whole of it: who sends a byte now and then has no more time than others.
        let left = until.saturating_duration_since(Instant::now());
        inside.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        if left.is_zero() {
            return Ok(None);
        }
        if head.len() >= HEAD_MAX || inside.read(&mut byte)? == 0 {
            return Ok(None);
        }
        head.push(byte[0]);
    }
    Ok(Asked::parse(&head))
}

fn answer(mut inside: &TcpStream, status: &str, why: &str) -> io::Result<()> {
    let body = format!("holdfast cage: {why}\n");
    write!(
        inside,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn note(refused: &Refused, asked: &Asked) {
    let mut refused = refused.lock().unwrap_or_else(PoisonError::into_inner);
    let name = format!("{}:{}", asked.host.chars().take(255).collect::<String>(), asked.port);
    if refused.len() < REFUSED_MAX || refused.contains_key(&name) {
        *refused.entry(name).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_sends_a_byte_now_and_then_has_no_more_time_than_others() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut slow = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (inside, _) = listener.accept().unwrap();
        let sender = std::thread::spawn(move || {
            let begun = Instant::now();
            // Until nobody is there, or for so long that it was waited for.
            while begun.elapsed() < Duration::from_secs(5) && slow.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
            begun.elapsed()
        });
        let asked = read_request(&inside, Duration::from_millis(200));
        assert!(!matches!(asked, Ok(Some(_))), "{asked:?}");
        drop(inside);
        assert!(sender.join().unwrap() < Duration::from_secs(4));
    }
}
