//! Whoever searches or captures does not wait for whoever decides.
#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    reason = "helpers are shared, and a test that cannot go on should stop"
)]

mod home;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use holdfast_memory::Gates;
use home::{Home, agent, by};

// shows: MEM-009, MEM-F40
#[test]
fn searches_and_captures_go_on_while_a_run_decides() {
    let home = Home::new(None);
    for n in 0..1500 {
        home.remember(
            "scout",
            &format!("Ship {n} of the western harbour carries {n} crates of tea to Lisbon."),
        );
    }
    assert!(!home.search("scout", "crates of tea").hits.is_empty());
    let over = AtomicBool::new(false);
    let (mut answered, mut slowest) = (0, Duration::ZERO);
    std::thread::scope(|threads| {
        let run = threads.spawn(|| {
            let began = Instant::now();
            let done = home.memories.consolidate(&agent("scout"), &by().actor, &Gates::consolidation());
            over.store(true, Ordering::SeqCst);
            (done.unwrap().unwrap().counts.loaded, began.elapsed())
        });
        std::thread::sleep(Duration::from_millis(20));
        while !over.load(Ordering::SeqCst) {
            let began = Instant::now();
            home.remember("scout", &format!("The pilot of tide {answered} is called Ines and lives ashore."));
            home.search("scout", "which ship carries crates of tea to Lisbon?");
            if !over.load(Ordering::SeqCst) {
                (answered, slowest) = (answered + 1, slowest.max(began.elapsed()));
            }
        }
        let (loaded, took) = run.join().unwrap();
        assert_eq!(loaded, 1500);
        // One that waited for the run would be answered when it is over, and not before.
        assert!(answered >= 3, "{answered} answered in {took:?}");
        assert!(slowest * 2 < took, "one was kept waiting for {slowest:?} of {took:?}");
    });
}
