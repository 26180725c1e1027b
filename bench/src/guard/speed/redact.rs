//! What it costs to take secrets out of text, within this process and one thread.

use std::hint::black_box;
use std::time::Instant;

use holdfast_guard::{Guard, Looking};
use rustix::time::{ClockId, clock_gettime};

use super::Plan;
use super::text::{self, ENTRY_MAX};

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Redacting {
    pub(crate) rates: Vec<Rate>,
    pub(crate) messages: Messages,
    pub(crate) hostile: Vec<Hostile>,
}

/// How much of one kind of text goes through in a second.
#[derive(Clone, Debug)]
pub(crate) struct Rate {
    pub(crate) what: &'static str,
    pub(crate) looking: &'static str,
    /// Bytes per second that are wanted.
    pub(crate) goal: f64,
    pub(crate) bytes: usize,
    pub(crate) pieces: usize,
    /// What was taken out, texts that were refused included.
    pub(crate) taken_out: usize,
    /// Bytes per second of processor time, per round.
    pub(crate) per_cpu: Vec<f64>,
}

/// Messages one by one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Messages {
    pub(crate) wall_us: Vec<f64>,
    pub(crate) cpu_us: Vec<f64>,
}

/// The time for one entry of one kind, per round.
#[derive(Clone, Debug)]
pub(crate) struct Hostile {
    pub(crate) what: &'static str,
    pub(crate) bytes: usize,
    pub(crate) wall_ms: Vec<f64>,
    pub(crate) cpu_ms: Vec<f64>,
}

/// Goals in bytes per second.
const CLEAN: f64 = 150e6;
const DENSE: f64 = 50e6;

pub(crate) fn measure(plan: Plan) -> Redacting {
    let guard = Guard::builtin();
    Redacting {
        rates: rates(guard, plan),
        messages: messages(guard, plan),
        hostile: text::hostile(plan.seed)
            .into_iter()
            .map(|(what, text)| hostile(guard, what, &text, plan.hostile_rounds))
            .collect(),
    }
}

/// One kind of text, and what is looked for in it.
struct Load<'a> {
    rate: Rate,
    pieces: &'a [String],
    looking: Looking,
}

fn rates(guard: &Guard, plan: Plan) -> Vec<Rate> {
    let mut texts = vec![
        ("plain sentences", CLEAN, text::sentences(plan.seed, plan.text_bytes, ENTRY_MAX)),
        ("messages with a secret each", DENSE, text::messages_with_secrets(plan.seed, plan.text_bytes)),
    ];
    texts.extend(text::locomo(plan.text_bytes).map(|pieces| ("conversations of LoCoMo", CLEAN, pieces)));
    let mut loads = Vec::new();
    for (what, goal, pieces) in &texts {
        for (name, looking) in [("everything", Looking::Everything), ("secrets", Looking::Secrets)] {
            let bytes = pieces.iter().map(String::len).sum();
            let taken_out = taken_out(guard, pieces, looking);
            let (what, goal, pieces_len) = (*what, *goal, pieces.len());
            let rate =
                Rate { what, looking: name, goal, bytes, pieces: pieces_len, taken_out, per_cpu: vec![] };
            loads.push(Load { rate, pieces, looking });
        }
    }
    // In turns, so that a disturbance hits all.
    for _ in 0..plan.text_rounds {
        loads.iter_mut().for_each(|load| load.carry(guard));
    }
    loads.into_iter().map(|load| load.rate).collect()
}

impl Load<'_> {
    fn carry(&mut self, guard: &Guard) {
        let began = cpu_seconds();
        for piece in self.pieces {
            black_box(guard.redact_for(black_box(piece), self.looking));
        }
        self.rate.per_cpu.push(self.rate.bytes as f64 / (cpu_seconds() - began));
    }
}

fn taken_out(guard: &Guard, pieces: &[String], looking: Looking) -> usize {
    let done = pieces.iter().map(|piece| guard.redact_for(piece, looking));
    done.map(|done| done.redactions.len() + usize::from(done.blocked)).sum()
}

fn messages(guard: &Guard, plan: Plan) -> Messages {
    let messages = text::mixed_messages(plan.seed, plan.messages);
    let mut out = Messages::default();
    for message in &messages {
        let (wall, cpu) = timed(|| guard.redact(message));
        out.wall_us.push(wall * 1e6);
        out.cpu_us.push(cpu * 1e6);
    }
    out
}

fn hostile(guard: &Guard, what: &'static str, text: &str, rounds: usize) -> Hostile {
    let mut out = Hostile { what, bytes: text.len(), wall_ms: vec![], cpu_ms: vec![] };
    for _ in 0..rounds {
        let (wall, cpu) = timed(|| guard.redact(text));
        out.wall_ms.push(wall * 1e3);
        out.cpu_ms.push(cpu * 1e3);
    }
    out
}

/// Seconds on the wall and of processor time.
fn timed<T>(work: impl FnOnce() -> T) -> (f64, f64) {
    let (began, cpu) = (Instant::now(), cpu_seconds());
    black_box(work());
    let cpu = cpu_seconds() - cpu;
    (began.elapsed().as_secs_f64(), cpu)
}

/// Processor time of this thread.
fn cpu_seconds() -> f64 {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}
