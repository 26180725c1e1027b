//! Connections that only take places, by the hundred: whoever comes with a request still gets in.

use std::net::SocketAddr;
use std::time::Duration;

use holdfast_door::Certificates;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::certificates::connect;
use crate::floods::{begun, opened_half};
use crate::house::{APP, House, OWN, Plan, eventually, real_clock};
use crate::origin::Origin;
use crate::raw::{exchange, get, status};

const PLACES: usize = 64;
const HERE: usize = 48;

async fn plan() -> Plan {
    let (_origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.limits.connections_max = PLACES;
    plan.limits.connections_from_here_max = HERE;
    plan
}

/// Five times as many as there are places, each with these bytes and nothing more.
async fn flood(address: SocketAddr, bytes: &[u8]) -> Vec<TcpStream> {
    let mut held = Vec::new();
    for _ in 0..5 * PLACES {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let _ = stream.write_all(bytes).await;
        held.push(stream);
    }
    held
}

// shows: GTW-F19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_wait_for_their_client_make_room_for_whoever_asks() {
    let half_body = format!("POST /x HTTP/1.1\r\nHost: {OWN}\r\nContent-Length: 10\r\n\r\n123");
    let asked_once = format!("GET /page HTTP/1.1\r\nHost: {OWN}\r\n\r\n");
    for (what, bytes) in [
        ("silent", ""),
        ("half a head", "GET / HTTP/1.1\r\nHost: x\r\nX: "),
        ("half a body", half_body.as_str()),
        ("kept after an answer", asked_once.as_str()),
    ] {
        let house = plan().await.open();
        let held = flood(house.address, bytes.as_bytes()).await;
        for n in 0..20 {
            let answer = exchange(house.address, get("/page").as_bytes()).await;
            assert_eq!(status(&answer), Some(200), "{what}, request {n}");
        }
        let counts = house.door.counts();
        assert!(counts.connections_open <= HERE as u64, "{what}: {counts:?}");
        assert!(counts.made_room >= (5 * PLACES - HERE) as u64, "{what}: {counts:?}");
        assert_eq!(counts.refused_house_full + counts.refused_neighbourhood_full, 0, "{what}: {counts:?}");
        let told = house.door.turned_away();
        assert!(told.iter().any(|it| it.why == "too_many" && it.most[0].0 == "127.0.0.1"), "{told:?}");
        drop(held);
        house.stop().await;
    }
}

/// Answers as large as anybody likes, of which nothing is taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_take_nothing_make_room() {
    let house = plan().await.open();
    let mut held = Vec::new();
    for _ in 0..2 * PLACES {
        let mut stream = TcpStream::connect(house.address).await.unwrap();
        let _ = stream.write_all(get("/bytes/100000000").as_bytes()).await;
        held.push(stream);
        // Nobody who is still being answered is let go: they stand still first.
        if held.len() >= HERE {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    eventually("somebody gets in", || house.door.counts().made_room > 0).await;
    assert_eq!(status(&exchange(house.address, get("/page").as_bytes()).await), Some(200));
    drop(held);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_being_answered_goes_on_while_others_are_let_go() {
    let house = plan().await.open();
    let mut busy = TcpStream::connect(house.address).await.unwrap();
    busy.write_all(get("/bytes/30000000").as_bytes()).await.unwrap();
    let reading = tokio::spawn(async move {
        let (mut buffer, mut all) = (vec![0; 16 * 1024], 0);
        while let Ok(n @ 1..) = busy.read(&mut buffer).await {
            all += n;
            tokio::task::yield_now().await;
        }
        all
    });
    let held = flood(house.address, b"").await;
    assert!(reading.await.unwrap() > 30_000_000, "it came whole");
    drop(held);
    house.stop().await;
}

async fn encrypted(dir: &std::path::Path) -> House {
    let mut plan = plan().await;
    plan.certificates = Certificates::Local { dir: dir.to_owned() };
    plan.clock = real_clock();
    plan.open()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_2_connections_and_handshakes_that_stand_still_make_room_too() {
    let dir = tempfile::tempdir().unwrap();
    let house = encrypted(dir.path()).await;
    let mut held = Vec::new();
    for n in 0..2 * PLACES {
        let mut stream = begun(&house).await;
        if n % 2 == 0 {
            // A request whose body never comes.
            stream.write_all(&opened_half(1, OWN)).await.unwrap();
        }
        held.push(stream);
    }
    let half_handshakes = flood(house.address, b"\x16\x03\x01\x02\x00\x01").await;
    let stream = connect(house.address, &[b"h2"]).await;
    let (mut sender, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
        .handshake::<_, Full<bytes::Bytes>>(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let request = http::Request::get(format!("https://{APP}/page"))
        .header("cookie", "holdfast-app=ana")
        .body(Full::default())
        .unwrap();
    let answer = sender.send_request(request).await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.into_body().collect().await.unwrap();
    assert!(house.door.counts().connections_open <= HERE as u64);
    drop((held, half_handshakes));
    house.stop().await;
}

/// Both loopbacks lead to the same door, and to the same places.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_door_at_two_addresses_has_one_number_of_places() {
    let mut plan = plan().await;
    let v6 = std::net::TcpListener::bind("[::1]:0").unwrap();
    let beside = v6.local_addr().unwrap();
    plan.beside.push(v6);
    let house = plan.open();
    let held = (flood(house.address, b"").await, flood(beside, b"").await);
    for address in [house.address, beside] {
        assert_eq!(status(&exchange(address, get("/page").as_bytes()).await), Some(200));
    }
    assert!(house.door.counts().connections_open <= HERE as u64);
    drop(held);
    house.stop().await;
}
