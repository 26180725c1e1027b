//! Clients that take too long, ask too much, or are too many.

use std::time::{Duration, Instant};

use holdfast_door::{HEAD_BYTES_MAX, HEADERS_MAX, TARGET_BYTES_MAX};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::house::{OWN, Plan, SOON, eventually};
use crate::origin::Origin;
use crate::raw::{body, exchange, get, read_to_end, status};

const SHORT: Duration = Duration::from_millis(300);
/// What a loaded machine may add.
const SLACK: Duration = Duration::from_secs(3);

async fn plan() -> Plan {
    let (_origin, to) = Origin::on_loopback().await;
    Plan::to(to)
}

// shows: GTW-F19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_drips_a_head_is_gone_in_time() {
    let mut plan = plan().await;
    plan.limits.head_timeout = SHORT;
    let house = plan.open();
    let mut silent = TcpStream::connect(house.address).await.unwrap();
    let mut drip = TcpStream::connect(house.address).await.unwrap();
    let began = Instant::now();
    let text = get("/");
    let mut sent = 0;
    while drip.write_all(&text.as_bytes()[sent..=sent]).await.is_ok() && began.elapsed() < SOON {
        sent = (sent + 1) % 20;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(began.elapsed() < SHORT + SLACK, "{:?}", began.elapsed());
    assert_eq!(read_to_end(&mut silent).await, "", "nor does saying nothing help");
    eventually("both are counted", || house.door.counts().timed_out == 2).await;
    eventually("both places are free", || house.door.counts().connections_open == 0).await;
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_head_is_held_to_the_same_time_and_a_pause_to_its_own() {
    let mut plan = plan().await;
    plan.limits.head_timeout = SHORT;
    plan.limits.idle_timeout = SHORT * 6;
    let house = plan.open();
    let first = get("/").replacen("Connection: close\r\n", "", 1);
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    stream.write_all(first.as_bytes()).await.unwrap();
    let mut buffer = [0; 4096];
    let n = stream.read(&mut buffer).await.unwrap();
    assert!(buffer[..n].starts_with(b"HTTP/1.1 200"));
    // A pause longer than a head may take is no offence; a half head is.
    tokio::time::sleep(SHORT * 3).await;
    stream.write_all(first.as_bytes()).await.unwrap();
    let n = stream.read(&mut buffer).await.unwrap();
    assert!(buffer[..n].starts_with(b"HTTP/1.1 200"), "the pause was allowed");
    stream.write_all(b"GET / HT").await.unwrap();
    let began = Instant::now();
    assert_eq!(read_to_end(&mut stream).await, "");
    assert!(began.elapsed() < SHORT * 5, "{:?}", began.elapsed());
    let mut idle = TcpStream::connect(house.address).await.unwrap();
    idle.write_all(first.as_bytes()).await.unwrap();
    let began = Instant::now();
    assert!(read_to_end(&mut idle).await.starts_with("HTTP/1.1 200"));
    assert!((SHORT * 5..SHORT * 6 + SLACK).contains(&began.elapsed()), "{:?}", began.elapsed());
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_used_is_not_idle_however_long_it_lives() {
    let mut plan = plan().await;
    plan.limits.idle_timeout = SHORT * 2;
    let house = plan.open();
    let one = format!("GET /page HTTP/1.1\r\nHost: {OWN}\r\n\r\n");
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    let began = Instant::now();
    while began.elapsed() < SHORT * 6 {
        stream.write_all(one.as_bytes()).await.unwrap();
        let mut buffer = [0; 4096];
        let n = stream.read(&mut buffer).await.unwrap();
        assert!(buffer[..n].starts_with(b"HTTP/1.1 200"), "closed after {:?}", began.elapsed());
        tokio::time::sleep(SHORT / 2).await;
    }
    assert_eq!(house.door.counts().timed_out, 0);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_stands_still_ends() {
    let mut plan = plan().await;
    plan.limits.body_idle_timeout = SHORT;
    let house = plan.open();
    let text =
        get("/x").replacen("GET", "POST", 1).replacen("Connection", "Content-Length: 10\r\nConnection", 1);
    let began = Instant::now();
    let answer = exchange(house.address, format!("{text}123").as_bytes()).await;
    assert_eq!(status(&answer), Some(408), "{answer}");
    let own = text.replace(crate::house::APP, OWN);
    let answer = exchange(house.address, format!("{own}123").as_bytes()).await;
    assert!(body(&answer).contains("broken: the body comes too slowly"), "{answer}");
    assert!(began.elapsed() < SHORT * 2 + SLACK);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_takes_nothing_is_let_go() {
    let (origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.limits.write_stall_timeout = SHORT;
    let house = plan.open();
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    stream.write_all(get("/bytes/1000000000").as_bytes()).await.unwrap();
    eventually("it is flowing", || origin.sent.load(std::sync::atomic::Ordering::SeqCst) > 0).await;
    eventually("the place is free again", || house.door.counts().connections_open == 0).await;
    assert!(
        origin.sent.load(std::sync::atomic::Ordering::SeqCst) < 100_000_000,
        "and little was held for it"
    );
    drop(stream);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heads_that_are_too_large_are_refused() {
    let house = plan().await.open();
    let with = |fields: &str| get("/").replacen("Connection", &format!("{fields}Connection"), 1);
    for (name, text) in [
        ("a long path", get(&format!("/{}", "x".repeat(TARGET_BYTES_MAX)))),
        ("a long field", with(&format!("X: {}\r\n", "y".repeat(HEAD_BYTES_MAX)))),
        ("many fields", with(&"X: y\r\n".repeat(HEADERS_MAX))),
        ("a long method", get("/").replacen("GET", &"G".repeat(200), 1)),
    ] {
        let answer = exchange(house.address, text.as_bytes()).await;
        assert!(matches!(status(&answer), None | Some(400 | 414 | 431)), "{name}: {answer}");
        assert!(!answer.contains("200 OK"), "{name}");
    }
    let fits = with(&format!("X: {}\r\n", "y".repeat(HEAD_BYTES_MAX - 400)));
    assert_eq!(status(&exchange(house.address, fits.as_bytes()).await), Some(200));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_idle_connections_are_held_and_the_next_takes_the_place_of_the_first() {
    let mut plan = plan().await;
    plan.limits.connections_max = 1_000;
    let house = plan.open();
    let mut held = Vec::new();
    for _ in 0..1_000 {
        held.push(TcpStream::connect(house.address).await.unwrap());
    }
    eventually("all are in", || house.door.counts().connections_open == 1_000).await;
    assert_eq!(status(&exchange(house.address, get("/").as_bytes()).await), Some(200));
    assert_eq!(read_to_end(&mut held[0]).await, "", "no word for the one that made room");
    let counts = house.door.counts();
    assert_eq!((counts.refused_house_full, counts.made_room), (0, 31), "a few at once");
    held.drain(..100);
    eventually("places are given back", || house.door.counts().connections_open == 900).await;
    house.stop().await;
}
