//! HTTP/2 frames by the ten thousand that cost their sender a few bytes and the door work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use holdfast_door::Certificates;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::certificates::connect;
use crate::house::{APP, House, OWN, Plan, SOON, eventually, real_clock};
use crate::origin::Origin;

const HEADERS: u8 = 0x1;
const PRIORITY: u8 = 0x2;
const RESET: u8 = 0x3;
const SETTINGS: u8 = 0x4;
const PING: u8 = 0x6;
const CONTINUATION: u8 = 0x9;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;

fn frame(kind: u8, flags: u8, stream: u32, content: &[u8]) -> Vec<u8> {
    let len = u32::try_from(content.len()).unwrap().to_be_bytes();
    [&len[1..], &[kind, flags], &stream.to_be_bytes(), content].concat()
}

/// `GET /` in HPACK without a table of its own.
fn head(host: &str) -> Vec<u8> {
    let cookie = b"holdfast-app=ana";
    let mut head = vec![0x82, 0x87, 0x84, 0x01, u8::try_from(host.len()).unwrap()];
    head.extend_from_slice(host.as_bytes());
    // `cookie` is number 32 of the static table.
    head.extend_from_slice(&[0x0f, 0x11, u8::try_from(cookie.len()).unwrap()]);
    head.extend_from_slice(cookie);
    head
}

fn opened(stream: u32, host: &str) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &head(host))
}

/// A request of which the body is still to come.
pub(crate) fn opened_half(stream: u32, host: &str) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &head(host))
}

/// A connection on which HTTP/2 has begun.
pub(crate) async fn begun(house: &House) -> TlsStream<TcpStream> {
    let mut stream = connect(house.address, &[b"h2"]).await;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).await.unwrap();
    stream
}

/// Sends what the flood makes of each number, reading on the side, until the door has had enough.
async fn flood(stream: TlsStream<TcpStream>, mut next: impl FnMut(u32) -> Vec<u8>) -> Duration {
    let began = Instant::now();
    let (mut from, mut to) = tokio::io::split(stream);
    let ended = Arc::new(AtomicBool::new(false));
    let seen = ended.clone();
    let reading = tokio::spawn(async move {
        let mut buffer = [0; 4096];
        while matches!(from.read(&mut buffer).await, Ok(read) if read > 0) {}
        seen.store(true, Ordering::Release);
    });
    let mut number = 0;
    while !ended.load(Ordering::Acquire) {
        assert!(began.elapsed() < SOON, "the door takes it all");
        let many: Vec<u8> = (0..50).flat_map(|more| next(number + more)).collect();
        number += 50;
        if to.write_all(&many).await.is_err() {
            break;
        }
    }
    tokio::time::timeout(SOON, reading).await.expect("the door closes the connection").unwrap();
    began.elapsed()
}

/// What this process holds, the door in it.
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

async fn house(dir: &std::path::Path) -> (House, Arc<Origin>) {
    let (origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.certificates = Certificates::Local { dir: dir.to_owned() };
    plan.clock = real_clock();
    (plan.open(), origin)
}

// shows: GTW-F19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_frames_ends_its_connection_is_counted_and_holds_up_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let (house, origin) = house(dir.path()).await;
    let root = house.door.keeper().authority().unwrap().pem;
    let client = reqwest::Client::builder()
        .tls_certs_only([reqwest::Certificate::from_pem(root.as_bytes()).unwrap()])
        .resolve(OWN, house.address)
        .no_proxy()
        .build()
        .unwrap();
    let page = format!("https://{OWN}:{}/page", house.address.port());
    assert_eq!(client.get(&page).send().await.unwrap().status(), 200);

    // Somebody else asks all the while.
    let (stop, served) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let other = tokio::spawn({
        let (stop, served) = (stop.clone(), served.clone());
        async move {
            let mut slowest = Duration::ZERO;
            while !stop.load(Ordering::Acquire) {
                let began = Instant::now();
                assert_eq!(client.get(&page).send().await.unwrap().status(), 200);
                slowest = slowest.max(began.elapsed());
                served.fetch_add(1, Ordering::AcqRel);
            }
            slowest
        }
    });

    let before = resident_bytes();
    let reset = |n: u32, host: &str| {
        let stream = 2 * n + 1;
        [opened(stream, host), frame(RESET, 0, stream, &8u32.to_be_bytes())].concat()
    };
    let again = |kind: u8, content: &'static [u8]| move |_| frame(kind, 0, 0, content);
    let rounds: u64 = 3;
    for round in 0..rounds {
        let counted = round * 7;
        flood(begun(&house).await, |n| reset(n, OWN)).await;
        flood(begun(&house).await, |n| reset(n, APP)).await;
        flood(begun(&house).await, again(PING, &[7; 8])).await;
        flood(begun(&house).await, again(SETTINGS, &[0, 4, 0, 1, 0, 0])).await;
        flood(begun(&house).await, |_| frame(PRIORITY, 0, 1, &[0; 5])).await;
        flood(begun(&house).await, |n| match n {
            0 => frame(HEADERS, 0, 1, &head(OWN)),
            _ => frame(CONTINUATION, 0, 1, &[0x00, 0x01, b'x', 0x01, b'y']),
        })
        .await;
        flood(begun(&house).await, |n| match n {
            0 => frame(HEADERS, END_HEADERS, 1, &head(OWN)),
            _ => frame(0x0, 0, 1, &[]),
        })
        .await;
        eventually("each is counted", || house.door.counts().flooded == counted + 7).await;
    }
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 32 << 20, "it grew by {} KiB", grown >> 10);
    let begun = house.door.counts().own - served.load(Ordering::Acquire) as u64;
    assert!(begun < 300 * rounds * 3, "{begun} requests of the floods were begun");
    assert!(origin.requests() < 300 * usize::try_from(rounds).unwrap(), "{}", origin.requests());
    stop.store(true, Ordering::Release);
    let slowest = other.await.unwrap();
    assert!(served.load(Ordering::Acquire) > 10 && slowest < Duration::from_secs(2), "{slowest:?}");
    eventually("nothing of it is left", || house.door.counts().connections_open <= 1).await;
    house.stop().await;
}

/// A browser that leaves a page takes back everything it asked for, and goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_takes_back_a_whole_page_of_requests_is_served_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (house, _origin) = house(dir.path()).await;
    let mut stream = begun(&house).await;
    let mut all: Vec<u8> = (0..100).flat_map(|n| opened(2 * n + 1, APP)).collect();
    all.extend((0..100).flat_map(|n| frame(RESET, 0, 2 * n + 1, &8u32.to_be_bytes())));
    all.extend(opened(201, OWN));
    stream.write_all(&all).await.unwrap();
    let mut answers = Vec::new();
    let answered = async {
        let mut buffer = [0; 4096];
        // The text of our own page, in a frame of its own.
        while memchr::memmem::find(&answers, b"own / 0 https=true").is_none() {
            let read = stream.read(&mut buffer).await.unwrap();
            assert!(read > 0, "the door has gone");
            answers.extend_from_slice(&buffer[..read]);
        }
    };
    tokio::time::timeout(SOON, answered).await.expect("it is answered");
    assert_eq!(house.door.counts().flooded, 0);
    drop(stream);
    house.stop().await;
}
