//! A steward and its log, joined: nothing it decides is heard of before it is durable.

use holdfast_lifeline::{Flaw, Identity, Now, Sound, Steady};
use holdfast_steward::effect::{Effect, Input};
use holdfast_steward::event::Record;
use holdfast_steward::{Settings, Step, Steward};

/// Where records go. An append returns when they are durable. One that fails may have kept the first few, never a later
/// one without those before it: whatever a prefix says is true.
pub trait Log {
    fn append(&mut self, records: &[Record]) -> Result<(), LogFailed>;
    fn read(&self) -> Result<Vec<Record>, LogFailed>;
}

/// The records could not be written or read. Nothing was done about them.
#[derive(Debug, thiserror::Error)]
#[error("the steward's records could not be kept: {why}")]
pub struct LogFailed {
    pub why: String,
}

/// A log in memory, for simulated worlds.
#[derive(Clone, Debug, Default)]
pub struct MemoryLog {
    pub records: Vec<Record>,
    /// How many records its disk still has room for, when that is little.
    pub room: Option<usize>,
}

impl Log for MemoryLog {
    fn append(&mut self, records: &[Record]) -> Result<(), LogFailed> {
        let fit = self.room.map_or(records.len(), |room| room.min(records.len()));
        self.records.extend_from_slice(&records[..fit]);
        self.room = self.room.map(|room| room - fit);
        if fit == records.len() { Ok(()) } else { Err(LogFailed { why: "no space is left".to_owned() }) }
    }

    fn read(&self) -> Result<Vec<Record>, LogFailed> {
        Ok(self.records.clone())
    }
}

/// A running steward.
#[derive(Debug)]
pub struct Controller<L> {
    steward: Steward,
    log: L,
    sound: Sound,
    /// What a flawed controller still has to write down.
    owed: Vec<Record>,
}

impl<L: Log> Controller<L> {
    /// Reads the log. Nothing is decided before [`Controller::resume`].
    pub fn open(settings: Settings, log: L, now: Now, sound: Sound) -> Result<Controller<L>, LogFailed> {
        let records = log.read()?;
        let steward = Steward::replay(settings, &records, now, sound);
        Ok(Controller { steward, log, sound, owed: Vec::new() })
    }

    /// The first thing a started steward does: it settles what it was in the middle of.
    pub fn resume(&mut self, now: Now) -> Result<Vec<Effect>, LogFailed> {
        self.feed(now, Input::Resumed)
    }

    /// The last moment its log knows of: steady time goes on from there.
    pub fn last_seen(log: &L) -> Result<Steady, LogFailed> {
        Ok(log.read()?.last().map_or(Steady(0), |record| record.at))
    }

    pub fn steward(&self) -> &Steward {
        &self.steward
    }

    pub fn log(&self) -> &L {
        &self.log
    }

    pub fn into_log(self) -> L {
        self.log
    }

    pub fn enrol(&mut self, now: Now, known_good: Identity) -> Result<(), LogFailed> {
        let step = self.steward.enrol(now, known_good);
        self.keep(&step)
    }

    /// Something happened: what is decided about it is durable when this returns, and the effects may be carried out.
    pub fn feed(&mut self, now: Now, input: Input) -> Result<Vec<Effect>, LogFailed> {
        self.feed_timed(now, input, &mut || 0)
    }

    /// The same, with a clock to measure by what the gates take.
    pub fn feed_timed(
        &mut self,
        now: Now,
        input: Input,
        stopwatch: &mut dyn FnMut() -> u64,
    ) -> Result<Vec<Effect>, LogFailed> {
        let step = self.steward.step_timed(now, input, stopwatch);
        if self.sound.has(Flaw::ActBeforeIntent) {
            self.owed.extend(step.records);
            return Ok(step.effects);
        }
        self.keep(&step)?;
        Ok(step.effects)
    }

    /// Writes down what a flawed controller did before it wrote it down. A sound one owes nothing.
    pub fn settle(&mut self) -> Result<(), LogFailed> {
        let owed = std::mem::take(&mut self.owed);
        if owed.is_empty() { Ok(()) } else { self.log.append(&owed) }
    }

    pub fn log_mut(&mut self) -> &mut L {
        &mut self.log
    }

    fn keep(&mut self, step: &Step) -> Result<(), LogFailed> {
        if step.records.is_empty() { Ok(()) } else { self.log.append(&step.records) }
    }
}
