//! Parts that end, fail, panic, fall silent and refuse to stop. Time is tokio's own and moves by itself.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use holdfast_supervisor::{Board, Failed, Importance, Part, PartState, Stopped, Supervisor, Wave};

const STALE: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(10);

fn steady(name: &'static str, importance: Importance, wave: Wave) -> Part {
    Part::new(name, importance, wave, STALE, |life| async move {
        life.beat.while_waiting(STALE / 3, life.stop.cancelled()).await;
        Ok(())
    })
}

fn counted(name: &'static str, lives: &Arc<AtomicU32>, end: fn(u32) -> Result<(), Failed>) -> Part {
    let lives = lives.clone();
    Part::new(name, Importance::Safety, Wave::Work, STALE, move |life| {
        let n = lives.fetch_add(1, Ordering::SeqCst);
        async move {
            if n < 3 {
                return end(n);
            }
            life.beat.while_waiting(STALE / 3, life.stop.cancelled()).await;
            Ok(())
        }
    })
}

fn state(board: &Board, name: &str) -> PartState {
    board.parts().into_iter().find(|p| p.name == name).unwrap().state
}

#[tokio::test(start_paused = true)]
async fn a_part_that_ends_fails_or_panics_is_started_again_and_others_go_on() {
    for end in [
        (|_| Ok(())) as fn(u32) -> Result<(), Failed>,
        |n| Err(Failed(format!("the {n}th time"))),
        |_| panic!("a bug"),
    ] {
        let lives = Arc::new(AtomicU32::new(0));
        let parts = vec![counted("shaky", &lives, end), steady("calm", Importance::Safety, Wave::Work)];
        let supervisor = Supervisor::start(parts);
        let board = supervisor.board();
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(matches!(state(&board, "shaky"), PartState::Waiting { .. }));
        assert_eq!(state(&board, "calm"), PartState::Running);
        assert!(!board.is_safe());
        // 0.5 + 1 + 2 seconds of waiting lie between four lives.
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(lives.load(Ordering::SeqCst), 4);
        assert!(board.is_safe());
        assert_eq!(board.parts()[0].restarts, 3);
        assert!(supervisor.stop(GRACE).await.cut_off.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_told_in_its_own_words() {
    let part = Part::new("p", Importance::Service, Wave::Work, STALE, |_| async { panic!("no {}", "oil") });
    let supervisor = Supervisor::start(vec![part]);
    tokio::time::sleep(Duration::from_millis(10)).await;
    let why = "it panicked: no oil".to_owned();
    assert_eq!(state(&supervisor.board(), "p"), PartState::Waiting { why });
    // A service part that is down leaves the machine safe.
    assert!(supervisor.board().is_safe());
}

#[tokio::test(start_paused = true)]
async fn a_part_that_falls_silent_is_stale_and_one_that_waits_is_not() {
    let silent = Part::new("silent", Importance::Safety, Wave::Work, STALE, |life| async move {
        life.stop.cancelled().await;
        Ok(())
    });
    let supervisor = Supervisor::start(vec![silent, steady("waits", Importance::Safety, Wave::Work)]);
    tokio::time::sleep(STALE + Duration::from_secs(1)).await;
    let board = supervisor.board();
    assert_eq!(state(&board, "silent"), PartState::Stale);
    assert_eq!(state(&board, "waits"), PartState::Running);
    assert!(!board.is_safe());
}

#[tokio::test(start_paused = true)]
async fn stopping_is_bounded_and_says_what_was_cut_off() {
    let deaf = |name, wave| {
        Part::new(name, Importance::Service, wave, STALE, |_| std::future::pending::<Result<(), Failed>>())
    };
    let parts = vec![
        deaf("deaf door", Wave::Door),
        steady("door", Importance::Safety, Wave::Door),
        deaf("deaf work", Wave::Work),
        steady("work", Importance::Safety, Wave::Work),
    ];
    let supervisor = Supervisor::start(parts);
    let board = supervisor.board();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let Stopped { cut_off, unfinished, took } = supervisor.stop(GRACE).await;
    assert!(unfinished.is_empty());
    assert_eq!(cut_off, ["deaf door", "deaf work"]);
    assert_eq!(took, GRACE);
    assert_eq!(state(&board, "work"), PartState::Stopped);
}

#[tokio::test(start_paused = true)]
async fn doors_close_before_work_stops() {
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let part = |name: &'static str, wave| {
        let order = order.clone();
        Part::new(name, Importance::Service, wave, STALE, move |life| {
            let order = order.clone();
            async move {
                life.stop.cancelled().await;
                // A door takes a while to drain; work must still be there for it.
                if wave == Wave::Door {
                    tokio::time::sleep(Duration::from_secs(2)).await;
                }
                order.lock().unwrap().push(name);
                Ok(())
            }
        })
    };
    let supervisor = Supervisor::start(vec![part("work", Wave::Work), part("door", Wave::Door)]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(supervisor.stop(GRACE).await.cut_off.is_empty());
    assert_eq!(*order.lock().unwrap(), ["door", "work"]);
}

#[tokio::test(start_paused = true)]
async fn a_part_waiting_to_be_started_again_stops_at_once() {
    let part = Part::new("p", Importance::Service, Wave::Work, STALE, |_| async { Err(Failed("x".into())) });
    let supervisor = Supervisor::start(vec![part]);
    tokio::time::sleep(Duration::from_secs(30)).await;
    let stopped = supervisor.stop(GRACE).await;
    assert_eq!(stopped, Stopped { cut_off: vec![], unfinished: vec![], took: Duration::ZERO });
}

#[tokio::test(start_paused = true)]
async fn a_part_that_leaves_something_unfinished_says_so() {
    let part = Part::new("p", Importance::Service, Wave::Work, STALE, |life| async move {
        life.stop.cancelled().await;
        Err(Failed("a copy was not finished".into()))
    });
    let supervisor = Supervisor::start(vec![part]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let stopped = supervisor.stop(GRACE).await;
    assert!(stopped.cut_off.is_empty());
    assert_eq!(stopped.unfinished, [("p", "a copy was not finished".to_owned())]);
}
