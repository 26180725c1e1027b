//! `holdfast notice`: what people are told, how, and whether it arrives.

use clap::{Args, Subcommand, ValueEnum};
use holdfast_control::{Answer, NoticesState, Request, Severity, connect};
use holdfast_notice::{Channel, Outcome, Trouble};
use holdfast_types::{Actor, Exit};
use serde_json::json;

use crate::ask::{ask, unexpected};
use crate::console::Console;
use crate::house::{House, now, this_user};
use crate::look::{Shape, count, printable, time};
use crate::problem::{CliError, Result};
use crate::settings::{self, Overlay};

/// What people are told, and whether it arrives
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct NoticeArgs {
    #[command(subcommand)]
    command: NoticeCommand,
}

#[derive(Debug, Subcommand)]
enum NoticeCommand {
    List(ListArgs),
    Raise(RaiseArgs),
    Test(TestArgs),
}

/// How each channel is doing
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: enabled, sinks[] with sink, pending, delivered, abandoned, last_delivered, last_error.")]
struct ListArgs {}

/// Tell people something, through every channel
///
/// Written down before it is sent, so it survives a restart and a receiver that is down.
#[derive(Debug, Args)]
#[command(after_long_help = "JSON fields: seq, dry_run.")]
struct RaiseArgs {
    /// The sentence
    message: String,

    #[arg(long, value_enum, default_value = "warning")]
    severity: Level,

    /// Who tells it [default: uid:<number of the user>]
    #[arg(long, value_name = "NAME")]
    actor: Option<Actor>,

    /// Say what would be told and tell nobody
    #[arg(long)]
    dry_run: bool,
}

/// Send a test message now, past the outbox, to see whether a channel works
///
/// Exit code 1 when it did not arrive.
#[derive(Debug, Args)]
#[command(after_long_help = "JSON fields: results[] with sink, delivered, why; dry_run.")]
struct TestArgs {
    /// Only this channel: log or webhook [default: all that are configured]
    channel: Option<String>,

    /// Say which channels would be tried and send nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Level {
    Info,
    Warning,
    Critical,
}

pub(crate) fn run(args: &NoticeArgs, house: &House, console: &mut Console) -> Result<Exit> {
    match &args.command {
        NoticeCommand::List(_) => list(house, console),
        NoticeCommand::Raise(args) => raise(args, house, console),
        NoticeCommand::Test(args) => test(args, house, console),
    }
}

fn list(house: &House, console: &mut Console) -> Result<Exit> {
    let state = look(house)?;
    if console.is_json() {
        console.json(&json!({"enabled": state.enabled, "sinks": state.sinks}))?;
        return Ok(Exit::Ok);
    }
    let text = told(&state, console);
    console.write(text.as_bytes())?;
    Ok(Exit::Ok)
}

/// Only a daemon sends; where none runs there is nothing to open.
fn look(house: &House) -> Result<NoticesState> {
    let Some(client) = connect(&house.places.socket())? else {
        house.view(&Default::default())?;
        let loaded = settings::load(&house.places, &Overlay::of_this_process(&[]))?;
        return Ok(NoticesState { enabled: loaded.config.notifications.enabled, sinks: Vec::new() });
    };
    match client.ask(Request::Notices {}, &mut |_| {})? {
        Answer::Notices(state) => Ok(state),
        other => Err(unexpected(&other)),
    }
}

fn told(state: &NoticesState, console: &Console) -> String {
    if !state.enabled {
        return format!(
            "{} notices are switched off (notifications.enabled)\n",
            console.out_style.shape(Shape::Unknown)
        );
    }
    if state.sinks.is_empty() {
        let mark = console.out_style.shape(Shape::Unknown);
        return format!("{mark} no daemon runs, so nothing is sent; what is raised waits\n");
    }
    let mut out = String::new();
    for sink in &state.sinks {
        let (shape, word) = match (&sink.last_error, sink.pending) {
            (Some(why), _) => (Shape::NeedsYou, format!("fails: {why}")),
            (None, 0) => (Shape::Settled, "all told".to_owned()),
            (None, _) => (Shape::OnTrial, "sending".to_owned()),
        };
        let waiting = count(sink.pending, "waits", "wait");
        let last = sink.last_delivered.map(|at| format!(", last {}", time(at))).unwrap_or_default();
        let mark = console.out_style.shape(shape);
        out.push_str(&format!("{mark} {:<10}{word}; {waiting}, {} told{last}", sink.sink, sink.delivered));
        if sink.abandoned > 0 {
            out.push_str(&format!(", {} given up", sink.abandoned));
        }
        out.push('\n');
    }
    out
}

fn raise(args: &RaiseArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let severity = match args.severity {
        Level::Info => Severity::Info,
        Level::Warning => Severity::Warning,
        Level::Critical => Severity::Critical,
    };
    let actor = args.actor.clone().map_or_else(this_user, Ok)?;
    if args.dry_run {
        house.view(&Default::default())?;
        if console.is_json() {
            console.json(&json!({"seq": null, "dry_run": true}))?;
        } else {
            let mark = console.out_style.shape(Shape::Unknown);
            let (message, severity) = (printable(&args.message), severity_word(severity));
            console.line(&format!("{mark} would tell, as {severity} by {actor}: {message}"))?;
        }
        return Ok(Exit::Ok);
    }
    let request = Request::Raise { severity, message: args.message.clone(), actor };
    match ask(house, &request, console)? {
        Answer::Appended(done) if console.is_json() => {
            console.json(&json!({"seq": done.seq, "dry_run": false}))?
        }
        Answer::Appended(done) => {
            let mark = console.out_style.shape(Shape::Settled);
            console.line(&format!("{mark} raised as entry {}", done.seq))?;
        }
        other => return Err(unexpected(&other)),
    }
    Ok(Exit::Ok)
}

const fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Critical => "critical",
    }
}

fn test(args: &TestArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let origin = house.view(&Default::default())?.origin().clone();
    let loaded = settings::load(&house.places, &Overlay::of_this_process(&[]))?;
    let clock: std::sync::Arc<dyn holdfast_types::Clock> =
        std::sync::Arc::new(holdfast_journal::SystemClock::new());
    let mut channels = settings::channels(&loaded.config, &house.places, &clock)?;
    if let Some(wanted) = &args.channel {
        channels.retain(|channel| channel.name.as_str() == wanted);
        if channels.is_empty() {
            return Err(CliError::NoChannel { name: wanted.clone() }.into());
        }
    }
    if !args.dry_run {
        // A home that never had a daemon has no place for its log yet; that it cannot be made shows in the sending.
        let _ = holdfast_durable::create_dir(&house.places.logs());
    }
    let results = if args.dry_run { Vec::new() } else { send(&channels, &origin)? };
    let all_well = results.iter().all(|(_, outcome)| *outcome == Outcome::Delivered);
    if console.is_json() {
        let rows: Vec<_> = results
            .iter()
            .map(|(sink, outcome)| {
                let why = why(outcome).map(|why| why.to_string());
                json!({"sink": sink, "delivered": *outcome == Outcome::Delivered, "why": why})
            })
            .collect();
        console.json(&json!({"results": rows, "dry_run": args.dry_run}))?;
    } else if args.dry_run {
        let names: Vec<&str> = channels.iter().map(|c| c.name.as_str()).collect();
        let mark = console.out_style.shape(Shape::Unknown);
        console.line(&format!("{mark} would send a test message to {}", names.join(", ")))?;
    } else {
        for (sink, outcome) in &results {
            let (shape, word) = match why(outcome) {
                None => (Shape::Settled, "arrived".to_owned()),
                Some(why) => (Shape::Failed, format!("did not arrive: {}", in_words(why))),
            };
            let mark = console.out_style.shape(shape);
            console.line(&format!("{mark} {sink:<10}{word}"))?;
        }
    }
    Ok(if all_well { Exit::Ok } else { Exit::Negative })
}

fn send(channels: &[Channel], origin: &holdfast_types::Origin) -> Result<Vec<(String, Outcome)>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| CliError::Start { what: "the runtime", source })?;
    Ok(runtime.block_on(async {
        let mut results = Vec::new();
        for channel in channels {
            results.push((channel.name.to_string(), holdfast_notice::test(channel, origin, now()).await));
        }
        results
    }))
}

fn why(outcome: &Outcome) -> Option<Trouble> {
    match outcome {
        Outcome::Delivered => None,
        Outcome::Unavailable { why, .. } | Outcome::Refused { why } => Some(*why),
    }
}

fn in_words(why: Trouble) -> String {
    match why {
        Trouble::Network => "the receiver could not be reached, or hung up".to_owned(),
        Trouble::TimedOut => "the receiver did not answer in time".to_owned(),
        Trouble::Destination => "its address is one that may not be called".to_owned(),
        Trouble::Status(status) => format!("the receiver answered with status {status}"),
        Trouble::Disk => "its file could not be written".to_owned(),
        Trouble::Outbox => "the journal or its view cannot be used".to_owned(),
    }
}
