//! Requests that are meant to be read in two ways, and people who pretend.

use crate::house::{APP, House, OWN, Plan};
use crate::origin::Origin;
use crate::raw::{body, exchange, get, status};

async fn house() -> (House, std::sync::Arc<Origin>) {
    let (origin, to) = Origin::on_loopback().await;
    (Plan::to(to).open(), origin)
}

fn post(fields: &str, rest: &str) -> String {
    format!("POST /x HTTP/1.1\r\nHost: {APP}\r\nCookie: holdfast-app=ana\r\n{fields}\r\n{rest}")
}

// shows: GTW-F19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_hides_another_is_refused_and_nothing_of_it_is_forwarded() {
    let (house, origin) = house().await;
    let hidden = "GET /hidden HTTP/1.1\r\nHost: app.gate.localhost\r\n\r\n";
    let chunk = format!("{:x}\r\n{hidden}\r\n0\r\n\r\n", hidden.len());
    let zero = format!("0\r\n\r\n{hidden}");
    for (name, text) in [
        ("CL.TE", post("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", &zero)),
        ("TE.CL", post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", &chunk)),
        ("TE.TE", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", &zero)),
        ("TE.TE x", post("Transfer-Encoding: xchunked\r\n", &zero)),
        ("TE gzip", post("Transfer-Encoding: gzip, chunked\r\n", &zero)),
        ("TE tab", post("Transfer-Encoding:\u{b}chunked\r\n", &zero)),
        ("TE blank", post("Transfer-Encoding : chunked\r\n", &zero)),
        ("TE in 1.0", format!("POST /x HTTP/1.0\r\nHost: {APP}\r\nTransfer-Encoding: chunked\r\n\r\n{zero}")),
        ("CL.CL same", post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello")),
        ("CL.CL other", post("Content-Length: 5\r\nContent-Length: 0\r\n", hidden)),
        ("CL list", post("Content-Length: 5, 5\r\n", "hello")),
        ("CL plus", post("Content-Length: +5\r\n", "hello")),
        ("CL minus", post("Content-Length: -5\r\n", "hello")),
        ("CL hex", post("Content-Length: 0x5\r\n", "hello")),
        ("folded", post("X-A: b\r\n Content-Length: 5\r\n", "hello")),
        ("folded tab", post("X-A: b\r\n\tc\r\n", "")),
        ("blank before colon", post("Content-Length : 5\r\n", "hello")),
        ("line feeds", format!("GET /x HTTP/1.1\nHost: {APP}\nCookie: holdfast-app=ana\n\n")),
        ("one line feed", post("X-A: b\nContent-Length: 5\r\n", "hello")),
        ("one return", post("X-A: b\rX-B: c\r\n", "")),
        ("zero in a value", post("X-A: b\0c\r\n", "")),
        ("zero in a name", post("X\0A: b\r\n", "")),
        ("control character", post("X-A: b\u{1}\r\n", "")),
        ("two hosts", post(&format!("Host: {OWN}\r\n"), "")),
        ("no host", "GET /x HTTP/1.1\r\nCookie: holdfast-app=ana\r\n\r\n".into()),
        (
            "absolute, foreign",
            format!(
                "GET http://evil.example/x HTTP/1.1\r\nHost: {APP}\r\nCookie: holdfast-app=ana\r\nConnection: close\r\n\r\n"
            ),
        ),
        (
            "absolute, other",
            format!(
                "GET http://{OWN}/x HTTP/1.1\r\nHost: {APP}\r\nCookie: holdfast-app=ana\r\nConnection: close\r\n\r\n"
            ),
        ),
        (
            "CONNECT",
            format!(
                "CONNECT {APP}:80 HTTP/1.1\r\nHost: {APP}\r\nCookie: holdfast-app=ana\r\nConnection: close\r\n\r\n"
            ),
        ),
        ("TRACE", get("/x").replacen("GET", "TRACE", 1)),
        ("asterisk", get("/x").replacen("GET /x", "OPTIONS *", 1)),
        ("preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".into()),
        ("0.9", "GET /x\r\n".into()),
        ("two blanks", get("/x").replacen(" /x", "  /x", 1)),
        ("TLS", "\u{16}\u{3}\u{1}\u{2}\u{0}\n".into()),
        ("empty line first", format!("\r\n{}", get("/x"))),
    ] {
        let answer = exchange(house.address, text.as_bytes()).await;
        assert!(answer.is_empty() || status(&answer) == Some(400), "{name}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), usize::from(!answer.is_empty()), "{name}: {answer}");
        assert_eq!(origin.requests(), 0, "{name} reached the service");
    }
    house.stop().await;
}

// shows: GTW-F19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_turns_wrong_ends_the_connection_and_is_no_request() {
    let (house, origin) = house().await;
    for (name, rest) in [
        ("extension", "5;x=1\r\nhello\r\n0\r\n\r\n"),
        ("bare extension", "5;\r\nhello\r\n0\r\n\r\n"),
        ("blank", "5 \r\nhello\r\n0\r\n\r\n"),
        ("line feed", "5\nhello\r\n0\r\n\r\n"),
        ("longer than said", "5\r\nhello!\r\n0\r\n\r\n"),
        ("not a number", "g\r\nhello\r\n0\r\n\r\n"),
        ("minus", "-5\r\nhello\r\n0\r\n\r\n"),
        ("too large", "fffffffffffffffff\r\nhello"),
        ("framing as a trailer", "5\r\nhello\r\n0\r\nContent-Length: 3\r\n\r\n"),
    ] {
        let hidden = get("/hidden");
        let text = post("Transfer-Encoding: chunked\r\n", &format!("{rest}{hidden}"));
        let answer = exchange(house.address, text.as_bytes()).await;
        assert!(!answer.contains("200 OK"), "{name}: {answer}");
        let seen = origin.seen.lock().unwrap();
        assert!(seen.iter().all(|seen| seen.method.starts_with("broken")), "{name}: {seen:?}");
        assert!(seen.iter().all(|seen| !seen.target.contains("hidden")), "{name}");
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_follows_a_good_request_does_not_spoil_it() {
    let (house, origin) = house().await;
    let good = post("Content-Length: 5\r\n", "hello");
    let answer = exchange(house.address, format!("{good}GET / HTTP/1.1\nHost: x\n\n").as_bytes()).await;
    assert_eq!(status(&answer), Some(200), "{answer}");
    assert!(answer.contains("POST /x 5"), "{answer}");
    assert!(answer.contains("HTTP/1.1 400"), "{answer}");
    assert_eq!(origin.requests(), 1);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_sent_ahead_are_answered_each_once_and_in_order() {
    let (house, origin) = house().await;
    let one = |n: usize| get(&format!("/n{n}")).replacen("Connection: close\r\n", "", usize::from(n < 3));
    let text: String = (1..=3).map(one).collect();
    let answer = exchange(house.address, text.as_bytes()).await;
    let places: Vec<_> = (1..=3).map(|n| answer.find(&format!("GET /n{n} 0")).unwrap()).collect();
    assert!(places.is_sorted(), "{answer}");
    assert_eq!((answer.matches("200 OK").count(), origin.requests()), (3, 3));
    house.stop().await;
}

// shows: GTW-F19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_could_become_another_one_is_refused_before_it_is_forwarded() {
    let (house, origin) = house().await;
    for path in [
        "/a/../admin",
        "/..",
        "/./a",
        "/%2e%2e/admin",
        "/a/%2E%2e/b",
        "/..;/admin",
        "/a%2f..%2fadmin",
        "/a%2fb",
        "/a%5cb",
        "/a\\b",
        "/a%00b",
        "/a%0d%0aX-Injected:%201",
        "/%252e%252e/admin",
        "/%25%32%65%25%32%65/admin",
        "//evil.example/",
        "/a%zz",
    ] {
        let answer = exchange(house.address, get(path).as_bytes()).await;
        assert_eq!(status(&answer), Some(400), "{path}: {answer}");
        assert_eq!(origin.requests(), 0, "{path} reached the service");
    }
    let answer = exchange(house.address, get("/a%20b/c.d?x=../y%2f").as_bytes()).await;
    assert_eq!(body(&answer), "GET /a%20b/c.d?x=../y%2f 0", "what is plain passes as it is");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_for_a_name_that_is_not_ours_is_refused() {
    let (house, origin) = house().await;
    for host in [
        "evil.example",
        "gate.localhost.evil.example",
        "xgate.localhost",
        "127.0.0.2",
        "[::1]",
        "gate.localhost:x",
    ] {
        let text = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let answer = exchange(house.address, text.as_bytes()).await;
        assert_eq!(status(&answer), Some(421), "{host}: {answer}");
        assert!(answer.ends_with("This is not the address of this gateway.\n"), "{host}: {answer}");
        assert!(!answer.contains(host), "nothing of the request is repeated");
    }
    let own = format!(
        "GET /page HTTP/1.1\r\nHost: {}:1234\r\nX-Forwarded-For: 6.6.6.6\r\nConnection: close\r\n\r\n",
        OWN.to_uppercase()
    );
    assert_eq!(body(&exchange(house.address, own.as_bytes()).await), "own /page 0 https=false");
    assert_eq!(origin.requests(), 0);
    assert_eq!(house.door.counts().unknown_host, 6);
    house.stop().await;
}

// shows: GTW-F01, GTW-F19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_never_sees_our_cookie_our_token_or_a_forged_word_about_a_person() {
    let (house, origin) = house().await;
    let token = ["hf", "t_", "sample"].concat();
    let text = format!(
        "GET /x HTTP/1.1\r\nHost: {APP}\r\n\
         Cookie: theirs=1; holdfast-app=ana; __Host-holdfast-session=abc; HoldFast-x=1\r\n\
         Authorization: Bearer {token}\r\n\
         X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: https\r\nX_Forwarded_For: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\n\
         X-Real-IP: 6.6.6.6\r\nX-Holdfast-Identity: forged\r\nx_holdfast_identity: forged\r\nX-WebAuth-User: root\r\nRemote-User: root\r\n\
         X-Secret-Hop: 1\r\nConnection: close, X-Secret-Hop\r\nTE: trailers\r\nX-Plain: kept\r\n\r\n"
    );
    let answer = exchange(house.address, text.as_bytes()).await;
    assert_eq!(status(&answer), Some(200), "{answer}");
    let headers = origin.last().headers;
    let identity = headers["x-holdfast-identity"].to_str().unwrap().to_owned();
    let key = Plan::key();
    let said = holdfast_door::Identity::verify(&identity, &key, "app", house.clock.now()).unwrap();
    assert_eq!((said.person.as_str(), said.service.as_str()), ("ana", "app"));
    let mut lines: Vec<_> = headers
        .iter()
        .filter(|(name, _)| *name != "x-holdfast-identity")
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    lines.sort();
    insta::assert_snapshot!(lines.join("\n"), @r"
    cookie: theirs=1
    host: app.gate.localhost
    x-forwarded-for: 127.0.0.1
    x-forwarded-host: app.gate.localhost
    x-forwarded-proto: http
    x-plain: kept
    x-real-ip: 127.0.0.1
    ");
    house.stop().await;
}

// shows: GTW-F01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_can_set_no_cookie_of_ours_and_none_for_another_host() {
    let (house, _origin) = house().await;
    let answer = exchange(house.address, get("/cookies").as_bytes()).await;
    let head = answer.split("\r\n\r\n").next().unwrap();
    let mut lines: Vec<_> = head.lines().filter(|line| !line.starts_with("date:")).collect();
    lines.sort_unstable();
    insta::assert_snapshot!(lines.join("\n"), @r"
    HTTP/1.1 200 OK
    connection: close
    content-length: 7
    set-cookie: own=1; Path=/
    set-cookie: wide=1; Path=/
    x-kept: 1
    ");
    house.stop().await;
}

// shows: GTW-F20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_http_beyond_loopback_is_refused() {
    use holdfast_door::{Certificates, Door, Error, Keeper, Limits, Listeners, Settings};
    let clock = std::sync::Arc::new(holdfast_testkit::TestClock::at(crate::house::NOW));
    let own = vec![OWN.parse().unwrap()];
    let keeper = Keeper::open(Certificates::None, own.clone(), clock.clone()).unwrap();
    let settings =
        Settings { own, services: vec![], limits: Limits::default(), https_port: 443, front: None };
    let app = tower::service_fn(async |_request| {
        Ok::<_, std::convert::Infallible>(http::Response::new(String::new()))
    });
    let gate = std::sync::Arc::new(crate::house::Gate::default());
    let door = Door::open(settings, keeper, app, gate, clock).unwrap();
    let main = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let stop = tokio_util::sync::CancellationToken::new();
    let refused = door
        .serve(Listeners { main: vec![main], redirect: None }, &stop, || {}, |_| false)
        .await
        .unwrap_err();
    assert!(matches!(refused, Error::PlainBeyondLoopback { .. }), "{refused}");
    insta::assert_snapshot!(refused.to_string().replace(|c: char| c.is_ascii_digit(), "N"), @"plain HTTP is spoken on loopback only, and N.N.N.N:NNNNN is not: give a certificate, or listen on NNN.N.N.N");
}
