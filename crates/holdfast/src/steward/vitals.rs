//! How it stands with a target in a few figures that are always at hand: for the page that monitors read, which must answer while the
//! disk or a target does not.

use std::path::PathBuf;
use std::time::Duration;

use holdfast_lifeline::TargetName;
use holdfast_tripwire::heart::Heart;

/// A guard that has not done a round for longer than this does not guard.
pub(crate) const HEART_WITHIN: Duration = Duration::from_secs(3 * holdfast_lifeline::PERIOD.as_secs());

/// What was last known of a target. Moments are those of the daemon's monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vitals {
    pub(crate) target: TargetName,
    /// The last collection that succeeded; before the first one, when the target was begun with.
    pub(crate) collected: Duration,
    /// Reads of the last collection that failed; all of it is one.
    pub(crate) failures: u64,
    pub(crate) breaker_open: bool,
    pub(crate) open: Option<Open>,
    /// Looks back that should have been over for an hour.
    pub(crate) overdue: u64,
    pub(crate) guard: Guard,
}

/// The episode under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Open {
    pub(crate) episode: String,
    pub(crate) phase: &'static str,
    /// Something is on the target that is undone unless it is kept.
    pub(crate) on_trial: bool,
}

/// Whoever guards the target beside this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// A modelled host, or one that is only looked at: nothing is guarded.
    NotNeeded,
    /// Where its heart beats, if that was set: a folder in memory, which can be read whatever the disk does.
    Beside { hearts: Option<PathBuf> },
}

/// A guard in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guarding {
    NotNeeded,
    Absent,
    Fresh,
    Stale,
    /// It says that a safety part is not the one that was installed.
    PartsAltered,
}

impl Guarding {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Guarding::NotNeeded => "not needed",
            Guarding::Absent => "absent",
            Guarding::Fresh => "fresh",
            Guarding::Stale => "stale",
            Guarding::PartsAltered => "parts altered",
        }
    }
}

impl Vitals {
    pub(crate) fn guarding(&self) -> Guarding {
        let Guard::Beside { hearts } = &self.guard else { return Guarding::NotNeeded };
        match hearts.as_ref().and_then(|folder| Heart::read(folder, &self.target)) {
            None => Guarding::Absent,
            Some(heart) if heart.age().is_none_or(|age| age > HEART_WITHIN) => Guarding::Stale,
            Some(heart) if heart.parts.is_some() => Guarding::PartsAltered,
            Some(_) => Guarding::Fresh,
        }
    }

    /// Whether the target may be relied on to be brought back: not while its guard has fallen silent, nor while something is tried that
    /// nobody guards.
    pub(crate) fn is_safe(&self) -> bool {
        match self.guarding() {
            Guarding::NotNeeded | Guarding::Fresh => true,
            Guarding::Stale | Guarding::PartsAltered => false,
            Guarding::Absent => !self.open.as_ref().is_some_and(|open| open.on_trial),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heart(ago: Duration) -> Heart {
        let beat_ms = holdfast_tripwire::clock::since_boot_ms().saturating_sub(ago.as_millis() as u64);
        Heart {
            boot: holdfast_tripwire::clock::this_boot(),
            beat_ms,
            watching: None,
            undoing: false,
            alone: false,
            parts: None,
            rehearsed: Default::default(),
            failing: Default::default(),
        }
    }

    // shows: STW-413
    #[test]
    fn a_guard_that_fell_silent_is_told_and_so_is_a_trial_that_nobody_guards() {
        let folder = tempfile::tempdir().unwrap();
        let target: TargetName = "box-1".parse().unwrap();
        let vitals = |guard: Guard, on_trial: bool| Vitals {
            target: target.clone(),
            collected: Duration::ZERO,
            failures: 0,
            breaker_open: false,
            open: Some(Open { episode: "ep_1".to_owned(), phase: "verifying", on_trial }),
            overdue: 0,
            guard,
        };
        let beside = || Guard::Beside { hearts: Some(folder.path().to_owned()) };
        let check = |guard: Guard, on_trial: bool, word: &str, is_safe: bool| {
            let vitals = vitals(guard, on_trial);
            assert_eq!((vitals.guarding().word(), vitals.is_safe()), (word, is_safe), "{vitals:?}");
        };
        check(Guard::NotNeeded, true, "not needed", true);
        check(beside(), false, "absent", true);
        check(beside(), true, "absent", false);
        check(Guard::Beside { hearts: None }, true, "absent", false);
        let beats = |heart: Heart| heart.write(folder.path(), &target).unwrap();
        beats(heart(Duration::from_secs(1)));
        check(beside(), true, "fresh", true);
        beats(heart(HEART_WITHIN + Duration::from_secs(5)));
        check(beside(), false, "stale", false);
        beats(Heart { parts: Some("holdfast is another one".to_owned()), ..heart(Duration::from_secs(1)) });
        check(beside(), false, "parts altered", false);
        beats(Heart { boot: holdfast_lifeline::BootId(0), ..heart(Duration::from_secs(1)) });
        check(beside(), false, "stale", false);
    }
}
