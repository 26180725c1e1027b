//! The lookouts of one target, and the story their findings make.
//!
//! Metrics of one host move together: want of memory shows in pressure first, then in answers that take longer. So a finding
//! waits a few collections for company, and what came together is told as one: one sentence, one cause. It is offered again
//! as long as what hurts has not gone back, because what was in the way of a cycle may be gone by then; each time after twice as
//! long, until a change is kept.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::figures::{figure, floor, hurts, metrics, name, noticeable, shown};
use super::{COLLECT_EVERY, Sighting, WEEK};
use crate::detect::Direction;
use crate::lookout::{Asked, Finding, Kind, Lookout, TOLD_MAX, sentence, together};
use crate::sample::Metric;
use crate::setting::UnitName;
use crate::time::Steady;
use crate::trigger::COOL_DOWN;

/// One false alarm of a target in this time is what is asked of all its lookouts together.
const FALSE_ALARM_EVERY: Duration = Duration::from_secs(30 * 86_400);
/// What begins within this time of the first is the same story.
const TOGETHER_WITHIN: Duration = Duration::from_secs(30 * 60);
/// A finding waits for company until so many collections in a row bring none, and no longer than so many in all: an average over
/// a minute takes two or three samples more than a figure that is read as it is.
const ALONE_FOR: u32 = 2;
const GATHERED_FOR_MAX: u32 = 5;
/// What nothing could be done about is offered twice a day in the end.
const RESTS_MAX: Duration = Duration::from_secs(12 * 3600);
/// Of one host at once.
const STORIES_MAX: usize = 8;
/// Each sample counts for an eighth: a level over a quarter of an hour.
const LEVEL_WEIGHT: f64 = 0.125;
/// What is within a tenth of the way it went is back.
const BACK_WITHIN: f64 = 0.1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    eyes: Vec<Eye>,
    /// What goes on, the latest last.
    stories: Vec<Story>,
}

/// The lookout of one metric, and where the metric is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Eye {
    metric: Metric,
    lookout: Lookout,
    level: Option<f64>,
}

/// What was found within a short time, in the target's own time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Story {
    findings: Vec<(Metric, Finding)>,
    /// Collections since the first finding, and since the last.
    gathered: u32,
    alone: u32,
    offered: Option<Offered>,
}

/// What moved first when a story was offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Offered {
    metric: Metric,
    direction: Direction,
    at: Steady,
    /// How long it is not offered again.
    rests: Duration,
}

/// How the story is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Noticed {
    pub sentence: String,
    pub metrics: Vec<Metric>,
    pub began: Steady,
}

impl Watch {
    /// Lookouts over these units that have seen this week, which ends a moment before the target's first collection. It may be
    /// empty: then they learn from what comes.
    pub fn new(managed: &[UnitName], week: &[(Steady, Sighting)]) -> Watch {
        let metrics = metrics(managed);
        let asked = |metric: &Metric| Asked {
            false_alarm_every: FALSE_ALARM_EVERY * u32::try_from(metrics.len()).unwrap_or(1),
            period: Some(COLLECT_EVERY),
            floor: floor(metric),
        };
        let eye = |metric: &Metric| {
            let mut lookout = Lookout::new(asked(metric));
            for (at, seen) in week {
                lookout.step(*at, figure(metric, seen));
            }
            Eye { metric: metric.clone(), lookout, level: None }
        };
        Watch { eyes: metrics.iter().map(eye).collect(), stories: Vec::new() }
    }

    /// Whether it watches what is watched now: one that was stored may be of another version.
    pub fn is_whole(&self, managed: &[UnitName]) -> bool {
        self.eyes.iter().map(|eye| eye.metric.clone()).eq(metrics(managed))
            && self.stories.len() <= STORIES_MAX
    }

    /// Takes a collection. Says when there is a story to look into, by what moved first.
    pub fn step(&mut self, at: Steady, seen: &Sighting) -> Option<(Metric, Direction)> {
        let found: Vec<(Metric, Finding)> =
            self.eyes.iter_mut().filter_map(|eye| Some((eye.metric.clone(), eye.step(at, seen)?))).collect();
        let told = found.len();
        found.into_iter().for_each(|(metric, finding)| self.take(metric, finding));
        self.offer(at, if told == 0 { News::None } else { News::Some })
    }

    /// A change was kept: the old levels no longer hold.
    pub fn rebase(&mut self) {
        self.eyes.iter_mut().for_each(|eye| eye.lookout.rebase());
        let offered = self.stories.iter_mut().filter_map(|story| story.offered.as_mut());
        offered.for_each(|offered| offered.rests = COOL_DOWN);
    }

    /// Between which values a metric is normal now, once that is learned.
    pub fn usual(&self, metric: &Metric) -> Option<(f64, f64)> {
        self.eyes.iter().find(|eye| eye.metric == *metric)?.lookout.usual()
    }

    /// What is going on, in one sentence that names every metric of it. `moment` writes times.
    pub fn noticed(&self, host: &str, moment: impl Fn(Steady) -> String) -> Option<Noticed> {
        let findings = &self.stories.last()?.findings;
        let named: Vec<(String, Finding)> =
            findings.iter().map(|(metric, finding)| (name(metric), *finding)).collect();
        let account = together(&named, TOGETHER_WITHIN)?;
        let of = |what: &String| findings.iter().find(|(metric, _)| name(metric) == *what);
        let metrics = account.findings.iter().filter_map(|(what, _)| Some(of(what)?.0.clone())).collect();
        let sentence = match findings.as_slice() {
            [(metric, finding)] => {
                let what = format!("{} on {host}", name(metric));
                capital(&sentence(finding, &what, |value| shown(metric, value), moment))
            }
            _ => account.sentence(host, moment),
        };
        Some(Noticed { sentence, metrics, began: account.began })
    }

    fn take(&mut self, metric: Metric, finding: Finding) {
        // What was told and is still so is no news, however it moves out there.
        if self.stories.iter().any(|story| story.tells_of(&metric) && self.lasts(story)) {
            return;
        }
        match self.stories.last_mut() {
            Some(story) if story.takes(&metric, &finding) => story.add(metric, finding),
            // What turned round, or comes later, is another story.
            _ => self.stories.push(Story::new(metric, finding)),
        }
        let surplus = self.stories.len().saturating_sub(STORIES_MAX);
        self.stories.drain(..surplus);
    }

    /// The first story that is to be looked into; those that are over are forgotten.
    fn offer(&mut self, at: Steady, news: News) -> Option<(Metric, Direction)> {
        let lasting: Vec<bool> = self.stories.iter().map(|story| self.lasts(story)).collect();
        let (mut lasting, mut offered) = (lasting.into_iter(), None);
        self.stories.retain_mut(|story| {
            let lasts = lasting.next().unwrap_or(false);
            if story.offered.is_some() && !lasts {
                // Others may still come that belong to it.
                return at.since(story.began()) <= TOGETHER_WITHIN;
            }
            if offered.is_none() {
                offered = story.offer(at, news);
            }
            true
        });
        offered
    }

    /// Whether something of it still hurts.
    fn lasts(&self, story: &Story) -> bool {
        story.findings.iter().any(|(metric, finding)| {
            let level = self.eyes.iter().find(|eye| eye.metric == *metric).and_then(|eye| eye.level);
            let way = (finding.now - finding.before) * BACK_WITHIN;
            let away = way.max(noticeable(metric, finding.before));
            is_bad(metric, finding) && level.is_some_and(|level| level > finding.before + away)
        })
    }
}

/// Whether a collection brought a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    None,
    Some,
}

impl Eye {
    /// Takes what was measured. Says when the metric is another one for good.
    fn step(&mut self, at: Steady, seen: &Sighting) -> Option<Finding> {
        let value = figure(&self.metric, seen);
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.level = Some(self.level.map_or(value, |level| level + LEVEL_WEIGHT * (value - level)));
        }
        // Its time began a week before the target's.
        let finding = self.lookout.step(at.plus(WEEK), value).finding?;
        // What nobody would notice is nothing to look into, however sure it is.
        let size = (finding.now - finding.before).abs();
        match finding.kind {
            Kind::Shift | Kind::Drift if size < noticeable(&self.metric, finding.before) => None,
            Kind::Shift | Kind::Drift => Some(Finding {
                at,
                began: Steady(finding.began.0.saturating_sub(WEEK.as_millis() as u64)),
                ..finding
            }),
            // Worth a word, and nothing that a setting would change.
            Kind::Spike | Kind::Spread | Kind::Cycle | Kind::Missing => None,
        }
    }
}

impl Story {
    fn new(metric: Metric, finding: Finding) -> Story {
        Story { findings: vec![(metric, finding)], gathered: 0, alone: 0, offered: None }
    }

    fn tells_of(&self, metric: &Metric) -> bool {
        self.findings.iter().any(|(of, _)| of == metric)
    }

    fn began(&self) -> Steady {
        self.findings.iter().map(|(_, finding)| finding.began).min().unwrap_or_default()
    }

    /// Whether a finding belongs to it: of another metric, and near enough in time.
    fn takes(&self, metric: &Metric, finding: &Finding) -> bool {
        let apart = finding.began.since(self.began()).max(self.began().since(finding.began));
        apart <= TOGETHER_WITHIN && !self.tells_of(metric) && self.findings.len() < TOLD_MAX
    }

    fn add(&mut self, metric: Metric, finding: Finding) {
        if !self.hurts() && is_bad(&metric, &finding) {
            // It was of no consequence so far: now it is to be looked into.
            (self.offered, self.gathered, self.alone) = (None, 0, 0);
        }
        self.findings.push((metric, finding));
    }

    fn hurts(&self) -> bool {
        self.findings.iter().any(|(metric, finding)| is_bad(metric, finding))
    }

    /// When it has waited for company, and again after a while.
    fn offer(&mut self, at: Steady, news: News) -> Option<(Metric, Direction)> {
        if let Some(Offered { metric, direction, at: then, rests }) = &mut self.offered {
            let again = at.since(*then) >= *rests;
            return again.then(|| {
                (*then, *rests) = (at, (*rests * 2).min(RESTS_MAX));
                (metric.clone(), *direction)
            });
        }
        self.gathered += 1;
        self.alone = if news == News::Some { 0 } else { self.alone + 1 };
        if self.alone < ALONE_FOR && self.gathered < GATHERED_FOR_MAX {
            return None;
        }
        // What hurts before what does not, then what moved first.
        let first = |(metric, finding): &&(Metric, Finding)| (!is_bad(metric, finding), finding.began);
        let (metric, finding) = self.findings.iter().min_by_key(first)?;
        let (metric, direction) = (metric.clone(), finding.direction?);
        self.offered = Some(Offered { metric: metric.clone(), direction, at, rests: COOL_DOWN });
        Some((metric, direction))
    }
}

fn is_bad(metric: &Metric, finding: &Finding) -> bool {
    hurts(metric) && finding.direction == Some(Direction::Up)
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}
