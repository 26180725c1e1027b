//! Staying out: links that are no good, passkeys of somebody else, pages without a session, sessions that were ended.

use std::io::Read as _;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::chrome::{Browser, wait};
use crate::house::House;
use crate::person::{
    REFUSALS, come_in, is_signed_in, name_device, nothing_to_complain_of, owner, sign_in, sign_out, trouble,
};
use crate::steps::Steps;

/// Every page that somebody has to be signed in for.
const PAGES: &[&str] = &[
    "/",
    "/hosts",
    "/hosts/web-1",
    "/episodes/ep_1",
    "/inbox",
    "/inbox/apr_1",
    "/memory?q=disk",
    "/memory/main/mem_1",
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
    "/resume",
    "/no-such-page",
];

// shows: GTW-053, GTW-054, GTW-077, GTW-086
#[tokio::test]
async fn signing_in_registering_and_recovering_are_shown_to_anybody() {
    let (house, mut steps) = (House::empty(), Steps::default());
    let (browser, _) = owner(&house).await;
    sign_out(&browser).await;
    for (path, heading, offered) in [
        ("/login", "Sign in", "Sign in with a passkey"),
        ("/register", "Make your passkey", "Make a passkey"),
        ("/recovery", "I have lost my device", "Go on"),
    ] {
        steps.begin(path);
        browser.open(path).await;
        assert_eq!(browser.at().await, path);
        assert_eq!(browser.text("h1").await, heading);
        browser.says(offered).await;
    }
    nothing_to_complain_of(&browser, &[]).await;
}

// shows: GTW-055, GTW-087
#[tokio::test]
async fn every_page_without_a_session_leads_to_signing_in() {
    let (house, mut steps) = (House::empty(), Steps::default());
    let browser = Browser::start(&house).await;
    for path in PAGES {
        steps.begin(path);
        browser.open(path).await;
        assert_eq!(browser.js("return location.pathname").await, "/login", "{path}");
        // Whoever signs in goes to the first page unless they wanted another.
        let next = browser.js("return new URLSearchParams(location.search).get('next') ?? '/'").await;
        assert_eq!(next, *path);
    }
    nothing_to_complain_of(&browser, &[]).await;
}

// shows: GTW-016, GTW-F10
#[tokio::test]
async fn a_link_that_was_used_or_is_too_old_is_refused_in_words() {
    let (house, mut steps) = (House::empty(), Steps::default());
    let browser = Browser::start(&house).await;
    browser.hand_new().await;

    steps.begin("a link that is too old");
    let old = house.link();
    house.let_links_expire();
    refused(&browser, &old, "old").await;

    steps.begin("a link nobody made");
    let (start, secret) = old.split_once('#').unwrap();
    let turned: String = secret.chars().rev().collect();
    refused(&browser, &format!("{start}#{turned}"), "link").await;

    steps.begin("no link at all");
    refused(&browser, "/register", "sign").await;

    steps.begin("a link that was used");
    let link = house.link();
    come_in(&browser, &link, "Laptop").await;
    sign_out(&browser).await;
    browser.take().await;
    browser.hand_new().await;
    refused(&browser, &link, "used").await;
    nothing_to_complain_of(&browser, REFUSALS).await;
}

async fn refused(browser: &Browser, link: &str, word: &str) {
    // Two links differ behind the `#` only: coming from elsewhere, the page is loaded anew.
    browser.open("/login").await;
    browser.open(link).await;
    name_device(browser, "Somebody else").await;
    let said = trouble(browser).await;
    assert!(said.to_lowercase().contains(word), "no {word:?} in {said:?}");
    assert!(!is_signed_in(browser).await);
}

// shows: GTW-016, GTW-091
#[tokio::test]
async fn a_passkey_this_house_never_saw_is_refused_in_words() {
    let (house, mut steps) = (House::empty(), Steps::default());
    let (browser, _) = owner(&house).await;
    sign_out(&browser).await;
    browser.take().await;

    steps.begin("a device without a passkey says so");
    browser.hand_new().await;
    sign_in(&browser).await;
    let said = trouble(&browser).await;
    assert!(said.contains("no passkey for this address"), "{said}");
    assert!(!is_signed_in(&browser).await);

    steps.begin("a passkey made for this address without the house");
    let made = "const made = await navigator.credentials.create({ publicKey: {
            challenge: new Uint8Array(32), rp: { id: 'localhost', name: 'x' },
            user: { id: new Uint8Array(16), name: 'x', displayName: 'x' },
            pubKeyCredParams: [-7, -257].map((alg) => ({ type: 'public-key', alg })),
            authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
        } });
        return !!made";
    assert_eq!(browser.js(made).await, true);
    sign_in(&browser).await;
    let said = trouble(&browser).await;
    assert!(said.contains("passkey"), "{said}");
    assert!(!is_signed_in(&browser).await);
    assert!(!browser.has_session().await);
    nothing_to_complain_of(&browser, REFUSALS).await;
}

// shows: GTW-F06
#[tokio::test]
async fn an_open_page_leads_to_signing_in_when_its_session_is_ended_elsewhere() {
    let (house, mut steps) = (House::empty(), Steps::default());
    let (here, _) = owner(&house).await;

    steps.begin("the same person signs in in another browser");
    let there = Browser::start(&house).await;
    let device = here.take().await;
    there.hand(device).await;
    sign_in(&there).await;
    there.arrives("/").await;
    here.open("/hosts").await;

    steps.begin("and ends the session of the first");
    there.open("/settings").await;
    there.press("End").await;
    let since = Instant::now();
    let left = async || (here.at().await == "/login?next=%2Fhosts").then(|| since.elapsed());
    let took = wait(Duration::from_secs(20), left).await.expect("the open page goes to sign in");
    println!("an open page was closed {} ms after its session was ended", took.as_millis());
    assert!(took < Duration::from_secs(5), "it took {took:?}");
    assert!(!is_signed_in(&here).await);
    assert!(is_signed_in(&there).await);
    nothing_to_complain_of(&here, REFUSALS).await;
    nothing_to_complain_of(&there, &[]).await;
}

// shows: GTW-076
#[tokio::test]
async fn a_page_that_was_tampered_with_runs_no_script_and_tells_nobody() {
    let (house, mut steps) = (House::empty(), Steps::default());
    let (browser, _) = owner(&house).await;
    let somebody = TcpListener::bind("127.0.0.1:0").unwrap();
    somebody.set_nonblocking(true).unwrap();
    let elsewhere = format!("http://{}", somebody.local_addr().unwrap());

    steps.begin("what a hole in a page could put into it");
    let holes = format!(
        "const put = (tag, more) => document.body.append(Object.assign(document.createElement(tag), more));
        put('script', {{ textContent: 'window.ran = true' }});
        put('script', {{ src: '{elsewhere}/script.js' }});
        put('img', {{ src: '{elsewhere}/picture.png' }});
        put('style', {{ textContent: 'body {{ display: none }}' }});
        put('iframe', {{ src: '{elsewhere}/frame' }});
        await fetch('{elsewhere}/told').catch(() => null);
        return window.ran ?? false"
    );
    assert_eq!(browser.js(&holes).await, false, "a script inside a page runs");
    assert_ne!(browser.js("return getComputedStyle(document.body).display").await, "none");

    steps.begin("each was refused by the browser, and nobody was told");
    let mut refused = Vec::new();
    let all_refused = wait(Duration::from_secs(10), async || {
        refused.extend(browser.complaints(&[]).await);
        let policy = refused.iter().filter(|line| line.contains("Content Security Policy")).count();
        (policy >= 6).then_some(())
    });
    let all_refused = all_refused.await.is_some();
    assert!(all_refused, "{refused:#?}");
    // A browser may have opened a connection in advance. Once it is gone, what it said on it is known.
    drop(browser);
    while let Ok((mut connection, _)) = somebody.accept() {
        let mut said = String::new();
        connection.set_nonblocking(false).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        connection.read_to_string(&mut said).unwrap();
        assert_eq!(said, "", "somebody was told");
    }
}

/// One request of a thief, who can write every header as a page of the house would.
fn asked_with(house: &House, cookie: &str, method: &str, path: &str, body: &str) -> (u16, String) {
    use std::io::Write as _;
    let authority = house.origin.strip_prefix("http://").unwrap();
    let port: u16 = authority.rsplit_once(':').unwrap().1.parse().unwrap();
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {authority}\r\nOrigin: {origin}\r\nSec-Fetch-Site: same-origin\r\nCookie: {cookie}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}",
        origin = house.origin,
        length = body.len(),
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, answer)
}

#[tokio::test]
async fn a_server_on_another_port_is_sent_the_cookie_and_can_change_nothing_with_it() {
    let (house, mut steps) = (House::empty(), Steps::default());
    let (browser, _) = owner(&house).await;

    steps.begin("another user of this machine listens on a port of localhost, and the browser goes there");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let caught = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut said = Vec::new();
        let mut piece = [0; 4_096];
        while !said.windows(4).any(|end| end == b"\r\n\r\n") {
            let n = connection.read(&mut piece).unwrap();
            said.extend_from_slice(&piece[..n]);
        }
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
        std::io::Write::write_all(&mut connection, answer).unwrap();
        String::from_utf8_lossy(&said).into_owned()
    });
    browser.open(&format!("http://localhost:{port}/")).await;
    let said = caught.join().unwrap();
    let cookie =
        said.lines().find_map(|line| line.strip_prefix("Cookie: ")).expect("cookies go to every port");
    assert!(cookie.contains("holdfast-"), "with the instance in its name, and all the same: {cookie}");

    steps.begin("with it they read: that is said in SECURITY.md");
    let (status, page) = asked_with(&house, cookie, "GET", "/settings", "");
    assert_eq!(status, 200, "{page}");
    browser.open("/settings").await;
    let word = browser.js("return localStorage.getItem('holdfast-word')").await;
    let word = word.as_str().unwrap();
    assert!(word.len() == 43 && !page.contains(word), "the page has no word for them to read");

    steps.begin("and change nothing");
    for (path, body) in [
        ("/auth/register/start", "{\"link\":null,\"label\":\"Of a thief\"}"),
        ("/auth/tokens/make", "{\"name\":\"x\",\"scope\":\"manage\",\"days\":9}"),
        ("/auth/devices/link", "{}"),
        ("/auth/sessions/end", "{\"id\":\"all\"}"),
        (
            "/auth/confirm/start",
            "{\"act\":{\"method\":\"POST\",\"to\":\"/auth/devices/link\",\"fields\":{}}}",
        ),
        ("/pause", "{}"),
        ("/api/v1/autonomy/pause", "{}"),
    ] {
        let (status, answer) = asked_with(&house, cookie, "POST", path, body);
        assert_eq!(status, 403, "{path}: {answer}");
        assert!(answer.contains("HF-GTW-022"), "{path}: {answer}");
    }

    steps.begin("even with the word they keep no way in");
    for path in ["/auth/register/start", "/auth/devices/link"] {
        let body = serde_json::json!({ "csrf": word }).to_string();
        let (status, answer) = asked_with(&house, cookie, "POST", path, &body);
        assert!(status == 403 && answer.contains("HF-GTW-008"), "{path}: {answer}");
    }
}
