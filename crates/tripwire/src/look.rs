//! One look from outside: who gets in, what answers, and whether it is the guard itself that is cut off.

use std::time::Duration;

use holdfast_lifeline::Sight;
use holdfast_probe::{Check, Found, Terms};

use crate::rescue::Rescue;
use crate::settings::Target;

/// Everything of a look is over by then; less than the time between two.
pub const LOOK_WITHIN: Duration = Duration::from_secs(8);

/// What a look gave, before it is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Whether the guard's own key gets in over the first route.
    pub entry: Found,
    /// What has to be well, and whether it alone would be evidence.
    pub probes: Vec<(bool, Found)>,
    pub references: Vec<Found>,
}

/// Looks at everything side by side.
pub fn look(target: &Target, first: &Rescue) -> Seen {
    let (entry, probes, references) = std::thread::scope(|scope| {
        let entry = scope.spawn(|| first.gets_in(LOOK_WITHIN));
        let probes = scope.spawn(|| holdfast_probe::all(&target.probes, &terms()));
        let references = holdfast_probe::all(&target.references, &terms());
        let nobody = |_| Found::Unknown { why: "the probe itself ended".to_owned() };
        (entry.join().unwrap_or_else(nobody), probes.join().unwrap_or_default(), references)
    });
    let probes = target.probes.iter().map(Check::is_evidence).zip(probes).collect();
    Seen { entry, probes, references }
}

/// Whether nothing at all answers that has nothing to do with the target.
pub fn is_cut_off(references: &[Check]) -> bool {
    !answers(&holdfast_probe::all(references, &terms()))
}

fn terms() -> Terms {
    Terms { within: LOOK_WITHIN, now: crate::clock::wall(), not_before: None }
}

fn answers(references: &[Found]) -> bool {
    references.iter().any(|found| matches!(found, Found::Passed { .. }))
}

impl Seen {
    // What a VPN's own service says of a peer lags and is hearsay: it alone never fires.
    pub fn sight(&self) -> Sight {
        let is_down = |found: &Found| matches!(found, Found::Failed { .. } | Found::TimedOut);
        let is_up = |found: &Found| matches!(found, Found::Passed { .. });
        let evidence = || {
            let probes = self.probes.iter().filter(|(evidence, _)| *evidence).map(|(_, found)| found);
            std::iter::once(&self.entry).chain(probes)
        };
        if evidence().any(is_down) {
            if answers(&self.references) { Sight::Bad } else { Sight::Unsure }
        } else if evidence().all(is_up) {
            Sight::Well
        } else {
            Sight::Unsure
        }
    }

    pub fn is_alone(&self) -> bool {
        !answers(&self.references)
    }

    /// What is wrong, for the log: short, and nothing when nothing is.
    pub fn complaint(&self) -> Option<String> {
        let word = |found: &Found| match found {
            Found::Passed { .. } => None,
            Found::Failed { why } => Some(format!("failed: {why}")),
            Found::TimedOut => Some("did not answer in time".to_owned()),
            Found::Unknown { why } => Some(format!("nobody can tell: {why}")),
        };
        let entry = word(&self.entry).map(|said| format!("getting in {said}"));
        let probes = self
            .probes
            .iter()
            .enumerate()
            .filter_map(|(at, (_, found))| word(found).map(|said| format!("probe {} {said}", at + 1)));
        let references = self.is_alone().then(|| "no reference answers".to_owned());
        let all: Vec<String> = entry.into_iter().chain(probes).chain(references).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed() -> Found {
        Found::Passed { took: Duration::from_millis(3) }
    }

    fn failed() -> Found {
        Found::Failed { why: "refused".to_owned() }
    }

    fn unknown() -> Found {
        Found::Unknown { why: "no monitor".to_owned() }
    }

    fn seen(entry: Found, probes: Vec<(bool, Found)>, references: Vec<Found>) -> Sight {
        Seen { entry, probes, references }.sight()
    }

    #[test]
    fn a_target_is_blamed_only_while_somebody_else_answers() {
        let well = || vec![passed(), failed()];
        assert_eq!(seen(passed(), vec![], well()), Sight::Well);
        assert_eq!(seen(failed(), vec![], well()), Sight::Bad);
        assert_eq!(seen(Found::TimedOut, vec![], well()), Sight::Bad);
        assert_eq!(seen(passed(), vec![(true, failed())], well()), Sight::Bad);
        assert_eq!(seen(failed(), vec![(true, failed())], vec![failed(), Found::TimedOut]), Sight::Unsure);
        assert_eq!(seen(failed(), vec![], vec![]), Sight::Unsure);
        // A monitor that has no answer proves nothing either way.
        assert_eq!(seen(passed(), vec![(true, unknown())], well()), Sight::Unsure);
        assert_eq!(seen(failed(), vec![(true, unknown())], well()), Sight::Bad);
        // Hearsay never fires, and is not missed.
        assert_eq!(seen(passed(), vec![(false, failed())], well()), Sight::Well);
        assert_eq!(seen(passed(), vec![(false, unknown())], well()), Sight::Well);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let seen = Seen {
            entry: Found::TimedOut,
            probes: vec![(true, passed()), (true, failed())],
            references: vec![failed()],
        };
        assert_eq!(
            seen.complaint().as_deref(),
            Some("getting in did not answer in time; probe 2 failed: refused; no reference answers")
        );
        let well = Seen { entry: passed(), probes: vec![], references: vec![passed()] };
        assert_eq!(well.complaint(), None);
    }
}
