//! Somebody has the cookie of a session, and its person wants to be rid of them.

use http::StatusCode;
use serde_json::json;

use holdfast_gateway::{Acting, Error, Event, LinkPurpose, Role, Scope, Signed, Tokens};
use holdfast_testkit::authenticator::Key;

use crate::browser::{Browser, Site};
use crate::house::{House, ORIGIN, label, number, stranger};

/// The same session in somebody else's hands, without its passkey.
fn thief_of<'a>(browser: &Browser<'a>) -> Browser<'a> {
    let mut thief = browser.site.browser();
    thief.jar = browser.jar.clone();
    thief.from = "203.0.113.9".parse().unwrap();
    thief
}

/// The same person in another browser of theirs.
async fn anew<'a>(browser: &Browser<'a>) -> Browser<'a> {
    let mut other = browser.site.browser();
    other.key = browser.key.clone();
    assert_eq!(other.sign_in(None).await.status, 200);
    other
}

#[tokio::test]
async fn whoever_uses_up_a_stolen_sessions_share_keeps_its_person_from_nothing() {
    let site = Site::new();
    let owner = site.owner().await;
    let mut thief = thief_of(&owner);
    let device = site.house.accounts.devices(site.house.accounts.people().unwrap()[0].id).unwrap()[0].id;
    let mut put_off = false;
    for n in 0..200 {
        let renamed = json!({ "id": device, "label": format!("n{n}") });
        put_off |=
            thief.post_bare("/auth/devices/rename", renamed).await.status == StatusCode::TOO_MANY_REQUESTS;
    }
    assert!(put_off, "a session has a share");
    let mut person = anew(&owner).await;
    assert_eq!(person.post("/auth/sessions/end", json!({ "id": "others" })).await.status, 200);
    assert!(thief.csrf().await.is_none(), "and is over");
}

#[tokio::test]
async fn a_stolen_session_ends_itself_and_no_other_and_takes_no_link_and_no_news_away() {
    let site = Site::new();
    let owner = site.owner().await;
    let person = anew(&owner).await;
    let mut thief = thief_of(&owner);
    let who = site.house.accounts.signed(&person.cookie().unwrap()).unwrap().unwrap();
    let link = site.house.accounts.recovery_link(who.person).unwrap();
    for (path, body) in [
        ("/auth/sessions/end", json!({ "id": who.session().unwrap() })),
        ("/auth/sessions/end", json!({ "id": "others" })),
        ("/auth/sessions/end", json!({ "id": "all" })),
        ("/auth/sessions/end", json!({ "id": "others", "tokens": "no" })),
        ("/auth/links/revoke", json!({ "id": link.id })),
        ("/auth/news/known", json!({ "upto": 99 })),
    ] {
        let reply = thief.post_bare(path, body).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (403, "HF-GTW-008"), "{path}: {}", reply.text);
    }
    assert!(site.house.is_signed_in(&person.cookie().unwrap()));
    assert_eq!(thief.post_bare("/auth/sessions/end", json!({ "id": "this" })).await.status, 200);
    assert!(thief.csrf().await.is_none() && site.house.is_signed_in(&person.cookie().unwrap()));
}

#[test]
fn no_act_of_a_session_takes_away_the_link_by_which_its_person_comes_back() {
    let (house, owner) = House::with_owner();
    let ben = house.invited(&owner, "Ben", Role::Owner);
    let accounts = &house.accounts;
    let second = accounts.device_link(&house.signed(&ben), None).unwrap();
    let thief = house.join(&second, Key::new());
    let (by, person) = (house.signed(&thief), house.signed(&ben).person);
    let code = accounts.recover(&ben.codes[0], |_, _| Ok(())).unwrap().link;
    let machine = accounts.recovery_link(person).unwrap();
    accounts.end_other_sessions(&by, Tokens::End).unwrap();
    accounts.remove_device(&by, accounts.devices(person).unwrap()[0].id).unwrap();
    accounts.set_role(&house.signed(&owner), person, Role::Viewer).unwrap();
    accounts.end_all_sessions(person, Tokens::End).unwrap();
    let open = accounts.open_links().unwrap();
    assert!(open.iter().all(|link| link.purpose == LinkPurpose::Recovered) && open.len() == 2, "{open:?}");
    // Coming back by one ends the other: it may be an intruder's.
    house.register(&code, &mut Key::new()).unwrap();
    assert_eq!(number(house.register(&machine, &mut Key::new())), 9);
}

#[test]
fn what_was_made_in_a_session_ends_with_it() {
    let (house, mut owner) = House::with_owner();
    let accounts = &house.accounts;
    let made = |tokens: Tokens, key: &mut Key| {
        let intruder = house.sign_in(key).unwrap().session;
        let by = accounts.signed(intruder.cookie.reveal()).unwrap().unwrap();
        let device = accounts.device_link(&by, None).unwrap();
        let invited = accounts.invite(&by, None, &"Eve".parse().unwrap(), Role::Owner).unwrap();
        let token = accounts.make_token(&by, None, &label("t"), Scope::Manage, 366).unwrap();
        let ended = accounts.end_session(&house.signed(&owner), intruder.id, tokens).unwrap();
        assert_eq!((ended.sessions, ended.links), (1, 2));
        for link in [device, invited] {
            assert_eq!(number(accounts.register_start(stranger(9), link.token.reveal(), &label("x"))), 9);
        }
        accounts.signed_by_token(token.token.reveal()).unwrap().is_some()
    };
    let mut key = owner.key.clone();
    let kept = accounts.make_token(&house.signed(&owner), None, &label("mine"), Scope::Read, 1).unwrap();
    assert!(!made(Tokens::End, &mut key), "its token too");
    assert!(made(Tokens::Stay, &mut key), "unless it is to stay");
    assert!(accounts.signed_by_token(kept.token.reveal()).unwrap().is_some(), "others go on");
    // Who signs out of a browser keeps the tokens that were made in it.
    owner.key = key;
    accounts.end(&house.signed(&owner)).unwrap();
    assert!(accounts.signed_by_token(kept.token.reveal()).unwrap().is_some());
}

#[test]
fn what_is_as_it_was_is_not_recorded_however_often_it_is_asked_for() {
    let (house, owner) = House::with_owner();
    let guest = house.invited(&owner, "Ben", Role::Viewer);
    let (accounts, by) = (&house.accounts, house.signed(&guest));
    let token = accounts.make_token(&by, None, &label("t"), Scope::Read, 1).unwrap().id;
    accounts.revoke_token(&by, token).unwrap();
    let device = accounts.devices(by.person).unwrap()[0].id;
    accounts.rename_device(&by, device, &label("phone")).unwrap();
    house.diary.take();
    for _ in 0..100 {
        accounts.revoke_token(&by, token).unwrap();
        accounts.rename_device(&by, device, &label("phone")).unwrap();
        accounts.set_role(&house.signed(&owner), by.person, Role::Viewer).unwrap();
    }
    assert_eq!(house.diary.take(), []);
}

#[tokio::test]
async fn a_passkey_that_is_used_to_take_something_away_does_not_fail_because_the_log_is_full() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let guest = site.invited(&mut owner, "Ben", Role::Viewer).await;
    let ben = site.house.accounts.person_named("Ben").unwrap().id;
    let phone = site
        .house
        .accounts
        .device_link(&site.house.accounts.signed(&owner.cookie().unwrap()).unwrap().unwrap(), None);
    let device = site.house.register(&phone.unwrap(), &mut Key::new()).unwrap().device;
    site.diary.take();
    site.diary.fill(true);
    let removed = owner.post("/auth/people/remove", json!({ "id": ben })).await;
    assert_eq!(removed.status, 200, "{}", removed.text);
    assert!(!site.house.is_signed_in(&guest.cookie().unwrap()));
    let removed = owner.post("/auth/devices/remove", json!({ "id": device })).await;
    assert_eq!(removed.status, 200, "{}", removed.text);
    let refused = owner.post("/auth/codes/renew", json!({})).await;
    assert_eq!(
        (refused.status.as_u16(), refused.code()),
        (503, "HF-GTW-038"),
        "what widens is refused as before"
    );
    site.diary.fill(false);
    let kinds: Vec<String> = site.house.accounts.owed().unwrap().into_iter().map(|one| one.kind).collect();
    let proved = "gateway.passkey.confirmed";
    assert_eq!(kinds, [proved, "gateway.person.removed", proved, "gateway.device.removed"]);
    // With room, each is recorded with its act, and what is refused was confirmed for nothing.
    owner.post("/auth/codes/renew", json!({})).await;
    let mut recorded = site.diary.take();
    recorded.retain(|event| !matches!(event, Event::Refused { .. }));
    let kinds: Vec<_> = recorded.iter().map(Event::kind).collect();
    assert_eq!(kinds, [proved, "gateway.codes.renewed"]);
}

#[test]
fn one_persons_acts_take_the_room_of_what_is_owed_from_nobody() {
    let (house, owner) = House::with_owner();
    let guest = house.invited(&owner, "Ben", Role::Viewer);
    let (viewer, mut key) = (house.signed(&guest), guest.key.clone());
    let person = viewer.person.to_string();
    let session = house.sign_in(&mut key).unwrap().session;
    house.diary.fill(true);
    // As many as a person may owe, from days of a full log.
    let conn = rusqlite::Connection::open(house.path()).unwrap();
    let sql = "INSERT INTO owed (at, kind, event, person) VALUES (1, 'gateway.token.revoked', '{}', ?1)";
    for _ in 0..128 {
        conn.execute(sql, [&person]).unwrap();
    }
    let accounts: &Acting = &house.accounts;
    let refused = accounts.end_session(&viewer, session.id, Tokens::End);
    assert!(matches!(refused, Err(Error::NotRecorded { .. })), "{refused:?}");
    accounts.end_all_sessions(house.signed(&owner).person, Tokens::End).unwrap();
}

#[tokio::test]
async fn a_user_of_this_machine_keeps_no_other_user_of_it_from_coming_in() {
    let site = Site::new();
    let link = site.house.accounts.first_link(&"Ana".parse().unwrap()).unwrap();
    let mut owner = site.browser();
    let codes = owner.register(link.token.reveal()).await.json["codes"].clone();
    let invited = owner.post("/auth/people/invite", json!({ "name": "Ben", "role": "viewer" })).await;
    let mut flood = site.browser();
    (flood.from, flood.uid) = ("127.0.0.1".parse().unwrap(), Some(64_999));
    for path in ["/auth/login/start", "/auth/register/start", "/auth/recover"] {
        let body = match path {
            "/auth/login/start" => json!({}),
            "/auth/register/start" => json!({ "link": "x", "label": "x" }),
            _ => json!({ "code": "0000000000000000000A" }),
        };
        let mut last = StatusCode::OK;
        for n in 0..40 {
            flood.from = format!("127.0.{n}.1").parse().unwrap();
            flood.jar.clear();
            last = flood.post_bare(path, body.clone()).await.status;
        }
        assert_eq!(last, StatusCode::TOO_MANY_REQUESTS, "{path}: all of its addresses are one place");
    }
    for uid in [Some(1_000), None] {
        let mut unknown = site.browser();
        (unknown.from, unknown.uid, unknown.key) = ("127.0.0.1".parse().unwrap(), uid, owner.key.clone());
        assert_eq!(unknown.sign_in(None).await.status, 200, "{uid:?}");
    }
    let mut ben = site.browser();
    (ben.from, ben.uid) = ("127.0.0.1".parse().unwrap(), Some(1_000));
    let link = invited.json["link"].as_str().unwrap().strip_prefix("/register#").unwrap();
    ben.register(link).await;
    // A code that fits is looked at also where others have tried all they may: here as that very user.
    let mut back = site.browser();
    (back.from, back.uid) = (flood.from, flood.uid);
    assert_eq!(back.post("/auth/recover", json!({ "code": codes[0] })).await.status, 200);
}

/// Somebody with an account of their own comes in over the cookies of another browser, with its anti-forgery word or without.
async fn comes_in_over(browser: &Browser<'_>, key: &Key, word: Option<String>) -> u16 {
    let mut thief = thief_of(browser);
    thief.key = key.clone();
    let begun = thief.post_with("/auth/login/start", json!({}), None).await;
    let credential = thief.key.get(ORIGIN, &begun.json["publicKey"]);
    let last = json!({ "ceremony": begun.json["ceremony"], "credential": credential, "next": null });
    thief.post_with("/auth/login/finish", last, word).await.status.as_u16()
}

fn kinds(site: &Site) -> Vec<&'static str> {
    site.diary.take().iter().map(Event::kind).collect()
}

#[tokio::test]
async fn whoever_signs_in_over_a_stolen_cookie_ends_nobody_elses_session() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let ben = site.invited(&mut owner, "Ben", Role::Viewer).await;
    let cookie = owner.cookie().unwrap();
    site.diary.take();
    assert_eq!(comes_in_over(&owner, &ben.key, None).await, 200);
    assert!(site.house.is_signed_in(&cookie), "the cookie alone is no reason to end its session");
    assert_eq!(kinds(&site), ["gateway.session.started"]);
    // The same by a link of their own.
    let link = site.house.accounts.device_link(&site.signed(&ben), None).unwrap();
    let mut thief = thief_of(&owner);
    let asked = json!({ "link": link.token.reveal(), "label": "x" });
    let begun = thief.post_with("/auth/register/start", asked, None).await;
    let credential = Key::new().create(ORIGIN, &begun.json["publicKey"]);
    let last = json!({ "ceremony": begun.json["ceremony"], "credential": credential });
    assert_eq!(thief.post_with("/auth/register/finish", last, None).await.status, 200);
    assert!(site.house.is_signed_in(&cookie));
    site.diary.take();
    // The same person again, with the cookie alone: their own session ends, and that is recorded with who it was.
    let own = anew(&owner).await;
    site.diary.take();
    let was = site.signed(&own);
    assert_eq!(comes_in_over(&own, &owner.key, None).await, 200);
    assert!(!site.house.is_signed_in(&own.cookie().unwrap()));
    let left = |who: &Signed| Event::SignedOut {
        person: who.person,
        session: who.session().unwrap(),
        from: "203.0.113.9".parse().unwrap(),
    };
    let events = site.diary.take();
    assert!(events.len() == 2 && events[1] == left(&was), "{events:?}");
    // And by a page of the session, whoever signs in there: two people share a browser.
    let (was, word) = (site.signed(&owner), owner.csrf().await);
    assert_eq!(comes_in_over(&owner, &ben.key, word).await, 200);
    assert!(!site.house.is_signed_in(&cookie));
    let events = site.diary.take();
    assert!(events.len() == 2 && events[1] == left(&was), "{events:?}");
}

#[tokio::test]
async fn signing_in_ends_the_session_before_it_or_neither_happens() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let word = owner.csrf().await;
    site.diary.fill(true);
    assert_eq!(comes_in_over(&owner, &owner.key, word).await, 503);
    assert!(site.house.is_signed_in(&owner.cookie().unwrap()));
}

#[tokio::test]
async fn what_somebody_has_not_seen_stays_news_and_that_they_know_is_recorded() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let other = anew(&owner).await;
    let (here, accounts) = (site.signed(&owner), &site.house.accounts);
    accounts.make_token(&site.signed(&other), None, &label("seen"), Scope::Read, 1).unwrap();
    let upto = accounts.news(&here).unwrap()[0].id;
    accounts.make_token(&site.signed(&other), None, &label("later"), Scope::Read, 1).unwrap();
    site.diary.take();
    let bare = owner.post("/auth/news/known", json!({})).await;
    assert_eq!((bare.status.as_u16(), bare.code()), (400, "HF-GTW-025"));
    let proof = owner.proof("/auth/news/known", json!({ "upto": upto })).await.unwrap();
    let more = owner.post_bare("/auth/news/known", json!({ "upto": upto + 1, "proof": proof })).await;
    assert_eq!((more.status.as_u16(), more.code()), (403, "HF-GTW-008"), "the passkey is for what was shown");
    site.diary.take();
    let proof = owner.proof("/auth/news/known", json!({ "upto": upto })).await.unwrap();
    let known = owner.post_bare("/auth/news/known", json!({ "upto": upto, "proof": proof })).await;
    assert_eq!(known.status, 200, "{}", known.text);
    let left = accounts.news(&here).unwrap();
    assert!(left.len() == 1 && left[0].name == label("later"), "{left:?}");
    let events = site.diary.take();
    assert_eq!(
        events.iter().map(Event::kind).collect::<Vec<_>>(),
        ["gateway.passkey.confirmed", "gateway.news.known"]
    );
    assert!(matches!(events[1], Event::NewsKnown { known: 1, .. }), "{events:?}");
    // A form sends text. Numbers are never given again, so an old page takes nothing new away.
    assert_eq!(owner.submit("/auth/news/known", &[("upto", "999")]).await.status, 303);
    assert!(accounts.news(&here).unwrap().is_empty());
    accounts.make_token(&site.signed(&other), None, &label("last"), Scope::Read, 1).unwrap();
    assert!(accounts.news(&here).unwrap()[0].id > left[0].id);
    owner.post("/auth/news/known", json!({ "upto": left[0].id })).await;
    assert_eq!(accounts.news(&here).unwrap().len(), 1);
}

#[test]
fn an_owner_locks_somebody_out_however_much_all_others_owe_to_the_log() {
    let (house, owner) = House::with_owner();
    let guest = house.invited(&owner, "Ben", Role::Operator);
    let (accounts, by, ben) = (&house.accounts, house.signed(&owner), house.signed(&guest));
    let token = |by: &Signed| accounts.make_token(by, None, &label("t"), Scope::Read, 1).unwrap().id;
    let (theirs, mine, another) = (token(&ben), token(&by), token(&by));
    house.diary.fill(true);
    let conn = rusqlite::Connection::open(house.path()).unwrap();
    let owes = |person: &str| {
        let sql = "INSERT INTO owed (at, kind, event, person) VALUES (1, 'gateway.token.revoked', '{}', ?1)";
        conn.execute(sql, [person]).unwrap();
    };
    for n in 0..1_024 {
        owes(&format!("per_{}", n / 128));
    }
    assert!(matches!(accounts.revoke_token(&ben, theirs), Err(Error::NotRecorded { .. })));
    accounts.end_all_sessions(by.person, Tokens::Stay).unwrap();
    accounts.revoke_token(&by, mine).unwrap();
    accounts.remove_person(&by, ben.person).unwrap();
    for _ in 0..125 {
        owes(&by.person.to_string());
    }
    let refused = accounts.revoke_token(&by, another);
    assert!(matches!(refused, Err(Error::NotRecorded { .. })), "an owner's part is bounded too: {refused:?}");
}
