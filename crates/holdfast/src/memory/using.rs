//! What memory is used for beyond finding: packs, what history and written files taught, what was of use, what others may read, notes.

use std::path::Path;

use holdfast_control::{
    MemoryCited, MemoryFilter, MemoryMatch, MemoryMined, MemoryNotes, MemoryPack, MemoryPortion, MemoryRead,
    MemoryShared, MemoryWritten,
};
use holdfast_memory::Voter;
use holdfast_memory_host::{History, Part, Portion, ToPack, Unpacked, not_whole};
use holdfast_types::{Actor, Trust};

use super::answer::{by, top};
use super::told;
use super::words::{agent_of, id_of, only_of, parsed};
use crate::office::Office;
use crate::problem::Result;

impl Office {
    pub(super) fn pack(
        &self,
        agent: &str,
        objective: &str,
        budget: u32,
        only: &MemoryFilter,
    ) -> Result<MemoryPack> {
        let (whose, only) = (agent_of(agent)?, only_of(only)?);
        let memories = self.with_meaning(self.memories_of(&whose)?);
        self.embed_a_few(&memories, &whose)?;
        let wanted = ToPack { agent: &whose, objective, token_budget: budget as usize, only: &only };
        let packed = memories.pack(&wanted)?;
        self.note_model(&memories);
        Ok(told::packed(agent, packed))
    }

    pub(super) fn mine(
        &self,
        agent: &str,
        repository: &str,
        commits: u32,
        actor: &Actor,
    ) -> Result<MemoryMined> {
        let by = by(actor, Trust::SemiTrusted);
        let history = History::of(Path::new(repository), commits as usize);
        let mined = self.memories()?.mine(&agent_of(agent)?, &history, &by)?;
        self.memory_changed();
        Ok(told::mined(agent, &mined))
    }

    /// The same of a history that somebody sent, as git bundles it.
    pub(crate) fn mine_bundle(
        &self,
        agent: &str,
        name: Option<&str>,
        bundle: &[u8],
        commits: u32,
        actor: &Actor,
    ) -> Result<MemoryMined> {
        let whose = agent_of(agent)?;
        let unpacked = Unpacked::from_bundle(bundle)?;
        let history = History { name, ..History::of(unpacked.folder(), commits as usize) };
        let mined = self.memories()?.mine(&whose, &history, &by(actor, Trust::SemiTrusted));
        let mined = mined.map_err(not_whole)?;
        self.memory_changed();
        Ok(told::mined(agent, &mined))
    }

    pub(super) fn take_in(&self, asked: &MemoryWritten) -> Result<MemoryRead> {
        let MemoryWritten { agent, name, text, at, actor, trust } = asked;
        let part = Part { name, text, at: *at };
        let taken = self.memories()?.take_in(&agent_of(agent)?, &part, &by(actor, *trust))?;
        self.memory_changed();
        Ok(told::taken_in(taken))
    }

    pub(super) fn matched(&self, agent: &str, situation: &str, hits: u32) -> Result<Vec<MemoryMatch>> {
        let whose = agent_of(agent)?;
        let found = self.memories_of(&whose)?.matched(&whose, situation, top(hits))?;
        Ok(found.into_iter().map(told::matched).collect())
    }

    pub(super) fn cite(&self, agent: &str, id: &str, who: &Actor) -> Result<MemoryCited> {
        let whose = agent_of(agent)?;
        let citations = self.memories_of(&whose)?.cite(&whose, id_of(id)?, Voter::Person, who.as_str())?;
        self.memory_changed();
        Ok(MemoryCited { agent: agent.to_owned(), id: id.to_owned(), citations: citations as u64 })
    }

    pub(super) fn share(
        &self,
        agent: &str,
        what: &MemoryPortion,
        with: &str,
        actor: &Actor,
        take_back: bool,
    ) -> Result<MemoryShared> {
        let (owner, reader) = (agent_of(agent)?, agent_of(with)?);
        let portion = match what {
            MemoryPortion::One(id) => Portion::One(id_of(id)?),
            MemoryPortion::Tagged(tag) => Portion::Tagged(tag.clone()),
            MemoryPortion::OfKind(kind) => Portion::OfKind(parsed(kind)?),
        };
        let memories = self.memories_of(&owner)?;
        let done = match take_back {
            true => memories.unshare(&owner, &portion, &reader, actor)?,
            false => memories.share(&owner, &portion, &reader, actor)?,
        };
        self.memory_changed();
        let (agent, with) = (agent.to_owned(), with.to_owned());
        Ok(MemoryShared { agent, with, shared: !take_back, ids: told::ids(&done) })
    }

    pub(super) fn write_notes(&self, agent: &str, actor: &Actor) -> Result<MemoryNotes> {
        let whose = agent_of(agent)?;
        let memories = self.memories_of(&whose)?;
        let written = memories.write_notes(&whose, &by(actor, Trust::Trusted))?;
        let committed = memories.commit_notes(&whose)?;
        self.memory_changed();
        Ok(told::notes(&whose, memories.notes_folder(&whose), written, &committed))
    }
}
