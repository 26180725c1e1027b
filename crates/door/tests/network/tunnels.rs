//! WebSockets and other upgrades through the door.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{HandshakeError, Message, WebSocket, accept, client};

use holdfast_door::To;

use crate::house::{APP, House, Plan, SOON, eventually};
use crate::origin::Origin;
use crate::raw::{exchange, get, status};

type Socket = WebSocket<std::net::TcpStream>;

/// A service that speaks WebSocket and sends back what it gets. It blocks, so it has threads of its own.
fn echo() -> To {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let to = To::Tcp(listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let Ok(mut socket) = accept(stream) else { return };
                while let Ok(message) = socket.read() {
                    let back = message.is_text() || message.is_binary();
                    if back && socket.send(message).is_err() {
                        return;
                    }
                }
            });
        }
    });
    to
}

/// A socket to the service, or the status it was refused with.
async fn connect(house: &House, origin: Option<&str>) -> Result<Socket, u16> {
    let mut request = format!("ws://{APP}/upgrade").into_client_request().unwrap();
    request.headers_mut().insert("cookie", "holdfast-app=ana".parse().unwrap());
    if let Some(origin) = origin {
        request.headers_mut().insert("origin", origin.parse().unwrap());
    }
    let address = house.address;
    blocking(move || {
        let stream = std::net::TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        match client(request, stream) {
            Ok((socket, _)) => Ok(socket),
            Err(HandshakeError::Failure(tokio_tungstenite::tungstenite::Error::Http(answer))) => {
                Err(answer.status().as_u16())
            }
            Err(other) => panic!("{other}"),
        }
    })
    .await
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

/// Reads until the other side is gone.
async fn until_closed(mut socket: Socket) {
    blocking(move || while socket.read().is_ok() {}).await;
}

fn own_origin() -> String {
    format!("http://{APP}")
}

// shows: GTW-048
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_binary_ping_and_close_pass_both_ways() {
    let house = Plan::to(echo()).open();
    let mut socket = connect(&house, Some(&own_origin())).await.unwrap();
    let socket = blocking(move || {
        let large = Message::binary(vec![1; 200_000]);
        for message in [Message::text("hello"), Message::binary(vec![0, 255, 7]), large] {
            socket.send(message.clone()).unwrap();
            assert_eq!(socket.read().unwrap(), message);
        }
        socket.send(Message::Ping(vec![1, 2].into())).unwrap();
        assert_eq!(socket.read().unwrap(), Message::Pong(vec![1, 2].into()));
        socket
    });
    let mut socket = socket.await;
    assert_eq!(house.door.counts().tunnels_open, 1);
    socket.close(None).unwrap();
    until_closed(socket).await;
    eventually("the tunnel is gone", || house.door.counts().tunnels_open == 0).await;
    eventually("and its place is free", || house.door.counts().connections_open == 0).await;
    house.stop().await;
}

// shows: GTW-F07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_from_a_page_of_another_origin_is_refused_before_the_service_hears_of_it() {
    let (origin, to) = Origin::on_loopback().await;
    let house = Plan::to(to).open();
    for bad in [
        None,
        Some("null"),
        Some("http://gate.localhost"),
        Some("https://app.gate.localhost"),
        Some("http://evil.example"),
    ] {
        assert_eq!(connect(&house, bad).await.err(), Some(403), "{bad:?}");
    }
    assert_eq!((origin.requests(), house.door.counts().foreign_origin), (0, 5));
    house.stop().await;
}

// shows: GTW-F06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_closes_with_its_session() {
    let house = Plan::to(echo()).open();
    let socket = connect(&house, Some(&own_origin())).await.unwrap();
    let began = Instant::now();
    house.gate.end("ana");
    until_closed(socket).await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    eventually("it is counted", || house.door.counts().ended_with_session == 1).await;
    assert_eq!(connect(&house, Some(&own_origin())).await.err(), Some(401));
    house.stop().await;
}

fn upgrade_text(more: &str) -> String {
    format!(
        "GET /upgrade HTTP/1.1\r\nHost: {APP}\r\nCookie: holdfast-app=ana\r\nOrigin: http://{APP}\r\nConnection: Upgrade\r\nUpgrade: shout\r\n{more}\r\n"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_protocol_may_be_switched_to_and_bytes_pass_as_they_are() {
    let (_origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    // Neither the wait for a head nor that for a next request counts in a tunnel.
    plan.limits.head_timeout = Duration::from_millis(200);
    plan.limits.idle_timeout = Duration::from_millis(200);
    let house = plan.open();
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    stream.write_all(upgrade_text("").as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with("HTTP/1.1 101") && head.contains("upgrade: shout"), "{head}");
    tokio::time::sleep(Duration::from_millis(600)).await;
    stream.write_all(b"\0\n\r\nplain bytes\n").await.unwrap();
    let mut back = [0; 16];
    stream.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"\0\n\r\nPLAIN BYTES\n");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_with_a_body_or_to_http_2_is_none() {
    let (origin, to) = Origin::on_loopback().await;
    let house = Plan::to(to).open();
    let with_body = exchange(
        house.address,
        (upgrade_text("Content-Length: 3\r\nConnection: close\r\n") + "abc").as_bytes(),
    )
    .await;
    assert_eq!(status(&with_body), Some(400), "{with_body}");
    assert_eq!(origin.requests(), 0);
    let h2c = upgrade_text("HTTP2-Settings: x\r\n")
        .replace("shout", "h2c")
        .replace("/upgrade", "/x")
        .replace("Connection: Upgrade", "Connection: Upgrade, HTTP2-Settings, close");
    let answer = exchange(house.address, h2c.as_bytes()).await;
    assert_eq!(status(&answer), Some(200), "an ordinary request: {answer}");
    let headers = origin.last().headers;
    assert!(!headers.contains_key("upgrade") && !headers.contains_key("http2-settings"), "{headers:?}");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_does_not_switch_opens_nothing_for_what_was_sent_ahead() {
    let (origin, to) = Origin::on_loopback().await;
    let house = Plan::to(to).open();
    let refused = upgrade_text("").replace("/upgrade", "/x");
    let junk =
        exchange(house.address, format!("{refused}GET /hidden HTTP/1.1\nHost: {APP}\n\n").as_bytes()).await;
    assert!(status(&junk) == Some(200) && junk.contains("HTTP/1.1 400"), "{junk}");
    let bare = get("/hidden").replace("Cookie: holdfast-app=ana\r\n", "");
    let ahead = exchange(house.address, format!("{refused}{bare}").as_bytes()).await;
    assert!(status(&ahead) == Some(200) && ahead.contains("HTTP/1.1 303"), "it is asked who it is: {ahead}");
    assert!(origin.seen.lock().unwrap().iter().all(|seen| seen.target == "/x"));
    assert_eq!(house.door.counts().tunnels, 0);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tunnel_in_which_nothing_moves_for_long_is_closed() {
    let (origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.limits.stream_idle_timeout = Duration::from_millis(300);
    let house = plan.open();
    let answer = exchange(house.address, upgrade_text("").as_bytes()).await;
    assert_eq!(status(&answer), Some(101), "and then it was closed");
    eventually("the service's side too", || origin.open.load(Ordering::SeqCst) == 0).await;
    house.stop().await;
}
