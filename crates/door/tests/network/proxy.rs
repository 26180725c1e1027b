//! The ordinary way through, and what becomes of a service that does not behave.

use std::sync::Arc;
use std::time::{Duration, Instant};

use holdfast_door::To;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::house::{APP, House, Plan, eventually};
use crate::origin::Origin;
use crate::raw::{body, exchange, get, status};

async fn house() -> (House, Arc<Origin>) {
    let (origin, to) = Origin::on_loopback().await;
    (Plan::to(to).open(), origin)
}

fn with_method(method: &str, path: &str, content: &str) -> String {
    let text = get(path).replacen("GET", method, 1);
    text.replacen("Connection", &format!("Content-Length: {}\r\nConnection", content.len()), 1) + content
}

// shows: GTW-047, GTW-049
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_method_passes_with_its_body_and_its_query() {
    let (house, origin) = house().await;
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"] {
        let answer = exchange(house.address, with_method(method, "/a?b=c", "12345").as_bytes()).await;
        assert_eq!(body(&answer), format!("{method} /a?b=c 5"), "{answer}");
    }
    let head = exchange(house.address, get("/a").replacen("GET", "HEAD", 1).as_bytes()).await;
    assert_eq!((status(&head), body(&head)), (Some(200), ""));
    for n in [204, 304, 404, 500] {
        let answer = exchange(house.address, get(&format!("/status/{n}")).as_bytes()).await;
        assert_eq!(status(&answer), Some(n), "{answer}");
    }
    assert_eq!(origin.requests(), 12);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_may_listen_on_a_unix_socket() {
    let dir = tempfile::tempdir().unwrap();
    let (_origin, to) = Origin::on_socket(&dir.path().join("app.sock"));
    let house = Plan::to(to).open();
    let answer = exchange(house.address, with_method("POST", "/a", "123").as_bytes()).await;
    assert_eq!(body(&answer), "POST /a 3");
    house.stop().await;
}

// shows: GTW-049, GTW-F13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_session_a_page_is_sent_to_sign_in_and_everything_else_is_refused() {
    let (house, origin) = house().await;
    let bare = |text: String| text.replace("Cookie: holdfast-app=ana\r\n", "");
    let page = exchange(house.address, bare(get("/")).as_bytes()).await;
    assert_eq!(status(&page), Some(303));
    assert!(page.contains("location: https://gate.localhost/enter?service=app\r\n"), "{page}");
    let call = exchange(house.address, bare(with_method("POST", "/", "x")).as_bytes()).await;
    assert_eq!(status(&call), Some(401));
    let socket =
        bare(get("/upgrade")).replace("Connection: close", "Connection: upgrade\r\nUpgrade: websocket");
    let socket =
        exchange(house.address, socket.replacen("Upgrade:", "Connection: close\r\nUpgrade:", 1).as_bytes())
            .await;
    assert_eq!(status(&socket), Some(401));
    let refused = exchange(house.address, get("/").replace("=ana", "=nobody").as_bytes()).await;
    assert_eq!(status(&refused), Some(403));
    assert_eq!((origin.requests(), house.door.counts().not_admitted), (0, 4));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_to_a_service_are_used_again() {
    let (house, origin) = house().await;
    for n in 0..20 {
        let answer = exchange(house.address, get(&format!("/{n}")).as_bytes()).await;
        assert_eq!(status(&answer), Some(200));
        let none = exchange(house.address, get("/status/204").as_bytes()).await;
        assert_eq!(status(&none), Some(204));
        let post = exchange(house.address, with_method("POST", "/x", "12").as_bytes()).await;
        assert_eq!(status(&post), Some(200));
    }
    assert_eq!(origin.connections.load(std::sync::atomic::Ordering::SeqCst), 1);
    assert_eq!(house.door.counts().lanes_reused, 59);
    house.stop().await;
}

// shows: GTW-F19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_service_is_502_and_a_slow_one_504() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let house = Plan::to(To::Tcp(gone)).open();
    let answer = exchange(house.address, get("/").as_bytes()).await;
    assert_eq!(
        (status(&answer), body(&answer)),
        (Some(502), "The service did not answer. Nothing was sent twice.\n")
    );
    house.stop().await;

    let (origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.limits.first_byte_timeout = Duration::from_millis(200);
    let house = plan.open();
    let began = Instant::now();
    assert_eq!(status(&exchange(house.address, get("/never").as_bytes()).await), Some(504));
    assert!(began.elapsed() < Duration::from_secs(3));
    assert_eq!(status(&exchange(house.address, get("/large-head/100000").as_bytes()).await), Some(502));
    assert_eq!(
        status(&exchange(house.address, get("/switch").as_bytes()).await),
        Some(502),
        "nobody asked for it"
    );
    assert_eq!(status(&exchange(house.address, get("/large-head/20000").as_bytes()).await), Some(200));
    let counts = house.door.counts();
    assert_eq!((counts.gateway_timeout, counts.bad_gateway), (1, 2));
    eventually("an abandoned request closes its connection", || {
        origin.open.load(std::sync::atomic::Ordering::SeqCst) <= 1
    })
    .await;
    house.stop().await;
}

/// A service that answers one request on each connection and then, at the second, hangs up without a word.
async fn forgetful() -> (To, Arc<std::sync::Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = To::Tcp(listener.local_addr().unwrap());
    let heard: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    let hearing = heard.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let heard = hearing.clone();
            tokio::spawn(async move {
                for answers in [true, false] {
                    let mut text = Vec::new();
                    while !text.ends_with(b"\r\n\r\n") {
                        let Ok(byte) = stream.read_u8().await else { return };
                        text.push(byte);
                    }
                    let line = String::from_utf8(text).unwrap().lines().next().unwrap().to_owned();
                    heard.lock().unwrap().push(line);
                    if answers {
                        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
                    }
                }
            });
        }
    });
    (to, heard)
}

// shows: GTW-F19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_harmless_request_is_sent_again_and_only_when_nothing_was_heard() {
    let (to, heard) = forgetful().await;
    let house = Plan::to(to).open();
    let ask = async |method: &str, path: &str| {
        status(&exchange(house.address, get(path).replacen("GET", method, 1).as_bytes()).await)
    };
    assert_eq!(ask("GET", "/1").await, Some(200));
    assert_eq!(ask("GET", "/2").await, Some(200), "hung up on, and sent again on a fresh connection");
    assert_eq!(ask("POST", "/3").await, Some(502), "it may have been performed");
    assert_eq!(ask("GET", "/4").await, Some(200), "a fresh connection");
    assert_eq!(ask("DELETE", "/5").await, Some(502));
    let heard = heard.lock().unwrap().join("\n");
    insta::assert_snapshot!(heard, @r"
    GET /1 HTTP/1.1
    GET /2 HTTP/1.1
    GET /2 HTTP/1.1
    POST /3 HTTP/1.1
    GET /4 HTTP/1.1
    DELETE /5 HTTP/1.1
    ");
    assert_eq!(house.door.counts().repeated, 1);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fresh_connection_that_hangs_up_is_not_tried_again() {
    let (house, origin) = house().await;
    assert_eq!(status(&exchange(house.address, get("/hang-up").as_bytes()).await), Some(502));
    assert_eq!(origin.requests(), 1);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_requests_for_one_service_are_told_to_wait() {
    let (origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.limits.lanes_max = 2;
    plan.limits.first_byte_timeout = Duration::from_secs(5);
    let house = plan.open();
    let held: Vec<_> = (0..2)
        .map(|_| {
            let address = house.address;
            tokio::spawn(async move { exchange(address, get("/later/1500").as_bytes()).await })
        })
        .collect();
    eventually("both are under way", || origin.requests() == 2).await;
    let answer = exchange(house.address, get("/x").as_bytes()).await;
    assert_eq!(status(&answer), Some(503), "{answer}");
    assert!(answer.contains("retry-after: 1"));
    for held in held {
        assert_eq!(status(&held.await.unwrap()), Some(200));
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_beyond_the_services_limit_is_413_however_its_length_is_said() {
    let (origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.body_bytes_max = Some(1_000);
    let house = plan.open();
    let said = exchange(house.address, with_method("POST", "/x", &"y".repeat(1_001)).as_bytes()).await;
    assert_eq!(status(&said), Some(413), "{said}");
    assert_eq!(origin.requests(), 0, "nothing was forwarded");
    let chunks = format!("{:x}\r\n{}\r\n", 600, "y".repeat(600)).repeat(2);
    let text = get("/x").replacen("GET", "POST", 1).replacen(
        "Connection: close",
        "Transfer-Encoding: chunked\r\nConnection: close",
        1,
    );
    let unsaid = exchange(house.address, format!("{text}{chunks}0\r\n\r\n").as_bytes()).await;
    assert_eq!(status(&unsaid), Some(413), "{unsaid}");
    let fits = exchange(house.address, with_method("POST", "/x", &"y".repeat(1_000)).as_bytes()).await;
    assert_eq!(body(&fits), "POST /x 1000");
    assert!(origin.seen.lock().unwrap().iter().all(|seen| seen.body <= 1_000));
    assert_eq!(house.door.counts().body_too_large, 2);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_comes_before_the_body_is_passed_on() {
    let (house, _origin) = house().await;
    let text = with_method("POST", "/early", "x").replacen("Content-Length: 1", "Content-Length: 100000", 1);
    let answer = exchange(house.address, text.as_bytes()).await;
    assert_eq!((status(&answer), body(&answer)), (Some(413), "enough"), "{APP}");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_breaks_off_is_not_passed_off_as_whole() {
    let (origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.limits.stream_idle_timeout = Duration::from_millis(300);
    let house = plan.open();
    let answer = exchange(house.address, get("/half").as_bytes()).await;
    assert!(answer.contains("content-length: 10"), "{answer}");
    assert_eq!(body(&answer), "12345", "five bytes short, and closed");
    assert_eq!(origin.requests(), 1);
    house.stop().await;
}

/// A service that reads a head and sends back exactly these bytes, then closes.
async fn canned(bytes: &'static str) -> House {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = To::Tcp(listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let Ok(byte) = stream.read_u8().await else { break };
                head.push(byte);
            }
            let _ = stream.write_all(bytes.as_bytes()).await;
        }
    });
    Plan::to(to).open()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_answers_are_passed_on_as_what_they_mean() {
    for (name, method, bytes, expected, content) in [
        (
            "a length without a body",
            "GET",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nETag: x\r\n\r\n",
            304,
            "",
        ),
        ("a length for HEAD", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 200, ""),
        ("until the end", "GET", "HTTP/1.1 200 OK\r\n\r\nhello", 200, "5\r\nhello\r\n0\r\n\r\n"),
        (
            "first a hint",
            "GET",
            "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            200,
            "ok",
        ),
        ("HTTP/1.0", "GET", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok"),
        (
            "two lengths",
            "GET",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\nhello",
            502,
            "",
        ),
        ("no HTTP", "GET", "220 mail.example ESMTP\r\n\r\n", 502, ""),
        ("nothing", "GET", "", 502, ""),
        ("a strange name", "GET", "HTTP/1.1 200 OK\r\nX Y: z\r\n\r\n", 502, ""),
        (
            "a switch nobody asked for",
            "GET",
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
            502,
            "",
        ),
    ] {
        let house = canned(bytes).await;
        let answer = exchange(house.address, get("/").replacen("GET", method, 1).as_bytes()).await;
        assert_eq!(status(&answer), Some(expected), "{name}: {answer}");
        if expected != 502 {
            assert_eq!(body(&answer), content, "{name}: {answer}");
        }
        assert_eq!(answer.matches("HTTP/1.").count(), 1, "{name}: {answer}");
        house.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_service_sends_after_its_answer_is_nobodys_answer() {
    let house = canned(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged",
    )
    .await;
    for _ in 0..5 {
        let answer = exchange(house.address, get("/").as_bytes()).await;
        assert_eq!(body(&answer), "ok", "{answer}");
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_asks_first_is_told_to_go_on() {
    let (house, origin) = house().await;
    let text = with_method("PUT", "/x", "").replacen(
        "Content-Length: 0",
        "Content-Length: 5\r\nExpect: 100-continue",
        1,
    );
    let mut stream = tokio::net::TcpStream::connect(house.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut buffer = [0; 25];
    stream.read_exact(&mut buffer).await.unwrap();
    assert_eq!(&buffer, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"hello").await.unwrap();
    assert_eq!(body(&crate::raw::read_to_end(&mut stream).await), "PUT /x 5");
    assert!(!origin.last().headers.contains_key("expect"));
    house.stop().await;
}
