//! What is known here of the lease on a real host, by what it has confirmed.
//!
//! The lease itself is the target's, on its own clock. Here it is only told of, so it is reckoned to end early: from before the call that it
//! confirmed. After a restart nothing is known until a renewal has said it again.

use std::time::{Duration, Instant};

use holdfast_steward::effect::Verb;

/// A lease as a page shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) left: Duration,
    /// How long a renewal lasts.
    pub(super) whole: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Leased {
    known: Option<Known>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    lasts: Duration,
    /// No renewal reaches beyond this.
    cap: Instant,
    expires: Instant,
}

impl Leased {
    /// The target has done this; it was asked for at that moment.
    pub(super) fn done(&mut self, verb: &Verb, asked: Instant) {
        match verb {
            Verb::Arm { lasts, cap, .. } => {
                self.known = Some(Known { lasts: *lasts, cap: asked + *cap, expires: asked + *lasts });
            }
            Verb::Keep { .. } | Verb::Restore { .. } | Verb::Cancel { .. } => self.known = None,
            Verb::Check { .. } | Verb::Stage { .. } | Verb::Try { .. } | Verb::Poll { .. } => {}
        }
    }

    /// The target has said whether anything is being tried, and has renewed the lease on the way where it was asked to.
    pub(super) fn seen(&mut self, leased: bool, renewed: bool, asked: Instant) {
        match &mut self.known {
            Some(known) if leased && renewed => known.expires = (asked + known.lasts).min(known.cap),
            Some(_) if !leased => self.known = None,
            _ => {}
        }
    }

    pub(super) fn left(&self, now: Instant) -> Option<Left> {
        let Known { lasts, expires, .. } = self.known?;
        Some(Left { left: expires.saturating_duration_since(now), whole: lasts })
    }
}

#[cfg(test)]
mod tests {
    use holdfast_lifeline::{EpisodeId, Identity};

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn episode() -> EpisodeId {
        "ep_00000000000010000000000001".parse().unwrap()
    }

    fn armed(at: Instant) -> Leased {
        let (known_good, candidate) = (Identity([1; 32]), Identity([2; 32]));
        let (lasts, cap) = (MINUTE, MINUTE * 3);
        let mut leased = Leased::default();
        leased.done(&Verb::Arm { episode: episode(), known_good, candidate, lasts, cap }, at);
        leased
    }

    fn left(leased: &Leased, now: Instant) -> Option<u64> {
        leased.left(now).map(|it| it.left.as_secs())
    }

    #[test]
    fn it_runs_from_the_moment_it_was_asked_for_and_is_renewed_up_to_its_cap() {
        let began = Instant::now();
        let mut leased = armed(began);
        assert_eq!(left(&leased, began + MINUTE / 4), Some(45));
        assert_eq!(leased.left(began).unwrap().whole, MINUTE);
        leased.seen(true, true, began + MINUTE / 2);
        assert_eq!(left(&leased, began + MINUTE / 2), Some(60));
        // A look that renews nothing changes nothing, and no renewal reaches beyond the cap.
        leased.seen(true, false, began + MINUTE);
        assert_eq!(left(&leased, began + MINUTE), Some(30));
        leased.seen(true, true, began + MINUTE * 5 / 2);
        assert_eq!(left(&leased, began + MINUTE * 5 / 2), Some(30));
        assert_eq!(left(&leased, began + MINUTE * 9), Some(0));
    }

    #[test]
    fn it_is_gone_when_the_target_keeps_goes_back_or_says_so() {
        let began = Instant::now();
        let mut leased = armed(began);
        leased.seen(false, true, began);
        assert_eq!(left(&leased, began), None);
        for verb in [
            Verb::Keep { episode: episode(), candidate: Identity([2; 32]) },
            Verb::Cancel { episode: episode() },
        ] {
            let mut leased = armed(began);
            leased.done(&verb, began);
            assert_eq!(left(&leased, began), None, "{verb:?}");
        }
    }
}
