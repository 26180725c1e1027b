//! Stopping: whatever was begun is answered once, whatever was not is not performed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::house::{Plan, SOON, eventually};
use crate::origin::Origin;
use crate::raw::{exchange, get, status};

/// One request on a kept connection; `None` when the door closed it instead.
async fn ask(stream: &mut TcpStream, path: &str) -> Option<String> {
    let text =
        get(path).replacen("GET", "POST", 1).replacen("Connection: close\r\n", "Content-Length: 2\r\n", 1);
    stream.write_all(format!("{text}ab").as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    let mut buffer = [0; 2048];
    loop {
        let n = stream.read(&mut buffer).await.ok()?;
        answer.extend_from_slice(&buffer[..n]);
        let text = String::from_utf8_lossy(&answer);
        if n == 0 {
            return (!text.is_empty()).then(|| text.into_owned());
        }
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if body.len() >= length.parse().unwrap() {
                return Some(text.into_owned());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_load_every_request_is_performed_at_most_once_and_answered_if_performed() {
    let (origin, to) = Origin::on_loopback().await;
    let house = Plan::to(to).open();
    let over = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..16)
        .map(|client| {
            let (address, over) = (house.address, over.clone());
            tokio::spawn(async move {
                let mut answered = Vec::new();
                let Ok(mut stream) = TcpStream::connect(address).await else { return answered };
                for n in 0.. {
                    let id = format!("/id-{client}-{n}");
                    match ask(&mut stream, &id).await {
                        Some(answer) => {
                            assert!(answer.contains(&format!("POST {id} 2")), "{answer}");
                            answered.push(id);
                        }
                        None => break,
                    }
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                }
                answered
            })
        })
        .collect();
    eventually("there is load", || origin.requests() > 500).await;
    let began = Instant::now();
    let drained = house.stop().await;
    over.store(true, Ordering::Relaxed);
    assert_eq!(drained.cut, 0, "a clean stop in {:?}", began.elapsed());
    let mut answered = Vec::new();
    for client in clients {
        answered.extend(client.await.unwrap());
    }
    let mut performed: BTreeMap<String, usize> = BTreeMap::new();
    for seen in origin.seen.lock().unwrap().iter() {
        *performed.entry(seen.target.clone()).or_default() += 1;
    }
    assert!(performed.values().all(|times| *times == 1), "performed twice");
    assert_eq!(performed.len(), answered.len(), "whatever was performed was answered");
    assert!(answered.iter().all(|id| performed.contains_key(id)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_under_way_finishes_and_nobody_new_comes_in() {
    let (origin, to) = Origin::on_loopback().await;
    let house = Plan::to(to).open();
    let address = house.address;
    let slow = tokio::spawn(async move { exchange(address, get("/later/800").as_bytes()).await });
    eventually("it is under way", || origin.requests() == 1).await;
    house.begin_stop();
    eventually("nobody is let in", || std::net::TcpStream::connect(address).is_err()).await;
    assert_eq!(status(&slow.await.unwrap()), Some(200));
    assert_eq!(house.stop().await.cut, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_finish_in_time_is_cut_and_counted() {
    let (origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.limits.drain_timeout = Duration::from_millis(300);
    let house = plan.open();
    let address = house.address;
    let stuck = tokio::spawn(async move { exchange(address, get("/never").as_bytes()).await });
    eventually("it is under way", || origin.requests() == 1).await;
    let began = Instant::now();
    assert_eq!(house.stop().await.cut, 1);
    assert!(began.elapsed() < SOON / 2);
    assert_eq!(stuck.await.unwrap(), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_tunnels_and_idle_connections_do_not_hold_up_a_stop() {
    let (origin, to) = Origin::on_loopback().await;
    let house = Plan::to(to).open();
    let address = house.address;
    let events = tokio::spawn(async move { exchange(address, get("/events").as_bytes()).await });
    let upgrade = get("/upgrade").replace(
        "Connection: close",
        &format!("Origin: http://{}\r\nConnection: upgrade\r\nUpgrade: shout", crate::house::APP),
    );
    let tunnel = tokio::spawn(async move { exchange(address, upgrade.as_bytes()).await });
    let _idle = TcpStream::connect(address).await.unwrap();
    eventually("all are there", || house.door.counts().connections_open == 3 && origin.requests() == 2).await;
    eventually("the tunnel is open", || house.door.counts().tunnels_open == 1).await;
    let began = Instant::now();
    assert_eq!(house.stop().await.cut, 0);
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    let events = events.await.unwrap();
    assert!(events.ends_with("0\r\n\r\n"), "the stream ends as it should: {events}");
    assert_eq!(status(&tunnel.await.unwrap()), Some(101));
}
