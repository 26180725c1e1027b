//! The edge: paints frames, waits, and hears the reader. The terminal itself is handed in.
//!
//! Scenes are painted on the other screen of the terminal, and only the lines that changed, so nothing flickers. Whatever
//! ends the demo (its end, Ctrl-C, a reader that leaves, a panic) the cursor is shown again and the first screen is back.

use std::io::{self, Write};
use std::time::Duration;

use holdfast_plot::{Glyphs, Ink, Line, Size};
use holdfast_steward_host::LogFailed;

use crate::director::{Director, TICK};
use crate::document::document;
use crate::frame::{fits, frame};
use crate::tell::{plain_lines, summary};

/// What came while waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    Nothing,
    /// The reader wants to leave.
    Interrupted,
}

/// Where the demo is shown.
pub trait Terminal: Write {
    /// Columns and rows; nothing where it is no terminal.
    fn size(&mut self) -> Option<Size>;
    /// Waits this long, or less when something is heard.
    fn wait(&mut self, span: Duration) -> Heard;
}

/// How it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub colour: bool,
    pub glyphs: Glyphs,
    /// Without waiting: plain lines, as where there is no terminal.
    pub fast: bool,
    /// One JSON document and nothing else.
    pub json: bool,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Whole,
    Interrupted,
}

impl Ended {
    /// What a shell expects: 130 after Ctrl-C.
    pub fn exit_code(self) -> u8 {
        match self {
            Ended::Whole => 0,
            Ended::Interrupted => 130,
        }
    }
}

/// What is said to a reader who leaves early.
const LEFT_EARLY: &str = "Stopped. Nothing is left behind: all of it was in memory.";
const WIDTH: usize = 80;

/// Plays the demo.
pub fn play(terminal: &mut dyn Terminal, look: Look) -> io::Result<Ended> {
    let mut director = Director::new().map_err(broken)?;
    let ended = match terminal.size().filter(|size| fits(*size) && !look.fast && !look.json) {
        Some(_) => on_screen(terminal, &mut director, look)?,
        None if look.json => at_once(terminal, &mut director)?,
        None => in_lines(terminal, &mut director, look)?,
    };
    match ended {
        Ended::Interrupted if look.json => {}
        Ended::Interrupted => writeln!(terminal, "{LEFT_EARLY}")?,
        Ended::Whole if look.json => writeln!(terminal, "{}", document(&director))?,
        Ended::Whole => {
            let width = terminal.size().map_or(WIDTH, |size| size.width);
            print(terminal, &summary(&director, width, look.glyphs), look)?;
        }
    }
    terminal.flush()?;
    Ok(ended)
}

fn broken(failed: LogFailed) -> io::Error {
    io::Error::other(failed)
}

/// Everything without a word: the document comes at the end.
fn at_once(terminal: &mut dyn Terminal, director: &mut Director) -> io::Result<Ended> {
    while director.tick().map_err(broken)? {
        if terminal.wait(Duration::ZERO) == Heard::Interrupted {
            return Ok(Ended::Interrupted);
        }
    }
    Ok(Ended::Whole)
}

/// Plain lines, an act at a time, as soon as it is over. There is nothing to look at meanwhile, so nobody waits.
fn in_lines(terminal: &mut dyn Terminal, director: &mut Director, look: Look) -> io::Result<Ended> {
    let width = terminal.size().map_or(WIDTH, |size| size.width);
    let mut last = director.scene();
    loop {
        let (act, _) = director.place();
        let goes_on = director.tick().map_err(broken)?;
        let over = !goes_on || director.place().0 != act;
        if over && let Some(scene) = last.take() {
            print(terminal, &plain_lines(&scene, width, look.glyphs), look)?;
        }
        if !goes_on {
            return Ok(Ended::Whole);
        }
        if terminal.wait(Duration::ZERO) == Heard::Interrupted {
            return Ok(Ended::Interrupted);
        }
        last = director.scene();
    }
}

fn print(terminal: &mut dyn Terminal, lines: &[Line], look: Look) -> io::Result<()> {
    for line in lines {
        writeln!(terminal, "{}", painted(line, look))?;
    }
    terminal.flush()
}

fn painted(line: &Line, look: Look) -> String {
    if look.colour { line.painted() } else { line.plain() }
}

fn on_screen(terminal: &mut dyn Terminal, director: &mut Director, look: Look) -> io::Result<Ended> {
    let mut screen = Screen::open(terminal)?;
    loop {
        if let Some(scene) = director.scene() {
            let size = screen.terminal.size().unwrap_or(Size { width: WIDTH, height: 24 });
            let lines = frame(&scene, size, look.glyphs);
            let texts = lines.iter().map(|line| row(line, size.width, look)).collect();
            screen.show(texts, size)?;
        }
        if screen.terminal.wait(TICK) == Heard::Interrupted {
            return Ok(Ended::Interrupted);
        }
        if !director.tick().map_err(broken)? {
            return Ok(Ended::Whole);
        }
    }
}

/// A line over whatever was there. One that fills the width leaves nothing to clear, and clearing would take its end.
fn row(line: &Line, width: usize, look: Look) -> String {
    // Without colour the blanks at the end are left out, and what was there is cleared.
    let fills = if look.colour { line.width() } else { Line::of(Ink::Text, &line.plain()).width() } >= width;
    format!("{}{}", painted(line, look), if fills { "" } else { "\x1b[K" })
}

/// The other screen of a terminal, for as long as this lives.
struct Screen<'a> {
    terminal: &'a mut dyn Terminal,
    shown: Vec<String>,
    size: Option<Size>,
}

impl<'a> Screen<'a> {
    fn open(terminal: &'a mut dyn Terminal) -> io::Result<Screen<'a>> {
        let screen = Screen { terminal, shown: Vec::new(), size: None };
        // The other screen, no cursor, no wrapping of lines that fill the width.
        screen.terminal.write_all(b"\x1b[?1049h\x1b[?25l\x1b[?7l")?;
        Ok(screen)
    }

    /// Paints the lines that changed; all of them after a change of size.
    fn show(&mut self, lines: Vec<String>, size: Size) -> io::Result<()> {
        let mut out = String::from("\x1b[?2026h");
        if self.size.replace(size) != Some(size) {
            self.shown.clear();
            out.push_str("\x1b[2J");
        }
        for (row, line) in lines.iter().enumerate() {
            if self.shown.get(row) != Some(line) {
                out.push_str(&format!("\x1b[{};1H{line}", row + 1));
            }
        }
        out.push_str("\x1b[?2026l");
        self.shown = lines;
        self.terminal.write_all(out.as_bytes())?;
        self.terminal.flush()
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        // Nobody can be told that the terminal is gone.
        let _ = self.terminal.write_all(b"\x1b[?2026l\x1b[?7h\x1b[?25h\x1b[?1049l");
        let _ = self.terminal.flush();
    }
}
