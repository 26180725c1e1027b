//! A home with a long journal: made by the product, filled through the library.
//!
//! Three of four entries belong to a run of one of twenty agents, forty entries to a run; the rest have neither. So
//! every column of the index has something in it, and names are met again as they are in life.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use holdfast_durable::Mode;
use holdfast_journal::{Draft, Journal, Limits, Subject};
use holdfast_keys::{Role, file};
use holdfast_types::Trust;
use serde_json::{Map, Value};
use ulid::Ulid;

use crate::house::{BATCH, append_all, options};
use crate::program::Program;

/// A journal this long is beyond the size from which the status warns by default, and nothing is to need anyone.
/// Checks come every minute instead of every five, so that watching for a minute sees a round of them.
const CONFIG: &str = "version: 1\nhealth:\n  interval_minutes: 1\njournal:\n  warn_mib: 2048\n";

const KINDS: [&str; 8] = [
    "agent.step.taken",
    "agent.tool.called",
    "agent.tool.answered",
    "agent.message.received",
    "memory.note.added",
    "captain.check.passed",
    "captain.unit.restarted",
    "policy.request.allowed",
];
const ACTORS: [&str; 4] = ["ana", "steward", "agent", "policy"];
const AGENTS: u64 = 20;
const RUN_LEN: u64 = 40;
const TEXT: &str =
    "the unit was restarted after its check had failed twice and answered again, as it had before";

/// A home and the program that works with it.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    pub(crate) program: Program,
    pub(crate) dir: PathBuf,
}

impl Home {
    /// Makes a home whose journal has so many entries. No index is there yet.
    pub(crate) fn make(program: &Program, dir: &Path, entries: u64) -> Result<Home> {
        let home = Home { program: program.clone(), dir: dir.to_owned() };
        program.ask(dir, &["init", "--name", "bench"])?;
        holdfast_durable::replace(&dir.join("etc/config.yaml"), CONFIG.as_bytes(), Mode::Private)?;
        let journal = home.open()?;
        while journal.size() < entries {
            let from = journal.size();
            let drafts = (from..entries.min(from + BATCH)).map(draft);
            append_all(&journal, &drafts.collect::<Result<Vec<_>>>()?)?;
        }
        journal.settle()?;
        Ok(home)
    }

    /// The journal, for as long as no daemon has it.
    pub(crate) fn open(&self) -> Result<Journal> {
        let key = file::read_key(&self.dir.join("etc/keys/log.key"), Role::Log)?.key;
        let options = options(&self.dir.join("state/journal"), key, Limits::default());
        Journal::open(options).context("opening the journal of a home")
    }

    pub(crate) fn remove_index(&self) -> Result<()> {
        for name in ["index.db", "index.db-wal", "index.db-shm"] {
            holdfast_durable::remove(&self.dir.join("state").join(name))?;
        }
        Ok(())
    }

    /// Where a daemon's own lines go.
    pub(crate) fn log(&self) -> Result<File> {
        Ok(File::create(self.log_path())?)
    }

    /// The end of those lines, to say why something failed.
    pub(crate) fn log_end(&self) -> String {
        let text = std::fs::read_to_string(self.log_path()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("\n")
    }

    fn log_path(&self) -> PathBuf {
        self.dir.join("daemon.log")
    }
}

fn draft(n: u64) -> Result<Draft> {
    let pick = |of: &'static [&'static str]| of[n as usize % of.len()];
    let text = format!("{TEXT}; this is number {n}");
    let body = Map::from_iter([("n".to_owned(), Value::from(n)), ("text".to_owned(), Value::from(text))]);
    let mut draft = Draft::new(pick(&KINDS).parse()?, pick(&ACTORS).parse()?, Trust::Trusted, body);
    if !n.is_multiple_of(4) {
        let run = n / RUN_LEN;
        draft.subject = Some(Subject::Agent(Ulid(u128::from(run % AGENTS)).into()));
        draft.run = Some(Ulid(u128::from(run) << 40).into());
    }
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_entries_belong_to_a_run_and_a_run_to_one_agent() {
        let run: Vec<Draft> = (RUN_LEN..2 * RUN_LEN).map(|n| draft(n).unwrap()).collect();
        let of_agents: Vec<&Draft> = run.iter().filter(|draft| draft.run.is_some()).collect();
        assert_eq!((run.len(), of_agents.len()), (40, 30));
        assert!(of_agents.iter().all(|d| d.run == of_agents[0].run && d.subject == of_agents[0].subject));
        assert_ne!(draft(2 * RUN_LEN + 1).unwrap().run, of_agents[0].run);
        assert!(run.iter().all(|draft| draft.run.is_some() == draft.subject.is_some()));
    }
}
