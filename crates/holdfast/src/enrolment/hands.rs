//! What a command of root keeps a hold of when it becomes the service's user: the tripwire's own program, and the hand that stays root.
//! Elsewhere there is neither, and whoever works does all of it himself.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::Fault;
use super::configure;
use super::edit::Edit;
use super::hand::Hand;
use super::person::here;
use super::pipe::Pipe;
use super::warrant::{Answer, Place, Request, Warrant};
use crate::console::Console;
use crate::owner::gives_away;
use crate::places::Places;

/// A name server is waited for, and then the packet filter.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// What a command is about to do, by what was typed.
#[derive(Clone, Debug)]
pub(crate) struct Errand {
    pub(crate) warrant: Warrant,
    /// What the tripwire is told may change by it.
    pub(crate) touches_the_guard: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Hands {
    pub(crate) guard: Option<Hand>,
    root: Option<Pipe>,
}

impl Hands {
    /// Before this process becomes somebody else. Nothing where it does not.
    pub(crate) fn reached_out(places: &Places, errand: &Errand) -> Result<Hands, Fault> {
        if !gives_away(places) {
            return Ok(Hands::default());
        }
        let guard = errand.touches_the_guard.then(|| Hand::of_root(places)).flatten();
        let program = std::env::current_exe().map_err(here("finding this program"))?;
        let mut command = Command::new(&program);
        command.arg("warrant").args(errand.warrant.words()).env_clear();
        let root = Pipe::open(command).map_err(here(&program.display().to_string()))?;
        Ok(Hands { guard, root: Some(root) })
    }

    /// Whether config.yaml can be written in the end. One that is not root's is the rules' own trouble: where none are kept, whoever it belongs
    /// to writes it.
    pub(crate) fn look(&mut self, console: &Console) -> Result<(), Fault> {
        let Some(answer) = self.ask(&Request::Look {})? else { return Ok(()) };
        match answer {
            Answer::Seen { not_roots: Some(why), rules: true } => Err(Fault::NotRoots { why }),
            Answer::Seen { not_roots: Some(why), rules: false } => {
                console.warn(&why);
                self.root = None;
                Ok(())
            }
            Answer::Seen { not_roots: None, .. } => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Has these reached for as long as this lives. What root did not name comes back.
    pub(crate) fn lend(&mut self, places: Vec<Place>, console: &Console) -> Result<Vec<Place>, Fault> {
        match self.ask(&Request::Lend { places })? {
            None => Ok(Vec::new()),
            Some(Answer::Lent { refused, not_yet }) => {
                if let Some(why) = not_yet {
                    console.warn(&format!("what is called may not be reached yet: {why}"));
                }
                Ok(refused)
            }
            Some(other) => Err(unexpected(&other)),
        }
    }

    /// Writes config.yaml, by whoever's it is.
    pub(crate) fn write(&mut self, path: &Path, edit: &Edit, text: &str) -> Result<(), Fault> {
        let request = Request::Write { edit: edit.clone(), text: text.to_owned() };
        match self.ask(&request)? {
            None => configure::write(path, text).map_err(here(&format!("writing {}", path.display()))),
            Some(Answer::Written {}) => Ok(()),
            Some(Answer::Refused { why }) => Err(Fault::NotWritten { path: path.display().to_string(), why }),
            Some(other) => Err(unexpected(&other)),
        }
    }

    /// Whether it is root who writes.
    pub(crate) fn is_root(&self) -> bool {
        self.root.is_some()
    }

    fn ask(&mut self, request: &Request) -> Result<Option<Answer>, Fault> {
        let wrong = |said: &str| Fault::Here { what: HAND.to_owned(), said: said.to_owned() };
        self.root.as_mut().map(|root| root.ask(request, ANSWER_WITHIN).map_err(wrong)).transpose()
    }
}

const HAND: &str = "the hand that stays root";

fn unexpected(answer: &Answer) -> Fault {
    let said = match answer {
        Answer::Refused { why } => why.clone(),
        _ => "it answered something else".to_owned(),
    };
    Fault::Here { what: HAND.to_owned(), said }
}
