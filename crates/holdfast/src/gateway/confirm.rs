//! What a person confirms with a passkey: a verdict on one ask; and what each act is that brings a passkey along.
//!
//! The gateway has a key of its own for approvals (`etc/keys/gateway.key`), which it uses for nothing but a verdict that a passkey has just
//! confirmed: the ask, the verdict and the digest of exactly what is allowed are bound to the ceremony. The daemon verifies what is signed as it
//! does any other verdict.

use std::sync::Arc;

use holdfast_approval::{Verdict, Word, sign};
use holdfast_control::{Answer, ApprovalState, Request};
use holdfast_gateway::{Act, Confirm, Confirmable, Role, Signed};
use holdfast_keys::SecretKey;
use holdfast_types::{ApprovalId, Problem};
use sha2::{Digest as _, Sha256};

use super::app::problem_of;
use super::names::actor_of;
use super::record::draft_failed;
use super::rights::Form;
use super::views::Views;
use crate::ask::unexpected;
use crate::commands::sign::digest_of;
use crate::problem::{CliError, Failure, Result};

pub(crate) struct Verdicts {
    views: Arc<Views>,
    key: Option<SecretKey>,
}

impl std::fmt::Debug for Verdicts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Verdicts")
    }
}

impl Verdicts {
    pub(crate) fn new(views: Arc<Views>, key: Option<SecretKey>) -> Verdicts {
        Verdicts { views, key }
    }

    fn find(&self, what: &str) -> Result<(Word, ApprovalState)> {
        let unknown = || Failure::from(CliError::NotThere { what: "ask".to_owned() });
        let (word, id) = what.split_once(':').ok_or_else(unknown)?;
        let word = match word {
            "approve" => Word::Approve,
            "reject" => Word::Reject,
            _ => return Err(unknown()),
        };
        let id: ApprovalId = id.parse().map_err(|_| unknown())?;
        match self.views.ask_office(Request::Approval { id })? {
            Answer::Approval(found) => Ok((word, *found)),
            other => Err(unexpected(&other)),
        }
    }

    fn given(&self, who: &Signed, what: &str, digest: [u8; 32], reason: Option<&str>) -> Result<String> {
        let (word, found) = self.find(what)?;
        if bound(word, &found)? != digest {
            return Err(holdfast_gateway::Error::Altered.problem().into());
        }
        let verdict = Verdict {
            ask: found.id,
            digest: digest_of(&found)?,
            verdict: word,
            by: actor_of(who),
            reason: reason.map(str::to_owned),
            issued_at: self.views.office.clock.now(),
            expires_at: found.expires_at,
            origin: found.origin.clone(),
        };
        let key = self.key.as_ref().ok_or_else(no_key)?;
        let signed = sign(&verdict, key)?.to_bytes();
        let document = signed.map_err(|e| Failure::from(e.problem()))?;
        let document = String::from_utf8_lossy(&document).into_owned();
        self.views.ask_office(Request::Verdict { document })?;
        Ok(format!("/inbox/{}", found.id))
    }
}

fn no_key() -> CliError {
    CliError::Gateway { why: "its key for approvals could not be made or is not trusted".to_owned() }
}

/// Of the verdict and of exactly what is allowed or refused.
fn bound(word: Word, found: &ApprovalState) -> Result<[u8; 32]> {
    let mut hash = Sha256::new();
    hash.update(crate::office::approvals::word(word).as_bytes());
    hash.update([0]);
    hash.update(found.id.to_string().as_bytes());
    hash.update([0]);
    hash.update(digest_of(found)?.to_string().as_bytes());
    Ok(hash.finalize().into())
}

impl Confirm for Verdicts {
    fn look_up(&self, _who: &Signed, what: &str) -> Result<Confirmable, Problem> {
        let looked = || -> Result<Confirmable> {
            let (word, found) = self.find(what)?;
            crate::commands::verdict::still_to_decide(&found, word)?;
            let summary = found.summary.first().cloned().unwrap_or_default();
            let shown = match word {
                Word::Approve => format!("Allow exactly this, once: {summary}"),
                Word::Reject => format!("Refuse this: {summary}"),
            };
            Ok(Confirmable { digest: bound(word, &found)?, shown, least: Role::Operator })
        };
        looked().map_err(problem_of)
    }

    fn act(&self, _who: &Signed, act: &Act) -> Result<(String, Role), Problem> {
        if let Some(form) = Form::at(act.to()).filter(|form| act.method() == "POST" && !form.shown.is_empty())
        {
            return Ok((form.shown_for(act), form.least_for(act)));
        }
        let path = act.to().split('?').next().unwrap_or_default();
        let method = http::Method::from_bytes(act.method().as_bytes());
        let found = method.ok().and_then(|method| holdfast_api::find(&method, path).ok());
        match found.filter(|found| found.route.passkey != holdfast_api::Passkey::Never) {
            Some(found) => {
                Ok((format!("{}.", found.route.summary), super::calls::gateway_role(found.route.least)))
            }
            None => Err(holdfast_gateway::Error::NotFound { what: "act" }.problem()),
        }
    }

    fn carry_out(
        &self,
        who: &Signed,
        what: &str,
        digest: [u8; 32],
        reason: Option<&str>,
    ) -> Result<String, Problem> {
        self.given(who, what, digest, reason).map_err(problem_of).inspect_err(|problem| {
            let journal = &self.views.office.journal;
            if let Err(e) = journal.append(&draft_failed(who, what, Some(problem))) {
                tracing::warn!(error = %e, what, "it could not be written down that this was not done");
            }
        })
    }
}
