//! Connections to a service, used again one request after another.
//!
//! A lane is not a task of its own: whoever uses it drives it, so a request passes through one task from end to end, an abandoned
//! request closes its connection, and back-pressure is the caller not polling. Idle lanes are driven by nobody; before one is used
//! again it is polled once, which finds out whether the service has closed it.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::body::Inbound;
use crate::owner::owner_of;
use crate::service::{RunBy, Service, To};
use crate::settings::Limits;
use crate::sockets::{Opener, Pair};

/// Idle lanes kept for one service: enough for a busy browser or two, few enough to cost nothing.
const IDLE_MAX: usize = 128;
/// Below the least keep-alive that common servers have by default (5 s), so that the service is rarely the first to close.
const IDLE_FOR_MAX: Duration = Duration::from_secs(4);
/// What is read of an answer at once.
const BUFFER_BYTES_MAX: usize = 64 * 1024;
/// An answer's head: larger than a request's, since policies and cookies of a service can be long.
const ANSWER_HEAD_BYTES_MAX: usize = 64 * 1024;
/// Fields in an answer's head.
const ANSWER_HEADERS_MAX: usize = 128;

#[derive(Debug)]
pub(crate) struct Lanes {
    to: To,
    /// Who may answer there.
    run_by: RunBy,
    connect_timeout: Duration,
    permits: Arc<Semaphore>,
    /// Those of all services together.
    room: Arc<Semaphore>,
    idle: Mutex<Vec<Lane>>,
}

pub(crate) struct Lane {
    sender: http1::SendRequest<Inbound>,
    /// Without its name: hyper keeps the type of a connection that may be upgraded to itself.
    /// `None` once it is over: dropping it is what tells whoever still waits for an answer.
    connection: Driven,
    heard: Arc<AtomicBool>,
    idle_since: Instant,
    used: bool,
    permit: Permit,
}

/// A lane's place, among those of its service and among all.
#[derive(Debug)]
pub(crate) struct Permit {
    _own: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

/// Why there is no lane.
#[derive(Debug)]
pub(crate) enum NoLane {
    Busy,
    Unreachable(io::Error),
    /// Somebody else answers there: this uid, where it is known.
    Foreign(Option<u32>),
}

/// Why there is no answer.
pub(crate) struct NoAnswer {
    /// The request, when not a byte of it was written.
    pub(crate) unsent: Option<Request<Inbound>>,
    pub(crate) error: hyper::Error,
}

impl Lanes {
    pub(crate) fn new(service: &Service, limits: &Limits, room: Arc<Semaphore>) -> Arc<Lanes> {
        Arc::new(Lanes {
            to: service.to().clone(),
            run_by: service.run_by,
            room,
            connect_timeout: limits.connect_timeout,
            permits: Arc::new(Semaphore::new(limits.lanes_max)),
            idle: Mutex::default(),
        })
    }

    /// A lane that was used before and is still good.
    pub(crate) async fn used(&self) -> Option<Lane> {
        loop {
            let mut lane = self.pop()?;
            if poll_fn(|cx| Poll::Ready(lane.is_ready(cx))).await {
                return Some(lane);
            }
        }
    }

    pub(crate) async fn fresh(&self) -> Result<Lane, NoLane> {
        let permit = Permit {
            _own: self.permits.clone().try_acquire_owned().map_err(|_| NoLane::Busy)?,
            _of_all: self.room.clone().try_acquire_owned().map_err(|_| NoLane::Busy)?,
        };
        let made = tokio::time::timeout(self.connect_timeout, self.connect(permit)).await;
        made.unwrap_or_else(|_| Err(NoLane::Unreachable(io::ErrorKind::TimedOut.into())))
    }

    /// Keeps a lane for the next request, unless there are enough.
    pub(crate) fn give_back(&self, mut lane: Lane) {
        lane.idle_since = Instant::now();
        lane.used = true;
        let mut idle = self.idle();
        if idle.len() < IDLE_MAX {
            idle.push(lane);
        }
    }

    /// Closes what has been idle for too long; called now and then.
    pub(crate) fn sweep(&self) {
        // Closed after the lock is let go.
        let _old: Vec<Lane> = {
            let mut idle = self.idle();
            let old = idle.iter().take_while(|lane| lane.idle_since.elapsed() > IDLE_FOR_MAX).count();
            idle.drain(..old).collect()
        };
    }

    /// The one used last: the least likely to have been closed, and the rest can grow old.
    fn pop(&self) -> Option<Lane> {
        let lane = self.idle().pop()?;
        if lane.idle_since.elapsed() > IDLE_FOR_MAX {
            self.sweep();
            return None;
        }
        Some(lane)
    }

    async fn connect(&self, permit: Permit) -> Result<Lane, NoLane> {
        let (stream, uid) = self.stream().await.map_err(NoLane::Unreachable)?;
        // Before a byte is written: a request says who asks, and what comes back has the service's origin.
        if !uid.is_some_and(|uid| self.run_by.may_answer(uid)) {
            return Err(NoLane::Foreign(uid));
        }
        self.lane(stream, permit).await.map_err(NoLane::Unreachable)
    }

    /// A connection, and whose the other end is.
    async fn stream(&self) -> io::Result<(Stream, Option<u32>)> {
        match &self.to {
            To::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                let (ours, theirs) = (stream.local_addr()?, stream.peer_addr()?);
                let uid = owner_of(Pair { ours, theirs, opened_by: Opener::Us }).await?;
                Ok((Stream::Tcp(stream), uid))
            }
            To::Unix(path) => {
                let stream = UnixStream::connect(path).await?;
                let uid = stream.peer_cred()?.uid();
                Ok((Stream::Unix(stream), Some(uid)))
            }
        }
    }

    async fn lane(&self, stream: Stream, permit: Permit) -> io::Result<Lane> {
        let heard = Arc::new(AtomicBool::new(false));
        let io = TokioIo::new(Heard { stream, heard: heard.clone() });
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(BUFFER_BYTES_MAX)
            .max_headers(ANSWER_HEADERS_MAX)
            .max_header_size(ANSWER_HEAD_BYTES_MAX)
            .handshake(io)
            .await
            .map_err(io::Error::other)?;
        let idle_since = Instant::now();
        Ok(Lane {
            sender,
            connection: Some(Box::pin(connection.with_upgrades())),
            heard,
            idle_since,
            used: false,
            permit,
        })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Lane>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane {
    /// Sends a request and waits for the head of its answer, driving the connection meanwhile.
    pub(crate) async fn ask(&mut self, request: Request<Inbound>) -> Result<Response<Incoming>, NoAnswer> {
        self.heard.store(false, Ordering::Relaxed);
        let mut answer = pin!(self.sender.try_send_request(request));
        let connection = &mut self.connection;
        let answered = poll_fn(|cx| {
            // First the connection: only it brings the answer.
            drive(connection, cx);
            answer.as_mut().poll(cx)
        });
        answered
            .await
            .map_err(|mut failed| NoAnswer { unsent: failed.take_message(), error: failed.into_error() })
    }

    /// Lets the connection read and write.
    pub(crate) fn drive(&mut self, cx: &mut Context<'_>) {
        drive(&mut self.connection, cx);
    }

    /// Whether another request can go over it.
    pub(crate) fn is_ready(&mut self, cx: &mut Context<'_>) -> bool {
        self.drive(cx);
        self.connection.is_some() && matches!(self.sender.poll_ready(cx), Poll::Ready(Ok(())))
    }

    /// Whether the service has said anything since the last request was sent.
    pub(crate) fn was_heard(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }

    pub(crate) fn was_used(&self) -> bool {
        self.used
    }

    /// Drives the connection until it is over, for an upgrade, which takes the stream out of it.
    pub(crate) async fn finish(mut self) -> Permit {
        poll_fn(|cx| {
            self.drive(cx);
            if self.connection.is_none() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        self.permit
    }
}

impl std::fmt::Debug for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lane").field("used", &self.used).finish_non_exhaustive()
    }
}

type Driven = Option<Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>>;

/// Polls a connection that is not over. What went wrong with it is told to whoever waits for an answer.
fn drive(connection: &mut Driven, cx: &mut Context<'_>) {
    if connection.as_mut().is_some_and(|connection| connection.as_mut().poll(cx).is_ready()) {
        *connection = None;
    }
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A stream that notes whether anything came over it.
#[derive(Debug)]
struct Heard {
    stream: Stream,
    heard: Arc<AtomicBool>,
}

/// The same call on either kind of stream.
macro_rules! on_stream {
    ($self:ident, $call:ident ( $($arg:expr),* )) => {
        match &mut $self.get_mut().stream {
            Stream::Tcp(stream) => Pin::new(stream).$call($($arg),*),
            Stream::Unix(stream) => Pin::new(stream).$call($($arg),*),
        }
    };
}

impl AsyncRead for Heard {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let this = self.get_mut();
        let done = match &mut this.stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
        };
        if buf.filled().len() > before {
            this.heard.store(true, Ordering::Relaxed);
        }
        done
    }
}

impl AsyncWrite for Heard {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        on_stream!(self, poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_stream!(self, poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_stream!(self, poll_shutdown(cx))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        on_stream!(self, poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Tcp(stream) => stream.is_write_vectored(),
            Stream::Unix(stream) => stream.is_write_vectored(),
        }
    }
}
