//! What a steward wants to be allowed, in the one inbox there is.
//!
//! The action names the episode, so it is asked, decided and used once. Which ask belongs to an episode is found by the
//! action's digest: nothing about it has to outlive a restart.

use std::time::Duration;

use holdfast_approval::{Action, LIFETIME_MAX, LIFETIME_MIN, Life, NewAsk, State};
use holdfast_lifeline::{EpisodeId, Identity, TargetName};
use holdfast_types::ApprovalId;
use serde_json::json;

use crate::kinds::own_actor;
use crate::office::Office;
use crate::problem::{CliError, Result};

/// How long a steward waits for an answer, in its own time.
const WAITS: Duration = Duration::from_secs(24 * 3600);

/// What kind of act it is.
const SUBJECT: &str = "steward.trial";

/// What a person would allow: this change on this target, by this episode.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) episode: EpisodeId,
    /// What the steward binds the answer to.
    pub(super) digest: String,
    pub(super) change: String,
    /// What would run there, and what is gone back to.
    pub(super) candidate: Identity,
    pub(super) known_good: Identity,
    pub(super) evidence: Vec<String>,
}

/// What became of an ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    NotYet,
    Allowed,
    Refused,
}

impl Wanted {
    fn action(&self, target: &TargetName) -> Result<Action> {
        let name = |e: holdfast_types::NameError| CliError::Usage { message: e.to_string() };
        let Wanted { episode, change, candidate, known_good, .. } = self;
        let what =
            json!({"episode": episode, "change": change, "candidate": candidate, "known_good": known_good});
        let (subject, target) = (SUBJECT.parse().map_err(name)?, target.as_str().parse().map_err(name)?);
        Ok(Action::new(subject, target, &what)?)
    }
}

/// Puts it into the inbox, where it is not in it yet.
pub(super) fn ask(office: &Office, target: &TargetName, wanted: &Wanted, speed: u32) -> Result<ApprovalId> {
    let action = wanted.action(target)?;
    if let Some(life) = find(office, &action)? {
        return Ok(life.ask.id);
    }
    let lifetime = (WAITS / speed.max(1)).clamp(LIFETIME_MIN, LIFETIME_MAX);
    let summary = format!("Try on {target}: {}.", wanted.change);
    let ask =
        NewAsk { evidence: wanted.evidence.clone(), lifetime, ..NewAsk::new(action, own_actor(), summary) };
    let asked = office.approvals()?.ask(ask, office.time_now()?)?;
    if asked.fresh {
        // Somebody may be far away, and the look every minute is the daemon's and not theirs. It is only an earlier one.
        if let Err(failure) = office.look_after_approvals() {
            super::around::warn_of(&failure, "people could not be told what waits for them");
        }
    }
    Ok(asked.life.ask.id)
}

/// Looks whether a person has said something, and uses up what they allowed.
pub(super) fn word(office: &Office, target: &TargetName, wanted: &Wanted, ask: ApprovalId) -> Result<Word> {
    let approvals = office.approvals()?;
    let now = office.time_now()?;
    match approvals.find_ask(ask)?.state_at(now) {
        State::Asked => Ok(Word::NotYet),
        State::Approved => {
            let trust = office.house.trust()?;
            let redeemed = approvals.redeem(ask, &wanted.action(target)?, &own_actor(), &trust, now)?;
            tracing::info!(episode = %wanted.episode, by = %redeemed.approved_by(), "allowed by a person");
            Ok(Word::Allowed)
        }
        // Used by us, and the steward did not hear of it: an episode leaves its waiting once, so this allows nothing twice.
        State::Used => Ok(Word::Allowed),
        State::Rejected | State::Withdrawn => Ok(Word::Refused),
        // The steward has its own patience.
        State::Expired => Ok(Word::NotYet),
    }
}

/// Takes back what an episode asked and nobody has decided. Also what was asked before a restart.
pub(super) fn withdraw(office: &Office, target: &TargetName, episode: &EpisodeId, why: &str) -> Result<()> {
    let (approvals, now) = (office.approvals()?, office.time_now()?);
    let is_it = |life: &Life| {
        let action = &life.ask.action;
        action.subject().to_string() == SUBJECT
            && action.target().to_string() == target.as_str()
            && action.what().get("episode").and_then(|it| it.as_str()) == Some(episode.as_str())
            && life.state_at(now) == State::Asked
    };
    for life in approvals.list(false)?.iter().filter(|life| is_it(life)) {
        approvals.withdraw(life.ask.id, &own_actor(), Some(why))?;
    }
    Ok(())
}

fn find(office: &Office, action: &Action) -> Result<Option<Life>> {
    let lives = office.approvals()?.list(true)?;
    let same = lives.into_iter().filter(|life| life.ask.digest() == action.digest());
    Ok(same.max_by_key(|life| life.made_as))
}
