//! One way to draw what is measured and what is done about it: the same description as terminal cells and as SVG.
//!
//! A [`Figure`] says what there is to see: series with gaps, a band of what is normal here, where the change began, the
//! moments of episodes, a threshold, the sentence. [`figure_lines`] draws it in cells, [`figure_svg`] as a picture. The
//! smaller pieces are in [`gate_strip`], [`lease_bar`], [`score_cells`] and [`sparkline`].
//!
//! What holds:
//! - everything is a pure function of its arguments; nothing reads a clock or a terminal;
//! - no line is wider than asked, whatever is drawn;
//! - meaning is in shapes and words; [`Ink`] only adds to it, and [`Glyphs::Ascii`] leaves nothing but ASCII;
//! - figures that are no numbers are gaps, and no figure however large makes a drawing fail.

mod ascii;
mod canvas;
mod cells;
mod figure;
mod line;
mod picture;
mod pieces;
mod scale;
mod state;
mod svg;

pub use cells::figure_lines;
pub use figure::{Band, Figure, Mark, Moment, Point, Series, Threshold};
pub use line::{Glyphs, Ink, Line, Size, Span, fitted, wrapped};
pub use picture::{
    gate_mark, gates_svg, lease_inline, lease_svg, probe_mark, score_svg, sparkline_inline, sparkline_svg,
};
pub use pieces::{Gate, GateState, Lease, Probe, Score, gate_strip, lease_bar, score_cells, sparkline};
pub use scale::{clock, number};
pub use state::State;
pub use svg::{Pixels, figure_inline, figure_svg};
