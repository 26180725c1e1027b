//! A person who leaves half-way: the signal is heard, the step ends, and what was done is undone.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};

static LEFT: AtomicBool = AtomicBool::new(false);
static UNDOING: AtomicBool = AtomicBool::new(false);

/// From now on such a signal does not end this program but its present step. Where that cannot be had, it ends the program, and what
/// was done stands in the record.
pub(crate) fn heed() {
    let listen = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        runtime.block_on(async {
            let (mut interrupt, mut terminate) =
                (signal(SignalKind::interrupt()).ok()?, signal(SignalKind::terminate()).ok()?);
            loop {
                tokio::select! {
                    // A signal that came is kept for the next round; nothing is lost by dropping the other.
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                LEFT.store(true, Ordering::Relaxed);
            }
        })
    };
    // It ends with the program.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(move || -> Option<()> { listen() });
}

/// Whether the present step is to end.
pub(crate) fn has_left() -> bool {
    LEFT.load(Ordering::Relaxed) && !UNDOING.load(Ordering::Relaxed)
}

/// What is undone is undone to its end.
pub(crate) fn undoing() {
    UNDOING.store(true, Ordering::Relaxed);
}
