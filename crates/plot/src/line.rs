//! A line of terminal text: spans, each with its ink. Widths are counted in columns.

use anstyle::{AnsiColor, Effects, Style};
use holdfast_types::printable;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::ascii::stand_in;

/// Which characters a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glyphs {
    Unicode,
    Ascii,
}

/// Room in columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub width: usize,
    pub height: usize,
}

/// The colour tokens of the product. In a terminal they follow the reader's own palette.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ink {
    /// Ordinary text.
    #[default]
    Text,
    /// Text that is read first.
    Strong,
    /// Secondary text.
    Slate,
    /// Settled, kept, and what is drawn.
    Kelp,
    /// On trial, and what needs somebody.
    Buoy,
    /// Harm.
    Coral,
}

impl Ink {
    fn style(self) -> Style {
        let coloured = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self {
            Ink::Text => Style::new(),
            Ink::Strong => Style::new().effects(Effects::BOLD),
            Ink::Slate => Style::new().effects(Effects::DIMMED),
            Ink::Kelp => coloured(AnsiColor::Green),
            Ink::Buoy => coloured(AnsiColor::Yellow),
            Ink::Coral => coloured(AnsiColor::Red),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub ink: Ink,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    spans: Vec<Span>,
}

impl Line {
    pub fn new() -> Line {
        Line::default()
    }

    pub fn of(ink: Ink, text: &str) -> Line {
        Line::new().with(ink, text)
    }

    /// The line with this after it. What would drive a terminal is spelled out.
    #[must_use]
    pub fn with(mut self, ink: Ink, text: &str) -> Line {
        self.push(ink, text);
        self
    }

    pub fn push(&mut self, ink: Ink, text: &str) {
        if text.is_empty() {
            return;
        }
        let text = if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            text.to_owned()
        } else {
            printable(text)
        };
        // Blanks have no ink to see: they join whatever is before them.
        let blank = text.bytes().all(|byte| byte == b' ');
        match self.spans.last_mut() {
            Some(last) if last.ink == ink || blank => last.text.push_str(&text),
            _ => self.spans.push(Span { text, ink }),
        }
    }

    /// The line with another one after it.
    #[must_use]
    pub fn then(mut self, other: Line) -> Line {
        for span in other.spans {
            self.push(span.ink, &span.text);
        }
        self
    }

    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| columns(&span.text)).sum()
    }

    /// Filled with blanks up to this column.
    #[must_use]
    pub fn padded(mut self, width: usize) -> Line {
        let missing = width.saturating_sub(self.width());
        self.push(Ink::Text, &" ".repeat(missing));
        self
    }

    /// This line, and the other so that it ends in this column; the other is left out where there is no room for it.
    #[must_use]
    pub fn and_right(self, other: Line, width: usize) -> Line {
        let room = width.saturating_sub(self.width());
        if other.width() < room { self.padded(width - other.width()).then(other) } else { self }
    }

    /// Cut to a width; what was cut off shows as `…`.
    #[must_use]
    pub fn cut(self, width: usize) -> Line {
        if self.width() <= width {
            return self;
        }
        let mut out = Line::new();
        let mut left = width;
        for span in self.spans {
            let whole = columns(&span.text);
            if whole < left {
                left -= whole;
                out.push(span.ink, &span.text);
                continue;
            }
            out.push(span.ink, &fitted(&format!("{}……", span.text), left));
            break;
        }
        out
    }

    #[must_use]
    pub fn shown_in(mut self, glyphs: Glyphs) -> Line {
        if glyphs == Glyphs::Ascii {
            for span in &mut self.spans {
                span.text = span
                    .text
                    .chars()
                    .flat_map(|c| std::iter::repeat_n(stand_in(c), c.width().unwrap_or(0)))
                    .collect();
            }
        }
        self
    }

    /// The text alone.
    pub fn plain(&self) -> String {
        let text: String = self.spans.iter().map(|span| span.text.as_str()).collect();
        text.trim_end().to_owned()
    }

    /// The text with its colours.
    pub fn painted(&self) -> String {
        let paint = |span: &Span| match span.ink {
            Ink::Text => span.text.clone(),
            ink => {
                let style = ink.style();
                format!("{style}{}{style:#}", span.text)
            }
        };
        self.spans.iter().map(paint).collect()
    }
}

/// How wide text is. Most of it is ASCII without control characters, which is as wide as it is long.
fn columns(text: &str) -> usize {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) { text.len() } else { text.width() }
}

/// Text cut to a width in columns; what was cut off shows as `…`.
pub fn fitted(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used + 1 > width {
            break;
        }
        out.push(c);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// Text in lines of at most this width, broken between words. A longer word is cut.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(fitted(word, width)),
        }
    }
    lines
}
