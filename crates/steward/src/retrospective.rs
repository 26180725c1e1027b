//! A day later: whether a change that was kept did any good.
//!
//! Every permanent switch leaves a [`Due`]. When a day has passed, the primary metric of that day is compared with the
//! same length of time before, and the verdict settles the entry, once. A step that is repeated after a crash finds the
//! entry settled and does nothing. Where the figures cannot carry a verdict there is none: few samples, another switch
//! within the compared time, or a difference that chance alone might make, are inconclusive and never a success.
//!
//! A mean is as sure as the samples behind it, and samples that resemble each other count for fewer ([`Summary::effective`]). So the
//! change has an interval. It is called better or worse when it is large enough and the interval leaves no room for its
//! opposite; it is called neutral when the interval is narrow enough that an effect that counts would have shown.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};

pub use crate::sample::{Span, Summary};

use crate::constitution::{Constitution, Direction, Measure};
use crate::outcome::Outcome;
use crate::sample::{Interval, Metric};
use crate::setting::EpisodeId;
use crate::time::{Now, Steady};

/// How long after the switch is looked back, and how long before it the baseline reaches.
pub const AFTER: Duration = Duration::from_secs(24 * 3600);
/// Three switches a day for almost a year.
const ENTRIES_MAX: usize = 1000;

/// A moment as it is kept: [`Now`], written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    pub steady: Steady,
    pub wall: Timestamp,
    pub synced: bool,
}

impl From<Now> for Stamp {
    fn from(now: Now) -> Stamp {
        Stamp { steady: now.steady, wall: now.wall, synced: now.synced }
    }
}

/// The baseline to compare with: one from a like time (the same weekday a week before) when it has the samples, since
/// load varies by day; else the day before.
pub fn baseline(matched: Option<Summary>, before: Summary, constitution: &Constitution) -> Summary {
    matched.filter(|like| like.count() >= constitution.samples_min()).unwrap_or(before)
}

impl Span {
    /// The day before a switch: what it is compared with.
    pub fn before(switched: Steady) -> Span {
        Span { from: Steady(switched.0.saturating_sub(AFTER.as_millis() as u64)), to: switched }
    }

    /// The same, but no further back than where the present regime began: a host that fell into trouble an hour before it was
    /// helped is compared with that hour, and not with the quiet day before it.
    pub fn before_within(switched: Steady, regime_began: Option<Steady>) -> Span {
        let Span { from, to } = Span::before(switched);
        Span { from: regime_began.map_or(from, |began| began.clamp(from, to)), to }
    }

    /// The day after a switch.
    pub fn after(switched: Steady) -> Span {
        Span { from: switched, to: switched.plus(AFTER) }
    }
}

/// A switch that is to be looked at again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Due {
    pub episode: EpisodeId,
    pub switched: Stamp,
}

impl Due {
    /// Whether a day has passed. Steady time alone proves it; the wall clock does only when it was good at both ends,
    /// which catches up on a controller that was switched off for a while. Half of the day must surely have passed all
    /// the same: before that there cannot be samples enough, and a clock put forward would settle the look for nothing.
    pub fn is_due(&self, now: Now) -> bool {
        let surely = now.steady.since(self.switched.steady);
        let by_wall = self.switched.synced && now.synced && now.wall.since(self.switched.wall) >= AFTER;
        surely >= AFTER || (by_wall && surely >= AFTER / 2)
    }
}

/// Whether another switch falls into the compared time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    Alone,
    Overlapping,
}

/// One metric before and after; nothing where it was not seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    pub metric: Metric,
    pub before: Option<Summary>,
    pub after: Option<Summary>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Improved,
    Neutral,
    /// Names the metric that worsened: the primary one or a guard.
    Worse {
        metric: Metric,
    },
    Inconclusive {
        why: Why,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    FewSamples {
        metric: Metric,
        before: u32,
        after: u32,
        needed: u32,
    },
    Overlapping,
    /// The relative change lies between these, in thousandths, and that is too wide to tell.
    Uncertain {
        metric: Metric,
        low_permille: i32,
        high_permille: i32,
    },
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::FewSamples { metric, before, after, needed } => {
                write!(
                    f,
                    "{metric} has {before} samples before and {after} after, {needed} are needed on each side"
                )
            }
            Why::Overlapping => f.write_str("another switch falls into the compared time"),
            Why::Uncertain { metric, low_permille, high_permille } => {
                let percent = |permille: &i32| f64::from(*permille) / 10.0;
                let (low, high) = (percent(low_permille), percent(high_permille));
                write!(f, "{metric} changed by something between {low:+.1} % and {high:+.1} %")
            }
        }
    }
}

impl Verdict {
    /// What the episode is recorded as from now on.
    pub fn outcome(&self) -> Outcome {
        match self {
            Verdict::Improved => Outcome::Improved,
            Verdict::Neutral => Outcome::Neutral,
            Verdict::Worse { .. } => Outcome::DelayedNegative,
            Verdict::Inconclusive { .. } => Outcome::Inconclusive,
        }
    }
}

/// Judges a kept change. A guard that worsened outweighs any gain; a guard that was not seen leaves the gain unproved.
pub fn judge(
    before: Option<Summary>,
    after: Option<Summary>,
    guards: &[Reading],
    law: &Constitution,
    overlap: Overlap,
) -> Verdict {
    if overlap == Overlap::Overlapping {
        return Verdict::Inconclusive { why: Why::Overlapping };
    }
    let needed = law.samples_min();
    let mut verdicts = vec![weigh(law.primary(), before, after, needed)];
    verdicts.extend(law.guards().iter().map(|guard| {
        let seen = guards.iter().find(|reading| reading.metric == guard.metric);
        match weigh(guard, seen.and_then(|r| r.before), seen.and_then(|r| r.after), needed) {
            // A guard is there to hold, not to win.
            Verdict::Improved | Verdict::Neutral => Verdict::Improved,
            other => other,
        }
    }));
    // Of several that weigh the same the first is named, and the primary metric comes first.
    verdicts.into_iter().rev().max_by_key(weight).unwrap_or(Verdict::Neutral)
}

/// What decides over what, where metrics disagree.
fn weight(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Improved => 0,
        Verdict::Neutral => 1,
        Verdict::Inconclusive { .. } => 2,
        Verdict::Worse { .. } => 3,
    }
}

fn weigh(measure: &Measure, before: Option<Summary>, after: Option<Summary>, needed: u32) -> Verdict {
    let count = |summary: Option<Summary>| summary.map_or(0, |s| s.count());
    let (Some(was), Some(is)) = (before, after) else {
        return few(measure, count(before), count(after), needed);
    };
    if was.count() < needed || is.count() < needed {
        return few(measure, was.count(), is.count(), needed);
    }
    let (gain, least, half) =
        (gain(measure, was.mean(), is.mean()), least(measure, was.mean()), half(was, is));
    let surely = if gain >= least {
        (gain - half > 0.0).then_some(Verdict::Improved)
    } else if is_worse(measure, was.mean(), is.mean()) {
        (gain + half < 0.0).then(|| Verdict::Worse { metric: measure.metric.clone() })
    } else {
        (half <= least).then_some(Verdict::Neutral)
    };
    surely.unwrap_or_else(|| uncertain(measure, was, is, half))
}

/// Half the width of the interval of 95 % for the difference of two means: Welch's error, and Student's factor for as many
/// independent samples as the smaller side has.
fn half(was: Summary, is: Summary) -> f64 {
    let error = was.error().hypot(is.error());
    student(was.effective().min(is.effective()) - 1.0) * error
}

/// The two-sided factor of Student's distribution at 95 %, by the first terms of its expansion around the normal one
/// (Abramowitz and Stegun 26.7.5). Good to two digits from three degrees of freedom on; fewer are taken for three.
fn student(freedom: f64) -> f64 {
    const Z: f64 = 1.959_963_984_540_054;
    let freedom = if freedom.is_finite() { freedom.max(3.0) } else { 3.0 };
    let first = (Z.powi(3) + Z) / 4.0;
    let second = (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / 96.0;
    Z + first / freedom + second / (freedom * freedom)
}

fn uncertain(measure: &Measure, was: Summary, is: Summary, half: f64) -> Verdict {
    // Relative to what was there; near nothing, to the least that counts.
    let scale = was.mean().abs().max(measure.floor);
    let permille = |change: f64| (change / scale * 1000.0).round().clamp(-1e9, 1e9) as i32;
    let change = is.mean() - was.mean();
    let why = Why::Uncertain {
        metric: measure.metric.clone(),
        low_permille: permille(change - half),
        high_permille: permille(change + half),
    };
    Verdict::Inconclusive { why }
}

/// A metric before a switch and after it, matched: before reaches no further back than the present regime, and after has only
/// the hours of the day that before has too, so that a morning is not compared with a night.
pub fn matched(
    samples: &[(Steady, f64)],
    switched: Steady,
    regime_began: Option<Steady>,
    marked: &[Interval],
) -> (Option<Summary>, Option<Summary>) {
    let before = Span::before_within(switched, regime_began);
    let mut hours = [false; 24];
    for (at, _) in samples.iter().filter(|(at, _)| before.holds(*at)) {
        hours[hour(*at)] = true;
    }
    let like = samples.iter().copied().filter(|(at, _)| hours[hour(*at)]);
    let after = Summary::of(like, Span::after(switched), marked);
    (Summary::of(samples.iter().copied(), before, marked), after)
}

fn hour(at: Steady) -> usize {
    (at.0 / 3_600_000 % 24) as usize
}

fn gain(measure: &Measure, was: f64, is: f64) -> f64 {
    match measure.direction {
        Direction::Minimize => was - is,
        Direction::Maximize => is - was,
    }
}

/// Both the relative and the absolute least must be met: the larger of the two.
fn least(measure: &Measure, was: f64) -> f64 {
    (measure.minimum_effect * was.abs()).max(measure.floor)
}

/// Whether a metric got worse by more than the least that counts.
pub fn is_worse(measure: &Measure, was: f64, is: f64) -> bool {
    -gain(measure, was, is) > least(measure, was)
}

fn few(measure: &Measure, before: u32, after: u32, needed: u32) -> Verdict {
    Verdict::Inconclusive { why: Why::FewSamples { metric: measure.metric.clone(), before, after, needed } }
}

/// All switches that are or were to be looked at, each in exactly one state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Retrospectives {
    /// Apart from the rest, because everybody asks for these all the time.
    waiting: BTreeMap<EpisodeId, Due>,
    settled: BTreeMap<EpisodeId, Settled>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Settled {
    due: Due,
    /// Nothing when it was undone. It is not looked back at then, and it still was a switch to whatever is compared
    /// around it.
    verdict: Option<Verdict>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    New,
    /// It was there already, judged or not: nothing changed.
    Known,
    /// No room while everything there still waits: nothing changed.
    Full,
}

impl Retrospectives {
    pub fn add(&mut self, due: Due) -> Added {
        if self.waiting.contains_key(&due.episode) || self.settled.contains_key(&due.episode) {
            return Added::Known;
        }
        if self.waiting.len() + self.settled.len() >= ENTRIES_MAX && !self.forget_oldest_settled() {
            return Added::Full;
        }
        self.waiting.insert(due.episode.clone(), due);
        Added::New
    }

    fn forget_oldest_settled(&mut self) -> bool {
        let oldest = self.settled.values().min_by_key(|settled| settled.due.switched.steady);
        let oldest = oldest.map(|settled| settled.due.episode.clone());
        oldest.is_some_and(|episode| self.settled.remove(&episode).is_some())
    }

    /// What waits and whose day has passed. Asking changes nothing: an entry goes on being due until it is settled.
    pub fn due(&self, now: Now) -> impl Iterator<Item = &Due> {
        self.pending().filter(move |due| due.is_due(now))
    }

    pub fn pending(&self) -> impl Iterator<Item = &Due> {
        self.waiting.values()
    }

    /// When the next one is due by steady time.
    pub fn next_due(&self) -> Option<Steady> {
        self.pending().map(|due| due.switched.steady.plus(AFTER)).min()
    }

    /// What was kept is not there any more: there is nothing to look back at.
    pub fn forget(&mut self, episode: &EpisodeId) {
        self.close(episode, None);
    }

    /// Forgets every verdict, as a careless restart would. For the simulator alone.
    pub(crate) fn reopen(&mut self) {
        let settled = std::mem::take(&mut self.settled);
        self.waiting.extend(settled.into_iter().map(|(episode, settled)| (episode, settled.due)));
    }

    /// Settles an entry. Only the first call for an episode says yes, and only then is the verdict to be recorded.
    pub fn settle(&mut self, episode: &EpisodeId, verdict: Verdict) -> bool {
        self.close(episode, Some(verdict))
    }

    fn close(&mut self, episode: &EpisodeId, verdict: Option<Verdict>) -> bool {
        let Some(due) = self.waiting.remove(episode) else { return false };
        self.settled.insert(episode.clone(), Settled { due, verdict });
        true
    }

    pub fn verdict(&self, episode: &EpisodeId) -> Option<&Verdict> {
        self.settled.get(episode)?.verdict.as_ref()
    }

    /// Whether any other switch falls into the day before or the day after this one.
    pub fn overlap(&self, episode: &EpisodeId) -> Overlap {
        let all = || self.waiting.values().chain(self.settled.values().map(|settled| &settled.due));
        let Some(this) = all().find(|due| due.episode == *episode) else { return Overlap::Alone };
        let at = this.switched.steady;
        let near = |other: &Due| {
            let theirs = other.switched.steady;
            other.episode != *episode && at.since(theirs).max(theirs.since(at)) < AFTER
        };
        if all().any(near) { Overlap::Overlapping } else { Overlap::Alone }
    }
}
