//! Programs of this machine behind the door, each on an origin of its own.
//!
//! A browser never sends the gateway's cookie to another origin. So whoever opens a service is first sent to the gateway (`/open/NAME`), which
//! knows them, and from there back with a ticket; the ticket becomes a cookie of the service's own origin. That cookie names the session and
//! carries a signature over it and the service: nothing is kept, a restart changes nothing, and it is worth nothing once the session is over. The
//! service sees neither of them.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use hmac::{Hmac, KeyInit as _, Mac as _};
use holdfast_config::{GatewayService, ServiceAt, ServiceRole};
use holdfast_door::{Admit, Admitting, HostName, IdentityKey, Pass, Service, To, Verdict};
use holdfast_gateway::{Caller, Error, GateState, Passing, Role, SessionId, Signed, Watch, local_path};
use holdfast_types::Clock;
use http::header::{COOKIE, ORIGIN, UPGRADE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use sha2::Sha256;
use std::collections::HashMap;
use tokio_util::sync::CancellationToken;

use super::app::{App, see_other};
use super::names::{actor_named, path};
use crate::problem::{Failure, Result};

/// Where a request comes from, as browsers say it.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Where a ticket is taken, on the service's origin.
const ENTER: &str = "/.holdfast/enter";
/// From one page to the next.
const TICKET_FOR: Duration = Duration::from_secs(60);
/// How long the disk is not asked again about a session that was just seen. Whoever watches the session hears of its end at once; this bounds
/// what a watcher that is held up can cost.
const SEEN_FOR: Duration = Duration::from_secs(1);

/// Tickets of a minute that are remembered: more than people open services.
const USED_MAX: usize = 4_096;

/// What services are recognised by, and where they are.
pub(crate) struct Services {
    root: [u8; 32],
    known: Vec<(GatewayService, Role)>,
    /// The gateway's own origin, and the scheme and port that services share with it.
    own: String,
    https: bool,
    port: Option<u16>,
    clock: Arc<dyn Clock>,
    /// Tickets that somebody came with, until they would have ended by themselves.
    used: Mutex<HashMap<String, i64>>,
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
        Services {
            root,
            known: services.iter().map(|service| (service.clone(), role(service))).collect(),
            own: origin.origin().ascii_serialization(),
            https: origin.scheme() == "https",
            port: origin.port(),
            clock,
            used: Mutex::default(),
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
            Service::new(&service.name, host, to, "", key)
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

    fn cookie_name(&self) -> &'static str {
        if self.https { "__Host-holdfast-service" } else { "holdfast-service" }
    }

    /// Of a session and a service, for a purpose; for a ticket also until when.
    fn signature(&self, purpose: &str, service: &str, session: &str, until: &str) -> Vec<u8> {
        // A key of any length is taken.
        let Ok(mut mac) = <Hmac<Sha256>>::new_from_slice(&self.root) else { return Vec::new() };
        for part in [purpose, service, session, until] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        mac.finalize().into_bytes().to_vec()
    }

    fn stamped(&self, purpose: &str, service: &str, session: SessionId, until: &str) -> String {
        let session = session.to_string();
        let signature = BASE64URL.encode(self.signature(purpose, service, &session, until));
        if until.is_empty() {
            format!("{session}.{signature}")
        } else {
            format!("{session}.{until}.{signature}")
        }
    }

    /// The session that a value names, when this house signed it for this.
    fn session_of(&self, purpose: &str, service: &str, value: &str) -> Option<(SessionId, String)> {
        let (rest, signature) = value.rsplit_once('.')?;
        let (session, until) = rest.split_once('.').unwrap_or((rest, ""));
        let wanted = self.signature(purpose, service, session, until);
        let given = BASE64URL.decode(signature).ok()?;
        let same = subtle::ConstantTimeEq::ct_eq(wanted.as_slice(), given.as_slice());
        (bool::from(same) && !wanted.is_empty()).then_some(())?;
        Some((session.parse().ok()?, until.to_owned()))
    }

    fn ticket(&self, service: &str, session: SessionId) -> String {
        let until = self.clock.now().plus(TICKET_FOR).as_micros().to_string();
        self.stamped("ticket", service, session, &until)
    }

    fn by_ticket(&self, service: &str, ticket: &str) -> Option<SessionId> {
        let (session, until) = self.session_of("ticket", service, ticket)?;
        let (until, now): (i64, i64) = (until.parse().ok()?, self.clock.now().as_micros());
        (now < until && self.first_use(ticket, until, now)).then_some(session)
    }

    /// Whether nobody came with this ticket before. One that is refused for that costs its holder a way by the gateway, no more.
    fn first_use(&self, ticket: &str, until: i64, now: i64) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, until| *until > now);
        used.len() < USED_MAX && used.insert(ticket.to_owned(), until).is_none()
    }

    fn by_cookie(&self, service: &str, headers: &HeaderMap) -> Option<SessionId> {
        let name = self.cookie_name();
        let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut values = pairs
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(key, _)| *key == name);
        let (_, value) = values.next()?;
        // Two that differ were set by two, and one of them not by us.
        if values.any(|(_, other)| other != value) {
            return None;
        }
        self.session_of("cookie", service, value).map(|(session, _)| session)
    }

    fn cookie(&self, service: &str, session: SessionId) -> Option<HeaderValue> {
        let value = self.stamped("cookie", service, session, "");
        let secure = if self.https { "; Secure" } else { "" };
        let text = format!("{}={value}; Path=/; HttpOnly; SameSite=Lax{secure}", self.cookie_name());
        let mut header = HeaderValue::from_str(&text).ok()?;
        header.set_sensitive(true);
        Some(header)
    }
}

/// `/open/NAME?to=PATH`: sends somebody who is signed in on to a service.
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
    if let Err(e) = app.gate.require(&who, *least, from) {
        let failure: Failure = e.problem().into();
        return super::shown::refused(&app, &who, holdfast_pages::Place::Overview, failure).await;
    }
    let Some(session) = who.session() else { return StatusCode::FORBIDDEN.into_response() };
    let to = asked.get("to").map_or("/", |to| local_path(to));
    let query = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("ticket", &app.services.ticket(&name, session))
        .append_pair("to", to)
        .finish();
    see_other(&format!("{}{ENTER}?{query}", app.services.origin_of(service)))
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
        if parts.uri.path() == ENTER {
            return self.entered(name, parts).await;
        }
        let Some(session) = self.services.by_cookie(name, &parts.headers) else {
            return self.to_the_gateway(name, parts);
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
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("to", local_path(wanted))
            .finish();
        Verdict::GoTo(format!("{}{}?{query}", self.services.own, path(&["open", name])))
    }

    /// A ticket becomes a cookie of this origin.
    async fn entered(&self, name: &str, parts: &Parts) -> Verdict {
        let asked: HashMap<String, String> =
            url::form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes())
                .into_owned()
                .collect();
        let to = asked.get("to").map_or("/", |to| local_path(to)).to_owned();
        let session = asked.get("ticket").and_then(|ticket| self.services.by_ticket(name, ticket));
        match session.and_then(|session| self.services.cookie(name, session)) {
            Some(cookie) => Verdict::Enter { to, cookie },
            None => Verdict::GoTo(format!("{}{}", self.services.own, path(&["open", name]))),
        }
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

fn caller(parts: &Parts) -> IpAddr {
    let client = parts.extensions.get::<holdfast_door::Client>();
    client.map_or(Caller::default().address, |client| client.address.ip())
}

impl Admit for Doorkeeper {
    fn admit<'a>(&'a self, service: &'a Service, parts: &'a Parts) -> Admitting<'a> {
        Box::pin(self.judged(service, parts))
    }
}
