//! Coming in and going out: registering, signing in, recovering, signing out.

use serde::Deserialize;
use serde_json::{Value, json};
use webauthn_rs::prelude::{PublicKeyCredential, RegisterPublicKeyCredential};

use super::call::{Answer, Call};
use crate::accounts::NewSession;
use crate::ceremony::{Holder, Started};
use crate::cookie::CookieKind;
use crate::error::{Error, Result};
use crate::limit::Kind;
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
    call.gate.limit(Kind::Register, call.from.address)?;
    let RegisterStart { link, label } = call.read()?;
    let label = Label::near(&label, "a device");
    let Some(link) = link else {
        return add_device_start(call, label).await;
    };
    let (holder, cookie) = call.holder()?;
    let link = short(link)?;
    let started = call.gate.work(move |accounts| accounts.register_start(holder, &link, &label)).await;
    let started = started.map_err(|e| bad_link(&call, e))?;
    Ok(begun(&started).with(cookie))
}

/// A way in for later: as dangerous as anything, so it takes a passkey used a moment ago.
async fn add_device_start(call: Call, label: Label) -> Result<Answer> {
    let who = call.session()?.clone();
    if !who.fresh() {
        return Err(Error::NotFresh);
    }
    let started = call.gate.work(move |accounts| accounts.add_device_start(&who, &label)).await?;
    Ok(begun(&started))
}

pub(super) async fn register_finish(mut call: Call) -> Result<Answer> {
    call.gate.limit(Kind::Register, call.from.address)?;
    let RegisterFinish { ceremony, credential } = call.read()?;
    let (agent, previous) = (call.agent.clone(), call.signed.clone());
    // Begun by the session, or by the browser before it signed in; a ceremony is found under one of them only.
    let holders: Vec<Holder> = session_holder(&call).into_iter().chain(call.held().ok()).collect();
    let done = call.gate.enter(call.from.address, move |accounts| {
        let mut last = Err(Error::CeremonyGone);
        for holder in holders {
            last = accounts.register_finish(holder, &ceremony, &credential, &agent, previous.as_ref());
            if !matches!(last, Err(Error::CeremonyGone)) {
                break;
            }
        }
        last
    });
    let done = done.await.map_err(|e| bad_link(&call, e))?;
    let body = json!({ "codes": done.codes, "next": if done.session.is_some() { "/" } else { "/settings" } });
    let answer = Answer::new(body, "/");
    Ok(match &done.session {
        Some(session) => signed_in(&call, session, answer),
        None => answer,
    })
}

pub(super) async fn sign_in_start(mut call: Call) -> Result<Answer> {
    call.gate.limit(Kind::SignInStart, call.from.address)?;
    let Nothing {} = call.read()?;
    let (holder, cookie) = call.holder()?;
    // Neither disk nor slow hashes: done here.
    let started = call.gate.accounts().sign_in_start(holder)?;
    Ok(begun(&started).with(cookie))
}

pub(super) async fn sign_in_finish(mut call: Call) -> Result<Answer> {
    call.gate.limit(Kind::SignInFinish, call.from.address)?;
    let SignInFinish { ceremony, credential, next } = call.read()?;
    let (holder, agent, previous) = (call.held()?, call.agent.clone(), call.signed.clone());
    let done = call
        .gate
        .enter(call.from.address, move |accounts| {
            accounts.sign_in_finish(holder, &ceremony, &credential, &agent, previous.as_ref())
        })
        .await?;
    let next = local_path(next.as_deref().unwrap_or("/"));
    Ok(signed_in(&call, &done.session, Answer::new(json!({ "next": next }), next)))
}

pub(super) async fn recover(mut call: Call) -> Result<Answer> {
    call.gate.limit(Kind::Recover, call.from.address)?;
    let Recover { code } = call.read()?;
    let done = call.gate.enter(call.from.address, move |accounts| accounts.recover(&code)).await?;
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
    Ok(Answer::go("/login").with(CookieKind::Session.clear(call.https())))
}

fn session_holder(call: &Call) -> Option<Holder> {
    call.session().ok().and_then(|who| who.session()).map(Holder::of_session)
}

fn short(text: String) -> Result<String> {
    if text.len() <= NAME_MAX { Ok(text) } else { Err(Error::LinkUnknown) }
}

/// Links are tried with their own, stricter limit.
fn bad_link(call: &Call, e: Error) -> Error {
    match e {
        Error::LinkUnknown | Error::LinkExpired | Error::LinkUsed => {
            call.gate.limit(Kind::LinkRefused, call.from.address).err().unwrap_or(e)
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

fn signed_in(call: &Call, session: &NewSession, answer: Answer) -> Answer {
    let life = call.gate.accounts().settings().session_life.as_secs();
    answer
        .with(CookieKind::Session.set(session.cookie.reveal(), call.https(), life))
        .with(CookieKind::Before.clear(call.https()))
}
