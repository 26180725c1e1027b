//! Thousands who only watch: live pages, the stream of events, WebSockets through the proxy. What the daemon holds for them.
//!
//! All of them come with one session. What the kernel holds for their sockets is no memory of the daemon's and is not counted.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::origin::{ECHOED, KEY, SAID, runtime};
use super::site::Site;
use super::talk::head;
use crate::idle::{cpu_with_children, resident};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) viewers: usize,
    /// How long they only watch before it is measured.
    pub(crate) settle: Duration,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Viewed {
    /// One kind after the other.
    pub(crate) kinds: Vec<Came>,
    /// Resident memory of the daemon, in KiB.
    pub(crate) before_kib: f64,
    pub(crate) after_kib: f64,
    /// After all of them have left.
    pub(crate) left_kib: f64,
    /// Until the last of them was in.
    pub(crate) opened_s: f64,
    /// Of one processor, while they only watch.
    pub(crate) cpu_percent: f64,
    /// Streams that were still open at the end, and sockets that still gave an echo.
    pub(crate) alive: usize,
}

/// Viewers of one kind that came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Came {
    pub(crate) what: &'static str,
    pub(crate) count: usize,
    /// By how much the daemon's resident memory grew meanwhile, in KiB.
    pub(crate) grown_kib: f64,
}

impl Viewed {
    pub(crate) fn count(&self) -> usize {
        self.kinds.iter().map(|kind| kind.count).sum()
    }
}

/// Who come in at once: enough to be quick, few enough that nobody waits in a queue of the kernel's.
const AT_ONCE: usize = 32;
const OPEN_MAX: Duration = Duration::from_secs(60);
/// Sockets of this program for one viewer: its own and, behind the proxy, the service's.
const FILES_EACH: u64 = 2;

pub(super) fn measure(site: &Site, plan: Plan) -> Result<Viewed> {
    let pid = site.daemon.pid();
    let before_kib = resident(pid)?;
    runtime()?.block_on(async {
        let (mut viewed, mut watching) = (Viewed { before_kib, ..Viewed::default() }, Vec::new());
        let mut grown_to = before_kib;
        for (what, kind, share) in kinds(site) {
            let (count, began) = (plan.viewers / share, Instant::now());
            watching.extend(open(site.daemon.gateway(), &kind, count).await.context(what)?);
            viewed.opened_s += began.elapsed().as_secs_f64();
            // Until what only coming in takes is over.
            tokio::time::sleep(plan.settle / 4).await;
            let now = resident(pid)?;
            viewed.kinds.push(Came { what, count, grown_kib: now - grown_to });
            grown_to = now;
        }
        let (since, cpu) = (Instant::now(), cpu_with_children(pid)?);
        tokio::time::sleep(plan.settle).await;
        viewed.cpu_percent = 100.0 * (cpu_with_children(pid)? - cpu) / since.elapsed().as_secs_f64();
        viewed.after_kib = resident(pid)?;
        for viewer in &mut watching {
            viewed.alive += usize::from(viewer.is_there().await);
        }
        drop(watching);
        tokio::time::sleep(plan.settle / 4).await;
        viewed.left_kib = resident(pid)?;
        Ok(viewed)
    })
}

/// Lets this program and those it starts from here on have as many files open as they may.
pub(super) fn raise_files(viewers: usize) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let wanted = FILES_EACH * viewers as u64 + 1000;
    ensure!(limit.maximum.is_none_or(|most| most >= wanted), "{wanted} open files are not allowed here");
    let current = limit.current.map_or(wanted, |now| now.max(wanted));
    Ok(setrlimit(Resource::Nofile, Rlimit { current: Some(current), maximum: limit.maximum })?)
}

struct Viewer {
    stream: TcpStream,
    is_socket: bool,
}

impl Viewer {
    async fn is_there(&mut self) -> bool {
        if self.is_socket {
            return tokio::time::timeout(OPEN_MAX, echoed(&mut self.stream)).await.is_ok_and(|it| it.is_ok());
        }
        // What came meanwhile is read; only the end of it would be a farewell.
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.stream.try_read(&mut buffer) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(e) => return e.kind() == std::io::ErrorKind::WouldBlock,
            }
        }
    }
}

/// What a viewer asks for, and whether it becomes a socket.
#[derive(Clone)]
struct Kind {
    request: Arc<str>,
    is_socket: bool,
}

/// Half of them are streams and half of them sockets: what they are called, what they ask, and which part of all they are.
fn kinds(site: &Site) -> [(&'static str, Kind, usize); 3] {
    let own = format!("http://{}", site.service_host);
    let socket = [
        ("cookie", site.service_cookie.as_str()),
        ("origin", &own),
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", KEY),
    ];
    let kind = |path: &str, host: &str, headers: &[(&str, &str)], is_socket| Kind {
        request: (head("GET", path, host, headers) + "\r\n").into(),
        is_socket,
    };
    let known = [("cookie", site.cookie.as_str())];
    [
        ("live pages", kind("/live?page=%2F", &site.host, &known, false), 4),
        ("streams of events", kind("/api/v1/events", &site.host, &known, false), 4),
        ("WebSockets", kind("/", &site.service_host, &socket, true), 2),
    ]
}

async fn open(to: SocketAddr, kind: &Kind, count: usize) -> Result<Vec<Viewer>> {
    let seats = Arc::new(Semaphore::new(AT_ONCE));
    let mut coming = JoinSet::new();
    for number in 0..count {
        let (kind, seats) = (kind.clone(), seats.clone());
        coming.spawn(async move {
            let _seat = seats.acquire().await?;
            let coming = come_in(to, &kind.request, kind.is_socket);
            tokio::time::timeout(OPEN_MAX, coming).await?.with_context(|| format!("viewer {number}"))
        });
    }
    let mut watching = Vec::with_capacity(count);
    while let Some(come) = coming.join_next().await {
        watching.push(come??);
    }
    Ok(watching)
}

async fn come_in(to: SocketAddr, request: &str, is_socket: bool) -> Result<Viewer> {
    let mut stream = TcpStream::connect(to).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut said = Vec::new();
    // Byte by byte: what follows the head of a socket's answer is the socket's.
    while !said.ends_with(b"\r\n\r\n") {
        said.push(stream.read_u8().await?);
        ensure!(said.len() < 8192, "an endless head");
    }
    let wanted: &[u8] = if is_socket { b"HTTP/1.1 101" } else { b"HTTP/1.1 200" };
    ensure!(said.starts_with(wanted), "{}", String::from_utf8_lossy(&said));
    if is_socket {
        echoed(&mut stream).await?;
    }
    Ok(Viewer { stream, is_socket })
}

async fn echoed(stream: &mut TcpStream) -> Result<()> {
    stream.write_all(&SAID).await?;
    let mut heard = [0; ECHOED.len()];
    stream.read_exact(&mut heard).await?;
    ensure!(heard == ECHOED, "another echo");
    Ok(())
}
