//! When it is looked up which user of this machine a caller is: only before a stranger's try is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use holdfast_gateway::{Caller, Locator};
use http::StatusCode;

use crate::browser::{Browser, Reply, Site};

/// Counts how often it is asked, and says that everybody is one user of this machine.
#[derive(Clone, Default)]
struct Lookups(Arc<AtomicUsize>);

impl Lookups {
    async fn send(&self, browser: &mut Browser<'_>, request: http::request::Builder) -> (usize, Reply) {
        let (asked, before) = (self.0.clone(), self.0.load(Ordering::SeqCst));
        let locator = Locator::new(move || {
            asked.fetch_add(1, Ordering::SeqCst);
            async { Caller::here(Some(1_000)) }
        });
        let request = request.header("content-type", "application/json").extension(locator);
        let reply = browser.send(request.body(Body::from("{}")).unwrap()).await;
        (self.0.load(Ordering::SeqCst) - before, reply)
    }
}

#[tokio::test]
async fn only_a_strangers_try_that_is_counted_is_looked_up() {
    let site = Site::new();
    let (mut owner, lookups) = (site.owner().await, Lookups::default());
    let start = "/auth/login/start";
    // What is refused before any limit, and whatever has none.
    let mut stranger = site.browser();
    for path in ["/auth/nothing", "/auth/logout", "/auth/tokens/make", "/auth/confirm/start"] {
        let request = stranger.request("POST", path);
        assert_eq!(lookups.send(&mut stranger, request).await.0, 0, "{path}");
    }
    for (header, value) in [("host", "evil.example"), ("origin", "https://evil.example")] {
        let mut request = stranger.request("POST", start);
        request.headers_mut().unwrap().insert(header, value.parse().unwrap());
        assert_eq!(lookups.send(&mut stranger, request).await.0, 0, "{header}");
    }
    // Whoever is signed in or was here before.
    for path in ["/auth/confirm/start", "/auth/tokens/make", "/auth/register/start", start] {
        let word = owner.csrf().await.unwrap();
        let request = owner.request("POST", path).header("x-holdfast-csrf", word);
        assert_eq!(lookups.send(&mut owner, request).await.0, 0, "{path}");
    }
    let (session, word) = (owner.cookie_name(), owner.csrf().await.unwrap());
    owner.jar.retain(|name, _| *name == session);
    let request = owner.request("POST", "/auth/register/start").header("x-holdfast-csrf", word);
    assert_eq!(lookups.send(&mut owner, request).await.0, 0, "a session alone, with its word");
    // Strangers.
    let request = stranger.request("POST", start);
    let (looked, reply) = lookups.send(&mut stranger, request).await;
    assert_eq!((looked, reply.status), (1, StatusCode::OK));
    let request = stranger.request("GET", "/api/v1/status").header("authorization", "Bearer x");
    assert_eq!(lookups.send(&mut stranger, request).await.0, 1, "a token that is none");
}

#[tokio::test]
async fn all_addresses_of_one_user_are_one_place() {
    let (site, lookups) = (Site::new(), Lookups::default());
    let mut last = StatusCode::OK;
    for n in 0..40 {
        let mut stranger = site.browser();
        stranger.from = format!("192.0.2.{n}").parse().unwrap();
        let request = stranger.request("POST", "/auth/login/start");
        last = lookups.send(&mut stranger, request).await.1.status;
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    let elsewhere = site.browser().post_bare("/auth/login/start", serde_json::json!({})).await;
    assert_eq!(elsewhere.status, StatusCode::OK, "who comes from another machine");
}
