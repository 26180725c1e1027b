//! The target's doorman, spoken to with the guard's own key: three of its words, in the form both sides use.
//!
//! The words are written here once more, because the guard must not depend on what the steward's crates come to; a test holds them against
//! the doorman's own.

use std::time::{Duration, Instant};

use holdfast_lifeline::{BootId, Ended, EpisodeId, Identity, Sighting};
use holdfast_line::{Line, Purpose, Unreached, shown};
use holdfast_probe::Found;
use serde::Deserialize;
use serde_json::json;

/// One route to a target.
#[derive(Clone, Debug)]
pub struct Rescue {
    line: Line,
}

/// Why a word had no use.
#[derive(Debug, thiserror::Error)]
pub enum Missed {
    #[error(transparent)]
    Unreached(#[from] Unreached),
    #[error("the doorman of {alias} said no: {said}")]
    Refused { alias: String, said: String },
}

/// What is read of a reply. Of the others it is enough that they are others.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Accepted,
    State(Box<State>),
    Pong {
        #[serde(rename = "boot")]
        _boot: BootId,
    },
}

#[derive(Debug, Deserialize)]
struct State {
    running: Identity,
    boots_into: Identity,
    boot: BootId,
    ended: Option<Ended>,
    leased: bool,
}

impl Rescue {
    pub fn over(line: Line) -> Rescue {
        Rescue { line }
    }

    /// Whether the key gets in and somebody answers behind it.
    pub fn gets_in(&self, within: Duration) -> Found {
        let began = Instant::now();
        match self.say("ping", Vec::new(), within) {
            Ok(Reply::Pong { .. }) => Found::Passed { took: began.elapsed() },
            Ok(_) => Found::Failed { why: "it answered something else".to_owned() },
            Err(Missed::Unreached(Unreached::TimedOut { .. })) => Found::TimedOut,
            Err(missed) => Found::Failed { why: missed.to_string() },
        }
    }

    /// What runs there, and how this episode ended.
    pub fn see(&self, episode: Option<&EpisodeId>, within: Duration) -> Result<Sighting, Missed> {
        let ask = json!({"state": {"full": false, "renew": null, "about": episode}});
        match self.say("state", ask.to_string().into_bytes(), within)? {
            Reply::State(state) => {
                let State { running, boots_into, boot, ended, leased } = *state;
                Ok(Sighting { running, boots_into, boot, ended, leased })
            }
            other => Err(self.refused(&format!("{other:?}"))),
        }
    }

    /// Goes back to that, and ends the episode there. Said again it changes nothing.
    pub fn restore(&self, episode: &EpisodeId, wanted: Identity, within: Duration) -> Result<(), Missed> {
        let ask = json!({"restore": {"episode": episode, "wanted": wanted}});
        match self.say("restore", ask.to_string().into_bytes(), within)? {
            Reply::Accepted => Ok(()),
            other => Err(self.refused(&format!("{other:?}"))),
        }
    }

    fn say(&self, word: &str, input: Vec<u8>, within: Duration) -> Result<Reply, Missed> {
        let said = self.line.exchange(Purpose::Once, &[word], input, within)?;
        serde_json::from_str(said.trim()).map_err(|_| self.refused(&said))
    }

    fn refused(&self, said: &str) -> Missed {
        Missed::Refused { alias: self.line.alias.clone(), said: shown(said) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_doorman::wire::{Ask, Reply as Theirs, Role, Word};
    use holdfast_steward::effect::{TargetState, Workload};

    /// The words as they are written above, read by the one who is asked.
    #[test]
    fn the_words_are_those_of_the_doorman() {
        let episode: EpisodeId = "ep_1".parse().unwrap();
        let wanted = Identity([7; 32]);
        let restore = json!({"restore": {"episode": episode, "wanted": wanted}}).to_string();
        let read = Ask::read(Word::Restore, restore.as_bytes()).unwrap();
        assert_eq!(read, Ask::Restore { episode: episode.clone(), wanted });
        let state = json!({"state": {"full": false, "renew": null, "about": episode}}).to_string();
        let read = Ask::read(Word::State, state.as_bytes()).unwrap();
        assert_eq!(read, Ask::State { full: false, renew: None, about: Some(episode) });
        assert!(read.is_for(Role::Rescue));
        assert_eq!(Ask::read(Word::Ping, b""), Ok(Ask::Ping {}));
    }

    #[test]
    fn its_replies_are_understood_and_refusals_are_none_of_them() {
        let said = |reply: &Theirs| serde_json::from_str::<Reply>(&serde_json::to_string(reply).unwrap());
        assert!(matches!(said(&Theirs::Accepted), Ok(Reply::Accepted)));
        assert!(matches!(
            said(&Theirs::Pong { version: "1".to_owned(), boot: BootId(3) }),
            Ok(Reply::Pong { .. })
        ));
        let state = TargetState {
            running: Identity([1; 32]),
            boots_into: Identity([2; 32]),
            boot: BootId(3),
            people: 4,
            workload: Workload::default(),
            ended: Some(Ended::Restored),
            leased: true,
            metric: None,
            full: None,
        };
        let Ok(Reply::State(read)) = said(&Theirs::State(Box::new(state))) else { panic!() };
        assert_eq!((read.running, read.boots_into), (Identity([1; 32]), Identity([2; 32])));
        assert_eq!((read.boot, read.ended, read.leased), (BootId(3), Some(Ended::Restored), true));
        for no in [
            Theirs::Refused(holdfast_lifeline::Refused::Busy),
            Theirs::Broken { why: "no room".to_owned() },
            Theirs::NotAdmitted { why: "no".to_owned() },
        ] {
            assert!(said(&no).is_err());
        }
    }
}
