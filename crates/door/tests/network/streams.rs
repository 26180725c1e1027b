//! Bodies that are larger than memory should hold, and streams that never end.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::house::{Plan, SOON, eventually};
use crate::origin::Origin;
use crate::raw::{body, get, read_to_end};

const LARGE: u64 = 100_000_000;
/// What may be held on the way: buffers of three sockets and of hyper, the test's own pieces, and what the allocator keeps.
const HELD_MAX_KIB: u64 = 40 * 1024;

/// The most memory this process has ever had, in KiB.
fn high_water() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

// shows: GTW-047, GTW-F19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_megabytes_up_and_down_are_never_held() {
    let (origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.body_bytes_max = Some(LARGE);
    let house = plan.open();
    let before = high_water();

    let mut up = TcpStream::connect(house.address).await.unwrap();
    let head = get("/x").replacen("GET", "PUT", 1).replacen(
        "Connection",
        &format!("Content-Length: {LARGE}\r\nConnection"),
        1,
    );
    up.write_all(head.as_bytes()).await.unwrap();
    let piece = vec![b'y'; 100_000];
    for _ in 0..LARGE / 100_000 {
        up.write_all(&piece).await.unwrap();
    }
    assert_eq!(body(&read_to_end(&mut up).await), format!("PUT /x {LARGE}"));

    let mut down = TcpStream::connect(house.address).await.unwrap();
    down.write_all(get(&format!("/bytes/{LARGE}")).as_bytes()).await.unwrap();
    let mut buffer = vec![0; 64 * 1024];
    let mut total = 0;
    while let n @ 1.. = down.read(&mut buffer).await.unwrap() {
        total += n as u64;
    }
    assert!(total > LARGE, "{total}");
    let grown = high_water() - before;
    assert!(grown < HELD_MAX_KIB, "{grown} KiB were held");
    assert_eq!(origin.received.load(Ordering::SeqCst), LARGE);
    house.stop().await;
}

/// Waits until a count has stopped growing, and says where.
async fn settles(count: impl Fn() -> u64) -> u64 {
    let until = Instant::now() + SOON;
    loop {
        let before = count();
        tokio::time::sleep(Duration::from_millis(300)).await;
        if count() == before && before > 0 {
            return before;
        }
        assert!(Instant::now() < until, "it goes on and on");
    }
}

// shows: GTW-F19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_pauses_holds_the_service_back() {
    let (origin, to) = Origin::on_loopback().await;
    let house = Plan::to(to).open();
    let mut down = TcpStream::connect(house.address).await.unwrap();
    down.write_all(get(&format!("/bytes/{LARGE}")).as_bytes()).await.unwrap();
    let sent = settles(|| origin.sent.load(Ordering::SeqCst)).await;
    assert!(sent < LARGE / 3, "{sent} were sent though nobody read");
    let mut buffer = vec![0; 64 * 1024];
    let mut total = 0;
    while let n @ 1.. = down.read(&mut buffer).await.unwrap() {
        total += n as u64;
    }
    assert!(total > LARGE, "all of it comes when it is read");
    house.stop().await;
}

// shows: GTW-F19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_drinks_slowly_holds_the_client_back() {
    let (origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.body_bytes_max = Some(LARGE);
    let house = plan.open();
    let mut up = TcpStream::connect(house.address).await.unwrap();
    let head = get("/drink-slowly").replacen("GET", "PUT", 1).replacen(
        "Connection",
        &format!("Content-Length: {LARGE}\r\nConnection"),
        1,
    );
    up.write_all(head.as_bytes()).await.unwrap();
    let piece = vec![b'y'; 100_000];
    let mut sent = 0;
    // Not a wait for something to happen: as much as can be pushed in this time is the measure.
    let _ = tokio::time::timeout(Duration::from_millis(700), async {
        loop {
            sent += up.write(&piece).await.unwrap() as u64;
        }
    })
    .await;
    let received = origin.received.load(Ordering::SeqCst);
    assert!(sent < received + 30_000_000, "{sent} were taken of which {received} arrived");
    assert!(sent < LARGE, "{sent}");
    drop(up);
    eventually("the service hears that it broke off", || origin.requests() == 1).await;
    assert!(origin.last().method.starts_with("broken"));
    house.stop().await;
}

async fn events(house: &crate::house::House) -> TcpStream {
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    stream.write_all(get("/events").as_bytes()).await.unwrap();
    let mut text = Vec::new();
    while !text.windows(13).any(|part| part == b"data: hello\n\n") {
        let mut buffer = [0; 1024];
        let n = tokio::time::timeout(SOON, stream.read(&mut buffer))
            .await
            .expect("an event comes at once")
            .unwrap();
        assert!(n > 0, "{}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&buffer[..n]);
    }
    stream
}

// shows: GTW-F06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_come_as_they_happen_and_end_with_the_session() {
    let (origin, to) = Origin::on_loopback().await;
    let house = Plan::to(to).open();
    let mut stream = events(&house).await;
    let began = Instant::now();
    house.gate.end("ana");
    read_to_end(&mut stream).await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    eventually("the service hears it too", || origin.open.load(Ordering::SeqCst) == 0).await;
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_waits_for_its_answer_ends_with_the_session_too() {
    let (origin, to) = Origin::on_loopback().await;
    let house = Plan::to(to).open();
    let address = house.address;
    let asked = tokio::spawn(async move { crate::raw::exchange(address, get("/never").as_bytes()).await });
    eventually("it waits", || origin.requests() == 1).await;
    house.gate.end("ana");
    assert_eq!(crate::raw::status(&asked.await.unwrap()), Some(401));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_takes_its_request_with_it() {
    let (origin, to) = Origin::on_loopback().await;
    let house = Plan::to(to).open();
    let stream = events(&house).await;
    drop(stream);
    eventually("the service's side is closed", || origin.open.load(Ordering::SeqCst) == 0).await;
    house.stop().await;
}
