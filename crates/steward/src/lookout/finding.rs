//! What was found, and the sentence that says it: what, since when, by how much, how sure.

use serde::{Deserialize, Serialize};

use crate::detect::Direction;
use crate::time::Steady;

/// What kind of change it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One sample, or very few, far out; then all was as before.
    Spike,
    /// The level moved and stayed.
    Shift,
    /// The level is moving.
    Drift,
    /// The level is as before, and samples scatter more or less about it.
    Spread,
    /// The daily or weekly round is another one.
    Cycle,
    /// No samples come.
    Missing,
}

/// A change that was found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    pub kind: Kind,
    /// Where to; none for a round or for missing samples.
    pub direction: Option<Direction>,
    /// When it was found.
    pub at: Steady,
    /// When it began, as near as can be told.
    pub began: Steady,
    /// The level before, in the metric's own unit; of a spread and a round, by how much samples usually stray.
    pub before: f64,
    /// The same since it began.
    pub now: f64,
    /// How sure it is, 0 to 1, were real changes no more frequent than the false alarms that were asked for.
    pub sure: f64,
    /// The natural logarithm of how many samples go by, on average, until chance brings something like it.
    pub surprise: f64,
}

/// One sentence. `figure` and `moment` write figures with their unit and times.
///
/// "Memory pressure on web-1 rose from 2 % to 31 % at 03:14 and stayed (almost certain)."
pub fn sentence(
    finding: &Finding,
    what: &str,
    figure: impl Fn(f64) -> String,
    moment: impl Fn(Steady) -> String,
) -> String {
    let (before, now, began) = (figure(finding.before), figure(finding.now), moment(finding.began));
    let sure = how_sure(finding.sure);
    let up = finding.direction != Some(Direction::Down);
    match finding.kind {
        Kind::Spike => {
            let verb = if up { "jumped" } else { "dropped" };
            format!("{what} {verb} from {before} to {now} at {began}, once, and came back ({sure}).")
        }
        Kind::Shift => {
            let verb = if up { "rose" } else { "fell" };
            format!("{what} {verb} from {before} to {now} at {began} and stayed ({sure}).")
        }
        Kind::Drift => {
            let verb = if up { "rising" } else { "falling" };
            format!("{what} has been {verb} since {began}, from {before} to {now} so far ({sure}).")
        }
        Kind::Spread => {
            let verb = if up { "more" } else { "less" };
            format!("{what} has scattered {verb} since {began}, by {now} where {before} was usual ({sure}).")
        }
        Kind::Cycle => {
            format!(
                "{what} has left its daily round since {began}, by {now} where {before} was usual ({sure})."
            )
        }
        Kind::Missing => format!("{what} has not been reported since {began}; {before} was usual."),
    }
}

/// In words, because a figure would promise more than is known.
pub(super) fn how_sure(sure: f64) -> &'static str {
    match sure {
        sure if sure >= 0.99 => "almost certain",
        sure if sure >= 0.9 => "very likely",
        sure if sure >= 0.7 => "likely",
        _ => "may be chance",
    }
}

#[cfg(test)]
mod tests;
