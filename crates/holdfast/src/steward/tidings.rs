//! What a steward tells people, in their words.

use holdfast_lifeline::TargetName;
use holdfast_notice::Severity;
use holdfast_steward::effect::Tiding;

/// How grave it is, what happened in a word that programs read, and the sentence; nothing where somebody else tells it.
pub(super) fn told(tiding: &Tiding, target: &TargetName) -> Option<(Severity, &'static str, String)> {
    Some(match tiding {
        // Whoever looks after the inbox tells of everything in it.
        Tiding::ApprovalAsked { .. } => return None,
        Tiding::Kept { episode } => {
            (Severity::Info, "kept", format!("The change of {episode} on {target} was kept."))
        }
        Tiding::RolledBack { episode, why } => {
            (Severity::Warning, "rollback", format!("The change of {episode} on {target} was undone: {why}."))
        }
        Tiding::RollbackFails { episode } => (
            Severity::Critical,
            "rollback_failed",
            format!("The change of {episode} on {target} cannot be undone, and is tried again."),
        ),
        Tiding::BreakerOpened => (
            Severity::Warning,
            "circuit_opened",
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
            "late_harm",
            format!("The change of {episode} on {target} did harm over the day."),
        ),
        Tiding::AuthExpired => (
            Severity::Warning,
            "auth_expired",
            format!("The brain that plans for {target} was refused its credential."),
        ),
        Tiding::Draft { what } => {
            (Severity::Info, "draft", format!("Something on {target} is for you to decide: {what}."))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // shows: STW-250
    #[test]
    fn what_happened_is_told_in_a_word_that_programs_read_and_as_grave_as_it_is() {
        let (target, episode) =
            ("box-1".parse().unwrap(), "ep_1".parse::<holdfast_lifeline::EpisodeId>().unwrap());
        let of = || episode.clone();
        for (tiding, event, severity) in [
            (Tiding::BreakerOpened, "circuit_opened", Severity::Warning),
            (
                Tiding::RolledBack { episode: of(), why: "it was ill".to_owned() },
                "rollback",
                Severity::Warning,
            ),
            (Tiding::RollbackFails { episode: of() }, "rollback_failed", Severity::Critical),
            (Tiding::AuthExpired, "auth_expired", Severity::Warning),
            (Tiding::Kept { episode: of() }, "kept", Severity::Info),
            (Tiding::LateHarm { episode: of() }, "late_harm", Severity::Warning),
            (Tiding::Drifted, "drift", Severity::Warning),
        ] {
            let (grave, word, sentence) = told(&tiding, &target).unwrap();
            assert_eq!((word, grave), (event, severity), "{tiding:?}");
            assert!(sentence.contains("box-1"), "{sentence}");
            assert_eq!(tiding.episode().is_some(), sentence.contains("ep_1"), "{sentence}");
        }
        // The inbox tells of what waits in it.
        assert_eq!(told(&Tiding::ApprovalAsked { episode: of() }, &target), None);
    }
}
