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
use crate::problem::{CliError, Failure, Result};
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
JSON fields: enabled, sinks[] with sink, pending, delivered, abandoned, last_delivered, last_error, quiet_until.")]
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
/// Quiet hours and the least severity do not hold it back. A channel that cannot be used keeps no other from being tried.
/// Exit code 1 when it did not arrive somewhere.
#[derive(Debug, Args)]
#[command(after_long_help = "JSON fields: results[] with sink, delivered, why, do_next; dry_run.")]
struct TestArgs {
    /// Only this channel: log, webhook, slack, discord, ntfy or mail [default: all that are configured]
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
        let (shape, word) = match (&sink.last_error, sink.pending, sink.quiet_until) {
            (Some(why), ..) => (Shape::NeedsYou, format!("fails: {why}")),
            (None, 0, _) => (Shape::Settled, "all told".to_owned()),
            (None, _, Some(until)) => (Shape::Paused, format!("quiet until {}", time(until))),
            (None, _, None) => (Shape::OnTrial, "sending".to_owned()),
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
    let mut channels = settings::each_channel(&loaded.config, &house.places, &clock)?;
    if let Some(wanted) = &args.channel {
        channels.retain(|(name, _)| name == wanted);
        if channels.is_empty() {
            return Err(CliError::NoChannel { name: wanted.clone() }.into());
        }
    }
    if args.dry_run {
        return would_try(&channels, console);
    }
    // A home that never had a daemon has no place for its log yet; that it cannot be made shows in the sending.
    let _ = holdfast_durable::create_dir(&house.places.logs());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| CliError::Start { what: "the runtime", source })?;
    let results = runtime.block_on(try_each(channels, &origin))?;
    if console.is_json() {
        let rows: Vec<_> = results.iter().map(Tried::json).collect();
        console.json(&json!({"results": rows, "dry_run": false}))?;
    } else {
        for tried in &results {
            tried.tell(console)?;
        }
    }
    let all_well = results.iter().all(|tried| tried.wrong.is_none());
    Ok(if all_well { Exit::Ok } else { Exit::Negative })
}

fn would_try(channels: &[(&'static str, Result<Channel>)], console: &mut Console) -> Result<Exit> {
    if console.is_json() {
        console.json(&json!({"results": [], "dry_run": true}))?;
        return Ok(Exit::Ok);
    }
    let names: Vec<&str> = channels.iter().map(|(name, _)| *name).collect();
    let mark = console.out_style.shape(Shape::Unknown);
    console.line(&format!("{mark} would send a test message to {}", names.join(", ")))?;
    Ok(Exit::Ok)
}

/// What came of trying one channel.
#[derive(Debug)]
pub(crate) struct Tried {
    sink: &'static str,
    wrong: Option<Wrong>,
}

#[derive(Debug)]
struct Wrong {
    /// As the journal and the status have it; the code where the channel could not be made at all.
    class: String,
    sentence: String,
    next: String,
}

impl Tried {
    /// What went wrong, with the channel's name.
    pub(crate) fn sentence(&self) -> Option<String> {
        self.wrong.as_ref().map(|wrong| format!("{}: {}", self.sink, wrong.sentence))
    }

    /// As the API tells it.
    pub(crate) fn told(&self) -> holdfast_api::NoticeTried {
        holdfast_api::NoticeTried {
            sink: self.sink.to_owned(),
            delivered: self.wrong.is_none(),
            why: self.wrong.as_ref().map(|wrong| wrong.class.clone()),
            do_next: self.wrong.as_ref().map(|wrong| wrong.next.clone()),
        }
    }

    fn json(&self) -> serde_json::Value {
        let (why, next) = (self.wrong.as_ref().map(|w| &w.class), self.wrong.as_ref().map(|w| &w.next));
        json!({"sink": self.sink, "delivered": self.wrong.is_none(), "why": why, "do_next": next})
    }

    fn tell(&self, console: &mut Console) -> Result<()> {
        let sink = self.sink;
        let Some(Wrong { sentence, next, .. }) = &self.wrong else {
            let mark = console.out_style.shape(Shape::Settled);
            return console.line(&format!("{mark} {sink:<10}arrived"));
        };
        let mark = console.out_style.shape(Shape::Failed);
        console.line(&format!("{mark} {sink:<10}did not arrive: {sentence}"))?;
        console.line(&format!("  {:<10}{next}", ""))
    }
}

/// Sends a test message to each, one after the other.
pub(crate) async fn try_each(
    channels: Vec<(&'static str, Result<Channel>)>,
    origin: &holdfast_types::Origin,
) -> Result<Vec<Tried>> {
    let mut results = Vec::new();
    for (sink, channel) in channels {
        let wrong = match channel {
            Ok(channel) => why(&holdfast_notice::test(&channel, origin, now()).await).map(of_trouble),
            Err(Failure::Problem(problem)) => Some(Wrong {
                class: problem.code.to_string(),
                sentence: printable(&problem.what),
                next: printable(&problem.hint),
            }),
            Err(left @ Failure::ReaderLeft) => return Err(left),
        };
        results.push(Tried { sink, wrong });
    }
    Ok(results)
}

fn why(outcome: &Outcome) -> Option<Trouble> {
    match outcome {
        Outcome::Delivered => None,
        Outcome::Unavailable { why, .. } | Outcome::Refused { why } => Some(*why),
    }
}

fn of_trouble(why: Trouble) -> Wrong {
    let (sentence, next) = in_words(why);
    Wrong { class: why.to_string(), sentence, next: next.to_owned() }
}

/// What went wrong, and what to do about it.
fn in_words(why: Trouble) -> (String, &'static str) {
    match why {
        Trouble::Network => (
            "the receiver could not be reached, or hung up".to_owned(),
            "Check its address and the network; on a system install also `holdfast egress check`.",
        ),
        Trouble::TimedOut => (
            "the receiver did not answer in time".to_owned(),
            "Try again; if it stays so, look at the receiver or raise the channel's timeout_seconds.",
        ),
        Trouble::Destination => (
            "its address is one that may not be called".to_owned(),
            "Put the host into the channel's allow_hosts if it is meant to be near.",
        ),
        Trouble::Status(status) => (format!("the receiver answered with status {status}"), by_status(status)),
        Trouble::Answer => (
            "what answered is not the service it should be".to_owned(),
            "Check the address: a page that says yes to everything stands there.",
        ),
        Trouble::Encryption => (
            "the receiver does not encrypt, or did not prove to be who it should be".to_owned(),
            "Check the host, the port, security and ca_file of the channel.",
        ),
        Trouble::Login => (
            "the receiver does not let us in with this user and password".to_owned(),
            "Put the right ones into the secrets; many services want a password made for programs.",
        ),
        Trouble::Disk => (
            "its file could not be written".to_owned(),
            "Check who may write there, and the room on the disk.",
        ),
        Trouble::Outbox => (
            "the journal or its view cannot be used".to_owned(),
            "Run `holdfast doctor`; it says what is wrong.",
        ),
    }
}

/// Mail servers and web servers count alike where it matters here.
fn by_status(status: u16) -> &'static str {
    match status {
        401 | 403 => "Put a token or an address that is still good into the secret.",
        404 | 410 => "The address is not known there any more: make a new one and put it into the secret.",
        429 => "It is told too much; wait a few minutes. Notices wait and go out by themselves.",
        300..=399 => {
            "It sends callers elsewhere, which is not followed: put the final address into the secret."
        }
        421 | 450..=452 => "The mail server cannot just now; what waits is tried again.",
        530 | 534 | 535 => "It wants a user and a password: set user and password of the channel.",
        550..=553 => "It does not take the sender or a recipient: check from and to of the channel.",
        500 | 502..=504 => "The receiver has trouble of its own; what waits is tried again.",
        _ => "Look up that status at the receiver; what waits is tried again.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_can_go_wrong_comes_with_what_to_do() {
        let statuses = [302, 400, 401, 403, 404, 410, 421, 429, 451, 500, 503, 535, 550, 554];
        let others = [
            Trouble::Network,
            Trouble::TimedOut,
            Trouble::Destination,
            Trouble::Answer,
            Trouble::Encryption,
            Trouble::Login,
            Trouble::Disk,
            Trouble::Outbox,
        ];
        for why in statuses.map(Trouble::Status).into_iter().chain(others) {
            let Wrong { class, sentence, next } = of_trouble(why);
            assert!(!class.contains(' ') && sentence.len() > 15 && next.ends_with('.'), "{why}");
            assert!(!sentence.contains('!') && !next.contains('!'), "{why}");
        }
    }
}
