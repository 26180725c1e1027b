//! What people do: come in, confirm, invite, lose a device, come back.

use std::collections::BTreeSet;

use holdfast_steward::ladder::Level;
use serde_json::{Value, json};

use crate::browser::{Browser, call};
use crate::home::Home;
use crate::house::{House, modelled};
use crate::running::{Looking as _, an_address, wait_for, wait_until};

/// Links of a page, as somebody would copy them from it.
fn shown_once(page: &str, begins: &str) -> String {
    let (_, rest) = page.split_once(begins).unwrap_or_else(|| panic!("no {begins} in {page}"));
    rest.split(['<', '"']).next().unwrap().to_owned()
}

// shows: GTW-010, GTW-011, GTW-012, GTW-015, GTW-016, GTW-020, GTW-022, GTW-026, GTW-029, GTW-055, GTW-056, GTW-F10, GTW-F11, GTW-F13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_come_in_by_links_leave_come_back_and_recover() {
    let mut house = House::open("");
    // Nobody is in: pages send to the way in, the API and streams refuse.
    let mut nobody = house.browser();
    assert!(
        nobody.get("/login").await.is(200).text.contains("gateway link"),
        "the first visitor is told how"
    );
    assert_eq!(nobody.get("/audit").await.is(303).location(), "/login?next=%2Faudit");
    assert_eq!(nobody.get("/api/v1/status").await.is(401).code(), "HF-GTW-006");
    assert_eq!(nobody.follow("/live?page=/").await.err().as_deref(), Some("401 Unauthorized"));

    // The first owner comes in by the link of the machine, and is signed in at once.
    let link = house.link(None);
    let mut owner = house.browser();
    let finished = owner.register(&link).await;
    let codes: BTreeSet<String> =
        finished.json["codes"].as_array().unwrap().iter().map(|c| c.as_str().unwrap().to_owned()).collect();
    assert_eq!(codes.len(), 10, "ten codes, all different");
    owner.get("/").await.is(200);
    let (again, mut other) = (json!({ "link": link, "label": "x" }), house.browser());
    assert_eq!(other.post("/auth/register/start", again).await.is(410).code(), "HF-GTW-011", "used once");
    let ran = house.home.run(&["gateway", "link"]);
    assert_ne!(ran.code, 0, "there is an owner, so a link is for somebody: {}", ran.out);

    // Out and in again, with nothing but the device; the old cookie is worth nothing.
    let old = owner.clone();
    assert_eq!(owner.post("/auth/logout", json!({})).await.is(303).location(), "/login");
    assert_eq!(old.clone().get("/").await.is(303).location(), "/login");
    assert_eq!(owner.sign_in(Some("/audit")).await.is(200).json["next"], "/audit");
    assert_ne!(owner.cookie(), old.cookie());

    // Others come by invitation, and with the role they were given. The form works without scripts.
    let sent = owner.submit("/auth/people/invite", &[("name", "Olga"), ("role", "operator")]).await.is(303);
    let page = owner.get(sent.location().split('#').next().unwrap()).await.is(200).text;
    let begins = format!("{}/register#", house.origin());
    let mut operator = house.browser();
    operator.register(&shown_once(&page, &begins)).await;
    let mut viewer = house.invited(&mut owner, "Vera", "viewer").await;
    viewer.get("/hosts").await.is(200);
    viewer.get("/settings/people").await.is(403);
    assert!(owner.get("/settings/people").await.is(200).text.contains("Vera"));

    // A token is shown once, works with its scope, and is refused when it is revoked.
    let fields = [("name", "backup"), ("scope", "read"), ("days", "30")];
    let sent = operator.submit("/auth/tokens/make", &fields).await.is(303);
    let to = sent.location().split('#').next().unwrap().to_owned();
    let token = format!("hft_{}", shown_once(&operator.get(&to).await.is(200).text, "hft_"));
    assert!(!operator.get(&to).await.text.contains(&token), "it is shown once");
    call(house.port, &token, "GET", "/api/v1/status", None).await.is(200);
    call(house.port, &token, "POST", "/api/v1/autonomy/pause", Some(&json!({}))).await.is(403);

    // Somebody lost their device: a code opens the way to a new one, once, and people are told.
    let code = codes.first().unwrap().clone();
    let mut found = house.browser();
    let next = found.submit("/auth/recover", &[("code", &code)]).await.is(303).location().to_owned();
    found.register(next.strip_prefix("/register#").unwrap()).await;
    found.get("/settings/people").await.is(200);
    let mut late = house.browser();
    assert_eq!(late.post("/auth/recover", json!({ "code": code })).await.is(401).code(), "HF-GTW-017");
    wait_until("somebody is told", || {
        house.home.told().iter().any(|one| one.to_string().contains("came in by a recovery code"))
    });

    // Every device and every code lost: whoever has the machine makes a link, also for an owner.
    let mut back = house.browser();
    back.register(&house.link(Some("owner"))).await;
    back.get("/settings/people").await.is(200);
    assert_eq!(house.home.bodies("gateway.link.made").len(), 2);

    // Sessions outlive the daemon; one that is ended from elsewhere is over. Coming back by a link of the machine has ended the owner's.
    assert_eq!(owner.get("/").await.is(303).location(), "/login");
    owner.sign_in(None).await.is(200);
    house.stop().well();
    house.start();
    owner.get("/settings").await.is(200);
    back.post("/auth/sessions/end", json!({ "id": "others" })).await.is(200);
    assert_eq!(owner.get("/").await.is(303).location(), "/login");
    back.get("/").await.is(200);
    let kinds: BTreeSet<String> = house.home.entries().iter().map(kind_of).collect();
    for kind in ["device.registered", "session.started", "session.left", "code.used", "person.invited"] {
        assert!(kinds.contains(&format!("gateway.{kind}")), "{kind} is written down: {kinds:?}");
    }
    house.stop().well();
}

// shows: GTW-031, GTW-F20, GTW-F21
#[test]
fn plain_http_is_for_this_machine_alone_and_other_addresses_are_never_the_default() {
    let home = Home::made("gate");
    home.run(&["config", "show"]).ok().shows("127.0.0.1:9096");
    for wrong in
        ["gateway.listen=0.0.0.0:19096", "gateway.listen=[::]:19096", "gateway.address=http://hold.example"]
    {
        let health = format!("health.listen={}", an_address());
        let ran = home.run(&["up", "--set", &health, "--set", "gateway.listen=127.0.0.1:1", "--set", wrong]);
        ran.ends(2).says("gateway.");
    }
}

fn kind_of(entry: &Value) -> String {
    entry["kind"].as_str().unwrap().to_owned()
}

/// The ask that waits, as the API lists it.
fn waiting(house: &House, but: &str) -> String {
    wait_for("an ask waits", || {
        let asks = house.home.json(&["approvals"])["approvals"].clone();
        let mut open = asks.as_array()?.iter().filter(|ask| ask["state"] == "asked" && ask["id"] != but);
        open.next().map(|ask| ask["id"].as_str().unwrap().to_owned())
    })
}

async fn waits_in(browser: &mut Browser, id: &str) {
    let page = browser.get(&format!("/inbox/{id}")).await.is(200).text;
    assert!(page.contains(&format!("approve:{id}")), "{page}");
}

// shows: GTW-F07, GTW-F11, GTW-F30
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_is_approved_and_rejected_with_a_passkey_and_nothing_else() {
    let mut house = House::planned(&modelled(600));
    house.trusted(Level::ApproveEach, "for a test");
    let soon = house.ask("Ends soon.", "none", std::time::Duration::from_secs(15));
    let refused = house.ask("Raise swap on web-1.", "Memory pressure rose.", crate::running::LONG * 100);
    house.start();
    let mut owner = house.owner().await;
    let mut operator = house.invited(&mut owner, "Olga", "operator").await;
    let mut viewer = house.invited(&mut owner, "Vera", "viewer").await;
    wait_until("it is asked", || house.home.run(&["steward", "trigger"]).code == 0);

    // A viewer sees it and may not.
    viewer.get(&format!("/inbox/{refused}")).await.is(200);
    assert_eq!(viewer.confirm(&format!("approve:{refused}")).await.is(403).code(), "HF-GTW-007");
    house.has_recorded(viewer.from, "role");

    // Altered and replayed: one ceremony is for one ask, one verdict, one person, one time.
    let late = operator.begin_confirming(&format!("approve:{soon}")).await.unwrap();
    let mut last = operator.begin_confirming(&format!("reject:{refused}")).await.unwrap();
    let mut by_another = owner.clone();
    let taken = by_another.post("/auth/confirm/finish", last.clone()).await.is(410);
    assert_eq!(taken.code(), "HF-GTW-012", "another session has no such ceremony");
    let of_another = owner.begin_confirming(&format!("approve:{refused}")).await.unwrap();
    let mut swapped = last.clone();
    swapped["credential"] = of_another["credential"].clone();
    assert!([401, 410].contains(&operator.post("/auth/confirm/finish", swapped).await.status));
    assert!(house.home.bodies("approval.verdict.given").is_empty(), "nothing was decided");
    // The ceremony that was tried with a wrong answer is used up.
    operator.post("/auth/confirm/finish", last).await.is(410);
    last = operator.begin_confirming(&format!("reject:{refused}")).await.unwrap();
    let done = operator.post("/auth/confirm/finish", last.clone()).await.is(200);
    assert_eq!(done.json["next"], format!("/inbox/{refused}"));
    operator.post("/auth/confirm/finish", last).await.is(410);
    let rejected = house.home.json(&["approvals", "show", &refused]);
    assert_eq!((&rejected["state"], &rejected["decision"]["by"]), (&json!("rejected"), &json!("web:olga")));
    // What was confirmed for an ask that is decided since is not carried out.
    let overtaken = owner.post("/auth/confirm/finish", of_another).await;
    assert!(overtaken.status >= 400, "{}", overtaken.text);

    // The steward's own: the verdict is signed, checked, used once, and then it is tried.
    let asked = waiting(&house, &soon);
    waits_in(&mut operator, &asked).await;
    operator.confirm(&format!("approve:{asked}")).await.is(200);
    wait_until("it is tried", || !house.home.bodies("steward.trial.counted").is_empty());
    let given = house.home.bodies("approval.verdict.given");
    assert_eq!(given.len(), 2, "{given:?}");
    assert!(given.iter().all(|verdict| verdict.to_string().contains("signature")), "{given:?}");
    assert_eq!(house.home.bodies("approval.ask.used").len(), 1);
    let confirmed = house.home.bodies("gateway.passkey.confirmed");
    assert!(confirmed.iter().any(|one| one["what"] == format!("approve:{asked}")), "{confirmed:?}");
    house.home.run(&["audit", "verify"]).ok();

    // One that has ended while somebody held the device in their hand.
    wait_until("it has ended", || house.home.json(&["approvals", "show", &soon])["state"] != "asked");
    let ended = operator.post("/auth/confirm/finish", late).await;
    assert!((400..500).contains(&ended.status), "{} {}", ended.status, ended.text);
    assert_eq!(house.home.bodies("approval.verdict.given").len(), 2);
}
