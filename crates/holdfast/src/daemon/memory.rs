//! The part that looks after memory in quiet moments. What is done is in `crate::memory::quiet`; here is when, and on a thread that others come before.

use std::sync::Arc;
use std::time::Duration;

use holdfast_supervisor::{Failed, Life};
use rustix::process::setpriority_process;
use tokio::sync::oneshot;
use tracing::{info, warn};

use super::index::failed;
use crate::memory::Tended;
use crate::office::Office;

/// How often it is looked whether something is to be done: soon enough that what was just captured is found by its meaning.
const LOOK: Duration = Duration::from_secs(2);
const BEAT: Duration = Duration::from_secs(20);

/// The least of what others have of the processor.
const NICE: i32 = 15;

/// What work under way gets at a stop. What is cut off is whole as far as it came, and is gone on with at the next start.
const LAST_MOMENT: Duration = Duration::from_millis(400);

pub(crate) async fn run(office: Arc<Office>, life: Life) -> Result<(), Failed> {
    let mut tended = Tended::since(office.clock.now());
    loop {
        tokio::select! {
            // Both only wait.
            () = life.beat.while_waiting(BEAT, tokio::time::sleep(LOOK)) => {}
            () = life.stop.cancelled() => break,
        }
        let mut work = begin(office.clone(), tended, &life)?;
        tokio::select! {
            // The work goes on whatever is dropped, and sees the stop.
            done = life.beat.while_waiting(BEAT, &mut work) => tended = done.map_err(|_| Failed("it panicked".into()))??,
            () = life.stop.cancelled() => {
                if tokio::time::timeout(LAST_MOMENT, work).await.is_err() {
                    info!("what is done in memory is left for the next start");
                    return Ok(());
                }
                break;
            }
        }
    }
    let written = tokio::task::spawn_blocking(move || office.write_out_memory());
    written.await.map_err(|_| Failed("memory could not be written out".into()))
}

/// Begins a look on a thread of its own: how much of the processor a thread has is for its whole life.
fn begin(
    office: Arc<Office>,
    mut tended: Tended,
    life: &Life,
) -> Result<oneshot::Receiver<Result<Tended, Failed>>, Failed> {
    let (tell, told) = oneshot::channel();
    let (stop, beat) = (life.stop.clone(), life.beat.clone());
    let work = move || {
        // Where that is not allowed the work is done all the same.
        if let Err(e) = setpriority_process(None, NICE) {
            warn!(error = %e, "work on memory is as urgent as everything else");
        }
        let done = office.tend_memory(&mut tended, &|| {
            beat.now();
            !stop.is_cancelled()
        });
        drop(office);
        // Nobody waits for it after a stop.
        let _ = tell.send(done.map(|()| tended).map_err(failed));
    };
    let thread = std::thread::Builder::new().name("holdfast-memory".into()).spawn(work);
    thread.map(|_| told).map_err(|e| Failed(format!("no thread for it: {e}")))
}
