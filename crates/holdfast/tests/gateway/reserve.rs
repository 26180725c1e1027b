//! A full log keeps room for what people do, and nobody uses up the others'.

use holdfast_journal::{Limits, Space};
use serde_json::json;

use crate::browser::Browser;
use crate::fill::fill_up;
use crate::house::House;

/// A small log, of which 128 KiB are for people: some 200 acts.
const SETTINGS: &str = "journal: { segment_mib: 1, keep_segments: 1, warn_mib: 1, cap_mib: 2 }\nbackup: { enabled: false }\nverify: { every_hours: 0 }\n";

/// Acts that one person has of a log that small.
const SHARE: usize = 64;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_uses_up_the_room_that_a_full_log_keeps_for_the_others() {
    let mut house = House::open(SETTINGS);
    let mut owner = house.owner().await;
    let viewer = house.invited(&mut owner, "Vera", "viewer").await;
    let mut hers = vec![viewer];
    for _ in 0..5 {
        let mut more = Browser { device: hers[0].device.clone(), ..house.browser() };
        more.sign_in(None).await.is(200);
        hers.push(more);
    }
    house.stop().well();
    let limits = Limits {
        segment_bytes: 1 << 20,
        keep_segments: 1,
        warn_bytes: 1 << 20,
        cap_bytes: 2 << 20,
        ..Limits::default()
    };
    fill_up(&house.home, limits, Space::Ordinary);
    house.start();
    let settings = hers[0].get("/settings").await.is(200).text;
    let device =
        settings.split_once("name=\"id\" value=\"dev_").unwrap().1.split('"').next().unwrap().to_owned();
    let device = format!("dev_{device}");
    // What takes no passkey and can be done again and again, in as many sessions as she likes.
    let (mut done, mut last) = (0, None);
    for n in 0..6 * 60 {
        let renamed = json!({ "id": device, "label": format!("n{n}") });
        let reply = hers[n / 60].post_bare("/auth/devices/rename", renamed).await;
        done += usize::from(reply.status == 200);
        last = Some(reply);
    }
    let last = last.unwrap();
    assert_eq!((last.status, last.code()), (503, "HF-GTW-038"), "{}", last.text);
    assert!((SHARE - 1..=SHARE + 10).contains(&done), "she has her share, and no more: {done}");
    // She may still take away what is hers, which is recorded later.
    hers[1].post("/auth/logout", json!({})).await.is(303);
    // Others go on: somebody signs in, makes a token and takes it back, and invites.
    let mut anew = Browser { device: owner.device.clone(), ..house.browser() };
    anew.sign_in(None).await.is(200);
    let (id, _) = anew.token("read").await;
    anew.post("/auth/tokens/revoke", json!({ "id": id })).await.is(200);
    house.invited(&mut anew, "Ben", "viewer").await;
    anew.post("/auth/people/invite", json!({ "name": "Cleo", "role": "viewer" })).await.is(200);
    house.stop().well();
    house.home.run(&["audit", "verify"]).ok();
}
