//! What the daemon does with memory by itself, in quiet moments: it decides what stays, gives memories their vectors, keeps the indexes in order, and
//! lets go of what nobody uses.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use holdfast_memory_host::Memories;
use holdfast_types::Timestamp;
use tracing::{info, warn};

use super::outcomes::Given;
use crate::kinds::own_actor;
use crate::office::{Office, due};
use crate::problem::{Failure, Result};

/// Between two helpings of texts to be embedded, so that whoever else wants the processor has it.
const BREATHE: Duration = Duration::from_millis(20);

/// When memory was last seen to.
#[derive(Debug)]
pub(crate) struct Tended {
    /// The first look opens memory where there is any: what a kill left half forgotten is ended then.
    looked: bool,
    /// When a consolidation last began, or the daemon did.
    consolidated: Timestamp,
    /// The steward's verdicts that memory was given; nothing before the first of them.
    given: Option<Given>,
}

impl Tended {
    pub(crate) fn since(now: Timestamp) -> Tended {
        Tended { looked: false, consolidated: now, given: None }
    }
}

impl Office {
    /// One look at whether something is to be done, and doing it. `go_on` is asked now and then.
    pub(crate) fn tend_memory(&self, tended: &mut Tended, go_on: &(dyn Fn() -> bool + Sync)) -> Result<()> {
        let settings = self.config().config.memory.clone();
        if settings.tended {
            self.remember_outcomes(&mut tended.given)?;
        }
        if settings.tended && self.house.places.memory().is_dir() {
            let every = Duration::from_secs(u64::from(settings.consolidate_minutes) * 60);
            let is_due = due(Some(tended.consolidated), every, self.clock.now());
            let first = !std::mem::replace(&mut tended.looked, true);
            if is_due || first || self.has_memory_open() {
                let memories = self.memories_as_they_are()?;
                self.embed_in_quiet(&memories, go_on)?;
                // Who has something to decide about is counted, which is not done every few seconds.
                if is_due || first {
                    self.consolidate_if_due(&memories, every, is_due, tended, go_on)?;
                }
                if go_on() && memories.tend(go_on)? {
                    self.memory_changed();
                }
            }
        }
        self.let_go_of_memory();
        Ok(())
    }

    /// Gives memories their vectors, a few at a time. The model is read only where there is something to embed.
    fn embed_in_quiet(&self, memories: &Arc<Memories>, go_on: &(dyn Fn() -> bool + Sync)) -> Result<()> {
        if memories.without_vector()? == 0 {
            return Ok(());
        }
        let Some(model) = self.model() else { return Ok(()) };
        memories.lend(Some(model));
        while go_on() && memories.embed_some()? > 0 {
            self.memory_changed();
            // Counts as use, so that the model is not let go in the middle.
            let _ = self.model();
            std::thread::sleep(BREATHE);
        }
        self.note_model(memories);
        Ok(())
    }

    /// Decides for everybody who has something to decide about. An agent's own last run counts too: a daemon that is often started again does
    /// not put it off for ever.
    fn consolidate_if_due(
        &self,
        memories: &Arc<Memories>,
        every: Duration,
        all_due: bool,
        tended: &mut Tended,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        let now = self.clock.now();
        for (name, _) in memories.agents()? {
            let Ok(agent) = name.parse() else { continue };
            let counted = memories.counted(&agent)?;
            let own_due = counted.last_run.is_some() && due(counted.last_run, every, now);
            if !go_on() || counted.session == 0 || !(all_due || own_due) {
                continue;
            }
            memories.archive(&agent, &own_actor())?;
            let runs = self.consolidate(Some(&name), &own_actor(), &mut |_| ControlFlow::Continue(()))?;
            for run in runs.iter().filter(|run| run.run.is_some()) {
                info!(
                    promoted = run.promoted,
                    merged = run.deduplicated,
                    rejected = run.rejected,
                    "an agent's memory was consolidated"
                );
            }
            // What is in them is in the journal too: where they cannot be written, that is said and no more.
            if let Err(Failure::Problem(problem)) = self.write_notes(&name, &own_actor()) {
                warn!(code = %problem.code, why = problem.what, "notes could not be written");
            }
        }
        if all_due {
            tended.consolidated = now;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::console::{Console, Form};
    use crate::house::House;
    use crate::init;
    use crate::places::{Facts, Places};
    use crate::settings::Overlay;
    use holdfast_control::MemoryDraft;
    use holdfast_memory_host::{AgentName, By};
    use holdfast_types::Trust;

    pub(in super::super) fn made(folder: &std::path::Path) -> Office {
        let facts = Facts { flag: Some(folder.join("home")), ..Facts::default() };
        let house = House { places: Places::find(&facts).unwrap() };
        init::first_time(&house, &mut Console::new(Form::Json)).unwrap();
        Office::open(&house, &Overlay::of_this_process(&[])).unwrap()
    }

    fn remember(office: &Office, agent: &AgentName, text: &str) {
        let draft = MemoryDraft {
            agent: agent.to_string(),
            text: text.to_owned(),
            entry_type: "fact".into(),
            source: "conversation".into(),
            confidence: 0.9,
            scope: "project".into(),
            tags: vec![],
            at: None,
            thread: None,
            actor: own_actor(),
            trust: Trust::Trusted,
            key: None,
        };
        let by = By { actor: own_actor(), owner: own_actor(), trust: Trust::Trusted };
        let draft = super::super::draft_of(&draft).unwrap();
        office.memories().unwrap().capture(agent, draft, &by, None).unwrap();
    }

    // shows: MEM-065
    #[test]
    fn what_was_captured_is_decided_about_when_its_hour_has_come_and_noted_for_people() {
        let folder = tempfile::tempdir().unwrap();
        let office = made(folder.path());
        let mut tended = Tended::since(office.clock.now());
        office.tend_memory(&mut tended, &|| true).unwrap();
        assert!(!office.has_memory_open(), "nothing is opened where nothing is remembered");

        let agent: AgentName = "scout".parse().unwrap();
        remember(&office, &agent, "The gateway of the staging cluster listens on port 9096.");
        let counted = || office.memories().unwrap().counted(&agent).unwrap();
        office.tend_memory(&mut tended, &|| true).unwrap();
        assert_eq!((counted().session, counted().runs), (1, 0), "its hour has not come");
        tended.consolidated = Timestamp::EPOCH;
        office.tend_memory(&mut tended, &|| true).unwrap();
        assert_eq!((counted().session, counted().durable, counted().runs), (0, 1, 1));
        assert!(office.memories().unwrap().notes_folder(&agent).is_dir());
        assert!(tended.consolidated > Timestamp::EPOCH, "and comes again later");

        // Whoever is started again looks when each was last decided about, and not at its own start.
        remember(&office, &agent, "Backups of the billing database are kept for fourteen days.");
        let mut again = Tended::since(office.clock.now());
        office.tend_memory(&mut again, &|| true).unwrap();
        assert_eq!(counted().session, 1, "the last run was a moment ago");
    }
}
