//! Nobody keeps others out by trying.

use std::net::{IpAddr, Ipv4Addr};

use http::StatusCode;
use serde_json::json;

use crate::browser::{Browser, Site};

/// Another address of this machine each time.
fn loopback(n: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from(0x7f00_0001 + n * 6_007))
}

fn anywhere(n: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from(0x0b00_0001 + n * 7_919))
}

/// A stranger's attempts to sign in, each in a browser of its own.
async fn flood<'a>(stranger: &mut Browser<'a>, times: u32, from: impl Fn(u32) -> IpAddr) -> [u32; 2] {
    let mut begun_and_put_off = [0, 0];
    for n in 0..times {
        stranger.from = from(n);
        stranger.jar.clear();
        let reply = stranger.post_bare("/auth/login/start", json!({})).await;
        begun_and_put_off[usize::from(reply.status == StatusCode::TOO_MANY_REQUESTS)] += 1;
        stranger.post_bare("/auth/login/finish", json!({ "ceremony": "x", "credential": 1 })).await;
    }
    begun_and_put_off
}

#[tokio::test]
async fn requests_from_all_of_this_machines_addresses_count_as_one_and_keep_nobody_out() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let mut stranger = site.browser();
    let [begun, put_off] = flood(&mut stranger, 430, loopback).await;
    assert_eq!((begun, put_off), (30, 400), "127/8 is one place");
    // From another machine, by somebody who was never here and by somebody who was.
    owner.from = "192.0.2.77".parse().unwrap();
    let (key, jar) = (owner.key.clone(), owner.jar.clone());
    owner.jar.clear();
    assert_eq!(owner.sign_in(None).await.status, 200);
    // On the flooded machine itself: a browser that was here before has a share of its own.
    let mut known = site.browser();
    (known.key, known.jar, known.from) = (key, jar, "127.0.0.1".parse().unwrap());
    known.key = owner.key.clone();
    known.post("/auth/logout", json!({})).await;
    assert_eq!(known.sign_in(None).await.status, 200);
    // And one that was not has to wait there, which is said.
    let mut unknown = site.browser();
    unknown.from = "127.0.0.2".parse().unwrap();
    let reply = unknown.post_bare("/auth/login/start", json!({})).await;
    assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(reply.headers.contains_key("retry-after"));
}

#[tokio::test]
async fn a_flood_from_everywhere_keeps_nobody_out() {
    let site = Site::new();
    let mut owner = site.owner().await;
    owner.post("/auth/logout", json!({})).await;
    // It begins before the flood and ends after it: what others begin does not push it out.
    let begun = owner.post("/auth/login/start", json!({})).await;
    let credential = owner.key.get(crate::house::ORIGIN, &begun.json["publicKey"]);
    let mut stranger = site.browser();
    let [passed, _] = flood(&mut stranger, holdfast_testkit::rounds(4_000, 20_000), anywhere).await;
    assert!(passed >= 4_000, "each address has a share: {passed}");
    let body = json!({ "ceremony": begun.json["ceremony"], "credential": credential });
    assert_eq!(owner.post("/auth/login/finish", body).await.status, 200);
    let mut new = site.browser();
    new.from = "198.51.100.4".parse().unwrap();
    new.key = owner.key.clone();
    assert_eq!(new.sign_in(None).await.status, 200, "nor somebody who was never here");
}

/// Addresses of the flood below: 547 were enough to push out every attempt of browsers that were never here.
const PLACES: u32 = 700;

#[tokio::test]
async fn no_number_of_starts_pushes_out_the_attempt_of_a_browser_that_was_never_here() {
    let site = Site::new();
    let owner = site.owner().await;
    let mut new = site.browser();
    new.key = owner.key.clone();
    new.from = "198.51.100.4".parse().unwrap();
    let begun = new.post("/auth/login/start", json!({})).await;
    let credential = new.key.get(crate::house::ORIGIN, &begun.json["publicKey"]);
    // Each place has its burst and then one every two seconds; the clock of the house is moved for those.
    let (mut stranger, mut started) = (site.browser(), 0);
    while started < 20_000 {
        for n in 0..PLACES {
            stranger.from = anywhere(n);
            stranger.jar.clear();
            let reply = stranger.post_bare("/auth/login/start", json!({})).await;
            started += u32::from(reply.status == StatusCode::OK);
        }
        site.house.clock.advance(std::time::Duration::from_secs(2));
    }
    let body = json!({ "ceremony": begun.json["ceremony"], "credential": credential });
    let cookies = new.jar.clone();
    let mut thief = site.browser();
    let stolen = thief.post("/auth/login/finish", body.clone()).await;
    assert_eq!((stolen.status, stolen.code()), (StatusCode::GONE, "HF-GTW-012"), "another browser's");
    let done = new.post("/auth/login/finish", body.clone()).await;
    assert_eq!(done.status, 200, "{}", done.text);
    // The same request again, cookies and all: a sign-in is good once.
    new.jar = cookies;
    let again = new.post("/auth/login/finish", body).await;
    assert_eq!((again.status, again.code()), (StatusCode::GONE, "HF-GTW-012"), "{}", again.text);
}

#[tokio::test]
async fn wrong_codes_by_the_thousand_lock_no_other_code_and_nobody_elses() {
    let site = Site::new();
    let link = site.house.accounts.first_link(&"Ana".parse().unwrap()).unwrap();
    let mut owner = site.browser();
    let codes = owner.register(link.token.reveal()).await.json["codes"].clone();
    let codes: Vec<&str> = codes.as_array().unwrap().iter().map(|code| code.as_str().unwrap()).collect();
    let mut thief = site.browser();
    // 50 from as many addresses, of which no first letters fit: it was enough to lock everybody's recovery.
    for n in 0..500 {
        thief.from = anywhere(n);
        let reply = thief.post("/auth/recover", json!({ "code": format!("0000{n:016}") })).await;
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{n}: {}", reply.text);
    }
    // The first letters of one code are known: the rest is guessed at from everywhere, and bounded for that code.
    let before = site.house.accounts.hashes_computed();
    let mut put_off = 0;
    for n in 500..1_000 {
        thief.from = anywhere(n);
        let wrong = format!("{}{:016}", &codes[0][..4], n);
        let reply = thief.post("/auth/recover", json!({ "code": wrong })).await;
        put_off += usize::from(reply.status == StatusCode::TOO_MANY_REQUESTS);
    }
    let hashed = site.house.accounts.hashes_computed() - before;
    assert_eq!((hashed, put_off), (10, 490), "ten looked at in all");
    // Her other codes work, from an address that nobody knows; and that one in a browser she had.
    let mut elsewhere = site.browser();
    elsewhere.from = "198.51.100.4".parse().unwrap();
    let late = elsewhere.post("/auth/recover", json!({ "code": codes[0] })).await;
    assert_eq!(late.status, StatusCode::TOO_MANY_REQUESTS, "that one has to wait");
    assert_eq!(elsewhere.post("/auth/recover", json!({ "code": codes[1] })).await.status, 200);
    owner.post("/auth/logout", json!({})).await;
    assert_eq!(owner.post("/auth/recover", json!({ "code": codes[0] })).await.status, 200);
}
