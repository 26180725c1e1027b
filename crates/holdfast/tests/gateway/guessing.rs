//! Codes, links and tokens, guessed by the thousand.

use std::net::Ipv4Addr;
use std::time::Instant;

use holdfast_testkit::{STRANGER, as_user};
use serde_json::json;

use crate::browser::{Browser, Reply};
use crate::house::House;
use crate::running::Looking as _;

/// What one address gets before it has to wait, with room for what comes back while the test runs.
const FEW: usize = 30;

/// Processor time of the daemon in seconds, all threads together.
fn worked(house: &House) -> f64 {
    let pid = house.daemon.as_ref().unwrap().pid();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks = |n: usize| fields[n].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) / rustix::param::clock_ticks_per_second() as f64
}

/// A thousand tries from one address, some dozens at once: one alone waits for a reading of the system's tables each time.
async fn tried<F: Future<Output = Reply> + Send + 'static>(
    browser: &Browser,
    one: impl Fn(Browser, usize) -> F,
) -> Vec<Reply> {
    let mut replies = Vec::new();
    for round in 0..20 {
        let all: Vec<_> = (0..50).map(|n| tokio::spawn(one(browser.clone(), round * 50 + n))).collect();
        for reply in all {
            replies.push(reply.await.unwrap());
        }
    }
    replies
}

// shows: GTW-021, GTW-F09, GTW-F30
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codes_and_links_guessed_by_the_thousand_stay_cheap_and_become_a_few_lines() {
    let house = House::open("");
    let mut owner = house.browser();
    let finished = owner.register(&house.link(None)).await;
    let code = finished.json["codes"][0].as_str().unwrap().to_owned();
    let database = std::fs::read(house.home.path().join("state/gateway.db")).unwrap();
    let plain = code.replace('-', "");
    for text in [&code, &plain, owner.cookie().unwrap()] {
        assert!(!holds(&database, text.as_bytes()), "a stolen database lets nobody in");
    }

    // The beginning of a code is known, which is the worst: a hash is computed for each try that is looked at.
    let wrong: String = code.chars().take(code.len() - 4).chain("0000".chars()).collect();
    let thief = house.browser();
    let (mut looked_at, mut put_off) = (0, 0);
    let (began, worked_before) = (Instant::now(), worked(&house));
    for reply in tried(&thief, |mut thief, _| {
        let body = json!({ "code": wrong });
        async move { thief.post("/auth/recover", body).await }
    })
    .await
    {
        match reply.status {
            401 | 400 => looked_at += 1,
            429 => {
                assert!(reply.header("retry-after").parse::<u64>().unwrap() > 0);
                put_off += 1;
            }
            other => panic!("{other}: {}", reply.text),
        }
    }
    assert!(looked_at <= FEW && put_off >= 1_000 - FEW, "{looked_at} looked at, {put_off} put off");
    let (took, cost) = (began.elapsed().as_secs_f64(), worked(&house) - worked_before);
    assert!(cost < 10.0, "a thousand tries cost {cost:.1} s of a processor, in {took:.1} s");
    house.has_recorded(thief.from, "code");
    house.has_recorded(thief.from, "limit");
    assert!(house.refused(thief.from, "code").len() + house.refused(thief.from, "limit").len() < 36);

    // Links and tokens alike.
    let guesser = house.browser();
    let replies = tried(&guesser, |mut guesser, n| async move {
        let body = json!({ "link": format!("{n:043}"), "label": "x" });
        guesser.post("/auth/register/start", body).await
    });
    let looked_at = replies.await.iter().filter(|reply| reply.status != 429).count();
    assert!(looked_at <= FEW, "{looked_at}");
    let replies = tried(&guesser, |mut guesser, n| async move {
        let request =
            guesser.bare("GET", "/api/v1/status").header("authorization", format!("Bearer hft_{n:043}"));
        guesser.send(request.body(Default::default()).unwrap()).await
    });
    let mut looked_at = 0;
    for reply in replies.await {
        looked_at += usize::from(reply.status != 429);
        assert!([401, 429].contains(&reply.status), "{}", reply.text);
    }
    assert!(looked_at <= FEW, "{looked_at}");
    for why in ["link", "token", "limit"] {
        house.has_recorded(guesser.from, why);
        assert!(house.refused(guesser.from, why).len() < 18, "{why}");
    }

    // Whoever has a good one comes in meanwhile: by a browser they had, for which the flood counts neither where it came
    // from (all of this machine is one place) nor for the code itself.
    let other = finished.json["codes"][1].as_str().unwrap().to_owned();
    let mut person = owner.clone();
    person.post("/auth/recover", json!({ "code": other })).await.is(200);
    person.post("/auth/recover", json!({ "code": code })).await.is(200);
    owner.get("/").await.is(200);
    assert!(house.home.entries().len() < 100, "the journal is no longer for it");
}

/// Begins to sign in from all over 127.0.0.0/8, and prints what it was answered.
const BEGINS: &str = r#"
import http.client, sys
port, origin, times = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for n in range(times):
    there = http.client.HTTPConnection("127.0.0.1", port, source_address=("127.0.%d.1" % n, 0))
    host = origin.split("://")[1]
    there.request("POST", "/auth/login/start", "{}", {"Host": host, "Origin": origin, "Content-Type": "application/json"})
    print(there.getresponse().status)
"#;

// shows: GTW-F30
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_of_this_machine_uses_up_its_own_tries_and_no_other_users() {
    let house = House::open("");
    let port = house.origin().rsplit(':').next().unwrap().to_owned();
    let mut flood = as_user(STRANGER);
    flood.args(["/usr/bin/python3", "-I", "-c", BEGINS, &port, &house.origin(), "60"]).current_dir("/");
    let said = flood.output().unwrap();
    let statuses = String::from_utf8(said.stdout).unwrap();
    // One more is allowed every two seconds, so it need not be the last one.
    let put_off = statuses.lines().filter(|status| *status == "429").count();
    assert!(put_off > 0, "all its addresses are one place: {statuses}{:?}", said.stderr);
    // A browser nobody knows, of another user.
    let mut unknown = house.browser();
    unknown.from = Ipv4Addr::LOCALHOST;
    unknown.post("/auth/login/start", json!({})).await.is(200);
}

fn holds(bytes: &[u8], wanted: &[u8]) -> bool {
    memchr::memmem::find(bytes, wanted).is_some()
}
