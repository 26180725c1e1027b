//! Asking programs that know a language better than we do. A program that is not installed is noted once.
//!
//! They are looked for on the `PATH`, then where `scripts/setup.sh` unpacks what it does not install:
//! `bin` below `HOLDFAST_TOOLS`, by default `holdfast/tools` in the user's cache.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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
    unpacked: Option<PathBuf>,
    missing: BTreeSet<String>,
}

impl Tools {
    pub(super) fn new(root: &Path) -> Tools {
        let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let unpacked = unpacked(named("HOLDFAST_TOOLS"), named("XDG_CACHE_HOME"), named("HOME"));
        Tools { root: root.to_owned(), unpacked, missing: BTreeSet::new() }
    }

    /// Runs a program from the root of the tree.
    pub(super) fn ask(&mut self, program: &str, args: &[&str]) -> anyhow::Result<Answer> {
        let mut output = self.start(Path::new(program), args)?;
        if let (None, Some(unpacked)) = (&output, &self.unpacked) {
            output = self.start(&unpacked.join(program), args)?;
        }
        let Some(output) = output else {
            self.missing.insert(program.to_owned());
            return Ok(Answer::NotInstalled);
        };
        if output.status.success() {
            return Ok(Answer::Good);
        }
        let both = [output.stdout, output.stderr].concat();
        Ok(Answer::Bad(String::from_utf8_lossy(&both).into_owned()))
    }

    /// `None` when there is no such program.
    fn start(&self, program: &Path, args: &[&str]) -> anyhow::Result<Option<Output>> {
        match Command::new(program).args(args).current_dir(&self.root).output() {
            Ok(output) => Ok(Some(output)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("starting {}", program.display())),
        }
    }

    /// For a program that is there, but whose answer says that it can say nothing on this machine.
    pub(super) fn cannot_work(&mut self, program: &str) {
        self.missing.insert(program.to_owned());
    }

    /// The programs that were asked for and are not there, or cannot work here.
    pub(super) fn missing(&self) -> impl Iterator<Item = &str> {
        self.missing.iter().map(String::as_str)
    }
}

/// The same decision as in `scripts/setup.sh`.
fn unpacked(tools: Option<PathBuf>, cache: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let cache = cache.or_else(|| Some(home?.join(".cache")));
    let tools = tools.or_else(|| Some(cache?.join("holdfast/tools")))?;
    Some(tools.join("bin"))
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
    #[test]
    fn unpacked_programs_are_found_where_setup_puts_them() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(unpacked(path("/t"), path("/c"), path("/h")), path("/t/bin"));
        assert_eq!(unpacked(None, path("/c"), path("/h")), path("/c/holdfast/tools/bin"));
        assert_eq!(unpacked(None, None, path("/h")), path("/h/.cache/holdfast/tools/bin"));
        assert_eq!(unpacked(None, None, None), None);
    }

    #[test]
    fn a_program_that_is_only_unpacked_is_asked() {
        let dir = std::env::temp_dir().join(format!("xtask-tool-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::os::unix::fs::symlink("/bin/true", dir.join("only-unpacked-here")).unwrap();
        let mut tools = Tools { unpacked: Some(dir.clone()), ..Tools::new(Path::new(".")) };
        assert_eq!(tools.ask("only-unpacked-here", &[]).unwrap(), Answer::Good);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
