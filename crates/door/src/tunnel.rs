//! What an upgrade becomes: bytes both ways until either end, the session or the daemon is done, or nothing moves for long.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::crowd::Slot;
use crate::door::Inner;
use crate::lane::Lane;
use crate::wire::Line;

/// Held for each direction of each tunnel, most of which are quiet most of the time.
const BUFFER_BYTES: usize = 4 * 1024;
/// What the client still gets to take the 101 and begin; its socket may stall.
const BEGIN_WITHIN: Duration = Duration::from_secs(10);

pub(crate) struct Ends {
    pub(crate) lane: Lane,
    pub(crate) on_client: OnUpgrade,
    pub(crate) on_service: OnUpgrade,
    pub(crate) ended: CancellationToken,
    /// Keep the places in the crowd: the connection's, and the caller's where that is another.
    pub(crate) line: Arc<Line>,
    pub(crate) seat: Option<Arc<Slot>>,
}

/// Runs one tunnel. Cancelled or failed, both streams are dropped, which closes both connections.
pub(crate) async fn run(door: Arc<Inner>, ends: Ends) {
    let Ends { lane, on_client, on_service, ended, line, seat } = ends;
    door.tally.tunnels.up();
    door.tally.tunnels_open.up();
    // The lane's place stays taken for as long as the tunnel uses its connection.
    let begun = tokio::time::timeout(BEGIN_WITHIN, async {
        let permit = lane.finish().await;
        let both = tokio::try_join!(on_client, on_service);
        both.map(|(client, service)| (client, service, permit))
    });
    match begun.await {
        Ok(Ok((client, service, permit))) => {
            carry(&door, client, service, &ended).await;
            drop(permit);
        }
        Ok(Err(e)) => debug!(error = %e, "an upgrade came to nothing"),
        Err(_) => door.tally.timed_out.up(),
    }
    door.tally.tunnels_open.down();
    drop((line, seat));
}

async fn carry(door: &Inner, client: Upgraded, service: Upgraded, ended: &CancellationToken) {
    let moved = AtomicU64::new(0);
    let (from_client, to_client) = tokio::io::split(TokioIo::new(client));
    let (from_service, to_service) = tokio::io::split(TokioIo::new(service));
    let both = async {
        tokio::join!(pump(from_client, to_service, &moved), pump(from_service, to_client, &moved));
    };
    tokio::select! {
        // Whatever ends first, the rest is dropped: a tunnel has nothing to finish.
        () = both => {}
        () = ended.cancelled() => door.tally.ended_with_session.up(),
        () = door.stop.cancelled() => {}
        () = standstill(&moved, door.limits.stream_idle_timeout) => door.tally.timed_out.up(),
    }
}

/// Copies until the end or an error, and passes the end on.
async fn pump(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, moved: &AtomicU64) {
    let mut buffer = [0; BUFFER_BYTES];
    while let Ok(n @ 1..) = from.read(&mut buffer).await {
        if to.write_all(&buffer[..n]).await.is_err() || to.flush().await.is_err() {
            break;
        }
        moved.fetch_add(1, Ordering::Relaxed);
    }
    // The other side may be gone already; then there is nobody to tell.
    let _ = to.shutdown().await;
}

/// Returns when nothing has moved for as long as is said.
async fn standstill(moved: &AtomicU64, idle: Duration) {
    let mut before = moved.load(Ordering::Relaxed);
    loop {
        tokio::time::sleep(idle).await;
        let now = moved.load(Ordering::Relaxed);
        if now == before {
            return;
        }
        before = now;
    }
}
