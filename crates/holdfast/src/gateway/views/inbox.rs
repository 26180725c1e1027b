//! The inbox: what waits for a person, and one ask in full.

use holdfast_control::{Answer, ApprovalLine, ApprovalState, Request};
use holdfast_pages::{Ask, AskLine, AskState, Decision, Inbox};
use holdfast_types::ApprovalId;

use super::Views;
use crate::ask::unexpected;
use crate::problem::Result;

/// Decided asks that are listed; the journal has all of them.
const DECIDED_SHOWN: usize = 50;

impl Views {
    /// Asks that nobody has decided yet, the oldest first.
    pub(crate) fn open_asks(&self) -> Result<Vec<ApprovalLine>> {
        let mut open = self.asks(false)?;
        open.retain(|line| line.state == "asked");
        open.reverse();
        Ok(open)
    }

    fn asks(&self, all: bool) -> Result<Vec<ApprovalLine>> {
        match self.ask_office(Request::Approvals { all })? {
            Answer::Approvals(lines) => Ok(lines),
            other => Err(unexpected(&other)),
        }
    }

    pub(crate) fn inbox(&self) -> Result<Inbox> {
        let (mut open, decided): (Vec<_>, Vec<_>) =
            self.asks(true)?.into_iter().partition(|line| line.state == "asked");
        open.reverse();
        Ok(Inbox {
            open: open.into_iter().map(line).collect(),
            decided: decided.into_iter().take(DECIDED_SHOWN).map(line).collect(),
        })
    }

    pub(crate) fn ask(&self, id: ApprovalId) -> Result<Ask> {
        match self.ask_office(Request::Approval { id })? {
            Answer::Approval(state) => Ok(in_full(*state)),
            other => Err(unexpected(&other)),
        }
    }
}

fn line(of: ApprovalLine) -> AskLine {
    AskLine {
        id: of.id.to_string(),
        state: AskState::of(&of.state),
        subject: of.subject,
        target: of.target,
        actor: of.actor.to_string(),
        asked_at: of.asked_at,
        expires_at: of.expires_at,
        summary: of.summary,
    }
}

fn in_full(of: ApprovalState) -> Ask {
    let summary = of.summary.first().cloned().unwrap_or_default();
    Ask {
        line: AskLine {
            id: of.id.to_string(),
            state: AskState::of(&of.state),
            subject: of.subject,
            target: of.target,
            actor: of.actor.to_string(),
            asked_at: of.asked_at,
            expires_at: of.expires_at,
            summary,
        },
        summary: of.summary,
        evidence: of.evidence,
        action: serde_json::to_string_pretty(&of.action).unwrap_or_default(),
        digest: of.digest.to_string(),
        agent: of.agent.map(|agent| agent.to_string()),
        origin: of.origin.to_string(),
        decision: of.decision.map(|decision| Decision {
            verdict: decision.verdict,
            by: decision.by.to_string(),
            reason: decision.reason,
            at: decision.at,
            recorded_as: decision.recorded_as,
        }),
        made_as: of.made_as,
        ended_as: of.ended_as,
    }
}
