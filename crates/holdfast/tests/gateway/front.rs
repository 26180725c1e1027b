//! The same house behind a real nginx that ends TLS.

use std::io::ErrorKind;
use std::time::Duration;

use holdfast_testkit::authority::{Root, a_port};
use http_body_util::{BodyExt as _, Full};
use serde_json::json;
use tokio_tungstenite::tungstenite::{self, Message};

use crate::browser::{Reply, an_address, raw};
use crate::house::House;
use crate::nginx::Nginx;
use crate::phone::Phone;
use crate::running::{Looking as _, wait_until};
use crate::services::{Echo, sockets};

pub const GATE: &str = "gate.localhost";

pub struct Behind {
    pub house: House,
    pub nginx: Nginx,
    plain: u16,
    root: Root,
    _dir: tempfile::TempDir,
}

/// A house with services, open to 127.0.0.1 alone, which is where nginx connects from.
pub async fn behind() -> (Behind, Echo) {
    behind_of("", |_| ()).await
}

/// The same with more settings, and with something in it before it runs.
pub async fn behind_of(more: &str, before: impl FnOnce(&House)) -> (Behind, Echo) {
    let (echo, echo_port) = Echo::open().await;
    let mut house = House::planned("");
    let (port, plain) = (a_port(), a_port());
    house.home.configure(&format!(
        "gateway:\n  address: https://{GATE}:{port}\n  proxies: [127.0.0.1]\n  tls: {{ from: proxy }}\n  services:\n    \
         - {{ name: echo, host: echo.{GATE}, to: \"127.0.0.1:{echo_port}\", role: viewer }}\n    \
         - {{ name: sock, host: sock.{GATE}, to: \"127.0.0.1:{}\", role: viewer }}\n{more}",
        sockets()
    ));
    before(&house);
    house.start();
    let (root, dir) = (Root::new(), tempfile::tempdir().unwrap());
    let pair = root.sign(&[GATE, &format!("*.{GATE}")]);
    let names = format!("{GATE} *.{GATE}");
    let nginx = Nginx::start(dir.path(), &names, &pair, (port, plain), house.port);
    (Behind { house, nginx, plain, root, _dir: dir }, echo)
}

impl Behind {
    pub fn phone(&self) -> Phone {
        Phone::new(GATE, self.nginx.port, &self.root.pem)
    }
}

/// Goes to a service as a browser does, until there is an answer.
async fn opened(phone: &mut Phone, name: &str, path: &str) -> Reply {
    let (mut host, mut path) = (format!("{name}.{GATE}"), path.to_owned());
    for _ in 0..8 {
        let request = phone.request(&host, "GET", &path).body(Full::default()).unwrap();
        let reply = phone.send(&host, request).await;
        if reply.status != 303 {
            return reply;
        }
        let to = reply.location().to_owned();
        if let Some(rest) = to.strip_prefix("https://") {
            let (authority, rest) = rest.split_once('/').unwrap();
            host = authority.split(':').next().unwrap().to_owned();
            path = format!("/{rest}");
        } else {
            path = to;
        }
    }
    panic!("sent round to {host}{path}");
}

// shows: GTW-031, GTW-047, GTW-048, GTW-F06, GTW-F20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_a_proxy_people_sign_in_services_sockets_and_events_pass_and_nobody_else_is_heard() {
    let (mut behind, echo) = behind().await;
    let mut phone = behind.phone();
    let done = phone.register(&behind.house).await;
    for cookie in done.headers.get_all("set-cookie") {
        let cookie = cookie.to_str().unwrap();
        assert!(cookie.starts_with("__Host-holdfast") && cookie.contains("; Secure"), "{cookie}");
    }
    phone.sign_out().await;
    phone.sign_in().await;
    let page = phone.get("/").await.is(200);
    assert!(page.header("strict-transport-security").contains("max-age="));
    // Who it was is in the journal, and it was not the proxy.
    let entries = behind.house.home.bodies("gateway.session.started");
    assert!(entries.iter().all(|body| body["from"] == phone.from.to_string()), "{entries:?}");

    // A service under its own name, who is told how it was called and by whom.
    let seen = opened(&mut phone, "echo", "/seen?x=1").await.is(200);
    assert_eq!(seen.json["target"], "/seen?x=1");
    for (name, value) in [
        ("x-forwarded-for", phone.from.to_string()),
        ("x-forwarded-proto", "https".into()),
        ("x-forwarded-host", format!("echo.{GATE}:{}", phone.port)),
    ] {
        assert!(seen.text.contains(&format!("[\"{name}\",\"{value}\"]")), "{name}: {}", seen.text);
    }
    assert!(
        !seen.text.contains("holdfast-service") && !seen.text.contains("holdfast-knock"),
        "{}",
        seen.text
    );
    assert!(echo.asked.lock().unwrap().contains_key("/seen?x=1"));

    events_pass(&phone).await;
    a_socket_passes(&mut phone).await;
    strangers(&behind, &phone).await;
    behind.house.stop().well();
}

/// As they come, not a bufferful at a time: from a service, and of our own.
async fn events_pass(phone: &Phone) {
    let echo = format!("echo.{GATE}");
    for (host, path) in [(echo.as_str(), "/events"), (GATE, "/live?page=/")] {
        let request = phone.request(host, "GET", path).header("accept", "text/event-stream");
        let answer = phone.answer(host, request.body(Full::default()).unwrap()).await;
        assert_eq!(answer.status(), 200, "{host}{path}");
        let mut body = answer.into_body();
        let first = tokio::time::timeout(Duration::from_secs(5), body.frame()).await;
        assert!(first.is_ok_and(|frame| frame.is_some_and(|frame| frame.is_ok())), "{host}{path}");
    }
}

async fn a_socket_passes(phone: &mut Phone) {
    let host = format!("sock.{GATE}");
    // The program behind answers nothing else than sockets; the way there sets the cookie.
    let _ = opened(phone, "sock", "/").await;
    let own = format!("https://{host}:{}", phone.port);
    for origin in [&own.replace("https", "http"), "https://evil.example"] {
        assert!(phone.socket(&host, origin).is_err(), "{origin}");
    }
    let mut socket = phone.socket(&host, &own).unwrap();
    socket.send(Message::text("hello")).unwrap();
    assert_eq!(socket.read().unwrap(), Message::text("hello"));
    // It ends with the session, through the proxy too.
    phone.sign_out().await;
    match socket.read() {
        Err(tungstenite::Error::Io(e)) => {
            assert_ne!(e.kind(), ErrorKind::WouldBlock, "it ends with the session")
        }
        Err(_) => {}
        Ok(message) => assert!(message.is_close(), "{message:?}"),
    }
}

/// Plain HTTP: past the proxy from an address that was not declared, and to the proxy's own plain port.
async fn strangers(behind: &Behind, phone: &Phone) {
    let request = |headers: &str| {
        format!(
            "GET /login?x=1 HTTP/1.1\r\nHost: {GATE}:{}\r\n{headers}Connection: close\r\n\r\n",
            behind.nginx.port
        )
    };
    let forged = request("X-Forwarded-Proto: https\r\nX-Forwarded-For: 127.0.0.1\r\n");
    let stranger = an_address();
    assert_eq!(raw(stranger, behind.house.port, forged.as_bytes()).await, "", "not a word");
    wait_until("it is written down", || {
        let refused = behind.house.home.bodies("gateway.request.refused");
        refused
            .iter()
            .any(|body| body["why"] == "door" && body["most"]["plain"][0]["from"] == stranger.to_string())
    });
    let sent_on = raw(phone.from, behind.plain, request("").as_bytes()).await;
    assert!(sent_on.starts_with("HTTP/1.1 308"), "{sent_on}");
    let there = format!("https://{GATE}:{}/login?x=1", behind.nginx.port);
    assert!(sent_on.to_lowercase().contains(&format!("location: {there}")), "{sent_on}");
}

// shows: GTW-F20, GTW-F30
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_a_proxy_tries_are_counted_for_whoever_makes_them_whatever_they_say_about_themselves() {
    let (mut behind, _echo) = behind().await;
    let mut thief = behind.phone();
    let mut looked_at = 0;
    for n in 0..60 {
        // As if each try came from somewhere else, by way of the proxy.
        let forged = format!("203.0.113.{n}, 127.0.0.1");
        let request = thief
            .request(GATE, "POST", "/auth/recover")
            .header("origin", thief.origin())
            .header("content-type", "application/json")
            .header("x-forwarded-for", &forged)
            .header("x-real-ip", &forged)
            .header("forwarded", format!("for={forged}"));
        let body = json!({ "code": format!("{n:04}-0000-0000-0000-0000") }).to_string();
        let reply = thief.send(GATE, request.body(Full::from(body)).unwrap()).await;
        looked_at += usize::from(reply.status != 429);
    }
    assert!(looked_at <= 30, "{looked_at} tries were looked at");
    behind.house.has_recorded(thief.from, "limit");
    // Somebody else, through the same proxy, is not held up by it. All of this machine is one place, so it says for them who they are.
    let body = json!({ "code": "0000-0000-0000-0000-0000" }).to_string();
    let request = format!(
        "POST /auth/recover HTTP/1.1\r\nHost: {GATE}:{port}\r\nX-Forwarded-For: 198.51.100.7\r\nX-Forwarded-Proto: https\r\n\
         Origin: https://{GATE}:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len(),
        port = behind.nginx.port,
    );
    let reply = raw(std::net::Ipv4Addr::LOCALHOST, behind.house.port, request.as_bytes()).await;
    assert!(reply.starts_with("HTTP/1.1 401"), "{reply}");
    let entries = behind.house.home.bodies("gateway.request.refused");
    assert!(!entries.iter().any(|body| body.to_string().contains("203.0.113.")), "{entries:?}");
    behind.house.stop().well();
}
