//! The demo without a screen: the acts as plain lines in order, and the summary that everybody gets.

use holdfast_plot::{
    Glyphs, Ink, Line, Size, State, clock, figure_lines, fitted, gate_strip, score_cells, wrapped,
};

use crate::chronicle::{Facts, Settled, UndoneBy, short};
use crate::director::Director;
use crate::frame::told;
use crate::scene::Scene;

/// Rows of a plot between lines of text.
const PLOT_ROWS: usize = 11;
const MARGIN: usize = 2;
/// Columns of what was tried, on a screen of the usual width.
const TRIED_ROOM: usize = 24;
const WIDTH: usize = 80;

/// An act that is over, as lines. `scene` is its last.
pub fn plain_lines(scene: &Scene, width: usize, glyphs: Glyphs) -> Vec<Line> {
    let width = width.saturating_sub(MARGIN);
    let title = Line::of(Ink::Strong, &format!("Act {} of {} · {}", scene.act, scene.acts, scene.title))
        .with(Ink::Slate, &format!("   {}, modelled, time accelerated", scene.host));
    let mut lines = vec![title, Line::new()];
    lines.extend(scene.story.iter().flat_map(|said| told(said, width)));
    lines.push(Line::new());
    lines.extend(figure_lines(&scene.figure, Size { width, height: PLOT_ROWS }, Glyphs::Unicode));
    lines.push(Line::new());
    lines.extend(proposal(scene, width));
    lines.extend(gate_strip(&scene.gates, width, Glyphs::Unicode));
    lines.extend(scene.score.iter().flat_map(|score| score_cells(score, width, Glyphs::Unicode)));
    lines.push(Line::new());
    finished(lines, width, glyphs)
}

/// What was proposed, by whom, and why.
fn proposal(scene: &Scene, width: usize) -> Vec<Line> {
    let Some(change) = &scene.change else { return Vec::new() };
    let by = Line::of(Ink::Text, change).with(Ink::Slate, &format!("  by {}", scene.brain));
    let why = wrapped(scene.hypothesis.as_deref().unwrap_or_default(), width);
    [by].into_iter().chain(why.iter().map(|line| Line::of(Ink::Slate, line))).collect()
}

/// What was noticed, tried, kept and undone, how long it took, and by whom; then what to do next.
pub fn summary(director: &Director, width: usize, glyphs: Glyphs) -> Vec<Line> {
    let room = TRIED_ROOM + width.saturating_sub(WIDTH);
    let rows: Vec<[Line; 6]> = director.acts().map(|(host, _, facts)| row(host, facts, room)).collect();
    let head = ["host", "noticed", "tried", "came out", "by", "took"].map(|word| Line::of(Ink::Slate, word));
    let widths: Vec<usize> = (0..6)
        .map(|n| rows.iter().chain([&head]).filter_map(|row| row.get(n)).map(Line::width).max().unwrap_or(0))
        .collect();
    let mut lines = vec![Line::of(Ink::Strong, "What you saw"), Line::new()];
    lines.extend([&head].into_iter().chain(&rows).map(|row| aligned(row, &widths)));
    lines.push(Line::new());
    lines.extend(director.acts().filter_map(|(host, _, facts)| aftermath(host, facts)));
    lines.push(Line::new());
    lines.extend(next_steps());
    finished(lines, width.saturating_sub(MARGIN), glyphs)
}

fn finished(lines: Vec<Line>, width: usize, glyphs: Glyphs) -> Vec<Line> {
    let margin = " ".repeat(MARGIN);
    let finish = |line: Line| {
        if line.width() == 0 {
            return line;
        }
        Line::of(Ink::Text, &margin).then(line.cut(width)).shown_in(glyphs)
    };
    lines.into_iter().map(finish).collect()
}

fn aligned(row: &[Line; 6], widths: &[usize]) -> Line {
    let mut line = Line::new();
    for (n, (cell, width)) in row.iter().zip(widths).enumerate() {
        // The last column holds times, and times are aligned right.
        line = if n == 5 {
            let indent = width.saturating_sub(cell.width());
            line.with(Ink::Text, &" ".repeat(indent)).then(cell.clone())
        } else {
            line.then(cell.clone().padded(width + 2))
        };
    }
    line
}

fn row(host: &str, facts: &Facts, room: usize) -> [Line; 6] {
    let noticed = match &facts.noticed {
        Some(noticed) => format!("pressure {:.0} → {:.0} %", noticed.from, noticed.to),
        None => facts.cause.clone().unwrap_or_default(),
    };
    let tried = change_in(facts.change.as_deref().unwrap_or("nothing"), room);
    let (state, by) = match &facts.settled {
        Some(Settled::Kept { .. }) => (State::Kept, "controller"),
        Some(Settled::Undone { by: UndoneBy::Controller, .. }) => (State::Undone, "controller"),
        Some(Settled::Undone { by: UndoneBy::Lease, .. }) => (State::Undone, "lease"),
        None => (State::Unknown, "nobody"),
    };
    let took = facts.took().map_or_else(|| "–".to_owned(), |took| clock(took.as_secs()));
    [
        Line::of(Ink::Text, host),
        Line::of(Ink::Text, &noticed),
        Line::of(Ink::Text, &tried),
        Line::from(state),
        Line::of(Ink::Text, by),
        Line::of(Ink::Text, &took),
    ]
}

/// A change in so many columns: of a pair that does not fit its first half, and that there is another.
fn change_in(change: &str, room: usize) -> String {
    match change.split_once(", ") {
        Some((first, _)) if Line::of(Ink::Text, change).width() > room => {
            fitted(&format!("{first}, +1"), room)
        }
        _ => fitted(change, room),
    }
}

/// What an act leaves behind, in a sentence.
fn aftermath(host: &str, facts: &Facts) -> Option<Line> {
    let before = short(facts.before?);
    let what = match facts.settled.as_ref()? {
        Settled::Kept { identity } => format!("{host} runs {} now, in place of {before}.", short(*identity)),
        Settled::Undone { by: UndoneBy::Controller, why } => {
            format!("{host} runs {before} as before: {why}.")
        }
        Settled::Undone { by: UndoneBy::Lease, .. } => {
            format!("{host} runs {before} as before: it went back by itself, with nobody there.")
        }
    };
    Some(Line::of(Ink::Text, &what))
}

fn next_steps() -> Vec<Line> {
    let steps = [
        ("holdfast init", "make the keys and the journal of a house of your own"),
        ("holdfast up", "run it; `driver: sim` gives it a host like these"),
        ("holdfast steward status", "how your targets stand"),
    ];
    let line = |(command, what): (&str, &str)| Line::of(Ink::Kelp, command).padded(25).with(Ink::Slate, what);
    [Line::of(Ink::Strong, "What next")].into_iter().chain(steps.into_iter().map(line)).collect()
}
