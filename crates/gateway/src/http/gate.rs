//! What all requests share: the accounts, the ports, the limits.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::response::Response;
use holdfast_types::{Clock, Problem};
use http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::accounts::{Accounts, Acting, WATCHERS_MAX, Watch};
use crate::client::{Caller, Locator};
use crate::error::{Error, Result};
use crate::event::{Event, Why};
use crate::guard::Place;
use crate::id::DeviceId;
use crate::limit::{Buckets, Kind, Whose};
use crate::port::Ports;
use crate::proof::Act;
use crate::role::Role;
use crate::settings::Site;
use crate::shown::{Shelf, Shown};
use crate::signed::Signed;

/// Threads that may be in the database at once. Most are waiting for the disk; the rest of the requests wait here.
const WORKERS_MAX: usize = 32;

/// The same for changes of accounts, beside those, and as many for coming in: they wait for one another anyway.
const ACTORS_MAX: usize = 8;

/// The threads that may block which all gates of a process need at most.
pub const GATE_THREADS: usize = WORKERS_MAX + 2 * ACTORS_MAX + WATCHERS_MAX;

/// How somebody is answered: with JSON, or with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    Json,
    Page,
}

/// The gate of one site.
#[derive(Debug)]
pub struct Gate {
    accounts: Arc<Accounts>,
    ports: Ports,
    clock: Arc<dyn Clock>,
    limits: Mutex<Buckets>,
    pub(super) shelf: Shelf,
    workers: Arc<Semaphore>,
    actors: Arc<Semaphore>,
    entrants: Arc<Semaphore>,
}

pub type GateState = Arc<Gate>;

impl Gate {
    /// With the clock the accounts were opened with.
    pub fn new(accounts: Arc<Accounts>, ports: Ports, clock: Arc<dyn Clock>) -> GateState {
        Arc::new(Gate {
            accounts,
            ports,
            clock,
            limits: Mutex::default(),
            shelf: Shelf::default(),
            workers: Arc::new(Semaphore::new(WORKERS_MAX)),
            actors: Arc::new(Semaphore::new(ACTORS_MAX)),
            entrants: Arc::new(Semaphore::new(ACTORS_MAX)),
        })
    }

    pub fn accounts(&self) -> &Arc<Accounts> {
        &self.accounts
    }

    pub fn site(&self) -> &Site {
        self.accounts.site()
    }

    /// What the next page of this session has to show, once.
    pub fn shown(&self, who: &Signed) -> Option<Shown> {
        self.shelf.take(who.session()?, self.clock.monotonic())
    }

    /// For a stream: ends when its session does.
    pub fn watch(&self, who: &Signed) -> Watch {
        Watch::new(self.accounts.clone(), who)
    }

    /// Who holds this session cookie.
    pub async fn who(&self, cookie: &str) -> Result<Option<Signed>> {
        if let Some(known) = self.accounts.signed_if_known(cookie) {
            return Ok(Some(known));
        }
        let cookie = cookie.to_owned();
        self.work(move |accounts| accounts.signed(&cookie)).await
    }

    /// Passes who has the role, and records who has not.
    pub fn require(&self, who: &Signed, least: Role, from: Caller) -> Result<()> {
        who.at_least(least).inspect_err(|e| self.record(e, Some(who), from.address))
    }

    /// Records a refusal and answers with it, as pages or the API do.
    pub fn refuse(&self, e: &Error, place: Place, who: Option<&Signed>, from: Caller) -> Response {
        self.record(e, who, from.address);
        let manner = match place {
            Place::Public | Place::Page => Manner::Page,
            Place::Api | Place::Stream => Manner::Json,
        };
        self.refusal(e, manner, who)
    }

    /// Does blocking work elsewhere. Dropped, it finishes there all the same.
    pub async fn work<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Accounts) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let accounts = self.accounts.clone();
        seated(&self.workers, move || job(&accounts)).await
    }

    /// The same for what changes an account. It has threads of its own: whoever only looks never keeps anybody from acting.
    pub(super) async fn act<T: Send + 'static>(
        &self,
        from: IpAddr,
        job: impl FnOnce(&Acting) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let acting = Acting::new(self.accounts.clone(), self.ports.recorder.clone(), from);
        seated(&self.actors, move || job(&acting)).await
    }

    /// The same for whoever is not known yet: coming in has seats of its own, which strangers can take and those who are in cannot miss.
    pub(super) async fn enter<T: Send + 'static>(
        &self,
        from: IpAddr,
        job: impl FnOnce(&Acting) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let acting = Acting::new(self.accounts.clone(), self.ports.recorder.clone(), from);
        seated(&self.entrants, move || job(&acting)).await
    }

    pub(super) fn ports(&self) -> &Ports {
        &self.ports
    }

    pub(super) fn note(&self, event: Event) {
        self.ports.recorder.note(event);
    }

    /// Passes an act that came with a passkey used for it, and records that. With which one is given back.
    pub async fn prove(
        &self,
        who: &Signed,
        proof: Option<&str>,
        act: &Act,
        from: Caller,
    ) -> Result<DeviceId> {
        who.session().ok_or(Error::TokenNotHere)?;
        let (signed, wanted) = (who.clone(), act.clone());
        let proof = proof.ok_or(Error::NotFresh)?.to_owned();
        self.act(from.address, move |accounts| accounts.prove_at_once(&signed, &proof, &wanted)).await
    }

    /// Charges the place where the caller is. Only here it is looked up which user of this machine that is: strangers cannot make it happen without being
    /// counted, and whoever is known never waits for it.
    pub(super) async fn limit(&self, kind: Kind, from: Caller, locator: Option<&Locator>) -> Result<()> {
        let caller = match locator {
            Some(locator) => locator.find().await,
            None => from,
        };
        self.limit_for(kind, Whose::Caller(caller))
    }

    pub(super) fn limit_for(&self, kind: Kind, whose: Whose) -> Result<()> {
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        limits
            .take_for(kind, whose, self.clock.monotonic())
            .map_err(|again_in| Error::TooManyTries { again_in })
    }

    pub(super) fn put_on_shelf(&self, who: &Signed, shown: Shown) {
        if let Some(session) = who.session() {
            self.shelf.put(session, shown, self.clock.monotonic());
        }
    }

    /// Writes a refusal down. What is only a mistake is not one.
    pub fn record(&self, e: &Error, who: Option<&Signed>, from: IpAddr) {
        if let Error::CounterWentBack = e {
            self.note(Event::CopySuspected { from });
        } else if let Some(why) = why(e) {
            self.note(Event::Refused { why, person: who.map(|who| who.person), from });
        }
    }

    /// The answer to somebody who is refused.
    pub(super) fn refusal(&self, e: &Error, manner: Manner, who: Option<&Signed>) -> Response {
        if let Error::Store(_) | Error::NotRecorded { .. } | Error::Interrupted | Error::NoRandomness = e {
            tracing::error!(error = %holdfast_types::with_causes(e), "a request could not be answered");
        }
        let problem = told(e);
        let mut answer = match manner {
            Manner::Json => json_answer(
                e.status(),
                &json!({ "error": {
                    "code": problem.code.to_string(),
                    "message": problem.what,
                    "untouched": problem.untouched,
                    "hint": problem.hint,
                }}),
            ),
            Manner::Page => page_answer(e.status(), self.ports.faces.problem(&problem, who)),
        };
        let headers = answer.headers_mut();
        if let Some(secs) = e.retry_after() {
            headers.insert(RETRY_AFTER, HeaderValue::from(secs));
        }
        if e.status() == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"holdfast\""));
        }
        answer
    }
}

async fn seated<T: Send + 'static>(
    seats: &Arc<Semaphore>,
    job: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let seat = seats.clone().acquire_owned().await.map_err(|_| Error::Interrupted)?;
    let done = tokio::task::spawn_blocking(move || {
        let _seat = seat;
        job()
    });
    done.await.unwrap_or(Err(Error::Interrupted))
}

/// What an outsider is told: of a failure inside, its code and nothing of paths or tables.
fn told(e: &Error) -> Problem {
    let problem = e.problem();
    match e {
        Error::Store(_) => Problem { what: "the accounts could not be read or written".into(), ..problem },
        _ => problem,
    }
}

fn why(e: &Error) -> Option<Why> {
    Some(match e {
        Error::WrongHost => Why::Host,
        Error::WrongOrigin => Why::Origin,
        Error::WrongCsrf => Why::Csrf,
        Error::LinkUnknown | Error::LinkExpired | Error::LinkUsed | Error::OwnerExists => Why::Link,
        Error::CeremonyGone => Why::Ceremony,
        Error::CredentialRefused | Error::NotDiscoverable | Error::AlreadyRegistered => Why::Passkey,
        Error::CodeRefused => Why::Code,
        Error::TokenRefused => Why::Token,
        Error::TokenNotHere => Why::TokenNotHere,
        Error::NotAllowed { .. } | Error::LastOwner => Why::Role,
        Error::NotFresh => Why::NotFresh,
        Error::Altered => Why::Altered,
        Error::TooManyTries { .. } | Error::Busy => Why::Limit,
        Error::TooLong => Why::TooLong,
        Error::TicketRefused => Why::Ticket,
        _ => return None,
    })
}

pub(super) fn json_answer(status: StatusCode, body: &serde_json::Value) -> Response {
    with_type(status, "application/json", Body::from(body.to_string()))
}

fn page_answer(status: StatusCode, html: String) -> Response {
    with_type(status, "text/html; charset=utf-8", Body::from(html))
}

fn with_type(status: StatusCode, kind: &'static str, body: Body) -> Response {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

/// Go there, with GET.
pub(super) fn see_other(to: &str) -> Response {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = StatusCode::SEE_OTHER;
    let to = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/"));
    answer.headers_mut().insert(LOCATION, to);
    answer
}
