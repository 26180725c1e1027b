//! What a steward tells people, in their words.

use holdfast_lifeline::TargetName;
use holdfast_notice::Severity;
use holdfast_steward::effect::Tiding;

/// How grave it is, what it folds with, and the sentence; nothing where somebody else tells it.
pub(super) fn told(tiding: &Tiding, target: &TargetName) -> Option<(Severity, &'static str, String)> {
    Some(match tiding {
        // Whoever looks after the inbox tells of everything in it.
        Tiding::ApprovalAsked { .. } => return None,
        Tiding::Kept { episode } => {
            (Severity::Info, "kept", format!("The change of {episode} on {target} was kept."))
        }
        Tiding::RolledBack { episode, why } => {
            (Severity::Warning, "undone", format!("The change of {episode} on {target} was undone: {why}."))
        }
        Tiding::RollbackFails { episode } => (
            Severity::Critical,
            "stuck",
            format!("The change of {episode} on {target} cannot be undone, and is tried again."),
        ),
        Tiding::BreakerOpened => (
            Severity::Warning,
            "breaker",
            format!(
                "Too many trials in a row were undone on {target}: nothing is tried there until `holdfast steward reset {target}`."
            ),
        ),
        Tiding::Drifted => (
            Severity::Warning,
            "drift",
            format!(
                "{target} is not what the steward left it as: nothing is tried there until `holdfast steward accept {target}`."
            ),
        ),
        Tiding::LateHarm { episode } => (
            Severity::Warning,
            "late-harm",
            format!("The change of {episode} on {target} did harm over the day."),
        ),
        Tiding::AuthExpired => (
            Severity::Warning,
            "brain",
            format!("The brain that plans for {target} was refused its credential."),
        ),
        Tiding::Draft { what } => {
            (Severity::Info, "draft", format!("Something on {target} is for you to decide: {what}."))
        }
    })
}
