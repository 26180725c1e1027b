//! `holdfast demo`: the loop on modelled hosts in memory, in three acts. What is shown comes from `holdfast-demo`; here is
//! the terminal it is shown on.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use clap::Args;
use holdfast_demo::{Heard, Look, Terminal, play};
use holdfast_plot::{Glyphs, Size};
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcgetwinsize,
    tcsetattr,
};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::console::{Console, output_failed};
use crate::problem::Result;

/// See the steward at work on modelled hosts, in less than a minute
///
/// Needs no home, no host, no key and no network, and leaves nothing behind: everything happens in this process. Three acts:
/// a change that helps and is kept, one that does harm and is undone, and a controller that dies in the middle of a trial,
/// which the lease undoes. Time runs faster than it does on a real host, and the screen says how much.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Piped, or on a terminal smaller than 60 columns by 16 lines, it is told in plain lines. Ctrl-C leaves at any moment, with \
exit code 130.

JSON fields: demo (the version of this form), accelerated, modelled, shown_seconds, acts[] with act, title, host, brain, \
noticed, cause, episode, change, hypothesis, gates[], cycles[], score, identity, controller_killed_at, \
controller_started_anew_at, went_back_at, settled, outcome, took_seconds, records, story[].")]
pub(crate) struct DemoArgs {
    /// Do not wait between the scenes
    #[arg(long)]
    fast: bool,

    /// Draw with ASCII alone
    #[arg(long)]
    ascii: bool,

    /// Show it so many times faster, for whoever checks it
    #[arg(long, hide = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pace: u32,
}

/// Gives the exit code: 0, or 130 when it was left early.
pub(crate) fn run(args: &DemoArgs, console: &Console) -> Result<u8> {
    let look = Look {
        colour: console.out_style.is_coloured(),
        glyphs: if args.ascii || console.is_dumb() { Glyphs::Ascii } else { Glyphs::Unicode },
        fast: args.fast || console.is_dumb(),
        json: console.is_json(),
    };
    let _quiet = (!look.fast && !look.json).then(Quiet::keyboard).flatten();
    let ended =
        Standard::new(args.pace).and_then(|mut terminal| play(&mut terminal, look)).map_err(output_failed)?;
    Ok(ended.exit_code())
}

/// A keyboard that writes nothing on the screen and does not stop the demo half way; as it was when this goes. Ctrl-C is
/// heard all the same.
struct Quiet {
    before: Termios,
}

impl Quiet {
    fn keyboard() -> Option<Quiet> {
        let stdin = io::stdin();
        let before =
            (stdin.is_terminal() && io::stdout().is_terminal()).then(|| tcgetattr(&stdin).ok()).flatten()?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        // Zero means: no such key.
        quiet.special_codes[SpecialCodeIndex::VSUSP] = 0;
        tcsetattr(&stdin, OptionalActions::Now, &quiet).ok()?;
        Some(Quiet { before })
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        let stdin = io::stdin();
        // What was typed meanwhile was meant for nobody. A terminal that is gone needs nothing.
        let _ = tcflush(&stdin, QueueSelector::IFlush);
        let _ = tcsetattr(&stdin, OptionalActions::Now, &self.before);
    }
}

/// Standard output, its size, and the signals that mean "leave".
struct Standard {
    runtime: Runtime,
    interrupt: Signal,
    terminate: Signal,
    out: io::Stdout,
    pace: u32,
}

impl Standard {
    fn new(pace: u32) -> io::Result<Standard> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let on = |kind| runtime.block_on(async { signal(kind) });
        let (interrupt, terminate) = (on(SignalKind::interrupt())?, on(SignalKind::terminate())?);
        Ok(Standard { runtime, interrupt, terminate, out: io::stdout(), pace })
    }
}

impl Write for Standard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Terminal for Standard {
    fn size(&mut self) -> Option<Size> {
        let size = self.out.is_terminal().then(|| tcgetwinsize(&self.out).ok()).flatten()?;
        let size = Size { width: size.ws_col.into(), height: size.ws_row.into() };
        (size.width > 0 && size.height > 0).then_some(size)
    }

    fn wait(&mut self, span: Duration) -> Heard {
        let Standard { runtime, interrupt, terminate, pace, .. } = self;
        let span = span / (*pace).max(1);
        runtime.block_on(async {
            tokio::select! {
                // A signal that came is kept for the next call; nothing is lost by dropping these.
                biased;
                _ = interrupt.recv() => Heard::Interrupted,
                _ = terminate.recv() => Heard::Interrupted,
                () = pause(span) => Heard::Nothing,
            }
        })
    }
}

/// A timer has a grain of a millisecond: no time at all is not asked of it.
async fn pause(span: Duration) {
    if span.is_zero() {
        tokio::task::yield_now().await;
    } else {
        tokio::time::sleep(span).await;
    }
}
