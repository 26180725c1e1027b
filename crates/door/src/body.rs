//! Bodies on their way through: never whole in memory, never without a bound.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use tokio::time::Instant;

use crate::activity::{Activity, Uploading};
use crate::relay::Relayed;
use crate::wire::{Alarm, InFlight};

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A body for the own app comes at this pace on average once [`PACE_GRACE`] is over: it is held in memory there, and whoever
/// drips it holds it for long. A form sent over the worst line is faster.
const PACE_BYTES_PER_SECOND: u64 = 1_024;
const PACE_GRACE: Duration = Duration::from_secs(20);

/// A request's body, as the own app and services get it: bounded in length where that is set, and in the time it may stand still.
#[derive(Debug)]
pub struct Inbound {
    incoming: Option<Incoming>,
    left: u64,
    idle: Duration,
    alarm: Alarm,
    pace: Option<Pace>,
    progress: Option<Arc<Upload>>,
    /// Until the last of it has come.
    uploading: Option<Uploading>,
}

#[derive(Debug, thiserror::Error)]
pub enum InboundError {
    #[error("the body is longer than is taken here")]
    TooLarge,
    #[error("the body comes too slowly")]
    TooSlow,
    #[error("the body broke off")]
    Broken(#[from] hyper::Error),
}

/// How far a request's body has come, for whoever waits for the answer to it.
#[derive(Debug, Default)]
pub(crate) struct Upload {
    bytes: AtomicU64,
    pub(crate) too_large: AtomicBool,
    pub(crate) too_slow: AtomicBool,
}

impl Upload {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
struct Pace {
    since: Instant,
    bytes: u64,
}

impl Inbound {
    /// For the own app, which bounds the length itself, route by route.
    pub(crate) fn for_own(incoming: Incoming, idle: Duration, activity: &Arc<Activity>) -> Inbound {
        let pace = Pace { since: Instant::now(), bytes: 0 };
        let uploading = (!incoming.is_end_stream()).then(|| activity.uploading());
        Inbound { pace: Some(pace), uploading, ..Inbound::with(Some(incoming), u64::MAX, idle, None) }
    }

    pub(crate) fn for_service(
        incoming: Incoming,
        max: u64,
        idle: Duration,
        activity: &Arc<Activity>,
    ) -> (Inbound, Option<Arc<Upload>>) {
        if incoming.is_end_stream() {
            return (Inbound::empty(), None);
        }
        let progress = Arc::new(Upload::default());
        let body = Inbound::with(Some(incoming), max, idle, Some(progress.clone()));
        (Inbound { uploading: Some(activity.uploading()), ..body }, Some(progress))
    }

    pub(crate) fn empty() -> Inbound {
        Inbound::with(None, 0, Duration::ZERO, None)
    }

    fn with(incoming: Option<Incoming>, left: u64, idle: Duration, progress: Option<Arc<Upload>>) -> Inbound {
        Inbound { incoming, left, idle, alarm: Alarm::default(), pace: None, progress, uploading: None }
    }

    fn came(&mut self, data: &Bytes) -> Result<(), InboundError> {
        self.alarm.forget();
        let more = data.remaining() as u64;
        self.left = self.left.checked_sub(more).ok_or_else(|| self.too_large())?;
        if let Some(progress) = &self.progress {
            progress.bytes.fetch_add(more, Ordering::Relaxed);
        }
        let Some(pace) = &mut self.pace else { return Ok(()) };
        pace.bytes += more;
        if is_slow(pace.bytes, pace.since.elapsed()) { Err(InboundError::TooSlow) } else { Ok(()) }
    }

    fn too_large(&self) -> InboundError {
        if let Some(progress) = &self.progress {
            progress.too_large.store(true, Ordering::Relaxed);
        }
        InboundError::TooLarge
    }

    fn too_slow(&self) -> InboundError {
        if let Some(progress) = &self.progress {
            progress.too_slow.store(true, Ordering::Relaxed);
        }
        InboundError::TooSlow
    }
}

/// Whether so many bytes are too few after so long.
fn is_slow(bytes: u64, after: Duration) -> bool {
    bytes < after.saturating_sub(PACE_GRACE).as_secs() * PACE_BYTES_PER_SECOND
}

impl Body for Inbound {
    type Data = Bytes;
    type Error = InboundError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, InboundError>>> {
        let this = self.get_mut();
        let Some(incoming) = &mut this.incoming else { return Poll::Ready(None) };
        let came = Pin::new(&mut *incoming).poll_frame(cx);
        if incoming.is_end_stream() {
            this.uploading = None;
        }
        match came {
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => Poll::Ready(Some(this.came(&data).map(|()| Frame::data(data)))),
                // Trailers end here: no service of ours needs them, and they would be headers that nobody checked.
                Err(_) => {
                    this.incoming = None;
                    Poll::Ready(None)
                }
            },
            Poll::Ready(Some(Err(e))) => Poll::Ready(Some(Err(e.into()))),
            Poll::Ready(None) => {
                this.incoming = None;
                Poll::Ready(None)
            }
            Poll::Pending if this.alarm.rings(cx, this.idle) => Poll::Ready(Some(Err(this.too_slow()))),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

/// An answer's body: a service's, the own app's, or a line of the door's own.
#[derive(Debug)]
pub struct Outgoing {
    from: From,
    in_flight: Option<InFlight>,
}

enum From {
    Short(Option<Bytes>),
    Own(UnsyncBoxBody<Bytes, BoxError>),
    Service(Relayed),
}

impl Outgoing {
    pub(crate) fn short(text: Bytes) -> Outgoing {
        Outgoing { from: From::Short(Some(text).filter(|text| !text.is_empty())), in_flight: None }
    }

    pub(crate) fn own<B>(body: B) -> Outgoing
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let body = http_body_util::BodyExt::map_err(body, Into::into);
        Outgoing { from: From::Own(UnsyncBoxBody::new(body)), in_flight: None }
    }

    pub(crate) fn service(body: Relayed) -> Outgoing {
        Outgoing { from: From::Service(body), in_flight: None }
    }

    /// The request counts as unanswered until this body is gone.
    pub(crate) fn until_gone(mut self, in_flight: InFlight) -> Outgoing {
        self.in_flight = Some(in_flight);
        self
    }
}

impl std::fmt::Debug for From {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            From::Short(_) => "Short",
            From::Own(_) => "Own",
            From::Service(_) => "Service",
        })
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        let frame = match &mut this.from {
            From::Short(text) => return Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            From::Own(body) => Pin::new(body).poll_frame(cx),
            From::Service(body) => body.poll_frame(cx),
        };
        if let (Poll::Ready(Some(_)), Some(in_flight)) = (&frame, &this.in_flight) {
            in_flight.stir();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        match &self.from {
            From::Short(text) => text.is_none(),
            From::Own(body) => body.is_end_stream(),
            From::Service(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.from {
            From::Short(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
            From::Own(body) => body.size_hint(),
            From::Service(body) => body.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_may_be_slow_for_a_while_and_not_for_long() {
        let second = Duration::from_secs(1);
        assert!(!is_slow(0, PACE_GRACE));
        assert!(is_slow(0, PACE_GRACE + second));
        assert!(!is_slow(PACE_BYTES_PER_SECOND * 10, PACE_GRACE + 10 * second));
        assert!(is_slow(PACE_BYTES_PER_SECOND * 10, PACE_GRACE + 11 * second));
    }
}
