//! The smaller pieces as SVG: the gates, the lease, the score and the line for a table.
//!
//! A page that has the tokens in its own stylesheet writes gates, lease and score as text of its own, with the shapes and
//! classes of [`gate_mark`] and [`probe_mark`]; what has to be drawn there is [`lease_inline`] and [`sparkline_inline`].

use crate::figure::Band;
use crate::pieces::{CYCLES_SHOWN_MAX, Gate, GateState, Lease, Probe, Score, extremes, share};
use crate::scale::clock;
use crate::svg::{Pixels, bounded, class, escaped, opened, opened_inline, push};

const LEFT: f64 = 12.0;

/// The gates in order, one below the other; a refusal with its reason.
pub fn gates_svg(gates: &[Gate], size: Pixels) -> String {
    const ROW: f64 = 22.0;
    // More gates than this are no strip any more.
    const MOST: usize = 64;
    let shown = gates.iter().take(MOST);
    let (width, height) = (bounded(size.width), ROW * shown.len().max(1) as f64 + LEFT);
    let word = |gate: &Gate| match &gate.state {
        GateState::Waiting => format!("{} waits", gate.name),
        GateState::Passed => format!("{} passed", gate.name),
        GateState::Refused(why) => format!("{} refused it: {why}", gate.name),
    };
    let words: Vec<String> = shown.clone().map(word).collect();
    let mut out = opened(width, height, "Gates", &words.join(", "));
    for (n, (gate, words)) in shown.zip(&words).enumerate() {
        let (shape, ink) = gate.state.look();
        let y = ROW * (n + 1) as f64;
        push(
            &mut out,
            format_args!("<text class=\"{}\" x=\"{LEFT}\" y=\"{y}\">{shape}</text>\n", class(ink)),
        );
        push(&mut out, format_args!("<text class=\"ink\" x=\"32\" y=\"{y}\">{}</text>\n", escaped(words)));
    }
    out.push_str("</svg>\n");
    out
}

/// What is left of a lease as a bar, and in words.
pub fn lease_svg(lease: &Lease, size: Pixels) -> String {
    let (width, height) = (bounded(size.width), 56.0);
    let words = format!("undone by itself in {} unless kept", clock(lease.left.as_secs()));
    let mut out = opened(width, height, "Lease", &words);
    let whole = width - 2.0 * LEFT;
    let left = whole * share(lease);
    push(
        &mut out,
        format_args!(
            "<rect class=\"band\" x=\"{LEFT}\" y=\"12\" width=\"{whole:.1}\" height=\"8\" rx=\"4\"/>\n"
        ),
    );
    push(
        &mut out,
        format_args!(
            "<rect class=\"buoy\" x=\"{LEFT}\" y=\"12\" width=\"{left:.1}\" height=\"8\" rx=\"4\"/>\n"
        ),
    );
    push(&mut out, format_args!("<text class=\"ink\" x=\"{LEFT}\" y=\"42\">{words}</text>\n</svg>\n"));
    out
}

/// The cycles of a window as cells, where the score stands, and the rule that decides.
pub fn score_svg(score: &Score, size: Pixels) -> String {
    const CELL: f64 = 14.0;
    let (width, height) = (bounded(size.width), 76.0);
    let words = format!("{} of {} cycles, score {}", score.cycles.len(), score.planned, score.score);
    let mut out = opened(width, height, "Score", &format!("{words}. {}", score.rule));
    let from = score.cycles.len().saturating_sub(CYCLES_SHOWN_MAX);
    let looks = score.cycles.iter().skip(from).map(|probe| probe.look());
    let to_come = score.planned.saturating_sub(score.cycles.len());
    let looks = looks.chain(std::iter::repeat_n(('·', crate::line::Ink::Slate), to_come));
    for (n, (shape, ink)) in looks.take(CYCLES_SHOWN_MAX).enumerate() {
        let x = LEFT + CELL * n as f64;
        push(&mut out, format_args!("<text class=\"{}\" x=\"{x:.1}\" y=\"24\">{shape}</text>\n", class(ink)));
    }
    push(&mut out, format_args!("<text class=\"ink\" x=\"{LEFT}\" y=\"46\">{words}</text>\n"));
    push(
        &mut out,
        format_args!("<text class=\"slate\" x=\"{LEFT}\" y=\"64\">{}</text>\n</svg>\n", escaped(&score.rule)),
    );
    out
}

/// The shape of a gate, and the class of its ink.
pub fn gate_mark(state: &GateState) -> (char, &'static str) {
    let (shape, ink) = state.look();
    (shape, class(ink))
}

/// The shape of one cycle, and the class of its ink.
pub fn probe_mark(probe: Probe) -> (char, &'static str) {
    let (shape, ink) = probe.look();
    (shape, class(ink))
}

/// What is left of a lease as the scale of a chart, without words: the page has them, and they change by the second.
/// The part that is left is the element of class `left`; its width is in hundredths of the whole.
pub fn lease_inline(lease: &Lease) -> String {
    let left = 100.0 * share(lease);
    let ticks: String = (1..10).map(|n| format!("M{} 0v6", n * 10)).collect();
    format!(
        "<svg class=\"holdfast scale\" viewBox=\"0 0 100 6\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect class=\"band\" width=\"100\" height=\"6\"/><rect class=\"buoy left\" width=\"{left:.1}\" height=\"6\"/>\
         <path class=\"ticks\" d=\"{ticks}\"/></svg>"
    )
}

/// Values as a line without axes; what is no number is a gap.
pub fn sparkline_svg(name: &str, values: &[Option<f64>], size: Pixels) -> String {
    let (sides, path, count) = spark(values, None, size);
    let mut out = opened(sides.0, sides.1, name, &format!("{count} values"));
    push(&mut out, format_args!("<path class=\"series\" d=\"{path}\"/>\n</svg>\n"));
    out
}

/// The same as a part of a page. What is normal is always in sight, so that noise within it does not look like news.
pub fn sparkline_inline(name: &str, values: &[Option<f64>], normal: Option<Band>, size: Pixels) -> String {
    let (sides, path, count) = spark(values, normal, size);
    let mut out = opened_inline("spark", sides, &format!("{name}, {count} values"));
    push(&mut out, format_args!("<path class=\"series\" d=\"{path}\"/></svg>"));
    out
}

/// Its size, the line, and how many values it goes over.
fn spark(values: &[Option<f64>], normal: Option<Band>, size: Pixels) -> ((f64, f64), String, usize) {
    let (width, height) = (bounded(size.width), f64::from(size.height.clamp(16, 400)));
    let values = extremes(values, width as usize);
    let known = || values.iter().flatten().copied();
    let normal = normal.iter().flat_map(|band| [band.low, band.high]).filter(|value| value.is_finite());
    let (low, high) =
        known().chain(normal).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    let up = |value: f64| {
        let span = high / 2.0 - low / 2.0;
        if span > 0.0 { (value / 2.0 - low / 2.0) / span } else { 0.5 }
    };
    let step = (width - 4.0) / values.len().saturating_sub(1).max(1) as f64;
    let mut path = String::new();
    let mut joined = false;
    for (n, value) in values.iter().enumerate() {
        if let Some(value) = value {
            let (x, y) = (2.0 + step * n as f64, height - 3.0 - up(*value) * (height - 6.0));
            push(&mut path, format_args!("{}{x:.1} {y:.1}", if joined { 'L' } else { 'M' }));
        }
        joined = value.is_some();
    }
    ((width, height), path, known().count())
}
