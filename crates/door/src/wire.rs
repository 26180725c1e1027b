//! A client's connection as hyper sees it: only plain requests come in, and nothing waits for ever.
//!
//! The bytes pass through [`Framing`]; at the first that is wrong in a head, a zero byte is put in its place, which no parser
//! takes, so hyper answers 400 and closes. Three waits are bounded here, each by a timer that is armed only when there is
//! something to wait for: a head from its first byte to its last, the pause between requests, and a peer that takes nothing.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::activity::{Activity, Entry, Roll};
use crate::client::{Client, ClientFinder};
use crate::crowd::Slot;
use crate::frames::{Flood, Frames};
use crate::framing::{Framing, Phase};
use crate::settings::Limits;
use crate::tally::Tally;
use crate::turned::For;

/// What a connection's parts know of each other. It lives as long as anything of the connection does, tunnels included, and so
/// does the place in the crowd.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) client: Client,
    pub(crate) finder: ClientFinder,
    pub(crate) tally: Arc<Tally>,
    pub(crate) activity: Arc<Activity>,
    _entry: Entry,
    _slot: Slot,
}

/// Held while a request has no complete answer.
#[derive(Debug)]
pub(crate) struct InFlight {
    line: Arc<Line>,
    /// The caller's, where it is not the line's.
    seat: Option<Arc<Slot>>,
}

impl Line {
    pub(crate) fn new(client: Client, tally: Arc<Tally>, roll: &Arc<Roll>, slot: Slot) -> Arc<Line> {
        let activity = Arc::new(Activity::new(client));
        let entry = roll.enter(activity.clone());
        Arc::new(Line {
            client,
            finder: ClientFinder::of(client),
            tally,
            activity,
            _entry: entry,
            _slot: slot,
        })
    }

    pub(crate) fn begin(self: &Arc<Line>) -> InFlight {
        self.activity.begin();
        InFlight { line: self.clone(), seat: None }
    }
}

impl InFlight {
    /// An answer goes on.
    pub(crate) fn stir(&self) {
        self.line.activity.stir();
    }

    /// The caller's place is taken for as long.
    pub(crate) fn seated(mut self, seat: Option<Arc<Slot>>) -> InFlight {
        self.seat = seat;
        self
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.line.activity.end();
    }
}

/// What the reading side waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// Nothing that has to come: an answer is under way, and a body has a limit of its own meanwhile.
    Nothing,
    /// The rest of a head. Numbered, so that the next one is another wait.
    Head { number: u64 },
    /// The next request, or the rest of a body whose answer was given without it.
    Next { number: u64 },
}

#[derive(Debug)]
pub(crate) struct Wire<S> {
    stream: S,
    spoken: Spoken,
    line: Arc<Line>,
    head_timeout: Duration,
    idle_timeout: Duration,
    stall_timeout: Duration,
    wait: Wait,
    reading: Alarm,
    writing: Alarm,
    heard: bool,
    /// Nothing more is read: what came was not a request.
    shut: bool,
}

/// What is spoken over it, and how far it was followed.
#[derive(Debug)]
enum Spoken {
    /// HTTP/1. Boxed: it is much larger than the other.
    Lines(Box<Framing>),
    /// HTTP/2.
    Frames(Frames),
}

impl<S> Wire<S> {
    pub(crate) fn of_lines(stream: S, line: Arc<Line>, limits: &Limits) -> Wire<S> {
        Wire::new(stream, Spoken::Lines(Box::new(Framing::new())), line, limits)
    }

    pub(crate) fn of_frames(stream: S, line: Arc<Line>, limits: &Limits) -> Wire<S> {
        Wire::new(stream, Spoken::Frames(Frames::new()), line, limits)
    }

    fn new(stream: S, spoken: Spoken, line: Arc<Line>, limits: &Limits) -> Wire<S> {
        Wire {
            stream,
            spoken,
            line,
            head_timeout: limits.head_timeout,
            idle_timeout: limits.idle_timeout,
            stall_timeout: limits.write_stall_timeout,
            wait: Wait::Nothing,
            reading: Alarm::default(),
            writing: Alarm::default(),
            heard: false,
            shut: false,
        }
    }

    /// Looks at what was just read, and replaces what may not pass.
    fn inspect(&mut self, buf: &mut ReadBuf<'_>, before: usize) -> io::Result<()> {
        self.heard |= buf.filled().len() > before;
        let framing = match &mut self.spoken {
            Spoken::Lines(framing) => framing,
            Spoken::Frames(frames) => {
                let seen = frames.take(&buf.filled()[before..], self.line.activity.age());
                return seen.map_err(|Flood| {
                    self.line.tally.turn_away(For::Flooding, self.line.client.address.ip());
                    io::Error::new(io::ErrorKind::InvalidData, "a flood of frames")
                });
            }
        };
        if self.line.activity.is_upgraded() {
            framing.open();
        }
        let Err(fault) = framing.take(&buf.filled()[before..]) else { return Ok(()) };
        self.line.tally.turn_away(For::Malformed, self.line.client.address.ip());
        self.shut = true;
        buf.set_filled(before + fault.at);
        match fault.phase {
            // There is room: at least the byte that was wrong has been taken back.
            Phase::Head | Phase::Between => buf.put_slice(b"\0"),
            Phase::Body => return Err(io::Error::new(io::ErrorKind::InvalidData, "not a plain body")),
        }
        Ok(())
    }

    fn waiting_for(&self) -> Wait {
        match &self.spoken {
            // A quiet WebSocket is no connection that waits for its next request.
            _ if self.line.activity.is_busy() || self.line.activity.is_upgraded() => Wait::Nothing,
            Spoken::Frames(_) if self.heard => Wait::Nothing,
            Spoken::Frames(_) => Wait::Head { number: 0 },
            Spoken::Lines(framing) => match framing.phase() {
                Phase::Head => Wait::Head { number: framing.heads() },
                // The first request has to come at once; nobody connects to say nothing.
                Phase::Between if framing.heads() == 0 => Wait::Head { number: 0 },
                Phase::Between | Phase::Body => Wait::Next { number: framing.heads() },
            },
        }
    }

    fn too_long_to_read(&mut self, cx: &mut Context<'_>) -> bool {
        let wait = self.waiting_for();
        if wait != self.wait {
            self.wait = wait;
            self.reading.forget();
        }
        match wait {
            Wait::Nothing => false,
            Wait::Head { .. } => self.reading.rings(cx, self.head_timeout),
            Wait::Next { .. } => self.reading.rings(cx, self.idle_timeout),
        }
    }

    /// For every way of writing: bounds how long the peer may take nothing.
    fn bounded<T>(&mut self, cx: &mut Context<'_>, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.writing.forget();
            self.line.activity.flow();
            return done;
        }
        self.line.activity.stall();
        if self.writing.rings(cx, self.stall_timeout) { self.gone() } else { Poll::Pending }
    }

    fn gone<T>(&self) -> Poll<io::Result<T>> {
        self.line.tally.timed_out.up();
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.shut {
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        match Pin::new(&mut this.stream).poll_read(cx, buf) {
            Poll::Ready(Ok(())) => {
                let seen = this.inspect(buf, before);
                // A new request is a new wait, also when one read held the end of one and the beginning of the next.
                if this.waiting_for() != this.wait {
                    this.wait = Wait::Nothing;
                }
                Poll::Ready(seen)
            }
            Poll::Ready(Err(e)) => Poll::Ready(Err(e)),
            Poll::Pending if this.too_long_to_read(cx) => this.gone(),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let done = Pin::new(&mut this.stream).poll_write(cx, buf);
        this.bounded(cx, done)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let done = Pin::new(&mut this.stream).poll_flush(cx);
        this.bounded(cx, done)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let done = Pin::new(&mut this.stream).poll_shutdown(cx);
        this.bounded(cx, done)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let done = Pin::new(&mut this.stream).poll_write_vectored(cx, bufs);
        this.bounded(cx, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// A timer that starts when it is first asked and can be set back; made only when it is needed.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    sleep: Option<Pin<Box<Sleep>>>,
    armed: bool,
}

impl Alarm {
    pub(crate) fn forget(&mut self) {
        self.armed = false;
    }

    /// Whether `after` has passed since it was first asked; otherwise the task is woken when it has.
    pub(crate) fn rings(&mut self, cx: &mut Context<'_>, after: Duration) -> bool {
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(after)));
        if !self.armed {
            self.armed = true;
            sleep.as_mut().reset(Instant::now() + after);
        }
        sleep.as_mut().poll(cx).is_ready()
    }
}
