//! A recorder that keeps what it is given, and can be full.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use holdfast_gateway::{Event, Owed, Recorded, Recorder, Unrecorded, Why};
use holdfast_types::{Exit, Problem, ProblemCode};

/// Keeps what was recorded.
#[derive(Default)]
pub(crate) struct Diary {
    events: Mutex<Vec<Event>>,
    late: Mutex<Vec<Owed>>,
    /// Nothing can be recorded.
    full: AtomicBool,
}

impl Recorder for Diary {
    fn note(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }

    fn record(&self, events: &[Event]) -> Result<Recorded, Unrecorded> {
        self.has_room()?;
        let mut all = self.events.lock().unwrap();
        all.extend(events.iter().cloned());
        Ok(Recorded(vec![all.len() as u64]))
    }

    fn take_back(&self, _: Recorded) {}

    fn record_late(&self, owed: &Owed) -> Result<(), Unrecorded> {
        self.has_room()?;
        self.late.lock().unwrap().push(owed.clone());
        Ok(())
    }
}

impl Diary {
    pub(crate) fn fill(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }

    fn has_room(&self) -> Result<(), Unrecorded> {
        if !self.full.load(Ordering::SeqCst) {
            return Ok(());
        }
        Err(Unrecorded(Problem {
            code: ProblemCode { room: "JRN", number: 7 },
            exit: Exit::Refused,
            what: "the journal is full".into(),
            untouched: "Nothing was written.".into(),
            hint: "Make room.".into(),
        }))
    }

    pub(crate) fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.events.lock().unwrap())
    }

    /// What was recorded after it was done.
    pub(crate) fn take_late(&self) -> Vec<Owed> {
        std::mem::take(&mut self.late.lock().unwrap())
    }

    /// Why requests were refused since the last look.
    pub(crate) fn refusals(&self) -> Vec<Why> {
        let why = |event| match event {
            Event::Refused { why, .. } => Some(why),
            _ => None,
        };
        self.take().into_iter().filter_map(why).collect()
    }
}
