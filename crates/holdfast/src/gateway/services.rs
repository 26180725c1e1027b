//! Programs of this machine behind the door, each on an origin of its own.
//!
//! A browser never sends the gateway's cookie to another origin. So whoever opens a service without its cookie is sent to the gateway
//! (`/open/NAME`), which knows them, and from there back with a ticket; the ticket becomes a cookie of the service's own origin. On the way there
//! the service's origin sets a random cookie, the knock, and the ticket fits that one alone (`tickets.rs`). The cookie names the session and
//! carries a signature over it and the service: nothing is kept, a restart changes nothing, and it is worth nothing once the session is over. The
//! service sees none of them.
//!
//! Nobody is sent round for ever. A ticket that is not taken leads to the gateway once more, and then to a page that says that this browser keeps
//! no cookies.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse as _, Response};
use holdfast_config::{GatewayService, ServiceAt, ServiceRole};
use holdfast_door::{Admit, Admitting, HostName, IdentityKey, Pass, RunBy, Service, To, Verdict};
use holdfast_gateway::{Caller, Error, GateState, Passing, Role, SessionId, Signed, Watch, local_path};
use holdfast_types::Clock;
use http::header::{ORIGIN, UPGRADE};
use http::request::Parts;
use http::{HeaderName, Method, StatusCode};
use std::collections::HashMap;
use tokio_util::sync::CancellationToken;

use super::app::{App, see_other};
use super::names::{actor_named, path};
use super::tickets::{Brought, Knock, Tickets};
use crate::problem::{Failure, Result};

/// Where a request comes from, as browsers say it.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Where a ticket is taken, on the service's origin.
const ENTER: &str = "/.holdfast/enter";
/// Where somebody who comes from the gateway is given a knock, on the service's origin.
const KNOCK: &str = "/.holdfast/knock";
/// Says, on the way from the gateway and back, that a ticket was not taken the last time.
const AGAIN: &str = "again";
/// How long the disk is not asked again about a session that was just seen. Whoever watches the session hears of its end at once; this bounds
/// what a watcher that is held up can cost.
const SEEN_FOR: Duration = Duration::from_secs(1);

/// What services are recognised by, and where they are.
pub(crate) struct Services {
    root: [u8; 32],
    tickets: Tickets,
    known: Vec<(GatewayService, Role)>,
    /// The gateway's own origin, and the scheme and port that services share with it.
    own: String,
    https: bool,
    port: Option<u16>,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Services {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Services").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

impl Services {
    pub(crate) fn new(
        root: [u8; 32],
        services: &[GatewayService],
        origin: &url::Url,
        clock: Arc<dyn Clock>,
    ) -> Services {
        let role = |service: &GatewayService| match service.role {
            ServiceRole::Viewer => Role::Viewer,
            ServiceRole::Operator => Role::Operator,
            ServiceRole::Owner => Role::Owner,
        };
        let https = origin.scheme() == "https";
        Services {
            root,
            tickets: Tickets::new(root, https, clock.clone()),
            known: services.iter().map(|service| (service.clone(), role(service))).collect(),
            own: origin.origin().ascii_serialization(),
            https,
            port: origin.port(),
            clock,
        }
    }

    /// As the door knows them.
    pub(crate) fn for_the_door(&self) -> Result<Vec<Service>, holdfast_door::Error> {
        let one = |(service, _): &(GatewayService, Role)| {
            let to = match &service.to {
                ServiceAt::Port(address) => To::Tcp(*address),
                ServiceAt::Socket(path) => To::Unix(path.into()),
            };
            let key = IdentityKey::derive(&self.root, &service.name);
            let host: HostName = service.host.as_str().parse()?;
            let declared = service.user.as_deref().and_then(|user| uid_of(user, &service.name));
            let run_by = RunBy::new(rustix::process::geteuid().as_raw(), declared);
            Service::new(&service.name, host, to, run_by, "", key)
        };
        self.known.iter().map(one).collect()
    }

    fn named(&self, name: &str) -> Option<&(GatewayService, Role)> {
        self.known.iter().find(|(service, _)| service.name == name)
    }

    fn origin_of(&self, service: &GatewayService) -> String {
        let scheme = if self.https { "https" } else { "http" };
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("{scheme}://{}{port}", service.host.as_str())
    }

    /// The gateway's page that leads to a service, with these questions.
    fn opening(&self, name: &str, asked: &[(&str, &str)]) -> String {
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(asked).finish();
        format!("{}{}?{query}", self.own, path(&["open", name]))
    }
}

/// The number of the user whose program a service is. One that is not there may come with its package later, after which a restart finds it.
fn uid_of(user: &str, service: &str) -> Option<u32> {
    let uid = crate::owner::uid_of(user);
    if uid.is_none() {
        tracing::warn!(
            service,
            user,
            "the user of a service is not in /etc/passwd: only root's or this daemon's programs may answer for it"
        );
    }
    uid
}

/// `/open/NAME?to=PATH`: sends somebody who is signed in on to a service. With `knock` they come from there and get a ticket for it; without, they
/// are sent to knock first. With `lost` their browser kept no cookie there, which is all that can be said.
pub(super) async fn open(
    State(app): State<App>,
    Extension(who): Extension<Signed>,
    caller: Option<Extension<Caller>>,
    Path(name): Path<String>,
    Query(asked): Query<HashMap<String, String>>,
) -> Response {
    let from = caller.map(|Extension(caller)| caller).unwrap_or_default();
    let Some((service, least)) = app.services.named(&name) else {
        return super::shown::nothing(State(app), Extension(who)).await;
    };
    let lost = || Error::CookieNotKept { host: service.host.as_str().to_owned() };
    let allowed = app.gate.require(&who, *least, from);
    if let Err(e) = allowed.and_then(|()| if asked.contains_key("lost") { Err(lost()) } else { Ok(()) }) {
        let failure: Failure = e.problem().into();
        return super::shown::refused(&app, &who, holdfast_pages::Place::Overview, failure).await;
    }
    let Some(session) = who.session() else { return StatusCode::FORBIDDEN.into_response() };
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("to", asked.get("to").map_or("/", |to| local_path(to)));
    let at = match asked.get("knock").and_then(|knock| Knock::parse(knock)) {
        None => KNOCK,
        Some(knock) => {
            query.append_pair("ticket", &app.services.tickets.ticket(&name, session, &knock));
            if asked.contains_key(AGAIN) {
                query.append_pair(AGAIN, "1");
            }
            ENTER
        }
    };
    see_other(&format!("{}{at}?{}", app.services.origin_of(service), query.finish()))
}

/// Says who may pass to a service.
#[derive(Debug)]
pub(crate) struct Doorkeeper {
    services: Arc<Services>,
    gate: GateState,
    /// Sessions that use a service, for as long as they last: no more than there are sessions.
    watched: Arc<Mutex<HashMap<SessionId, Watched>>>,
}

/// A session as it was when the disk was last asked.
#[derive(Debug)]
struct Watched {
    person: String,
    role: Role,
    /// When that was, on the clock that only goes on, and before which change of the accounts.
    seen: Duration,
    turn: u64,
    /// Cancelled when the session is over, or has another role.
    ended: CancellationToken,
}

impl Watched {
    fn pass(&self) -> Pass {
        Pass { person: self.person.clone(), ended: self.ended.child_token() }
    }
}

impl Doorkeeper {
    pub(crate) fn new(services: Arc<Services>, gate: GateState) -> Doorkeeper {
        Doorkeeper { services, gate, watched: Arc::default() }
    }

    async fn judged(&self, service: &Service, parts: &Parts) -> Verdict {
        let name = service.name();
        let Some((known, least)) = self.services.named(name) else {
            return Verdict::Refuse(StatusCode::NOT_FOUND);
        };
        match parts.uri.path() {
            ENTER => return self.entered(name, parts),
            KNOCK => {
                return self.knocking(
                    name,
                    parts,
                    local_path(asked(parts, "to").as_deref().unwrap_or("/")),
                    &[],
                );
            }
            _ => {}
        }
        let session = match self.services.tickets.by_cookie(name, &parts.headers) {
            Brought::One(session) => session,
            Brought::Nothing => return self.to_the_gateway(name, parts),
            Brought::Differing => return self.lost(name),
        };
        if let Err(e) = self.check_origin(known, parts) {
            self.gate.record(&e, None, caller(parts));
            return Verdict::Refuse(StatusCode::FORBIDDEN);
        }
        if let Some(pass) = self.seen_lately(session, *least) {
            return Verdict::Pass(pass);
        }
        // Before the look: what changes while it is looked counts as not seen.
        let turn = self.gate.accounts().turn();
        match self.gate.work(move |accounts| accounts.passing(session)).await {
            Ok(Some(who)) if who.role >= *least => Verdict::Pass(self.watch(session, &who, turn)),
            Ok(Some(_)) => {
                self.gate.record(&Error::NotAllowed { least: *least }, None, caller(parts));
                Verdict::Refuse(StatusCode::FORBIDDEN)
            }
            Ok(None) => self.to_the_gateway(name, parts),
            Err(_) => Verdict::Refuse(StatusCode::SERVICE_UNAVAILABLE),
        }
    }

    /// What changes something, and a socket, was asked for by a page of that service: browsers send its cookie along also for other services
    /// of this house. What names no origin is no browser, and has no cookie of somebody else.
    fn check_origin(&self, service: &GatewayService, parts: &Parts) -> Result<(), Error> {
        let harmless = matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS);
        if harmless && !parts.headers.contains_key(UPGRADE) {
            return Ok(());
        }
        let own = self.services.origin_of(service);
        let named = parts.headers.get_all(ORIGIN).iter().all(|origin| origin.as_bytes() == own.as_bytes());
        let sites = parts.headers.get_all(SEC_FETCH_SITE).iter();
        let here = sites.into_iter().all(|site| [&b"same-origin"[..], b"none"].contains(&site.as_bytes()));
        if named && here { Ok(()) } else { Err(Error::WrongOrigin) }
    }

    fn to_the_gateway(&self, name: &str, parts: &Parts) -> Verdict {
        let wanted = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        self.knocking(name, parts, local_path(wanted), &[])
    }

    /// To the gateway with the knock that this browser has, or with a new one. One that is there is kept: of several tabs that come at once, the
    /// last to be answered would take the others' knock away.
    fn knocking(&self, name: &str, parts: &Parts, to: &str, more: &[(&str, &str)]) -> Verdict {
        let leads = |knock: &Knock| {
            self.services.opening(name, &[&[("to", to), ("knock", knock.as_str())], more].concat())
        };
        match self.services.tickets.knock(&parts.headers) {
            Brought::One(knock) => Verdict::GoTo(leads(&knock)),
            Brought::Differing => self.lost(name),
            Brought::Nothing => match self.services.tickets.new_knock() {
                Some((knock, cookie)) => Verdict::Enter { to: leads(&knock), cookie },
                None => Verdict::Refuse(StatusCode::SERVICE_UNAVAILABLE),
            },
        }
    }

    /// A ticket becomes a cookie of this origin, in the browser that it was given to. One that does not is written down: whoever brings it may
    /// have been sent here by somebody who wants them to act in another name.
    fn entered(&self, name: &str, parts: &Parts) -> Verdict {
        let tickets = &self.services.tickets;
        let to = asked(parts, "to").map_or_else(|| "/".to_owned(), |to| local_path(&to).to_owned());
        let session = match (asked(parts, "ticket"), tickets.knock(&parts.headers)) {
            (Some(ticket), Brought::One(knock)) => tickets.by_ticket(name, &ticket, &knock),
            _ => None,
        };
        if let Some(cookie) = session.and_then(|session| tickets.cookie(name, session)) {
            return Verdict::Enter { to, cookie };
        }
        self.gate.record(&Error::TicketRefused, None, caller(parts));
        match asked(parts, AGAIN) {
            Some(_) => self.lost(name),
            // A knock that has expired, or one of several tabs: the second time it holds.
            None => self.knocking(name, parts, &to, &[(AGAIN, "1")]),
        }
    }

    /// Where it is said that this browser keeps no cookies here: on the gateway's own pages, since nothing else here is ours.
    fn lost(&self, name: &str) -> Verdict {
        Verdict::GoTo(self.services.opening(name, &[("lost", "1")]))
    }

    /// What needs no look at the disk: requests come by the dozen, and one look counts for all of a moment.
    fn seen_lately(&self, session: SessionId, least: Role) -> Option<Pass> {
        let now = self.services.clock.monotonic();
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let known = watched.get(&session).filter(|it| it.role >= least && !it.ended.is_cancelled())?;
        let same = known.turn == self.gate.accounts().turn();
        (same && now.saturating_sub(known.seen) < SEEN_FOR).then(|| known.pass())
    }

    /// Notes what the disk said. One task watches for all that a session asks of services, and ends with it: there are as many as there are
    /// sessions, however many requests they make.
    fn watch(&self, session: SessionId, who: &Passing, turn: u64) -> Pass {
        let seen = self.services.clock.monotonic();
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = watched.get_mut(&session)
            && known.role == who.role
            && !known.ended.is_cancelled()
        {
            (known.seen, known.turn) = (seen, turn);
            return known.pass();
        }
        let person = actor_named(&who.name.to_string(), &who.person.to_string()).to_string();
        let known = Watched { person, role: who.role, seen, turn, ended: CancellationToken::new() };
        let (pass, token) = (known.pass(), known.ended.clone());
        watched.insert(session, known);
        let (mut watch, all) = (Watch::of_passing(self.gate.accounts().clone(), who), self.watched.clone());
        tokio::spawn(async move {
            watch.over().await;
            token.cancel();
            all.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, it| !it.ended.is_cancelled());
        });
        pass
    }
}

/// One of the questions in an address.
fn asked(parts: &Parts, name: &str) -> Option<String> {
    let pairs = url::form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
    pairs.into_iter().find_map(|(key, value)| (key == name).then(|| value.into_owned()))
}

fn caller(parts: &Parts) -> IpAddr {
    let client = parts.extensions.get::<holdfast_door::Client>();
    client.map_or(Caller::default().address, |client| client.address.ip())
}

impl Admit for Doorkeeper {
    fn admit<'a>(&'a self, service: &'a Service, parts: &'a Parts) -> Admitting<'a> {
        Box::pin(self.judged(service, parts))
    }
}
