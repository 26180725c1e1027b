//! Asking: through the socket where a daemon listens, else by opening the office for a moment.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use holdfast_control::{Answer, Append, Content, PATIENCE, Request, Step, connect_within};
use holdfast_journal::Draft;

use crate::console::Console;
use crate::house::{House, say_what_was_mended};
use crate::look::number;
use crate::office::{Office, is_busy};
use crate::problem::Result;
use crate::settings::Overlay;

/// How long a command waits for another that has the journal open: several appends from a script take turns, and
/// somebody who holds it for long is still reported soon.
const TURN: Duration = Duration::from_secs(2);
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Has a request carried out, by whoever has this home open.
pub(crate) fn ask(house: &House, request: &Request, console: &Console) -> Result<Answer> {
    ask_within(house, request, PATIENCE, console)
}

/// The same, with a daemon that may be silent only for so long.
pub(crate) fn ask_within(
    house: &House,
    request: &Request,
    silence: Duration,
    console: &Console,
) -> Result<Answer> {
    Talk { house, silence, office: None }.ask(request, console)
}

/// Several questions one after the other: a home that nobody has open is opened once for all of them.
#[derive(Debug)]
pub(crate) struct Talk<'a> {
    house: &'a House,
    silence: Duration,
    office: Option<Office>,
}

impl<'a> Talk<'a> {
    pub(crate) fn with(house: &'a House) -> Talk<'a> {
        Talk { house, silence: PATIENCE, office: None }
    }

    pub(crate) fn ask(&mut self, request: &Request, console: &Console) -> Result<Answer> {
        let mut shown = Shown::new(console);
        let deadline = Instant::now() + TURN;
        let office = loop {
            if let Some(office) = self.office.take() {
                break office;
            }
            if let Some(client) = connect_within(&self.house.places.socket(), self.silence)? {
                let answer = client.ask(request.clone(), &mut |step| shown.show(step));
                shown.clear();
                return Ok(answer?);
            }
            match Office::open(self.house, &Overlay::of_this_process(&[])) {
                // Another command, or a daemon that is just coming up or going down.
                Err(e) if is_busy(&e) && Instant::now() < deadline => std::thread::sleep(BETWEEN_TRIES),
                Err(e) => return Err(e),
                Ok(office) => {
                    say_what_was_mended(&office.journal, console);
                    break office;
                }
            }
        };
        let answer = office.carry_out(request.clone(), &mut |step| {
            shown.show(&step);
            ControlFlow::Continue(())
        });
        shown.clear();
        if let Some(aside) = office.index_opened().and_then(|opened| opened.set_aside.as_ref()) {
            let kept_in = aside.kept_in.display();
            console.warn(&format!("the index was damaged ({}); it is kept in {kept_in}", aside.why));
        }
        self.office = Some(office);
        answer
    }
}

/// Writes an entry, and gives its number. A daemon may be silent only for so long.
pub(crate) fn append(house: &House, draft: Draft, silence: Duration, console: &Console) -> Result<u64> {
    let append = Append {
        kind: draft.kind,
        actor: draft.actor,
        subject: None,
        run: None,
        cause: None,
        key: None,
        trust: draft.trust,
        content: match draft.content {
            holdfast_journal::Content::Body(body) => Content::Body(body),
            holdfast_journal::Content::Blob(bytes) => Content::Blob(BASE64.encode(bytes)),
        },
    };
    match ask_within(house, &Request::Append(Box::new(append)), silence, console)? {
        Answer::Appended(done) => Ok(done.seq),
        other => Err(unexpected(&other)),
    }
}

/// Draws steps on one line of a terminal, not more often than eyes can follow.
struct Shown<'a> {
    console: &'a Console,
    last: Option<Instant>,
    began: Instant,
}

impl Shown<'_> {
    fn new(console: &Console) -> Shown<'_> {
        Shown { console, last: None, began: Instant::now() }
    }

    fn show(&mut self, step: &Step) {
        if self.last.is_some_and(|last| last.elapsed() < Duration::from_millis(100)) {
            return;
        }
        self.last = Some(Instant::now());
        self.console.progress(&told(step, self.began.elapsed()));
    }

    fn clear(&self) {
        if self.last.is_some() {
            self.console.progress("");
        }
    }
}

/// `rebuilding the index  412,000 of 1,000,000 entries  41 %  about 3 s left`.
fn told(step: &Step, spent: Duration) -> String {
    let Step { what, done, of, unit } = step;
    match of {
        Some(of) if *of > 0 => {
            let part = (*done as f64 / *of as f64).min(1.0);
            let left = match part {
                part if part > 0.02 => {
                    format!("  about {:.0} s left", spent.as_secs_f64() * (1.0 - part) / part)
                }
                _ => String::new(),
            };
            format!("{what}  {} of {} {unit}  {:.0} %{left}", number(*done), number(*of), part * 100.0)
        }
        _ if *done > 0 => format!("{what}  {} {unit}", number(*done)),
        _ => format!("{what}  {} s", spent.as_secs()),
    }
}

/// The answer did not fit the question: the daemon and this program differ after all.
pub(crate) fn unexpected(answer: &Answer) -> crate::problem::Failure {
    let why = format!("an answer of another kind: {answer:?}").chars().take(120).collect();
    holdfast_control::Error::Garbled { why }.problem().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_says_what_how_far_and_how_long() {
        let step = |done, of| Step { what: "rebuilding the index".into(), done, of, unit: "entries".into() };
        let say = |done, of| told(&step(done, of), Duration::from_secs(4));
        assert_eq!(
            say(400_000, Some(1_000_000)),
            "rebuilding the index  400,000 of 1,000,000 entries  40 %  about 6 s left"
        );
        assert_eq!(say(0, Some(10)), "rebuilding the index  0 of 10 entries  0 %");
        assert_eq!(say(7, None), "rebuilding the index  7 entries");
        assert_eq!(say(0, None), "rebuilding the index  4 s");
    }
}
