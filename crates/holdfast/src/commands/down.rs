//! `holdfast down`: asks the daemon to stop, and waits until it has.

use std::time::{Duration, Instant};

use clap::Args;
use holdfast_control::{Request, connect};
use holdfast_journal::{Stored, View};
use holdfast_types::Exit;
use serde_json::{Value, json};

use crate::console::Console;
use crate::house::{House, say_who_writes};
use crate::kinds::STOPPED;
use crate::look::{Shape, printable};
use crate::problem::{CliError, Result};

/// A little more than the longest grace there is.
const PATIENCE: Duration = Duration::from_secs(310);

/// Stop the daemon and wait until it has
///
/// Work under way gets the grace the configuration gives it. When no daemon runs there is nothing to do. Exit code 1
/// when something was cut off, and then it is named.
#[derive(Debug, Args)]
#[command(after_long_help = "JSON fields: stopped (false when none ran), pid, seconds, cut_off[], dry_run.")]
pub(crate) struct DownArgs {
    /// Say what would be stopped and stop nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &DownArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let began = Instant::now();
    let Some(client) = connect(&house.places.socket())? else {
        say_who_writes(house, console);
        let none = Ended { dry_run: args.dry_run, ..Ended::default() };
        return say(&none, "no daemon runs here", console);
    };
    let pid = client.hello.pid;
    if args.dry_run {
        let still = Ended { pid: Some(pid), dry_run: true, ..Ended::default() };
        return say(&still, &format!("would stop the daemon, process {pid}"), console);
    }
    let view = house.view(&Default::default())?;
    let size = view.size()?;
    client.ask(Request::Stop {}, &mut |_| {})?;
    // The socket goes first and the journal last: only then may another one start.
    while view.is_being_written() && is_alive(pid) {
        if began.elapsed() > PATIENCE {
            return Err(CliError::StillRunning { pid }.into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let seconds = began.elapsed().as_secs_f64();
    let cut_off = cut_off_since(&view, size)?;
    let text = match cut_off.as_slice() {
        [] => format!("stopped after {seconds:.1} s, nothing was cut off"),
        cut_off => format!("stopped after {seconds:.1} s; cut off: {}", cut_off.join("; ")),
    };
    say(&Ended { stopped: true, pid: Some(pid), seconds, cut_off, dry_run: false }, &text, console)
}

/// Whether the daemon still lives: another one may have the journal by now.
fn is_alive(pid: u32) -> bool {
    std::path::Path::new("/proc").join(pid.to_string()).exists()
}

/// How it went.
#[derive(Debug, Default)]
struct Ended {
    stopped: bool,
    pid: Option<u32>,
    seconds: f64,
    cut_off: Vec<String>,
    dry_run: bool,
}

/// What the daemon wrote down as its last word.
fn cut_off_since(view: &View, size: u64) -> Result<Vec<String>> {
    let mut cut_off = Vec::new();
    for raw in view.entries(size) {
        let entry = raw?.parse()?;
        if let (STOPPED_NAME, Stored::Body(body)) = (entry.kind.as_str(), entry.content) {
            let words = body.get("cut_off").and_then(Value::as_array).into_iter().flatten();
            cut_off = words.filter_map(Value::as_str).map(str::to_owned).collect();
        }
    }
    Ok(cut_off)
}

const STOPPED_NAME: &str = STOPPED.name;

fn say(ended: &Ended, text: &str, console: &mut Console) -> Result<Exit> {
    let Ended { stopped, pid, seconds, cut_off, dry_run } = ended;
    let exit = if cut_off.is_empty() { Exit::Ok } else { Exit::Negative };
    if console.is_json() {
        console.json(&json!({"stopped": stopped, "pid": pid, "seconds": seconds, "cut_off": cut_off, "dry_run": dry_run}))?;
        return Ok(exit);
    }
    let shape = match (dry_run, cut_off.is_empty()) {
        (true, _) => Shape::Unknown,
        (false, true) => Shape::Settled,
        (false, false) => Shape::NeedsYou,
    };
    console.line(&format!("{} {}", console.out_style.shape(shape), printable(text)))?;
    Ok(exit)
}
