//! A request for an approval: the action, who wants it, what a person should read before deciding, and until when.

use std::time::Duration;

use holdfast_types::{Actor, AgentId, ApprovalId, Digest, Timestamp, drives_a_terminal};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::action::Action;
use crate::error::{Error, Result};
use crate::name::{Subject, Target};

/// Shorter than this nobody answers.
pub const LIFETIME_MIN: Duration = Duration::from_secs(60);
/// Longer than this the world the ask was made in is another one.
pub const LIFETIME_MAX: Duration = Duration::from_secs(7 * 86_400);
/// A day: whoever looks once a day sees it.
pub const LIFETIME_DEFAULT: Duration = Duration::from_secs(86_400);

/// Lines a person reads; more is a document, and belongs behind a link.
const LINES_MAX: usize = 20;
/// All lines of a summary, or of the evidence, together. With the action it fits a line of the journal, escapes included.
pub const TEXT_BYTES_MAX: usize = 8 * 1024;

/// What a part wants to be allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct NewAsk {
    pub action: Action,
    /// What would be done, in sentences. The screen may redact them; the digest does not depend on them.
    pub summary: Vec<String>,
    /// Why: measurements, links, entries.
    pub evidence: Vec<String>,
    /// Who asks.
    pub actor: Actor,
    /// The agent it is about, where there is one.
    pub agent: Option<AgentId>,
    pub lifetime: Duration,
}

impl NewAsk {
    /// One with the usual lifetime and nothing to read but this line.
    pub fn new(action: Action, actor: Actor, summary: impl Into<String>) -> NewAsk {
        let summary = vec![summary.into()];
        NewAsk { action, summary, evidence: Vec::new(), actor, agent: None, lifetime: LIFETIME_DEFAULT }
    }

    pub(crate) fn made(self, id: ApprovalId, at: Timestamp) -> Result<Ask> {
        let NewAsk { action, summary, evidence, actor, agent, lifetime } = self;
        let ask =
            Ask { id, action, summary, evidence, actor, agent, asked_at: at, expires_at: at.plus(lifetime) };
        ask.check().map(|()| ask)
    }
}

/// A request as it was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub struct Ask {
    pub id: ApprovalId,
    pub action: Action,
    pub summary: Vec<String>,
    pub evidence: Vec<String>,
    pub actor: Actor,
    pub agent: Option<AgentId>,
    pub asked_at: Timestamp,
    pub expires_at: Timestamp,
}

impl Ask {
    pub fn digest(&self) -> Digest {
        self.action.digest()
    }

    fn check(&self) -> Result<()> {
        let bad = |why: &str| Err(Error::BadAsk { why: why.to_owned() });
        let lifetime = self.expires_at.since(self.asked_at);
        if !(LIFETIME_MIN..=LIFETIME_MAX).contains(&lifetime) {
            return bad("it must hold for at least a minute and at most seven days");
        }
        if self.summary.is_empty() {
            return bad("it must say in at least one line what would be done");
        }
        for text in [&self.summary, &self.evidence] {
            if text.len() > LINES_MAX || text.iter().map(String::len).sum::<usize>() > TEXT_BYTES_MAX {
                return bad("summary and evidence have at most 20 lines and 8 KiB each");
            }
            if text.iter().flat_map(|line| line.chars()).any(drives_a_terminal) {
                return bad("summary and evidence are lines without control characters");
            }
        }
        Ok(())
    }
}

/// An ask as it is stored. In the journal `actor` and `agent` are in the envelope instead.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    ask: ApprovalId,
    subject: Subject,
    target: Target,
    digest: Digest,
    action: Value,
    summary: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<String>,
    asked_at: Timestamp,
    expires_at: Timestamp,
    actor: Actor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<AgentId>,
}

impl From<Ask> for Form {
    fn from(ask: Ask) -> Form {
        Form {
            ask: ask.id,
            subject: ask.action.subject().clone(),
            target: ask.action.target().clone(),
            digest: ask.action.digest(),
            action: ask.action.what().clone(),
            summary: ask.summary,
            evidence: ask.evidence,
            asked_at: ask.asked_at,
            expires_at: ask.expires_at,
            actor: ask.actor,
            agent: ask.agent,
        }
    }
}

impl TryFrom<Form> for Ask {
    type Error = Error;

    /// The digest is computed again: an ask whose digest is not that of its action is none.
    fn try_from(form: Form) -> Result<Ask> {
        let action = Action::new(form.subject, form.target, &form.action)?;
        if action.digest() != form.digest {
            return Err(Error::BadAsk { why: "its digest is not that of its action".into() });
        }
        let ask = Ask {
            id: form.ask,
            action,
            summary: form.summary,
            evidence: form.evidence,
            actor: form.actor,
            agent: form.agent,
            asked_at: form.asked_at,
            expires_at: form.expires_at,
        };
        ask.check().map(|()| ask)
    }
}
