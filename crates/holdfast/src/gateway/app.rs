//! Every route, and who may take it.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get, post};
use holdfast_door::{Client, ClientFinder, ClientHost};
use holdfast_gateway::{Caller, GateState, Locator, Place, Signed, guard, router};
use holdfast_types::Problem;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use http::{HeaderValue, StatusCode};

use super::shares::{Patience, Seat, Shares};
use super::views::Views;
use super::{acts, calls, events, live, services, shown, zipped};
use crate::problem::{Failure, Result};

/// The threads that may block which the gateway needs at most.
pub(crate) const THREADS: usize =
    super::shares::SEATS + holdfast_gateway::GATE_THREADS + holdfast_door::OWNER_THREADS;

/// What every route has at hand.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) views: Arc<Views>,
    pub(crate) gate: GateState,
    pub(crate) services: Arc<services::Services>,
    /// Whether there is an authority of our own that phones have to be told of.
    pub(crate) authority: Option<Arc<holdfast_door::Keeper>>,
    pub(super) shares: Arc<Shares>,
    pub(crate) live: live::Hub,
}

impl App {
    pub(crate) fn new(
        views: Arc<Views>,
        gate: GateState,
        services: Arc<services::Services>,
        authority: Option<Arc<holdfast_door::Keeper>>,
    ) -> Result<App> {
        let live = live::Hub::new(views.office.clone())?;
        Ok(App { views, gate, services, authority, shares: Arc::default(), live })
    }

    /// Looks at something, elsewhere, since it blocks, for somebody who has a share of it. Dropped, it finishes there all the same.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        who: &Signed,
        job: impl FnOnce(&Views) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.look_as(who, Patience::Bounded, job).await
    }

    /// The same for an open page, which waits for its turn however many there are.
    pub(crate) async fn look_on<T: Send + 'static>(
        &self,
        who: &Signed,
        job: impl FnOnce(&Views) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.look_as(who, Patience::Open, job).await
    }

    async fn look_as<T: Send + 'static>(
        &self,
        who: &Signed,
        patience: Patience,
        job: impl FnOnce(&Views) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let seat = self.shares.look(who.into(), patience).await.map_err(|e| e.problem())?;
        self.seated(seat, job).await
    }

    /// The same for what a person does that is done soon.
    pub(crate) async fn act<T: Send + 'static>(
        &self,
        who: &Signed,
        job: impl FnOnce(&Views) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let seat = self.shares.act(who.into()).await.map_err(|e| e.problem())?;
        self.seated(seat, job).await
    }

    async fn seated<T: Send + 'static>(
        &self,
        seat: Seat,
        job: impl FnOnce(&Views) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let interrupted = || crate::problem::CliError::Interrupted { what: "the request" };
        let views = self.views.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _seat = seat;
            job(&views)
        });
        done.await.unwrap_or_else(|_| Err(interrupted().into()))
    }
}

/// The whole of the gateway's own origin.
pub(crate) fn routes(app: &App) -> Router {
    let gate = &app.gate;
    let public = Router::new()
        .route("/login", get(shown::login))
        .route("/register", get(shown::register))
        .route("/recovery", get(shown::recovery))
        .route("/authority", get(shown::authority))
        .route("/authority/{file}", get(shown::authority_file))
        .route("/assets/{file}", get(shown::asset))
        .with_state(app.clone());
    let pages = Router::new()
        .route("/", get(shown::overview))
        .route("/hosts", get(shown::hosts))
        .route("/hosts/{host}", get(shown::host))
        .route("/hosts/{host}/{order}", post(acts::order))
        .route("/episodes/{id}", get(shown::episode))
        .route("/inbox", get(shown::inbox))
        .route("/inbox/{id}", get(shown::ask))
        .route("/memory", get(shown::memory))
        .route("/memory/{agent}/{id}", get(shown::memory_entry))
        .route("/memory/{agent}/{id}/forget", post(acts::forget))
        .route("/audit", get(shown::audit))
        .route("/audit/checkpoint", get(shown::checkpoint))
        .route("/audit/verify", post(acts::verify))
        .route("/audit/{seq}", get(shown::audit_entry))
        .route("/audit/{seq}/proof.json", get(shown::proof))
        .route("/settings", get(shown::settings_you))
        .route("/settings/people", get(shown::settings_people))
        .route("/settings/tokens", get(shown::settings_tokens))
        .route("/settings/notices", get(shown::settings_notices))
        .route("/settings/house", get(shown::settings_house))
        .route("/settings/notice/test", post(acts::test_notices))
        .route("/pause", get(shown::pause).post(acts::pause))
        .route("/resume", get(shown::resume).post(acts::resume))
        .route("/open/{service}", get(services::open))
        .fallback(any(shown::nothing))
        .with_state(app.clone());
    let streams = Router::new()
        .route("/live", get(live::stream))
        .route("/api/v1/events", get(events::stream))
        .with_state(app.clone());
    let api = Router::new().route("/api/{*rest}", any(calls::call)).with_state(app.clone());
    Router::new()
        .merge(guard(public, gate, Place::Public))
        .merge(guard(streams, gate, Place::Stream))
        .merge(guard(api, gate, Place::Api))
        .merge(router(gate))
        .fallback_service(guard(pages, gate, Place::Page))
        .layer(from_fn(zipped::zipped))
        .layer(from_fn(named))
}

/// Tells the guard who is calling, as the door knows it.
async fn named(mut request: Request, next: Next) -> Response {
    let extensions = request.extensions_mut();
    if let Some(client) = extensions.get::<Client>().copied() {
        let caller = Caller::at(client.address.ip());
        extensions.insert(caller);
        if let Some(finder) = extensions.get::<ClientFinder>().cloned() {
            extensions.insert(Locator::new(move || located(finder.clone(), caller)));
        }
    }
    next.run(request).await
}

/// All addresses of this machine are one place for each of its users.
async fn located(finder: ClientFinder, caller: Caller) -> Caller {
    match finder.find().await {
        ClientHost::Here { uid } => Caller::here(uid),
        ClientHost::Elsewhere => caller,
    }
}

/// A page of ours.
pub(crate) fn page(html: String) -> Response {
    let mut answer = Response::new(Body::from(html));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// Go there, with GET.
pub(crate) fn see_other(to: &str) -> Response {
    let mut answer = StatusCode::SEE_OTHER.into_response();
    let to = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/"));
    answer.headers_mut().insert(LOCATION, to);
    answer
}

/// A file to be kept.
pub(crate) fn download(kind: &'static str, name: &str, bytes: Vec<u8>) -> Response {
    let mut answer = Response::new(Body::from(bytes));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(disposition) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        headers.insert(http::header::CONTENT_DISPOSITION, disposition);
    }
    answer
}

/// What went wrong, as a problem.
pub(crate) fn problem_of(failure: Failure) -> Problem {
    match failure {
        Failure::Problem(problem) => *problem,
        // Nobody's output is written here.
        Failure::ReaderLeft => crate::problem::CliError::Interrupted { what: "the request" }.problem(),
    }
}
