//! What there is to see, before anybody says how: times are milliseconds on one clock, values are in one unit.

use crate::state::State;

/// A value at a moment. No value, or one that is no number, is a gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub at_ms: i64,
    pub value: Option<f64>,
}

/// Points in the order of time. One that is not later than the one before is passed over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    pub name: String,
    pub points: Vec<Point>,
    /// Points further apart than this are not joined.
    pub gap_after_ms: Option<i64>,
}

/// What is normal here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    pub low: f64,
    pub high: f64,
}

/// Where something began.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    pub at_ms: i64,
    pub word: String,
}

/// The moment of an episode.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    pub at_ms: i64,
    pub state: State,
    pub word: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    pub value: f64,
    pub word: String,
}

/// A plot, described.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    pub title: String,
    /// The sentence that explains it.
    pub sentence: Option<String>,
    pub series: Vec<Series>,
    pub band: Option<Band>,
    /// Where the change began.
    pub began: Option<Mark>,
    pub moments: Vec<Moment>,
    pub threshold: Option<Threshold>,
    /// Of the values: `%`, `ms`.
    pub unit: String,
    /// The times to show; all there are when nothing is said.
    pub span_ms: Option<(i64, i64)>,
    /// Values that are in sight whatever the series do.
    pub least: Option<(f64, f64)>,
    /// What relative times are counted from; the end of the plot when nothing is said.
    pub now_ms: Option<i64>,
}

impl Series {
    /// The points that are later than those before them.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = Point> {
        let mut last = None;
        self.points.iter().copied().filter(move |point| {
            let later = last.is_none_or(|last| point.at_ms > last);
            if later {
                last = Some(point.at_ms);
            }
            later
        })
    }

    /// Whether two points that follow each other belong together.
    pub(crate) fn joins(&self, from_ms: i64, to_ms: i64) -> bool {
        self.gap_after_ms.is_none_or(|gap| to_ms.saturating_sub(from_ms) <= gap)
    }
}

impl Point {
    pub(crate) fn number(&self) -> Option<f64> {
        self.value.filter(|value| value.is_finite())
    }
}
