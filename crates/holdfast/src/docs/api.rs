//! `docs/api.md`: every route, and where each command is found over HTTP or why it is not.
//!
//! The table of commands is checked against the command line and the routes: a command that is in neither column, and a route that no
//! command names and nobody explains, fails a test.

use holdfast_api::{Body, Passkey, Route, routes};

use super::pages::REGENERATE;

/// Where a command's work can be asked for over HTTP.
#[derive(Clone, Copy, Debug)]
enum Over {
    /// These routes, together.
    Http(&'static [&'static str]),
    /// Nowhere, since …
    Here(&'static str),
}

use Over::{Here, Http};

/// What is about the machine somebody sits at, and not about the house.
const CALLERS: &str = "it is about the files and programs of whoever calls it";
const STARTS: &str = "it is what starts, stops or removes the house";
const KEYS: &str = "it goes by a key that only the machine has";
const FOLDER: &str = "it writes a folder of the machine; page by page the same is in `audit.list`, `memory.export` and `hosts.metrics`";
const PROGRAM: &str = "it is about the program itself";

const COMMANDS: &[(&str, Over)] = &[
    ("demo", Here(STARTS)),
    ("init", Here(STARTS)),
    ("up", Here(STARTS)),
    ("down", Here(STARTS)),
    ("status", Http(&["status.show", "status.health"])),
    ("doctor", Http(&["house.doctor"])),
    ("pause", Http(&["autonomy.pause", "autonomy.show"])),
    ("resume", Http(&["autonomy.resume"])),
    ("approvals list", Http(&["approvals.list"])),
    ("approvals show", Http(&["approvals.show"])),
    ("approve", Http(&["approvals.verdict"])),
    ("reject", Http(&["approvals.verdict"])),
    ("steward status", Http(&["hosts.list", "hosts.show"])),
    ("steward episodes", Http(&["episodes.list"])),
    ("steward show", Http(&["episodes.show"])),
    ("steward history", Http(&["history.list"])),
    ("steward metrics", Http(&["hosts.metrics"])),
    ("steward trigger", Http(&["hosts.trigger"])),
    ("steward level", Http(&["hosts.level"])),
    ("steward rollback", Http(&["hosts.rollback"])),
    ("steward accept", Http(&["hosts.accept"])),
    ("steward reset", Http(&["hosts.reset"])),
    ("steward review", Http(&["hosts.review"])),
    ("steward rehearsed", Http(&["hosts.rehearsed"])),
    ("steward approve", Http(&["approvals.verdict"])),
    ("steward reject", Http(&["approvals.verdict"])),
    ("steward report", Http(&["history.report"])),
    ("steward detect", Http(&["series.detect"])),
    ("steward calibrate", Http(&["series.calibrate"])),
    ("steward pause", Http(&["autonomy.pause"])),
    ("steward resume", Http(&["autonomy.resume"])),
    ("target add", Here("it goes by the SSH keys of whoever takes a host in")),
    ("target show", Http(&["targets.list", "targets.show"])),
    ("target check", Http(&["targets.check"])),
    ("target guard", Here("what the guard of this machine is told is root's")),
    ("target remove", Here("it goes by the SSH keys of whoever lets a host go")),
    ("memory add", Http(&["memory.add"])),
    ("memory import", Http(&["memory.import"])),
    ("memory read", Http(&["memory.read"])),
    ("memory hook", Here("an agent's own program calls it, beside the agent")),
    ("memory search", Http(&["memory.search", "memory.search_many"])),
    ("memory pack", Http(&["memory.pack"])),
    ("memory show", Http(&["memory.show"])),
    ("memory cite", Http(&["memory.cite"])),
    ("memory share", Http(&["memory.share"])),
    ("memory unshare", Http(&["memory.unshare"])),
    ("memory consolidate", Http(&["memory.consolidate", "memory.embed"])),
    ("memory notes", Http(&["memory.notes"])),
    ("memory experience mine", Http(&["memory.mine"])),
    ("memory experience match", Http(&["memory.match"])),
    ("memory stats", Http(&["memory.stats"])),
    ("memory forget", Http(&["memory.forget"])),
    ("memory prove-forgotten", Http(&["memory.prove_forgotten"])),
    ("memory export", Http(&["memory.export"])),
    ("model fetch", Here("it brings files from the network or from a folder of the machine")),
    ("model verify", Http(&["house.model_verify"])),
    ("model info", Http(&["house.model"])),
    ("config show", Http(&["house.settings"])),
    ("config check", Http(&["house.settings_check"])),
    ("config reload", Http(&["house.reload"])),
    ("config example", Http(&["house.settings_example"])),
    ("config schema", Http(&["house.settings_schema"])),
    ("egress show", Http(&["house.egress"])),
    ("egress check", Http(&["house.egress_check"])),
    ("egress refusals", Http(&["house.egress_refusals"])),
    ("notice list", Http(&["notices.list"])),
    ("notice raise", Http(&["notices.raise"])),
    ("notice test", Http(&["notices.test"])),
    ("gateway link", Here("it is the way in for somebody who has none; an owner invites in *Settings*")),
    ("gateway people", Http(&["house.people"])),
    ("gateway links", Http(&["house.links"])),
    ("gateway authority", Here("the page `/authority` has it, for whoever cannot sign in yet")),
    ("disk", Http(&["house.disk"])),
    ("rebuild", Http(&["house.rebuild"])),
    ("backup", Http(&["house.backup"])),
    ("export", Here(FOLDER)),
    ("support-bundle", Here("it writes a file of the machine, for somebody to read before it is sent")),
    ("scan", Here(CALLERS)),
    ("hook install", Here(CALLERS)),
    ("hook remove", Here(CALLERS)),
    ("hook status", Here(CALLERS)),
    ("redact", Http(&["house.redact"])),
    ("cage run", Here(CALLERS)),
    ("cage explain", Here(CALLERS)),
    ("audit log", Http(&["audit.append"])),
    ("audit tail", Http(&["audit.list", "audit.show", "events.follow"])),
    ("audit verify", Http(&["audit.verify"])),
    ("audit prove", Http(&["audit.proof", "audit.consistency"])),
    ("audit checkpoint", Http(&["audit.checkpoint", "audit.sign"])),
    ("audit witness request", Http(&["audit.witness_request"])),
    ("audit witness accept", Http(&["audit.witness_accept"])),
    ("audit witness init", Here(KEYS)),
    ("audit witness cosign", Here(KEYS)),
    ("audit witness trust", Here("whom to believe is decided at the machine")),
    ("audit witness list", Http(&["audit.witnesses"])),
    ("audit export", Here(FOLDER)),
    (
        "audit text",
        Here("a sealed text is read at the machine; whose memory it is decides who reads it over HTTP"),
    ),
    ("audit erase", Http(&["audit.erase"])),
    ("uninstall", Here(STARTS)),
    ("completions", Here(PROGRAM)),
    ("man", Here(PROGRAM)),
];

pub(super) fn page() -> String {
    let mut out = format!("# The API\n\n{REGENERATE}\n{INTRO}");
    out.push_str("\n## Routes\n\n| route | id | role | scope | body | what |\n|---|---|---|---|---|---|\n");
    for route in routes() {
        out.push_str(&row(route));
    }
    out.push_str(COMMANDS_INTRO);
    for (command, over) in COMMANDS {
        let place = match over {
            Http(ids) => ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", "),
            Here(why) => format!("at the machine alone: {why}"),
        };
        out.push_str(&format!("| `holdfast {command}` | {place} |\n"));
    }
    out
}

fn row(route: &Route) -> String {
    let body = match route.body {
        Body::Nothing => "",
        Body::Fields { .. } | Body::Signed { .. } => "JSON",
        Body::Raw { media_type, .. } => media_type,
    };
    let Route { verb, path, id, least, scope, summary, .. } = route;
    let scope = match route.passkey {
        Passkey::Never => scope.to_string(),
        Passkey::Always => "passkey".to_owned(),
        Passkey::Unless { field, is } => format!("passkey; {scope} where `{field}` is `{is}`"),
    };
    format!("| `{} {path}` | `{id}` | {least} | {scope} | {body} | {summary} |\n", verb.as_str())
}

const INTRO: &str = "\
What the command line can do, over HTTP and as JSON. `GET /api/v1/openapi.json` at the gateway is the whole of it with every
field, bound and refusal; this page is the overview. [gateway.md](gateway.md) says how to make a token.

- Whoever asks is signed in by a session or sends `Authorization: Bearer TOKEN`. Both the role of the person and the scope of
  the token have to be enough; a token of the scope `read` counts for a viewer, whoever made it.
- Where the column says `passkey`, no token is enough: the call needs a session, and a passkey that was used for exactly this
  call (`POST /auth/confirm/start` with `act`, the answer in the header `x-holdfast-proof`). The command line on the machine
  does the same without one.
- Everything is strict: an unknown parameter or field, one that is there twice, and one of another form are refused by name.
- A refusal has the fields of a command's error: `code`, `message`, `untouched`, `hint`, `exit`. 4xx is the caller's move, 5xx
  never is.
- Nothing here approves without a signature, stops the daemon, makes a way in, or takes the name of a folder of the machine.
";

const COMMANDS_INTRO: &str = "
## Commands

Where each command is found over HTTP. An answer has the fields that the command has with `--json`.

| command | over HTTP |
|---|---|
";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{Command, CommandFactory as _};

    use super::*;
    use crate::cli::Cli;

    /// What only makes sense over HTTP.
    const HTTP_ALONE: &[&str] = &["status.openapi"];

    /// Every command that does something, as people type it.
    fn leaves(command: &Command, typed: &str, all: &mut BTreeSet<String>) {
        for inner in command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help") {
            let typed = format!("{typed}{}", inner.get_name());
            let below = inner.get_subcommands().any(|it| it.get_name() != "help");
            if below {
                leaves(inner, &format!("{typed} "), all);
            } else {
                all.insert(typed);
            }
        }
    }

    #[test]
    fn every_command_is_found_over_http_or_says_why_not() {
        let mut typed = BTreeSet::new();
        leaves(&Cli::command(), "", &mut typed);
        let listed: BTreeSet<String> = COMMANDS.iter().map(|(command, _)| (*command).to_owned()).collect();
        assert_eq!(listed.len(), COMMANDS.len(), "each once");
        assert_eq!(typed, listed);
    }

    #[test]
    fn every_route_is_some_commands_or_explained() {
        let there: BTreeSet<&str> = routes().iter().map(|route| route.id).collect();
        let mut named: BTreeSet<&str> = HTTP_ALONE.iter().copied().collect();
        for (_, over) in COMMANDS {
            if let Http(ids) = over {
                named.extend(*ids);
            }
        }
        assert_eq!(there, named);
    }
}
