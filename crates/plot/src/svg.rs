//! A figure as SVG: text stays text, colours are the product's tokens and follow the reader's light or dark, and the whole
//! has a title and a description for those who do not see it. No scripts, nothing loaded from elsewhere.
//!
//! [`figure_svg`] stands alone: it brings its style, its title and its sentence. [`figure_inline`] is for a page that has
//! the tokens in its own stylesheet and says title and sentence in text that wraps; it carries its values, so that the
//! page can read them out.

use std::fmt::Write as _;

use crate::figure::{Figure, Series};
use crate::scale::{Column, Frame, columns, number, ticks, time_ticks};

/// The size of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pixels {
    pub width: u32,
    pub height: u32,
}

/// No picture is smaller or larger than this: every length inside stays positive, and the file bounded.
const SIDE_MIN: u32 = 120;
const SIDE_MAX: u32 = 4096;
/// Room beside the plot, in pixels: for the labels of values, the title, the times with the marks, the sentence.
const LEFT: f64 = 56.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 50.0;
const BELOW: f64 = 44.0;
const SENTENCE: f64 = 24.0;
/// The same inside a page, where title and sentence stand beside the drawing: above it only the word of the mark, below
/// it the times, and the episodes where there are any.
const PAGE_EDGE: f64 = 10.0;
const PAGE_WORD: f64 = 14.0;
const PAGE_BELOW: f64 = 24.0;
const PAGE_MOMENTS: f64 = 20.0;
/// Values that can be read out of a series: as many as a finger can tell apart on a telephone.
const READS_MAX: usize = 120;

/// The colour tokens, light and dark, and what is drawn in them. Every rule is about our own pictures alone: they may stand
/// in a page with other ones.
pub(crate) const STYLE: &str = "<style>\
.holdfast{--ink:#0f1c24;--paper:#f7f8f5;--line:#d5dad4;--kelp:#2f6f5e;--buoy:#9a6410;--coral:#a33c2e;--slate:#55656d;\
font:13px system-ui,sans-serif;font-variant-numeric:tabular-nums}\n\
@media(prefers-color-scheme:dark){.holdfast{--ink:#e8eeea;--paper:#0c151b;--line:#22313a;--kelp:#63b59c;\
--buoy:#e0a94a;--coral:#e9816f;--slate:#93a4ac}}\n\
.holdfast .paper{fill:var(--paper)}.holdfast .ink{fill:var(--ink)}.holdfast .slate{fill:var(--slate)}\
.holdfast .kelp{fill:var(--kelp)}.holdfast .buoy{fill:var(--buoy)}.holdfast .coral{fill:var(--coral)}\n\
.holdfast .line{stroke:var(--line);fill:none}\
.holdfast .series{stroke:var(--kelp);fill:none;stroke-width:1.5;stroke-linejoin:round;stroke-linecap:round}\
.holdfast .band{fill:var(--slate);opacity:.14}.holdfast .began{stroke:var(--buoy);stroke-dasharray:3 3;fill:none}\
.holdfast .threshold{stroke:var(--slate);stroke-dasharray:6 4;fill:none}.holdfast .strong{font-weight:600}</style>";

/// Draws a figure.
pub fn figure_svg(figure: &Figure, size: Pixels) -> String {
    let paper = Paper::of(figure, size);
    let mut out = opened(paper.width, paper.height, &figure.title, &description(figure));
    paper.grid(&figure.unit, figure.now_ms, &mut out);
    paper.band(figure, &mut out);
    paper.series(figure, &mut out);
    paper.marks(figure, &mut out);
    paper.words(figure, &mut out);
    out.push_str("</svg>\n");
    out
}

/// Draws a figure as a part of a page.
pub fn figure_inline(figure: &Figure, size: Pixels) -> String {
    let paper = Paper::in_page(figure, size);
    let label = format!("{}. {}", figure.title, description(figure));
    let mut out = opened_inline("", (paper.width, paper.height), &label);
    // The page names the unit once, beside the title: there is no room for it at every value.
    paper.grid("", figure.now_ms, &mut out);
    paper.band(figure, &mut out);
    paper.readable(figure, &mut out);
    paper.marks(figure, &mut out);
    out.push_str("</svg>");
    out
}

/// The beginning of a picture inside a page. Its name is a label and no `title`, which would cover what is pointed at.
pub(crate) fn opened_inline(class: &str, (width, height): (f64, f64), label: &str) -> String {
    let label = escaped(label);
    format!(
        "<svg class=\"holdfast {class}\" role=\"img\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" aria-label=\"{label}\">"
    )
}

/// The beginning of every picture: its size, its style, its names for those who do not see it, its ground.
pub(crate) fn opened(width: f64, height: f64, title: &str, description: &str) -> String {
    let (title, description) = (escaped(title), escaped(description));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"holdfast\" role=\"img\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\">\n<title>{title}</title>\n<desc>{description}</desc>\n{STYLE}\n\
         <rect class=\"paper\" width=\"{width:.0}\" height=\"{height:.0}\"/>\n"
    )
}

/// A length as it is written into a picture.
pub(crate) fn bounded(side: u32) -> f64 {
    f64::from(side.clamp(SIDE_MIN, SIDE_MAX))
}

/// Text that cannot be read as anything but text. What XML does not allow at all becomes a question mark.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('?'),
            c if holdfast_types::drives_a_terminal(c) => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

fn description(figure: &Figure) -> String {
    let mut parts: Vec<String> = figure.sentence.iter().cloned().collect();
    let points = figure.series.iter().flat_map(Series::in_order).filter_map(|point| point.number());
    let (count, low, high, last) = points
        .fold((0u64, f64::INFINITY, f64::NEG_INFINITY, 0.0), |(count, low, high, _), value| {
            (count + 1, low.min(value), high.max(value), value)
        });
    if count == 0 {
        parts.push("Nothing was measured.".to_owned());
    } else {
        let unit = &figure.unit;
        parts.push(format!(
            "{count} samples from {} {unit} to {} {unit}, the last {} {unit}.",
            number(low),
            number(high),
            number(last)
        ));
    }
    if let Some(band) = figure.band {
        parts.push(format!("Normal here: {} to {} {}.", number(band.low), number(band.high), figure.unit));
    }
    parts.extend(figure.moments.iter().map(|moment| format!("{}: {}.", moment.state.word(), moment.word)));
    parts.join(" ")
}

/// Where things are drawn.
struct Paper {
    width: f64,
    height: f64,
    top: f64,
    bottom: f64,
    frame: Frame,
}

impl Paper {
    fn of(figure: &Figure, size: Pixels) -> Paper {
        let (width, height) = (bounded(size.width), bounded(size.height));
        let sentence = if figure.sentence.is_some() { SENTENCE } else { 0.0 };
        let bottom = (height - BELOW - sentence).max(TOP + 20.0);
        Paper { width, height, top: TOP, bottom, frame: Frame::of(figure) }
    }

    fn in_page(figure: &Figure, size: Pixels) -> Paper {
        let (width, height) = (bounded(size.width), bounded(size.height));
        let top = PAGE_EDGE + if figure.began.is_some() { PAGE_WORD } else { 0.0 };
        let moments = if figure.moments.is_empty() { 0.0 } else { PAGE_MOMENTS };
        let bottom = (height - PAGE_BELOW - moments).max(top + 20.0);
        Paper { width, height, top, bottom, frame: Frame::of(figure) }
    }

    fn x(&self, at_ms: i64) -> Option<f64> {
        self.frame.across(at_ms).map(|across| LEFT + across * (self.width - LEFT - RIGHT))
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom - self.frame.up(value) * (self.bottom - self.top)
    }

    /// Where words beside a mark begin, or, near the right edge, where they end.
    fn beside(&self, x: f64, by: f64) -> (&'static str, f64) {
        if x < self.width * 0.8 { ("start", x + by) } else { ("end", x - by) }
    }

    fn right(&self) -> f64 {
        self.width - RIGHT
    }

    fn grid(&self, unit: &str, now_ms: Option<i64>, out: &mut String) {
        let most = ((self.bottom - self.top) / 40.0).clamp(2.0, 9.0) as usize;
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        for tick in ticks(self.frame.low, self.frame.high, most) {
            let y = self.y(tick);
            push(out, format_args!("<path class=\"line\" d=\"M{LEFT:.1} {y:.1}H{:.1}\"/>\n", self.right()));
            let label = format!("{}{unit}", number(tick));
            self.text(out, "slate", "end", (LEFT - 8.0, y + 4.0), &label);
        }
        let now = now_ms.unwrap_or(self.frame.to_ms);
        let room = ((self.width - LEFT - RIGHT) / 96.0) as usize;
        for (at, label) in time_ticks(&self.frame, now, room) {
            if let Some(x) = self.x(at) {
                self.text(out, "slate", "middle", (x, self.bottom + 18.0), &label);
            }
        }
    }

    fn band(&self, figure: &Figure, out: &mut String) {
        let Some(band) = figure.band.filter(|band| band.low.is_finite() && band.high.is_finite()) else {
            return;
        };
        let (top, bottom) = (self.y(band.high), self.y(band.low));
        let (width, height) = (self.right() - LEFT, (bottom - top).max(1.0));
        push(
            out,
            format_args!(
                "<rect class=\"band\" x=\"{LEFT:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>\n"
            ),
        );
        self.text(out, "slate", "end", (self.right() - 4.0, top + 14.0), "normal here");
    }

    fn series(&self, figure: &Figure, out: &mut String) {
        let across = (self.right() - LEFT).max(2.0);
        for series in &figure.series {
            let columns = columns(series, &self.frame, across as usize);
            let path: String = columns.iter().map(|column| self.piece(column)).collect();
            if !path.is_empty() {
                push(out, format_args!("<path class=\"series\" d=\"{path}\"/>\n"));
            }
        }
    }

    /// The series, and what can be read of each: place across and up, milliseconds before now, value.
    fn readable(&self, figure: &Figure, out: &mut String) {
        let now = figure.now_ms.unwrap_or(self.frame.to_ms);
        self.series(figure, out);
        for series in &figure.series {
            let reads: Vec<String> =
                columns(series, &self.frame, READS_MAX).iter().map(|column| self.read(column, now)).collect();
            let (name, reads) = (escaped(&series.name), reads.join(";"));
            push(out, format_args!("<g data-name=\"{name}\" data-reads=\"{reads}\"></g>\n"));
        }
    }

    fn read(&self, column: &Column, now_ms: i64) -> String {
        let across = column.at as f64 / (READS_MAX - 1) as f64;
        let span = self.frame.to_ms.saturating_sub(self.frame.from_ms) as f64;
        let at = self.frame.from_ms.saturating_add((across * span) as i64);
        let (x, y) = (LEFT + across * (self.right() - LEFT), self.y(column.last));
        format!("{x:.0},{y:.0},{},{}", now_ms.saturating_sub(at), number(column.last))
    }

    /// One column: to its first value, over its extremes, to its last.
    fn piece(&self, column: &Column) -> String {
        let x = LEFT + column.at as f64;
        let to = if column.joined { 'L' } else { 'M' };
        let first = format!("{to}{x:.1} {:.1}", self.y(column.first));
        if column.low == column.high {
            // A line of no length is drawn where its ends are round; a lone point is seen that way.
            return if column.joined { first } else { format!("{first}h.1") };
        }
        format!("{first}V{:.1}V{:.1}V{:.1}", self.y(column.low), self.y(column.high), self.y(column.last))
    }

    fn marks(&self, figure: &Figure, out: &mut String) {
        if let Some(threshold) = figure.threshold.as_ref().filter(|threshold| threshold.value.is_finite()) {
            let y = self.y(threshold.value);
            push(
                out,
                format_args!("<path class=\"threshold\" d=\"M{LEFT:.1} {y:.1}H{:.1}\"/>\n", self.right()),
            );
            self.text(out, "slate", "start", (LEFT + 4.0, y - 4.0), &threshold.word);
        }
        if let Some((mark, x)) = figure.began.as_ref().and_then(|mark| Some((mark, self.x(mark.at_ms)?))) {
            push(
                out,
                format_args!("<path class=\"began\" d=\"M{x:.1} {:.1}V{:.1}\"/>\n", self.top, self.bottom),
            );
            let (anchor, x) = self.beside(x, 4.0);
            self.text(out, "buoy", anchor, (x, self.top - 6.0), &mark.word);
        }
        for moment in &figure.moments {
            let Some(x) = self.x(moment.at_ms) else { continue };
            let text = format!("{} {}", moment.state.shape(), moment.word);
            let (anchor, x) = self.beside(x, -6.0);
            self.text(out, class(moment.state.ink()), anchor, (x, self.bottom + 36.0), &text);
        }
    }

    fn words(&self, figure: &Figure, out: &mut String) {
        self.text(out, "slate", "start", (LEFT, 20.0), &figure.title);
        if let Some(sentence) = &figure.sentence {
            self.text(out, "ink strong", "start", (LEFT, self.height - 10.0), sentence);
        }
    }

    fn text(&self, out: &mut String, class: &str, anchor: &str, (x, y): (f64, f64), text: &str) {
        let text = escaped(text);
        push(
            out,
            format_args!(
                "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>\n"
            ),
        );
    }
}

pub(crate) fn class(ink: crate::line::Ink) -> &'static str {
    use crate::line::Ink;
    match ink {
        Ink::Text => "ink",
        Ink::Strong => "ink strong",
        Ink::Slate => "slate",
        Ink::Kelp => "kelp",
        Ink::Buoy => "buoy",
        Ink::Coral => "coral",
    }
}

pub(crate) fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing into a string does not fail.
    let _ = out.write_fmt(text);
}
