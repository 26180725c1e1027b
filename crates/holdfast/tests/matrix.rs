//! Every command in every state a home can be in: how it ends, what it says, and that nothing is half written.
//!
//! `matrix/table.rs` lists the commands, `matrix/scene.rs` makes the states and runs them, `matrix/transcript.rs`
//! writes down what they said, `matrix/promises.rs` reads what the manual promises. Each state has a transcript in
//! `matrix/transcripts/`. After a change: `INSTA_UPDATE=always cargo nextest run -p holdfast --test matrix`, and the
//! difference is read as a user would.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod home;
#[path = "matrix/promises.rs"]
mod promises;
#[path = "matrix/scene.rs"]
mod scene;
#[path = "matrix/table.rs"]
mod table;
#[path = "matrix/transcript.rs"]
mod transcript;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use holdfast_testkit::files::flip_bit;
use holdfast_testkit::{SmallDisk, require};
use promises::Manual;
use rustix::fs::{FlockOperation, flock};
use scene::{Cell, FORMS, Form, Running, Scene, Streams, Template, every_cell};
use table::{Deed, Row, TABLE};
use transcript::check;

/// Commands that run beside each other; more than processors, because some wait.
const AT_ONCE: usize = 4;

/// Compares the transcript, and fails with everything that is not as promised.
fn judge(name: &str, cells: &[Cell]) {
    judge_without(&[], name, cells);
}

/// The same, where more differs from run to run.
fn judge_without(varies: &[(&'static str, &'static str)], name: &str, cells: &[Cell]) {
    let manual = Manual::read();
    let faults: String = cells.iter().flat_map(|cell| manual.faults(cell)).collect();
    check(name, &cells.iter().map(|cell| cell.told.as_str()).collect::<String>(), varies);
    assert!(faults.is_empty(), "\n{faults}");
}

fn row(command: &str) -> Row {
    *TABLE.iter().find(|row| row.command == command).unwrap()
}

#[test]
fn the_table_has_every_command_and_each_that_changes_something_takes_a_dry_run() {
    let manual = Manual::read();
    let listed: BTreeSet<&str> = TABLE.iter().map(|row| row.command).collect();
    assert_eq!(listed, manual.commands());
    for command in listed {
        let changes = TABLE.iter().any(|row| row.command == command && row.deed == Deed::Changes);
        assert_eq!(manual.takes_dry_run(command), changes, "--dry-run of {command}");
        let documented = command == "config schema" || !manual.answers(command).is_empty();
        assert!(documented, "{command} does not say which fields its JSON has");
    }
}

#[test]
fn without_a_daemon_commands_open_the_home_themselves() {
    let template = Template::new();
    let cells = every_cell(AT_ONCE, |row, form| template.copy().run(row, form, Streams::Plain));
    judge("without_a_daemon", &cells);
}

/// A daemon writes entries and samples of its own between those of the commands.
const ITS_OWN: [(&str, &str); 8] = [
    (r"\b(entry|over) \d+", "$1 [N]"),
    (r"\b\d+ (entries|samples|not signed yet)", "[N] $1"),
    (r"(?m)^  (entries|checkpoints) +\d+", "  $1  [N]"),
    (r"(?m)^ *\d+  (captain|\[CLOCK\])", "[N]  $1"),
    (r"(?m)^\d+$", "[N]"),
    (r"(\[HASH\]\n)+", "[HASH]\n"),
    (
        r#""(seq|size|entry|at_entry|entries|checkpointed|unsigned|recorded_as|next_seq|behind|to|checkpoint_size|checkpoints|samples)":\d+"#,
        r#""$1":"[N]""#,
    ),
    (r#""entries":\[[\d,]+\]"#, r#""entries":["[N]"]"#),
];

#[test]
fn a_daemon_answers_for_the_home_it_has_open() {
    let scene = Template::new().copy();
    let mut daemon = Running::daemon(&scene);
    let mut cells = Vec::new();
    for row in TABLE.iter().filter(|row| row.command != "down") {
        // What the daemon does beside is not the command's doing.
        let cell = |form| Cell { changed: Vec::new(), ..scene.run(*row, form, Streams::Plain) };
        cells.extend(FORMS.map(cell));
    }
    for form in FORMS {
        cells.push(scene.run(row("down"), form, Streams::Plain));
        daemon.end().ok();
        daemon = Running::daemon(&scene);
    }
    judge_without(&ITS_OWN, "with_a_daemon", &cells);
}

#[test]
fn a_journal_that_another_process_holds_is_read_and_not_written() {
    let template = Template::new();
    // Those that want to write wait for two seconds before they give up: all at once.
    let cells = every_cell(2 * TABLE.len(), |row, form| {
        let scene = template.copy();
        let lock = File::options().write(true).open(scene.home().join("state/journal/LOCK")).unwrap();
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
        scene.run(row, form, Streams::Plain)
    });
    judge("locked", &cells);
}

#[test]
fn a_damaged_journal_is_left_as_it_was_found() {
    let template = Template::new();
    let cells = every_cell(AT_ONCE, |row, form| {
        let scene = template.copy();
        let segment = scene.home().join("state/journal/00000000000000000000.jsonl");
        let text = std::fs::read_to_string(&segment).unwrap();
        flip_bit(&segment, text.find("\"n\":2").unwrap() as u64 + 4, 1);
        scene.run(row, form, Streams::Plain)
    });
    judge("damaged_journal", &cells);
}

/// Those that open a database, or look at one.
fn of_databases(row: &&Row) -> bool {
    ["up", "status", "doctor", "rebuild", "backup", "export", "uninstall"].contains(&row.command)
}

fn with_no_database_at(name: &str, template: &Template) -> Vec<Cell> {
    let cells = TABLE.iter().filter(of_databases).flat_map(|row| FORMS.map(|form| (*row, form)));
    let cell = |(row, form)| {
        let scene = template.copy();
        std::fs::write(scene.home().join("state").join(name), "this is no database\n".repeat(999)).unwrap();
        scene.run(row, form, Streams::Plain)
    };
    cells.map(cell).collect()
}

#[test]
fn a_damaged_index_is_set_aside_and_other_databases_are_refused() {
    let template = Template::new();
    judge("damaged_index", &with_no_database_at("index.db", &template));
    judge("damaged_samples", &with_no_database_at("metrics.db", &template));
}

#[test]
fn a_wrong_configuration_stops_what_depends_on_it() {
    let template = Template::new();
    let cells = every_cell(AT_ONCE, |row, form| {
        let scene = template.copy();
        std::fs::write(scene.home().join("etc/config.yaml"), "version: 1\nhelth:\n  listen: 7\n").unwrap();
        scene.run(row, form, Streams::Plain)
    });
    judge("wrong_configuration", &cells);
}

/// A new log is called after the machine.
const AFTER_THE_MACHINE: [(&str, &str); 1] =
    [(r#"\bholdfast/[a-z0-9.-]+(\+\[KEY\]| at |,|")"#, "holdfast/[HOST]$1")];

#[test]
fn where_nothing_is_nothing_is_made_but_by_those_that_make_it() {
    let template = Template::new();
    let cells = every_cell(AT_ONCE, |row, form| template.without_home().run(row, form, Streams::Plain));
    judge_without(&AFTER_THE_MACHINE, "nothing_there", &cells);
}

#[test]
fn a_read_only_disk_is_read() {
    let Some(disk) = require(SmallDisk::tmpfs(8 << 30)) else {
        return;
    };
    let scene = Template::new().copy_to(disk.path());
    disk.remount_read_only().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let out = |row: Row, form| elsewhere.path().join(format!("{}-{form:?}", row.command.replace(' ', "-")));
    // One after the other: a pause is in the machine's memory, where the commands after it find it.
    let cells = every_cell(1, |row, form| {
        let mut cell = scene.run_args(row, row.args, form, Streams::Plain, &out(row, form));
        let elsewhere = elsewhere.path().display().to_string();
        cell.told = cell.told.replace(&elsewhere, "[ELSEWHERE]");
        cell
    });
    judge("read_only", &cells);
}

/// Commands that take `-`, with nothing behind it.
const FROM_STDIN: [(&str, &[&str]); 5] = [
    ("audit log", &["--actor", "ana", "--kind", "captain.note.added", "--body", "-"]),
    ("audit log", &["--actor", "ana", "--kind", "memory.text.kept", "--blob", "-"]),
    ("audit prove", &["--check", "-"]),
    ("audit witness accept", &["-"]),
    ("audit witness cosign", &["-"]),
];

#[test]
fn without_a_terminal_nothing_is_asked_and_nobody_waits() {
    let template = Template::new();
    let cells = every_cell(AT_ONCE, |row, form| template.copy().run(row, form, Streams::NoTerminal));
    // The same transcript: it makes no difference.
    judge("without_a_daemon", &cells);
    let closed = |(command, args): &(&str, &[&str])| {
        let scene = template.copy();
        scene.run_args(row(command), args, Form::People, Streams::NoTerminal, Path::new(""))
    };
    judge("closed_input", &FROM_STDIN.iter().map(closed).collect::<Vec<_>>());
}

#[test]
fn a_reader_that_left_changes_no_verdict_and_is_told_nothing() {
    let template = Template::new();
    let cells = every_cell(AT_ONCE, |row, form| template.copy().run(row, form, Streams::ReaderLeft));
    for cell in &cells {
        assert_eq!(Some(cell.code), kept_code(&cell.typed), "{}", cell.told);
        assert!(!cell.err.contains("panicked") && !cell.err.contains("Broken pipe"), "{}", cell.told);
    }
    check("closed_pipe", &cells.iter().map(|cell| cell.told.as_str()).collect::<String>(), &[]);
}

/// How the command ended when somebody read what it said.
fn kept_code(typed: &str) -> Option<i32> {
    let kept = include_str!("matrix/transcripts/without_a_daemon.snap");
    let (_, rest) = kept.split_once(&format!("\n{typed}\n"))?;
    let code = rest.lines().find_map(|line| line.strip_prefix("[exit "))?;
    code.trim_end_matches(']').parse().ok()
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that did not run must be seen")]
fn without_any_home_it_is_said_what_to_set() {
    if rustix::process::geteuid().is_root() && Path::new("/etc/holdfast").exists() {
        eprintln!("not run: this machine has a system install, and root without a home means that one");
        return;
    }
    let cells = every_cell(AT_ONCE, |row, form| Scene::empty().run(row, form, Streams::NoHome));
    judge("no_home", &cells);
}

#[test]
fn a_dry_run_changes_nothing() {
    let template = Template::new();
    let (there, bare) = (template.copy(), template.without_home());
    let (before, nothing) = (there.files(), bare.files());
    let mut cells = Vec::new();
    for row in TABLE.iter().filter(|row| row.deed == Deed::Changes) {
        let args: Vec<&str> =
            row.args.iter().copied().filter(|arg| *arg != "--yes").chain(["--dry-run"]).collect();
        for form in FORMS {
            let out = there.home().with_file_name("out");
            let cell = there.run_args(*row, &args, form, Streams::Plain, &out);
            assert!(cell.changed.is_empty(), "{}{:?}", cell.told, cell.changed);
            cells.push(cell);
            let out = bare.home().with_file_name("out");
            let cell = bare.run_args(*row, &args, form, Streams::Plain, &out);
            assert!(cell.changed.is_empty(), "{}{:?}", cell.told, cell.changed);
        }
    }
    assert_eq!((there.files(), bare.files()), (before, nothing));
    judge("dry_run", &cells);
}
