//! Where a request goes once it is known to be one: refused, to the own app, or to a service.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use http::header::HeaderValue;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use tracing::warn;

use crate::answer;
use crate::body::{Inbound, Outgoing};
use crate::client::{Client, ClientFinder};
use crate::crowd::Slot;
use crate::door::Inner;
use crate::front::Unfit;
use crate::host::Place;
use crate::hygiene;
use crate::redirect;
use crate::relay;
use crate::target::{self, Confusing};
use crate::turned::For;
use crate::wire::Line;

/// Who asks: whoever is connected, or whoever a proxy in front speaks for.
#[derive(Debug)]
pub(crate) struct Caller {
    /// The connection.
    pub(crate) line: Arc<Line>,
    pub(crate) client: Client,
    finder: ClientFinder,
    /// Behind a proxy, the place of this one request; otherwise the line has one.
    pub(crate) seat: Option<Arc<Slot>>,
}

/// Answers one request of a connection.
pub(crate) async fn receive(
    door: Arc<Inner>,
    line: Arc<Line>,
    request: Request<Incoming>,
) -> Result<Response<Outgoing>, Infallible> {
    let in_flight = line.begin();
    let (response, seat) = match called(&door, &line, &request) {
        Ok(caller) => (direct(&door, &caller, request).await, caller.seat),
        Err(answer) => (*answer, None),
    };
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        line.activity.upgrade();
    }
    Ok(response.map(|body| body.until_gone(in_flight.seated(seat))))
}

/// Boxed: answers are large, and this one is rare.
fn called(
    door: &Inner,
    line: &Arc<Line>,
    request: &Request<Incoming>,
) -> Result<Caller, Box<Response<Outgoing>>> {
    let Some(front) = &door.front else {
        let finder = line.finder.clone();
        return Ok(Caller { line: line.clone(), client: line.client, finder, seat: None });
    };
    let said = front.client(&line.client, request.headers());
    let client = said.map_err(|unfit| unfit_for(door, unfit, line.client.address.ip(), request))?;
    match door.seat(client.address.ip()) {
        Ok(seat) => {
            let finder = ClientFinder::of(client);
            Ok(Caller { line: line.clone(), client, finder, seat: Some(seat) })
        }
        Err(_) => {
            door.tally.turn_away(For::NeighbourhoodFull, client.address.ip());
            Err(Box::new(answer::plain(StatusCode::SERVICE_UNAVAILABLE)))
        }
    }
}

fn unfit_for(
    door: &Inner,
    unfit: Unfit,
    proxy: IpAddr,
    request: &Request<Incoming>,
) -> Box<Response<Outgoing>> {
    Box::new(match unfit {
        Unfit::Plain => redirect::encrypted(door, proxy, request),
        Unfit::Unsaid => {
            // Once: it is the proxy's settings, and every request has it.
            if door.tally.refused_plain.get() == 0 {
                warn!(
                    "the proxy in front does not say how requests came: it has to send `X-Forwarded-Proto`"
                );
            }
            door.tally.turn_away(For::Plain, proxy);
            answer::plain(StatusCode::BAD_REQUEST)
        }
    })
}

async fn direct(door: &Arc<Inner>, caller: &Caller, mut request: Request<Incoming>) -> Response<Outgoing> {
    let Ok(host) = aim(&request) else {
        door.tally.turn_away(For::Confusing, caller.client.address.ip());
        return answer::plain(StatusCode::BAD_REQUEST);
    };
    let place = host.to_str().ok().and_then(|host| door.hosts.place(host));
    request.extensions_mut().insert(caller.client);
    let mut response = match place {
        Some(Place::Own) => own(door, caller, request).await,
        Some(Place::Service(n)) if let Some(berth) = door.berths.get(n) => {
            relay::relay(door, caller, berth, request, host).await
        }
        _ => {
            door.tally.turn_away(For::UnknownHost, caller.client.address.ip());
            return answer::plain(StatusCode::MISDIRECTED_REQUEST);
        }
    };
    if door.front.is_some() {
        hygiene::toward_proxy(response.headers_mut());
    }
    response
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

async fn own(door: &Inner, caller: &Caller, mut request: Request<Incoming>) -> Response<Outgoing> {
    door.tally.own.up();
    hygiene::toward_own(request.headers_mut());
    request.extensions_mut().insert(caller.finder.clone());
    let idle = door.limits.body_idle_timeout;
    let activity = &caller.line.activity;
    door.own.answer(request.map(|body| Inbound::for_own(body, idle, activity))).await
}
