//! Runs the parts: a task each, started again when it ends, stopped in two waves.

use std::any::Any;
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::board::{Board, Line, Phase};
use crate::part::{Beat, Failed, Life, Part, Wave};

/// Runs parts until it is told to stop.
#[derive(Debug)]
pub struct Supervisor {
    board: Board,
    doors: CancellationToken,
    work: CancellationToken,
    keepers: Vec<Keeper>,
}

/// The task that keeps one part alive.
#[derive(Debug)]
struct Keeper {
    name: &'static str,
    wave: Wave,
    task: JoinHandle<()>,
}

/// How stopping went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Parts that did not end in time.
    pub cut_off: Vec<&'static str>,
    /// Parts that ended, and said what they had to leave.
    pub unfinished: Vec<(&'static str, String)>,
    pub took: Duration,
}

impl Supervisor {
    /// Starts every part. Must be called within a tokio runtime.
    pub fn start(parts: Vec<Part>) -> Supervisor {
        let line = |p: &Part| Line::new(p.name, p.importance, p.stale_after, Beat::new());
        let board = Board::new(parts.iter().map(line).collect());
        let (doors, work) = (CancellationToken::new(), CancellationToken::new());
        let keeper = |(at, part): (usize, Part)| {
            let stop = match part.wave {
                Wave::Door => doors.clone(),
                Wave::Work => work.clone(),
            };
            let (name, wave) = (part.name, part.wave);
            Keeper { name, wave, task: tokio::spawn(keep(part, at, board.clone(), stop)) }
        };
        let keepers = parts.into_iter().enumerate().map(keeper).collect();
        Supervisor { board, doors, work, keepers }
    }

    pub fn board(&self) -> Board {
        self.board.clone()
    }

    /// Stops the doors, then the work. What has not ended when the grace is over is cut off; the doors may use
    /// half of it, so that work always has time of its own.
    pub async fn stop(mut self, grace: Duration) -> Stopped {
        let began = Instant::now();
        let mut cut_off = Vec::new();
        self.doors.cancel();
        cut_off.extend(self.await_wave(Wave::Door, began + grace / 2).await);
        self.work.cancel();
        cut_off.extend(self.await_wave(Wave::Work, began + grace).await);
        Stopped { cut_off, unfinished: self.board.left(), took: began.elapsed() }
    }

    async fn await_wave(&mut self, wave: Wave, until: Instant) -> Vec<&'static str> {
        let mut cut_off = Vec::new();
        for keeper in self.keepers.iter_mut().filter(|keeper| keeper.wave == wave) {
            if tokio::time::timeout_at(until, &mut keeper.task).await.is_err() {
                keeper.task.abort();
                cut_off.push(keeper.name);
            }
        }
        cut_off
    }
}

/// One part, life after life.
async fn keep(part: Part, at: usize, board: Board, stop: CancellationToken) {
    let line = board.line(at);
    while !stop.is_cancelled() {
        line.beat.now();
        line.set(Phase::Running);
        let began = Instant::now();
        let life = Life { stop: stop.clone(), beat: line.beat.clone() };
        let ended = live((part.begin)(life)).await;
        if stop.is_cancelled() {
            if let Err(Failed(why)) = ended {
                warn!(part = part.name, why, "part left something unfinished");
                line.note_left(why);
            }
            break;
        }
        let why = match ended {
            Ok(()) => "it ended by itself".to_owned(),
            Err(Failed(why)) => why,
        };
        let wait = line.note_end(why.clone(), began.elapsed());
        error!(
            part = part.name,
            why,
            again_in_ms = wait.as_millis() as u64,
            "part ended and is started again"
        );
        tokio::select! {
            // Either way nothing is half done: the part is not running.
            () = tokio::time::sleep(wait) => {}
            () = stop.cancelled() => {}
        }
    }
    line.set(Phase::Stopped);
    info!(part = part.name, "part stopped");
}

/// One life, in a task of its own, so that a panic is an ordinary end. Cut off together with the keeper.
async fn live(life: crate::part::Running) -> Result<(), Failed> {
    let mut task = AbortOnDrop(tokio::spawn(life));
    match (&mut task.0).await {
        Ok(ended) => ended,
        Err(e) => Err(Failed(panic_text(e))),
    }
}

struct AbortOnDrop(JoinHandle<Result<(), Failed>>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn panic_text(e: JoinError) -> String {
    let Ok(panic) = e.try_into_panic() else {
        return "it was cut off".to_owned();
    };
    let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
    let said = said.unwrap_or_else(|| nothing_said(&*panic));
    format!("it panicked: {said}")
}

fn nothing_said(_: &(dyn Any + Send)) -> String {
    "without a word".to_owned()
}
