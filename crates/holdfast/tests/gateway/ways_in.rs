//! New ways in are told and can be taken back; and nobody who asks for much keeps others from looking.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::browser::Browser;
use crate::house::House;
use crate::running::{Looking as _, wait_until};

/// What people were told by notices.
fn told(house: &House) -> Vec<String> {
    let raised = house.home.bodies("notice.message.raised");
    raised.iter().map(|body| body["message"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_passkey_token_and_link_are_told_and_a_link_is_listed_until_it_is_revoked() {
    let house = House::open("");
    let mut owner = house.owner().await;
    owner.token("read").await;
    let link = owner.post("/auth/devices/link", json!({})).await.is(200).json["link"].clone();
    let link = link.as_str().unwrap().strip_prefix("/register#").unwrap().to_owned();
    let mut phone = house.browser();
    phone.register(&link).await;
    for said in [
        "A token for scripts was made by owner",
        "A link that adds a device was made by owner",
        "A passkey was added to the account of owner",
    ] {
        wait_until(said, || told(&house).iter().any(|line| line.contains(said)));
    }
    // On the next visit by another session, until they say that they know.
    assert!(owner.get("/").await.is(200).text.contains("new way"), "the passkey that came by the link");
    let page = phone.get("/settings").await.is(200).text;
    assert!(page.contains("The token to read") && page.contains("A link: device for owner"), "{page}");
    let upto = page.split("name=\"upto\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    phone.post("/auth/news/known", json!({ "upto": upto })).await.is(200);
    assert!(!phone.get("/settings").await.is(200).text.contains("The token to read</"));
    assert!(!owner.get("/").await.is(200).text.contains("new way"));

    let made = owner.post("/auth/devices/link", json!({})).await.is(200).json["link"].clone();
    let listed = house.home.json(&["gateway", "links"])["links"].clone();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["purpose"]), (1, &json!("device")));
    assert!(!listed.to_string().contains(made.as_str().unwrap().strip_prefix("/register#").unwrap()));
    assert!(owner.get("/settings").await.text.contains("Another device for owner"));
    owner.post("/auth/links/revoke", json!({ "id": listed[0]["id"] })).await.is(200);
    assert_eq!(house.home.json(&["gateway", "links"])["links"], json!([]));
    let token = made.as_str().unwrap().strip_prefix("/register#").unwrap();
    let late = house.browser().post("/auth/register/start", json!({ "link": token, "label": "x" })).await;
    assert_eq!(late.is(404).code(), "HF-GTW-009");
}

/// Looks of one person that take a while, one after the other: how long those took that were answered, and how many were put off.
async fn hammer(mut viewer: Browser, times: usize) -> (Vec<Duration>, usize) {
    let (mut answered, mut put_off) = (Vec::new(), 0);
    for _ in 0..times {
        let asked = Instant::now();
        let reply = viewer.get("/api/v1/house/doctor").await;
        match reply.status {
            200 => answered.push(asked.elapsed()),
            503 => {
                assert!(reply.header("retry-after").parse::<u64>().unwrap() > 0);
                put_off += 1;
                // It is the line that is measured here, and not how fast she is sent away.
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            other => panic!("{other}: {}", reply.text),
        }
    }
    (answered, put_off)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_viewer_who_looks_at_everything_at_once_keeps_no_owner_from_looking() {
    let house = House::open("");
    let mut owner = house.owner().await;
    let viewer = house.invited(&mut owner, "Vera", "viewer").await;
    let many: Vec<_> = (0..64)
        .map(|_| {
            // Each from an address of its own: connections of one address are bounded elsewhere.
            let one = Browser { from: crate::browser::an_address(), ..viewer.clone() };
            tokio::spawn(hammer(one, 12))
        })
        .collect();
    // As long as all of hers are under way, so that each of the owner's comes behind them.
    let mut owners = Vec::new();
    while owners.is_empty() || many.iter().all(|one| !one.is_finished()) {
        let asked = Instant::now();
        owner.get("/audit?kind=gateway").await.is(200);
        owners.push(asked.elapsed());
    }
    let (mut hers, mut put_off) = (Vec::new(), 0);
    for one in many {
        let (answered, refused) = one.await.unwrap();
        hers.extend(answered);
        put_off += refused;
    }
    assert_eq!(hers.len() + put_off, 64 * 12);
    assert!(hers.len() >= 64, "they are served too: {}", hers.len());
    hers.sort_unstable();
    let (usual, slowest) = (hers[hers.len() / 2], *owners.iter().max().unwrap());
    let looks = owners.len();
    assert!(
        slowest < usual,
        "the owner waits in no line of hers: {slowest:?} at most of {looks}, hers {usual:?} mostly"
    );
}
