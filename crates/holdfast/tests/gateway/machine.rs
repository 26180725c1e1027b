//! What is done at the machine itself, and what is recorded of it.

use holdfast_journal::{Limits, Space};
use holdfast_types::Timestamp;
use rusqlite::Connection;
use serde_json::json;

use crate::fill::{fill, fill_up};
use crate::house::House;
use crate::running::{Looking as _, wait_until};

/// Two MiB: ordinary entries stop 128 KiB below that.
const SMALL: &str =
    "journal: { segment_mib: 1, keep_segments: 1, warn_mib: 1, cap_mib: 2 }\nverify: { every_hours: 0 }\n";
const ORDINARY_STOPS: u64 = (2 << 20) - (128 << 10);

fn bounds() -> Limits {
    let mib = 1 << 20;
    Limits { segment_bytes: mib, keep_segments: 1, warn_bytes: mib, cap_bytes: 2 * mib, ..Limits::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_cannot_be_recorded_is_not_made() {
    let mut house = House::open(SMALL);
    house.owner().await;
    house.stop().well();
    let made = || house.home.bodies("gateway.link.made").len();
    assert_eq!(made(), 1);
    fill(&house.home, (ORDINARY_STOPS - (48 << 10)) / 4_400, 4_000);
    fill_up(&house.home, bounds(), Space::Ordinary);
    fill_up(&house.home, bounds(), Space::Reserved);
    for _ in 0..3 {
        let refused = house.home.run(&["--json", "gateway", "link", "owner"]);
        assert_eq!(refused.error()["code"], "HF-GTW-038", "{}", refused.err);
    }
    assert_eq!(
        house.home.json(&["gateway", "links"])["links"],
        json!([]),
        "nothing was changed, as was said"
    );
    house.home.configure(&SMALL.replace("cap_mib: 2", "cap_mib: 4"));
    let link = house.home.json(&["gateway", "link", "owner", "--actor", "ana"]);
    assert_eq!(link["replaced"], false, "{link}");
    assert_eq!((house.home.json(&["gateway", "links"])["links"].as_array().unwrap().len(), made()), (1, 2));
    let entry = house.home.entries().into_iter().rfind(|entry| entry["kind"] == "gateway.link.made").unwrap();
    assert_eq!((&entry["actor"], &entry["body"]["name"]), (&json!("ana"), &json!("owner")), "{entry}");
    let again = house.home.run(&["gateway", "link", "owner"]).ok();
    assert!(again.out.ends_with("The older link for this person opens nothing any more.\n"), "{}", again.out);
    assert_eq!(house.home.json(&["gateway", "link", "owner"])["replaced"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_act_that_is_owed_and_cannot_be_read_is_recorded_as_that() {
    let house = House::open("");
    house.owner().await;
    let conn = Connection::open(house.home.path().join("state/gateway.db")).unwrap();
    let done_at: Timestamp = "2026-11-15T08:00:00.000000Z".parse().unwrap();
    let good = r#"{"event":"token_revoked","token":"tok_1","from":"192.0.2.7"}"#;
    for (kind, event) in [
        ("gateway.token.revoked", "{\"event\":\"token_rev"),
        ("no kind at all!", r#"{"event":"token_revoked"}"#),
        ("gateway.token.revoked", good),
    ] {
        let sql = "INSERT INTO owed (at, kind, event) VALUES (?1, ?2, ?3)";
        conn.execute(sql, rusqlite::params![done_at.as_micros(), kind, event]).unwrap();
    }
    let owed = || conn.query_row("SELECT count(*) FROM owed", [], |row| row.get::<_, u64>(0)).unwrap();
    wait_until("what was owed is recorded", || owed() == 0);
    let unreadable = house.home.bodies("gateway.act.unreadable");
    let told: Vec<_> =
        unreadable.iter().map(|body| (body["kind"].clone(), body["done_at"].clone())).collect();
    let at = json!(done_at);
    assert_eq!(told, [(json!("gateway.token.revoked"), at.clone()), (json!("no kind at all!"), at)]);
    assert!(unreadable[0]["text"].as_str().unwrap().contains("token_rev"), "{unreadable:?}");
    assert_eq!(house.home.bodies("gateway.token.revoked").len(), 1, "what can be read is recorded as ever");
}
