//! Forms: what somebody who is signed in does from a page. Whoever carries it out writes it down.

use std::collections::HashMap;

use axum::Extension;
use axum::extract::{Form, Path, State};
use axum::response::Response;
use holdfast_control::{MemoryAsk, Request, StewardOrder};
use holdfast_gateway::{Caller, Role, Signed};
use holdfast_pages::Place;

use super::app::{App, see_other};
use super::names::actor_of;
use super::shown::refused;
use crate::autonomy::Note;
use crate::problem::{CliError, Result};

type Who = Extension<Signed>;
type Sent = Form<HashMap<String, String>>;

/// Passes whoever may do it, and goes on to `next` when it is done.
async fn done(
    app: &App,
    who: Signed,
    caller: Option<Extension<Caller>>,
    least: Role,
    place: Place,
    next: &str,
    job: impl FnOnce(&super::views::Views, &Signed) -> Result<()> + Send + 'static,
) -> Response {
    let from = caller.map(|Extension(caller)| caller).unwrap_or_default();
    if let Err(e) = app.gate.require(&who, least, from) {
        return refused(app, &who, place, e.problem().into()).await;
    }
    let signed = who.clone();
    match app.act(move |views| job(views, &signed)).await {
        Ok(()) => see_other(next),
        Err(failure) => refused(app, &who, place, failure).await,
    }
}

fn reason(sent: &HashMap<String, String>) -> Option<String> {
    sent.get("reason").map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

pub(super) async fn pause(
    State(app): State<App>,
    Extension(who): Who,
    caller: Option<Extension<Caller>>,
    Form(sent): Sent,
) -> Response {
    done(&app, who, caller, Role::Operator, Place::Overview, "/", move |views, who| {
        let office = &views.office;
        office.pause(&Note::new(office.clock.now(), actor_of(who), reason(&sent).as_deref())).map(drop)
    })
    .await
}

pub(super) async fn resume(
    State(app): State<App>,
    Extension(who): Who,
    caller: Option<Extension<Caller>>,
    Form(sent): Sent,
) -> Response {
    done(&app, who, caller, Role::Operator, Place::Overview, "/", move |views, who| {
        views.ask_office(Request::Resume { actor: actor_of(who), reason: reason(&sent) }).map(drop)
    })
    .await
}

/// What a person wants of the steward on one host.
pub(super) async fn order(
    State(app): State<App>,
    Extension(who): Who,
    caller: Option<Extension<Caller>>,
    Path((host, word)): Path<(String, String)>,
    Form(sent): Sent,
) -> Response {
    let order = match word.as_str() {
        "trigger" => StewardOrder::Trigger,
        "rollback" => StewardOrder::RollBack,
        "accept" => StewardOrder::Accept,
        "reset" => StewardOrder::Reset,
        "level" => StewardOrder::Level { to: sent.get("level").cloned().unwrap_or_default() },
        _ => return super::shown::nothing(State(app), Extension(who)).await,
    };
    // More autonomy is an owner's to give; less is anybody's who may act.
    let least = match &order {
        StewardOrder::Level { to } if to != "observe" => Role::Owner,
        _ => Role::Operator,
    };
    let next = super::names::path(&["hosts", &host]);
    done(&app, who, caller, least, Place::Hosts, &next, move |views, who| {
        let actor = actor_of(who);
        let order = Request::StewardOrder { target: Some(host), order, actor, dry_run: false };
        views.ask_office(order).map(drop)
    })
    .await
}

pub(super) async fn forget(
    State(app): State<App>,
    Extension(who): Who,
    caller: Option<Extension<Caller>>,
    Path((agent, id)): Path<(String, String)>,
    Form(_): Sent,
) -> Response {
    let next = super::names::path(&["memory", &agent, &id]);
    done(&app, who, caller, Role::Owner, Place::Memory, &next, move |views, who| {
        let ask = MemoryAsk::Forget { agent, id, actor: actor_of(who) };
        views.ask_office(Request::Memory { ask }).map(drop)
    })
    .await
}

/// Checks every byte of the journal, beside everything else.
pub(super) async fn verify(
    State(app): State<App>,
    Extension(who): Who,
    caller: Option<Extension<Caller>>,
    Form(_): Sent,
) -> Response {
    let from = caller.map(|Extension(caller)| caller).unwrap_or_default();
    if let Err(e) = app.gate.require(&who, Role::Operator, from) {
        return refused(&app, &who, Place::Audit, e.problem().into()).await;
    }
    // It may take long, and changes nothing: a look.
    match app.look(|views| views.office.verify_whole_journal(false).map(drop)).await {
        Ok(()) => see_other("/audit"),
        Err(failure) => refused(&app, &who, Place::Audit, failure).await,
    }
}

/// Sends a test message to every channel, and shows what came of it where the channels are.
pub(super) async fn test_notices(
    State(app): State<App>,
    Extension(who): Who,
    caller: Option<Extension<Caller>>,
    Form(_): Sent,
) -> Response {
    let from = caller.map(|Extension(caller)| caller).unwrap_or_default();
    if let Err(e) = app.gate.require(&who, Role::Operator, from) {
        return refused(&app, &who, Place::Settings, e.problem().into()).await;
    }
    let channels = app
        .look(|views| {
            let office = &views.office;
            let loaded = office.config();
            crate::settings::each_channel(&loaded.config, &office.house.places, &office.clock)
        })
        .await;
    let channels = match channels {
        Ok(channels) => channels,
        Err(failure) => return refused(&app, &who, Place::Settings, failure).await,
    };
    let origin = app.views.office.journal.origin().clone();
    let tried = crate::commands::notice::try_each(channels, &origin).await;
    let wrong: Vec<String> = tried.iter().flatten().filter_map(|one| one.sentence()).collect();
    if wrong.is_empty() {
        return see_other("/settings/notices");
    }
    refused(&app, &who, Place::Settings, CliError::NoticesFailed { why: wrong.join("; ") }.into()).await
}
