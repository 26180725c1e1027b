//! When old generations are looked for on a target: once a day of its time, also over restarts, and never in the middle of
//! something. Pure; whoever does it says so in the journal, and a start goes on from there.

use std::time::Duration;

use holdfast_lifeline::Steady;

/// Once a day.
const EVERY: Duration = Duration::from_secs(24 * 3600);
/// The first time when a start is well over.
const FIRST: Duration = Duration::from_secs(600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tidying {
    due: Steady,
}

/// What is going on at a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Under {
    Nothing,
    /// What is old may be what is gone back to.
    AnEpisode,
}

impl Tidying {
    /// Where a start finds it: it was done last at `last`, as far as anybody knows.
    pub(super) fn from(start: Steady, last: Option<Steady>) -> Tidying {
        let soon = start.plus(FIRST);
        // What claims to be of later than now is of another life of the target.
        let last = last.filter(|last| *last <= start);
        Tidying { due: last.map_or(soon, |last| soon.max(last.plus(EVERY))) }
    }

    /// Whether it is to be done now. Asked once, it is due again a day later, whatever becomes of it.
    pub(super) fn is_due(&mut self, now: Steady, under: Under) -> bool {
        let due = now >= self.due && under == Under::Nothing;
        if due {
            self.due = now.plus(EVERY);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000;
    const DAY: u64 = 24 * 60 * MINUTE;

    /// At which minutes it is done within so many, asked every other one as the worker does, with an episode in some of them.
    fn done(
        mut tidying: Tidying,
        minutes: std::ops::Range<u64>,
        episodes: &[std::ops::Range<u64>],
    ) -> Vec<u64> {
        let under = |minute: &u64| match episodes.iter().any(|episode| episode.contains(minute)) {
            true => Under::AnEpisode,
            false => Under::Nothing,
        };
        minutes.step_by(2).filter(|minute| tidying.is_due(Steady(minute * MINUTE), under(minute))).collect()
    }

    // shows: STW-358, STW-410
    #[test]
    fn it_is_done_once_a_day_and_never_in_the_middle_of_an_episode() {
        let week = 0..7 * 1440;
        let fresh = Tidying::from(Steady(0), None);
        let days: Vec<u64> = (0..7).map(|day| 10 + day * 1440).collect();
        assert_eq!(done(fresh, week.clone(), &[]), days);
        // Six hours over the time it is due on the second day, and an episode that ends before it.
        let busy = [1400..1450 + 360, 2000..2100];
        let late: Vec<u64> = [10].into_iter().chain((0..6).map(|day| 1810 + day * 1440)).collect();
        assert_eq!(done(fresh, week, &busy), late, "put off and not left out, and a day apart from then on");
        assert!(
            done(fresh, 0..1440, &[0..700, 700..1440]).is_empty(),
            "one episode after the other, all day"
        );
    }

    #[test]
    fn a_start_goes_on_from_where_the_last_one_was() {
        let start = Steady(10 * DAY);
        let due = |last: Option<u64>| Tidying::from(start, last.map(Steady)).due.0 - start.0;
        assert_eq!(due(None), 10 * MINUTE);
        assert_eq!(due(Some(9 * DAY + 20 * MINUTE)), 20 * MINUTE, "not twice within a day");
        assert_eq!(due(Some(9 * DAY)), 10 * MINUTE, "it is due, once the start is over");
        assert_eq!(due(Some(2 * DAY)), 10 * MINUTE, "nobody was here for a week");
        assert_eq!(due(Some(11 * DAY)), 10 * MINUTE, "a target of the same name that has lived longer");
        // A daemon that is started every hour still does it once a day.
        let (mut last, mut times) = (None, 0);
        for hour in 0..72 {
            let begins = hour * 60;
            for minute in done(Tidying::from(Steady(begins * MINUTE), last), begins..begins + 60, &[]) {
                (last, times) = (Some(Steady(minute * MINUTE)), times + 1);
            }
        }
        assert_eq!(times, 3);
    }
}
