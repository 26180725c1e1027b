//! The program behind a target's keys.
//!
//!     holdfast-doorman observe|act|rescue    the forced command of a key; the word is what SSH was asked to run
//!     holdfast-doorman expire                the lease's timer
//!     holdfast-doorman activate ID IDENTITY  the activation, in a unit of its own
//!     holdfast-doorman apart WORD            a word that outlives the session it came by
//!     holdfast-doorman enrol JSON            the first day, by a person on the target
//!     holdfast-doorman arrive                the same and all around it, by a person's account; what for is on standard input
//!     holdfast-doorman leave                 everything of ours away again
//!     holdfast-doorman --version             which one this is
//!
//! Exit codes: 0 a reply was given, 1 refused or failed.

use std::io::{self, Write as _};
use std::process::ExitCode;

use holdfast_doorman::Place;
use holdfast_doorman::door;
use holdfast_doorman::wire::{NotAdmitted, Reply, Role};

/// The one variable that is read. Nothing of what a caller has set is handed on to any program.
const COMMAND: &str = "SSH_ORIGINAL_COMMAND";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).take(8).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let place = Place::default();
    match args.as_slice() {
        [role] if Role::named(role).is_some() => match Role::named(role) {
            Some(role) => behind_a_key(&place, role),
            None => ExitCode::FAILURE,
        },
        ["apart", word] => match word.parse() {
            Ok(word) => {
                reply(door::read_ask(Role::Act, word, io::stdin()).map(|ask| door::answer(&place, &ask)))
            }
            Err(refused) => reply(Err(refused)),
        },
        ["arrive"] => told(door::arrive(&place, io::stdin())),
        ["leave"] => told(door::leave(&place)),
        ["--version"] => {
            let said = writeln!(io::stdout(), "holdfast-doorman {}", env!("CARGO_PKG_VERSION"));
            if said.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        own => match door::own(&place, own) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                let _ = writeln!(io::stderr(), "holdfast-doorman: {why}");
                ExitCode::FAILURE
            }
        },
    }
}

/// One line of JSON, or why not.
fn told(done: Result<String, String>) -> ExitCode {
    match done {
        Ok(line) if writeln!(io::stdout(), "{line}").is_ok() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(why) => {
            let _ = writeln!(io::stderr(), "holdfast-doorman: {why}");
            ExitCode::FAILURE
        }
    }
}

fn behind_a_key(place: &Place, role: Role) -> ExitCode {
    let command = std::env::var_os(COMMAND);
    let asked = door::word_of(command.as_deref())
        .and_then(|word| Ok((word, door::read_ask(role, word, io::stdin())?)));
    door::note(role, command.as_deref(), asked.as_ref().map(|(word, _)| *word));
    reply(asked.map(|(word, ask)| {
        if door::outlives_its_session(word) {
            door::answer_apart(place, &ask).unwrap_or_else(|e| Reply::Broken { why: e.to_string() })
        } else {
            door::answer(place, &ask)
        }
    }))
}

/// One line on standard output, whatever happened.
fn reply(answer: Result<Reply, NotAdmitted>) -> ExitCode {
    let refused = answer.is_err();
    let reply = answer.unwrap_or_else(|e| Reply::NotAdmitted { why: e.to_string() });
    let Ok(mut line) = serde_json::to_vec(&reply) else { return ExitCode::FAILURE };
    line.push(b'\n');
    let written = io::stdout().write_all(&line).and_then(|()| io::stdout().flush());
    if refused || written.is_err() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
