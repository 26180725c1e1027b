//! A daemon that comes and goes while people work with it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http_body_util::Full;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::browser::{Browser, Stream, an_address, by_token, follow, send, whole};
use crate::house::House;
use crate::running::LONG;
use crate::services::{Echo, Visitor, settings, sockets};
use crate::soak;

/// Everybody who works with the house while it goes down and comes back.
struct Crowd {
    over: AtomicBool,
    next: AtomicU64,
    port: u16,
    token: String,
}

/// While nothing answers, whoever wants something tries again this soon.
const AGAIN: Duration = Duration::from_millis(50);

impl Crowd {
    fn goes_on(&self) -> bool {
        !self.over.load(Ordering::SeqCst)
    }

    /// A number nobody else has.
    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::SeqCst)
    }
}

/// Looks at pages and calls the API: refused is nobody who is signed in.
async fn looks(crowd: Arc<Crowd>, mut browser: Browser, paths: Vec<&'static str>) -> u64 {
    let mut answered = 0;
    for path in paths.iter().cycle() {
        if !crowd.goes_on() {
            return answered;
        }
        let request = browser.request("GET", path).body(Full::default()).unwrap();
        match browser.try_send(request).await {
            Ok(reply) if reply.status == 200 => answered += 1,
            Ok(reply) => assert_eq!(reply.status, 503, "{path}: {}", reply.text),
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
    answered
}

/// Posts to a service, each number once and whatever comes of it never again. Gives what was answered.
async fn posts(crowd: Arc<Crowd>, visitor: Visitor) -> Vec<u64> {
    let mut answered = Vec::new();
    while crowd.goes_on() {
        let n = crowd.number();
        let request = visitor.request("POST", &format!("/do/{n}")).body(Full::from("x")).unwrap();
        let reply = match send(visitor.from, visitor.port, request).await {
            Ok(answer) => whole(answer).await,
            Err(e) => Err(e),
        };
        match reply {
            Ok(reply) if reply.status == 200 => {
                assert_eq!(reply.json["target"], format!("/do/{n}"), "the answer is to what was asked");
                answered.push(n);
            }
            Ok(reply) => assert!([502, 503].contains(&reply.status), "{n}: {} {}", reply.status, reply.text),
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
    answered
}

/// Writes entries. Gives the places of those that were acknowledged.
async fn writes(crowd: Arc<Crowd>) -> Vec<u64> {
    let mut places = Vec::new();
    while crowd.goes_on() {
        let n = crowd.number();
        let body = json!({ "kind": "captain.note.added", "body": { "n": n } });
        let request = by_token(crowd.port, &crowd.token, "POST", "/api/v1/audit/entries")
            .header("content-type", "application/json")
            .body(Full::from(body.to_string()));
        let reply = match send(an_address(), crowd.port, request.unwrap()).await {
            Ok(answer) => whole(answer).await,
            Err(e) => Err(e),
        };
        match reply {
            Ok(reply) if reply.status == 200 => places.push(reply.json["seq"].as_u64().unwrap()),
            Ok(reply) => assert_eq!(reply.status, 503, "{}", reply.text),
            Err(_) => {}
        }
        tokio::time::sleep(AGAIN).await;
    }
    places
}

/// Follows the journal from its beginning, comes back where it left off, and takes down what it is told.
async fn follows(crowd: Arc<Crowd>, until: Arc<AtomicU64>) -> (Vec<u64>, u32) {
    let (mut seen, mut came): (Vec<u64>, u32) = (Vec::new(), 0);
    loop {
        let mut request = by_token(crowd.port, &crowd.token, "GET", "/api/v1/events?after=0");
        if let Some(last) = seen.last() {
            request = request.header("last-event-id", last.to_string());
        }
        let Ok(mut stream) = follow(an_address(), crowd.port, request).await else {
            tokio::time::sleep(AGAIN).await;
            continue;
        };
        came += 1;
        while let Some(told) = stream.next(Duration::from_secs(2)).await {
            let seq = told.id.unwrap().parse().unwrap();
            let entry: Value = serde_json::from_str(&told.data).unwrap();
            assert_eq!(entry["seq"], seq);
            seen.push(seq);
            if seen.last().is_some_and(|last| *last >= until.load(Ordering::SeqCst)) {
                return (seen, came);
            }
        }
    }
}

/// Keeps a page open. Gives how often it was greeted.
async fn watches(crowd: Arc<Crowd>, browser: Browser) -> u32 {
    let mut greeted = 0;
    while crowd.goes_on() {
        let Ok(mut stream) = browser.follow("/live?page=/audit").await else {
            tokio::time::sleep(AGAIN).await;
            continue;
        };
        while let Some(told) = stream.next(Duration::from_secs(3)).await {
            assert_ne!(told.event, "gone", "the session goes on");
            greeted += u32::from(told.event == "hello");
        }
    }
    greeted
}

// shows: GTW-027, GTW-047, GTW-F05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_load_a_restart_loses_no_session_no_event_and_does_nothing_twice() {
    let (echo, echo_port) = Echo::open().await;
    let mut house = House::open(&settings(echo_port, sockets()));
    let mut owner = house.owner().await;
    let (_, token) = owner.token("act").await;
    let crowd = Arc::new(Crowd { over: false.into(), next: 0.into(), port: house.port, token });
    let until = Arc::new(AtomicU64::new(u64::MAX));
    let (mut lookers, mut posters, mut writers) = (JoinSet::new(), JoinSet::new(), JoinSet::new());
    let (mut followers, mut watchers) = (JoinSet::new(), JoinSet::new());
    for n in 0..20 {
        let browser = Browser { from: an_address(), ..owner.clone() };
        let paths = if n % 2 == 0 {
            vec!["/", "/audit", "/settings"]
        } else {
            vec!["/api/v1/status", "/api/v1/approvals"]
        };
        lookers.spawn(looks(crowd.clone(), browser, paths));
    }
    for _ in 0..20 {
        posters.spawn(posts(crowd.clone(), Visitor::of(&mut owner, "echo").await));
    }
    writers.spawn(writes(crowd.clone()));
    for _ in 0..5 {
        followers.spawn(follows(crowd.clone(), until.clone()));
    }
    for _ in 0..4 {
        watchers.spawn(watches(crowd.clone(), Browser { from: an_address(), ..owner.clone() }));
    }
    let (sock, ticking) = (Visitor::of(&mut owner, "sock").await, Visitor::of(&mut owner, "echo").await);
    let times = if soak() { 20 } else { 3 };
    for n in 0..times {
        let done = || echo.asked.lock().unwrap().len();
        let before = done();
        let deadline = Instant::now() + LONG;
        while done() < before + 40 {
            assert!(Instant::now() < deadline, "nobody gets anything done");
            tokio::time::sleep(AGAIN).await;
        }
        let mut socket = sock.socket(&format!("http://{}", sock.host)).unwrap();
        // A stream that a service never ends is waited for, in vain: once is enough here.
        let endless = match n {
            0 => Some(follow(ticking.from, house.port, ticking.request("GET", "/stream")).await.unwrap()),
            _ => None,
        };
        let (began, within) = (Instant::now(), Duration::from_secs(if n == 0 { 9 } else { 5 }));
        house.stop().well();
        assert!(began.elapsed() < within, "what is open holds nobody up: {:?}", began.elapsed());
        assert!(!matches!(socket.read(), Ok(message) if !message.is_close()), "a socket is closed");
        if let Some(stream) = endless {
            assert!(stream.ended(LONG).await, "and so is a stream");
        }
        house.start();
    }
    let deadline = Instant::now() + LONG;
    while owner
        .try_send(owner.request("GET", "/").body(Full::default()).unwrap())
        .await
        .map(|reply| reply.status)
        != Ok(200)
    {
        assert!(Instant::now() < deadline, "the owner is still signed in");
    }
    tokio::time::sleep(AGAIN).await;
    crowd.over.store(true, Ordering::SeqCst);
    assert!(lookers.join_all().await.into_iter().all(|answered| answered > 0), "everybody was answered");

    // Each number once at most; what was answered, exactly once.
    let answered: Vec<u64> = posters.join_all().await.into_iter().flatten().collect();
    let asked = echo.asked.lock().unwrap().clone();
    let twice: BTreeMap<&String, &u32> =
        asked.iter().filter(|(target, n)| target.starts_with("/do/") && **n > 1).collect();
    assert!(twice.is_empty(), "done twice: {twice:?}");
    for n in &answered {
        assert_eq!(asked.get(&format!("/do/{n}")), Some(&1), "answered and not done");
    }
    assert!(answered.len() > 100, "{}", answered.len());

    // Every entry, once, in order, to everybody; all that were acknowledged are there.
    let acknowledged: Vec<u64> = writers.join_all().await.into_iter().flatten().collect();
    let last = *acknowledged.last().unwrap();
    until.store(last, Ordering::SeqCst);
    house.home.log("{\"n\":0}").ok();
    for (seen, came) in followers.join_all().await {
        let wanted: Vec<u64> = (1..=*seen.last().unwrap()).collect();
        assert_eq!(seen, wanted, "each event once and in order");
        assert!(seen.last() >= Some(&last) && came > times, "it came {came} times");
    }
    let greeted = watchers.join_all().await;
    assert!(greeted.iter().all(|n| *n > times), "live pages come back: {greeted:?}");
    house.stop().well();
    house.home.run(&["audit", "verify"]).ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn very_many_look_at_once_and_one_change_reaches_all_of_them() {
    let mut house = House::open("");
    let owner = house.owner().await;
    let many = if soak() { 1_000 } else { 200 };
    let mut opening = JoinSet::new();
    for n in 0..many {
        let browser = Browser { from: an_address(), ..owner.clone() };
        let path = if n % 2 == 0 { "/live?page=/audit" } else { "/api/v1/events?kind=captain" };
        opening.spawn(async move { (n, browser.follow(path).await.unwrap()) });
    }
    let mut viewers: Vec<(i32, Stream)> = opening.join_all().await;
    for (n, viewer) in &mut viewers {
        if *n % 2 == 0 {
            assert_eq!(viewer.next(LONG).await.unwrap().event, "hello");
        }
    }
    house.home.log("{\"n\":1}").ok();
    let began = Instant::now();
    let mut told = JoinSet::new();
    for (_, mut viewer) in viewers {
        told.spawn(async move {
            while let Some(told) = viewer.next(LONG).await {
                if told.data.contains("captain.note.added") {
                    return (true, viewer);
                }
            }
            (false, viewer)
        });
    }
    let told = told.join_all().await;
    let reached = told.iter().filter(|(reached, _)| *reached).count();
    assert_eq!(reached, many as usize, "one change reaches all, here within {:?}", began.elapsed());
    // All of them are still there when it stops, and hold nobody up.
    let began = Instant::now();
    house.stop().well();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}
