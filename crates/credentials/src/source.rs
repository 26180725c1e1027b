//! The kinds of places, and the one question each is asked.

use std::fmt;

use crate::age_file::AgeFile;
use crate::command::CommandSource;
use crate::environment::{Environment, Variables};
use crate::error::Failure;
use crate::name::SecretName;
use crate::secret::Secret;
use crate::systemd;

/// One configured place.
#[derive(Debug)]
pub enum Source {
    /// The files systemd passes to a unit (`LoadCredential=`), in `$CREDENTIALS_DIRECTORY`.
    Systemd,
    AgeFile(AgeFile),
    Environment(Environment),
    Command(CommandSource),
}

/// A place as it is named to people: its kind and where it is. Never holds a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    kind: &'static str,
    detail: String,
}

impl Source {
    pub fn place(&self) -> Place {
        match self {
            Source::Systemd => Place::systemd(),
            Source::AgeFile(file) => Place { kind: "age_file", detail: file.path().display().to_string() },
            Source::Environment(e) => Place { kind: "environment", detail: format!("{}*", e.prefix()) },
            Source::Command(c) => Place { kind: "command", detail: c.program().display().to_string() },
        }
    }

    /// The secret, or `None` when this place does not have it.
    pub(crate) fn ask(&self, name: &SecretName, variables: &Variables) -> Result<Option<Secret>, Failure> {
        match self {
            Source::Systemd => systemd::ask(name, variables),
            Source::AgeFile(file) => file.ask(name),
            Source::Environment(environment) => environment.ask(name, variables),
            Source::Command(command) => command.ask(name, variables),
        }
    }
}

impl Place {
    pub(crate) fn systemd() -> Place {
        Place { kind: "systemd", detail: "$CREDENTIALS_DIRECTORY".into() }
    }

    /// The word the configuration uses: `systemd`, `age_file`, `environment`, `command`.
    pub fn kind(&self) -> &'static str {
        self.kind
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.kind, self.detail)
    }
}
