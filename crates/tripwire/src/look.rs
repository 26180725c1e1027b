//! One look from outside: who gets in, what answers, and whether it is the guard itself that is cut off.

use std::time::Duration;

use holdfast_lifeline::Sight;
use holdfast_probe::{Check, Found, Terms};

use crate::rescue::Rescue;
use crate::settings::Target;

/// Getting in and all probes are over by then; together with the references before and after, less than the time between two looks.
pub const LOOK_WITHIN: Duration = Duration::from_secs(6);
const REFERENCES_WITHIN: Duration = Duration::from_millis(1500);

/// What a look gave, before it is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Whether the guard's own key gets in over the first route.
    pub entry: Found,
    /// What has to be well, and whether it alone would be evidence.
    pub probes: Vec<(bool, Found)>,
    /// Whether anybody answered who has nothing to do with the target, before and, where something is down, once more afterwards: a network
    /// that went away in between, or came back, is nobody's fault.
    pub answered_before: bool,
    pub answered_after: bool,
}

/// Looks at the target, everything side by side.
pub fn look(target: &Target, first: &Rescue) -> Seen {
    let answered_before = !is_cut_off(&target.references);
    let (entry, probes) = std::thread::scope(|scope| {
        let entry = scope.spawn(|| first.gets_in(LOOK_WITHIN));
        let probes = holdfast_probe::all(&target.probes, &terms(LOOK_WITHIN));
        let nobody = |_| Found::Unknown { why: "the probe itself ended".to_owned() };
        (entry.join().unwrap_or_else(nobody), probes)
    });
    let probes = target.probes.iter().map(Check::is_evidence).zip(probes).collect();
    let mut seen = Seen { entry, probes, answered_before, answered_after: true };
    if answered_before && seen.is_down() {
        seen.answered_after = !is_cut_off(&target.references);
    }
    seen
}

/// Whether nothing at all answers that has nothing to do with the target.
pub fn is_cut_off(references: &[Check]) -> bool {
    let found = holdfast_probe::all(references, &terms(REFERENCES_WITHIN));
    !found.iter().any(|found| matches!(found, Found::Passed { .. }))
}

fn terms(within: Duration) -> Terms {
    Terms { within, now: crate::clock::wall(), not_before: None }
}

impl Seen {
    // What a VPN's own service says of a peer lags and is hearsay: it alone never fires.
    fn evidence(&self) -> impl Iterator<Item = &Found> {
        let probes = self.probes.iter().filter(|(evidence, _)| *evidence).map(|(_, found)| found);
        std::iter::once(&self.entry).chain(probes)
    }

    fn is_down(&self) -> bool {
        self.evidence().any(|found| matches!(found, Found::Failed { .. } | Found::TimedOut))
    }

    pub fn sight(&self) -> Sight {
        match self.is_down() {
            true if self.is_alone() => Sight::Unsure,
            true => Sight::Bad,
            false if self.evidence().all(|found| matches!(found, Found::Passed { .. })) => Sight::Well,
            false => Sight::Unsure,
        }
    }

    /// Nobody answers at all: it is the guard that is cut off.
    pub fn is_alone(&self) -> bool {
        !(self.answered_before && self.answered_after)
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

    fn seen(entry: Found, probes: Vec<(bool, Found)>, answered: (bool, bool)) -> Seen {
        let (answered_before, answered_after) = answered;
        Seen { entry, probes, answered_before, answered_after }
    }

    // shows: STW-337
    #[test]
    fn a_target_is_blamed_only_while_somebody_else_answers() {
        let with = |entry, probes| seen(entry, probes, (true, true)).sight();
        assert_eq!(with(passed(), vec![]), Sight::Well);
        assert_eq!(with(failed(), vec![]), Sight::Bad);
        assert_eq!(with(Found::TimedOut, vec![]), Sight::Bad);
        assert_eq!(with(passed(), vec![(true, failed())]), Sight::Bad);
        for cut_off in [(false, true), (true, false), (false, false)] {
            assert_eq!(seen(failed(), vec![(true, failed())], cut_off).sight(), Sight::Unsure);
        }
        // A monitor that has no answer proves nothing either way.
        assert_eq!(with(passed(), vec![(true, unknown())]), Sight::Unsure);
        assert_eq!(with(failed(), vec![(true, unknown())]), Sight::Bad);
        // Hearsay never fires, and is not missed.
        assert_eq!(with(passed(), vec![(false, failed())]), Sight::Well);
        assert_eq!(with(passed(), vec![(false, unknown())]), Sight::Well);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let ill = seen(Found::TimedOut, vec![(true, passed()), (true, failed())], (true, false));
        assert_eq!(
            ill.complaint().as_deref(),
            Some("getting in did not answer in time; probe 2 failed: refused; no reference answers")
        );
        assert_eq!(seen(passed(), vec![], (true, true)).complaint(), None);
    }
}
