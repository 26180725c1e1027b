//! From a scene to lines for a screen of this size. Blank lines and alignment; one accent; no boxes.

use holdfast_plot::{
    Glyphs, Ink, Line, Size, State, figure_lines, gate_strip, lease_bar, score_cells, wrapped,
};

use crate::scene::Scene;

/// Smaller screens get plain lines instead.
const SMALLEST: Size = Size { width: 60, height: 16 };
/// Lines longer than this are hard to read, however wide the screen.
const WIDEST: usize = 140;
/// From this height on there is room for reasons and rules.
const ROOMY: usize = 32;
const MARGIN: usize = 2;
/// The labels of the panel.
const LABEL: usize = 7;
/// Rows of the plot at least, and of the story at most.
const PLOT_MIN: usize = 4;
const STORY_MAX: usize = 9;

/// Whether a screen is large enough for scenes.
pub fn fits(size: Size) -> bool {
    size.width >= SMALLEST.width && size.height >= SMALLEST.height
}

/// Draws a scene in at most `size.height` lines of at most `size.width` columns.
pub fn frame(scene: &Scene, size: Size, glyphs: Glyphs) -> Vec<Line> {
    let width = size.width.min(WIDEST).saturating_sub(MARGIN);
    let roomy = size.height >= ROOMY;
    let top = top(scene, width, roomy);
    let panel = panel(scene, width.saturating_sub(LABEL), roomy);
    // Blank lines around the panel, and where there is room a last line below a blank one.
    let around = if roomy { 4 } else { 2 };
    let left = size.height.saturating_sub(top.len() + panel.len() + around);
    let story_rows = (left.saturating_sub(PLOT_MIN) / 3).min(STORY_MAX);
    let plot_rows = left - story_rows;
    let mut lines = top;
    lines.extend(figure_lines(&scene.figure, Size { width, height: plot_rows }, Glyphs::Unicode));
    lines.push(Line::new());
    lines.extend(panel);
    lines.push(Line::new());
    lines.extend(story(scene, width, story_rows));
    lines.resize(size.height.saturating_sub(usize::from(roomy)), Line::new());
    if roomy {
        lines.push(bottom(width));
    }
    let margin = " ".repeat(MARGIN);
    lines
        .into_iter()
        .map(|line| Line::of(Ink::Text, &margin).then(line).cut(size.width).shown_in(glyphs))
        .collect()
}

fn top(scene: &Scene, width: usize, roomy: bool) -> Vec<Line> {
    let name = Line::of(Ink::Strong, "holdfast demo")
        .with(Ink::Slate, &format!("   act {} of {} · ", scene.act, scene.acts))
        .with(Ink::Text, scene.title);
    let there = Line::of(Ink::Slate, &format!("{} · {} there · {}", scene.host, scene.time, scene.pace));
    let mut lines = vec![
        name.and_right(Line::from(scene.state), width),
        there.and_right(Line::of(Ink::Slate, "in memory · Ctrl-C ends it"), width),
        Line::new(),
        Line::of(Ink::Strong, scene.caption),
    ];
    if roomy {
        lines.push(Line::new());
    }
    lines
}

fn bottom(width: usize) -> Line {
    let what =
        "The real loop, gates, lease and verification on a modelled host: no key, no network, no file.";
    Line::of(Ink::Slate, what).cut(width)
}

fn labelled(label: &str, line: Line) -> Line {
    Line::of(Ink::Slate, label).padded(LABEL).then(line)
}

fn panel(scene: &Scene, width: usize, roomy: bool) -> Vec<Line> {
    let mut lines = vec![labelled("Change", change(scene))];
    if roomy {
        let why = scene.hypothesis.as_ref().filter(|_| scene.change.is_some());
        lines.push(labelled("", Line::of(Ink::Slate, why.map_or("", String::as_str))));
    }
    for (n, line) in gate_strip(&scene.gates, width, Glyphs::Unicode).into_iter().enumerate() {
        lines.push(labelled(if n == 0 { "Gates" } else { "" }, line));
    }
    lines.push(labelled("Lease", lease(scene, width)));
    let score = scene.score.as_ref().map(|score| score_cells(score, width, Glyphs::Unicode));
    let score = score.unwrap_or_else(|| vec![Line::of(Ink::Slate, "nothing to score yet"), Line::new()]);
    let rows = if roomy { 2 } else { 1 };
    for (n, line) in score.into_iter().take(rows).enumerate() {
        lines.push(labelled(if n == 0 { "Score" } else { "" }, line));
    }
    lines.push(labelled("Host", host(scene)));
    lines
}

fn change(scene: &Scene) -> Line {
    let by = format!("by {}", scene.brain);
    match &scene.change {
        Some(change) => Line::of(Ink::Text, change).with(Ink::Slate, &format!("  {by}")),
        None => Line::of(Ink::Slate, "nothing proposed yet"),
    }
}

fn lease(scene: &Scene, width: usize) -> Line {
    // Room is kept for these words, so that the bar does not jump when they come.
    let nobody = Line::of(Ink::Coral, "  nobody renews it");
    let room = width.saturating_sub(nobody.width());
    let words = match (&scene.lease, scene.state) {
        (Some(lease), _) if scene.controller_lives => return lease_bar(lease, room, Glyphs::Unicode),
        (Some(lease), _) => return lease_bar(lease, room, Glyphs::Unicode).then(nobody),
        (None, State::Kept) => "ended: it is kept, and watched for two hours with the way back armed",
        (None, State::Undone) => "ended: nothing is on trial",
        (None, _) => "none: nothing is on trial",
    };
    Line::of(Ink::Slate, words)
}

fn host(scene: &Scene) -> Line {
    let same = scene.runs == scene.boots_into;
    let runs = Line::of(Ink::Text, "runs ").with(if same { Ink::Text } else { Ink::Buoy }, &scene.runs);
    let boots = runs.with(Ink::Slate, &format!(", boots into {}", scene.boots_into));
    let restarts = match scene.restarts {
        0 => boots,
        1 => boots.with(Ink::Coral, "  ✕ workload restarted once"),
        n => boots.with(Ink::Coral, &format!("  ✕ workload restarted {n} times")),
    };
    if scene.controller_lives { restarts } else { restarts.with(Ink::Coral, "  ✕ controller dead") }
}

/// The end of the story: as much as fits, from the beginning of a sentence. Of a last sentence that is longer than all the room the
/// beginning is shown.
fn story(scene: &Scene, width: usize, rows: usize) -> Vec<Line> {
    let mut shown: Vec<Line> = Vec::new();
    for said in scene.story.iter().rev() {
        let mut lines = told(said, width);
        if !shown.is_empty() && lines.len() + shown.len() > rows {
            break;
        }
        lines.append(&mut shown);
        shown = lines;
    }
    shown.truncate(rows);
    shown
}

/// One thing said: its time, its shape, its sentence, wrapped under itself.
pub(crate) fn told((time, state, what): &(String, State, String), width: usize) -> Vec<Line> {
    let head = Line::of(Ink::Slate, &format!("{time} ")).with(state.ink(), &format!("{} ", state.shape()));
    let indent = head.width();
    let texts = wrapped(what, width.saturating_sub(indent));
    let line = |(n, text): (usize, String)| {
        let lead = if n == 0 { head.clone() } else { Line::of(Ink::Text, &" ".repeat(indent)) };
        lead.with(Ink::Text, &text)
    };
    texts.into_iter().enumerate().map(line).collect()
}
