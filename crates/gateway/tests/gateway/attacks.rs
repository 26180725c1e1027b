//! What must not work, tried.

use axum::body::Body;
use holdfast_gateway::{Event, Need, ROUTES, Role, Why};
use http::StatusCode;
use serde_json::json;

use crate::browser::{Browser, Reply, Site};
use crate::house::ORIGIN;

/// Sends a change from elsewhere: everything as the browser would, but for `alter`.
async fn forged(
    browser: &mut Browser<'_>,
    path: &str,
    alter: impl Fn(http::request::Builder) -> http::request::Builder,
) -> Reply {
    let csrf = browser.csrf().await.unwrap_or_default();
    let request = browser.request("POST", path).header("content-type", "application/json");
    let request = alter(request.header("x-holdfast-csrf", csrf));
    browser.send(request.body(Body::from("{}")).unwrap()).await
}

fn without(name: &'static str) -> impl Fn(http::request::Builder) -> http::request::Builder {
    move |mut request| {
        request.headers_mut().unwrap().remove(name);
        request
    }
}

fn with(
    name: &'static str,
    value: &'static str,
) -> impl Fn(http::request::Builder) -> http::request::Builder {
    move |mut request| {
        request.headers_mut().unwrap().insert(name, value.parse().unwrap());
        request
    }
}

// shows: GTW-F07
#[tokio::test]
async fn no_route_that_changes_something_is_reached_from_another_site() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let everywhere: Vec<&str> =
        ROUTES.iter().map(|route| route.path).chain(["/pause", "/api/v1/pause", "/open"]).collect();
    for path in everywhere {
        site.diary.take();
        let number = |reply: &Reply| {
            let text = if reply.json.is_null() { reply.text.clone() } else { reply.code().to_owned() };
            (reply.status, text.contains("HF-GTW-021"))
        };
        let reply = forged(&mut owner, path, without("origin")).await;
        assert_eq!(number(&reply), (StatusCode::FORBIDDEN, true), "{path}: {}", reply.text);
        for value in ["https://evil.example", "null", "https://grafana.hold.example:9096"] {
            let reply = forged(&mut owner, path, with("origin", value)).await;
            assert_eq!(number(&reply), (StatusCode::FORBIDDEN, true), "{path} {value}");
        }
        for value in ["cross-site", "same-site"] {
            let reply = forged(&mut owner, path, with("sec-fetch-site", value)).await;
            assert_eq!(number(&reply), (StatusCode::FORBIDDEN, true), "{path} {value}");
        }
        assert_eq!(site.diary.refusals(), vec![Why::Origin; 6], "{path}: recorded");
    }
    assert!(owner.cookie().is_some() && owner.get("/").await.status == 200, "nothing was changed");
}

#[tokio::test]
async fn no_change_of_a_session_goes_without_its_own_word() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let mut guest = site.invited(&mut owner, "Ben", Role::Owner).await;
    let foreign = guest.csrf().await.unwrap();
    let guarded: Vec<&str> = ROUTES
        .iter()
        .filter(|route| route.need != Need::Anyone)
        .map(|route| route.path)
        .chain(["/auth/logout", "/pause", "/api/v1/pause", "/open"])
        .collect();
    for path in guarded {
        for word in [None, Some(""), Some("nonsense"), Some(foreign.as_str())] {
            site.diary.take();
            let mut request = owner.request("POST", path).header("content-type", "application/json");
            if let Some(word) = word {
                request = request.header("x-holdfast-csrf", word);
            }
            let reply = owner.send(request.body(Body::from("{}")).unwrap()).await;
            assert_eq!(reply.status, StatusCode::FORBIDDEN, "{path} {word:?}: {}", reply.text);
            assert!(reply.text.contains("HF-GTW-022"), "{path} {word:?}");
            assert_eq!(site.diary.refusals(), [Why::Csrf], "{path}");
        }
        let form = owner.request("POST", path).header("content-type", "application/x-www-form-urlencoded");
        let reply = owner.send(form.body(Body::from("csrf=nonsense&id=all")).unwrap()).await;
        assert!(reply.status == 403 && reply.text.contains("HF-GTW-022"), "{path}: {}", reply.text);
    }
    assert_eq!(
        owner.submit("/pause", &[("reason", "x")]).await.status,
        200,
        "a form of our own page goes through"
    );
}

#[tokio::test]
async fn the_api_and_streams_are_not_read_by_a_page_beside_us() {
    let site = Site::new();
    let mut owner = site.owner().await;
    for path in ["/api/v1/status", "/live"] {
        for (from, status) in [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)] {
            let request = owner.request("GET", path).header("sec-fetch-site", from);
            let reply = owner.send(request.body(Body::empty()).unwrap()).await;
            assert_eq!(reply.status.as_u16(), status, "{path} {from}");
        }
        let socket = owner
            .request("GET", path)
            .header("upgrade", "websocket")
            .header("origin", "https://evil.example");
        assert_eq!(
            owner.send(socket.body(Body::empty()).unwrap()).await.status,
            403,
            "{path}: a socket from elsewhere"
        );
    }
    let link = owner.request("GET", "/hosts").header("sec-fetch-site", "cross-site");
    assert_eq!(
        owner.send(link.body(Body::empty()).unwrap()).await.status,
        200,
        "a link in a mail opens its page"
    );
}

#[tokio::test]
async fn a_request_for_another_host_is_misdirected() {
    let site = Site::new();
    let mut owner = site.owner().await;
    for host in ["evil.example", "hold.example", "127.0.0.1:9096", "hold.example:9096.evil.example"] {
        for (method, path) in
            [("GET", "/"), ("GET", "/api/v1/status"), ("GET", "/login"), ("POST", "/auth/login/start")]
        {
            site.diary.take();
            let mut request = owner.request(method, path);
            request.headers_mut().unwrap().insert("host", host.parse().unwrap());
            let reply = owner.send(request.body(Body::empty()).unwrap()).await;
            assert_eq!(reply.status, StatusCode::MISDIRECTED_REQUEST, "{host} {path}");
            assert_eq!(site.diary.refusals(), [Why::Host]);
        }
    }
}

// shows: GTW-F12
#[tokio::test]
async fn a_session_cannot_be_fixed_beforehand() {
    let site = Site::new();
    let mut owner = site.owner().await;
    owner.post("/auth/logout", json!({})).await;
    let planted = "A".repeat(43);
    let name = owner.cookie_name();
    owner.jar.insert(name, planted.clone());
    owner.sign_in(None).await;
    assert_ne!(owner.cookie().unwrap(), planted);
    let mut attacker = site.browser();
    attacker.jar.insert(owner.cookie_name(), planted);
    assert_eq!(attacker.get("/").await.location(), "/login");
    // Signing in again ends what this browser had.
    let before = owner.cookie().unwrap();
    owner.sign_in(None).await;
    let mut thief = site.browser();
    thief.jar.insert(owner.cookie_name(), before);
    assert_eq!(thief.get("/").await.location(), "/login");
}

#[tokio::test]
async fn nobody_is_signed_in_as_somebody_else_without_knowing() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let mut mallory = site.invited(&mut owner, "Mallory", Role::Viewer).await;
    mallory.post("/auth/logout", json!({})).await;
    // Mallory prepares a sign-in of their own and makes the victim's browser finish it.
    let begun = mallory.post("/auth/login/start", json!({})).await;
    let credential = mallory.key.get(ORIGIN, &begun.json["publicKey"]);
    let body = json!({ "ceremony": begun.json["ceremony"], "credential": credential });
    let mut victim = site.browser();
    let blank = victim.post("/auth/login/finish", body.clone()).await;
    assert_eq!((blank.status, blank.code()), (StatusCode::GONE, "HF-GTW-012"));
    victim.post("/auth/login/start", json!({})).await;
    let marked = victim.post("/auth/login/finish", body.clone()).await;
    assert_eq!(marked.code(), "HF-GTW-012", "it was begun in another browser");
    assert!(victim.cookie().is_none());
    assert_eq!(mallory.post("/auth/login/finish", body).await.status, 200);
}

#[tokio::test]
async fn after_signing_in_one_stays_on_this_site() {
    let site = Site::new();
    let mut owner = site.owner().await;
    for next in [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "/\t/evil.example",
        "javascript:alert(1)",
        "/auth/logout",
    ] {
        // The limit is not the point here.
        site.house.clock.advance(crate::house::MINUTE);
        let reply = owner.sign_in(Some(next)).await;
        assert_eq!(reply.json["next"], "/", "{next:?}: {}", reply.text);
    }
    let page = site.browser().get("//evil.example/x").await;
    assert_ne!(page.location(), "//evil.example/x");
}

#[tokio::test]
async fn every_role_reaches_what_it_may_and_nothing_more() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let mut table = Vec::new();
    for role in Role::ALL {
        let mut member = site.invited(&mut owner, role.as_str(), role).await;
        for route in ROUTES {
            site.house.clock.advance(std::time::Duration::from_secs(3));
            let reply = member.post(route.path, json!({ "nonsense": true })).await;
            let allowed = match route.need {
                Need::Anyone => true,
                Need::Session { least, .. } => role >= least,
            };
            assert_eq!(reply.code() != "HF-GTW-007", allowed, "{role} {}: {}", route.path, reply.text);
            table.push(format!("{role:<9} {:<24} {}", route.path, reply.status.as_u16()));
        }
    }
    insta::assert_snapshot!(table.join("\n"));
}

#[tokio::test]
async fn an_owner_who_is_one_no_more_changes_nothing() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let mut second = site.invited(&mut owner, "Ben", Role::Owner).await;
    let ben = site.house.accounts.person_named("Ben").unwrap().id;
    owner.post("/auth/people/role", json!({ "id": ben, "role": "viewer" })).await;
    site.diary.take();
    let reply = second.post("/auth/people/role", json!({ "id": ben, "role": "owner" })).await;
    assert_eq!((reply.status, reply.code()), (StatusCode::FORBIDDEN, "HF-GTW-007"));
    assert_eq!(site.diary.refusals(), [Why::Role]);
}

#[tokio::test]
async fn stuffing_codes_and_links_runs_into_the_limit() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let before = site.house.accounts.hashes_computed();
    let mut attacker = site.browser();
    attacker.from = "203.0.113.9".parse().unwrap();
    let mut statuses = std::collections::BTreeMap::new();
    for n in 0..1_000 {
        let code = format!("{n:05}-00000-00000-00000");
        let reply = attacker.post("/auth/recover", json!({ "code": code })).await;
        *statuses.entry(reply.status.as_u16()).or_insert(0) += 1;
        if reply.status == 429 {
            assert!(reply.headers["retry-after"].to_str().unwrap().parse::<u64>().unwrap() >= 1);
        }
    }
    assert_eq!(statuses, [(401, 10), (429, 990)].into());
    assert!(site.house.accounts.hashes_computed() - before <= 2);
    let mut links = std::collections::BTreeMap::new();
    for n in 0..100 {
        site.house.clock.advance(std::time::Duration::from_secs(1));
        let body = json!({ "link": format!("{n:043}"), "label": "x" });
        let reply = attacker.post("/auth/register/start", body).await;
        *links.entry(reply.status.as_u16()).or_insert(0) += 1;
    }
    assert!(links[&404] <= 15 && links[&429] >= 85, "{links:?}");
    let refused = site.diary.take();
    assert!(
        refused.iter().filter(|e| matches!(e, Event::Refused { .. })).count() >= 1_000,
        "each is recorded, to be folded"
    );
    // Somebody else is not held up.
    assert_eq!(owner.sign_in(None).await.status, 200);
}

#[tokio::test]
async fn bad_tokens_are_limited_and_good_ones_are_not_held_up() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let token = owner.post("/auth/tokens/make", json!({ "name": "s", "scope": "read", "days": 1 })).await;
    let good = token.json["token"].as_str().unwrap().to_owned();
    let mut script = site.browser();
    let mut ask = async |token: String| {
        let request =
            script.request("GET", "/api/v1/status").header("authorization", format!("Bearer {token}"));
        script.send(request.body(Body::empty()).unwrap()).await
    };
    let mut seen = Vec::new();
    for n in 0..40 {
        seen.push(ask(format!("hft_{n:043}")).await.status.as_u16());
    }
    assert_eq!((seen[0], seen[19], seen[20], seen[39]), (401, 401, 429, 429));
    assert_eq!(ask(good.clone()).await.status, 200);
    owner.post("/auth/tokens/revoke", json!({ "id": token.json["id"] })).await;
    site.house.clock.advance(crate::house::HOUR);
    assert_eq!(ask(good).await.status, 401, "revoked");
}

#[tokio::test]
async fn what_is_confirmed_is_carried_out_once_and_only_as_it_was_shown() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let done = || site.thing.done.lock().unwrap().clone();
    let body = owner.begin_confirming("thing").await.unwrap();
    let reply = owner.post("/auth/confirm/finish", body.clone()).await;
    assert_eq!(reply.json["next"], "/", "where it wanted to lead is not ours");
    assert_eq!(done(), [("Ana".to_owned(), [1; 32])]);
    let replayed = owner.post("/auth/confirm/finish", body).await;
    assert_eq!((replayed.status, replayed.code()), (StatusCode::GONE, "HF-GTW-012"));
    // It changes between being shown and being confirmed.
    let body = owner.begin_confirming("thing").await.unwrap();
    *site.thing.digest.lock().unwrap() = [2; 32];
    let altered = owner.post("/auth/confirm/finish", body).await;
    assert_eq!((altered.status, altered.code()), (StatusCode::CONFLICT, "HF-GTW-035"));
    assert_eq!(done().len(), 1);
    let unknown = owner.begin_confirming("nothing").await.unwrap_err();
    assert_eq!((unknown.status, unknown.code()), (StatusCode::BAD_REQUEST, "HF-APR-001"));
    let mut viewer = site.invited(&mut owner, "Ben", Role::Viewer).await;
    assert_eq!(viewer.begin_confirming("thing").await.unwrap_err().code(), "HF-GTW-007");
}

#[tokio::test]
async fn a_reason_is_a_line_that_is_fixed_before_the_passkey_is_used() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let reason = || site.thing.reason.lock().unwrap().clone();
    for (said, kept) in [
        (json!("  the disk was full  "), Some("the disk was full")),
        (json!(" "), None),
        (json!(null), None),
        (json!("ä".repeat(500)), Some(&*"ä".repeat(500))),
    ] {
        let body = owner.begin_confirming_as(json!({ "what": "thing", "reason": said })).await.unwrap();
        assert_eq!(owner.post("/auth/confirm/finish", body).await.status, 200);
        assert_eq!(reason().as_deref(), kept);
    }
    let many = site.thing.done.lock().unwrap().len();
    for wrong in [json!("a\nb"), json!("\u{1b}[2J"), json!("\u{202e}x"), json!("x".repeat(501)), json!(7)] {
        let refused =
            owner.begin_confirming_as(json!({ "what": "thing", "reason": wrong })).await.unwrap_err();
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
    // Said with the passkey's answer it is too late.
    let mut body = owner.begin_confirming("thing").await.unwrap();
    body["reason"] = json!("something else");
    assert_eq!(owner.post("/auth/confirm/finish", body).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(site.thing.done.lock().unwrap().len(), many);
}

#[tokio::test]
async fn a_role_lost_between_start_and_finish_counts() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let mut second = site.invited(&mut owner, "Ben", Role::Operator).await;
    let body = second.begin_confirming("thing").await.unwrap();
    let ben = site.house.accounts.person_named("Ben").unwrap().id;
    owner.post("/auth/people/role", json!({ "id": ben, "role": "viewer" })).await;
    assert_eq!(second.post("/auth/confirm/finish", body).await.code(), "HF-GTW-007");
    assert!(site.thing.done.lock().unwrap().is_empty());
}

#[tokio::test]
async fn bodies_are_bounded_and_only_json_or_forms() {
    let site = Site::new();
    let mut browser = site.browser();
    let mut send = async |kind: Option<&str>, body: Vec<u8>| {
        let mut request = browser.request("POST", "/auth/recover");
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        // The limit is not the point here.
        site.house.clock.advance(crate::house::HOUR);
        let reply = browser.send(request.body(Body::from(body)).unwrap()).await;
        (reply.status.as_u16(), reply.code().to_owned())
    };
    let long = format!("{{\"code\":\"{}\"}}", "x".repeat(70_000)).into_bytes();
    assert_eq!(send(Some("application/json"), long).await, (413, "HF-GTW-026".into()));
    for body in ["", "[]", "{", "\"x\"", "null", "{\"code\":1}", "{\"code\":\"x\",\"more\":1}", "{}"] {
        assert_eq!(send(Some("application/json"), body.into()).await, (400, "HF-GTW-025".into()), "{body}");
    }
    assert_eq!(send(Some("text/plain"), b"{\"code\":\"x\"}".to_vec()).await, (415, "HF-GTW-027".into()));
    assert_eq!(send(Some("multipart/form-data; boundary=x"), b"--x".to_vec()).await.0, 415);
    assert_eq!(send(None, b"{}".to_vec()).await.0, 415);
    let deep = format!("{{\"code\":{}{}}}", "[".repeat(20_000), "]".repeat(20_000));
    assert_eq!(send(Some("application/json"), deep.into()).await.0, 400);
    assert_eq!(send(Some("application/json; charset=utf-8"), b"{\"code\":\"x\"}".to_vec()).await.0, 401);
}

#[tokio::test]
async fn no_answer_and_no_record_repeats_a_secret() {
    let site = Site::new();
    let mut owner = site.owner().await;
    let cookie = owner.cookie().unwrap();
    let token = format!("hft_{}", "z".repeat(43));
    let request = owner.request("GET", "/api/v1/status").header("authorization", format!("Bearer {token}"));
    let reply = owner.send(request.body(Body::empty()).unwrap()).await;
    let code = "ABCDE-FGHJK-MNPQR-STVWX";
    let wrong = owner.post("/auth/recover", json!({ "code": code })).await;
    let events = format!("{:?}", site.diary.take());
    for text in [reply.text, wrong.text, events] {
        for secret in [cookie.as_str(), &token, code] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

#[tokio::test]
async fn a_wrong_passkey_gives_a_clear_error_and_no_session() {
    let site = Site::new();
    let mut owner = site.owner().await;
    owner.post("/auth/logout", json!({})).await;
    let other = Site::new();
    let mut elsewhere = other.owner().await;
    std::mem::swap(&mut owner.key, &mut elsewhere.key);
    site.diary.take();
    let reply = owner.sign_in(None).await;
    assert_eq!((reply.status, reply.code()), (StatusCode::UNAUTHORIZED, "HF-GTW-013"));
    assert!(reply.json["error"]["hint"].as_str().unwrap().contains("recovery code"));
    assert!(owner.cookie().is_none());
    assert_eq!(site.diary.refusals(), [Why::Passkey]);
    assert_eq!(reply.json["error"]["untouched"], "Nothing was changed.");
}
