//! Pages: each looks at the house and draws what it saw.

use std::collections::HashMap;

use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse as _, Response};
use holdfast_gateway::{Caller, Role, Shown, Signed, local_path};
use holdfast_pages as pages;
use holdfast_pages::{AuditFilter, Frame, MemoryFilter, Once, Outside, Place, Settings, Theme};
use holdfast_types::{ApprovalId, Trust};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, RETRY_AFTER};
use http::{HeaderValue, StatusCode};

use super::app::{App, download, page, problem_of, see_other};
use super::views::Views;
use crate::house::ArchiveArgs;
use crate::problem::{CliError, Failure, Result};

/// Longest search, as the field has it.
const QUERY_MAX: usize = 1_000;
/// Longest value of a filter.
const FILTER_MAX: usize = 80;

type Who = Extension<Signed>;
type Asked = Query<HashMap<String, String>>;

/// Draws a page of somebody who is signed in.
async fn drawn(
    app: &App,
    who: Signed,
    place: Place,
    live: Option<String>,
    draw: impl FnOnce(&Views, &Frame, &Signed) -> Result<String> + Send + 'static,
) -> Response {
    let signed = who.clone();
    let done = app
        .look(&who, move |views| {
            let frame = views.frame(&signed, place, live, None)?;
            draw(views, &frame, &signed)
        })
        .await;
    match done {
        Ok(html) => page(html),
        Err(failure) => refused(app, &who, place, failure).await,
    }
}

/// What went wrong, on a page.
pub(super) async fn refused(app: &App, who: &Signed, place: Place, failure: Failure) -> Response {
    let problem = problem_of(failure);
    let status = holdfast_api::status_of(&problem);
    if status >= 500 {
        tracing::error!(code = %problem.code, why = problem.what, "a page could not be shown");
    }
    let view = pages::Problem {
        status,
        code: Some(problem.code.to_string()),
        what: problem.what,
        untouched: Some(problem.untouched),
        hint: Some(problem.hint),
        back: Some(place.path().to_owned()),
    };
    let (signed, told) = (who.clone(), view.clone());
    let html = app
        .look(who, move |views| {
            let frame = views.frame(&signed, place, None, None)?;
            Ok(pages::problem(&frame, &view))
        })
        .await;
    // Who has too many looks under way has none for a page about it either: what went wrong is said all the same.
    let outside = || pages::problem_outside(&outside(app), &told);
    let mut answer = page(html.unwrap_or_else(|_| outside()));
    if status == 503 {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("2"));
    }
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer
}

fn not_found(what: &str) -> Failure {
    CliError::NotThere { what: what.to_owned() }.into()
}

fn live_of(path: &str) -> Option<String> {
    let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("page", path).finish();
    Some(format!("/live?{query}"))
}

fn field(asked: &HashMap<String, String>, name: &str, most: usize) -> String {
    asked.get(name).map(|value| value.chars().take(most).collect()).unwrap_or_default()
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

pub(super) async fn overview(State(app): State<App>, Extension(who): Who) -> Response {
    drawn(&app, who, Place::Overview, live_of("/"), |views, frame, _| {
        Ok(pages::overview(frame, &views.overview()?))
    })
    .await
}

pub(super) async fn hosts(State(app): State<App>, Extension(who): Who) -> Response {
    drawn(&app, who, Place::Hosts, live_of("/hosts"), |views, frame, _| {
        Ok(pages::hosts(frame, &views.hosts()))
    })
    .await
}

pub(super) async fn host(State(app): State<App>, Extension(who): Who, Path(name): Path<String>) -> Response {
    let live = live_of(&format!("/hosts/{name}"));
    drawn(&app, who, Place::Hosts, live, move |views, frame, _| {
        let host = views.host(&name)?.ok_or_else(|| not_found("host"))?;
        Ok(pages::host(frame, &host))
    })
    .await
}

pub(super) async fn episode(State(app): State<App>, Extension(who): Who, Path(id): Path<String>) -> Response {
    let live = live_of(&format!("/episodes/{id}"));
    drawn(&app, who, Place::Hosts, live, move |views, frame, _| {
        let episode = views.episode(&id)?.ok_or_else(|| not_found("episode"))?;
        Ok(pages::episode(frame, &episode))
    })
    .await
}

pub(super) async fn inbox(State(app): State<App>, Extension(who): Who) -> Response {
    drawn(&app, who, Place::Inbox, live_of("/inbox"), |views, frame, _| {
        Ok(pages::inbox(frame, &views.inbox()?))
    })
    .await
}

pub(super) async fn ask(State(app): State<App>, Extension(who): Who, Path(id): Path<String>) -> Response {
    let live = live_of(&format!("/inbox/{id}"));
    drawn(&app, who, Place::Inbox, live, move |views, frame, _| {
        let id: ApprovalId = id.parse().map_err(|_| not_found("ask"))?;
        Ok(pages::ask(frame, &views.ask(id)?))
    })
    .await
}

pub(super) async fn memory(State(app): State<App>, Extension(who): Who, Query(asked): Asked) -> Response {
    let trust = asked.get("trust").and_then(|word| {
        [Trust::Disposable, Trust::Untrusted, Trust::SemiTrusted, Trust::Trusted, Trust::Admin]
            .into_iter()
            .find(|trust| trust.as_str() == word)
    });
    let filter = MemoryFilter {
        agent: some(field(&asked, "agent", FILTER_MAX)).unwrap_or_else(|| "main".to_owned()),
        kind: some(field(&asked, "kind", FILTER_MAX)),
        entry_type: some(field(&asked, "type", FILTER_MAX)),
        trust,
        tag: some(field(&asked, "tag", FILTER_MAX)),
        host: some(field(&asked, "host", FILTER_MAX)),
        fresh: asked.get("fresh").is_some_and(|value| value == "1"),
    };
    let query = field(&asked, "q", QUERY_MAX);
    drawn(&app, who, Place::Memory, None, move |views, frame, _| {
        Ok(pages::memory(frame, &views.memory(&query, filter)?))
    })
    .await
}

pub(super) async fn memory_entry(
    State(app): State<App>,
    Extension(who): Who,
    Path((agent, id)): Path<(String, String)>,
) -> Response {
    drawn(&app, who, Place::Memory, None, move |views, frame, _| {
        Ok(pages::memory_entry(frame, &views.memory_entry(&agent, &id)?))
    })
    .await
}

pub(super) async fn audit(State(app): State<App>, Extension(who): Who, Query(asked): Asked) -> Response {
    let filter = AuditFilter {
        room: field(&asked, "room", FILTER_MAX),
        kind: field(&asked, "kind", FILTER_MAX),
        actor: field(&asked, "actor", FILTER_MAX),
    };
    let before = asked.get("before").and_then(|text| text.parse().ok());
    let live = (before.is_none() && filter == AuditFilter::default()).then(|| live_of("/audit")).flatten();
    drawn(&app, who, Place::Audit, live, move |views, frame, _| {
        Ok(pages::audit(frame, &views.audit(filter, before)?))
    })
    .await
}

pub(super) async fn audit_entry(
    State(app): State<App>,
    Extension(who): Who,
    Path(seq): Path<String>,
) -> Response {
    drawn(&app, who, Place::Audit, None, move |views, frame, _| {
        let seq = seq.parse().map_err(|_| not_found("entry"))?;
        Ok(pages::audit_entry(frame, &views.audit_entry(seq)?))
    })
    .await
}

pub(super) async fn proof(State(app): State<App>, Extension(who): Who, Path(seq): Path<String>) -> Response {
    let made = app
        .look(&who, move |views| {
            let seq: u64 = seq.parse().map_err(|_| not_found("entry"))?;
            Ok((seq, views.proof_document(seq)?.to_text()))
        })
        .await;
    match made {
        Ok((seq, text)) => {
            download("application/json", &format!("entry-{seq}.proof.json"), text.into_bytes())
        }
        Err(failure) => refused(&app, &who, Place::Audit, failure).await,
    }
}

pub(super) async fn checkpoint(State(app): State<App>, Extension(who): Who) -> Response {
    let newest =
        |views: &Views| Ok(views.office.house.view(&ArchiveArgs::default())?.latest_checkpoint()?.note);
    match app.look(&who, newest).await {
        Ok(note) => download("text/plain; charset=utf-8", "checkpoint.txt", note.into_bytes()),
        Err(failure) => refused(&app, &who, Place::Audit, failure).await,
    }
}

/// What a form of this session left to be shown once.
fn once(app: &App, who: &Signed) -> Option<Once> {
    Some(match app.gate.shown(who)? {
        Shown::Codes(values) => Once {
            said: "Your recovery codes. They are shown now and never again; each works once.".to_owned(),
            values,
        },
        Shown::Token(token) => {
            Once { said: "The token. It is shown now and never again.".to_owned(), values: vec![token] }
        }
        Shown::Link(path) => Once {
            said: "The link. It works once, for a quarter of an hour.".to_owned(),
            values: vec![format!("{}{path}", app.gate.site().origin())],
        },
    })
}

pub(super) async fn settings_you(State(app): State<App>, Extension(who): Who) -> Response {
    let once = once(&app, &who);
    drawn(&app, who, Place::Settings, None, move |views, frame, who| {
        Ok(pages::settings(frame, &Settings::You(views.you(who, once)?)))
    })
    .await
}

/// A page for owners alone.
async fn owners(
    app: App,
    who: Signed,
    from: Caller,
    draw: impl FnOnce(&Views, &Frame, &Signed) -> Result<String> + Send + 'static,
) -> Response {
    if let Err(e) = app.gate.require(&who, Role::Owner, from) {
        return refused(&app, &who, Place::Settings, e.problem().into()).await;
    }
    drawn(&app, who, Place::Settings, None, draw).await
}

pub(super) async fn settings_people(
    State(app): State<App>,
    Extension(who): Who,
    caller: Option<Extension<Caller>>,
) -> Response {
    let once = once(&app, &who);
    let from = caller.map(|Extension(caller)| caller).unwrap_or_default();
    owners(app, who, from, move |views, frame, who| {
        Ok(pages::settings(frame, &Settings::People(views.people(who, once)?)))
    })
    .await
}

pub(super) async fn settings_tokens(State(app): State<App>, Extension(who): Who) -> Response {
    let once = once(&app, &who);
    drawn(&app, who, Place::Settings, None, move |views, frame, who| {
        Ok(pages::settings(frame, &Settings::Tokens(views.tokens(who, once)?)))
    })
    .await
}

pub(super) async fn settings_notices(State(app): State<App>, Extension(who): Who) -> Response {
    drawn(&app, who, Place::Settings, None, |views, frame, _| {
        Ok(pages::settings(frame, &Settings::Notices(views.notices()?)))
    })
    .await
}

pub(super) async fn settings_house(State(app): State<App>, Extension(who): Who) -> Response {
    drawn(&app, who, Place::Settings, None, |views, frame, _| {
        Ok(pages::settings(frame, &Settings::House(views.house()?)))
    })
    .await
}

pub(super) async fn pause(State(app): State<App>, Extension(who): Who) -> Response {
    drawn(&app, who, Place::Overview, None, |_, frame, _| {
        Ok(pages::confirm(frame, &pages::pause_confirm(&frame.pause)))
    })
    .await
}

pub(super) async fn resume(State(app): State<App>, Extension(who): Who) -> Response {
    pause(State(app), Extension(who)).await
}

/// There is no such page.
pub(super) async fn nothing(State(app): State<App>, Extension(who): Who) -> Response {
    refused(&app, &who, Place::Overview, not_found("page")).await
}

fn outside(app: &App) -> Outside {
    Outside { house: app.views.office.journal.origin().to_string(), theme: Theme::System }
}

pub(super) async fn login(State(app): State<App>, who: Option<Who>, Query(asked): Asked) -> Response {
    let next = asked.get("next").map(|next| local_path(next).to_owned());
    // Whoever has a session and has lost its anti-forgery word signs in again.
    if who.is_some() && !asked.contains_key("again") {
        return see_other(next.as_deref().unwrap_or("/"));
    }
    let nobody_yet = app.gate.work(|accounts| accounts.has_owner()).await.is_ok_and(|has| !has);
    let view = pages::SignIn { next, said: None, nobody_yet, authority: app.authority.is_some() };
    page(pages::sign_in(&outside(&app), &view))
}

pub(super) async fn register(State(app): State<App>, who: Option<Who>) -> Response {
    let adding = who.map(|Extension(who)| pages::Adding {
        name: who.name.to_string(),
        csrf: app.gate.accounts().page_word(&who),
    });
    page(pages::register(&outside(&app), &pages::Register { adding }))
}

pub(super) async fn recovery(State(app): State<App>) -> Response {
    page(pages::recovery(&outside(&app), &pages::Recovery {}))
}

pub(super) async fn authority(State(app): State<App>) -> Response {
    let Some(made) = app.authority.as_ref().and_then(|keeper| keeper.authority()) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let view = pages::Authority {
        names: vec![app.gate.site().host().to_owned()],
        fingerprint: made.fingerprint(),
        expires: None,
        certificate: "/authority/holdfast.crt".to_owned(),
        profile: Some("/authority/holdfast.mobileconfig".to_owned()),
    };
    page(pages::authority(&outside(&app), &view))
}

pub(super) async fn authority_file(State(app): State<App>, Path(file): Path<String>) -> Response {
    let Some(made) = app.authority.as_ref().and_then(|keeper| keeper.authority()) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    match file.as_str() {
        "holdfast.crt" => download("application/x-x509-ca-cert", "holdfast.crt", made.der),
        "holdfast.pem" => download("application/x-pem-file", "holdfast.pem", made.pem.into_bytes()),
        "holdfast.mobileconfig" => download(
            "application/x-apple-aspen-config",
            "holdfast.mobileconfig",
            made.mobileconfig().into_bytes(),
        ),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Assets have their digest in their names, so they never change.
pub(super) async fn asset(Path(file): Path<String>) -> Response {
    let wanted = format!("/assets/{file}");
    let Some(asset) = pages::assets().iter().find(|asset| asset.path == wanted) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let mut answer = Response::new(axum::body::Body::from(asset.bytes));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{file}\"")) {
        headers.insert(ETAG, tag);
    }
    answer
}
