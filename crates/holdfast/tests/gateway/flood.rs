//! A flood without an account, from as many addresses as there are requests. The proxy in front is on this machine, so one program here
//! speaks for all of them: each request says another address, and is believed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use holdfast_steward::ladder::Level;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::browser::reach;
use crate::busy::People;
use crate::front::{Behind, GATE, behind_of};
use crate::house::modelled;
use crate::running::{Looking as _, wait_until};

/// Addresses of the whole flood. `make test` has a fifth of them, and of the time: at the same pace.
fn addresses() -> u32 {
    if crate::soak() { 100_000 } else { 20_000 }
}

/// Requests come so often, all together: 100,000 in ten minutes. It leaves the people of this test, and tests beside it, a processor.
const PACE: Duration = Duration::from_millis(6);

/// Then sign-ins are begun and left alone: enough to push out everything there was room for, from places that may begin thirty at once each.
const STARTS: u32 = 20_000;
const START_PLACES: u32 = 700;
const START_PACE: Duration = Duration::from_millis(2);

/// Connections that it comes on.
const POURING: u32 = 4;

/// People act so often, all the while.
const A_TURN: Duration = Duration::from_secs(1);

/// Asks that wait for them: more may not be open at once.
const ASKS: usize = 16;

/// What the journal may grow by for each minute, and once: a handful of reasons, each with some entries and then one a minute.
const GROWTH_ONCE: u64 = 512 * 1024;
const GROWTH_A_MINUTE: u64 = 32 * 1024;

/// Requests that are refused for every reason a stranger can give, before any limit is asked.
fn refused(n: u32, port: u16) -> String {
    let from = std::net::Ipv4Addr::from_bits(0x0a00_0000 + n);
    let host = format!("{GATE}:{port}");
    let (line, host, more, body) = match n % 6 {
        0 => ("POST /auth/codes/renew", host.clone(), "Origin: https://evil.example\r\n".to_owned(), "{}"),
        1 => ("GET /", "evil.example".to_owned(), String::new(), ""),
        2 => ("GET /api/v1/status", host.clone(), format!("Authorization: Bearer hft_{n:043}\r\n"), ""),
        3 => ("POST /auth/tokens/make", host.clone(), "Authorization: Bearer x\r\n".to_owned(), "{}"),
        4 => ("POST /pause", host.clone(), "Origin: null\r\n".to_owned(), "reason=x"),
        _ => ("GET /login", host.clone(), String::new(), ""),
    };
    let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    format!(
        "{line} HTTP/1.1\r\nHost: {host}\r\nX-Forwarded-For: {from}\r\nX-Forwarded-Proto: https\r\n{more}{length}\r\n{body}"
    )
}

/// Tries to come in: what is limited, and, from one address that never stops, what the limits themselves refuse.
fn trying(n: u32, port: u16) -> String {
    let from = if n.is_multiple_of(8) { 0x0bff_fffe } else { 0x0b00_0000 + n };
    let (path, body) = match n % 4 {
        0 => ("/auth/recover", json!({ "code": format!("{:04}-0000-0000-0000-0000", n % 10_000) })),
        1 => ("/auth/register/start", json!({ "link": format!("{n:043}"), "label": "x" })),
        2 => ("/auth/login/start", json!({})),
        _ => ("/auth/login/finish", json!({ "ceremony": "x", "credential": {} })),
    };
    calling(std::net::Ipv4Addr::from_bits(from), port, path, &body)
}

/// A sign-in that is begun and left alone.
fn start(n: u32, port: u16) -> String {
    let from = std::net::Ipv4Addr::from_bits(0x0c00_0000 + n % START_PLACES);
    calling(from, port, "/auth/login/start", &json!({}))
}

fn calling(from: std::net::Ipv4Addr, port: u16, path: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nHost: {GATE}:{port}\r\nX-Forwarded-For: {from}\r\nX-Forwarded-Proto: https\r\n\
         Origin: https://{GATE}:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// What is sent, in order, and when.
struct Requests<Make> {
    make: Make,
    count: u32,
    pace: Duration,
    began: tokio::time::Instant,
    next: AtomicU32,
    over: AtomicBool,
}

impl<Make: Fn(u32) -> String> Requests<Make> {
    /// The next one when its time has come; none at the end.
    async fn next(&self) -> Option<String> {
        let n = self.next.fetch_add(1, Ordering::SeqCst);
        if n >= self.count {
            self.over.store(true, Ordering::SeqCst);
            return None;
        }
        tokio::time::sleep_until(self.began + self.pace * n).await;
        Some((self.make)(n))
    }
}

/// Pours so many requests, each made of its number, while people act, and until everybody did everything. Gives how many there were, and the
/// slowest act.
async fn flood<Make>(
    behind: &Behind,
    people: &mut People,
    (count, pace): (u32, Duration),
    make: Make,
) -> (u32, Duration)
where
    Make: Fn(u32) -> String + Send + Sync + 'static,
{
    let (next, over, began) = (AtomicU32::new(0), AtomicBool::new(false), tokio::time::Instant::now());
    let requests = Arc::new(Requests { make, count, pace, began, next, over });
    let to = behind.house.port;
    let pouring: Vec<_> = (0..POURING).map(|_| tokio::spawn(pour(to, requests.clone()))).collect();
    let (mut pace, mut slowest, mut sent) = (tokio::time::interval(A_TURN), Duration::ZERO, 0);
    while !requests.over.load(Ordering::SeqCst) || !people.did_all() {
        pace.tick().await;
        let asked = Instant::now();
        people.act(behind).await;
        slowest = slowest.max(asked.elapsed());
    }
    for one in pouring {
        sent += one.await.unwrap();
    }
    (sent, slowest)
}

/// Sends one after the other on connections of its own, until there is no next.
async fn pour<Make: Fn(u32) -> String>(to: u16, requests: Arc<Requests<Make>>) -> u32 {
    let (mut sent, mut request) = (0, requests.next().await);
    while request.is_some() {
        let Ok(mut stream) = reach(std::net::Ipv4Addr::LOCALHOST, to).await else { continue };
        while let Some(text) = &request {
            if stream.write_all(text.as_bytes()).await.is_err() || !answered(&mut stream).await {
                break;
            }
            (sent, request) = (sent + 1, requests.next().await);
        }
    }
    sent
}

/// Reads one answer with its body; false when the connection is over, which the door may do after a refusal.
async fn answered(stream: &mut tokio::net::TcpStream) -> bool {
    let (mut came, mut chunk) = (Vec::new(), [0; 16 * 1024]);
    loop {
        if let Some(head) = memchr::memmem::find(&came, b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&came[..head]).to_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let closes = text.contains("connection: close");
            if came.len() >= head + 4 + length.unwrap_or(0_usize) {
                return !closes;
            }
        }
        match tokio::time::timeout(crate::running::LONG, stream.read(&mut chunk)).await {
            Ok(Ok(read @ 1..)) => came.extend_from_slice(&chunk[..read]),
            _ => return false,
        }
    }
}

/// Bytes of entries in the journal, but for those that the people's own acts leave there.
fn written(entries: &[Value], done: &[&str]) -> u64 {
    let strangers = entries.iter().filter(|entry| !done.contains(&entry["kind"].as_str().unwrap()));
    strangers.map(|entry| entry.to_string().len() as u64).sum()
}

// shows: GTW-F30
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::print_stdout, reason = "how much it grew is looked at")]
async fn a_flood_from_ever_new_addresses_fills_no_log_and_keeps_nobody_from_acting() {
    let mut asks = Vec::new();
    let (mut behind, _echo) = behind_of(&modelled(1), |house| {
        asks.extend((0..ASKS).map(|n| house.ask(&"x".repeat(n + 1), "none", crate::running::LONG * 100)));
        house.trusted(Level::ApproveEach, "for this test");
    })
    .await;
    let mut people = People::new(&behind, asks).await;
    let count = addresses();
    let (began, before) = (Instant::now(), behind.house.home.entries().len());
    let port = behind.nginx.port;

    let mixed = move |n| if n % 10 == 9 { trying(n / 10, port) } else { refused(n, port) };
    let (sent, slow) = flood(&behind, &mut people, (count, PACE), mixed).await;
    assert!(sent >= count, "{sent} of {count}");
    assert!(began.elapsed() >= PACE * (count - 1), "as long as it should");
    // Somebody who was never here looks for their key while others begin sign-ins by the thousand.
    let (newcomer, begun) = people.newcomer(&behind).await;
    let (started, slower) = flood(&behind, &mut people, (STARTS, START_PACE), move |n| start(n, port)).await;
    assert!(started >= STARTS, "{started} of {STARTS}");
    people.came_in(newcomer, begun).await;
    let (sent, slowest) = (sent + started, slow.max(slower));
    wait_until("all that was refused is told", || {
        let refused = behind.house.home.bodies("gateway.request.refused");
        ["origin", "token", "token_not_here", "limit", "door"]
            .iter()
            .all(|why| refused.iter().any(|body| body["why"] == *why))
    });
    // Everything that was done is in the log, as often as it was done, though strangers came by the thousand.
    let entries = behind.house.home.entries().split_off(before);
    for kind in &people.done {
        let wanted = people.done.iter().filter(|other| *other == kind).count();
        let times = entries.iter().filter(|entry| entry["kind"] == *kind).count();
        assert!(times >= wanted, "{kind}: {times} of {wanted}");
    }
    let minutes = began.elapsed().as_secs() / 60 + 1;
    let grown = written(&entries, &people.done);
    let most = GROWTH_ONCE + minutes * GROWTH_A_MINUTE;
    assert!(grown <= most, "{sent} requests grew the journal by {grown} bytes in {minutes} min");
    println!(
        "{sent} requests: {grown} bytes beside {} acts, the slowest {slowest:?}; {} entries in {:?}",
        people.done.len(),
        entries.len(),
        began.elapsed()
    );
    let counted: u64 = behind.house.home.bodies("gateway.request.refused").iter().map(times_of).sum();
    assert!(counted > u64::from(count) / 10, "refusals are counted: {counted}");
    behind.house.stop().well();
    behind.house.home.run(&["audit", "verify"]).ok();
}

fn times_of(body: &Value) -> u64 {
    body["times"].as_u64().unwrap_or(1)
}
