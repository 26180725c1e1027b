//! The verification window: cycles of looking from outside, and the one rule by which a trial is kept.
//!
//! A cycle passes, fails, times out, or says nothing. What says nothing is not scored: a controller that is cut off
//! learns nothing about the target. Two failures in a row end the window; one alone makes it longer, once. At its end a trial
//! passes only when the score is high enough, failures are few, the last five cycles passed, and enough was seen.

use std::time::Duration;

use holdfast_lifeline::{Flaw, Sound};
use serde::{Deserialize, Serialize};

/// Between two cycles.
pub const CYCLE: Duration = Duration::from_secs(30);
/// Points for a cycle that passed, and for one that did not.
const PASS_POINTS: i32 = 1;
const FAIL_POINTS: i32 = -3;
/// Of the cycles of a window: the score it needs, and how many must have been scored.
const SCORE_PERCENT: u32 = 60;
const SCORED_PERCENT: u32 = 75;
/// Of the scored cycles: how many may have failed.
const FAILURES_PERCENT: u32 = 10;
/// Cycles at the end that must all have passed.
const TAIL: u32 = 5;
/// By how much a lone failure makes the window longer.
const EXTENSION: u32 = 5;

/// What one cycle gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cycle {
    /// The first seconds after the activation: nothing is scored.
    Grace,
    Pass,
    Fail,
    TimedOut,
    /// Nobody can tell: the controller sees nothing at all, or what it sees is from before the activation.
    Inconclusive,
}

impl Cycle {
    /// The cycle in a letter: g grace, p passed, f failed, t timed out, i inconclusive.
    pub const fn letter(self) -> char {
        match self {
            Cycle::Grace => 'g',
            Cycle::Pass => 'p',
            Cycle::Fail => 'f',
            Cycle::TimedOut => 't',
            Cycle::Inconclusive => 'i',
        }
    }
}

/// What a window has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    GoOn,
    Passed,
    Failed(Shortfall),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shortfall {
    TwoInARow,
    LowScore,
    ManyFailures,
    BadEnd,
    FewSamples,
}

impl Shortfall {
    pub fn sentence(self) -> &'static str {
        match self {
            Shortfall::TwoInARow => "two cycles in a row failed",
            Shortfall::LowScore => "the score stayed below 60 % of the cycles",
            Shortfall::ManyFailures => "more than 10 % of the cycles failed",
            Shortfall::BadEnd => "the last five cycles did not all pass",
            Shortfall::FewSamples => "too few cycles could be scored",
        }
    }
}

/// A window under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Cycles it was meant to have.
    planned: u32,
    extended: bool,
    seen: u32,
    passed: u32,
    failed: u32,
    score: i32,
    /// Passes since the last failure, and failures since the last pass.
    passes_in_a_row: u32,
    failures_in_a_row: u32,
}

impl Window {
    /// A window of this length, grace included.
    pub fn new(length: Duration) -> Window {
        let planned = u32::try_from(length.as_secs().div_ceil(CYCLE.as_secs())).unwrap_or(u32::MAX).max(1);
        Window {
            planned,
            extended: false,
            seen: 0,
            passed: 0,
            failed: 0,
            score: 0,
            passes_in_a_row: 0,
            failures_in_a_row: 0,
        }
    }

    /// The longest a window of this length can take, its extension included.
    pub fn longest(length: Duration) -> Duration {
        CYCLE * (Window::new(length).planned + EXTENSION)
    }

    pub fn cycles(&self) -> u32 {
        self.planned + if self.extended { EXTENSION } else { 0 }
    }

    /// The score it has to reach.
    pub fn needed(&self) -> u32 {
        (self.cycles() * SCORE_PERCENT).div_ceil(100)
    }

    pub fn seen(&self) -> u32 {
        self.seen
    }

    pub fn score(&self) -> i32 {
        self.score
    }

    pub fn failed(&self) -> u32 {
        self.failed
    }

    /// Takes one cycle in, and says what the window has come to.
    pub fn take(&mut self, cycle: Cycle, sound: Sound) -> Verdict {
        self.seen += 1;
        match cycle {
            Cycle::Grace | Cycle::Inconclusive => {}
            Cycle::Pass => {
                self.passed += 1;
                self.score += PASS_POINTS;
                self.passes_in_a_row += 1;
                self.failures_in_a_row = 0;
            }
            Cycle::Fail | Cycle::TimedOut => {
                self.failed += 1;
                self.score += FAIL_POINTS;
                self.passes_in_a_row = 0;
                self.failures_in_a_row += 1;
                self.extended = true;
            }
        }
        if sound.has(Flaw::AlwaysPass) {
            return if self.seen < self.cycles() { Verdict::GoOn } else { Verdict::Passed };
        }
        if self.failures_in_a_row >= 2 {
            return Verdict::Failed(Shortfall::TwoInARow);
        }
        if self.seen < self.cycles() { Verdict::GoOn } else { self.verdict(sound) }
    }

    /// The rule, at the end of the window.
    fn verdict(&self, sound: Sound) -> Verdict {
        let scored = self.passed + self.failed;
        let cycles = self.cycles();
        let few = scored < (cycles * SCORED_PERCENT).div_ceil(100);
        if few && !sound.has(Flaw::FewSamplesPass) {
            return Verdict::Failed(Shortfall::FewSamples);
        }
        if self.failed * 100 > scored * FAILURES_PERCENT {
            return Verdict::Failed(Shortfall::ManyFailures);
        }
        if self.passes_in_a_row < TAIL.min(scored) && !sound.has(Flaw::TailNotChecked) {
            return Verdict::Failed(Shortfall::BadEnd);
        }
        let needed = (cycles * SCORE_PERCENT).div_ceil(100);
        if i64::from(self.score) < i64::from(needed) && !few {
            return Verdict::Failed(Shortfall::LowScore);
        }
        Verdict::Passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEN_MINUTES: Duration = Duration::from_secs(600);

    /// Runs cycles until the window ends; what is left over is not looked at.
    fn run(cycles: impl IntoIterator<Item = Cycle>) -> Verdict {
        let mut window = Window::new(TEN_MINUTES);
        for cycle in cycles {
            match window.take(cycle, Sound::YES) {
                Verdict::GoOn => {}
                ended => return ended,
            }
        }
        Verdict::GoOn
    }

    fn passes_but_for(at: usize, cycle: Cycle) -> Vec<Cycle> {
        (0..25).map(|n| if n == at { cycle } else { Cycle::Pass }).collect()
    }

    // shows: STW-168, STW-325
    #[test]
    fn a_window_has_as_many_cycles_as_fit_in_it() {
        assert_eq!(Window::new(TEN_MINUTES).cycles(), 20);
        assert_eq!(Window::new(Duration::from_secs(900)).cycles(), 30);
        assert_eq!(Window::new(Duration::from_secs(1)).cycles(), 1);
        assert_eq!(Window::longest(TEN_MINUTES), Duration::from_secs(750));
    }

    // shows: STW-170, STW-323
    #[test]
    fn the_rule_as_a_table() {
        use Cycle::{Fail, Grace, Inconclusive, Pass, TimedOut};
        let of = |parts: &[(usize, Cycle)]| -> Vec<Cycle> {
            parts.iter().flat_map(|(n, cycle)| std::iter::repeat_n(*cycle, *n)).collect()
        };
        for (what, cycles, verdict) in [
            ("all pass", of(&[(1, Grace), (19, Pass)]), Verdict::Passed),
            ("a lone failure", of(&[(1, Grace), (9, Pass), (1, Fail), (14, Pass)]), Verdict::Passed),
            ("a lone time-out", of(&[(1, Grace), (9, Pass), (1, TimedOut), (14, Pass)]), Verdict::Passed),
            ("two in a row", of(&[(5, Pass), (2, Fail)]), Verdict::Failed(Shortfall::TwoInARow)),
            (
                "a failure and a time-out in a row",
                of(&[(5, Pass), (1, Fail), (1, TimedOut)]),
                Verdict::Failed(Shortfall::TwoInARow),
            ),
            (
                "nothing between two failures counts",
                of(&[(5, Pass), (1, Fail), (3, Inconclusive), (1, Fail)]),
                Verdict::Failed(Shortfall::TwoInARow),
            ),
            (
                "one in seven fails",
                of(&[(6, Pass), (1, Fail), (6, Pass), (1, Fail), (6, Pass), (1, Fail), (4, Pass)]),
                Verdict::Failed(Shortfall::ManyFailures),
            ),
            (
                "a bad end",
                of(&[(10, Pass), (1, Fail), (11, Pass), (1, Fail), (2, Pass)]),
                Verdict::Failed(Shortfall::BadEnd),
            ),
            (
                "too little seen",
                of(&[(1, Grace), (5, Inconclusive), (14, Pass)]),
                Verdict::Failed(Shortfall::FewSamples),
            ),
            ("just enough seen", of(&[(5, Inconclusive), (15, Pass)]), Verdict::Passed),
            ("nothing seen", of(&[(20, Inconclusive)]), Verdict::Failed(Shortfall::FewSamples)),
            ("not at its end", of(&[(19, Pass)]), Verdict::GoOn),
        ] {
            assert_eq!(run(cycles), verdict, "{what}");
        }
    }

    // shows: STW-322
    #[test]
    fn one_failure_gives_the_same_verdict_wherever_it_is() {
        for at in 0..20 {
            assert_eq!(run(passes_but_for(at, Cycle::Fail)), Verdict::Passed, "at {at}");
        }
    }

    // shows: STW-326
    #[test]
    fn grace_scores_nothing() {
        let mut window = Window::new(TEN_MINUTES);
        window.take(Cycle::Grace, Sound::YES);
        assert_eq!((window.score(), window.failed()), (0, 0));
    }

    proptest! {
        // shows: STW-321
        #[test]
        fn nothing_with_many_failures_or_a_failing_end_is_kept(cycles in prop::collection::vec(
            prop_oneof![6 => Just(Cycle::Pass), 1 => Just(Cycle::Fail), 1 => Just(Cycle::TimedOut), 1 => Just(Cycle::Inconclusive)],
            30,
        )) {
            let mut window = Window::new(TEN_MINUTES);
            let mut scored = Vec::new();
            for cycle in cycles {
                if !matches!(cycle, Cycle::Inconclusive) {
                    scored.push(cycle == Cycle::Pass);
                }
                match window.take(cycle, Sound::YES) {
                    Verdict::GoOn => {}
                    Verdict::Failed(_) => break,
                    Verdict::Passed => {
                        let failures = scored.iter().filter(|passed| !**passed).count();
                        prop_assert!(failures * 10 <= scored.len());
                        prop_assert!(scored.iter().rev().take(5).all(|passed| *passed));
                        prop_assert!(scored.len() >= 15);
                        break;
                    }
                }
            }
        }
    }
}
