//! A grid of cells to draw on: dots of a line above, characters beneath. What is above hides what is beneath.

use crate::line::{Ink, Line};

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// Two by four dots, as bits of a braille character.
    dots: u8,
    beneath: Option<(char, Ink)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Canvas {
    width: usize,
    height: usize,
    cells: Vec<Cell>,
}

/// Dots of a cell, by column and row.
const DOTS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

impl Canvas {
    pub(crate) fn new(width: usize, height: usize) -> Canvas {
        Canvas { width, height, cells: vec![Cell::default(); width * height] }
    }

    pub(crate) fn dots_across(&self) -> usize {
        self.width * 2
    }

    fn dots_down(&self) -> usize {
        self.height * 4
    }

    fn cell(&mut self, column: usize, row: usize) -> Option<&mut Cell> {
        if column >= self.width {
            return None;
        }
        self.cells.get_mut(row * self.width + column)
    }

    /// The row of cells in which this height lies: 0 at the bottom, 1 at the top.
    pub(crate) fn row(&self, up: f64) -> usize {
        self.dot_row(up) / 4
    }

    fn dot_row(&self, up: f64) -> usize {
        let last = self.dots_down().saturating_sub(1);
        ((1.0 - up.clamp(0.0, 1.0)) * last as f64).round() as usize
    }

    fn dot(&mut self, x: usize, y: usize) {
        let bit = DOTS.get(x % 2).and_then(|column| column.get(y % 4)).copied().unwrap_or_default();
        if let Some(cell) = self.cell(x / 2, y / 4) {
            cell.dots |= bit;
        }
    }

    /// A line between two dot columns, at these heights.
    pub(crate) fn stroke(&mut self, (x0, up0): (usize, f64), (x1, up1): (usize, f64)) {
        let (y0, y1) = (self.dot_row(up0), self.dot_row(up1));
        let steps = x0.abs_diff(x1).max(y0.abs_diff(y1)).max(1);
        let between = |from: usize, to: usize, n: usize| {
            let part = n as f64 / steps as f64;
            (from as f64 + (to as f64 - from as f64) * part).round() as usize
        };
        for n in 0..=steps {
            self.dot(between(x0, x1, n), between(y0, y1, n));
        }
    }

    /// A character beneath the line. What was put there first stays.
    pub(crate) fn put(&mut self, column: usize, row: usize, c: char, ink: Ink) {
        if let Some(cell) = self.cell(column, row) {
            cell.beneath.get_or_insert((c, ink));
        }
    }

    pub(crate) fn rows(&self, ink: Ink) -> Vec<Line> {
        (0..self.height).map(|row| self.line(row, ink)).collect()
    }

    fn line(&self, row: usize, ink: Ink) -> Line {
        let mut line = Line::new();
        let mut run = (String::new(), Ink::Text);
        for cell in self.cells.iter().skip(row * self.width).take(self.width) {
            let (c, ink) = match (cell.dots, cell.beneath) {
                // A blank takes the ink of its neighbour.
                (0, None) => (' ', run.1),
                (0, Some(beneath)) => beneath,
                (dots, _) => (char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' '), ink),
            };
            if ink != run.1 {
                line.push(run.1, &std::mem::take(&mut run.0));
                run.1 = ink;
            }
            run.0.push(c);
        }
        line.push(run.1, &run.0);
        line
    }
}
