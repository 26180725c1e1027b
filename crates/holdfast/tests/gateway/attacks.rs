//! What somebody tries who should not get in, or who sits on another site that a signed-in person visits. Everything is refused, and what the
//! journal is to know of it is in the journal.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use holdfast_gateway::Need;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::browser::{Browser, an_address, by_token, call, follow, raw, reach, send, whole};
use crate::house::House;
use crate::running::{Looking as _, wait_for, wait_until};

/// A session is over for a stream within this time.
const SOON: Duration = Duration::from_secs(5);

/// Forms that change something, one of each handler.
const FORMS: [&str; 7] = [
    "/pause",
    "/resume",
    "/audit/verify",
    "/settings/notice/test",
    "/hosts/box-1/trigger",
    "/hosts/box-1/level",
    "/memory/main/mem_00000000000000000000000000/forget",
];

// shows: GTW-014, GTW-030, GTW-F06, GTW-F07, GTW-F11, GTW-F12, GTW-F13, GTW-F30
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_site_or_a_stranger_tries_is_refused_and_written_down() {
    let house = House::open("");
    let mut owner = house.owner().await;
    let mut other = house.invited(&mut owner, "Gus", "owner").await;
    let dripping = tokio::spawn(slow_loris(house.port));
    fixation(&house, &mut owner).await;
    signing_somebody_in_elsewhere(&house, &mut other).await;
    forged_posts(&house, &mut owner, &mut other).await;
    streams_of_other_sites(&house, &mut owner).await;
    other_hosts(&house).await;
    leading_elsewhere(&house, &mut owner).await;
    frames_and_sniffing(&house, &mut owner).await;
    too_much_at_once(&house, &mut owner).await;
    everybody_has_their_own_forms(&house, &mut owner, &mut other).await;
    streams_end_with_what_opened_them(&house, &mut owner, &mut other).await;
    things_of_others(&house, &mut owner).await;
    dripping.await.unwrap();
    wait_until("what the door itself turned away is written down", || {
        let all = house.home.bodies("gateway.request.refused");
        all.iter().any(|body| body["why"] == "door" && body["unknown_host"].as_u64() > Some(0))
    });
    house.home.run(&["audit", "verify"]).ok();
}

// shows: GTW-F30
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whom_the_door_turned_away_most_is_in_the_journal_by_address_and_the_rest_is_a_number() {
    let house = House::open("");
    let often = an_address();
    let asked = b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    for n in 0..300 {
        raw(an_address(), house.port, asked).await;
        if n % 5 == 0 {
            raw(often, house.port, asked).await;
        }
    }
    raw(an_address(), house.port, b"nonsense\n\n").await;
    let of_the_door = || {
        let all = house.home.bodies("gateway.request.refused");
        all.into_iter().find(|body| body["why"] == "door")
    };
    let told = wait_for("what the door turned away is written down", of_the_door);
    let most = told["most"]["unknown_host"].as_array().unwrap();
    let times = |line: &Value| line["times"].as_u64().unwrap();
    assert_eq!((most.len(), &most[0]["from"]), (16, &json!(often.to_string())), "{told}");
    assert!((1..=60).contains(&times(&most[0])), "nobody is blamed for more than they did: {told}");
    let (all, others) = (&told["unknown_host"], &told["others"]["unknown_host"]);
    assert_eq!(all, 360, "{told}");
    assert_eq!(others.as_u64().unwrap() + most.iter().map(times).sum::<u64>(), 360, "{told}");
    assert_eq!((&told["malformed"], &told["others"]["malformed"]), (&json!(1), &Value::Null), "{told}");
    assert!(told.to_string().len() < 4_096, "an entry stays small: {told}");
}

/// A session that somebody else put into the browser never becomes that of whoever signs in with it.
async fn fixation(house: &House, owner: &mut Browser) {
    let mut victim = Browser { device: owner.device.clone(), ..house.browser() };
    let planted = "A".repeat(43);
    let name = owner.session_name().unwrap();
    victim.jar.insert(name.clone(), planted.clone());
    victim.jar.insert(format!("{name}-pre"), "B".repeat(43));
    victim.sign_in(None).await.is(200);
    assert_ne!(victim.cookie(), Some(&planted));
    let mut attacker = house.browser();
    attacker.jar.insert(name.clone(), planted);
    assert_eq!(attacker.get("/").await.is(303).location(), "/login");
    // Nor does one that is good, of another person.
    let mine = owner.cookie().cloned().unwrap();
    victim.jar.insert(name.clone(), mine.clone());
    victim.sign_in(None).await.is(200);
    assert_ne!(victim.cookie(), Some(&mine));
    // One letter of a cookie changed is nobody's.
    let mut altered = victim.clone();
    let cookie = altered.jar.get_mut(&name).unwrap();
    let last = if cookie.ends_with('A') { "E" } else { "A" };
    cookie.replace_range(cookie.len() - 1.., last);
    altered.get("/").await.is(303);
    owner.sign_in(None).await.is(200);
}

/// Somebody's own ceremony, finished in the browser of another: that browser would then act in the wrong name.
async fn signing_somebody_in_elsewhere(house: &House, attacker: &mut Browser) {
    let mut prepared = Browser { device: attacker.device.clone(), ..house.browser() };
    let last = prepared.begin_signing_in(None).await;
    let mut victim = house.browser();
    assert_eq!(victim.post("/auth/login/finish", last.clone()).await.is(410).code(), "HF-GTW-012");
    assert!(victim.cookie().is_none());
    let crossing = victim
        .bare("POST", "/auth/login/finish")
        .header("origin", "https://evil.example")
        .header("sec-fetch-site", "cross-site")
        .header("content-type", "application/json")
        .body(Full::from(last.to_string()));
    assert_eq!(victim.send(crossing.unwrap()).await.is(403).code(), "HF-GTW-021");
    // A form of another site needs no permission to send text.
    let plain = victim.request("POST", "/auth/login/finish").header("content-type", "text/plain");
    victim.send(plain.body(Full::from(last.to_string())).unwrap()).await.is(415);
    assert!(victim.cookie().is_none());
    house.has_recorded(victim.from, "origin");
}

async fn forged_posts(house: &House, owner: &mut Browser, other: &mut Browser) {
    let (own, word, foreign) = (owner.origin(), owner.word().await.unwrap(), other.word().await.unwrap());
    let service = own.replace("localhost", "echo.localhost");
    let before = house.home.entries().len();
    let origins: [&[(&str, &str)]; 7] = [
        &[],
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("origin", &service)],
        &[("origin", &own), ("origin", "https://evil.example")],
        &[("origin", &own), ("sec-fetch-site", "cross-site")],
        &[("origin", &own), ("sec-fetch-site", "same-site")],
    ];
    let all = holdfast_gateway::ROUTES.iter().map(|route| route.path).chain(FORMS);
    for path in all {
        for headers in origins {
            let mut request = owner.bare("POST", path).header("x-holdfast-csrf", &word);
            request = request.header("content-type", "application/x-www-form-urlencoded");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let reply = owner.send(request.body(Full::default()).unwrap()).await;
            assert_eq!(reply.status, 403, "{path} {headers:?}: {}", reply.text);
            assert!(reply.text.contains("HF-GTW-021"), "{path} {headers:?}: {}", reply.text);
        }
    }
    let guarded = holdfast_gateway::ROUTES.iter().filter(|route| route.need != Need::Anyone);
    let guarded = guarded.map(|route| route.path).chain(["/auth/logout"]).chain(FORMS);
    for path in guarded {
        for sent in [None, Some("x"), Some(foreign.as_str()), Some("")] {
            let mut request =
                owner.request("POST", path).header("content-type", "application/x-www-form-urlencoded");
            if let Some(sent) = sent {
                request = request.header("x-holdfast-csrf", sent);
            }
            let reply = owner.send(request.body(Full::default()).unwrap()).await;
            assert_eq!(reply.status, 403, "{path} {sent:?}: {}", reply.text);
            assert!(reply.text.contains("HF-GTW-022"), "{path} {sent:?}: {}", reply.text);
        }
        // What changes something is never done by following a link.
        if !["/pause", "/resume"].contains(&path) {
            let got = owner.get(path).await.status;
            assert!([404, 405].contains(&got), "{path} {got}");
        }
    }
    // Neither does a body of another kind carry it past.
    let json = owner.request("POST", "/pause").header("content-type", "application/json");
    owner.send(json.body(Full::from(json!({ "csrf": word }).to_string())).unwrap()).await.is(403);
    house.has_recorded(owner.from, "origin");
    house.has_recorded(owner.from, "csrf");
    let since: Vec<_> = house.home.entries().into_iter().skip(before).collect();
    let done: Vec<_> =
        since.iter().filter(|entry| entry["actor"].as_str().unwrap().starts_with("web:")).collect();
    assert!(done.is_empty(), "{done:?}");
    owner.get("/").await.is(200);
}

async fn streams_of_other_sites(house: &House, owner: &mut Browser) {
    for path in ["/live?page=/", "/api/v1/events"] {
        let upgrade = |origin: Option<&str>| {
            let mut request = owner
                .bare("GET", path)
                .header("connection", "upgrade")
                .header("upgrade", "websocket")
                .header("sec-websocket-version", "13")
                .header("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA==");
            if let Some(origin) = origin {
                request = request.header("origin", origin);
            }
            request.body(Full::default()).unwrap()
        };
        for origin in [None, Some("https://evil.example"), Some("null")] {
            let reply = whole(send(owner.from, owner.port, upgrade(origin)).await.unwrap()).await.unwrap();
            assert_eq!(reply.status, 403, "{path} {origin:?}");
        }
        // Without an upgrade another site may ask, and its browser keeps the answer from it.
        let crossing = owner.bare("GET", path).header("origin", "https://evil.example");
        let answer = send(owner.from, owner.port, crossing.body(Full::default()).unwrap()).await.unwrap();
        assert!(answer.headers().get("access-control-allow-origin").is_none(), "{path}");
        assert_eq!(answer.headers()["cross-origin-resource-policy"], "same-origin", "{path}");
    }
    let asked = owner
        .bare("OPTIONS", "/api/v1/status")
        .header("origin", "https://evil.example")
        .header("access-control-request-method", "GET");
    let reply = owner.send(asked.body(Full::default()).unwrap()).await;
    assert_eq!(reply.header("access-control-allow-origin"), "", "{:?}", reply.headers);
    house.has_recorded(owner.from, "origin");
}

async fn other_hosts(house: &House) {
    let port = house.port;
    let from = an_address();
    let ours = format!("localhost:{port}");
    for (line, hosts, status) in [
        ("GET /login HTTP/1.1", vec!["evil.example"], 421),
        ("GET /login HTTP/1.1", vec!["localhost:1"], 421),
        ("GET /login HTTP/1.1", vec!["localhost.evil.example"], 421),
        ("GET /login HTTP/1.1", vec![ours.as_str(), "evil.example"], 400),
        ("GET /login HTTP/1.1", vec!["evil.example", ours.as_str()], 400),
        ("GET /login HTTP/1.1", vec![], 400),
        ("GET /login HTTP/1.1", vec![""], 400),
        ("GET http://evil.example/login HTTP/1.1", vec![ours.as_str()], 400),
        ("GET http://evil.example/login HTTP/1.1", vec!["evil.example"], 421),
        ("GET /login HTTP/1.1", vec!["localhost@evil.example"], 400),
        ("CONNECT evil.example:443 HTTP/1.1", vec!["evil.example:443"], 400),
    ] {
        let hosts: String = hosts.iter().map(|host| format!("Host: {host}\r\n")).collect();
        let answer = raw(from, port, format!("{line}\r\n{hosts}Connection: close\r\n\r\n").as_bytes()).await;
        let got: u16 = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        assert!(got == status || (400..500).contains(&got), "{line} {hosts}: {answer}");
        assert!(!answer.contains("evil.example"), "it is not told back: {answer}");
    }
    house.has_recorded(from, "host");
    // What a proxy in front would say is not believed, there being none.
    let said =
        "X-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https\r\nForwarded: host=evil.example\r\n";
    let asked = format!("GET /audit HTTP/1.1\r\nHost: {ours}\r\n{said}Connection: close\r\n\r\n");
    let answer = raw(an_address(), port, asked.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 303") && !answer.contains("evil.example"), "{answer}");
    // Only this machine: nothing listens anywhere else.
    let listening = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let wanted = format!(":{port:04X} 00000000:0000 0A");
    let ours: Vec<&str> = listening.lines().filter(|line| line.contains(&wanted)).collect();
    assert!(ours.len() == 1 && ours[0].contains("0100007F:"), "{ours:?}");
}

async fn leading_elsewhere(_house: &House, owner: &mut Browser) {
    for wanted in [
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https://evil.example",
        "https:evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "/\t/evil.example",
        "/.//evil.example",
        "//evil.example@localhost",
        "/%0d%0aSet-Cookie: x=1\r\nX: y",
    ] {
        let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("next", wanted).finish();
        let to = owner.get(&format!("/login?{query}")).await.is(303).location().to_owned();
        assert_eq!(to, "/", "{wanted:?}");
        let page = Browser::new(owner.port).get(&format!("/login?{query}")).await.is(200).text;
        assert!(!page.contains("evil.example") && !page.contains("javascript:"), "{wanted:?}: {page}");
    }
    let reply = owner.sign_in(Some("//evil.example")).await.is(200);
    assert_eq!(reply.json["next"], "/");
}

/// On every page, and on what is answered in place of one.
async fn frames_and_sniffing(house: &House, owner: &mut Browser) {
    let mut nobody = house.browser();
    let mut replies = Vec::new();
    for path in [
        "/",
        "/hosts",
        "/inbox",
        "/memory",
        "/audit",
        "/audit/0",
        "/audit/checkpoint",
        "/audit/0/proof.json",
        "/settings",
        "/settings/people",
        "/settings/tokens",
        "/settings/notices",
        "/settings/house",
        "/pause",
        "/nowhere",
        "/hosts/none",
        "/api/v1/status",
        "/api/v1/nowhere",
        "/auth/nowhere",
        "/auth/logout",
        "/assets/none",
    ] {
        replies.push((path, owner.get(path).await));
    }
    for path in ["/login", "/register", "/recovery", "/audit", "/api/v1/status", "/authority"] {
        replies.push((path, nobody.get(path).await));
    }
    let forged = owner.bare("POST", "/pause").body(Full::default()).unwrap();
    replies.push(("refused", owner.send(forged).await));
    for (path, reply) in replies {
        let policy = reply.header("content-security-policy");
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'self'",
        ] {
            assert!(policy.contains(part), "{path} {}: {part} in {policy:?}", reply.status);
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(reply.header("x-frame-options"), "DENY", "{path}");
        assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(reply.header("cross-origin-opener-policy"), "same-origin", "{path}");
        assert_eq!(reply.header("cache-control"), "no-store", "{path}");
    }
}

async fn too_much_at_once(house: &House, owner: &mut Browser) {
    let word = owner.word().await.unwrap();
    let (form, json) = ("application/x-www-form-urlencoded", "application/json");
    for (path, kind, bytes) in [
        ("/auth/people/invite", json, 64 * 1024 + 1),
        ("/pause", form, 64 * 1024 + 1),
        ("/api/v1/autonomy/pause", json, 64 * 1024 + 1),
        ("/api/v1/memory/import", "application/x-ndjson", 64 << 20),
    ] {
        let body = vec![b'x'; bytes];
        let mut request = owner.request("POST", path).header("content-type", kind);
        if kind != form {
            request = request.header("x-holdfast-csrf", &word);
        }
        match owner.try_send(request.body(Full::from(body)).unwrap()).await {
            Ok(reply) => assert_eq!(reply.status, 413, "{path}: {}", reply.text),
            // Closed while it was still being sent, which is as good.
            Err(e) => assert!(e.contains("error"), "{path}: {e}"),
        }
    }
    house.has_recorded(owner.from, "too_long");
    let (port, from) = (house.port, an_address());
    let many: String = (0..200).map(|n| format!("X-{n}: y\r\n")).collect();
    for (what, head) in [
        (
            "a header",
            format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nX: {}\r\n\r\n", "y".repeat(64 << 10)),
        ),
        ("headers", format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\n{many}\r\n")),
        ("an address", format!("GET /{} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n", "y".repeat(20 << 10))),
        ("a method", format!("{} / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n", "Y".repeat(20 << 10))),
    ] {
        let answer = raw(from, port, head.as_bytes()).await;
        let first = answer.lines().next().unwrap_or("");
        let refused = first.is_empty() || ["400", "414", "431"].iter().any(|code| first.contains(code));
        assert!(refused, "{what}: {first}");
    }
    owner.get("/").await.is(200);
}

/// Two hundred who send a byte now and then: others do not notice, and they are let go when their time is over.
async fn slow_loris(port: u16) {
    let from = an_address();
    let mut held = Vec::new();
    for n in 0..200 {
        let mut stream = reach(from, port).await.unwrap();
        let piece: &[u8] = if n % 2 == 0 { b"GET /login HT" } else { b"GET /login HTTP/1.1\r\nX-A: " };
        stream.write_all(piece).await.unwrap();
        held.push(stream);
    }
    let began = Instant::now();
    Browser::new(port).get("/login").await.is(200);
    assert!(began.elapsed() < SOON, "somebody else waited {:?}", began.elapsed());
    for mut stream in held {
        let mut rest = Vec::new();
        // A head has ten seconds in all, however it drips.
        let over = tokio::time::timeout(Duration::from_secs(15), async {
            let _ = stream.write_all(b"x").await;
            let _ = stream.read_to_end(&mut rest).await;
        });
        over.await.unwrap_or_else(|_| panic!("a connection that never ends its head is kept"));
        let answer = String::from_utf8_lossy(&rest);
        assert!(answer.is_empty() || answer.contains(" 408 ") || answer.contains(" 400 "), "{answer}");
    }
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

/// What is pushed to an open page has forms without anybody's word, also where several look at the same: cookies go to every port here.
async fn everybody_has_their_own_forms(house: &House, owner: &mut Browser, other: &mut Browser) {
    let mut words = Vec::new();
    let mut streams = Vec::new();
    for browser in [owner, other] {
        words.push(browser.word().await.unwrap());
        let mut stream = browser.follow("/live?page=/").await.unwrap();
        assert_eq!(stream.next(SOON).await.unwrap().event, "hello");
        streams.push(stream);
    }
    house.home.run(&["pause", "--all", "--reason", "a look"]).ok();
    for stream in &mut streams {
        let forms = loop {
            let piece = stream.next(SOON).await.expect("what changed is pushed");
            if piece.data.contains("/resume") {
                break piece.data;
            }
        };
        assert!(!words.iter().any(|word| forms.contains(word.as_str())), "on localhost no page has a word");
    }
    house.home.run(&["resume", "--all"]).ok();
}

async fn streams_end_with_what_opened_them(house: &House, owner: &mut Browser, other: &mut Browser) {
    let (id, token) = owner.token("read").await;
    let port = house.port;
    let by_script =
        follow(an_address(), port, by_token(port, &token, "GET", "/api/v1/events")).await.unwrap();
    let by_page = other.follow("/live?page=/audit").await.unwrap();
    let by_session = other.follow("/api/v1/events").await.unwrap();
    owner.post("/auth/tokens/revoke", json!({ "id": id })).await.is(200);
    other.post("/auth/logout", json!({})).await.is(303);
    assert!(by_script.ended(SOON).await, "a revoked token's stream");
    assert!(by_page.ended(SOON).await, "a page's stream after the logout");
    assert!(by_session.ended(SOON).await, "an event stream after the logout");
    let refused = Request::builder().uri("/api/v1/status").header("host", format!("localhost:{port}"));
    let refused = refused.header("authorization", format!("Bearer {token}")).body(Full::default()).unwrap();
    let from = an_address();
    let reply = whole(send(from, port, refused).await.unwrap()).await.unwrap().is(401);
    assert_eq!(reply.code(), "HF-GTW-024");
    house.has_recorded(from, "token");
    // A token opens no page and no door to an account.
    let (_, token) = owner.token("manage").await;
    for (method, path) in [
        ("GET", "/settings"),
        ("POST", "/pause"),
        ("POST", "/auth/tokens/make"),
        ("POST", "/auth/people/invite"),
    ] {
        call(port, &token, method, path, None).await.is(403);
    }
    wait_until("tokens in the wrong place are written down", || {
        house.home.bodies("gateway.request.refused").iter().any(|body| body["why"] == "token_not_here")
    });
}

/// Ids of other people's things are no secret, and open nothing.
async fn things_of_others(house: &House, owner: &mut Browser) {
    let (token, _) = owner.token("read").await;
    let page = owner.get("/settings").await.is(200).text;
    let ids = |begins: &str| {
        let parts = page.split("name=\"id\" value=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let found: BTreeSet<String> = parts.filter(|id| id.starts_with(begins)).map(str::to_owned).collect();
        assert!(!found.is_empty(), "{begins} in {page}");
        found.into_iter().next().unwrap()
    };
    let (device, session) = (ids("dev_"), ids("ses_"));
    for (name, role) in [("Olga", "operator"), ("Vera", "viewer")] {
        let mut person = house.invited(owner, name, role).await;
        for (path, body) in [
            ("/auth/devices/rename", json!({ "id": device, "label": "mine now" })),
            ("/auth/devices/remove", json!({ "id": device })),
            ("/auth/sessions/end", json!({ "id": session })),
            ("/auth/tokens/revoke", json!({ "id": token })),
        ] {
            let reply = person.post(path, body).await;
            assert!([403, 404].contains(&reply.status), "{role} {path}: {} {}", reply.status, reply.text);
        }
    }
    let page = owner.get("/settings").await.is(200).text;
    assert!(page.contains(&session) && page.contains(&device) && !page.contains("mine now"));
}
