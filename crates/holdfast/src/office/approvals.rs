//! The inbox of approvals, as the office keeps it: it lists, verifies and writes down, and has no key to approve with.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use holdfast_approval::{Approvals, Life, Now, State, Word};
use holdfast_control::{Answer, ApprovalLine, ApprovalState, Decision, VerdictTaken};
use holdfast_notice::{Notice, Severity};
use holdfast_store::Index;
use holdfast_types::{Actor, ApprovalId, Clock, Origin, Timestamp};

use super::Office;
use crate::kinds::own_actor;
use crate::look;
use crate::problem::{CliError, Result};

/// How far the clock may be behind the newest entry and still count as good: more than any clock is stepped back by a
/// time server that keeps it, far less than an approval lives.
const BEHIND_MAX: Duration = Duration::from_secs(300);

/// Columns of a summary in a list; the whole of it is in the ask.
const SUMMARY_WIDTH: usize = 200;

/// Asks that are told of one by one at a look; more at once are a crowd.
const TOLD_MAX: usize = 16;

/// What became of a verdict that was handed in.
#[derive(Debug)]
pub(crate) enum HandedIn {
    Taken(VerdictTaken),
    Refused(holdfast_approval::Error),
}

impl Office {
    /// The inbox, with an index that is up to date.
    pub(crate) fn approvals(&self) -> Result<&Approvals> {
        self.approvals_in(self.index_up_to_date()?)
    }

    /// The inbox for a look at it, and for a verdict: what the index lacks on a full disk is read from the journal.
    pub(crate) fn approvals_to_look_at(&self) -> Result<&Approvals> {
        self.approvals_in(self.index_to_look_at()?)
    }

    fn approvals_in(&self, index: &Arc<Index>) -> Result<&Approvals> {
        if let Some(approvals) = self.approvals.get() {
            return Ok(approvals);
        }
        let made = Approvals::new(self.journal.clone(), index.clone(), self.screen.clone());
        Ok(self.approvals.get_or_init(|| made))
    }

    /// The time, and whether the journal has seen a later one already.
    pub(crate) fn time_now(&self) -> Result<Now> {
        let last = match self.journal.size().checked_sub(1) {
            Some(last) => Some(self.journal.entry(last)?.parse()?.at),
            None => None,
        };
        Ok(judged(self.clock.as_ref(), last))
    }

    pub(super) fn list_approvals(&self, all: bool) -> Result<Answer> {
        let now = self.time_now()?;
        let lives = self.approvals_to_look_at()?.look_at_list(all)?;
        Ok(Answer::Approvals(shown(lives.iter(), all, now)))
    }

    pub(super) fn verdict(&self, document: &str, from: &Actor) -> Result<Answer> {
        match self.judge(document.as_bytes(), from)? {
            HandedIn::Taken(taken) => Ok(Answer::Verdict(taken)),
            HandedIn::Refused(error) => Err(error.into()),
        }
    }

    /// Takes a verdict from somebody who is not known and need not be: what counts is who signed it.
    pub(crate) fn hand_in(&self, document: &[u8]) -> Result<HandedIn> {
        self.judge(document, &stranger()?)
    }

    fn judge(&self, document: &[u8], from: &Actor) -> Result<HandedIn> {
        let trust = self.house.trust()?;
        let taken = match self.approvals_to_look_at()?.give(document, &trust, from, self.time_now()?) {
            Ok(taken) => taken,
            Err(error) => return Ok(HandedIn::Refused(error)),
        };
        let state = match taken.verdict {
            Word::Approve => State::Approved,
            Word::Reject => State::Rejected,
        };
        Ok(HandedIn::Taken(VerdictTaken {
            id: taken.ask,
            state: state.to_string(),
            recorded_as: taken.seq,
            repeated: taken.repeated,
        }))
    }

    /// Writes down what has expired, and tells people once of each ask that came in since the last look.
    pub(crate) fn look_after_approvals(&self) -> Result<()> {
        // It would only wait for it; the next look is soon.
        if self.rebuilding.load(Ordering::SeqCst) {
            return Ok(());
        }
        let (now, approvals) = (self.time_now()?, self.approvals()?);
        approvals.expire(&own_actor(), now)?;
        let open = approvals.list(false)?;
        let waiting: Vec<&Life> = open.iter().filter(|life| life.state_at(now) == State::Asked).collect();
        let newest = waiting.iter().map(|life| life.made_as + 1).max().unwrap_or(0);
        let told = self.asks_told.fetch_max(newest, Ordering::SeqCst);
        let fresh: Vec<&Life> = waiting.iter().copied().filter(|life| life.made_as >= told).collect();
        // The newest come first in the list, and the oldest ends first.
        for life in fresh.iter().take(TOLD_MAX).rev() {
            let notice = asked(life, self.journal.origin(), waiting.len());
            holdfast_notice::raise(&self.journal, &notice)?;
        }
        let further = fresh.len().saturating_sub(TOLD_MAX);
        if further > 0 {
            let text = look::count(further as u64, "further ask waits for you", "further asks wait for you");
            let text = format!("{text}: see `holdfast approvals list`.");
            let notice = Notice::new(Severity::Warning, own_actor(), text).folding("approvals-wait");
            holdfast_notice::raise(&self.journal, &notice)?;
        }
        Ok(())
    }
}

/// The ask that an episode waits for, among these.
pub(crate) fn asks_for_episode(lives: Vec<Life>, episode: &str) -> Option<ApprovalId> {
    let is_of =
        |life: &&Life| life.ask.action.what().get("episode").and_then(|it| it.as_str()) == Some(episode);
    lives.iter().find(is_of).map(|life| life.ask.id)
}

/// What people are told of an ask: a sentence, and what somebody needs who signs the answer elsewhere. The action itself may be
/// long, so its digest stands for it.
fn asked(life: &Life, origin: &Origin, waiting: usize) -> Notice {
    let ask = &life.ask;
    let what = look::cut(ask.summary.first().map_or("", String::as_str), SUMMARY_WIDTH);
    let text = format!("An ask waits for you: {what} See `holdfast approvals show {}`.", ask.id);
    Notice::new(Severity::Warning, own_actor(), text)
        .with("event", "approval_requested")
        .with("ask", ask.id)
        .with("subject", ask.action.subject())
        .with("target", ask.action.target())
        .with("digest", ask.digest())
        .with("expires_at", ask.expires_at)
        .with("origin", origin)
        .with("waiting", waiting)
}

/// Whoever hands something in over HTTP.
fn stranger() -> Result<Actor> {
    let name = "webhook".parse();
    Ok(name.map_err(|e: holdfast_types::NameError| CliError::Usage { message: e.to_string() })?)
}

/// What the clock says is relied on unless the journal has seen a later time.
pub(crate) fn judged(clock: &dyn Clock, last: Option<Timestamp>) -> Now {
    let at = clock.now();
    match last {
        Some(last) if at.plus(BEHIND_MAX) < last => Now::Unsure(at),
        _ => Now::Good(at),
    }
}

/// The lines of a list. What has expired is open no more, whether or not that is written down yet.
pub(crate) fn shown<'l>(lives: impl Iterator<Item = &'l Life>, all: bool, now: Now) -> Vec<ApprovalLine> {
    let open = |life: &&Life| all || matches!(life.state_at(now), State::Asked | State::Approved);
    lives.filter(open).map(|life| line(life, now)).collect()
}

fn line(life: &Life, now: Now) -> ApprovalLine {
    let ask = &life.ask;
    ApprovalLine {
        id: ask.id,
        state: life.state_at(now).to_string(),
        subject: ask.action.subject().to_string(),
        target: ask.action.target().to_string(),
        digest: ask.digest(),
        actor: ask.actor.clone(),
        asked_at: ask.asked_at,
        expires_at: life.expires_at(),
        summary: look::cut(ask.summary.first().map_or("", String::as_str), SUMMARY_WIDTH),
    }
}

pub(crate) fn in_full(life: &Life, origin: &Origin, now: Now) -> ApprovalState {
    let ask = &life.ask;
    let decision = life.given().map(|given| Decision {
        verdict: word(given.verdict.verdict).to_owned(),
        by: given.verdict.by.clone(),
        reason: given.verdict.reason.clone(),
        at: given.verdict.issued_at,
        recorded_as: given.seq,
    });
    ApprovalState {
        id: ask.id,
        state: life.state_at(now).to_string(),
        subject: ask.action.subject().to_string(),
        target: ask.action.target().to_string(),
        digest: ask.digest(),
        action: ask.action.what().clone(),
        summary: ask.summary.clone(),
        evidence: ask.evidence.clone(),
        actor: ask.actor.clone(),
        agent: ask.agent,
        asked_at: ask.asked_at,
        expires_at: life.expires_at(),
        origin: origin.clone(),
        decision,
        made_as: life.made_as,
        ended_as: life.ended_as(),
    }
}

pub(crate) const fn word(word: Word) -> &'static str {
    match word {
        Word::Approve => "approve",
        Word::Reject => "reject",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_testkit::TestClock;

    #[test]
    fn a_clock_behind_what_the_journal_has_seen_is_not_relied_on() {
        let clock = TestClock::at("2026-11-15T12:00:00.000000Z");
        let at = clock.now();
        assert_eq!(judged(&clock, None), Now::Good(at));
        assert_eq!(judged(&clock, Some(at.plus(BEHIND_MAX))), Now::Good(at));
        assert_eq!(judged(&clock, Some(at.plus(BEHIND_MAX * 2))), Now::Unsure(at));
        clock.set_wall(Timestamp::EPOCH);
        assert_eq!(judged(&clock, Some(at)), Now::Unsure(Timestamp::EPOCH));
    }
}
