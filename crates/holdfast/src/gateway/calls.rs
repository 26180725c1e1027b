//! The JSON API: a call is found in the table, its rights are judged, then it is read, carried out and answered.

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use holdfast_api::{self as api, ApiError, Ask, Call, EntriesAsk, Order, Reply};
use holdfast_control::{Answer, Checkpoint, MemoryAsk, Request as Control};
use holdfast_gateway::{Act, By, Caller, Role, Scope, Signed, sent_proof};
use holdfast_journal::Entry;
use holdfast_store::{Filter, find};
use holdfast_types::Problem;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::Value;
use serde_json::value::RawValue;

use super::app::{App, problem_of};
use super::names::actor_of;
use super::record::record_failed;
use super::views::Views;
use crate::audit::{Proof, consistency_in, inclusion_in};
use crate::autonomy::Note;
use crate::house::ArchiveArgs;
use crate::problem::Result;

/// Entries that are looked through for a kind by its beginning, which no index has.
const LOOKED_THROUGH: usize = 20_000;

/// `/api/v1/…`.
pub(super) async fn call(State(app): State<App>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Some(who) = parts.extensions.get::<Signed>().cloned() else {
        return status(StatusCode::UNAUTHORIZED);
    };
    let found = match api::find(&parts.method, parts.uri.path()) {
        Ok(found) => found,
        Err(e) => return replied(&Reply::from(&e)),
    };
    let from = parts.extensions.get::<Caller>().copied().unwrap_or_default();
    if !found.route.allows(role(who.role), scope(&who)) {
        let least = gateway_role(found.route.least);
        // Also for a token that has the role and too small a scope.
        let refused = holdfast_gateway::Error::NotAllowed { least };
        app.gate.record(&refused, Some(&who), from.address);
        return replied(&Reply { status: 403, ..Reply::from(&refused.problem()) });
    }
    let most = found.route.body.most();
    let bytes = match Limited::new(body, most).collect().await {
        Ok(whole) => whole.to_bytes(),
        Err(e) if e.is::<LengthLimitError>() => return replied(&Reply::from(&ApiError::TooLong { most })),
        Err(_) => return status(StatusCode::BAD_REQUEST),
    };
    let kind = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let call = match found.call(parts.uri.query().unwrap_or_default(), kind, &bytes) {
        Ok(call) => call,
        Err(e) => return replied(&Reply::from(&e)),
    };
    let mut confirmed = None;
    if call.takes_passkey() {
        let act = act_of(&parts, &bytes);
        // No token has one.
        if let Err(e) = app.gate.prove(&who, sent_proof(&parts.headers), &act, from).await {
            app.gate.record(&e, Some(&who), from.address);
            let reply = Reply::from(&e.problem());
            // What could not be recorded is nobody's fault who asks.
            let status = if reply.status >= 500 { reply.status } else { 403 };
            return replied(&Reply { status, ..reply });
        }
        confirmed = Some(act.what());
    }
    let actor = actor_of(&who);
    let (answer, failed) = match call.ask(&actor) {
        Ok(ask) => answered(&app, &who, call, ask).await,
        Err(e) => (replied(&Reply::from(&e)), Some(e.problem())),
    };
    if let (Some(what), Some(problem)) = (confirmed, failed) {
        record_failed(&app.views.office, &who, &what, Some(&problem)).await;
    }
    answer
}

/// What a passkey has to be used for.
fn act_of(parts: &http::request::Parts, body: &[u8]) -> Act {
    let fields = match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let to = parts.uri.path_and_query().map_or("/", |to| to.as_str());
    Act::new(parts.method.as_str(), to, fields)
}

/// The answer, and why it was not done where it was not.
async fn answered(app: &App, who: &Signed, call: Call, ask: Ask) -> (Response, Option<Problem>) {
    if let Ask::TestNotices { channel } = &ask {
        return (tried(app, who, channel.as_deref()).await, None);
    }
    let origin = app.gate.site().origin().to_owned();
    let done = match is_act(&ask) {
        true => app.act(who, move |views| carried_out(views, &call, ask, &origin)).await,
        false => app.look(who, move |views| carried_out(views, &call, ask, &origin)).await,
    };
    match done {
        Ok(Ok(told)) => (told.response(), None),
        Ok(Err(e)) => (replied(&Reply::from(&e)), None),
        Err(failure) => {
            let problem = problem_of(failure);
            let reply = Reply::from(&problem);
            if reply.status >= 500 {
                tracing::error!(code = %problem.code, why = problem.what, "a call could not be answered");
            }
            (replied(&reply), Some(problem))
        }
    }
}

/// Whether it is something a person does that is done soon, and must not wait behind what takes long.
fn is_act(ask: &Ask) -> bool {
    match ask {
        Ask::Pause { .. } => true,
        Ask::Control(request) => matches!(
            request,
            Control::Pause { .. }
                | Control::Resume { .. }
                | Control::Verdict { .. }
                | Control::StewardOrder { .. }
                | Control::Erase { .. }
                | Control::Raise { .. }
                | Control::Stop {}
        ),
        _ => false,
    }
}

/// An answer: JSON, or the exact bytes of a line.
enum Told {
    Json(Value),
    Line(Vec<u8>),
}

impl Told {
    fn response(self) -> Response {
        let (kind, bytes) = match self {
            Told::Json(value) => ("application/json", value.to_string().into_bytes()),
            Told::Line(line) => ("application/json", line),
        };
        let mut answer = Response::new(Body::from(Bytes::from(bytes)));
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        answer
    }
}

fn carried_out(views: &Views, call: &Call, ask: Ask, origin: &str) -> Result<Result<Told, ApiError>> {
    let json = |value: serde_json::Result<Value>| Ok(value.map(Told::Json).map_err(|_| ApiError::Unexpected));
    match ask {
        Ask::Control(request) => {
            let answer = views.ask_office(request)?;
            Ok(call.shown(answer).map(Told::Json))
        }
        Ask::Import { pieces, wrong } => {
            let mut answers: Vec<Answer> = Vec::new();
            for piece in pieces {
                answers.push(views.ask_office(Control::Memory { ask: MemoryAsk::Import(piece) })?);
            }
            Ok(api::imported(answers, wrong).and_then(|answer| call.shown(answer)).map(Told::Json))
        }
        Ask::Pause { actor, reason } => {
            let office = &views.office;
            let state = office.pause(&Note::new(office.clock.now(), actor, reason.as_deref()))?;
            Ok(call.shown(Answer::Paused(state)).map(Told::Json))
        }
        Ask::Entries(asked) => json(serde_json::to_value(entries(views, &asked)?)),
        Ask::Entry { seq } => Ok(Ok(Told::Line(views.office.journal.entry(seq)?.line))),
        Ask::Proof { seq, size } => {
            let proof = match size {
                None => views.proof_document(seq)?,
                Some(size) => {
                    let view = views.office.house.view(&ArchiveArgs::default())?;
                    if view.latest_checkpoint()?.checkpoint.size < size {
                        views.office.journal.checkpoint()?;
                    }
                    inclusion_in(&view, seq, Some(size), &views.office.house)?
                }
            };
            json(serde_json::to_value(proof))
        }
        Ask::Consistency { old } => {
            let view = views.office.house.view(&ArchiveArgs::default())?;
            let proof: Proof = consistency_in(&view, old, None, &views.office.house)?;
            json(serde_json::to_value(proof))
        }
        Ask::Checkpoint => {
            let signed = views.office.house.view(&ArchiveArgs::default())?.latest_checkpoint()?;
            let answer = Answer::Checkpoint(Checkpoint {
                origin: signed.checkpoint.origin,
                size: signed.checkpoint.size,
                root: BASE64.encode(signed.checkpoint.root),
                note: signed.note,
                warnings: views.office.journal.status().warnings,
            });
            Ok(call.shown(answer).map(Told::Json))
        }
        Ask::Episodes { target, limit } => {
            json(serde_json::to_value(views.api_episodes(target.as_deref(), limit as usize)?))
        }
        Ask::Episode { id } => json(serde_json::to_value(views.api_episode(&id)?)),
        Ask::Look(look) => json(super::looks::looked(views, look)?),
        Ask::OpenApi => Ok(Ok(Told::Json(api::openapi(origin, env!("CARGO_PKG_VERSION"))))),
        Ask::Events(_) | Ask::TestNotices { .. } => Ok(Err(ApiError::Unexpected)),
    }
}

/// A page of the log, each entry as it stands there.
fn entries(views: &Views, asked: &EntriesAsk) -> Result<api::Entries> {
    let (journal, limit) = (&views.office.journal, asked.limit as usize);
    let size = journal.size();
    let order = match asked.order {
        Order::NewestFirst => holdfast_store::Order::NewestFirst,
        Order::OldestFirst => holdfast_store::Order::OldestFirst,
    };
    let (from, to) = match asked.order {
        Order::NewestFirst => (None, asked.from.map(|from| from.saturating_add(1))),
        Order::OldestFirst => (asked.from, None),
    };
    let exact = asked.kind.as_ref().and_then(|kind| kind.parse().ok());
    let by_beginning = asked.kind.is_some() && exact.is_none();
    let filter = Filter { kind: exact, actor: asked.actor.clone(), from, to, ..Filter::default() };
    let most = if by_beginning { LOOKED_THROUGH } else { limit + 1 };
    let seqs = views.office.index_to_look_at()?.read(|conn| find(conn, &filter, order, most))?;
    let begins = asked.kind.as_ref().map(|kind| format!("\"kind\":\"{kind}"));
    let mut found: Vec<(u64, Box<RawValue>)> = Vec::new();
    for seq in seqs {
        let raw = journal.entry(seq)?;
        let fits = |begins: &String| {
            let entry: Option<Entry> = raw.parse().ok();
            entry
                .is_some_and(|entry| format!("\"kind\":\"{}.", entry.kind).starts_with(&format!("{begins}.")))
        };
        if by_beginning && !begins.as_ref().is_some_and(fits) {
            continue;
        }
        let line = String::from_utf8_lossy(&raw.line).into_owned();
        if let Ok(line) = RawValue::from_string(line) {
            found.push((seq, line));
        }
        if found.len() > limit {
            break;
        }
    }
    let next = (found.len() > limit).then(|| found[limit].0);
    found.truncate(limit);
    Ok(api::Entries { entries: found.into_iter().map(|(_, line)| line).collect(), next, size })
}

/// Sends a test message now.
async fn tried(app: &App, who: &Signed, only: Option<&str>) -> Response {
    let wanted = only.map(str::to_owned);
    let channels = app
        .look(who, move |views| {
            let office = &views.office;
            let loaded = office.config();
            let mut channels =
                crate::settings::each_channel(&loaded.config, &office.house.places, &office.clock)?;
            if let Some(wanted) = wanted {
                channels.retain(|(name, _)| *name == wanted);
                if channels.is_empty() {
                    return Err(crate::problem::CliError::NoChannel { name: wanted }.into());
                }
            }
            Ok(channels)
        })
        .await;
    let origin = app.views.office.journal.origin().clone();
    let results = match channels {
        Ok(channels) => crate::commands::notice::try_each(channels, &origin).await,
        Err(failure) => Err(failure),
    };
    match results {
        Ok(results) => {
            let results = results.iter().map(crate::commands::notice::Tried::told).collect();
            Told::Json(serde_json::to_value(api::NoticesTried { results }).unwrap_or_default()).response()
        }
        Err(failure) => replied(&Reply::from(&problem_of(failure))),
    }
}

pub(super) fn replied(reply: &Reply) -> Response {
    let mut answer = Told::Json(reply.body.clone()).response();
    *answer.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Some(seconds) = reply.retry_after {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some(allow) = reply.allow.as_ref().and_then(|allow| HeaderValue::from_str(allow).ok()) {
        answer.headers_mut().insert(ALLOW, allow);
    }
    answer
}

fn status(status: StatusCode) -> Response {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = status;
    answer
}

pub(super) const fn role(role: Role) -> api::Role {
    match role {
        Role::Viewer => api::Role::Viewer,
        Role::Operator => api::Role::Operator,
        Role::Owner => api::Role::Owner,
    }
}

pub(super) const fn gateway_role(role: api::Role) -> Role {
    match role {
        api::Role::Viewer => Role::Viewer,
        api::Role::Operator => Role::Operator,
        api::Role::Owner => Role::Owner,
    }
}

/// The scope of a token; whoever is signed in with a passkey has none, and needs none.
pub(super) fn scope(who: &Signed) -> Option<api::Scope> {
    match who.by {
        By::Session { .. } => None,
        By::Token { scope, .. } => Some(match scope {
            Scope::Read => api::Scope::Read,
            Scope::Act => api::Scope::Act,
            Scope::Manage => api::Scope::Manage,
        }),
    }
}
