//! Asking programs that know a language better than we do. A program that is not installed is noted once.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

/// What a program said about a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Good,
    /// All it printed, both streams.
    Bad(String),
    NotInstalled,
}

#[derive(Debug)]
pub(super) struct Tools {
    root: PathBuf,
    missing: BTreeSet<String>,
}

impl Tools {
    pub(super) fn new(root: &Path) -> Tools {
        Tools { root: root.to_owned(), missing: BTreeSet::new() }
    }

    /// Runs a program from the root of the tree.
    pub(super) fn ask(&mut self, program: &str, args: &[&str]) -> anyhow::Result<Answer> {
        let output = match Command::new(program).args(args).current_dir(&self.root).output() {
            Ok(output) => output,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.missing.insert(program.to_owned());
                return Ok(Answer::NotInstalled);
            }
            Err(error) => return Err(error).with_context(|| format!("starting {program}")),
        };
        if output.status.success() {
            return Ok(Answer::Good);
        }
        let both = [output.stdout, output.stderr].concat();
        Ok(Answer::Bad(String::from_utf8_lossy(&both).into_owned()))
    }

    /// The programs that were asked for and are not there.
    pub(super) fn missing(&self) -> impl Iterator<Item = &str> {
        self.missing.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_apart() {
        let mut tools = Tools::new(Path::new("."));
        assert_eq!(tools.ask("bash", &["-c", "true"]).unwrap(), Answer::Good);
        assert_eq!(tools.ask("bash", &["-c", "echo no; exit 1"]).unwrap(), Answer::Bad("no\n".to_owned()));
        assert_eq!(tools.ask("no-such-program-here", &[]).unwrap(), Answer::NotInstalled);
        assert_eq!(tools.missing().collect::<Vec<_>>(), ["no-such-program-here"]);
    }
}
