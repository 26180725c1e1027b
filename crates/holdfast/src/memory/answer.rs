//! What is asked of memory, carried out.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use holdfast_control::{
    Answer, MemoryAnswer, MemoryAnswered, MemoryAsk, MemoryDraft, MemoryEmbedded, MemoryFilter, MemoryFound,
    MemoryGone, MemoryHit, MemoryImported, MemoryLines, MemoryPage, MemoryProof, MemoryQuery, MemoryRun,
    MemorySearch, MemoryShown, MemoryStats, MemoryWrong, Step, Watch,
};
use holdfast_memory::Gates;
use holdfast_memory_host::Error as EngineError;
use holdfast_memory_host::{AgentName, Ask, By, Found, Gone, Line, Memories, Only, Proof, TOP_MAX};
use holdfast_types::{Actor, AgentId, Trust};
use tracing::info;

use super::words::{agent_of, draft_of, id_of, only_of};
use super::{MemoryError, told};
use crate::office::Office;
use crate::problem::{CliError, Result};

/// Memories that a search embeds before it looks, where they have no vector yet: a few tenths of a second. More are left to a quiet moment.
const EMBED_FIRST: u64 = 64;

/// What an answer may have of texts: well below the longest line of the socket, in which a character may take six bytes.
const TEXTS_MAX: usize = 512 * 1024;

/// Rows that a page of an export is made of.
const PAGE_ROWS: usize = 256;

impl Office {
    pub(crate) fn memory(&self, ask: MemoryAsk, watch: &mut Watch<'_>) -> Result<Answer> {
        let answer = match ask {
            MemoryAsk::Add(draft) => self.remember(&draft)?,
            MemoryAsk::Import(lines) => MemoryAnswer::Imported(self.import_memories(lines)?),
            MemoryAsk::Search(search) => MemoryAnswer::Found(self.search_memory(&search)?),
            MemoryAsk::SearchMany { queries, only, top } => {
                MemoryAnswer::FoundMany(self.search_many(&queries, &only, top, watch)?)
            }
            MemoryAsk::Show { agent, id } => MemoryAnswer::Shown(Box::new(self.show_memory(&agent, &id)?)),
            MemoryAsk::Embed { agent } => MemoryAnswer::Embedded(self.embed(agent.as_deref(), watch)?),
            MemoryAsk::Consolidate { agent, actor } => {
                MemoryAnswer::Consolidated(self.consolidate(agent.as_deref(), &actor, watch)?)
            }
            MemoryAsk::Stats { agent } => MemoryAnswer::Stats(self.memory_stats(agent.as_deref())?),
            MemoryAsk::Forget { agent, id, actor } => {
                MemoryAnswer::Forgotten(self.forget(&agent, &id, &actor)?)
            }
            MemoryAsk::ProveForgotten { agent, id } => {
                MemoryAnswer::Proof(self.prove_forgotten(&agent, &id)?)
            }
            MemoryAsk::Export { agent, from } => MemoryAnswer::Page(self.export_page(&agent, from)?),
            MemoryAsk::Pack { agent, objective, budget, only } => {
                MemoryAnswer::Packed(Box::new(self.pack(&agent, &objective, budget, &only)?))
            }
            MemoryAsk::Mine { agent, repository, commits, actor } => {
                MemoryAnswer::Mined(self.mine(&agent, &repository, commits, &actor)?)
            }
            MemoryAsk::Match { agent, situation, top } => {
                MemoryAnswer::Matched(self.matched(&agent, &situation, top)?)
            }
            MemoryAsk::Cite { agent, id, who } => MemoryAnswer::Cited(self.cite(&agent, &id, &who)?),
            MemoryAsk::Share { agent, what, with, actor, take_back } => {
                MemoryAnswer::Shared(self.share(&agent, &what, &with, &actor, take_back)?)
            }
            MemoryAsk::Notes { agent, actor } => MemoryAnswer::Notes(self.write_notes(&agent, &actor)?),
            MemoryAsk::Read(written) => MemoryAnswer::Read(self.take_in(&written)?),
        };
        Ok(Answer::Memory(Box::new(answer)))
    }

    fn remember(&self, asked: &MemoryDraft) -> Result<MemoryAnswer> {
        let agent = agent_of(&asked.agent)?;
        let draft = draft_of(asked)?;
        let outcome =
            self.memories()?.capture(&agent, draft, &by(&asked.actor, asked.trust), asked.key.clone())?;
        self.memory_changed();
        Ok(MemoryAnswer::Added(told::added(&agent, outcome)))
    }

    fn import_memories(&self, asked: MemoryLines) -> Result<MemoryImported> {
        let MemoryLines { lines, agent, actor, trust, gate } = asked;
        let mut imported = MemoryImported::default();
        // In the order of the file, for each agent.
        let mut of: BTreeMap<AgentName, Vec<Line>> = BTreeMap::new();
        for line in lines {
            let read = Line::parse(&line.text).map_err(|e| e.to_string()).and_then(|read| {
                let name = read.agent.as_deref().unwrap_or(&agent);
                Ok((agent_of(name).map_err(|e| e.to_string())?, read))
            });
            match read {
                Ok((agent, read)) => of.entry(agent).or_default().push(read),
                Err(why) => imported.wrong.push(MemoryWrong { line: line.number, why }),
            }
        }
        let memories = self.memories()?;
        for (agent, lines) in of {
            let done = memories.import(&agent, lines, &by(&actor, trust), gate)?;
            told::add_imported(&mut imported, done);
        }
        self.memory_changed();
        Ok(imported)
    }

    fn search_memory(&self, asked: &MemorySearch) -> Result<MemoryFound> {
        let (agent, only) = (agent_of(&asked.agent)?, only_of(&asked.only)?);
        let memories = self.with_meaning(self.memories_of(&agent)?);
        self.embed_a_few(&memories, &agent)?;
        let Found { hits, lexical, exact, without_vector } = memories.search(&Ask {
            agent: &agent,
            query: &asked.query,
            top: top(asked.top),
            only: &only,
            now: Some(self.clock.now()),
        })?;
        self.note_model(&memories);
        let found = hits.len() as u64;
        let hits = fitting(hits.into_iter().map(told::hit));
        let left_off = found - hits.len() as u64;
        Ok(MemoryFound { agent: asked.agent.clone(), hits, lexical, exact, without_vector, left_off })
    }

    /// Many questions may be about any time, so that none of them is asked as of now: age does not count.
    fn search_many(
        &self,
        queries: &[MemoryQuery],
        only: &MemoryFilter,
        hits: u32,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<MemoryAnswered>> {
        let only = only_of(only)?;
        let memories = match self.remembers_anything()? {
            true => Some(self.with_meaning(self.memories()?)),
            false => None,
        };
        let mut answers = Vec::with_capacity(queries.len());
        for (done, asked) in (0..).zip(queries) {
            go_on(watch, "searching", done, queries.len() as u64, "questions")?;
            let answered = agent_of(&asked.agent).and_then(|agent| {
                self.answer_one(memories.as_deref(), &agent, &asked.query, &only, top(hits))
            });
            answers.push(match answered {
                Ok(found) => MemoryAnswered {
                    hits: found.hits.iter().map(told::brief).collect(),
                    trouble: None,
                    lexical: found.lexical,
                },
                // One that nobody can answer does not keep the others from being answered.
                Err(e) => MemoryAnswered { hits: vec![], trouble: Some(e.problem().what), lexical: false },
            });
        }
        Ok(answers)
    }

    fn answer_one(
        &self,
        memories: Option<&Memories>,
        agent: &AgentName,
        query: &str,
        only: &Only,
        top: usize,
    ) -> Result<Found, MemoryError> {
        let nobody = || EngineError::NoSpace(agent.to_string());
        let memories = memories.ok_or_else(nobody)?;
        self.embed_a_few(memories, agent)?;
        let found = memories.search(&Ask { agent, query, top, only, now: None })?;
        self.note_model(memories);
        Ok(found)
    }

    /// What was captured a moment ago is found by its meaning too.
    pub(super) fn embed_a_few(&self, memories: &Memories, agent: &AgentName) -> Result<(), MemoryError> {
        if memories.embed_while(agent, &mut |done| done < EMBED_FIRST)? > 0 {
            self.memory_changed();
        }
        Ok(())
    }

    fn embed(&self, agent: Option<&str>, watch: &mut Watch<'_>) -> Result<MemoryEmbedded> {
        let model = self.model().is_some();
        if !model || !self.remembers_anything()? {
            return Ok(MemoryEmbedded { embedded: 0, model });
        }
        let memories = self.with_meaning(self.memories()?);
        let (mut embedded, all) = (0, memories.without_vector()?);
        for agent in self.whose(&memories, agent)? {
            let mut stopped = false;
            let done = memories.embed_while(&agent, &mut |done| {
                let told = step("embedding", embedded + done, Some(all), "memories");
                stopped = watch(told) == ControlFlow::Break(());
                !stopped
            })?;
            embedded += done;
            self.memory_changed();
            // Whoever asked for nothing else is told; others go by words meanwhile.
            if let Some(failed) = self.note_model(&memories) {
                return Err(MemoryError::from(EngineError::Embedding(failed)).into());
            }
            if stopped {
                return Err(CliError::Interrupted { what: "embedding" }.into());
            }
        }
        Ok(MemoryEmbedded { embedded, model })
    }

    pub(super) fn consolidate(
        &self,
        agent: Option<&str>,
        actor: &Actor,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<MemoryRun>> {
        let memories = match agent.map(agent_of).transpose()? {
            Some(agent) => self.memories_of(&agent)?,
            None if !self.remembers_anything()? => return Ok(Vec::new()),
            None => self.memories()?,
        };
        let memories = self.with_meaning(memories);
        let agents = self.whose(&memories, agent)?;
        let mut runs = Vec::new();
        for (done, agent) in (0..).zip(&agents) {
            go_on(watch, "consolidating", done, agents.len() as u64, "agents")?;
            let run = memories.consolidate(agent, actor, &Gates::consolidation())?;
            self.note_model(&memories);
            if run.as_ref().is_some_and(|run| run.fallback_used) {
                info!(%agent, "memories were compared by words, without a model");
            }
            self.memory_changed();
            runs.push(told::run(agent.as_str(), run));
        }
        Ok(runs)
    }

    fn memory_stats(&self, agent: Option<&str>) -> Result<MemoryStats> {
        let model = self.model_folder().join(holdfast_embed::WEIGHTS.name).is_file();
        let memories = match agent.map(agent_of).transpose()? {
            Some(agent) => self.memories_of(&agent)?,
            None if !self.remembers_anything()? => return Ok(MemoryStats { agents: Vec::new(), model }),
            None => self.memories()?,
        };
        let mut agents = Vec::new();
        for agent in self.whose(&memories, agent)? {
            let waiting = memories.without_vector_of(&agent)?;
            agents.push(told::count(agent.as_str(), memories.counted(&agent)?, waiting));
        }
        Ok(MemoryStats { agents, model })
    }

    fn show_memory(&self, agent: &str, id: &str) -> Result<MemoryShown> {
        let whose = agent_of(agent)?;
        let memories = self.memories_of(&whose)?;
        let shown = memories.show(&whose, id_of(id)?)?;
        let names: BTreeMap<_, _> = memories.agents()?.into_iter().map(|(name, id)| (id, name)).collect();
        // One that remembers nothing itself is known by its id alone.
        let name = |id: &AgentId| names.get(id).cloned().unwrap_or_else(|| id.to_string());
        let shared_with = shown.shared_with.iter().map(name).collect();
        Ok(told::shown(agent, shown, shared_with))
    }

    /// A page has what an answer has room for, and at least one row more than the page before.
    fn export_page(&self, agent: &str, from: u64) -> Result<MemoryPage> {
        let whose = agent_of(agent)?;
        let memories = self.memories_of(&whose)?;
        let (mut lines, mut room) = (Vec::new(), TEXTS_MAX);
        let rows = memories.rows(&whose, from, PAGE_ROWS)?;
        let mut next = rows.last().filter(|_| rows.len() == PAGE_ROWS).map(|last| last.seq + 1);
        for row in rows.iter().filter(|row| row.standing.is_live()) {
            if room == 0 {
                next = Some(row.seq);
                break;
            }
            // Forgotten since the page was read, it has no text.
            if let Some(line) = told::exported(agent, memories.show(&whose, row.id)?) {
                room = room.saturating_sub(line["content"].as_str().map_or(0, str::len));
                lines.push(line);
            }
        }
        Ok(MemoryPage { lines, next })
    }

    fn forget(&self, agent: &str, id: &str, actor: &Actor) -> Result<MemoryGone> {
        let whose = agent_of(agent)?;
        let Gone { ids, seqs } = self.memories_of(&whose)?.forget(&whose, id_of(id)?, actor)?;
        self.memory_changed();
        Ok(MemoryGone { agent: agent.to_owned(), ids: told::ids(&ids), entries: seqs })
    }

    fn prove_forgotten(&self, agent: &str, id: &str) -> Result<MemoryProof> {
        let whose = agent_of(agent)?;
        let proof = self.memories_of(&whose)?.prove_forgotten(&whose, id_of(id)?)?;
        let holds = proof.holds();
        let Proof { id, seq, captured, recorded, unreadable, .. } = proof;
        let Proof { not_in_words, not_in_vectors, not_in_table, not_in_notes, not_in_git, .. } = proof;
        let looks = [
            ("recorded in the journal", recorded),
            ("its key is destroyed", unreadable),
            ("not in the index of words", not_in_words),
            ("not in the index of vectors", not_in_vectors),
            ("not in the table", not_in_table),
            ("not in the notes", not_in_notes),
            ("sealed in git, and never to be opened", not_in_git),
        ];
        let looks = looks.into_iter().map(|(name, is)| (name.to_owned(), is)).collect();
        Ok(MemoryProof { agent: agent.to_owned(), id: id.to_string(), entry: seq, captured, holds, looks })
    }

    /// The agent that is named, or all there are.
    fn whose(&self, memories: &Memories, agent: Option<&str>) -> Result<Vec<AgentName>> {
        match agent {
            Some(name) => Ok(vec![agent_of(name)?]),
            None => {
                let names = memories.agents()?.into_iter();
                Ok(names.map(|(name, _)| agent_of(&name)).collect::<Result<_, _>>()?)
            }
        }
    }
}

pub(super) fn by(actor: &Actor, trust: Trust) -> By {
    By { actor: actor.clone(), owner: actor.clone(), trust }
}

pub(super) fn top(asked: u32) -> usize {
    (asked as usize).clamp(1, TOP_MAX)
}

/// As many as an answer has room for; the best come first.
fn fitting(hits: impl Iterator<Item = MemoryHit>) -> Vec<MemoryHit> {
    let mut room = TEXTS_MAX;
    hits.take_while(|hit| {
        let fits = hit.memory.text.len() <= room;
        room = room.saturating_sub(hit.memory.text.len());
        fits
    })
    .collect()
}

fn step(what: &str, done: u64, of: Option<u64>, unit: &str) -> Step {
    Step { what: what.to_owned(), done, of, unit: unit.to_owned() }
}

/// Says how far it is; whoever asked may have left, or the daemon is to stop.
fn go_on(watch: &mut Watch<'_>, what: &'static str, done: u64, of: u64, unit: &str) -> Result<()> {
    match watch(step(what, done, Some(of), unit)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(CliError::Interrupted { what }.into()),
    }
}
