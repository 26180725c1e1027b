//! `/api/v1/events`: entries of the journal as they come, from any place on.

use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use holdfast_api::{self as api, ApiError, Ask, EventsAsk, Reply};
use holdfast_gateway::Signed;
use holdfast_journal::Error as JournalError;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use tokio::sync::mpsc::Sender;
use tokio_stream::wrappers::ReceiverStream;

use super::app::App;
use super::calls::{replied, role, scope};
use super::names::actor_of;
use super::views::Views;
use crate::problem::Result;

/// Events a client has not taken yet. One that falls behind is waited for: it says where it was when it comes back.
const WAITING_MAX: usize = 64;
/// How long nothing is said before a line that says nothing is sent.
const QUIET: Duration = Duration::from_secs(10);
/// Entries that are read in one go.
const BATCH: usize = 200;

type Told = std::result::Result<Bytes, Infallible>;

pub(super) async fn stream(
    State(app): State<App>,
    Extension(who): Extension<Signed>,
    request: Request,
) -> Response {
    let asked = match asked(&who, &request) {
        Ok(asked) => asked,
        Err(reply) => return replied(&reply),
    };
    let Some(seat) = app.live.seat().zip(app.shares.stream((&who).into())) else {
        let mut answer = Response::new(Body::empty());
        *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        return answer;
    };
    let (sender, receiver) = tokio::sync::mpsc::channel::<Told>(WAITING_MAX);
    tokio::spawn(async move {
        let _seat = seat;
        let mut over = app.gate.watch(&who);
        tokio::select! {
            // What was not sent yet is asked for again by whoever may still see it.
            _ = over.over() => {}
            () = sender.closed() => {}
            () = app.live.closing() => {}
            () = tell(&app, &who, asked, &sender) => {}
        }
    });
    let mut answer = Response::new(Body::from_stream(ReceiverStream::new(receiver)));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// What is asked for, when whoever asks may.
fn asked(who: &Signed, request: &Request) -> Result<EventsAsk, Reply> {
    let refused = |e: ApiError| Reply::from(&e);
    let found = api::find(request.method(), request.uri().path()).map_err(refused)?;
    if !found.route.allows(role(who.role), scope(who)) {
        let problem = holdfast_gateway::Error::NotAllowed { least: holdfast_gateway::Role::Viewer }.problem();
        return Err(Reply { status: 403, ..Reply::from(&problem) });
    }
    let call = found.call(request.uri().query().unwrap_or_default(), None, &[]).map_err(refused)?;
    let Ask::Events(asked) = call.ask(&actor_of(who)).map_err(refused)? else {
        return Err(refused(ApiError::Unexpected));
    };
    let seen = request.headers().get(api::LAST_EVENT_ID).and_then(|value| value.to_str().ok());
    asked.resumed(seen).map_err(refused)
}

/// Sends what comes until nobody takes it.
async fn tell(app: &App, who: &Signed, asked: EventsAsk, sender: &Sender<Told>) {
    let mut grown = app.live.grown();
    let mut next = match asked.after {
        Some(after) => after.saturating_add(1),
        None => app.views.office.journal.size(),
    };
    if sender.send(Ok(Bytes::from(api::greeting()))).await.is_err() {
        return;
    }
    loop {
        let size = *grown.borrow_and_update();
        while next < size {
            let (asked, from) = (asked.clone(), next);
            let Ok((texts, then)) = app.look_on(who, move |views| batch(views, &asked, from)).await else {
                return;
            };
            for text in texts {
                if sender.send(Ok(Bytes::from(text))).await.is_err() {
                    return;
                }
            }
            next = then;
        }
        tokio::select! {
            // What came stays seen until it is taken.
            changed = grown.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(QUIET) => {
                if sender.send(Ok(Bytes::from_static(api::heartbeat().as_bytes()))).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Some of what comes from a place on, and the place after it.
fn batch(views: &Views, asked: &EventsAsk, from: u64) -> Result<(Vec<String>, u64)> {
    let (mut texts, mut entries) = (Vec::new(), views.office.journal.read(from));
    for _ in 0..BATCH {
        match entries.next_raw() {
            Ok(Some(raw)) => {
                let entry = raw.parse()?;
                if asked.takes(entry.kind.as_str()) {
                    texts.push(api::entry(
                        entry.seq,
                        entry.kind.as_str(),
                        &String::from_utf8_lossy(&raw.line),
                    ));
                }
            }
            Ok(None) => break,
            // They left for an archive that is not here: whoever comes back has to look anew.
            Err(JournalError::Gone { oldest, .. }) if oldest > from => {
                texts.push(api::missed(oldest));
                return Ok((texts, oldest));
            }
            Err(e) => return Err(e.into()),
        }
    }
    Ok((texts, entries.position()))
}
