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
