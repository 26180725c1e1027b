//! What is pushed to an open page: the pieces of it that have changed.
//!
//! Whoever has a page open is told when the house may have changed: by the journal, and every second while something is on trial. The
//! page is then looked at again, and what differs from what that browser has is sent. All viewers of one page with one role share the look.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use holdfast_gateway::Signed;
use holdfast_pages::{self as pages, AuditFilter, Fragment, Frame, Place};
use holdfast_types::ApprovalId;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use serde_json::json;
use tokio::sync::{Semaphore, watch};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;

use super::app::App;
use super::views::{Views, stepped};
use crate::office::Office;
use crate::problem::Result;

/// How often a page is looked at again at most.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A line that says nothing keeps the way open through whatever stands between.
const BREATH: Duration = Duration::from_secs(15);
/// Open pages at once: more than any house has people, and few enough to bound what they hold.
const VIEWERS_MAX: usize = 10_000;
/// Looks that are kept for others who want the same.
const LOOKS_MAX: usize = 256;
/// Pieces a browser has not taken yet. One that falls behind is cut off, and comes again by itself.
const WAITING_MAX: usize = 8;

/// Tells open pages that something may have changed.
#[derive(Clone, Debug)]
pub(crate) struct Hub {
    size: Arc<dyn SizeOf>,
    changed: watch::Sender<u64>,
    seats: Arc<Semaphore>,
    looks: Looks,
    /// Stands in a shared look where everybody's own anti-forgery word belongs. Random, so that no text of anybody's can hold it.
    blank: Arc<str>,
    closing: CancellationToken,
}

/// By path and role.
type Looks = Arc<Mutex<HashMap<(String, &'static str), Look>>>;

trait SizeOf: Send + Sync + std::fmt::Debug {
    fn size(&self) -> u64;
}

impl SizeOf for Office {
    fn size(&self) -> u64 {
        self.journal.size()
    }
}

/// A page as it was seen at a moment.
#[derive(Clone, Debug)]
struct Look {
    at: Instant,
    pieces: Arc<Vec<Fragment>>,
}

impl Hub {
    pub(crate) fn new(office: Arc<Office>) -> Result<Hub> {
        let changed = watch::Sender::new(office.journal.size());
        let seats = Arc::new(Semaphore::new(VIEWERS_MAX));
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|_| holdfast_gateway::Error::NoRandomness.problem())?;
        let blank = BASE64URL.encode(bytes).into();
        Ok(Hub {
            size: office,
            changed,
            seats,
            looks: Arc::default(),
            blank,
            closing: CancellationToken::new(),
        })
    }

    /// Looks whether the journal grew, for as long as somebody may want to know. Then tells open streams that they end: whoever drains
    /// the door would wait for them in vain.
    pub(crate) async fn watch(&self, stop: &CancellationToken) {
        loop {
            let size = self.size.size();
            self.changed.send_if_modified(|seen| std::mem::replace(seen, size) != size);
            tokio::select! {
                // Both only wait.
                () = stop.cancelled() => break,
                () = tokio::time::sleep(LOOK_EVERY / 4) => {}
            }
        }
        self.closing.cancel();
        std::future::pending::<()>().await;
    }

    /// Comes back when streams are to end.
    pub(super) async fn closing(&self) {
        self.closing.cancelled().await;
    }
}

impl Hub {
    /// A place for one more viewer, while there is one.
    pub(super) fn seat(&self) -> Option<tokio::sync::OwnedSemaphorePermit> {
        self.seats.clone().try_acquire_owned().ok()
    }

    /// How many entries the journal has, as it grows.
    pub(super) fn grown(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}

/// Which page it is, by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Page {
    Overview,
    Hosts,
    Host(String),
    Episode(String),
    Inbox,
    Ask(ApprovalId),
    Audit,
}

impl Page {
    fn of(path: &str) -> Option<Page> {
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        Some(match parts.as_slice() {
            [""] => Page::Overview,
            ["hosts"] => Page::Hosts,
            ["hosts", name] => Page::Host((*name).to_owned()),
            ["episodes", id] => Page::Episode((*id).to_owned()),
            ["inbox"] => Page::Inbox,
            ["inbox", id] => Page::Ask(id.parse().ok()?),
            ["audit"] => Page::Audit,
            _ => return None,
        })
    }

    fn place(&self) -> Place {
        match self {
            Page::Overview => Place::Overview,
            Page::Hosts | Page::Host(_) | Page::Episode(_) => Place::Hosts,
            Page::Inbox | Page::Ask(_) => Place::Inbox,
            Page::Audit => Place::Audit,
        }
    }

    /// As everybody of that role sees them, with `blank` for the anti-forgery word.
    fn pieces(&self, views: &Views, who: &Signed, path: &str, blank: &str) -> Result<Vec<Fragment>> {
        let frame = views.frame(who, self.place(), Some(path.to_owned()), None)?;
        let frame = Frame { csrf: blank.to_owned(), now: stepped(frame.now), ..frame };
        let none = Vec::new;
        Ok(match self {
            Page::Overview => pages::overview_fragments(&frame, &views.overview()?),
            Page::Hosts => pages::hosts_fragments(&frame, &views.hosts()),
            Page::Host(name) => {
                views.host(name)?.map_or_else(none, |host| pages::host_fragments(&frame, &host))
            }
            Page::Episode(id) => {
                views.episode(id)?.map_or_else(none, |episode| pages::episode_fragments(&frame, &episode))
            }
            Page::Inbox => pages::inbox_fragments(&frame, &views.inbox()?),
            Page::Ask(id) => pages::ask_fragments(&frame, &views.ask(*id)?),
            Page::Audit => pages::audit_fragments(&frame, &views.audit(AuditFilter::default(), None)?),
        })
    }
}

/// `/live?page=…`: events `fragment` with what changed, and `gone` when the session is over.
pub(super) async fn stream(
    State(app): State<App>,
    Extension(who): Extension<Signed>,
    Query(asked): Query<HashMap<String, String>>,
) -> Response {
    let path = asked.get("page").cloned().unwrap_or_default();
    let Some(page) = Page::of(&path) else { return plain(StatusCode::NOT_FOUND) };
    let Some(seat) = app.live.seat().zip(app.shares.stream((&who).into())) else {
        return plain(StatusCode::SERVICE_UNAVAILABLE);
    };
    let (sender, receiver) = tokio::sync::mpsc::channel::<Result<Bytes, Infallible>>(WAITING_MAX);
    tokio::spawn(async move {
        let _seat = seat;
        let mut over = app.gate.watch(&who);
        let telling = tell(&app, &who, &page, &path, &sender);
        tokio::select! {
            // What was not sent yet is of a page that nobody may see any more.
            ended = over.over() => {
                let _ = ended;
                let _ = sender.try_send(Ok(Bytes::from_static(b"event: gone\ndata: {}\n\n")));
            }
            // The browser left, or has to come again to another daemon: nothing is owed to it.
            () = sender.closed() => {}
            () = app.live.closing() => {}
            () = telling => {}
        }
    });
    let mut answer = Response::new(Body::from_stream(ReceiverStream::new(receiver)));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

fn plain(status: StatusCode) -> Response {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = status;
    answer
}

/// Sends what changed, again and again. Ends when the browser does not keep up.
async fn tell(
    app: &App,
    who: &Signed,
    page: &Page,
    path: &str,
    sender: &tokio::sync::mpsc::Sender<Result<Bytes, Infallible>>,
) {
    let mut changed = app.live.grown();
    // What this browser has, once it was greeted. Shared with all who saw the same: a copy each would be much of what a viewer costs.
    let mut had: Option<Arc<Vec<Fragment>>> = None;
    let mut spoke = Instant::now();
    let word = app.gate.accounts().page_word(who);
    loop {
        let (began, greeted) = (Instant::now(), had.is_some());
        if let Ok(pieces) = seen(app, who, page, path).await {
            // The page came with what it is; only what is different from that is news.
            for piece in had.iter().flat_map(|had| news(had, &pieces)) {
                if sender.try_send(Ok(event(piece, &app.live.blank, &word))).is_err() {
                    return;
                }
                spoke = Instant::now();
            }
            had = Some(pieces);
        }
        if !greeted
            && sender.try_send(Ok(Bytes::from_static(b"retry: 2000\nevent: hello\ndata: {}\n\n"))).is_err()
        {
            return;
        }
        // What could not be looked at yet is news when it can.
        had.get_or_insert_default();
        tokio::time::sleep(LOOK_EVERY.saturating_sub(began.elapsed())).await;
        tokio::select! {
            // Both only wait; a change that came stays seen until it is taken.
            _ = changed.changed() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        if spoke.elapsed() > BREATH {
            if sender.try_send(Ok(Bytes::from_static(b":\n\n"))).is_err() {
                return;
            }
            spoke = Instant::now();
        }
    }
}

/// The pieces of a page that are not as they were.
fn news<'a>(had: &'a Arc<Vec<Fragment>>, now: &'a Arc<Vec<Fragment>>) -> impl Iterator<Item = &'a Fragment> {
    let is_same = Arc::ptr_eq(had, now);
    let as_it_was = |piece: &Fragment| had.iter().any(|one| one.id == piece.id && one.html == piece.html);
    now.iter().filter(move |piece| !is_same && !as_it_was(piece))
}

/// The page as it is; a look of a moment ago serves all who want the same.
async fn seen(app: &App, who: &Signed, page: &Page, path: &str) -> Result<Arc<Vec<Fragment>>> {
    let role = super::views::role(who.role);
    let key = (path.to_owned(), role.word());
    if let Some(pieces) = known(&app.live.looks, &key) {
        return Ok(pieces);
    }
    let (page, signed, hub) = (page.clone(), who.clone(), app.live.clone());
    app.look_on(who, move |views| {
        // Of a thousand who wanted it at once, most find that it was looked at while they waited.
        if let Some(pieces) = known(&hub.looks, &key) {
            return Ok(pieces);
        }
        let pieces = Arc::new(page.pieces(views, &signed, &key.0, &hub.blank)?);
        keep(&hub.looks, key, &pieces);
        Ok(pieces)
    })
    .await
}

fn known(looks: &Looks, key: &(String, &'static str)) -> Option<Arc<Vec<Fragment>>> {
    let looks = looks.lock().unwrap_or_else(PoisonError::into_inner);
    looks.get(key).filter(|look| look.at.elapsed() < LOOK_EVERY).map(|look| look.pieces.clone())
}

fn keep(looks: &Looks, key: (String, &'static str), pieces: &Arc<Vec<Fragment>>) {
    let mut looks = looks.lock().unwrap_or_else(PoisonError::into_inner);
    if looks.len() >= LOOKS_MAX {
        looks.retain(|_, look| look.at.elapsed() < LOOK_EVERY);
    }
    if looks.len() < LOOKS_MAX {
        looks.insert(key, Look { at: Instant::now(), pieces: pieces.clone() });
    }
}

/// A piece as this viewer has it: the forms in it are theirs.
fn event(piece: &Fragment, blank: &str, word: &str) -> Bytes {
    let data = json!({"id": piece.id, "html": piece.html.replace(blank, word)});
    Bytes::from(format!("event: fragment\ndata: {data}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_as_it_was_is_news() {
        let pieces = |all: &[(&'static str, &str)]| {
            let piece = |(id, html): &(&'static str, &str)| Fragment { id, html: (*html).to_owned() };
            Arc::new(all.iter().map(piece).collect::<Vec<_>>())
        };
        let had = pieces(&[("needs", "none"), ("trials", "one")]);
        let check = |now: &Arc<Vec<Fragment>>, expected: &[&str]| {
            assert_eq!(news(&had, now).map(|piece| piece.id).collect::<Vec<_>>(), expected);
        };
        check(&had, &[]);
        check(&pieces(&[("needs", "none"), ("trials", "one")]), &[]);
        check(&pieces(&[("needs", "some"), ("trials", "one"), ("lately", "much")]), &["needs", "lately"]);
    }

    #[test]
    fn only_pages_that_are_kept_live_are_followed() {
        for (path, page) in [
            ("/", Some(Page::Overview)),
            ("/hosts", Some(Page::Hosts)),
            ("/hosts/box-1", Some(Page::Host("box-1".into()))),
            ("/episodes/ep_1", Some(Page::Episode("ep_1".into()))),
            ("/audit", Some(Page::Audit)),
            ("", None),
            ("/settings", None),
            ("/hosts/a/b", None),
            ("/inbox/nonsense", None),
            ("https://evil.example/", None),
        ] {
            assert_eq!(Page::of(path), page, "{path}");
        }
    }
}
