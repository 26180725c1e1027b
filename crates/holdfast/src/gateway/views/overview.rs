//! The overview: whether anything needs a person, what is on trial, how the hosts are, what happened lately.

use holdfast_control::StewardTargetState;
use holdfast_pages::{Need, Overview, State};

use super::Views;
use crate::problem::{Failure, Result};

/// Sentences of what happened lately.
const LATELY: usize = 12;

impl Views {
    pub(crate) fn overview(&self) -> Result<Overview> {
        self.stories.catch_up(&self.office.journal)?;
        let targets = self.targets();
        let (status, unknown) = match self.status() {
            Ok(status) => (Some(status), None),
            // A house whose state cannot be read is no house where all is well.
            Err(Failure::Problem(problem)) => (None, Some(problem.what.clone())),
            Err(failure) => return Err(failure),
        };
        let mut needs = self.asks_waiting()?;
        needs.extend(targets.iter().filter_map(needs_of));
        let said = status.iter().flat_map(|status| status.needs_you.iter());
        needs.extend(said.map(|sentence| Need {
            state: State::NeedsYou,
            sentence: sentence.clone(),
            since: None,
            href: Some("/settings".to_owned()),
            word: "See how it is".to_owned(),
        }));
        let trials = targets.iter().filter_map(|target| Some(self.trial(target, target.open.as_ref()?)));
        Ok(Overview {
            unknown,
            needs,
            trials: trials.collect(),
            hosts: targets.iter().map(|target| self.host_line(target)).collect(),
            story: self.lately(LATELY),
        })
    }

    fn asks_waiting(&self) -> Result<Vec<Need>> {
        let need = |line: holdfast_control::ApprovalLine| Need {
            state: State::NeedsYou,
            sentence: line.summary,
            since: Some(line.asked_at),
            href: Some(format!("/inbox/{}", line.id)),
            word: "Decide".to_owned(),
        };
        Ok(self.open_asks()?.into_iter().map(need).collect())
    }
}

/// What a host needs a person for, besides asks.
fn needs_of(target: &StewardTargetState) -> Option<Need> {
    let name = &target.target;
    let sentence = if target.breaker_open {
        format!(
            "Too many trials in a row were undone on {name}; nothing is tried there until you have looked."
        )
    } else if target.drifted {
        format!("{name} is not what it was left as.")
    } else if let Some(trouble) = &target.trouble {
        format!("Nobody is at work on {name}: {trouble}.")
    } else {
        return None;
    };
    let state = if target.trouble.is_some() { State::Unknown } else { State::NeedsYou };
    Some(Need { state, sentence, since: None, href: Some(format!("/hosts/{name}")), word: "Look".to_owned() })
}
