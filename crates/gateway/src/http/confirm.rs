//! Confirming one thing with a passkey.

use holdfast_types::drives_a_terminal;
use serde::Deserialize;
use serde_json::json;
use webauthn_rs::prelude::PublicKeyCredential;

use super::call::{Answer, Call};
use super::entry::begun_body;
use crate::error::{Error, Result};
use crate::path::local_path;
use crate::port::Confirmable;
use crate::role::Role;
use crate::signed::Signed;

/// Longest name of something to confirm.
const WHAT_MAX: usize = 200;

/// As long as an approval takes it.
const REASON_CHARS_MAX: usize = 500;

/// Nothing but that it is still the same person: opens the dangerous acts for some minutes.
const FRESH: &str = "fresh";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    what: String,
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Finish {
    ceremony: String,
    credential: PublicKeyCredential,
}

pub(super) async fn start(mut call: Call) -> Result<Answer> {
    let Start { what, reason } = call.read()?;
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
            match what.as_str() {
                FRESH => Ok("/settings".to_owned()),
                _ => {
                    let done = ports.confirm.carry_out(&who, &what, digest, confirmed.reason());
                    done.map_err(elsewhere)
                }
            }
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
    let found = match what {
        FRESH => Confirmable {
            digest: [0; 32],
            shown:
                "Confirm that it is you. For ten minutes, devices, people, tokens and codes can be changed."
                    .into(),
            least: Role::Viewer,
        },
        _ => confirm.look_up(who, what).map_err(elsewhere)?,
    };
    who.at_least(found.least)?;
    Ok(found)
}

fn elsewhere(problem: holdfast_types::Problem) -> Error {
    Error::Elsewhere(Box::new(problem))
}
