//! The smaller pieces in terminal cells: gates, lease, score, and a line small enough to stand in a table.

use std::time::Duration;

use crate::line::{Glyphs, Ink, Line};
use crate::scale::clock;
use crate::state::State;

/// Where a gate stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateState {
    Waiting,
    Passed,
    /// With its reason in a sentence.
    Refused(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    pub name: String,
    pub state: GateState,
}

/// Time that is left until a trial is undone by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub left: Duration,
    pub whole: Duration,
}

/// What one cycle of a verification window gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    Pass,
    Fail,
    Inconclusive,
    /// Too early to be scored.
    Grace,
}

/// A verification window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Score {
    pub cycles: Vec<Probe>,
    /// How many there will be.
    pub planned: usize,
    pub score: i32,
    /// What decides, in a sentence.
    pub rule: String,
}

impl GateState {
    pub(crate) fn look(&self) -> (char, Ink) {
        match self {
            GateState::Waiting => ('○', Ink::Slate),
            GateState::Passed => ('●', Ink::Kelp),
            GateState::Refused(_) => ('✕', Ink::Coral),
        }
    }
}

impl Probe {
    pub(crate) fn look(self) -> (char, Ink) {
        match self {
            Probe::Pass => ('▪', Ink::Kelp),
            Probe::Fail => ('✕', Ink::Coral),
            Probe::Inconclusive => ('○', Ink::Buoy),
            Probe::Grace => ('◦', Ink::Slate),
        }
    }
}

/// Cycles shown at most: a longer window shows its latest.
pub(crate) const CYCLES_SHOWN_MAX: usize = 60;

/// The gates in order; a refusal is followed by its reason.
pub fn gate_strip(gates: &[Gate], width: usize, glyphs: Glyphs) -> Vec<Line> {
    let mut lines = vec![Line::new()];
    for gate in gates {
        let (shape, ink) = gate.state.look();
        let text = if gate.state == GateState::Waiting { Ink::Slate } else { Ink::Text };
        let cell = Line::of(ink, shape.encode_utf8(&mut [0; 4])).with(text, &format!(" {}", gate.name));
        let last = lines.pop().unwrap_or_default();
        let gap = usize::from(last.width() > 0);
        if last.width() + gap + cell.width() <= width || last.width() == 0 {
            lines.push(last.with(Ink::Text, &" ".repeat(gap)).then(cell));
        } else {
            lines.extend([last, cell]);
        }
    }
    let refused = gates.iter().find_map(|gate| match &gate.state {
        GateState::Refused(why) => Some(format!("{} refused it: {why}", gate.name)),
        GateState::Waiting | GateState::Passed => None,
    });
    lines.extend(refused.map(|why| Line::of(Ink::Coral, &why)));
    shown(lines, width, glyphs)
}

/// What is left as a bar, and in words.
pub fn lease_bar(lease: &Lease, width: usize, glyphs: Glyphs) -> Line {
    let words = format!(" undone by itself in {} unless kept", clock(lease.left.as_secs()));
    let room = width.saturating_sub(words.len()).min(30);
    let full = (room as f64 * share(lease)).round() as usize;
    let line = Line::of(Ink::Buoy, &"█".repeat(full))
        .with(Ink::Slate, &"░".repeat(room.saturating_sub(full)))
        .with(Ink::Text, if room == 0 { words.trim_start() } else { &words });
    line.cut(width).shown_in(glyphs)
}

/// What is left, from 0 to 1.
pub(crate) fn share(lease: &Lease) -> f64 {
    let whole = lease.whole.as_secs_f64();
    if whole > 0.0 { (lease.left.as_secs_f64() / whole).clamp(0.0, 1.0) } else { 0.0 }
}

/// The cycles as cells, where the score stands, and below it the rule that decides.
pub fn score_cells(score: &Score, width: usize, glyphs: Glyphs) -> Vec<Line> {
    let shown_from = score.cycles.len().saturating_sub(CYCLES_SHOWN_MAX);
    let latest = score.cycles.iter().skip(shown_from);
    let to_come = score.planned.saturating_sub(score.cycles.len()).min(CYCLES_SHOWN_MAX);
    let mut cells = Line::new();
    for probe in latest {
        let (shape, ink) = probe.look();
        cells.push(ink, shape.encode_utf8(&mut [0; 4]));
    }
    cells.push(Ink::Slate, &"·".repeat(to_come));
    let words = format!(" {} of {} cycles, score {}", score.cycles.len(), score.planned, score.score);
    let rule = Line::of(Ink::Slate, &score.rule);
    shown(vec![cells.with(Ink::Text, &words), rule], width, glyphs)
}

/// Values as one row of cells, the latest at the right; what is no number is a blank.
pub fn sparkline(values: &[Option<f64>], width: usize, glyphs: Glyphs) -> Line {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let cells = extremes(values, width);
    let known = || cells.iter().flatten().copied();
    let (low, high) = known().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let level = |value: f64| {
        // Halved first: the difference of two very large numbers is none.
        let span = high / 2.0 - low / 2.0;
        let part = if span > 0.0 { (value / 2.0 - low / 2.0) / span } else { 0.0 };
        LEVELS.get((part * 7.0).round() as usize).copied().unwrap_or('▁')
    };
    let text: String = cells.iter().map(|cell| cell.map_or(' ', level)).collect();
    Line::of(Ink::Kelp, &text).cut(width).shown_in(glyphs)
}

/// One value a cell: the one furthest from the middle of all.
pub(crate) fn extremes(values: &[Option<f64>], count: usize) -> Vec<Option<f64>> {
    let known: Vec<f64> = values.iter().flatten().copied().filter(|value| value.is_finite()).collect();
    let middle = known.iter().map(|value| value / known.len().max(1) as f64).sum::<f64>();
    let furthest = |chunk: &[Option<f64>]| {
        let known = chunk.iter().flatten().copied().filter(|value| value.is_finite());
        known.max_by(|a, b| (a / 2.0 - middle / 2.0).abs().total_cmp(&(b / 2.0 - middle / 2.0).abs()))
    };
    let each = values.len().div_ceil(count.max(1)).max(1);
    values.chunks(each).map(furthest).collect()
}

fn shown(lines: Vec<Line>, width: usize, glyphs: Glyphs) -> Vec<Line> {
    lines.into_iter().map(|line| line.cut(width).shown_in(glyphs)).collect()
}

/// The state as its shape and its word.
impl From<State> for Line {
    fn from(state: State) -> Line {
        Line::of(state.ink(), &format!("{} {}", state.shape(), state.word()))
    }
}
