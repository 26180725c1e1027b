//! What the steward refuses, or cannot tell, when people ask something of it.

use std::path::PathBuf;

use holdfast_types::{Exit, Kind, Problem, ProblemCode};

use crate::problem::Failure;

#[derive(Debug, thiserror::Error)]
pub(crate) enum StewardError {
    #[error("{target} stays at {from}: for {to} {}", missing.join("; "))]
    LevelRefused { target: String, from: &'static str, to: &'static str, missing: Vec<String> },
    #[error("there is no level {name:?}")]
    UnknownLevel { name: String },
    #[error("the steward looks after no target {name:?}")]
    UnknownTarget { name: String, known: Vec<String> },
    #[error("the steward looks after nothing")]
    NoTargets,
    #[error("the steward looks after {} targets, and none was named", known.len())]
    WhichTarget { known: Vec<String> },
    #[error("the journal knows of no episode {text:?}")]
    UnknownEpisode { text: String },
    #[error("{text:?} stands for {} episodes: {}", found.len(), found.join(", "))]
    SeveralEpisodes { text: String, found: Vec<String> },
    #[error("{episode} does not wait for a person")]
    NothingAsked { episode: String },
    #[error("nothing is begun on {target}: {why}")]
    Held { target: String, why: String },
    #[error("there is nothing to undo on {target}: {why}")]
    NothingToUndo { target: String, why: &'static str },
    #[error("nothing works on {target} at the moment: {why}")]
    NotAtWork { target: String, why: String },
    #[error("the steward's records cannot be followed: {why}")]
    Unreadable { why: String },
    #[error("the steward's records could not be kept: {why}")]
    NotKept { why: String },
    #[error("entries of the kind {kind} are written by the steward alone")]
    Reserved { kind: Kind },
    #[error("{} is not a series: line {line}: {why}", path.display())]
    NotASeries { path: PathBuf, line: usize, why: String },
    #[error("nothing was calibrated: {why}")]
    NotCalibrated { why: String },
    #[error("the calibration in {} cannot be read: {why}", path.display())]
    CalibrationUnreadable { path: PathBuf, why: String },
}

impl StewardError {
    pub(crate) fn problem(&self) -> Problem {
        const NOTHING: &str = "Nothing was changed.";
        const SEE: &str = "See `holdfast steward status`.";
        let targets = |known: &[String]| format!("Name one of them: {}.", known.join(", "));
        let (number, exit, untouched, hint) = match self {
            StewardError::LevelRefused { .. } => {
                (1, Exit::Refused, "The level is as it was.", "A level is raised when its evidence is there: let the steward work at this one, and ask again.".to_owned())
            }
            StewardError::UnknownLevel { .. } => {
                (2, Exit::Usage, NOTHING, "The levels are observe, plan, approve-each, tier-one and tier-two.".to_owned())
            }
            StewardError::UnknownTarget { known, .. } if known.is_empty() => {
                (3, Exit::Negative, NOTHING, "Add it to `steward.targets` in config.yaml.".to_owned())
            }
            StewardError::UnknownTarget { known, .. } => (3, Exit::Negative, NOTHING, targets(known)),
            StewardError::NoTargets => {
                (4, Exit::Negative, NOTHING, "Add one to `steward.targets` in config.yaml: a host of yours, with `holdfast target add USER@HOST`, or a modelled one to try it out on, { name: box-1, driver: sim, speed: 600 }.".to_owned())
            }
            StewardError::WhichTarget { known } => (5, Exit::Usage, NOTHING, targets(known)),
            StewardError::UnknownEpisode { .. } => {
                (6, Exit::Negative, NOTHING, "See `holdfast steward episodes`; the beginning or the end of an id is enough.".to_owned())
            }
            StewardError::SeveralEpisodes { .. } => (7, Exit::Negative, NOTHING, "Say more of the id.".to_owned()),
            StewardError::NothingAsked { .. } => {
                (8, Exit::Negative, "Nothing was signed.", "See `holdfast steward show` for what became of it, and `holdfast approvals` for what waits.".to_owned())
            }
            StewardError::Held { .. } => (9, Exit::Refused, NOTHING, SEE.to_owned()),
            StewardError::NothingToUndo { .. } => (10, Exit::Negative, "The target is as it was.", SEE.to_owned()),
            StewardError::NotAtWork { .. } => {
                (11, Exit::CouldNotCheck, NOTHING, "See `holdfast status` and the daemon's log, then try again.".to_owned())
            }
            StewardError::Unreadable { .. } => (
                12,
                Exit::Damaged,
                "Nothing is tried on any target meanwhile.",
                "Check the journal with `holdfast audit verify`; a newer holdfast may have written entries that this one does not know.".to_owned(),
            ),
            StewardError::NotKept { .. } => {
                (13, Exit::CouldNotCheck, "What could not be written down was not done.", "See `holdfast status` for the journal and the disk.".to_owned())
            }
            StewardError::Reserved { .. } => {
                (14, Exit::Refused, "Nothing was written.", "Log it under a room of your own.".to_owned())
            }
            StewardError::NotASeries { .. } => (
                15,
                Exit::Usage,
                "Nothing was written.",
                "A series is CSV with the columns `timestamp` and `value`; an empty value is a missing one.".to_owned(),
            ),
            StewardError::NotCalibrated { .. } => (
                16,
                Exit::Negative,
                "The calibration before, if there is one, stays.",
                "Collect longer and try again; the detector `lookout` learns by itself meanwhile.".to_owned(),
            ),
            StewardError::CalibrationUnreadable { .. } => (
                17,
                Exit::Damaged,
                "It was not written over.",
                "Put it aside, and calibrate again with `holdfast steward calibrate`.".to_owned(),
            ),
        };
        let code = ProblemCode { room: "STW", number };
        Problem { code, exit, what: self.to_string(), untouched: untouched.to_owned(), hint }
    }

    /// One of each.
    pub(crate) fn samples() -> Vec<StewardError> {
        let text = |text: &str| text.to_owned();
        let (target, episode) = (|| text("box-1"), || text("ep_00000000000010000000000001"));
        let known = || vec![text("box-1"), text("box-2")];
        let missing = vec![text("41 of 168 hours of metrics without a gap of more than 5 minutes")];
        let mut all = vec![
            StewardError::LevelRefused { target: target(), from: "observe", to: "plan", missing },
            StewardError::UnknownLevel { name: text("captain") },
            StewardError::UnknownTarget { name: text("bax-1"), known: known() },
            StewardError::NoTargets,
            StewardError::WhichTarget { known: known() },
            StewardError::UnknownEpisode { text: text("ep_7") },
            StewardError::SeveralEpisodes {
                text: text("1"),
                found: vec![episode(), text("ep_00000000000010000000000011")],
            },
            StewardError::NothingAsked { episode: episode() },
            StewardError::Held { target: target(), why: text("at the level observe nothing is planned") },
            StewardError::NothingToUndo { target: target(), why: "no episode is open" },
            StewardError::NotAtWork { target: target(), why: text("it has not been started yet") },
            StewardError::Unreadable {
                why: text("entry 41 (steward.trial.kept) cannot be read: it has no target"),
            },
            StewardError::NotKept { why: text("no space left on device") },
        ];
        all.extend("steward.trial.kept".parse().map(|kind| StewardError::Reserved { kind }));
        all.extend([
            StewardError::NotASeries {
                path: "pressure.csv".into(),
                line: 12,
                why: text("\"later\" is not a time in a form that is known"),
            },
            StewardError::NotCalibrated {
                why: text("calibration needs 7 days of samples, and there are 144 hours"),
            },
            StewardError::CalibrationUnreadable {
                path: "box-1.cusum-params.json".into(),
                why: text("format 2 is not known, only 1"),
            },
        ]);
        all
    }
}

impl From<StewardError> for Failure {
    fn from(error: StewardError) -> Failure {
        error.problem().into()
    }
}

/// Refuses an entry that only the steward may write, wherever entries are taken from outside: it believes what it reads there.
pub(crate) fn refuse_reserved(kind: &Kind) -> Result<(), StewardError> {
    match kind.room().as_str() {
        "steward" | holdfast_history::ROOM => Err(StewardError::Reserved { kind: kind.clone() }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_contiguous() {
        let numbers: Vec<u16> = StewardError::samples().iter().map(|e| e.problem().code.number).collect();
        assert_eq!(numbers, (1..=17).collect::<Vec<u16>>());
    }

    #[test]
    fn nobody_else_writes_in_this_room() {
        let refused = |kind: &str| refuse_reserved(&kind.parse().unwrap()).is_err();
        assert!(refused("steward.trial.kept") && refused("history.branch.pushed"));
        assert!(refused("steward.note.added"), "a kind nobody knows would stop the reading");
        assert!(!refused("stewards.trial.kept"));
    }
}
