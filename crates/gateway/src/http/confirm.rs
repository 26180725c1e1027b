//! Confirming one thing with a passkey: a verdict, which the finish carries out, or an act, which brings the answer along.

use holdfast_types::drives_a_terminal;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use webauthn_rs::prelude::PublicKeyCredential;

use super::call::{Answer, Call};
use super::entry::begun_body;
use super::routes::{Need, ROUTES};
use crate::error::{Error, Result};
use crate::path::local_path;
use crate::port::Confirmable;
use crate::proof::Act;
use crate::role::Role;
use crate::signed::Signed;

/// Longest name of something to confirm.
const WHAT_MAX: usize = 200;

/// As long as an approval takes it.
const REASON_CHARS_MAX: usize = 500;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    /// Something that waits for a verdict.
    #[serde(default)]
    what: Option<String>,
    #[serde(default)]
    reason: Option<String>,
    /// Or something that is about to be done.
    #[serde(default)]
    act: Option<Asked>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    method: String,
    to: String,
    #[serde(default)]
    fields: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Finish {
    ceremony: String,
    credential: PublicKeyCredential,
}

pub(super) async fn start(mut call: Call) -> Result<Answer> {
    let (what, reason) = match call.read()? {
        Start { what: Some(what), reason, act: None } => (what, reason),
        Start { what: None, reason: None, act: Some(act) } => return prove_start(call, act).await,
        _ => return Err(Error::BadRequest { why: "one of `what` and `act` says what is confirmed".into() }),
    };
    if what.is_empty() || what.len() > WHAT_MAX || !what.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(Error::BadRequest { why: "`what` names nothing".into() });
    }
    let reason = reason.map(said).transpose()?.flatten();
    let (who, ports) = (call.session()?.clone(), call.gate.ports().clone());
    let (started, shown) = call
        .gate
        .work(move |accounts| {
            let found = look_up(&*ports.confirm, &who, &what)?;
            Ok((accounts.confirm_start(&who, &what, found.digest, reason)?, found.shown))
        })
        .await?;
    let mut body = begun_body(&started);
    body["shown"] = json!(shown);
    Ok(Answer::new(body, "/"))
}

/// For an act, the passkey's answer comes with the act itself.
async fn prove_start(call: Call, asked: Asked) -> Result<Answer> {
    let act = Act::new(&asked.method, &asked.to, asked.fields);
    if !act.is_plain() {
        return Err(Error::BadRequest { why: "`act` names nothing".into() });
    }
    let (who, ports) = (call.session()?.clone(), call.gate.ports().clone());
    let (started, shown) = call
        .gate
        .work(move |accounts| {
            let (shown, least) = match own_act(&act) {
                Some(own) => own,
                None => ports.confirm.act(&who, &act).map_err(elsewhere)?,
            };
            who.at_least(least)?;
            Ok((accounts.prove_start(&who, &act)?, shown))
        })
        .await?;
    let mut body = begun_body(&started);
    body["shown"] = json!(shown);
    Ok(Answer::new(body, "/"))
}

/// An act on accounts.
fn own_act(act: &Act) -> Option<(String, Role)> {
    let route = ROUTES.iter().find(|route| act.method() == "POST" && route.path == act.to())?;
    let least = match route.need {
        Need::Session { least, .. } => least,
        Need::Anyone => Role::Viewer,
    };
    (!route.shown.is_empty()).then(|| (route.shown.to_owned(), least))
}

pub(super) async fn finish(mut call: Call) -> Result<Answer> {
    let Finish { ceremony, credential } = call.read()?;
    let (who, ports, from) = (call.session()?.clone(), call.gate.ports().clone(), call.from.address);
    let next = call
        .gate
        .act(from, move |accounts| {
            let confirmed = accounts.confirm_finish(&who, &ceremony, &credential)?;
            let (what, digest) = (confirmed.what().to_owned(), confirmed.digest());
            // Looked at again: it, or the role of whoever confirms it, may have changed since.
            if look_up(&*ports.confirm, &who, &what)?.digest != digest {
                return Err(Error::Altered);
            }
            ports.confirm.carry_out(&who, &what, digest, confirmed.reason()).map_err(elsewhere)
        })
        .await?;
    let next = local_path(&next);
    Ok(Answer::new(json!({ "next": next }), next))
}

/// A reason is one line; what is blank is none.
fn said(reason: String) -> Result<Option<String>> {
    let reason = reason.trim();
    if reason.chars().count() > REASON_CHARS_MAX || reason.chars().any(drives_a_terminal) {
        let why = format!("`reason` is one line of at most {REASON_CHARS_MAX} characters");
        return Err(Error::BadRequest { why });
    }
    Ok(Some(reason).filter(|reason| !reason.is_empty()).map(str::to_owned))
}

fn look_up(confirm: &dyn crate::port::Confirm, who: &Signed, what: &str) -> Result<Confirmable> {
    let found = confirm.look_up(who, what).map_err(elsewhere)?;
    who.at_least(found.least)?;
    Ok(found)
}

fn elsewhere(problem: holdfast_types::Problem) -> Error {
    Error::Elsewhere(Box::new(problem))
}
