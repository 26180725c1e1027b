//! What can go wrong, for whoever has to do something about it.

use std::io;
use std::path::PathBuf;

use holdfast_types::{Exit, Problem, ProblemCode};

use crate::plan::Refusal;
use crate::policy::PolicyError;

#[derive(Debug, thiserror::Error)]
pub enum CageError {
    #[error("the policy {from} cannot be used: {source}")]
    Policy { from: String, source: PolicyError },
    #[error("the policy {from} cannot be read")]
    Unreadable { from: String, source: io::Error },
    #[error("nothing is run: {0}")]
    Refused(#[from] Refusal),
    #[error("the launcher {path} cannot be started")]
    Launcher { path: PathBuf, source: io::Error },
    #[error("the program was not started: {step} failed: {why}")]
    NotStarted { step: String, why: String },
    #[error("the launcher ended without a word")]
    Silent,
    #[error("the program's arguments and the paths of the policy are too many to be passed on")]
    TooMuch,
    #[error("the policy {policy} lies in {folder}, which the program may change or could have changed")]
    PolicyInReach { policy: PathBuf, folder: PathBuf },
    #[error("the program cannot be given this input")]
    Input { source: io::Error },
}

impl CageError {
    pub fn problem(&self) -> Problem {
        let untouched = match self {
            CageError::Silent => {
                "The program may have run, and what it left behind was perhaps not looked at."
            }
            _ => "Nothing was run.",
        };
        let (number, exit, hint) = match self {
            CageError::Policy { .. } => {
                (1, Exit::Usage, "Mend the policy; the example or line it names shows where.")
            }
            CageError::Unreadable { .. } => {
                (2, Exit::CouldNotCheck, "Name a policy that comes with the program, or a file you may read.")
            }
            CageError::Refused(Refusal::Root) => {
                (3, Exit::Refused, "Run it as an ordinary user, or name one with --user.")
            }
            CageError::Refused(Refusal::Lacks { .. }) => (
                4,
                Exit::Refused,
                "`holdfast cage explain` says what this machine has; a policy's [lacking] section may allow to run without.",
            ),
            CageError::Refused(Refusal::Uncovered { .. } | Refusal::Unspeakable { .. }) => (
                11,
                Exit::Refused,
                "Mend, rename or remove what it names, or name a smaller folder with --work. \
                 --let-planted-code-run-outside-later runs without this protection.",
            ),
            CageError::PolicyInReach { .. } => (
                12,
                Exit::Refused,
                "Read the policy, and move it to a folder that no caged program may change, like ~/.config/holdfast.",
            ),
            CageError::Refused(_) => {
                (5, Exit::Refused, "Grant what is there, in a policy or with --read and --write.")
            }
            CageError::Launcher { .. } => {
                (6, Exit::CouldNotCheck, "Put holdfast-cage beside holdfast; it comes with it.")
            }
            CageError::NotStarted { .. } => (
                7,
                Exit::CouldNotCheck,
                "The step it names says what is missing; a program must lie where the policy lets it be run.",
            ),
            CageError::TooMuch => {
                (9, Exit::Usage, "Hand long lists over in a file or on the standard input.")
            }
            CageError::Input { .. } => {
                (10, Exit::Usage, "Give it a file, a pipe or a terminal, or </dev/null.")
            }
            CageError::Silent => (
                8,
                Exit::CouldNotCheck,
                "It may have been killed; look into the system's log, and at the folder before you use git there.",
            ),
        };
        let code = ProblemCode { room: "CAG", number };
        Problem {
            code,
            exit,
            what: holdfast_types::with_causes(self),
            untouched: untouched.to_owned(),
            hint: hint.to_owned(),
        }
    }

    /// One of each.
    pub fn samples() -> Vec<CageError> {
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        vec![
            CageError::Policy {
                from: "mine.toml".to_owned(),
                source: PolicyError::NoBase("loud".to_owned()),
            },
            CageError::Unreadable { from: "mine.toml".to_owned(), source: gone() },
            CageError::Refused(Refusal::Root),
            CageError::Refused(Refusal::Lacks {
                piece: "user namespaces".to_owned(),
                means: "without them there is no cage".to_owned(),
            }),
            CageError::Refused(Refusal::Missing { path: "/srv/data".to_owned() }),
            CageError::Launcher { path: PathBuf::from("holdfast-cage"), source: gone() },
            CageError::NotStarted {
                step: "starting tool".to_owned(),
                why: "No such file or directory".to_owned(),
            },
            CageError::Silent,
            CageError::TooMuch,
            CageError::Input { source: io::Error::other("a folder cannot be a program's input") },
            CageError::Refused(Refusal::Uncovered {
                path: "/srv/job/.git".to_owned(),
                why: "it cannot be looked into, and the program could open it again".to_owned(),
            }),
            CageError::PolicyInReach {
                policy: PathBuf::from("mine.toml"),
                folder: PathBuf::from("/srv/job"),
            },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_a_number_of_its_own() {
        let numbers: Vec<u16> = CageError::samples().iter().map(|e| e.problem().code.number).collect();
        assert_eq!(numbers, (1..=numbers.len() as u16).collect::<Vec<_>>());
    }
}
