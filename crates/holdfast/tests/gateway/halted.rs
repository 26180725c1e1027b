//! A pause works in every state of `states.rs` and in several at once, by whatever face it is asked for. It is in force at every other face, after a
//! restart in that state and after the state is mended; and it is in the log once, with who paused and since when.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::browser::an_address;
use crate::running::{Looking as _, wait_until};
use crate::scene::Template;
use crate::states::{Scene, State};

/// Where somebody pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Face {
    Api,
    Page,
    Command,
    /// While no daemon runs.
    CommandAlone,
}

const FACES: [Face; 4] = [Face::Api, Face::Page, Face::Command, Face::CommandAlone];

const ALONE: [State; 8] = [
    State::LogFull,
    State::ReserveFull,
    State::DiskFull,
    State::InodesFull,
    State::NoDescriptors,
    State::NoThreads,
    State::JournalReadOnly,
    State::HomeReadOnly,
];

/// Several at once: whatever one leaves to a pause, the other takes.
const TOGETHER: [[State; 2]; 8] = [
    [State::ReserveFull, State::DiskFull],
    [State::ReserveFull, State::NoDescriptors],
    [State::DiskFull, State::NoDescriptors],
    [State::InodesFull, State::NoDescriptors],
    [State::DiskFull, State::NoThreads],
    [State::NoThreads, State::NoDescriptors],
    [State::HomeReadOnly, State::NoDescriptors],
    [State::HomeReadOnly, State::NoThreads],
];

const AT_ONCE: usize = 4;

impl Scene {
    async fn pauses(&mut self, face: Face) -> Result<(), String> {
        let refused = |told: String| Err(format!("the pause was refused: {told}"));
        match face {
            Face::Api => {
                let reply = self.posts("/api/v1/autonomy/pause", &json!({ "reason": "storm" })).await;
                if reply.status != 200 || reply.json["paused"] != true {
                    return refused(format!("{} {}", reply.status, reply.text));
                }
            }
            Face::Page => {
                self.owner.from = an_address();
                let reply = self.owner.submit("/pause", &[("reason", "storm")]).await;
                if reply.status != 303 {
                    return refused(format!("{} {}", reply.status, reply.text));
                }
            }
            Face::Command | Face::CommandAlone => {
                let ran = self.run(&["--json", "pause", "--all", "--reason", "storm"]);
                if ran.code != 0 || ran.json()["paused"] != true {
                    return refused(format!("exit {} {}", ran.code, ran.err));
                }
            }
        }
        Ok(())
    }

    /// How each face says that it stands. Without a daemon there is one.
    async fn stands(&mut self) -> Result<Value, String> {
        let ran = self.run(&["--json", "status"]);
        let told = ran.json()["pause"].clone();
        if told["paused"] != true {
            return Err(format!("`status` says that it goes on: {}", ran.out));
        }
        if self.house.daemon.is_some() {
            self.owner.from = an_address();
            let reply = self.owner.get("/api/v1/autonomy").await;
            if reply.json["paused"] != true || reply.json["since"] != told["since"] {
                return Err(format!("the API differs from `status`: {} and {told}", reply.text));
            }
            let page = self.owner.get("/").await;
            if !page.text.contains("storm") {
                let told: String =
                    page.text.split("<main").skip(1).collect::<String>().chars().take(900).collect();
                return Err(format!("the page does not say so: {} {told}", page.status));
            }
        }
        Ok(told)
    }

    fn turns(&self) -> Vec<Value> {
        let turn = |entry: &Value| entry["kind"].as_str().unwrap().starts_with("holdfast.autonomy.");
        self.house.home.entries().into_iter().filter(turn).collect()
    }

    fn starts_again(&mut self, states: &[State]) -> Result<(), String> {
        let can_start = states.iter().all(|state| state.lets_a_daemon_start());
        match (self.start(), can_start) {
            (Ok(()), true) => Ok(()),
            (Ok(()), false) => Err("a daemon started on a disk that takes no entry".to_owned()),
            (Err(ran), true) => Err(format!("no daemon starts: {}", ran.err)),
            (Err(ran), false) => {
                let says = ["HF-", "ead-only", "hint"].iter().all(|part| ran.err.contains(part));
                if says { Ok(()) } else { Err(format!("a start does not say why: {}", ran.err)) }
            }
        }
    }
}

/// From the pause to its end. `None` where the machine has no such disk.
async fn halted(template: &Template, states: &[State], face: Face) -> Option<Result<(), String>> {
    let mut scene = Scene::new(template, states).await?;
    let from = scene.turns().len();
    Some(held(&mut scene, states, face, from).await)
}

async fn held(scene: &mut Scene, states: &[State], face: Face, from: usize) -> Result<(), String> {
    if face == Face::CommandAlone {
        scene.stop();
    }
    scene.pauses(face).await?;
    let stands = scene.stands().await?;
    if scene.house.daemon.is_some() {
        scene.stop();
    }
    scene.starts_again(states)?;
    let after = scene.stands().await.map_err(|why| format!("after a restart: {why}"))?;
    if after["since"] != stands["since"] && face != Face::CommandAlone {
        return Err(format!("it is another pause after a restart: {stands} and {after}"));
    }
    scene.mend();
    let mended = scene.stands().await.map_err(|why| format!("after mending: {why}"))?;
    if (&mended["since"], &mended["reason"]) != (&stands["since"], &json!("storm")) {
        return Err(format!("it is another pause after mending: {stands} and {mended}"));
    }
    wait_until(&format!("{states:?} {face:?}: it is in the log"), || scene.turns().len() > from);
    let ran = scene.run(&["--json", "resume", "--all"]);
    if ran.code != 0 || scene.house.home.status()["pause"]["paused"] != false {
        return Err(format!("it cannot be lifted: {}", ran.err));
    }
    let turns = scene.turns().split_off(from);
    let kinds: Vec<&str> = turns.iter().map(|turn| turn["kind"].as_str().unwrap()).collect();
    if kinds != ["holdfast.autonomy.paused", "holdfast.autonomy.resumed"]
        || turns[0]["body"]["since"] != stands["since"]
        || turns[0]["body"]["reason"] != "storm"
    {
        return Err(format!("it is not in the log once and as it was: {turns:#?}"));
    }
    Ok(())
}

/// What is tried: in `make test` each state and pair by one or two faces, of which every state has others; in the soak each by all.
fn tried() -> Vec<(Vec<State>, Face)> {
    let both = |states: Vec<Vec<State>>, each: usize| {
        let faces = move |n: usize| (0..each).map(move |more| FACES[(n + more * 2) % FACES.len()]);
        states
            .into_iter()
            .enumerate()
            .flat_map(move |(n, states)| faces(n).map(move |face| (states.clone(), face)))
            .collect::<Vec<_>>()
    };
    let (alone, together) = if crate::soak() { (4, 4) } else { (2, 1) };
    let singles = both(ALONE.map(|state| vec![state]).to_vec(), alone);
    let pairs = both(TOGETHER.map(|states| states.to_vec()).to_vec(), together);
    singles.into_iter().chain(pairs).collect()
}

fn panicked(panic: &(dyn Any + Send)) -> String {
    panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "a panic".to_owned())
}

#[test]
#[expect(clippy::print_stderr, reason = "what was not tried must be seen")]
fn a_pause_works_in_every_state_and_is_in_the_log_once() {
    let template = Template::new();
    let (next, wrong) = (Mutex::new(tried().into_iter()), Mutex::new(Vec::new()));
    std::thread::scope(|threads| {
        for _ in 0..AT_ONCE {
            threads.spawn(|| {
                let mut runtime = tokio::runtime::Builder::new_multi_thread();
                let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
                while let Some((states, face)) = { next.lock().unwrap().next() } {
                    // What a helper found wrong belongs to this case too.
                    let case = AssertUnwindSafe(|| runtime.block_on(halted(&template, &states, face)));
                    let told = |panic: Box<dyn Any + Send>| Some(Err(panicked(panic.as_ref())));
                    match catch_unwind(case).unwrap_or_else(told) {
                        None => eprintln!("not tried: {states:?} by {face:?}"),
                        Some(Ok(())) => {}
                        Some(Err(why)) => {
                            wrong.lock().unwrap().push(format!("{states:?} by {face:?}: {why}"))
                        }
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
