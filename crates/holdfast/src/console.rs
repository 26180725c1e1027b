//! Where output goes: data to stdout, everything else to stderr.
//!
//! A reader that leaves early ends the command quietly ([`Failure::ReaderLeft`]); nothing here panics when a
//! stream is closed.

use std::io::{self, BufRead, BufWriter, IsTerminal, Read, StdoutLock, Write};
use std::time::Duration;

use holdfast_types::{Problem, drives_a_terminal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;

use crate::look::{Shape, Style, WIDTH, printable};
use crate::problem::{self, CliError, Failure, Result};
use crate::sieve::{sieved, sieved_colours, sieved_problem};

/// JSON that means the same, without characters that a terminal obeys: those beyond ASCII may stand in it as they are.
fn spelled_out(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for letter in json.chars() {
        if drives_a_terminal(letter) {
            out.extend(letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(letter);
        }
    }
    out
}

/// How the answer is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    People,
    Json,
}

#[derive(Debug)]
pub(crate) struct Console {
    pub(crate) form: Form,
    pub(crate) out_style: Style,
    err_style: Style,
    out_is_terminal: bool,
    err_is_terminal: bool,
    out: BufWriter<StdoutLock<'static>>,
}

impl Console {
    pub(crate) fn new(form: Form) -> Console {
        let out_is_terminal = io::stdout().is_terminal();
        let err_is_terminal = io::stderr().is_terminal();
        let wanted = colour_wanted(std::env::var_os("NO_COLOR"), std::env::var_os("TERM"));
        let style = |terminal| {
            if terminal && wanted { Style::coloured() } else { Style::plain() }
        };
        Console {
            form,
            out_style: style(out_is_terminal),
            err_style: style(err_is_terminal),
            out_is_terminal,
            err_is_terminal,
            out: BufWriter::new(io::stdout().lock()),
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.form == Form::Json
    }

    pub(crate) fn out_is_terminal(&self) -> bool {
        self.out_is_terminal
    }

    /// Whether the terminal can do no more than print.
    pub(crate) fn is_dumb(&self) -> bool {
        std::env::var_os("TERM").is_some_and(|term| term == "dumb")
    }

    /// Columns there are for a line of output.
    pub(crate) fn width(&self) -> usize {
        let asked = self.out_is_terminal.then(|| rustix::termios::tcgetwinsize(io::stdout()).ok());
        let columns = asked.flatten().map(|size| usize::from(size.ws_col));
        columns.filter(|c| *c > 0).unwrap_or(WIDTH)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(output_failed)
    }

    pub(crate) fn line(&mut self, text: &str) -> Result<()> {
        writeln!(self.out, "{text}").map_err(output_failed)
    }

    /// One JSON value on one line.
    pub(crate) fn json(&mut self, value: &Value) -> Result<()> {
        let text = value.to_string();
        let text = if self.out_is_terminal { spelled_out(&text) } else { text };
        self.line(&text)
    }

    /// The same for a form that the API has too.
    pub(crate) fn told_as_json(&mut self, told: &impl serde::Serialize) -> Result<()> {
        // Such forms have text for keys, and nothing in them fails to be written.
        self.json(&serde_json::to_value(told).unwrap_or_default())
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(output_failed)
    }

    /// Waits, and notices a reader that leaves meanwhile.
    pub(crate) fn pause(&mut self, span: Duration) -> Result<()> {
        self.flush()?;
        let timeout = Timespec {
            tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: span.subsec_nanos().into(),
        };
        let stdout = io::stdout();
        let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
        // Interrupted or impossible to ask: then it is only a pause that was shorter.
        let _ = poll(&mut fds, Some(&timeout));
        let gone = fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL);
        if gone { Err(Failure::ReaderLeft) } else { Ok(()) }
    }

    /// Something the user should know, beside the answer.
    pub(crate) fn warn(&self, text: &str) {
        self.beside(Shape::NeedsYou, text);
    }

    pub(crate) fn note(&self, text: &str) {
        self.beside(Shape::Unknown, text);
    }

    fn beside(&self, shape: Shape, text: &str) {
        let text = sieved(text);
        let text = match self.form {
            Form::People => format!("{} {}", self.err_style.shape(shape), printable(&text)),
            Form::Json => serde_json::json!({"warning": text}).to_string(),
        };
        // Nobody can be told that stderr is closed.
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// Free text to stderr, as it is but for secrets.
    pub(crate) fn aside(&self, text: &str) {
        let _ = write!(io::stderr(), "{}", sieved_colours(text));
    }

    /// A step that is done, beside the answer: people see it, and programs read the answer.
    pub(crate) fn told(&self, shape: Shape, text: &str) {
        if self.form == Form::People {
            self.beside(shape, text);
        }
    }

    /// Whether somebody is there who can be asked.
    pub(crate) fn is_attended(&self) -> bool {
        self.err_is_terminal && io::stdin().is_terminal() && self.form == Form::People
    }

    /// A yes or no from the person at the terminal; `None` where there is none to ask.
    pub(crate) fn asks(&self, question: &str) -> Option<bool> {
        if !self.is_attended() {
            return None;
        }
        // What was typed before the question is no answer to it. A terminal that cannot forget it is asked all the same.
        let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
        self.aside(question);
        let mut line = String::new();
        // Whatever is not a yes, also nothing, is a no.
        let _ = io::stdin().lock().take(16).read_line(&mut line);
        Some(matches!(line.trim(), "y" | "Y" | "yes"))
    }

    /// One line that is drawn over again; only a terminal has such lines.
    pub(crate) fn progress(&self, text: &str) {
        if self.err_is_terminal && self.form == Form::People {
            let _ = write!(io::stderr(), "\r\u{1b}[K{text}");
        }
    }

    pub(crate) fn problem(&self, problem: &Problem) {
        let problem = sieved_problem(problem);
        let text = match self.form {
            Form::People => problem::shown(&problem, self.err_style),
            Form::Json => format!("{}\n", problem::json_of(&problem)),
        };
        let _ = write!(io::stderr(), "{text}");
    }
}

pub(crate) fn output_failed(source: io::Error) -> Failure {
    match source.kind() {
        io::ErrorKind::BrokenPipe => Failure::ReaderLeft,
        _ => CliError::Output { source }.into(),
    }
}

fn colour_wanted(no_color: Option<std::ffi::OsString>, term: Option<std::ffi::OsString>) -> bool {
    no_color.is_none_or(|v| v.is_empty()) && term.is_none_or(|t| t != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_and_a_dumb_terminal_are_respected() {
        let some = |text: &str| Some(text.into());
        assert!(colour_wanted(None, some("xterm")));
        assert!(colour_wanted(some(""), None));
        assert!(!colour_wanted(some("1"), some("xterm")));
        assert!(!colour_wanted(None, some("dumb")));
    }
}
