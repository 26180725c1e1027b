//! `holdfast audit log`: appends one entry.

use std::path::{Path, PathBuf};

use clap::Args;
use holdfast_journal::{Appended, BLOB_MAX, Blocked, Content, Draft, KnownSecrets, Screen, Subject, Verdict};
use holdfast_keys::canonical;
use holdfast_types::{Actor, AgentId, Exit, Key, Kind, Origin, RunId, TargetId, Trust};
use serde_json::{Map, Value, json};

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
    let draft = draft(args, content(args)?);
    if args.dry_run {
        let origin = house.view(&ArchiveArgs::default())?.origin().clone();
        let (entry, redactions) =
            preview(&draft, &origin, &KnownSecrets::new()).map_err(holdfast_journal::Error::from)?;
        say_redactions(redactions, console);
        return show_preview(entry, redactions, console);
    }
    let journal = house.journal(&ArchiveArgs::default(), console)?;
    let appended = journal.append(&draft)?;
    say_redactions(appended.redactions, console);
    say_warnings(&journal, console);
    if console.is_json() {
        let Appended { seq, repeated, redactions } = appended;
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

/// Fields in the order of the format.
type Fields = Vec<(&'static str, Value)>;

/// The entry as it would stand in the log, but for what only the writer knows: seq, time, place of a blob.
fn preview(draft: &Draft, origin: &Origin, screen: &dyn Screen) -> Result<(Fields, u32), Blocked> {
    let mut redactions = 0;
    let mut entry = Vec::new();
    let mut field = |name: &'static str, value: Option<Value>| entry.extend(value.map(|value| (name, value)));
    let (agent, target) = match draft.subject {
        Some(Subject::Agent(id)) => (Some(json!(id)), None),
        Some(Subject::Target(id)) => (None, Some(json!(id))),
        None => (None, None),
    };
    field("v", Some(json!(draft.version)));
    field("origin", Some(json!(origin)));
    field("room", Some(json!(draft.kind.room())));
    field("kind", Some(json!(draft.kind)));
    field("actor", Some(json!(draft.actor)));
    field("agent", agent);
    field("target", target);
    field("run", draft.run.map(|run| json!(run)));
    field("cause", draft.cause.map(|cause| json!(cause)));
    field("key", draft.key.as_ref().map(|key| json!(key)));
    field("trust", Some(json!(draft.trust)));
    match &draft.content {
        Content::Body(body) => {
            let body = screened(&Value::Object(body.clone()), screen, &mut redactions)?;
            field("body", Some(body));
        }
        Content::Blob(text) => {
            screened(&Value::String(String::from_utf8_lossy(text).into_owned()), screen, &mut redactions)?;
            field("blob", Some(json!({"bytes": text.len()})));
        }
    }
    Ok((entry, redactions))
}

fn screened(value: &Value, screen: &dyn Screen, redactions: &mut u32) -> Result<Value, Blocked> {
    let mut text = |text: &str| match screen.screen(text) {
        Verdict::Clean => Ok(text.to_owned()),
        Verdict::Redacted(clean) => {
            *redactions += 1;
            Ok(clean)
        }
        Verdict::Blocked { reason } => Err(Blocked { reason }),
    };
    match value {
        Value::String(s) => text(s).map(Value::String),
        Value::Array(items) => items.iter().map(|v| screened(v, screen, redactions)).collect(),
        Value::Object(fields) => {
            let mut clean = Map::new();
            for (name, value) in fields {
                let mut named = 0;
                let Value::String(name) = screened(&Value::String(name.clone()), screen, &mut named)? else {
                    continue;
                };
                *redactions += named;
                clean.insert(name, screened(value, screen, redactions)?);
            }
            Ok(Value::Object(clean))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
    }
}

fn show_preview(entry: Fields, redactions: u32, console: &mut Console) -> Result<Exit> {
    if console.is_json() {
        let entry: Map<String, Value> =
            entry.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        console.json(&json!({"entry": entry, "redactions": redactions, "dry_run": true}))?;
    } else {
        let rows: Vec<_> =
            entry.iter().map(|(name, value)| ((*name).to_owned(), printable(&value.to_string()))).collect();
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

    #[test]
    fn a_preview_stands_in_the_order_of_the_format_and_hides_secrets() {
        let secret = format!("ghp_{}", "a1B2".repeat(9));
        let mut fields = Map::new();
        fields.insert("note".into(), json!([format!("use {secret}")]));
        let draft = Draft {
            cause: Some(4),
            key: "once".parse().ok(),
            ..Draft::new("journal.test.noted".parse().unwrap(), "ana".parse().unwrap(), Trust::Admin, fields)
        };
        let origin = "holdfast/test".parse().unwrap();
        let (entry, redactions) = preview(&draft, &origin, &KnownSecrets::new()).unwrap();
        assert_eq!(redactions, 1);
        let names: Vec<_> = entry.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["v", "origin", "room", "kind", "actor", "cause", "key", "trust", "body"]);
        assert_eq!(entry[8].1, json!({"note": ["use [redacted:github-token]"]}));
    }
}
