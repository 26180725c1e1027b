//! Plots in a page: the drawing with its title above and its sentence below.

use holdfast_plot::{Band, Figure, Pixels, figure_inline, sparkline_inline};
use maud::{Markup, PreEscaped, html};

use super::text::{bdi, line};
use super::{LINE_MAX, NAME_MAX};

/// As wide as a telephone: there it is shown as drawn, and on a desk several stand side by side.
const PLOT: Pixels = Pixels { width: 420, height: 220 };
const SPARK: Pixels = Pixels { width: 120, height: 28 };

/// A plot. Values are read out by pointing at it, or by the arrow keys.
pub(crate) fn plot(figure: &Figure) -> Markup {
    let figure = fitted(figure);
    html! {
        figure.plot data-plot data-unit=(figure.unit) tabindex="0" aria-label={ "Plot: " (figure.title) } {
            p.plot-title {
                span { bdi { (figure.title) } @if !figure.unit.is_empty() { span.unit { ", " (figure.unit) } } }
                output.read aria-live="polite" {}
            }
            (PreEscaped(figure_inline(&figure, PLOT)))
            @if let Some(sentence) = &figure.sentence {
                figcaption { (bdi(sentence, LINE_MAX)) }
            }
        }
    }
}

/// The same figure with words that fit.
fn fitted(figure: &Figure) -> Figure {
    let mut figure = figure.clone();
    figure.title = line(&figure.title, NAME_MAX);
    figure.unit = line(&figure.unit, 8);
    figure.sentence = figure.sentence.map(|sentence| line(&sentence, LINE_MAX));
    figure.moments.truncate(12);
    for moment in &mut figure.moments {
        moment.word = line(&moment.word, 16);
    }
    if let Some(mark) = &mut figure.began {
        mark.word = line(&mark.word, 32);
    }
    if let Some(threshold) = &mut figure.threshold {
        threshold.word = line(&threshold.word, 32);
    }
    for series in &mut figure.series {
        series.name = line(&series.name, NAME_MAX);
    }
    figure
}

/// A line small enough to stand beside a name; nothing where nothing was measured.
pub(crate) fn spark(name: &str, values: &[Option<f64>], normal: Option<Band>) -> Markup {
    let known = values.iter().flatten().any(|value| value.is_finite());
    html! {
        @if known { (PreEscaped(sparkline_inline(&line(name, NAME_MAX), values, normal, SPARK))) }
        @else { span.note { "nothing measured" } }
    }
}
