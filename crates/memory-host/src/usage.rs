//! How full agents' contexts are. What is told is told once for each level, and written down.

use std::sync::PoisonError;

use holdfast_memory::event::{ContextReached, Event};
use holdfast_memory::usage::{Counted, Limits, Status, Tracker};
use holdfast_types::Actor;

use crate::agent::AgentName;
use crate::error::Result;
use crate::memories::Memories;
use crate::sealed;

/// One agent's context, watched.
#[derive(Debug)]
pub(crate) struct Tracked {
    limits: Limits,
    tracker: Tracker,
}

impl Memories {
    /// To be called every turn, and after a capture whatever became of it.
    pub fn context_used(
        &self,
        agent: &AgentName,
        limits: Limits,
        used_tokens: u64,
        counted: Counted,
        by: &Actor,
    ) -> Result<Status> {
        let status = {
            let mut contexts = self.contexts.lock().unwrap_or_else(PoisonError::into_inner);
            let new = || Tracked { limits, tracker: Tracker::new(limits) };
            let tracked = contexts.entry(agent.id()).or_insert_with(new);
            // Another model has another context.
            if tracked.limits != limits {
                *tracked = new();
            }
            tracked.tracker.check(used_tokens, counted)
        };
        if status.message.is_some() {
            let event = Event::ContextReached(ContextReached {
                level: status.status,
                used_tokens,
                max_tokens: status.max_tokens,
                estimated: counted == Counted::Estimated,
            });
            self.options.journal.append(&sealed::happened(&event, by.clone(), agent.id())?)?;
        }
        Ok(status)
    }

    /// A session begins: every level is told again.
    pub fn context_begins(&self, agent: &AgentName) {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner).remove(&agent.id());
    }
}
