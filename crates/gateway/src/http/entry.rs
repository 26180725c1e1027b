//! Coming in and going out: registering, signing in, recovering, signing out.

use serde::Deserialize;
use serde_json::{Value, json};
use webauthn_rs::prelude::{PublicKeyCredential, RegisterPublicKeyCredential};

use super::call::{Answer, Call};
use crate::accounts::{BROWSER_LIFE, NewSession};
use crate::ceremony::{Holder, Started};
use crate::cookie::CookieKind;
use crate::error::{Error, Result};
use crate::limit::{Kind, Whose};
use crate::name::Label;
use crate::path::local_path;

/// Longest name of a link or a ceremony that is looked at.
const NAME_MAX: usize = 128;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RegisterStart {
    link: Option<String>,
    #[serde(default)]
    label: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RegisterFinish {
    ceremony: String,
    credential: RegisterPublicKeyCredential,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignInFinish {
    ceremony: String,
    credential: PublicKeyCredential,
    #[serde(default)]
    next: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recover {
    code: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

pub(super) async fn register_start(mut call: Call) -> Result<Answer> {
    call.limit(Kind::Register).await?;
    let RegisterStart { link, label } = call.read()?;
    let label = Label::near(&label, "a device");
    let Some(link) = link else {
        return add_device_start(call, label).await;
    };
    let (holder, cookie) = call.holder()?;
    let link = short(link)?;
    let started = call.gate.work(move |accounts| accounts.register_start(holder, &link, &label)).await;
    let started = match started {
        Ok(started) => started,
        Err(e) => return Err(bad_link(&call, e).await),
    };
    Ok(begun(&started).with(cookie))
}

/// A way in for later: as dangerous as anything, so it takes a passkey in this very request.
async fn add_device_start(call: Call, label: Label) -> Result<Answer> {
    let who = call.session()?.clone();
    call.prove_at_once().await?;
    let started = call.gate.work(move |accounts| accounts.add_device_start(&who, &label)).await?;
    Ok(begun(&started))
}

pub(super) async fn register_finish(mut call: Call) -> Result<Answer> {
    call.limit(Kind::Register).await?;
    let RegisterFinish { ceremony, credential } = call.read()?;
    let (agent, previous) = (call.agent.clone(), call.previous());
    // Begun by the session, or by the browser before it signed in; a ceremony is found under one of them only.
    let holders: Vec<Holder> = session_holder(&call).into_iter().chain(call.held()).collect();
    let done = call.gate.enter(call.from.address, move |accounts| {
        under_any(&holders, |holder| {
            accounts.register_finish(holder, &ceremony, &credential, &agent, previous.as_ref())
        })
    });
    let done = match done.await {
        Ok(done) => done,
        Err(e) => return Err(bad_link(&call, e).await),
    };
    let next = if done.session.is_some() { "/" } else { "/settings" };
    let mut body = json!({ "codes": done.codes, "next": next });
    if let Some(session) = &done.session {
        body["word"] = json!(session.word.reveal());
    }
    let answer = Answer::new(body, "/");
    Ok(match &done.session {
        Some(session) => signed_in(&call, (done.person, done.device), session, answer).await?,
        None => answer,
    })
}

pub(super) async fn sign_in_start(mut call: Call) -> Result<Answer> {
    call.limit(Kind::SignInStart).await?;
    let Nothing {} = call.read()?;
    let (holder, cookie) = call.holder()?;
    // Neither disk nor slow hashes: done here.
    let started = call.gate.accounts().sign_in_start(holder)?;
    Ok(begun(&started).with(cookie))
}

pub(super) async fn sign_in_finish(mut call: Call) -> Result<Answer> {
    call.limit(Kind::SignInFinish).await?;
    let SignInFinish { ceremony, credential, next } = call.read()?;
    // Looked at before a seat is taken: what was not begun here costs nobody anything.
    let begun = |holder: &Holder| call.gate.accounts().has_begun_sign_in(*holder, &ceremony);
    let holder = call.held().into_iter().find(begun).ok_or(Error::CeremonyGone)?;
    let (agent, previous) = (call.agent.clone(), call.previous());
    let done = call
        .gate
        .enter(call.from.address, move |accounts| {
            accounts.sign_in_finish(holder, &ceremony, &credential, &agent, previous.as_ref())
        })
        .await?;
    let next = local_path(next.as_deref().unwrap_or("/"));
    let body = json!({ "next": next, "word": done.session.word.reveal() });
    signed_in(&call, (done.person, done.device), &done.session, Answer::new(body, next)).await
}

pub(super) async fn recover(mut call: Call) -> Result<Answer> {
    let Recover { code } = call.read()?;
    let (gate, known) = (call.gate.clone(), call.known);
    // Guessing the rest of a code is bounded for the code, from wherever it is tried, and for no other. What fits no code is bounded for
    // the place it comes from, and keeps nobody there from using one that does.
    let charge = move |prefix: &str, person| {
        let prefix = prefix.as_bytes().try_into().map_err(|_| Error::CodeRefused)?;
        let own = known.is_some_and(|known| known.person == person);
        gate.limit_for(Kind::Code, Whose::Code { prefix, own })
    };
    let done = call.gate.enter(call.from.address, move |accounts| accounts.recover(&code, charge)).await;
    let done = match done {
        Ok(done) => done,
        Err(e @ Error::CodeRefused) => return Err(call.limit(Kind::Recover).await.err().unwrap_or(e)),
        Err(other) => return Err(other),
    };
    let next = done.link.path();
    Ok(Answer::new(json!({ "next": next }), &next))
}

/// Whoever is signed out already is too.
pub(super) async fn sign_out(mut call: Call) -> Result<Answer> {
    if call.signed.is_some() {
        let who = call.session()?.clone();
        let Nothing {} = call.read()?;
        call.gate.act(call.from.address, move |accounts| accounts.end(&who)).await?;
    }
    Ok(Answer::go("/login").with(call.clear(CookieKind::Session)))
}

fn session_holder(call: &Call) -> Option<Holder> {
    call.session().ok().and_then(|who| who.session()).map(Holder::of_session)
}

fn short(text: String) -> Result<String> {
    if text.len() <= NAME_MAX { Ok(text) } else { Err(Error::LinkUnknown) }
}

/// Links are tried with their own, stricter limit.
async fn bad_link(call: &Call, e: Error) -> Error {
    match e {
        Error::LinkUnknown | Error::LinkExpired | Error::LinkUsed => {
            call.limit(Kind::LinkRefused).await.err().unwrap_or(e)
        }
        other => other,
    }
}

pub(super) fn begun(started: &Started) -> Answer {
    Answer::new(begun_body(started), "/")
}

pub(super) fn begun_body(started: &Started) -> Value {
    json!({ "ceremony": started.ceremony.reveal(), "publicKey": started.options })
}

/// The browser has its session, and a mark by which it is known from now on.
async fn signed_in(
    call: &Call,
    (person, device): (crate::PersonId, crate::DeviceId),
    session: &NewSession,
    answer: Answer,
) -> Result<Answer> {
    let (life, had) = (call.gate.accounts().settings().session_life.as_secs(), call.mark());
    let known = call.gate.work(move |accounts| accounts.know_browser(had.as_deref(), person, device));
    let mark = match known.await {
        Ok(Some(mark)) => call.cookie(CookieKind::Known, mark.reveal(), BROWSER_LIFE.as_secs()),
        Ok(None) => None,
        Err(e) => {
            // Signed in all the same; only the share of the door is missing.
            tracing::warn!(error = %e, "a browser could not be remembered");
            None
        }
    };
    Ok(answer
        .with(call.cookie(CookieKind::Session, session.cookie.reveal(), life))
        .with(call.clear(CookieKind::Before))
        .with(mark))
}

/// A ceremony is found under one of them only.
fn under_any<T>(holders: &[Holder], finish: impl Fn(Holder) -> Result<T>) -> Result<T> {
    let mut last = Err(Error::CeremonyGone);
    for holder in holders {
        last = finish(*holder);
        if !matches!(last, Err(Error::CeremonyGone)) {
            break;
        }
    }
    last
}
