//! A proxy in front that ends TLS, played by a client that sends what one sends. The real one is before the whole gateway, in the tests of the
//! daemon.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use holdfast_door::{Front, Limits};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};

use crate::house::{APP, House, OWN, Plan, eventually};
use crate::origin::Origin;
use crate::raw::{body, read_to_end, status};

/// The declared one, and somebody else on this machine.
const PROXY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const STRANGER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

async fn behind() -> (House, Arc<Origin>) {
    let (origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.front = Some(Front::of(vec!["127.0.0.2".parse().unwrap()]));
    plan.https_port = Some(443);
    // On every address, which without a proxy that was declared is refused.
    plan.listener = Some(TcpListener::bind("0.0.0.0:0").unwrap());
    plan.limits = Limits { connections_per_address_max: 2, ..Limits::default() };
    (plan.open(), origin)
}

async fn reach(from: Ipv4Addr, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from((from, 0))).unwrap();
    socket.connect(SocketAddr::from((Ipv4Addr::LOCALHOST, to.port()))).await.unwrap()
}

fn request(host: &str, path: &str, headers: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: holdfast-app=ana\r\n{headers}Connection: close\r\n\r\n"
    )
}

async fn ask(from: Ipv4Addr, house: &House, request: &str) -> String {
    let mut stream = reach(from, house.address).await;
    let _ = stream.write_all(request.as_bytes()).await;
    read_to_end(&mut stream).await
}

// shows: GTW-F20
#[tokio::test]
async fn a_declared_proxy_says_who_calls_and_nobody_else_is_even_heard() {
    let (house, origin) = behind().await;
    let handed_on = "X-Forwarded-Proto: https\r\nX-Forwarded-For: 198.51.100.1, 192.0.2.7\r\n";
    let answer = ask(PROXY, &house, &request(OWN, "/page", handed_on)).await;
    assert_eq!(body(&answer), "own /page 0 https=true", "{answer}");
    let answer = ask(PROXY, &house, &request(APP, "/x", handed_on)).await;
    assert_eq!(status(&answer), Some(200), "{answer}");
    let seen = origin.last().headers;
    assert_eq!(seen["x-forwarded-for"], "192.0.2.7");
    assert_eq!(seen["x-forwarded-proto"], "https");

    let answer = ask(STRANGER, &house, &request(OWN, "/page", handed_on)).await;
    assert_eq!(answer, "", "nobody else gets a word");
    assert_eq!(house.door.counts().refused_plain, 1);
    house.stop().await;
}

// shows: GTW-F20
#[tokio::test]
async fn what_came_unencrypted_to_the_proxy_is_sent_on_encrypted_and_what_is_not_said_is_refused() {
    let (house, _origin) = behind().await;
    let answer = ask(PROXY, &house, &request(OWN, "/page?x=1", "X-Forwarded-Proto: http\r\n")).await;
    assert_eq!(status(&answer), Some(308), "{answer}");
    assert!(answer.contains(&format!("location: https://{OWN}/page?x=1\r\n")), "{answer}");
    let answer = ask(PROXY, &house, &request("evil.example", "/", "X-Forwarded-Proto: http\r\n")).await;
    assert_eq!(status(&answer), Some(421), "nobody's name is lent");
    for said in ["", "X-Forwarded-Proto: https, http\r\n", "X-Forwarded-Proto: ws\r\n"] {
        let answer = ask(PROXY, &house, &request(OWN, "/", said)).await;
        assert_eq!(status(&answer), Some(400), "{said}: {answer}");
    }
    assert_eq!(house.door.counts().refused_plain, 3);
    house.stop().await;
}

#[tokio::test]
async fn behind_a_proxy_each_caller_has_so_many_requests_at_once_and_the_proxy_as_many_as_all() {
    let (house, _origin) = behind().await;
    let slow = |caller: &str| {
        format!(
            "POST /up HTTP/1.1\r\nHost: {OWN}\r\nX-Forwarded-Proto: https\r\nX-Forwarded-For: 9.9.9.9, {caller}\r\nContent-Length: 1\r\n\r\n"
        )
    };
    let mut held = Vec::new();
    for caller in ["192.0.2.7", "192.0.2.7", "192.0.2.8", "192.0.2.8", "192.0.2.9"] {
        let mut stream = reach(PROXY, house.address).await;
        stream.write_all(slow(caller).as_bytes()).await.unwrap();
        held.push(stream);
    }
    eventually("all are being answered", || house.door.counts().own == 5).await;
    let one_more = |caller: &str| {
        request(OWN, "/", &format!("X-Forwarded-Proto: https\r\nX-Forwarded-For: {caller}\r\n"))
    };
    let answer = ask(PROXY, &house, &one_more("192.0.2.7")).await;
    assert_eq!(status(&answer), Some(503), "{answer}");
    assert_eq!(house.door.counts().refused_neighbourhood_full, 1);
    let answer = ask(PROXY, &house, &one_more("192.0.2.9")).await;
    assert_eq!(status(&answer), Some(200), "{answer}");
    drop(held);
    eventually("their places are given back", || house.door.counts().connections_open == 0).await;
    let answer = ask(PROXY, &house, &one_more("192.0.2.7")).await;
    assert_eq!(status(&answer), Some(200), "{answer}");
    house.stop().await;
}
