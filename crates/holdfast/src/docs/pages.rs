//! The command line and the exit codes, as pages.

use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory as _};
use holdfast_types::Exit;

use crate::cli::Cli;

pub(super) const REGENERATE: &str =
    "<!-- Made from the program; regenerate with UPDATE=1 cargo nextest run -p holdfast pages -->\n";

pub(super) fn cli() -> String {
    let mut root = Cli::command();
    root.build();
    let mut out = format!("# The command line\n\n{REGENERATE}\n{INTRO}");
    out.push_str("\n## Every command takes\n\n");
    out.push_str(&arguments(root.get_arguments().filter(|a| a.is_global_set())));
    commands(&root, "holdfast", &mut out);
    out
}

/// Every kind of entry, from where it is defined.
pub(super) fn events() -> String {
    let mut out = format!(
        "# Kinds of entry\n\n{REGENERATE}\nWhat is written to the journal, by kind. The envelope around each body stands in \
         [journal.md](journal.md). A reader\nkeeps kinds and versions it does not know, and passes over them.\n"
    );
    for def in crate::kinds::all() {
        let rows: String = def.fields.iter().map(|(name, what)| format!("| `{name}` | {what} |\n")).collect();
        out.push_str(&format!(
            "\n## {}\n\n{}\n\nVersion {}.\n\n| field | what |\n|---|---|\n{rows}",
            def.name, def.when, def.version
        ));
    }
    out
}

const INTRO: &str = "\
Data goes to stdout, everything else to stderr. Colour is only added on a terminal and never needed; `NO_COLOR`
is respected. Nothing prompts. With `--json` a command answers with one JSON value on one line (`audit tail` with
one line an entry, `audit prove` with a document); the fields named below stay as they are, and new ones may be
added. Warnings then are `{\"warning\": …}` and an error is
`{\"error\": {\"code\", \"message\", \"untouched\", \"hint\", \"exit\"}}`, both on stderr. What the codes mean stands in
[errors.md](errors.md), what a command's end means in [exit-codes.md](exit-codes.md).

Where files lie: `etc/`, `state/` and `run/` below `--home`, or else below `HOLDFAST_HOME`. With neither: the system's
`/etc/holdfast`, `/var/lib/holdfast` and `/run/holdfast` for root where `/etc/holdfast` exists, and
`~/.local/state/holdfast` for everybody else.

| file | what |
|---|---|
| `etc/keys/log.key`, `manifest.key`, `approvals.key`, `witness.key` | secret keys, one role each |
| `etc/keys/vault` | keys of sealed texts, destroyed one by one |
| `etc/trust.json` | which keys are believed, and for what |
| `etc/witness.json` | the name this home cosigns under |
| `state/journal` | the journal |
| `state/memory` | what agents remember, as it is searched; made again from the journal when it is gone |
| `state/models` | the embedding model, where `holdfast model fetch` puts it |
| `state/witness.json` | what this home has cosigned for others |
";

fn commands(command: &Command, path: &str, out: &mut String) {
    let shown = |c: &&Command| !c.is_hide_set() && c.get_name() != "help";
    for sub in command.get_subcommands().filter(shown) {
        let path = format!("{path} {}", sub.get_name());
        if sub.has_subcommands() {
            commands(sub, &path, out);
        } else {
            out.push_str(&section(sub, &path));
        }
    }
}

fn section(command: &Command, path: &str) -> String {
    let text = |styled: Option<&StyledStr>| styled.map(ToString::to_string).unwrap_or_default();
    let about = text(command.get_long_about().or(command.get_about()));
    let stop = if about.ends_with('.') { "" } else { "." };
    // Clap takes the first paragraph as a heading, without its full stop.
    let about = about.replacen("\n\n", ".\n\n", 1);
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim().trim_start_matches("Usage: ");
    let own = command.get_arguments().filter(|a| !a.is_global_set() && a.get_id() != "help");
    let arguments = arguments(own);
    let gap = if arguments.is_empty() { "" } else { "\n" };
    let after = match text(command.get_after_long_help()) {
        after if after.is_empty() => after,
        after => format!("{gap}{after}\n"),
    };
    format!("\n## {path}\n\n{about}{stop}\n\n```text\n{usage}\n```\n\n{arguments}{after}")
}

fn arguments<'a>(arguments: impl Iterator<Item = &'a Arg>) -> String {
    arguments.filter(|a| !a.is_hide_set()).map(row).collect()
}

fn row(arg: &Arg) -> String {
    let takes_value = arg.get_action().takes_values();
    let name = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long} "),
        (None, Some(long)) => format!("--{long} "),
        (Some(short), None) => format!("-{short} "),
        (None, None) => String::new(),
    };
    let names = arg.get_value_names().filter(|_| takes_value).unwrap_or_default();
    let value = names.join(" ");
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let defaults = arg.get_default_values().iter().filter(|_| takes_value);
    let default: String = defaults.map(|v| format!(" [default: {}]", v.to_string_lossy())).collect();
    format!("- `{}`: {help}{default}\n", format!("{name}{value}").trim())
}

pub(super) fn exit_codes() -> String {
    let rows = Exit::ALL.map(|exit| format!("| {} | {} |\n", exit.code(), exit.meaning()));
    let heading = "One table for every command. A script may rely on it.\n\n| code | meaning |\n|---:|---|\n";
    format!("# Exit codes\n\n{REGENERATE}\n{heading}{}{EXAMPLES}", rows.concat())
}

const EXAMPLES: &str = "
What that means for the commands there are:

| command | code | when |
|---|---:|---|
| any | 2 | the command line was not understood, an argument is not possible, or the configuration is wrong |
| any | 3 | a file could not be read or written, or there is no journal |
| any that writes | 6 | another process has the journal open |
| any that needs it | 7 | the journal or a database is damaged; it was left as it was found |
| any that asks the daemon | 124 | the daemon said nothing for too long |
| `up`, `down` | 0, 1 | stopped; 1 when something was cut off |
| `up` | 6 | another daemon runs, or the address of `health.listen` is taken |
| `status` | 0, 1, 3 | nothing needs you; something does; no daemon runs to tell |
| `doctor` | 0, 1, 2, 3, 124 | healthy, unhealthy, degraded, could not check, ran out of time |
| `config reload` | 3 | no daemon runs |
| `egress show` | 3 | the settings or the users cannot be read |
| `egress check` | 0, 1, 3 | all is as declared; something is not; nobody keeps to it, so nothing is known |
| `egress refusals` | 3 | nothing has kept to the list since the machine started |
| `notice test` | 0, 1 | it arrived everywhere, or not |
| `disk` | 0, 1 | roomy; tight or full |
| `rebuild` | 1 | rebuilt, and a projection stands still at an entry it does not know |
| `approvals show`, `approve`, `reject` | 2 | there is no such ask |
| `approve`, `reject` | 1 | it is decided, withdrawn or expired already, or was not confirmed |
| `approve`, `reject` | 2 | `--yes` was not given and there is no terminal; the plan is on stderr |
| `approve`, `reject` | 3 | the clock is not known to be right |
| `approve`, `reject` | 4 | the signature does not count: the key is unknown, revoked or for something else |
| `steward status` | 0, 1, 3 | nothing needs you; something does; no daemon runs, so the journal tells |
| `steward show`, `steward approve`, `steward reject`, `steward review` | 1 | there is no such episode, several begin or end so, or it waits for nobody |
| `steward approve`, `steward reject` | 2, 3, 4 | as for `approve` and `reject` |
| `steward trigger`, `steward level`, `steward rollback`, `steward accept`, `steward reset`, `steward review`, `steward rehearsed` | 3 | no daemon runs, or nothing works on the target at the moment |
| `steward trigger`, `steward level`, `steward rollback`, `steward accept`, `steward reset`, `steward review`, `steward rehearsed` | 1 | there is no such target, or nothing to undo |
| `steward episodes`, `steward history`, `steward report` | 1 | there is no such target |
| `steward metrics` | 1 | there is no such target, its figures are too old, or something is wrong on it |
| `steward calibrate` | 1 | there is no such target, or too few samples to go by |
| `target add` | 1 | the host will not do, or does not do what it has to once it is taken in; what was done is undone |
| `target add` | 2 | no unit was named, the name is taken, or neither `--yes` was given nor a terminal is there; the plan is on stderr |
| `target guard` | 1 | there is no such target, a way back would not work, or it was not confirmed; nothing is changed then |
| `target guard` | 2 | nobody was named with `--reference`, it is guarded already, or neither `--yes` was given nor a terminal is there |
| `target guard` | 3, 4 | the second address or the tripwire does not answer; that address shows another key, the host was not taken in whole, or it takes root |
| `target show` | 1 | there is no such target |
| `target add`, `target remove` | 3 | the host does not answer or does not let the account in, or a step failed; what was undone and what not is told |
| `target add`, `target remove` | 4 | the host shows another key, gives no shell, no root, or is looked after already |
| `target check` | 0, 1 | it does what it has to, or not; also when there is no such target |
| `target remove` | 1, 2 | there is no such target, or it was not confirmed; `--yes` was not given and there is no terminal |
| `memory add` | 1, 4 | a gate refused it; the guard lets nothing of it through |
| `memory import` | 1 | a line is none, or longer than a memory may be; the others are taken |
| `memory read` | 1 | there was nothing that could be read |
| `memory hook` | 1 | the input or the options are not as they should be; it never ends with 2 |
| `memory search` | 1 | nothing was found, nobody of that name remembers anything, or a line of a batch could not be answered |
| `memory pack`, `memory experience match` | 1 | nothing goes with it, or nobody of that name remembers anything |
| `memory experience mine` | 3 | there is no repository, or git could not read it |
| `memory cite`, `memory share`, `memory unshare`, `memory notes` | 1 | there is no such memory, it is not shown any more, or nobody of that name remembers anything |
| `memory show`, `memory consolidate`, `memory stats`, `memory forget`, `memory prove-forgotten`, `memory export` | 1 | there is no such memory, or nobody of that name remembers anything |
| `memory forget` | 1, 2 | it was not confirmed; `--yes` was not given and there is no terminal, so the plan is on stderr |
| `memory prove-forgotten` | 0, 1 | nothing is left of it; something is, or it was never forgotten |
| `model fetch` | 3 | it could not be had: offline, no pip, or not the pinned files |
| `model verify` | 0, 1, 3 | every byte is right; one is not; there is no model |
| `demo` | 0, 130 | seen to its end; left early |
| `steward level` | 4 | the evidence for a higher level is not there; what is missing is listed |
| `steward trigger`, `steward accept`, `steward review` | 4 | the level, a pause, the breaker, drift or an open episode forbids it |
| `scan` | 0, 1, 3 | nothing found; findings; nothing found, and something could not be read |
| `redact` | 0, 1, 3 | printed; blocked, so nothing is printed; a line of a batch is none |
| `redact --batch` | 0 | every line is answered, also those that are blocked |
| `hook status` | 0, 1 | every commit is scanned, or not |
| `hook install`, `hook remove` | 4 | another hook stands where ours was, and one is kept already |
| `cage run` | 2, 4 | the policy is wrong; nothing is run: a path is missing, the machine lacks a piece, or root named no user |
| `cage explain` | 0, 1 | every way out was refused, or not |
| `uninstall` | 2 | `--yes` was not given; the plan is on stderr |
| `uninstall` | 4 | what is there is not a home it can remove |
| `uninstall` | 6 | a daemon or another command has the home open |
| `audit log` | 4 | the text holds a private key, the kind is one that only a part of the program writes, or the journal is full |
| `audit verify` | 0 | every entry, hash, checkpoint and signature is as it should be |
| `audit verify` | 1 | a crash left a torn end after the last whole entry, and nothing else is wrong |
| `audit verify` | 3 | it could not be checked; also when the signatures could not, for want of a trust set |
| `audit verify` | 7 | damaged; the findings say where |
| `audit prove --check` | 0, 1 | the proof holds, or does not |
| `audit text` | 1 | the text was erased |
| `audit erase` | 2 | `--yes` was not given; the plan is on stderr |
| `audit witness accept`, `audit witness cosign` | 4 | not signed by a trusted key, or it does not continue what was seen |

`cage run` ends with the program's own code; 128 and the number of the signal that ended it; 124 when its time was up, 137 when
it took more than it was given.

A reader that leaves early, as `head` does, is no error. `audit tail --follow` ends by the signal that ends it.
";
