//! What somebody can do to a person whose session cookie they have, and nothing else of theirs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::browser::{Browser, an_address};
use crate::house::House;

/// Requests of the thief at once.
const AT_ONCE: usize = 80;

/// Looks at slow pages without end, and counts the answers.
async fn hammer(mut thief: Browser, stop: Arc<AtomicBool>) -> BTreeMap<u16, usize> {
    let mut answered = BTreeMap::new();
    while !stop.load(Ordering::Relaxed) {
        *answered.entry(thief.get("/settings/house").await.status).or_default() += 1;
    }
    answered
}

// shows: GTW-F30
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stolen_session_keeps_its_person_neither_from_acting_nor_from_looking_in_another() {
    let house = House::open("");
    let mut owner = house.owner().await;
    let mut another = Browser { device: owner.device.clone(), ..house.browser() };
    another.sign_in(None).await.is(200);

    let stop = Arc::new(AtomicBool::new(false));
    let (name, cookie) = (owner.session_name().unwrap(), owner.cookie().unwrap().clone());
    let thieves: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let jar = BTreeMap::from([(name.clone(), cookie.clone())]);
            let thief = Browser { from: an_address(), jar, ..house.browser() };
            tokio::spawn(hammer(thief, stop.clone()))
        })
        .collect();
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    for n in 0..25 {
        // In the very session that was stolen, and in another.
        for browser in [&mut owner, &mut another] {
            let paused = browser.submit_bare("/pause", &[("reason", "x")]).await;
            assert_eq!(paused.status, 303, "pause {n}: {}", paused.text);
            let paused = browser.post_bare("/api/v1/autonomy/pause", json!({})).await;
            assert_eq!(paused.status, 200, "pause {n} by the API: {}", paused.text);
        }
        another.get("/settings/house").await.is(200);
    }
    stop.store(true, Ordering::Relaxed);
    let mut all: BTreeMap<u16, usize> = BTreeMap::new();
    for thief in thieves {
        for (status, times) in thief.await.unwrap() {
            *all.entry(status).or_default() += times;
        }
    }
    assert!(all.get(&503).is_some_and(|times| *times > 100), "the thief asked for too much: {all:?}");
    assert!(all.keys().all(|status| [200, 503].contains(status)), "{all:?}");
}
