//! Forms: what somebody who is signed in does from a page. Who may, and what it takes besides, is in `rights.rs`; whoever
//! carries it out writes it down.

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use holdfast_control::{MemoryAsk, Request, StewardOrder};
use holdfast_gateway::Signed;
use holdfast_pages::Place;

use super::app::{App, see_other};
use super::names::actor_of;
use super::record::record_failed;
use super::rights::Posted;
use super::shown::refused;
use crate::autonomy::Note;
use crate::problem::{CliError, Result};

/// Passes whoever may do it, and goes on to `next` when it is done.
async fn done(
    app: &App,
    posted: &Posted,
    place: Place,
    next: &str,
    job: impl FnOnce(&super::views::Views, &Signed) -> Result<()> + Send + 'static,
) -> Response {
    let who = &posted.who;
    if let Err(e) = posted.passes(app).await {
        return refused(app, who, place, e.problem().into()).await;
    }
    let signed = who.clone();
    match app.act(who, move |views| job(views, &signed)).await {
        Ok(()) => see_other(next),
        Err(failure) => {
            if posted.takes_passkey() {
                let what = posted.brought.act.what();
                record_failed(&app.views.office, who, &what, failure.problem()).await;
            }
            refused(app, who, place, failure).await
        }
    }
}

pub(super) async fn pause(State(app): State<App>, posted: Posted) -> Response {
    let reason = posted.reason();
    done(&app, &posted, Place::Overview, "/", move |views, who| {
        let office = &views.office;
        office.pause(&Note::new(office.clock.now(), actor_of(who), reason.as_deref())).map(drop)
    })
    .await
}

pub(super) async fn resume(State(app): State<App>, posted: Posted) -> Response {
    let reason = posted.reason();
    done(&app, &posted, Place::Overview, "/", move |views, who| {
        views.ask_office(Request::Resume { actor: actor_of(who), reason }).map(drop)
    })
    .await
}

/// What a person wants of the steward on one host.
pub(super) async fn order(
    State(app): State<App>,
    Path((host, word)): Path<(String, String)>,
    posted: Posted,
) -> Response {
    let order = match word.as_str() {
        "trigger" => StewardOrder::Trigger,
        "rollback" => StewardOrder::RollBack,
        "accept" => StewardOrder::Accept,
        "reset" => StewardOrder::Reset,
        "level" => StewardOrder::Level { to: posted.field("level").unwrap_or_default() },
        _ => return super::shown::nothing(State(app), Extension(posted.who)).await,
    };
    let next = super::names::path(&["hosts", &host]);
    done(&app, &posted, Place::Hosts, &next, move |views, who| {
        let actor = actor_of(who);
        let order = Request::StewardOrder { target: Some(host), order, actor, dry_run: false };
        views.ask_office(order).map(drop)
    })
    .await
}

pub(super) async fn forget(
    State(app): State<App>,
    Path((agent, id)): Path<(String, String)>,
    posted: Posted,
) -> Response {
    let next = super::names::path(&["memory", &agent, &id]);
    done(&app, &posted, Place::Memory, &next, move |views, who| {
        let ask = MemoryAsk::Forget { agent, id, actor: actor_of(who) };
        views.ask_office(Request::Memory { ask }).map(drop)
    })
    .await
}

/// Checks every byte of the journal, beside everything else.
pub(super) async fn verify(State(app): State<App>, posted: Posted) -> Response {
    if let Err(e) = posted.passes(&app).await {
        return refused(&app, &posted.who, Place::Audit, e.problem().into()).await;
    }
    // It may take long, and changes nothing: a look.
    match app.look(&posted.who, |views| views.office.verify_whole_journal(false).map(drop)).await {
        Ok(()) => see_other("/audit"),
        Err(failure) => refused(&app, &posted.who, Place::Audit, failure).await,
    }
}

/// Sends a test message to every channel, and shows what came of it where the channels are.
pub(super) async fn test_notices(State(app): State<App>, posted: Posted) -> Response {
    let who = posted.who.clone();
    if let Err(e) = posted.passes(&app).await {
        return refused(&app, &who, Place::Settings, e.problem().into()).await;
    }
    let channels = app
        .look(&who, |views| {
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
