//! `holdfast audit log`: appends one entry.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use clap::Args;
use holdfast_control::{Answer, Appended, Request};
use holdfast_journal::{BLOB_MAX, Content, Draft, Preview, Subject};
use holdfast_keys::canonical;
use holdfast_types::{Actor, AgentId, Exit, Key, Kind, RunId, TargetId, Trust};
use serde_json::{Map, Value, json};

use crate::ask::{ask, unexpected};
use crate::console::Console;
use crate::house::{ArchiveArgs, House, read_input, say_warnings};
use crate::look::{count, printable, table};
use crate::problem::{CliError, Result};

/// Append one entry; it is on the disk when the command returns
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: seq, repeated (the key was used before: seq is the earlier entry and nothing was written), \
redactions (places where a secret was replaced). With --dry-run: entry, redactions, dry_run.")]
pub(crate) struct LogArgs {
    /// Who did it: ana, agt_…, uid:1000
    #[arg(long, value_name = "NAME")]
    actor: Actor,

    /// What happened: room.noun.verb_past
    #[arg(long)]
    kind: Kind,

    /// A JSON object; - reads it from standard input
    #[arg(
        long,
        value_name = "JSON|-",
        required_unless_present = "blob",
        conflicts_with = "blob",
        allow_hyphen_values = true
    )]
    body: Option<String>,

    /// A file whose text is sealed beside the log and can be erased later; - reads standard input
    #[arg(long, value_name = "FILE|-")]
    blob: Option<PathBuf>,

    /// The agent it is about
    #[arg(long, value_name = "ID", conflicts_with = "target")]
    agent: Option<AgentId>,

    /// The host or other target it is about
    #[arg(long, value_name = "ID")]
    target: Option<TargetId>,

    /// The run it belongs to
    #[arg(long, value_name = "ID")]
    run: Option<RunId>,

    /// The entry that led to this one
    #[arg(long, value_name = "SEQ")]
    cause: Option<u64>,

    /// Idempotency key: a second append with the same key writes nothing
    #[arg(long)]
    key: Option<Key>,

    /// How far the content is trusted: disposable, untrusted, semi-trusted, trusted, admin
    #[arg(long, value_name = "LEVEL", default_value = "trusted")]
    trust: Trust,

    /// Show the entry that would be written and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Far more than a line of the journal holds; beyond it, it is some other file.
const BODY_INPUT_MAX: u64 = 1024 * 1024;

pub(crate) fn run(args: &LogArgs, house: &House, console: &mut Console) -> Result<Exit> {
    holdfast_approval::refuse_reserved(&args.kind, args.key.as_ref())?;
    holdfast_ledger::refuse_reserved(&args.kind, args.key.as_ref())?;
    crate::steward::refuse_reserved(&args.kind)?;
    crate::memory::refuse_reserved(&args.kind, args.key.as_ref())?;
    let draft = draft(args, content(args)?);
    if args.dry_run {
        let origin = house.view(&ArchiveArgs::default())?.origin().clone();
        let preview =
            draft.preview(&origin, &crate::sieve::screen()).map_err(holdfast_journal::Error::from)?;
        say_redactions(preview.redactions, console);
        return show_preview(&preview, console);
    }
    let appended = match ask(house, &request(draft.clone()), console)? {
        Answer::Appended(appended) => appended,
        other => return Err(unexpected(&other)),
    };
    say_redactions(appended.redactions, console);
    say_warnings(&appended.warnings, console);
    if console.is_json() {
        let Appended { seq, repeated, redactions, warnings: _ } = appended;
        console.json(&json!({"seq": seq, "repeated": repeated, "redactions": redactions}))?;
    } else {
        console.line(&told(&appended, &draft.kind))?;
    }
    Ok(Exit::Ok)
}

fn content(args: &LogArgs) -> Result<Content> {
    match (&args.body, &args.blob) {
        (_, Some(path)) => Ok(Content::Blob(read_input(path, BLOB_MAX as u64)?)),
        (Some(text), None) if text == "-" => {
            Ok(Content::Body(body(&read_input(Path::new("-"), BODY_INPUT_MAX)?)?))
        }
        (Some(text), None) => Ok(Content::Body(body(text.as_bytes())?)),
        (None, None) => Ok(Content::Body(Map::new())),
    }
}

/// A body is a JSON object without anything two readers could read differently.
fn body(text: &[u8]) -> Result<Map<String, Value>, CliError> {
    let found = match canonical::parse(text).map(canonical::Canonical::into_value) {
        Ok(Value::Object(map)) => return Ok(map),
        Ok(Value::Array(_)) => "a list",
        Ok(Value::String(_)) => "a string",
        Ok(Value::Number(_)) => "a number",
        Ok(Value::Bool(_)) => "true or false",
        Ok(Value::Null) => "null",
        Err(source) => return Err(CliError::Body { source }),
    };
    Err(CliError::BodyNotObject { found })
}

fn draft(args: &LogArgs, content: Content) -> Draft {
    let agent = args.agent.map(Subject::Agent);
    let target = args.target.map(Subject::Target);
    Draft {
        subject: agent.or(target),
        run: args.run,
        cause: args.cause,
        key: args.key.clone(),
        content,
        ..Draft::new(args.kind.clone(), args.actor.clone(), args.trust, Map::new())
    }
}

/// The draft as it crosses the socket.
fn request(draft: Draft) -> Request {
    let subject = draft.subject.map(|subject| match subject {
        Subject::Agent(id) => holdfast_control::Subject::Agent(id),
        Subject::Target(id) => holdfast_control::Subject::Target(id),
    });
    let content = match draft.content {
        Content::Body(body) => holdfast_control::Content::Body(body),
        Content::Blob(bytes) => holdfast_control::Content::Blob(BASE64.encode(bytes)),
    };
    let Draft { kind, actor, run, cause, key, trust, .. } = draft;
    Request::Append(Box::new(holdfast_control::Append {
        kind,
        actor,
        subject,
        run,
        cause,
        key,
        trust,
        content,
    }))
}

fn told(appended: &Appended, kind: &Kind) -> String {
    let word = if appended.repeated {
        "already there: this key was used before, nothing was written"
    } else {
        "durable"
    };
    format!("{}  {kind}  {word}", appended.seq)
}

fn say_redactions(redactions: u32, console: &Console) {
    if redactions > 0 {
        let places = count(
            redactions.into(),
            "place that looked like a secret was",
            "places that looked like secrets were",
        );
        console.warn(&format!("{places} replaced before anything was stored"));
    }
}

fn show_preview(preview: &Preview, console: &mut Console) -> Result<Exit> {
    // It was made as JSON a moment ago.
    let entry: Value = serde_json::from_str(&preview.json).unwrap_or_default();
    if console.is_json() {
        console.json(&json!({"entry": entry, "redactions": preview.redactions, "dry_run": true}))?;
    } else {
        let fields = entry.as_object().into_iter().flatten();
        let mut rows: Vec<_> =
            fields.map(|(name, value)| (name.clone(), printable(&value.to_string()))).collect();
        // A parsed object is sorted by name; people are shown the order of the format.
        rows.sort_by_key(|(name, _)| preview.json.find(&format!("\"{name}\":")));
        let text = table(&rows, console.out_style);
        console.write(text.as_bytes())?;
        console.note("nothing was written, this was a dry run");
    }
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_an_object_that_every_reader_reads_alike() {
        assert_eq!(body(br#"{"n": 9007199254740992}"#).unwrap()["n"], json!(9_007_199_254_740_992_u64));
        for (text, said) in [
            ("{\"a\":", "line 1, column 5"),
            ("{\"n\": 9007199254740993}", "9007199254740993 at $.n"),
            ("{\"a\": {\"b\": 1, \"b\": 2}}", "$.a.b is there twice"),
            ("[1]", "the body is a list"),
            ("\"x\"", "the body is a string"),
            ("null", "the body is null"),
            ("", "line 1"),
            ("{} {}", "line 1"),
        ] {
            let e = body(text.as_bytes()).unwrap_err();
            assert!(e.to_string().contains(said), "{text}: {e}");
            assert_eq!(e.problem().exit, Exit::Usage, "{text}");
        }
    }
}
