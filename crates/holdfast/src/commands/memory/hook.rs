//! `holdfast memory hook`: what the command line of an agent calls when something happened there. A file that the agent wrote is read for what is
//! worth keeping; where a conversation ended, memory decides what stays.
//!
//! It stays out of the agent's way: nothing is printed unless it is asked for, what is not its business is done in silence, and it never ends with 2,
//! which such command lines take for a veto.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use clap::Args;
use holdfast_control::{MemoryAnswer, MemoryAsk, MemoryRun};
use holdfast_memory_host::{Error as EngineError, Files, is_prose};
use holdfast_types::{Actor, Exit, Trust};
use serde_json::{Map, Value, json};

use super::read::{Done, Whose};
use super::{WhoseArgs, ask, strange};
use crate::ask::Talk;
use crate::console::Console;
use crate::house::{House, read_input, this_user};
use crate::look::{Shape, printable};
use crate::memory::MemoryError;
use crate::places::Places;
use crate::problem::{Failure, Result};

/// What is longer is not read: it would hold a file that is too long anyway.
const INPUT_MAX: u64 = 1 << 20;

/// Tools that write a file.
const WRITERS: [&str; 3] = ["Write", "Edit", "MultiEdit"];

/// What an agent wrote is its own words.
const TRUST: Trust = Trust::SemiTrusted;

/// For the hooks of agents' command lines: keep what they wrote, and decide what stays when they end
///
/// Takes one JSON object on standard input, as Claude Code gives it to its hooks. PostToolUse of Write, Edit or MultiEdit: a file of
/// prose (.md, .txt, .rst and the like, or a name without an ending) is read as by `memory read`, and what is kept is semi-trusted, since an agent wrote it. SessionEnd: the agent's memory is consolidated and
/// its notes are written. Anything else is none of its business. A file that is gone, hidden, code or no text is passed over.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example, among the hooks in the settings of Claude Code:
  \"SessionEnd\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"holdfast memory hook --agent main\"}]}]

Nothing is printed without --json. The exit code is never 2, which would keep the agent from going on: 1 when the input or the options are not as \
they should be, 3 when it could not be done, else as for any command.

JSON fields: agent, event, did (read, consolidated or nothing), read (null, or files, captured, ids, known, refused, blocked, skipped as `memory read` \
has them), runs[] (as `memory consolidate` has them), notes[] (files that changed), dry_run.")]
pub(super) struct HookArgs {
    #[command(flatten)]
    whose: WhoseArgs,

    /// Say on standard error what would be done, and store nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(
    args: &HookArgs,
    places: impl FnOnce() -> Result<Places>,
    house: impl FnOnce() -> Result<House>,
    console: &mut Console,
) -> Result<Exit> {
    hooked(args, places, house, console).map_err(out_of_the_way)
}

/// Whether these arguments call the hook, however wrong they are otherwise.
pub(crate) fn is_called(args: &[OsString]) -> bool {
    let mut words = args.iter().skip(1);
    let mut named = Vec::new();
    while let Some(word) = words.next().filter(|_| named.len() < 2) {
        match word.as_encoded_bytes() {
            b"--home" => drop(words.next()),
            [b'-', ..] => {}
            _ => named.push(word),
        }
    }
    named == ["memory", "hook"]
}

/// What an event is to memory.
#[derive(Debug, PartialEq, Eq)]
enum Deed {
    /// A file was written.
    Read(PathBuf),
    /// A conversation ended.
    Conclude,
    Nothing,
}

/// What was done.
#[derive(Debug)]
struct Report {
    did: &'static str,
    read: Option<Done>,
    runs: Vec<MemoryRun>,
    notes: Vec<String>,
}

const NOTHING: Report = Report { did: "nothing", read: None, runs: Vec::new(), notes: Vec::new() };

fn hooked(
    args: &HookArgs,
    places: impl FnOnce() -> Result<Places>,
    house: impl FnOnce() -> Result<House>,
    console: &mut Console,
) -> Result<Exit> {
    let told = object(&read_input(Path::new("-"), INPUT_MAX)?)?;
    let event = text_of(&told, "hook_event_name")
        .ok_or_else(|| wrong("it has no hook_event_name that is a text".to_owned()))?;
    let report = match deed(event, &told)? {
        Deed::Nothing => NOTHING,
        Deed::Read(path) => {
            let mut files = Files::beside(&places()?.memory());
            files.take_file(&path);
            read(args, &path, &files, house, console)?
        }
        Deed::Conclude => conclude(args, &house()?, console)?,
    };
    if console.is_json() {
        let Report { did, read, runs, notes } = &report;
        let (event, read) = (event.chars().take(80).collect::<String>(), read.as_ref().map(Done::json));
        console.json(&json!({
            "agent": args.whose.agent, "event": event, "did": did, "read": read, "runs": runs, "notes": notes, "dry_run": args.dry_run,
        }))?;
    }
    Ok(Exit::Ok)
}

/// Decided by the event alone.
fn deed(event: &str, told: &Map<String, Value>) -> Result<Deed, MemoryError> {
    let tool = text_of(told, "tool_name").unwrap_or_default();
    match event {
        "SessionEnd" => Ok(Deed::Conclude),
        "PostToolUse" if WRITERS.contains(&tool) => {
            let input = told.get("tool_input").and_then(Value::as_object);
            let path = input.and_then(|input| text_of(input, "file_path")).filter(|path| !path.is_empty());
            let path = path.ok_or_else(|| wrong(format!("{tool} has no file_path that is a text")))?;
            let folder = Path::new(text_of(told, "cwd").unwrap_or_default());
            let path = Path::new(path);
            Ok(match is_hidden(path, folder) || !is_prose(path) {
                true => Deed::Nothing,
                false => Deed::Read(folder.join(path)),
            })
        }
        _ => Ok(Deed::Nothing),
    }
}

/// Nobody named this file, so that it is passed over as in a folder: by its own name, and by those of the folders below the one worked in.
fn is_hidden(path: &Path, folder: &Path) -> bool {
    let below = match path.strip_prefix(folder) {
        Ok(below) if below.is_relative() => below,
        _ if path.is_relative() => path,
        _ => path.file_name().map_or(path, Path::new),
    };
    below
        .components()
        .any(|part| matches!(part, Component::Normal(name) if name.as_encoded_bytes().starts_with(b".")))
}

fn read(
    args: &HookArgs,
    path: &Path,
    files: &Files,
    house: impl FnOnce() -> Result<House>,
    console: &Console,
) -> Result<Report> {
    let actor = this_user()?;
    let whose = Whose { agent: &args.whose.agent, actor: &actor, trust: TRUST };
    if files.read.is_empty() {
        return Ok(Report { read: Some(Done::previewed(files, &whose)?), ..NOTHING });
    }
    let house = house()?;
    let done = match args.dry_run {
        true => {
            house.view(&Default::default())?;
            would(&format!("read {} for {}", path.display(), args.whose.agent), console);
            Done::previewed(files, &whose)?
        }
        false => Done::taken(files, &whose, &mut Talk::with(&house), console)?,
    };
    Ok(Report { did: "read", read: Some(done), ..NOTHING })
}

fn conclude(args: &HookArgs, house: &House, console: &Console) -> Result<Report> {
    let (agent, actor) = (&args.whose.agent, this_user()?);
    if args.dry_run {
        house.view(&Default::default())?;
        would(&format!("decide about what {agent} captured, and write the notes"), console);
        return Ok(Report { did: "consolidated", ..NOTHING });
    }
    match consolidated(agent, &actor, house, console) {
        // Nothing was captured in this conversation, nor in any before it.
        Err(e) if remembers_nothing(&e) => Ok(NOTHING),
        other => other,
    }
}

fn consolidated(agent: &str, actor: &Actor, house: &House, console: &Console) -> Result<Report> {
    let mut talk = Talk::with(house);
    let asked = MemoryAsk::Consolidate { agent: Some(agent.to_owned()), actor: actor.clone() };
    let runs = match ask(&mut talk, asked, console)? {
        MemoryAnswer::Consolidated(runs) => runs,
        other => return Err(strange(other)),
    };
    let asked = MemoryAsk::Notes { agent: agent.to_owned(), actor: actor.clone() };
    let notes = match ask(&mut talk, asked, console)? {
        MemoryAnswer::Notes(notes) => notes.files,
        other => return Err(strange(other)),
    };
    Ok(Report { did: "consolidated", runs, notes, ..NOTHING })
}

fn remembers_nothing(e: &Failure) -> bool {
    let nobody = MemoryError::from(EngineError::NoSpace(String::new())).problem().code;
    matches!(e, Failure::Problem(problem) if problem.code == nobody)
}

fn would(what: &str, console: &Console) {
    console.told(Shape::Unknown, &format!("would {}", printable(what)));
}

/// What is wrong with the input is said without a word of it.
fn object(bytes: &[u8]) -> Result<Map<String, Value>, MemoryError> {
    serde_json::from_slice(bytes).map_err(|e| match e.classify() {
        serde_json::error::Category::Data => wrong("it is not an object".to_owned()),
        _ if bytes.trim_ascii().is_empty() => wrong("there is nothing on standard input".to_owned()),
        _ => wrong(format!("it is not JSON from line {}, byte {} on", e.line(), e.column())),
    })
}

fn text_of<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Value::as_str)
}

fn wrong(why: String) -> MemoryError {
    MemoryError::Hook { why }
}

/// Wrong usage ends with 1 here.
fn out_of_the_way(failure: Failure) -> Failure {
    match failure {
        Failure::Problem(mut problem) if problem.exit == Exit::Usage => {
            problem.exit = Exit::Negative;
            Failure::Problem(problem)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(told: &Value) -> Result<Deed, MemoryError> {
        let told = object(told.to_string().as_bytes())?;
        deed(text_of(&told, "hook_event_name").unwrap(), &told)
    }

    #[test]
    fn an_event_decides_what_is_done() {
        let wrote = |tool: &str, path: &str| {
            json!({"hook_event_name": "PostToolUse", "tool_name": tool, "cwd": "/src/.worktrees/gateway", "session_id": "s1",
                "tool_input": {"file_path": path, "content": "…"}, "tool_response": {"success": true}, "permission_mode": "default"})
        };
        let check = |told: &Value, expected: Deed| assert_eq!(decided(told).unwrap(), expected, "{told}");
        let file = |path: &str| Deed::Read(path.into());
        for tool in WRITERS {
            check(&wrote(tool, "/src/docs/ops.md"), file("/src/docs/ops.md"));
        }
        check(&wrote("Write", "docs/ops.md"), file("/src/.worktrees/gateway/docs/ops.md"));
        check(&wrote("Write", "/src/.worktrees/gateway/ops.md"), file("/src/.worktrees/gateway/ops.md"));
        check(&wrote("Write", "../ops.md"), file("/src/.worktrees/gateway/../ops.md"));
        check(&wrote("Write", "/home/ana/.config/notes.md"), file("/home/ana/.config/notes.md"));
        for hidden in
            [".env", "docs/.draft.md", ".git/config", "/src/.worktrees/gateway/.git/config", "/src/.env"]
        {
            check(&wrote("Write", hidden), Deed::Nothing);
        }
        check(&wrote("Read", "docs/ops.md"), Deed::Nothing);
        check(&wrote("Bash", "docs/ops.md"), Deed::Nothing);
        let notebook = json!({"hook_event_name": "PostToolUse", "tool_name": "NotebookEdit", "tool_input": {"notebook_path": "/src/a.ipynb"}});
        check(&notebook, Deed::Nothing);
        for code in ["src/main.rs", "/src/docs/data.JSON", "Makefile.am"] {
            check(&wrote("Write", code), Deed::Nothing);
        }
        check(&wrote("Write", "docs/OPS.MD"), file("/src/.worktrees/gateway/docs/OPS.MD"));
        check(&wrote("Write", "README"), file("/src/.worktrees/gateway/README"));
        let nowhere = |path: &str| json!({"hook_event_name": "PostToolUse", "tool_name": "Write", "tool_input": {"file_path": path}});
        check(&nowhere("/src/.worktrees/a.md"), file("/src/.worktrees/a.md"));
        check(&nowhere("a.md"), file("a.md"));
        check(&nowhere("docs/.a.md"), Deed::Nothing);
        check(&json!({"hook_event_name": "SessionEnd", "reason": "exit"}), Deed::Conclude);
        for event in [
            "Stop",
            "SubagentStop",
            "SessionStart",
            "PreToolUse",
            "PreCompact",
            "UserPromptSubmit",
            "sessionend",
            "",
        ] {
            let told = json!({"hook_event_name": event, "tool_name": "Write", "tool_input": {"file_path": "/src/a.md"}});
            check(&told, Deed::Nothing);
        }
        for input in
            [json!(null), json!({}), json!({"file_path": 7}), json!({"file_path": ""}), json!("/src/a.md")]
        {
            let told = json!({"hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_input": input});
            assert!(decided(&told).is_err(), "{told}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_a_word_of_it() {
        for text in [
            "",
            " \n",
            "hunter2-secret",
            "[\"hunter2-secret\"]",
            "\"hunter2-secret\"",
            "{\"a\":\"hunter2-secret\"",
            "7",
        ] {
            let problem = object(text.as_bytes()).unwrap_err().problem();
            assert!(!problem.what.contains("hunter2"), "{}", problem.what);
            assert_eq!(problem.exit, Exit::Negative);
        }
    }

    #[test]
    fn the_hook_is_known_by_its_name_however_wrong_the_rest_is() {
        let is = |words: &[&str]| is_called(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert!(is(&["holdfast", "memory", "hook", "--what"]));
        assert!(is(&["holdfast", "--json", "--home", "/srv", "memory", "--home=/srv", "hook", "more"]));
        assert!(!is(&["holdfast", "memory", "add", "hook"]));
        assert!(!is(&["holdfast", "hook", "install"]));
        assert!(!is(&["holdfast", "--home", "memory", "hook"]) && !is(&["holdfast"]) && !is(&[]));
    }
}
