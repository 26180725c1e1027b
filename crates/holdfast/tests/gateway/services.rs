//! Programs behind the door: who may use them, what they see of us, and what they can do to us.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request as Asked;
use axum::response::Response;
use axum::routing::any;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use holdfast_journal::SystemClock;
use holdfast_types::Clock as _;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{self, HandshakeError, Message};

use crate::browser::{Browser, Reply, an_address, follow, raw, send, whole};
use crate::house::House;

/// A program of somebody else's that tells what it was asked, counts it, and tries to plant cookies.
#[derive(Clone, Default)]
pub struct Echo {
    /// How often each address was asked for.
    pub asked: Arc<Mutex<BTreeMap<String, u32>>>,
}

impl Echo {
    /// Serves on a port of its own until the test ends.
    pub async fn open() -> (Echo, u16) {
        let echo = Echo::default();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let app = echo.clone();
        let routes = Router::new()
            .route("/stream", any(|| async { Response::new(Body::from_stream(ticks())) }))
            .route(
                "/events",
                any(|| async { ([("content-type", "text/event-stream")], Body::from_stream(ticks())) }),
            )
            .fallback(move |request: Asked| app.clone().answer(request));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        (echo, port)
    }

    async fn answer(self, request: Asked) -> Response {
        let (parts, body) = request.into_parts();
        let target = parts.uri.to_string();
        *self.asked.lock().unwrap().entry(target.clone()).or_default() += 1;
        let bytes = body.collect().await.map(|body| body.to_bytes().len()).unwrap_or_default();
        let headers: Vec<(String, String)> = parts
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        let told =
            json!({ "method": parts.method.as_str(), "target": target, "headers": headers, "bytes": bytes });
        let mut answer = Response::new(Body::from(told.to_string()));
        for cookie in [
            "holdfast=planted; Path=/; Domain=localhost",
            "holdfast-pre=planted; Path=/",
            "holdfast-service=planted; Path=/",
            "holdfast-knock=planted; Path=/",
            "__Host-holdfast=planted; Path=/; Secure",
            "theme=dark; Path=/; Domain=localhost",
        ] {
            answer.headers_mut().append("set-cookie", cookie.parse().unwrap());
        }
        answer.headers_mut().insert("clear-site-data", "\"cookies\"".parse().unwrap());
        answer
    }

    fn saw(&self, part: &str) -> bool {
        self.asked.lock().unwrap().keys().any(|target| target.contains(part))
    }
}

/// A line every tenth of a second, for ever.
fn ticks() -> impl tokio_stream::Stream<Item = Result<&'static str, std::convert::Infallible>> {
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        while sender.send(Ok("data: tick\n\n")).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    tokio_stream::wrappers::ReceiverStream::new(receiver)
}

/// A program that speaks WebSocket and says back what it hears.
pub fn sockets() -> u16 {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let Ok(mut socket) = tungstenite::accept(stream) else { return };
                while let Ok(message) = socket.read() {
                    if message.is_text() && socket.send(message).is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

pub fn settings(echo: u16, socket: u16) -> String {
    format!(
        "gateway:\n  services:\n    - {{ name: echo, host: echo.localhost, to: \"127.0.0.1:{echo}\", role: operator }}\n    \
         - {{ name: sock, host: sock.localhost, to: \"127.0.0.1:{socket}\", role: viewer }}\n"
    )
}

/// A browser that has opened a service: the cookies of that origin, and the host it is at.
#[derive(Clone)]
pub struct Visitor {
    pub host: String,
    pub cookie: String,
    pub from: Ipv4Addr,
    pub port: u16,
}

impl Visitor {
    /// A browser that has nothing of a service yet.
    pub fn stranger(name: &str, port: u16) -> Visitor {
        Visitor { host: format!("{name}.localhost:{port}"), cookie: String::new(), from: an_address(), port }
    }

    /// Goes the way a browser goes: to the gateway, to the service to knock, with the knock to the gateway, with a ticket to the service, with a
    /// cookie to the page.
    pub async fn of(browser: &mut Browser, name: &str) -> Visitor {
        let (mut visitor, target) = Visitor::with_ticket(browser, name).await;
        let entered = visitor.get(&target).await;
        assert!((300..400).contains(&entered.status), "{entered:?}");
        assert_eq!(entered.location(), "/start");
        let set = entered.header("set-cookie").to_owned();
        assert!(set.starts_with("holdfast-service=") && !set.contains("Domain"), "{set}");
        assert!(set.contains("HttpOnly") && set.contains("SameSite=Lax"), "{set}");
        visitor.cookie = format!("{}; {}", visitor.cookie, set.split(';').next().unwrap());
        visitor
    }

    /// The same up to what the ticket would be brought with.
    pub async fn with_ticket(browser: &mut Browser, name: &str) -> (Visitor, String) {
        let mut visitor = Visitor { from: browser.from, ..Visitor::stranger(name, browser.port) };
        let begins = browser.get(&format!("/open/{name}?to=/start")).await.is(303);
        let knocked = visitor.get(&visitor.here(&begins)).await.is(303);
        let set = knocked.header("set-cookie").to_owned();
        assert!(set.starts_with("holdfast-knock=") && !set.contains("Domain"), "{set}");
        for part in ["HttpOnly", "SameSite=Lax", "Max-Age=600"] {
            assert!(set.contains(part), "{set}");
        }
        visitor.cookie = set.split(';').next().unwrap().to_owned();
        let given = browser.get(&on_the_gateway(browser, &knocked)).await.is(303);
        let target = visitor.here(&given);
        (visitor, target)
    }

    /// Where an answer leads to on this service.
    fn here(&self, reply: &Reply) -> String {
        let to = reply.location().strip_prefix(&format!("http://{}", self.host));
        to.unwrap_or_else(|| panic!("{reply:?}")).to_owned()
    }

    pub fn request(&self, method: &str, target: &str) -> http::request::Builder {
        let request = Request::builder().method(method).uri(target).header("host", &self.host);
        if self.cookie.is_empty() { request } else { request.header("cookie", &self.cookie) }
    }

    pub async fn get(&self, target: &str) -> Reply {
        self.send(self.request("GET", target).body(Full::default()).unwrap()).await
    }

    pub async fn send(&self, request: Request<Full<hyper::body::Bytes>>) -> Reply {
        whole(send(self.from, self.port, request).await.unwrap()).await.unwrap()
    }

    /// A socket through the door, or the status it was refused with.
    pub fn socket(&self, origin: &str) -> Result<Socket, u16> {
        let mut request = format!("ws://{}/socket", self.host).into_client_request().unwrap();
        request.headers_mut().insert("cookie", self.cookie.parse().unwrap());
        request.headers_mut().insert("origin", origin.parse().unwrap());
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        match tungstenite::client(request, stream) {
            Ok((socket, _)) => Ok(socket),
            Err(HandshakeError::Failure(tungstenite::Error::Http(answer))) => Err(answer.status().as_u16()),
            Err(e) => panic!("{e}"),
        }
    }
}

/// Where an answer leads to on the gateway.
fn on_the_gateway(browser: &Browser, reply: &Reply) -> String {
    let to = reply.location().strip_prefix(&browser.origin());
    to.unwrap_or_else(|| panic!("{reply:?}")).to_owned()
}

pub type Socket = tungstenite::WebSocket<TcpStream>;

/// A session is over for what flows within this time.
const SOON: Duration = Duration::from_secs(5);

// shows: GTW-047, GTW-048, GTW-049, GTW-F01, GTW-F03, GTW-F06, GTW-F07, GTW-F19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_sees_nothing_of_ours_and_reaches_nothing_of_ours() {
    let (echo, echo_port) = Echo::open().await;
    let house = House::open(&settings(echo_port, sockets()));
    let mut owner = house.owner().await;
    let mut operator = house.invited(&mut owner, "Olga", "operator").await;
    let mut viewer = house.invited(&mut owner, "Vera", "viewer").await;

    who_may_open_it(&house, &echo, &mut operator, &mut viewer).await;
    let visitor = Visitor::of(&mut operator, "echo").await;
    what_it_sees(&visitor, &operator).await;
    what_it_says(&house, &visitor, &mut operator).await;
    tickets(&house, &mut operator).await;
    somebody_elses_ticket(&house, &mut operator, &mut owner).await;
    browsers_without_cookies(&house, &mut operator).await;
    other_sites(&house, &visitor, &mut viewer).await;
    confusing_requests(&echo, &visitor).await;

    // Everything that flows ends with the session.
    let stream = visitor.request("GET", "/stream");
    let mut stream = follow(visitor.from, visitor.port, stream).await.unwrap();
    assert!(stream.next(Duration::from_secs(5)).await.is_some(), "it flows");
    let sock = Visitor::of(&mut operator, "sock").await;
    let own = format!("http://{}", sock.host);
    let mut socket = sock.socket(&own).unwrap();
    socket.send(Message::text("hello")).unwrap();
    assert_eq!(socket.read().unwrap(), Message::text("hello"));
    operator.post("/auth/logout", json!({})).await.is(303);
    assert!(stream.ended(SOON).await, "a stream ends with the session");
    match socket.read() {
        Err(tungstenite::Error::Io(e)) => {
            assert_ne!(e.kind(), std::io::ErrorKind::WouldBlock, "a socket ends with the session")
        }
        Err(_) => {}
        Ok(message) => assert!(message.is_close(), "{message:?}"),
    }
    let after = visitor.get("/after").await;
    assert!((300..400).contains(&after.status), "{after:?}");
    assert!(!echo.saw("/after"));
}

async fn who_may_open_it(house: &House, echo: &Echo, operator: &mut Browser, viewer: &mut Browser) {
    let stranger = Visitor::stranger("echo", house.port);
    let sent_away = stranger.get("/secret?x=1").await;
    assert!((300..400).contains(&sent_away.status), "{sent_away:?}");
    let begins = format!("{}/open/echo?to=%2Fsecret%3Fx%3D1&knock=", house.origin());
    assert!(sent_away.location().starts_with(&begins), "{sent_away:?}");
    let posted = stranger.request("POST", "/secret").body(Full::from("x")).unwrap();
    let posted = stranger.send(posted).await.is(401);
    assert_eq!(posted.header("set-cookie"), "", "only a page knocks");
    assert!(!echo.saw("/secret"), "nobody is passed on unknown");
    // The role counts on the way there and at the door.
    viewer.get("/open/echo").await.is(403);
    house.has_recorded(viewer.from, "role");
    let other = Visitor::of(viewer, "sock").await;
    let mut forged = other.cookie.clone();
    for cookie in [other.cookie.clone(), {
        forged.pop();
        forged
    }] {
        let reply = Visitor { host: stranger.host.clone(), cookie, from: an_address(), port: house.port }
            .get("/secret")
            .await;
        assert!(reply.status >= 300, "the cookie of one service is nothing to another: {reply:?}");
    }
    assert!(!echo.saw("/secret"));
    operator.get("/open/nothing").await.is(404);
}

async fn what_it_sees(visitor: &Visitor, operator: &Browser) {
    let cookies = format!("{}; {}; theme=light", operator.cookies(), visitor.cookie);
    let token = format!("hft_{}", "a".repeat(43));
    let request = Request::builder()
        .method("PUT")
        .uri("/seen?x=1")
        .header("host", &visitor.host)
        .header("cookie", cookies)
        .header("origin", format!("http://{}", visitor.host))
        .header("authorization", format!("Bearer {token}"))
        .header("x-holdfast-identity", "forged")
        .header("x-holdfast-csrf", "forged")
        .header("x-forwarded-for", "192.0.2.66")
        .header("x-webauth-user", "root")
        .header("remote-user", "root")
        .body(Full::from(vec![b'x'; 2 << 20]))
        .unwrap();
    let reply = visitor.send(request).await.is(200);
    assert_eq!((&reply.json["method"], &reply.json["bytes"]), (&json!("PUT"), &json!(2 << 20)));
    let seen: BTreeMap<String, String> =
        serde_json::from_value::<Vec<(String, String)>>(reply.json["headers"].clone())
            .unwrap()
            .into_iter()
            .collect();
    assert_eq!(seen.get("cookie").map(String::as_str), Some("theme=light"));
    assert_eq!(seen.get("authorization"), None);
    assert_eq!(seen.get("x-forwarded-for"), Some(&visitor.from.to_string()));
    assert!(!seen.contains_key("x-holdfast-csrf") && !seen.contains_key("x-webauth-user"), "{seen:?}");
    let all = reply.text.clone();
    for secret in operator.jar.values().chain([&token]) {
        assert!(!all.contains(secret.as_str()), "{all}");
    }
    assert!(!all.contains("forged") && !all.contains("root"), "{all}");
    // It is told who asks, in a word that is for it alone.
    let said = seen["x-holdfast-identity"].split('.').next().unwrap();
    let said: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(said).unwrap()).unwrap();
    assert_eq!((&said["service"], &said["person"]), (&json!("echo"), &json!("web:olga")), "{said}");
}

async fn what_it_says(house: &House, visitor: &Visitor, operator: &mut Browser) {
    let reply = visitor.get("/plants").await.is(200);
    let set: Vec<&str> =
        reply.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap()).collect();
    assert_eq!(set, ["theme=dark; Path=/"], "no cookie of ours, and none beyond its own host");
    assert_eq!(reply.header("clear-site-data"), "", "it empties nobody's jar");
    // What a service could take from its own requests opens nothing of ours.
    let value = visitor.cookie.rsplit_once('=').unwrap().1;
    let mut thief = house.browser();
    thief.jar.insert(operator.session_name().unwrap(), value.into());
    thief.jar.insert("holdfast-service".into(), value.into());
    assert_eq!(thief.get("/").await.is(303).location(), "/login");
    thief.get("/api/v1/status").await.is(401);
    operator.get("/").await.is(200);
}

async fn tickets(house: &House, operator: &mut Browser) {
    let to = operator.get("/open/echo?to=//evil.example").await.is(303).location().to_owned();
    assert!(!to.contains("evil.example"), "{to}");
    let (visitor, target) = Visitor::with_ticket(operator, "echo").await;
    let sock = Visitor { host: visitor.host.replace("echo", "sock"), ..visitor.clone() };
    let ticket = target.split_once("ticket=").unwrap().1.split('&').next().unwrap().to_owned();
    let (session, rest) = ticket.split_once('.').unwrap();
    let (until, signature) = rest.split_once('.').unwrap();
    let longer = until.parse::<u64>().unwrap() + 1_000_000;
    for (visitor, ticket) in [
        (&visitor, format!("{session}.{longer}.{signature}")),
        (&visitor, format!("{session}..{signature}")),
        (&visitor, format!("{session}.{signature}")),
        (&visitor, String::new()),
        (&sock, ticket.clone()),
    ] {
        let reply = visitor.get(&format!("/.holdfast/enter?ticket={ticket}&to=/")).await;
        assert_eq!(reply.header("set-cookie"), "", "{ticket}: {reply:?}");
        assert!(reply.location().starts_with(&format!("{}/open/", house.origin())), "{reply:?}");
    }
    house.has_recorded(visitor.from, "ticket");
    // It lasts a minute, and is nothing once the session is over.
    let now = u64::try_from(SystemClock::new().now().as_micros()).unwrap();
    assert!(until.parse::<u64>().unwrap() <= now + 60_000_000, "a ticket is good for a minute at most");
    let led = visitor.get(&target.replace("to=%2Fstart", "to=%2F%2Fevil.example")).await;
    assert_eq!(led.location(), "/");
    assert_ne!(led.header("set-cookie"), "", "it was good until now");
    let again = visitor.get(&target).await;
    assert_eq!(again.header("set-cookie"), "", "and is good once: {again:?}");
}

/// Whoever has an account sends somebody else's browser to a service with a ticket of their own, so that what is typed there is theirs to read.
async fn somebody_elses_ticket(house: &House, attacker: &mut Browser, victim: &mut Browser) {
    let (theirs, target) = Visitor::with_ticket(attacker, "echo").await;
    // A browser that was never there, and one that has knocked for itself.
    let fresh = Visitor::stranger("echo", house.port);
    let refused = fresh.get(&target).await.is(303);
    assert!(!refused.header("set-cookie").contains("holdfast-service"), "{refused:?}");
    house.has_recorded(fresh.from, "ticket");
    let (knocked, own) = Visitor::with_ticket(victim, "echo").await;
    assert_ne!(own, target);
    let refused = knocked.get(&target).await.is(303);
    assert_eq!(refused.header("set-cookie"), "", "{refused:?}");
    house.has_recorded(knocked.from, "ticket");
    // They go on as who they are.
    let given = victim.get(&on_the_gateway(victim, &refused)).await.is(303);
    let entered = knocked.get(&knocked.here(&given)).await.is(303);
    let mine = entered.header("set-cookie").split(';').next().unwrap().to_owned();
    let visitor = Visitor { cookie: mine, ..knocked.clone() };
    let seen = visitor.get("/whose").await.is(200).text;
    let word = seen.split_once("\"x-holdfast-identity\",\"").unwrap().1.split('.').next().unwrap();
    let word: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(word).unwrap()).unwrap();
    assert_eq!(word["person"], "web:owner", "{word}");
    // Whoever says beforehand that it is the second time gains nothing either.
    let lost = fresh.get(&format!("{target}&again=1")).await.is(303);
    assert_eq!(lost.header("set-cookie"), "");
    assert_eq!(on_the_gateway(victim, &lost), "/open/echo?lost=1");
    // Nor does a hash of a knock of theirs in the way to the gateway: the ticket for it is nothing in this browser.
    let begun = theirs.get("/start").await.is(303);
    let for_them = victim.get(&on_the_gateway(victim, &begun)).await.is(303);
    assert_eq!(knocked.get(&knocked.here(&for_them)).await.header("set-cookie"), "");
    // Nothing of it used the ticket up where it belongs.
    assert!(theirs.get(&target).await.is(303).header("set-cookie").starts_with("holdfast-service="));
}

/// Sent to and fro until there is something to read, with or without keeping the service's cookies.
async fn browsers_without_cookies(house: &House, operator: &mut Browser) {
    let planted = format!("holdfast-knock={}; holdfast-knock={}", "a".repeat(43), "b".repeat(43));
    for cookie in ["", &planted, "holdfast-service=a; holdfast-service=b"] {
        let visitor = Visitor { cookie: cookie.to_owned(), ..Visitor::stranger("echo", house.port) };
        let mut reply = visitor.get("/start").await;
        let mut steps = 0;
        while reply.status == 303 {
            assert!(steps < 6, "{cookie:?}: sent round: {reply:?}");
            steps += 1;
            reply = match reply.location().strip_prefix(&house.origin()) {
                Some(path) => operator.get(path).await,
                None => visitor.get(&visitor.here(&reply)).await,
            };
        }
        assert!(reply.is(403).text.contains("keeps no cookies for echo.localhost"), "{cookie:?}");
    }
}

async fn other_sites(house: &House, visitor: &Visitor, viewer: &mut Browser) {
    let own = format!("http://{}", visitor.host);
    let sock = Visitor::of(viewer, "sock").await;
    for origin in ["https://evil.example", "null", &house.origin(), &format!("http://{}", sock.host)] {
        let request = visitor.request("POST", "/crossing").header("origin", origin).body(Full::from("x"));
        assert_eq!(visitor.send(request.unwrap()).await.status, 403, "{origin}");
    }
    let fetched =
        visitor.request("POST", "/crossing").header("origin", &own).header("sec-fetch-site", "same-site");
    assert_eq!(visitor.send(fetched.body(Full::from("x")).unwrap()).await.status, 403);
    house.has_recorded(visitor.from, "origin");
    let good = visitor.request("POST", "/posted").header("origin", &own).body(Full::from("x"));
    visitor.send(good.unwrap()).await.is(200);
    for origin in ["https://evil.example", "null", &own] {
        assert_eq!(sock.socket(origin).err(), Some(403), "{origin}");
    }
    assert!(sock.socket(&format!("http://{}", sock.host)).is_ok());
}

/// What two programs could read in two ways is not passed on.
async fn confusing_requests(echo: &Echo, visitor: &Visitor) {
    let (host, cookie) = (&visitor.host, &visitor.cookie);
    let begin = |line: &str| format!("{line}\r\nHost: {host}\r\nCookie: {cookie}\r\n");
    let hidden = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    let post = begin("POST /outer HTTP/1.1");
    let length = hidden.len();
    for (what, request) in [
        (
            "length and chunks",
            format!("{post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"),
        ),
        ("two lengths", format!("{post}Content-Length: 0\r\nContent-Length: {length}\r\n\r\n{hidden}")),
        ("a list of lengths", format!("{post}Content-Length: 0, {length}\r\n\r\n{hidden}")),
        ("a signed length", format!("{post}Content-Length: +0\r\n\r\n{hidden}")),
        ("other chunks", format!("{post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{hidden}")),
        ("chunks twice", format!("{post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{hidden}")),
        ("a space before the colon", format!("{post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n{hidden}")),
        ("a folded line", format!("{post}X: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}")),
        ("a bare line feed", format!("{post}X: a\nContent-Length: 0\r\n\r\n{hidden}")),
        ("a chunk's extension", format!("{post}Transfer-Encoding: chunked\r\n\r\n0;a=\n{hidden}\r\n\r\n")),
        ("a space in the address", begin("GET /outer HTTP/1.1 /smuggled HTTP/1.1") + "\r\n"),
        (
            "an upgrade to HTTP/2",
            begin("GET /outer HTTP/1.1") + "Connection: upgrade, close\r\nUpgrade: h2c\r\n\r\n" + hidden,
        ),
    ] {
        let request = request.replacen(
            "\r\nHost",
            "\r\nConnection: close\r\nHost",
            usize::from(!what.contains("upgrade")),
        );
        let answer = raw(an_address(), visitor.port, request.as_bytes()).await;
        assert!(!echo.saw("/smuggled"), "{what}: {answer}");
        if !what.contains("upgrade") {
            assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{what}: {answer}");
        }
    }
    for target in [
        "/a/../secret",
        "/a/%2e%2e/secret",
        "/a\\..\\secret",
        "/a%00b",
        "/a%2fsecret",
        "//secret/..",
        "/.holdfast/../secret",
    ] {
        let answer = raw(
            an_address(),
            visitor.port,
            (begin(&format!("GET {target} HTTP/1.1")) + "Connection: close\r\n\r\n").as_bytes(),
        )
        .await;
        let status = answer.split(' ').nth(1).unwrap_or("closed").to_owned();
        // Handed on as it was written, or refused; never turned into something else.
        let same = echo.asked.lock().unwrap().keys().any(|seen| seen == target);
        assert!(same || status.starts_with('4') || status.starts_with('3'), "{target}: {answer}");
        assert!(!echo.asked.lock().unwrap().contains_key("/secret"), "{target}");
    }
}
