//! One round at the repository elsewhere: looks, pushes what was kept, asks people at the forge, and tidies. Every step may fail and be
//! repeated; what was done is written down when it was, and what is still to be done is decided anew from what is seen.

use holdfast_git::NotDone;
use holdfast_lifeline::TargetName;
use holdfast_types::Timestamp;

use crate::book::{Book, STEWARD};
use crate::forge::{Forge, ForgeError, State};
use crate::kinds::{Event, Gone};
use crate::line::Deed;
use crate::outward::Outward;
use crate::remote::Remote;
use crate::repository::Repository;
use crate::settle::Move;

/// Where what was applied is shown to others.
#[derive(Debug)]
pub struct Elsewhere {
    pub remote: Remote,
    /// The branch there that people merge into.
    pub base: String,
    /// Where people are asked, if anywhere.
    pub forge: Option<Forge>,
}

/// What is done in a round beside pushing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Also {
    /// Asks what became of requests.
    pub ask: bool,
    /// Removes old branches.
    pub clean: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum NotYet {
    #[error(transparent)]
    Git(#[from] NotDone),
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error("what was done elsewhere could not be written down: {0}")]
    NotNoted(String),
}

/// Writes one thing down for good.
pub type Note<'a> = dyn FnMut(&Event) -> Result<(), String> + 'a;

/// One round; what people should be told of it.
pub fn round(
    place: &Elsewhere,
    repository: &Repository,
    book: &Book,
    outward: &mut Outward,
    also: Also,
    now: Timestamp,
    note: &mut Note<'_>,
) -> Result<Vec<String>, NotYet> {
    let mut run = Run { place, repository, outward, now, note, told: Vec::new() };
    run.push(book)?;
    run.request(book)?;
    if also.ask {
        run.ask(book)?;
    }
    if also.clean {
        run.clean()?;
    }
    Ok(run.told)
}

struct Run<'a, 'n> {
    place: &'a Elsewhere,
    repository: &'a Repository,
    outward: &'a mut Outward,
    now: Timestamp,
    note: &'a mut Note<'n>,
    told: Vec<String>,
}

impl Run<'_, '_> {
    fn noted(&mut self, event: Event) -> Result<(), NotYet> {
        (self.note)(&event).map_err(NotYet::NotNoted)?;
        self.outward.take(&event, self.now);
        Ok(())
    }

    fn push(&mut self, book: &Book) -> Result<(), NotYet> {
        let seen = self.place.remote.look(self.repository)?;
        let pushes = self.outward.pushes(book, &self.place.base, &seen, self.now);
        for found in pushes.found {
            if let Event::Drifted { branch, .. } = &found {
                self.told.push(format!(
                    "Somebody moved {branch} in the repository elsewhere: it is left as it is, and is not what is in force. Move it back, or \
                     remove it, and it follows again."
                ));
            }
            self.noted(found)?;
        }
        self.place.remote.push(self.repository, &pushes.moves)?;
        pushes.then.into_iter().try_for_each(|event| self.noted(event))
    }

    fn request(&mut self, book: &Book) -> Result<(), NotYet> {
        let Some(forge) = &self.place.forge else { return Ok(()) };
        let wanted: Vec<(TargetName, Deed)> = self
            .outward
            .to_request(book)
            .into_iter()
            .map(|(target, deed)| (target.clone(), deed.clone()))
            .collect();
        for (target, deed) in wanted {
            let Some(episode) = deed.episode.clone() else { continue };
            let title = format!("{target}: {}", deed.title);
            let opened =
                forge.open(&format!("steward/{episode}"), &title, &text(&target, &deed), self.now)?;
            self.noted(Event::Requested { episode, number: opened.number, address: opened.address })?;
        }
        Ok(())
    }

    /// What people said. Nothing follows from it but that it is told: what is in force is for the steward and its people to change.
    fn ask(&mut self, book: &Book) -> Result<(), NotYet> {
        let Some(forge) = &self.place.forge else { return Ok(()) };
        let open: Vec<_> = self.outward.to_ask().map(|(episode, number)| (episode.clone(), number)).collect();
        for (episode, number) in open {
            let found = forge.find(&format!("steward/{episode}"), self.now)?;
            let state = found.filter(|it| it.number == number).map_or(State::Closed, |it| it.state);
            let merged = match state {
                State::Open => continue,
                State::Merged => true,
                State::Closed => false,
            };
            self.noted(Event::Answered { episode: episode.clone(), number, merged })?;
            // What was taken back is not in force any more, and its request goes with its branch.
            let in_force = book.deeds().find_map(|(target, deeds)| {
                let kept = deeds.iter().find(|deed| deed.episode.as_ref() == Some(&episode))?;
                (!kept.taken_back).then_some(target)
            });
            if let Some(target) = in_force.filter(|_| !merged) {
                self.told.push(format!(
                    "The change request {number} for {episode} was closed without being merged, and what it asked for is in force on {target}. \
                     `holdfast steward rollback {target}` takes back what was kept last."
                ));
            }
        }
        Ok(())
    }

    /// Old branches of which nobody is asked any more.
    fn clean(&mut self) -> Result<(), NotYet> {
        let seen = self.place.remote.look(self.repository)?;
        let old: Vec<_> =
            self.outward.old(&seen, self.now).map(|(episode, at)| (episode.clone(), at)).collect();
        for (episode, at) in old {
            let request = match &self.place.forge {
                Some(forge) => forge.find(&format!("steward/{episode}"), self.now)?,
                None => None,
            };
            if request.is_some_and(|request| request.state == State::Open) {
                continue;
            }
            let gone = Move { name: format!("{STEWARD}{episode}"), from: Some(at), to: None };
            self.place.remote.push(self.repository, &[gone])?;
            self.noted(Event::Removed { episode, why: Gone::Old })?;
        }
        Ok(())
    }
}

/// What a request says: the commit without what programs look for, and what merging means.
fn text(target: &TargetName, deed: &Deed) -> String {
    let body = deed.message.split_once("\n\n").map_or("", |(_, body)| body);
    let reasons = body.rsplit_once("\n\n").map_or("", |(reasons, _)| reasons);
    let notes = deed.notes.join("\n");
    format!(
        "{reasons}\n\n{notes}\n\nIt is in force on {target}. Merging says that you agree and changes nothing there; closing is told to whoever looks \
         after it. `holdfast steward show {}` is its whole story.\n",
        deed.episode.as_ref().map(ToString::to_string).unwrap_or_default()
    )
}
