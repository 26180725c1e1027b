//! Where a request goes once it is known to be one: refused, to the own app, or to a service.

use std::convert::Infallible;
use std::sync::Arc;

use http::header::HeaderValue;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;

use crate::answer;
use crate::body::{Inbound, Outgoing};
use crate::door::Inner;
use crate::host::Place;
use crate::hygiene;
use crate::relay;
use crate::target::{self, Confusing};
use crate::wire::Line;

/// Answers one request of a connection.
pub(crate) async fn receive(
    door: Arc<Inner>,
    line: Arc<Line>,
    request: Request<Incoming>,
) -> Result<Response<Outgoing>, Infallible> {
    let in_flight = line.begin();
    let response = direct(&door, &line, request).await;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        line.upgrade();
    }
    Ok(response.map(|body| body.until_gone(in_flight)))
}

async fn direct(door: &Arc<Inner>, line: &Arc<Line>, mut request: Request<Incoming>) -> Response<Outgoing> {
    let Ok(host) = aim(&request) else {
        door.tally.confusing.up();
        return answer::plain(StatusCode::BAD_REQUEST);
    };
    let place = host.to_str().ok().and_then(|host| door.hosts.place(host));
    request.extensions_mut().insert(line.client);
    match place {
        Some(Place::Own) => own(door, request).await,
        Some(Place::Service(n)) if let Some(berth) = door.berths.get(n) => {
            relay::relay(door, line, berth, request, host).await
        }
        _ => {
            door.tally.unknown_host.up();
            answer::plain(StatusCode::MISDIRECTED_REQUEST)
        }
    }
}

/// The host a request is for, if the request can mean one thing only.
fn aim(request: &Request<Incoming>) -> Result<HeaderValue, Confusing> {
    if !target::method_is_served(request.method()) {
        return Err(Confusing);
    }
    target::check_path(request.uri().path())?;
    let authority = target::authority(request.uri(), request.headers(), request.version())?;
    match request.headers().get(http::header::HOST) {
        Some(host) => Ok(host.clone()),
        None => HeaderValue::from_str(authority).map_err(|_| Confusing),
    }
}

async fn own(door: &Inner, mut request: Request<Incoming>) -> Response<Outgoing> {
    door.tally.own.up();
    hygiene::toward_own(request.headers_mut());
    let idle = door.limits.body_idle_timeout;
    door.own.answer(request.map(|body| Inbound::for_own(body, idle))).await
}
