//! `holdfast down`: asks the daemon to stop, and waits until it has.

use std::time::{Duration, Instant};

use clap::Args;
use holdfast_control::{Request, connect};
use holdfast_types::Exit;
use serde_json::json;

use crate::console::Console;
use crate::house::House;
use crate::look::Shape;
use crate::problem::{CliError, Result};

/// A little more than the longest grace there is.
const PATIENCE: Duration = Duration::from_secs(310);

/// Stop the daemon and wait until it has
///
/// Work under way gets the grace the configuration gives it. When no daemon runs there is nothing to do.
#[derive(Debug, Args)]
#[command(after_long_help = "JSON fields: stopped (false when none ran), pid, seconds, dry_run.")]
pub(crate) struct DownArgs {
    /// Say what would be stopped and stop nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &DownArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let began = Instant::now();
    let Some(client) = connect(&house.places.socket())? else {
        say(console, false, None, 0.0, args.dry_run, "no daemon runs here")?;
        return Ok(Exit::Ok);
    };
    let pid = client.hello.pid;
    if args.dry_run {
        say(console, false, Some(pid), 0.0, true, &format!("would stop the daemon, process {pid}"))?;
        return Ok(Exit::Ok);
    }
    client.ask(Request::Stop {}, &mut |_| {})?;
    let view = house.view(&Default::default())?;
    // The socket goes first and the journal last: only then may another one start.
    while view.is_being_written() {
        if began.elapsed() > PATIENCE {
            return Err(CliError::StillRunning { pid }.into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let seconds = began.elapsed().as_secs_f64();
    say(console, true, Some(pid), seconds, false, &format!("stopped after {seconds:.1} s"))?;
    Ok(Exit::Ok)
}

fn say(
    console: &mut Console,
    stopped: bool,
    pid: Option<u32>,
    seconds: f64,
    dry_run: bool,
    text: &str,
) -> Result<()> {
    if console.is_json() {
        return console
            .json(&json!({"stopped": stopped, "pid": pid, "seconds": seconds, "dry_run": dry_run}));
    }
    let shape = if dry_run { Shape::Unknown } else { Shape::Settled };
    let mark = console.out_style.shape(shape);
    console.line(&format!("{mark} {text}"))
}
