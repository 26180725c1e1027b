//! One request to a service and its answer, from the question whether it may pass to the last byte.

use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, Uri, Version};
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tracing::debug;

use crate::answer;
use crate::body::{BoxError, Inbound, Outgoing, Upload};
use crate::client::Client;
use crate::door::Inner;
use crate::entrance::Caller;
use crate::hygiene::{self, Origin};
use crate::identity::Identity;
use crate::lane::{Lane, Lanes, NoLane};
use crate::service::{Pass, Service, Verdict};
use crate::settings::Limits;
use crate::tunnel;
use crate::wire::Alarm;

/// A service and the connections to it.
#[derive(Debug)]
pub(crate) struct Berth {
    pub(crate) service: Service,
    pub(crate) lanes: Arc<Lanes>,
    impostor: Mutex<Option<Impostor>>,
}

/// Somebody else who answered where a service should, since it was last asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impostor {
    pub service: String,
    /// Who it was the last time, where that could be told.
    pub uid: Option<u32>,
    /// Requests that were kept back.
    pub times: u64,
}

impl Berth {
    pub(crate) fn new(service: Service, limits: &Limits, room: Arc<Semaphore>) -> Berth {
        let lanes = Lanes::new(&service, limits, room);
        Berth { service, lanes, impostor: Mutex::default() }
    }

    pub(crate) fn take_impostor(&self) -> Option<Impostor> {
        self.impostor.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn note_impostor(&self, uid: Option<u32>) {
        let mut impostor = self.impostor.lock().unwrap_or_else(PoisonError::into_inner);
        let times = impostor.as_ref().map_or(0, |it| it.times) + 1;
        *impostor = Some(Impostor { service: self.service.name().to_owned(), uid, times });
    }
}

/// Why there is no answer from the service.
enum Trouble {
    Busy,
    Unreachable,
    Foreign,
    Broken,
    Late,
    TooLarge,
    TooSlow,
    Ended,
}

/// Answers a request for a service's host. `host` is what the client called it.
pub(crate) async fn relay(
    door: &Arc<Inner>,
    caller: &Caller,
    berth: &Berth,
    mut request: Request<Incoming>,
    host: HeaderValue,
) -> Response<Outgoing> {
    let wish = wish_of(&request);
    let on_client = wish.is_some().then(|| hyper::upgrade::on(&mut request));
    let (parts, body) = request.into_parts();
    let pass = match door.admit.admit(&berth.service, &parts).await {
        Verdict::Pass(pass) => pass,
        other => return turned_away(door, other, &parts, wish.is_some()),
    };
    if wish.is_some() && !is_same_origin(&parts.headers, caller.client.scheme(), &host) {
        door.tally.foreign_origin.up();
        return answer::plain(StatusCode::FORBIDDEN);
    }
    let max = berth.service.body_bytes_max;
    if body.size_hint().lower() > max {
        door.tally.body_too_large.up();
        return answer::plain(StatusCode::PAYLOAD_TOO_LARGE);
    }
    if wish.is_some() && !body.is_end_stream() {
        return answer::plain(StatusCode::BAD_REQUEST);
    }
    let (body, upload) =
        Inbound::for_service(body, max, door.limits.body_idle_timeout, &caller.line.activity);
    let Some(head) = outgoing_head(door, &caller.client, berth, parts, &pass, &host, wish.as_ref()) else {
        return answer::plain(StatusCode::BAD_REQUEST);
    };
    door.tally.proxied.up();
    let asked = ask(door, berth, head, body, upload.as_deref(), &pass.ended, wish.is_some()).await;
    match asked {
        Ok((lane, response)) => match (wish, on_client) {
            (Some(wish), Some(on_client)) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                switch(door, caller, lane, response, wish, on_client, pass.ended)
            }
            _ => pass_on(door, berth, lane, response, pass.ended).await,
        },
        Err(trouble) => answer_for(door, &trouble),
    }
}

fn wish_of(request: &Request<Incoming>) -> Option<HeaderValue> {
    let may = request.version() == Version::HTTP_11 && *request.method() == Method::GET;
    if may { hygiene::wished_upgrade(request.headers()) } else { None }
}

/// Pages are sent to sign in; scripts and sockets are told that they may not, before anything is opened.
fn turned_away(door: &Inner, verdict: Verdict, parts: &Parts, is_upgrade: bool) -> Response<Outgoing> {
    door.tally.not_admitted.up();
    let is_page = !is_upgrade && (parts.method == Method::GET || parts.method == Method::HEAD);
    match verdict {
        Verdict::GoTo(location) if is_page => answer::go_to(StatusCode::SEE_OTHER, &location),
        Verdict::Enter { to, cookie } if is_page => {
            let mut answer = answer::go_to(StatusCode::SEE_OTHER, &to);
            answer.headers_mut().insert(header::SET_COOKIE, cookie);
            answer.headers_mut().insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
            answer
        }
        Verdict::GoTo(_) | Verdict::Enter { .. } | Verdict::Pass(_) => {
            answer::plain(StatusCode::UNAUTHORIZED)
        }
        Verdict::Refuse(status) => answer::plain(status),
    }
}

/// A browser says which page opens a socket, and cookies are sent whichever it is: so it must be a page of this very origin.
fn is_same_origin(headers: &HeaderMap, scheme: &str, host: &HeaderValue) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let (Some(origin), None, Ok(host)) = (origins.next(), origins.next(), host.to_str()) else {
        return false;
    };
    let Ok(origin) = origin.to_str() else { return false };
    let Some(rest) = origin.strip_prefix(scheme).and_then(|rest| rest.strip_prefix("://")) else {
        return false;
    };
    rest.eq_ignore_ascii_case(host)
}

/// What a request is without its body, so that it can be said again.
#[derive(Clone)]
struct Head {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
}

impl Head {
    fn with(self, body: Inbound) -> Request<Inbound> {
        let mut request = Request::new(body);
        *request.method_mut() = self.method;
        *request.uri_mut() = self.uri;
        *request.headers_mut() = self.headers;
        request
    }
}

fn outgoing_head(
    door: &Inner,
    client: &Client,
    berth: &Berth,
    parts: Parts,
    pass: &Pass,
    host: &HeaderValue,
    wish: Option<&HeaderValue>,
) -> Option<Head> {
    let mut headers = parts.headers;
    let identity = Identity::now(berth.service.name(), &pass.person, door.clock.now());
    let origin = Origin {
        address: client.address.ip(),
        scheme: client.scheme(),
        host,
        identity: HeaderValue::from_str(&identity.sign(berth.service.key())).ok()?,
    };
    hygiene::toward_service(&mut headers, origin);
    if let Some(wish) = wish {
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, wish.clone());
    }
    let path = parts.uri.into_parts().path_and_query?;
    Some(Head { method: parts.method, uri: Uri::from(path), headers })
}

/// Finds a lane and an answer. A request is said again only when not a byte of it was written, or when it is harmless to repeat,
/// has no body, and the service closed a used connection without a word.
async fn ask(
    door: &Inner,
    berth: &Berth,
    head: Head,
    body: Inbound,
    upload: Option<&Upload>,
    ended: &CancellationToken,
    is_upgrade: bool,
) -> Result<(Lane, Response<Incoming>), Trouble> {
    let used = if is_upgrade { None } else { berth.lanes.used().await };
    let Some(mut lane) = used else {
        return ask_fresh(door, berth, head.with(body), upload, ended).await;
    };
    door.tally.lanes_reused.up();
    let harmless = matches!(head.method, Method::GET | Method::HEAD | Method::OPTIONS);
    let spare = (harmless && upload.is_none()).then(|| head.clone());
    match wait(door, &mut lane, head.with(body), upload, ended).await {
        Ok(response) => Ok((lane, response)),
        Err(Waited::Unsent(request)) => ask_fresh(door, berth, *request, upload, ended).await,
        Err(Waited::Silent) if let Some(head) = spare => {
            door.tally.repeated.up();
            ask_fresh(door, berth, head.with(Inbound::empty()), None, ended).await
        }
        Err(Waited::Silent) => Err(Trouble::Broken),
        Err(Waited::Trouble(trouble)) => Err(trouble),
    }
}

async fn ask_fresh(
    door: &Inner,
    berth: &Berth,
    request: Request<Inbound>,
    upload: Option<&Upload>,
    ended: &CancellationToken,
) -> Result<(Lane, Response<Incoming>), Trouble> {
    let mut lane = berth.lanes.fresh().await.map_err(|none| match none {
        NoLane::Busy => Trouble::Busy,
        NoLane::Foreign(uid) => {
            berth.note_impostor(uid);
            Trouble::Foreign
        }
        NoLane::Unreachable(e) => {
            debug!(service = berth.service.name(), error = %e, "a service cannot be reached");
            Trouble::Unreachable
        }
    })?;
    door.tally.lanes_opened.up();
    match wait(door, &mut lane, request, upload, ended).await {
        Ok(response) => Ok((lane, response)),
        Err(Waited::Trouble(trouble)) => Err(trouble),
        Err(Waited::Unsent(_) | Waited::Silent) => Err(Trouble::Broken),
    }
}

/// Why waiting for an answer ended without one.
enum Waited {
    /// Not a byte was written. Boxed: it is rare and large.
    Unsent(Box<Request<Inbound>>),
    /// The connection was closed without a word.
    Silent,
    Trouble(Trouble),
}

/// Waits as long as the request's body moves, and after that as long as the first byte may take.
async fn wait(
    door: &Inner,
    lane: &mut Lane,
    request: Request<Inbound>,
    upload: Option<&Upload>,
    ended: &CancellationToken,
) -> Result<Response<Incoming>, Waited> {
    let failed = {
        let mut asking = pin!(lane.ask(request));
        let mut sent = 0;
        loop {
            tokio::select! {
                biased;
                // Dropping the question closes its lane, which is what an ended session and a late answer want.
                asked = asking.as_mut() => match asked {
                    Ok(response) => return Ok(response),
                    Err(failed) => break failed,
                },
                () = ended.cancelled() => {
                    door.tally.ended_with_session.up();
                    return Err(Waited::Trouble(Trouble::Ended));
                }
                () = tokio::time::sleep(door.limits.first_byte_timeout) => {
                    let now = upload.map_or(0, Upload::bytes);
                    if now == sent {
                        return Err(Waited::Trouble(Trouble::Late));
                    }
                    sent = now;
                }
            }
        }
    };
    debug!(error = %failed.error, "a service gave no answer");
    let over = |flag: fn(&Upload) -> bool| upload.is_some_and(flag);
    Err(match failed.unsent {
        _ if over(|u| u.too_large.load(Ordering::Relaxed)) => Waited::Trouble(Trouble::TooLarge),
        _ if over(|u| u.too_slow.load(Ordering::Relaxed)) => Waited::Trouble(Trouble::TooSlow),
        Some(request) => Waited::Unsent(Box::new(request)),
        None if lane.was_used() && !lane.was_heard() => Waited::Silent,
        None => Waited::Trouble(Trouble::Broken),
    })
}

fn answer_for(door: &Inner, trouble: &Trouble) -> Response<Outgoing> {
    let tally = &door.tally;
    let (count, status) = match trouble {
        Trouble::Busy => (&tally.service_busy, StatusCode::SERVICE_UNAVAILABLE),
        Trouble::Foreign => (&tally.service_foreign, StatusCode::BAD_GATEWAY),
        Trouble::Unreachable | Trouble::Broken => (&tally.bad_gateway, StatusCode::BAD_GATEWAY),
        Trouble::Late => (&tally.gateway_timeout, StatusCode::GATEWAY_TIMEOUT),
        Trouble::TooLarge => (&tally.body_too_large, StatusCode::PAYLOAD_TOO_LARGE),
        Trouble::TooSlow => (&tally.timed_out, StatusCode::REQUEST_TIMEOUT),
        Trouble::Ended => return answer::plain(StatusCode::UNAUTHORIZED),
    };
    count.up();
    answer::plain(status)
}

async fn pass_on(
    door: &Inner,
    berth: &Berth,
    lane: Lane,
    response: Response<Incoming>,
    ended: CancellationToken,
) -> Response<Outgoing> {
    // Nobody asked for another protocol here: what follows such an answer would not be one.
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return answer_for(door, &Trouble::Broken);
    }
    let (mut parts, incoming) = response.into_parts();
    hygiene::toward_client(&mut parts.headers);
    parts.version = Version::HTTP_11;
    parts.extensions.clear();
    let is_events = parts
        .headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    let mut body = Relayed {
        incoming,
        lane: Some(lane),
        lanes: berth.lanes.clone(),
        ended,
        ending: None,
        // Events go on for ever; a stop does not wait for them, and browsers take them up again.
        stopping: is_events.then(|| Box::pin(door.stop.clone().cancelled_owned())),
        alarm: Alarm::default(),
        idle: door.limits.stream_idle_timeout,
    };
    if body.incoming.is_end_stream() {
        poll_fn(|cx| {
            body.finish(cx);
            Poll::Ready(())
        })
        .await;
    }
    Response::from_parts(parts, Outgoing::service(body))
}

/// The answer that makes a tunnel of the connection; the tunnel begins when it has been written.
fn switch(
    door: &Arc<Inner>,
    caller: &Caller,
    lane: Lane,
    mut response: Response<Incoming>,
    wish: HeaderValue,
    on_client: OnUpgrade,
    ended: CancellationToken,
) -> Response<Outgoing> {
    let agreed = response
        .headers()
        .get(header::UPGRADE)
        .is_some_and(|said| said.as_bytes().eq_ignore_ascii_case(wish.as_bytes()));
    if !agreed {
        return answer_for(door, &Trouble::Broken);
    }
    let on_service = hyper::upgrade::on(&mut response);
    let ends = tunnel::Ends {
        lane,
        on_client,
        on_service,
        ended,
        line: caller.line.clone(),
        seat: caller.seat.clone(),
    };
    caller.line.activity.upgrade();
    door.tasks.spawn(tunnel::run(door.clone(), ends));
    let mut switched = Response::new(Outgoing::short(Bytes::new()));
    *switched.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    *switched.headers_mut() = std::mem::take(response.headers_mut());
    hygiene::toward_client(switched.headers_mut());
    switched.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    switched.headers_mut().insert(header::UPGRADE, wish);
    switched
}

type Cancelled = Pin<Box<WaitForCancellationFutureOwned>>;

/// The body of a service's answer, on its way to the client. Whoever polls it drives the lane it comes from.
pub(crate) struct Relayed {
    incoming: Incoming,
    lane: Option<Lane>,
    lanes: Arc<Lanes>,
    ended: CancellationToken,
    /// Made only when the stream stands still: a short answer never waits.
    ending: Option<Cancelled>,
    stopping: Option<Cancelled>,
    alarm: Alarm,
    idle: Duration,
}

#[derive(Debug, thiserror::Error)]
enum Cut {
    #[error("the session ended")]
    Session,
    #[error("nothing came for too long")]
    Idle,
}

impl Relayed {
    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.ended.is_cancelled() {
            return self.cut(Cut::Session);
        }
        // Twice: asking for a frame is what lets the lane read one, and it can often do so at once.
        for _ in 0..2 {
            if let Some(lane) = &mut self.lane {
                lane.drive(cx);
            }
            match Pin::new(&mut self.incoming).poll_frame(cx) {
                Poll::Pending => {}
                Poll::Ready(frame) => return Poll::Ready(self.came(cx, frame)),
            }
        }
        self.still(cx)
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }

    fn came(
        &mut self,
        cx: &mut Context<'_>,
        frame: Option<Result<Frame<Bytes>, hyper::Error>>,
    ) -> Option<Result<Frame<Bytes>, BoxError>> {
        self.alarm.forget();
        match frame {
            Some(Ok(frame)) if frame.is_data() => {
                if self.incoming.is_end_stream() {
                    self.finish(cx);
                }
                Some(Ok(frame))
            }
            // Trailers would be headers that nobody checked.
            Some(Ok(_)) | None => {
                self.finish(cx);
                None
            }
            Some(Err(e)) => {
                self.lane = None;
                Some(Err(e.into()))
            }
        }
    }

    /// Nothing came: waits for more, or for a reason to stop.
    fn still(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(stopping) = &mut self.stopping
            && stopping.as_mut().poll(cx).is_ready()
        {
            self.lane = None;
            return Poll::Ready(None);
        }
        let ending = self.ending.get_or_insert_with(|| Box::pin(self.ended.clone().cancelled_owned()));
        if ending.as_mut().poll(cx).is_ready() {
            return self.cut(Cut::Session);
        }
        if self.alarm.rings(cx, self.idle) { self.cut(Cut::Idle) } else { Poll::Pending }
    }

    fn cut(&mut self, why: Cut) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.lane = None;
        Poll::Ready(Some(Err(why.into())))
    }

    /// The answer is whole: its lane is free for the next request, if the request is whole too.
    fn finish(&mut self, cx: &mut Context<'_>) {
        let Some(mut lane) = self.lane.take() else { return };
        if lane.is_ready(cx) {
            self.lanes.give_back(lane);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_may_be_opened_by_a_page_of_its_own_origin_only() {
        let host = HeaderValue::from_static("grafana.example:9096");
        let may = |origins: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for origin in origins {
                headers.append(header::ORIGIN, HeaderValue::from_static(origin));
            }
            is_same_origin(&headers, "https", &host)
        };
        assert!(may(&["https://grafana.example:9096"]));
        assert!(may(&["https://Grafana.example:9096"]));
        for bad in [
            &[][..],
            &["null"],
            &["http://grafana.example:9096"],
            &["https://grafana.example"],
            &["https://example:9096"],
            &["https://evil.example"],
            &["https://grafana.example:9096.evil.example"],
            &["https://grafana.example:9096", "https://grafana.example:9096"],
        ] {
            assert!(!may(bad), "{bad:?}");
        }
    }
}
