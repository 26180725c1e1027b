//! A figure in terminal cells. From the top: the title with its legend, the plot, the times, the marks, the sentence.

use crate::canvas::Canvas;
use crate::figure::{Figure, Moment};
use crate::line::{Glyphs, Ink, Line, Size};
use crate::scale::{Column, Frame, columns, number, ticks, time_ticks};

const NORMAL: char = '·';
const BEGAN: char = '┊';
const THRESHOLD: char = '╌';
/// Rows the plot itself has at least; what there is no room for besides is left out.
const PLOT_ROWS_MIN: usize = 3;
/// Columns between two labelled times.
const TIME_LABEL: usize = 14;

/// Draws a figure in exactly `size.height` lines of at most `size.width` columns.
pub fn figure_lines(figure: &Figure, size: Size, glyphs: Glyphs) -> Vec<Line> {
    let frame = Frame::of(figure);
    let room = Rows::of(figure, size.height);
    let gutter = Gutter::of(figure, &frame, room.plot);
    let width = size.width.saturating_sub(gutter.width);
    let mut lines = Vec::with_capacity(size.height);
    if room.title {
        lines.push(title(figure, size.width));
    }
    lines.extend(plot(figure, &frame, &gutter, width, room.plot));
    if room.times {
        lines.push(indented(gutter.width, times(figure, &frame, width)));
    }
    if room.marks {
        lines.push(indented(gutter.width, marks(figure, &frame, width)));
    }
    if let Some(sentence) = figure.sentence.as_ref().filter(|_| room.sentence) {
        lines.push(Line::of(Ink::Strong, sentence));
    }
    lines.into_iter().map(|line| line.cut(size.width).shown_in(glyphs)).collect()
}

/// Which rows there is room for.
struct Rows {
    title: bool,
    plot: usize,
    times: bool,
    marks: bool,
    sentence: bool,
}

impl Rows {
    fn of(figure: &Figure, height: usize) -> Rows {
        let mut left = height;
        let mut take = |wanted: bool| {
            let takes = wanted && left > PLOT_ROWS_MIN;
            left -= usize::from(takes);
            takes
        };
        // In the order in which they are missed.
        let sentence = take(figure.sentence.is_some());
        let times = take(true);
        let title = take(!figure.title.is_empty());
        let marks = take(true);
        Rows { title, plot: left, times, marks, sentence }
    }
}

/// The labels of the values, right-aligned, by row.
struct Gutter {
    width: usize,
    labels: Vec<(f64, String)>,
}

impl Gutter {
    fn of(figure: &Figure, frame: &Frame, rows: usize) -> Gutter {
        let unit = if figure.unit.is_empty() { String::new() } else { format!(" {}", figure.unit) };
        let most = rows.div_ceil(2).clamp(2, 7);
        let labels: Vec<(f64, String)> = ticks(frame.low, frame.high, most)
            .into_iter()
            .map(|tick| (frame.up(tick), format!("{}{unit}", number(tick))))
            .collect();
        let widest = labels.iter().map(|(_, label)| Line::of(Ink::Text, label).width()).max().unwrap_or(0);
        Gutter { width: (widest + 1).max(7), labels }
    }
}

fn indented(by: usize, line: Line) -> Line {
    Line::of(Ink::Text, &" ".repeat(by)).then(line)
}

fn title(figure: &Figure, width: usize) -> Line {
    let mut legend = Line::new();
    let mut add = |shape: &str, word: &str, ink: Ink| {
        let gap = if legend.width() > 0 { "  " } else { "" };
        legend.push(Ink::Slate, gap);
        legend.push(ink, &format!("{shape} {word}"));
    };
    if let Some(mark) = &figure.began {
        add(&BEGAN.to_string(), &mark.word, Ink::Buoy);
    }
    if let Some(threshold) = &figure.threshold {
        add(&THRESHOLD.to_string().repeat(2), &threshold.word, Ink::Slate);
    }
    if figure.band.is_some() {
        add(&NORMAL.to_string().repeat(2), "normal here", Ink::Slate);
    }
    Line::of(Ink::Slate, &figure.title).and_right(legend, width)
}

fn plot(figure: &Figure, frame: &Frame, gutter: &Gutter, width: usize, rows: usize) -> Vec<Line> {
    let mut canvas = Canvas::new(width, rows);
    for series in &figure.series {
        let columns = columns(series, frame, canvas.dots_across());
        draw(&mut canvas, frame, &columns);
    }
    if let Some(column) = figure.began.as_ref().and_then(|mark| column(frame, mark.at_ms, width)) {
        (0..rows).for_each(|row| canvas.put(column, row, BEGAN, Ink::Buoy));
    }
    if let Some(threshold) = figure.threshold.as_ref().filter(|threshold| threshold.value.is_finite()) {
        let row = canvas.row(frame.up(threshold.value));
        (0..width).for_each(|column| canvas.put(column, row, THRESHOLD, Ink::Slate));
    }
    if let Some(band) = figure.band.filter(|band| band.low.is_finite() && band.high.is_finite()) {
        let (top, bottom) = (canvas.row(frame.up(band.high)), canvas.row(frame.up(band.low)));
        for row in top..=bottom {
            (0..width).step_by(2).for_each(|column| canvas.put(column, row, NORMAL, Ink::Slate));
        }
    }
    let label = |row: usize, line: Line| {
        let here = gutter.labels.iter().find(|(up, _)| canvas.row(*up) == row);
        let text = here.map_or("", |(_, label)| label.as_str());
        let label = Line::of(Ink::Slate, text);
        let indent = gutter.width.saturating_sub(label.width() + 1);
        indented(indent, label).with(Ink::Text, " ").then(line)
    };
    canvas.rows(Ink::Kelp).into_iter().enumerate().map(|(row, line)| label(row, line)).collect()
}

fn draw(canvas: &mut Canvas, frame: &Frame, columns: &[Column]) {
    let mut before: Option<&Column> = None;
    for column in columns {
        if let Some(before) = before.filter(|_| column.joined) {
            canvas.stroke((before.at, frame.up(before.last)), (column.at, frame.up(column.first)));
        }
        canvas.stroke((column.at, frame.up(column.low)), (column.at, frame.up(column.high)));
        before = Some(column);
    }
}

fn column(frame: &Frame, at_ms: i64, width: usize) -> Option<usize> {
    frame.across(at_ms).map(|across| (across * width.saturating_sub(1) as f64).round() as usize)
}

fn times(figure: &Figure, frame: &Frame, width: usize) -> Line {
    let now = figure.now_ms.unwrap_or(frame.to_ms);
    let mut line = Line::new();
    for (at, label) in time_ticks(frame, now, width / TIME_LABEL) {
        let Some(column) = column(frame, at, width) else { continue };
        let label_width = Line::of(Ink::Text, &label).width();
        let start = column.saturating_sub(label_width / 2).min(width.saturating_sub(label_width));
        if start > line.width() || line.width() == 0 {
            line = line.padded(start).with(Ink::Slate, &label);
        }
    }
    line
}

/// A shape under each moment, with its word where there is room. Where two fall together the later one is shown.
fn marks(figure: &Figure, frame: &Frame, width: usize) -> Line {
    let mut moments: Vec<&Moment> = figure.moments.iter().collect();
    moments.sort_by_key(|moment| moment.at_ms);
    let placed: Vec<(usize, &Moment)> = moments
        .into_iter()
        .filter_map(|moment| column(frame, moment.at_ms, width).map(|column| (column, moment)))
        .collect();
    let mut line = Line::new();
    for (n, (column, moment)) in placed.iter().enumerate() {
        let next = placed.get(n + 1).map(|(next, _)| *next);
        if next == Some(*column) {
            continue;
        }
        let ink = moment.state.ink();
        line = line.padded(*column).with(ink, &moment.state.shape().to_string());
        let word = Line::of(ink, &format!(" {}", moment.word));
        // A blank is left before the shape that follows.
        if line.width() + word.width() < next.unwrap_or(width + 1) {
            line = line.then(word);
        } else if next.is_none() && word.width() <= line.width().saturating_sub(1) {
            line = before_the_edge(line, moment, width);
        }
    }
    line
}

/// At the right edge the word stands before its shape, if nothing else does.
fn before_the_edge(line: Line, moment: &Moment, width: usize) -> Line {
    let text = format!("{} {}", moment.word, moment.state.shape());
    let alone = line.plain().trim_start().chars().count() == 1;
    let start = line.width().min(width).saturating_sub(Line::of(Ink::Text, &text).width());
    if alone { Line::new().padded(start).with(moment.state.ink(), &text) } else { line }
}
