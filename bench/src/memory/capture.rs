//! What a capture takes until it is durable, beside what the journal takes for the bare entry: a sealed text of the same length without anybody
//! who redacts and judges it, and the same as a plain entry. All three in turns, each with a journal of its own.

use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use holdfast_journal::{Content, Draft as JournalDraft, Journal};
use holdfast_memory::{Draft, EntryType, RawDraft, Record, Scope, Source};
use holdfast_memory_host::{AgentName, By, Memories, Outcome};
use holdfast_types::Trust;
use serde_json::Map;

use super::home::{Home, by};
use super::texts::fact;
use crate::append::{Appender, Series, alone, micros, series};
use crate::house;
use crate::step;
use crate::weather::{Rounds, calm_rounds, in_turns};

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// Captures of one slice.
    pub(crate) slice: usize,
    pub(crate) callers: usize,
    /// Captures of each of many callers.
    pub(crate) each: usize,
    pub(crate) time_max: Duration,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Captures {
    pub(crate) plain: Series,
    pub(crate) sealed: Series,
    pub(crate) ours: Series,
    pub(crate) rounds: Rounds,
    pub(crate) callers: usize,
    /// Of every capture of many callers.
    pub(crate) crowd_us: Vec<f64>,
    pub(crate) crowd_rounds: Rounds,
}

pub(super) fn measure(dir: &Path, plan: Plan) -> Result<Captures> {
    step("capturing, one caller");
    let mut ours = Ours::new(&dir.join("ours"))?;
    let sealed_len = ours.sealed_len()?;
    let mut plain = Bare::new(&dir.join("plain"), house::draft(sealed_len, 0)?)?;
    let mut sealed = Bare::new(&dir.join("sealed"), sealed_draft(sealed_len)?)?;
    let mut round = |number| {
        in_turns(number, |who| match who {
            0 => alone(&mut plain, plan.slice),
            1 => alone(&mut sealed, plan.slice),
            _ => alone(&mut ours, plan.slice),
        })
    };
    // The first round only warms up.
    round(0)?;
    let (measured, rounds) = calm_rounds(plan.rounds, plan.time_max, round)?;
    let [plain, sealed, lone] = series(measured);
    step("capturing, many callers");
    let (crowd, crowd_rounds) = calm_rounds(plan.rounds, plan.time_max, |_| together(&ours, plan))?;
    Ok(Captures {
        plain,
        sealed,
        ours: lone,
        rounds,
        callers: plan.callers,
        crowd_us: crowd.into_iter().flatten().collect(),
        crowd_rounds,
    })
}

/// As many callers as the plan has, each waiting for its own captures.
fn together(ours: &Ours, plan: Plan) -> Result<Vec<f64>> {
    let gate = Barrier::new(plan.callers);
    let call = |caller: usize| {
        gate.wait();
        let capture = |n: usize| {
            let began = Instant::now();
            ours.capture((caller * plan.each + n) as u64)?;
            Ok(micros(began.elapsed()))
        };
        (0..plan.each).map(capture).collect::<Result<Vec<f64>>>()
    };
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..plan.callers).map(|caller| scope.spawn(move || call(caller))).collect();
        let mut all = Vec::with_capacity(plan.callers * plan.each);
        for caller in callers {
            all.extend(caller.join().map_err(|_| anyhow::anyhow!("a caller panicked"))??);
        }
        Ok(all)
    })
}

/// Memory.
struct Ours {
    memories: Memories,
    journal: Journal,
    agent: AgentName,
    by: By,
}

impl Ours {
    fn new(dir: &Path) -> Result<Ours> {
        let home = Home::create(dir)?;
        let journal = home.journal()?;
        let memories = home.memories_on(journal.clone(), None)?;
        Ok(Ours { memories, journal, agent: "scout".parse()?, by: by()? })
    }

    fn capture(&self, number: u64) -> Result<u64> {
        match self.memories.capture(&self.agent, draft(&fact(number))?, &self.by, None)? {
            Outcome::Captured(captured) => Ok(captured.seq),
            other => anyhow::bail!("a fact was not captured: {other:?}"),
        }
    }

    /// How long the text of a capture is when it is sealed.
    fn sealed_len(&self) -> Result<usize> {
        let seq = self.capture(0)?;
        let len = self.journal.text(seq)?.len();
        ensure!(len > 100, "a sealed memory has {len} bytes");
        Ok(len)
    }
}

impl Appender for Ours {
    fn append(&mut self, n: usize) -> Result<()> {
        self.capture(n as u64).map(drop)
    }

    fn settle(&mut self) -> Result<()> {
        Ok(self.journal.settle()?)
    }
}

/// A journal and what is appended to it.
struct Bare {
    journal: Journal,
    draft: JournalDraft,
}

impl Bare {
    fn new(dir: &Path, draft: JournalDraft) -> Result<Bare> {
        Ok(Bare { journal: Home::create(dir)?.journal()?, draft })
    }
}

impl Appender for Bare {
    fn append(&mut self, _: usize) -> Result<()> {
        self.journal.append(&self.draft)?;
        Ok(())
    }

    fn settle(&mut self) -> Result<()> {
        Ok(self.journal.settle()?)
    }
}

fn sealed_draft(len: usize) -> Result<JournalDraft> {
    let text: String = fact(0).chars().cycle().take(len).collect();
    let mut draft =
        JournalDraft::new("journal.bench.noted".parse()?, "ana".parse()?, Trust::Trusted, Map::new());
    draft.content = Content::Blob(text.into_bytes());
    Ok(draft)
}

/// A fact as an agent captures it.
pub(super) fn draft(text: &str) -> Result<Draft> {
    let raw = RawDraft {
        entry_type: EntryType::Fact,
        content: text.to_owned(),
        source: Source::Conversation,
        confidence: 0.9,
        scope: Scope::Project,
        tags: Vec::new(),
        source_id: None,
        record: Record::default(),
    };
    Draft::try_from(raw).context("a fact that is no draft")
}
