//! One client's connection from the handshake to the last byte.

use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tracing::debug;

use crate::body::Outgoing;
use crate::certificates::ALPN_ACME;
use crate::client::Client;
use crate::crowd::Slot;
use crate::door::Inner;
use crate::entrance;
use crate::redirect;
use crate::settings::{HEAD_BYTES_MAX, HEADERS_MAX, STREAMS_MAX};
use crate::turned::For;
use crate::wire::{Line, Wire};

/// What hyper holds of one connection at once while it reads.
const READ_BYTES_MAX: usize = 64 * 1024;
/// What is held of an answer for one HTTP/2 stream whose reader is slow.
const SEND_BYTES_MAX: usize = 64 * 1024;
/// Streams that a peer opens and resets before anybody saw them, and those that it breaks; beyond this the connection is closed. The wire cuts off
/// whoever resets many more than this in all.
const RESETS_MAX: usize = 256;
/// A peer that does not answer a ping for this long has gone.
const PING_EVERY: Duration = Duration::from_secs(30);

/// Which of the two listeners a client came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    Main,
    Redirect,
}

/// Serves a client until it leaves. Cancelled by the door's `kill`, it is dropped with everything it holds.
pub(crate) async fn attend(door: Arc<Inner>, face: Face, stream: TcpStream, peer: SocketAddr, slot: Slot) {
    // A socket that cannot be told this still works, only slower.
    let _ = stream.set_nodelay(true);
    let tls = if face == Face::Main { door.keeper.tls() } else { None };
    let client = Client { address: peer, to: stream.local_addr().ok(), https: tls.is_some() };
    let line = Line::new(client, door.tally.clone(), &door.roll, slot);
    match tls {
        None => lines(&door, face, stream, line).await,
        Some(config) => {
            let accepted = TlsAcceptor::from(config).accept(stream);
            let accepted = tokio::select! {
                accepted = tokio::time::timeout(door.limits.handshake_timeout, accepted) => accepted,
                // Nothing was asked yet, so nothing is lost.
                () = door.stop.cancelled() => return,
                () = line.activity.cut.cancelled() => return,
            };
            let Ok(Ok(stream)) = accepted else {
                door.tally.handshakes_failed.up();
                return;
            };
            match stream.get_ref().1.alpn_protocol() {
                Some(b"h2") => frames(&door, stream, line).await,
                // The handshake was the whole answer.
                Some(ALPN_ACME) => {}
                _ => lines(&door, face, stream, line).await,
            }
        }
    }
}

async fn lines<S>(door: &Arc<Inner>, face: Face, stream: S, line: Arc<Line>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let wire = TokioIo::new(Wire::of_lines(stream, line.clone(), &door.limits));
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // The wire bounds it, and tells a head from a pause, which this does not.
        .header_read_timeout(None)
        .max_headers(HEADERS_MAX)
        .max_buf_size(READ_BYTES_MAX);
    let quiet = std::future::pending();
    match face {
        Face::Main => {
            let service = answering(door, &line, entrance::receive);
            let connection = builder.serve_connection(wire, service_fn(service)).with_upgrades();
            drive(door, &line, connection, |connection| connection.graceful_shutdown(), quiet).await;
        }
        Face::Redirect => {
            let service = answering(door, &line, redirect::receive);
            let connection = builder.serve_connection(wire, service_fn(service)).with_upgrades();
            drive(door, &line, connection, |connection| connection.graceful_shutdown(), quiet).await;
        }
    }
}

async fn frames<S>(door: &Arc<Inner>, stream: S, line: Arc<Line>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let wire = TokioIo::new(Wire::of_frames(stream, line.clone(), &door.limits));
    let service = answering(door, &line, entrance::receive);
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(u32::try_from(HEAD_BYTES_MAX).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(RESETS_MAX)
        .max_local_error_reset_streams(RESETS_MAX)
        .max_send_buf_size(SEND_BYTES_MAX)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_EVERY)
        .serve_connection(wire, service_fn(service));
    let quiet = quiet(&line, door.limits.idle_timeout, door.limits.stream_idle_timeout);
    drive(door, &line, connection, |connection| connection.graceful_shutdown(), quiet).await;
}

/// The function that hyper calls for each request.
fn answering<F, A>(
    door: &Arc<Inner>,
    line: &Arc<Line>,
    answer: F,
) -> impl Fn(Request<Incoming>) -> A + use<F, A>
where
    F: Fn(Arc<Inner>, Arc<Line>, Request<Incoming>) -> A,
    A: Future<Output = Result<Response<Outgoing>, Infallible>>,
{
    let (door, line) = (door.clone(), line.clone());
    move |request| answer(door.clone(), line.clone(), request)
}

/// Runs a connection; when the door stops or nothing happens for long, lets what is under way finish and takes no more.
async fn drive<C, T>(
    door: &Inner,
    line: &Line,
    connection: C,
    finish: impl FnOnce(Pin<&mut C>),
    quiet: impl Future<Output = ()>,
) where
    C: Future<Output = Result<T, hyper::Error>>,
{
    let from = line.client.address.ip();
    let mut connection = pin!(connection);
    tokio::select! {
        // The connection itself is never dropped here: it is polled on below.
        done = connection.as_mut() => return told(door, from, done),
        () = door.stop.cancelled() => {}
        () = quiet => {}
        // It waits for its client, and its place is needed: the client finds it closed and opens another.
        () = line.activity.cut.cancelled() => return,
    }
    finish(connection.as_mut());
    tokio::select! {
        done = connection.as_mut() => told(door, from, done),
        // The wait is over; what is dropped now was counted.
        () = door.kill.cancelled() => {}
        () = line.activity.cut.cancelled() => {}
    }
}

fn told<T>(door: &Inner, from: IpAddr, done: Result<T, hyper::Error>) {
    let Err(e) = done else { return };
    debug!(error = %e, "a connection ended early");
    let cause = std::error::Error::source(&e).and_then(|cause| cause.downcast_ref::<h2::Error>());
    // Ended by us, over HTTP/2, for what the peer sent.
    if let Some(cause) = cause.filter(|cause| cause.is_go_away() && cause.is_library()) {
        let too_much = cause.reason() == Some(h2::Reason::ENHANCE_YOUR_CALM);
        door.tally.turn_away(if too_much { For::Flooding } else { For::Malformed }, from);
    }
}

/// Returns when an HTTP/2 connection has no request for as long as a pause may be, or requests that do not move for much longer.
async fn quiet(line: &Line, idle: Duration, stalled: Duration) {
    loop {
        let (max, quiet) = (if line.activity.is_busy() { stalled } else { idle }, line.activity.quiet_for());
        if quiet >= max {
            return;
        }
        tokio::time::sleep((max - quiet).min(idle)).await;
    }
}
