//! The routes as a browser uses them.

use holdfast_gateway::{CookieKind, Event, Need, Proof, ROUTES, Role, Shown};
use http::StatusCode;
use serde_json::{Value, json};

use crate::browser::Site;
use holdfast_testkit::authenticator::Key;

// shows: GTW-026, GTW-029, GTW-056
#[tokio::test]
async fn register_leave_and_come_back() {
    let site = Site::new();
    let link = site.house.accounts.first_link(&"Ana".parse().unwrap()).unwrap();
    let mut browser = site.browser();
    let done = browser.register(link.token.reveal()).await;
    assert_eq!((done.status, &done.json["next"]), (StatusCode::OK, &json!("/")));
    assert_eq!(done.json["codes"].as_array().unwrap().len(), 10);
    let name = |kind| site.house.accounts.cookies().name(kind);
    let kept = [name(CookieKind::Session), name(CookieKind::Known)];
    assert!(kept[0].starts_with("__Host-holdfast-") && kept[0].ends_with("-9096"), "{kept:?}");
    assert_eq!(browser.jar.keys().cloned().collect::<Vec<_>>(), kept, "the mark from before is gone");
    assert_eq!(browser.get("/").await.json["name"], "Ana");
    let cookie = browser.cookie().unwrap();
    let left = browser.post("/auth/logout", json!({})).await;
    assert_eq!((left.status, left.location()), (StatusCode::SEE_OTHER, "/login"));
    assert_eq!(
        browser.jar.keys().cloned().collect::<Vec<_>>(),
        [name(CookieKind::Known)],
        "known, and not in"
    );
    browser.jar.insert(name(CookieKind::Session), cookie);
    assert_eq!(browser.get("/").await.location(), "/login", "the old cookie is nobody's");
    let back = browser.sign_in(Some("/hosts?days=7")).await;
    assert_eq!((back.status, &back.json["next"]), (StatusCode::OK, &json!("/hosts?days=7")));
    assert_eq!(browser.get("/").await.status, 200);
    let kinds: Vec<&str> = site.diary.take().iter().map(Event::kind).collect();
    let expected = [
        "gateway.link.made",
        "gateway.device.registered",
        "gateway.session.started",
        "gateway.session.left",
        "gateway.session.started",
    ];
    assert_eq!(kinds, expected);
}

#[tokio::test]
async fn on_this_machine_alone_it_works_over_plain_http() {
    let site = Site::at("http://localhost:9096");
    let mut browser = site.owner().await;
    let session = site.house.accounts.cookies().name(CookieKind::Session);
    assert!(session.starts_with("holdfast-") && browser.jar.contains_key(&session), "{session}");
    browser.post("/auth/logout", json!({})).await;
    assert_eq!(browser.sign_in(None).await.json["next"], "/");
    assert!(!browser.get("/").await.headers.contains_key("strict-transport-security"));
}

// shows: GTW-055, GTW-F13
#[tokio::test]
async fn without_a_session_pages_lead_to_the_door_and_the_rest_is_refused() {
    let site = Site::new();
    let mut browser = site.browser();
    let page = browser.get("/hosts?days=7").await;
    assert_eq!((page.status, page.location()), (StatusCode::SEE_OTHER, "/login?next=%2Fhosts%3Fdays%3D7"));
    assert_eq!(browser.get("/").await.location(), "/login");
    let posted = browser.submit("/pause", &[]).await;
    assert_eq!((posted.status, posted.location()), (StatusCode::SEE_OTHER, "/login"));
    for path in ["/api/v1/status", "/live"] {
        let reply = browser.get(path).await;
        assert_eq!((reply.status, reply.code()), (StatusCode::UNAUTHORIZED, "HF-GTW-006"), "{path}");
    }
    let socket =
        browser.request("GET", "/live").header("upgrade", "websocket").header("connection", "upgrade");
    let socket = socket.header("origin", crate::house::ORIGIN).body(axum::body::Body::empty()).unwrap();
    assert_eq!(browser.send(socket).await.status, 401, "before it is upgraded");
    assert_eq!(browser.get("/login").await.status, 200);
}

#[tokio::test]
async fn every_answer_has_the_headers_and_is_not_kept() {
    let site = Site::new();
    let mut browser = site.owner().await;
    let mut replies = vec![
        browser.get("/").await,
        browser.get("/login").await,
        browser.get("/api/v1/status").await,
        browser.get("/auth/login/start").await,
        browser.get("/auth/nonsense").await,
        browser.post("/auth/codes/renew", json!({})).await,
        browser.post("/auth/codes/renew", json!({ "x": 1 })).await,
    ];
    browser.jar.clear();
    replies.push(browser.get("/").await);
    for reply in replies {
        let header = |name: &str| reply.headers.get(name).map(|v| v.to_str().unwrap()).unwrap_or_default();
        assert!(header("content-security-policy").contains("frame-ancestors 'none'"), "{reply:?}");
        assert_eq!(header("x-frame-options"), "DENY", "{reply:?}");
        assert_eq!(header("cache-control"), "no-store", "{reply:?}");
        assert!(header("strict-transport-security").starts_with("max-age="), "{reply:?}");
    }
}

#[tokio::test]
async fn another_device_is_added_to_oneself_with_a_passkey_in_that_request() {
    let site = Site::new();
    let mut browser = site.owner().await;
    let wanted = json!({ "link": null, "label": "phone" });
    // Signed in this very moment, and that is not enough.
    let bare = browser.post_bare("/auth/register/start", wanted.clone()).await;
    assert_eq!((bare.status, bare.code()), (StatusCode::FORBIDDEN, "HF-GTW-008"));
    let begun = browser.post("/auth/register/start", wanted).await;
    assert_eq!(begun.status, 200, "{}", begun.text);
    let mut phone = Key::new();
    let credential = phone.create(crate::house::ORIGIN, &begun.json["publicKey"]);
    let body = json!({ "ceremony": begun.json["ceremony"], "credential": credential });
    let done = browser.post("/auth/register/finish", body).await;
    assert_eq!(done.json, json!({ "codes": null, "next": "/settings" }));
    let mut on_phone = site.browser();
    on_phone.key = phone;
    assert_eq!(on_phone.sign_in(None).await.status, 200);
    let mut stranger = site.browser();
    let nobody = stranger.post("/auth/register/start", json!({ "link": null, "label": "phone" })).await;
    assert_eq!(nobody.code(), "HF-GTW-006");
}

#[tokio::test]
async fn a_recovery_code_leads_to_registering_and_its_person_is_told() {
    let site = Site::new();
    let link = site.house.accounts.first_link(&"Ana".parse().unwrap()).unwrap();
    let codes = site.browser().register(link.token.reveal()).await.json["codes"].clone();
    let mut lost = site.browser();
    let wrong = lost.post("/auth/recover", json!({ "code": "00000-00000-00000-00000" })).await;
    assert_eq!((wrong.status, wrong.code()), (StatusCode::UNAUTHORIZED, "HF-GTW-017"));
    site.diary.take();
    let reply = lost.post("/auth/recover", json!({ "code": codes[0] })).await;
    let next = reply.json["next"].as_str().unwrap();
    let token = next.strip_prefix("/register#").unwrap();
    assert!(site.diary.take().iter().any(|event| event.needs_telling()));
    assert!(lost.cookie().is_none(), "a code signs nobody in");
    assert_eq!(lost.register(token).await.json["codes"], Value::Null);
    assert_eq!(lost.get("/").await.json["name"], "Ana");
}

#[tokio::test]
async fn settings_are_changed_by_scripts_and_by_forms() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let who = site.house.accounts.signed(&owner.cookie().unwrap()).unwrap().unwrap();
    let device = site.house.accounts.devices(who.person).unwrap()[0].id.to_string();
    let reply = owner.submit("/auth/devices/rename", &[("id", &device), ("label", "laptop")]).await;
    assert_eq!((reply.status, reply.location()), (StatusCode::SEE_OTHER, "/settings#devices"));
    assert_eq!(site.house.accounts.devices(who.person).unwrap()[0].label.as_str(), "laptop");
    let form =
        owner.submit("/auth/tokens/make", &[("name", "script"), ("scope", "read"), ("days", "30")]).await;
    assert_eq!(form.location(), "/settings/tokens");
    let Some(Shown::Token(token)) = site.gate.shown(&who) else { panic!("the next page shows it") };
    assert!(site.gate.shown(&who).is_none(), "once");
    assert!(site.house.accounts.signed_by_token(&token).unwrap().is_some());
    let script = owner.post("/auth/tokens/make", json!({ "name": "s", "scope": "act", "days": 1 })).await;
    assert!(script.json["token"].as_str().unwrap().starts_with("hft_"));
    let id = script.json["id"].clone();
    assert_eq!(owner.post("/auth/tokens/revoke", json!({ "id": id })).await.status, 200);
    let codes = owner.post("/auth/codes/renew", json!({})).await;
    assert_eq!(codes.json["codes"].as_array().unwrap().len(), 10);
    let link = owner.post("/auth/devices/link", json!({})).await;
    assert!(link.json["link"].as_str().unwrap().starts_with("/register#"));
    let last = owner.submit("/auth/devices/remove", &[("id", &device)]).await;
    assert_eq!(last.status, StatusCode::CONFLICT);
    assert!(last.text.contains("HF-GTW-029") && last.text.starts_with("<!doctype html>"), "{}", last.text);
}

#[tokio::test]
async fn people_are_invited_changed_and_removed() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let mut guest = site.invited(&mut owner, "Ben", Role::Viewer).await;
    assert_eq!(guest.get("/").await.json["role"], "viewer");
    let ben = site.house.accounts.person_named("Ben").unwrap().id;
    let ana = site.house.accounts.person_named("Ana").unwrap().id;
    let reply = owner.post("/auth/people/role", json!({ "id": ben, "role": "operator" })).await;
    assert_eq!(reply.status, 200);
    assert_eq!(guest.get("/").await.json["role"], "operator", "at once");
    let last = owner.post("/auth/people/remove", json!({ "id": ana })).await;
    assert_eq!((last.status, last.code()), (StatusCode::CONFLICT, "HF-GTW-028"));
    assert_eq!(owner.post("/auth/people/remove", json!({ "id": ben })).await.status, 200);
    assert_eq!(guest.get("/").await.location(), "/login");
}

#[tokio::test]
async fn sessions_are_ended_one_by_one_the_others_or_all() {
    let site = Site::new();
    let mut first = site.owner().await;
    let mut second = site.browser();
    second.key = first.key.clone();
    second.sign_in(None).await;
    let mut third = site.browser();
    third.key = first.key.clone();
    third.sign_in(None).await;
    let who = site.house.accounts.signed(&third.cookie().unwrap()).unwrap().unwrap();
    let id = who.session().unwrap();
    assert_eq!(first.post("/auth/sessions/end", json!({ "id": id })).await.status, 200);
    assert_eq!(third.get("/").await.location(), "/login");
    first.post("/auth/sessions/end", json!({ "id": "others" })).await;
    assert_eq!(second.get("/").await.location(), "/login");
    let all = first.post("/auth/sessions/end", json!({ "id": "all" })).await;
    assert_eq!(all.json["next"], "/login");
    assert!(first.cookie().is_none());
}

#[tokio::test]
async fn dangerous_acts_need_a_passkey_used_for_exactly_them() {
    let site = Site::new();
    let mut owner = site.owner().await;
    for route in ROUTES {
        // The limit is not the point here.
        site.house.clock.advance(crate::house::MINUTE);
        let fields = json!({ "nonsense": 1 });
        let needs = match route.need {
            Need::Session { proof, .. } => proof.asks(fields.as_object().unwrap()),
            Need::Anyone => false,
        };
        assert_eq!(needs, !route.shown.is_empty() && route.path != "/auth/register/start", "{}", route.path);
        let reply = owner.post_bare(route.path, json!({ "nonsense": 1 })).await;
        assert_eq!(reply.code() == "HF-GTW-008", needs, "{}: {}", route.path, reply.text);
        if !needs {
            continue;
        }
        // Used for another act, or for the same with other fields, it is nothing; nor a second time.
        let other =
            if route.path == "/auth/codes/renew" { "/auth/devices/link" } else { "/auth/codes/renew" };
        for (path, fields) in [(other, json!({ "nonsense": 1 })), (route.path, json!({ "nonsense": 2 }))] {
            let proof = owner.proof(path, fields).await.unwrap();
            let reply = owner.post_bare(route.path, json!({ "nonsense": 1, "proof": proof })).await;
            assert_eq!(reply.code(), "HF-GTW-008", "{}: {}", route.path, reply.text);
        }
        let proof = owner.proof(route.path, json!({ "nonsense": 1 })).await.unwrap();
        let sent = json!({ "nonsense": 1, "proof": proof });
        let known = owner.post_bare(route.path, sent.clone()).await;
        assert_ne!(known.code(), "HF-GTW-008", "{}", route.path);
        assert_eq!(owner.post_bare(route.path, sent).await.code(), "HF-GTW-008", "{}", route.path);
    }
    // What confirms a verdict confirms nothing else.
    let verdict = owner.begin_confirming("thing").await.unwrap().to_string();
    let reply = owner.post_bare("/auth/codes/renew", json!({ "proof": verdict })).await;
    assert_eq!(reply.code(), "HF-GTW-008");
    let act = owner.proof("/auth/codes/renew", json!({})).await.unwrap();
    let finished = owner.post("/auth/confirm/finish", serde_json::from_str(&act).unwrap()).await;
    assert_eq!(finished.code(), "HF-GTW-012");
}

#[tokio::test]
async fn a_token_opens_the_api_and_nothing_else() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let token = owner.post("/auth/tokens/make", json!({ "name": "s", "scope": "act", "days": 1 })).await;
    let bearer = format!("Bearer {}", token.json["token"].as_str().unwrap());
    let mut script = site.browser();
    let mut send = async |method: &str, path: &str| {
        let request = http::Request::builder().method(method).uri(path).header("host", "hold.example:9096");
        let request = request.header("authorization", &bearer).body(axum::body::Body::empty()).unwrap();
        script.send(request).await
    };
    assert_eq!(send("GET", "/api/v1/status").await.json["role"], "operator");
    assert_eq!(send("POST", "/api/v1/pause").await.status, 200, "no origin, no word: nobody's browser");
    assert_eq!(send("GET", "/live").await.status, 200);
    assert_eq!(send("GET", "/").await.status, 403);
    for route in ROUTES {
        let reply = send("POST", route.path).await;
        assert_eq!((reply.status, reply.code()), (StatusCode::FORBIDDEN, "HF-GTW-023"), "{}", route.path);
    }
}

#[test]
fn the_table_of_routes_is_this() {
    let line = |need: Need| match need {
        Need::Anyone => "anyone".to_owned(),
        Need::Session { least, proof: Proof::None } => least.to_string(),
        Need::Session { least, proof: Proof::Passkey } => format!("{least}, passkey"),
        Need::Session { least, proof: Proof::PasskeyUnless { field, is } } => {
            format!("{least}, passkey unless {field} is {is}")
        }
    };
    let table: Vec<String> = ROUTES.iter().map(|r| format!("POST {:<24} {}", r.path, line(r.need))).collect();
    insta::assert_snapshot!(table.join("\n"));
}
