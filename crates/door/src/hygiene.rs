//! Every header that passes between a client and a service, decided.
//!
//! To the service goes what the client said about itself and its wish, without what belongs to one connection, without our
//! cookies and tokens, and without anything by which a client could speak in our name. From the service comes what it says,
//! without what would reach beyond its own origin.

use std::net::IpAddr;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// What our own cookies begin with, after the prefixes browsers give a meaning.
const OUR_COOKIES: &[u8] = b"holdfast";
const COOKIE_PREFIXES: [&[u8]; 2] = [b"__host-", b"__secure-"];
/// What our own API tokens begin with.
const OUR_TOKENS: &[u8] = b"hft_";

pub(crate) const IDENTITY: HeaderName = HeaderName::from_static("x-holdfast-identity");
/// What scripts of our own pages send: the anti-forgery word, and the passkey that was used for this very act. Both are for our own
/// app; no service is handed them.
const OWN_PAGES_SAY: [HeaderName; 2] =
    [HeaderName::from_static("x-holdfast-csrf"), HeaderName::from_static("x-holdfast-proof")];
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");
/// What nginx goes by; others hand events on by themselves.
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// What belongs to one connection and ends there (RFC 9110, 7.6.1), and `Expect`, which hyper answers itself.
const HOP_BY_HOP: [HeaderName; 10] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::EXPECT,
];

/// Names by which services believe a proxy in front of them about a person, an address or the path: only we may say these.
const SAID_BY_PROXIES: [&str; 12] = [
    "forwarded",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "client-ip",
    "true-client-ip",
    "cf-connecting-ip",
    "x-original-url",
    "x-rewrite-url",
    "remote-user",
    "x-authenticated-user",
    "proxy",
];
const SAID_BY_PROXIES_PREFIXES: [&str; 6] =
    ["x-forwarded-", "x-holdfast-", "x-webauth-", "x-auth-request-", "x-remote-", "x-original-"];

/// What a service may not say for itself: `Clear-Site-Data` empties the jar of the whole site, ours included, and `Alt-Svc` would
/// move the origin to a listener that is not this door.
const KEPT_FROM_CLIENTS: [HeaderName; 2] = [HeaderName::from_static("clear-site-data"), header::ALT_SVC];

/// What the service is told about where a request came from.
pub(crate) struct Origin<'a> {
    pub(crate) address: IpAddr,
    pub(crate) scheme: &'static str,
    pub(crate) host: &'a HeaderValue,
    pub(crate) identity: HeaderValue,
}

/// Turns a client's headers into those for a service.
pub(crate) fn toward_service(headers: &mut HeaderMap, origin: Origin<'_>) {
    drop_hop_by_hop(headers);
    drop_said_by_proxies(headers);
    drop_our_token(headers);
    drop_our_cookies(headers);
    let address = HeaderValue::from_str(&origin.address.to_canonical().to_string());
    if let Ok(address) = address {
        headers.insert(FORWARDED_FOR, address.clone());
        headers.insert(REAL_IP, address);
    }
    headers.insert(FORWARDED_PROTO, HeaderValue::from_static(origin.scheme));
    headers.insert(FORWARDED_HOST, origin.host.clone());
    headers.insert(header::HOST, origin.host.clone());
    headers.insert(IDENTITY, origin.identity);
}

/// Takes away from a request for the own app what only a proxy in front of us could say: whoever calls is known by now.
pub(crate) fn toward_own(headers: &mut HeaderMap) {
    let said = OWN_PAGES_SAY.map(|name| (headers.remove(&name), name));
    drop_said_by_proxies(headers);
    for (said, name) in said {
        if let Some(said) = said {
            headers.insert(name, said);
        }
    }
}

/// Turns a service's headers into those for a client.
pub(crate) fn toward_client(headers: &mut HeaderMap) {
    drop_hop_by_hop(headers);
    for name in &KEPT_FROM_CLIENTS {
        headers.remove(name);
    }
    remove_where(headers, |name| looks_like(name, &["x-holdfast-"], &[]));
    tame_cookies(headers);
}

/// Has a proxy in front hand events on as they come, instead of a bufferful at a time.
pub(crate) fn toward_proxy(headers: &mut HeaderMap) {
    if headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
    {
        headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    }
}

/// The protocol a request asks to change to, when it asks as it should.
pub(crate) fn wished_upgrade(headers: &HeaderMap) -> Option<HeaderValue> {
    let wish = headers.get(header::UPGRADE)?;
    let asked = headers.get_all(header::CONNECTION).iter().any(|value| lists(value, b"upgrade"));
    // HTTP/2 over plain text would take the requests in it out of our sight.
    let is_http = wish.as_bytes().len() >= 3 && wish.as_bytes()[..3].eq_ignore_ascii_case(b"h2c");
    (asked && !is_http).then(|| wish.clone())
}

fn lists(value: &HeaderValue, word: &[u8]) -> bool {
    value.as_bytes().split(|b| *b == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(word))
}

fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|b| *b == b','))
        .filter_map(|item| HeaderName::from_bytes(item.trim_ascii()).ok())
        // A client that names what we rely on would have it dropped for us.
        .filter(|name| *name != header::HOST && *name != header::CONTENT_LENGTH)
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

fn drop_said_by_proxies(headers: &mut HeaderMap) {
    remove_where(headers, |name| looks_like(name, &SAID_BY_PROXIES_PREFIXES, &SAID_BY_PROXIES));
}

fn remove_where(headers: &mut HeaderMap, bad: impl Fn(&str) -> bool) {
    let names: Vec<HeaderName> = headers.keys().filter(|name| bad(name.as_str())).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

/// Servers in the manner of CGI take `X_Real_IP` for `X-Real-IP`, so an underscore counts as a hyphen.
fn looks_like(name: &str, prefixes: &[&str], whole: &[&str]) -> bool {
    let same = |a: u8, b: u8| a == b || (a == b'_' && b == b'-');
    let begins =
        |text: &str| name.len() >= text.len() && name.bytes().zip(text.bytes()).all(|(a, b)| same(a, b));
    prefixes.iter().any(|prefix| begins(prefix))
        || whole.iter().any(|text| name.len() == text.len() && begins(text))
}

/// An `Authorization` that carries one of our tokens, in whatever scheme, goes whole; one of the service's own passes.
fn drop_our_token(headers: &mut HeaderMap) {
    let ours = |value: &HeaderValue| memchr::memmem::find(value.as_bytes(), OUR_TOKENS).is_some();
    if headers.get_all(header::AUTHORIZATION).iter().any(ours) {
        headers.remove(header::AUTHORIZATION);
    }
}

/// Leaves the service's own cookies, as one field: HTTP/2 clients send several.
fn drop_our_cookies(headers: &mut HeaderMap) {
    let kept: Vec<&[u8]> = headers
        .get_all(header::COOKIE)
        .iter()
        .flat_map(|value| value.as_bytes().split(|b| *b == b';'))
        .map(|pair| pair.trim_ascii())
        .filter(|pair| !pair.is_empty() && !is_our_cookie(pair))
        .collect();
    let kept = HeaderValue::from_bytes(&kept.join(&b"; "[..]));
    headers.remove(header::COOKIE);
    if let Ok(kept) = kept
        && !kept.is_empty()
    {
        headers.insert(header::COOKIE, kept);
    }
}

/// Whether `name=value` names a cookie of ours. Case does not matter: a lenient reader must not be fooled either.
fn is_our_cookie(pair: &[u8]) -> bool {
    let name = pair.split(|b| *b == b'=').next().unwrap_or(pair).trim_ascii();
    // `=holdfast` has no name, and some readers take the value for one.
    let name = if name.is_empty() { pair.trim_ascii().strip_prefix(b"=").unwrap_or(pair) } else { name };
    let begins =
        |text: &[u8], with: &[u8]| text.len() >= with.len() && text[..with.len()].eq_ignore_ascii_case(with);
    let bare = COOKIE_PREFIXES
        .iter()
        .find(|prefix| begins(name, prefix))
        .map_or(name, |prefix| &name[prefix.len()..]);
    begins(bare, OUR_COOKIES)
}

/// A service sets cookies for its own host and under its own names.
fn tame_cookies(headers: &mut HeaderMap) {
    if !headers.contains_key(header::SET_COOKIE) {
        return;
    }
    let tame: Vec<HeaderValue> = headers.get_all(header::SET_COOKIE).iter().filter_map(tame_cookie).collect();
    headers.remove(header::SET_COOKIE);
    for cookie in tame {
        headers.append(header::SET_COOKIE, cookie);
    }
}

fn tame_cookie(cookie: &HeaderValue) -> Option<HeaderValue> {
    let bytes = cookie.as_bytes();
    let mut parts = bytes.split(|b| *b == b';');
    if is_our_cookie(parts.next()?) {
        return None;
    }
    let is_domain = |part: &[u8]| {
        part.split(|b| *b == b'=')
            .next()
            .is_some_and(|name| name.trim_ascii().eq_ignore_ascii_case(b"domain"))
    };
    if !parts.clone().any(is_domain) {
        return Some(cookie.clone());
    }
    let kept: Vec<&[u8]> = bytes.split(|b| *b == b';').filter(|part| !is_domain(part)).collect();
    HeaderValue::from_bytes(&kept.join(&b";"[..])).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn map(fields: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        headers
    }

    #[test]
    fn our_own_app_hears_the_word_of_its_pages_and_nothing_that_a_proxy_would_say() {
        let mut headers = map(&[
            ("x-holdfast-csrf", "a word"),
            ("x-holdfast-proof", "a passkey"),
            ("x_holdfast_proof", "forged"),
            ("x-holdfast-identity", "forged"),
            ("x-forwarded-for", "192.0.2.9"),
            ("accept", "text/html"),
        ]);
        toward_own(&mut headers);
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "x-holdfast-csrf", "x-holdfast-proof"]);
    }

    fn forwarded(fields: &[(&str, &str)]) -> HeaderMap {
        let mut headers = map(fields);
        let host = HeaderValue::from_static("svc.example");
        let origin = Origin {
            address: "192.0.2.7".parse().unwrap(),
            scheme: "https",
            host: &host,
            identity: HeaderValue::from_static("word"),
        };
        toward_service(&mut headers, origin);
        headers
    }

    fn listed(headers: &HeaderMap) -> String {
        let mut lines: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        lines.sort();
        lines.join("\n")
    }

    #[test]
    fn a_service_gets_what_the_client_said_and_nothing_of_ours() {
        let token = ["hf", "t_", "abc"].concat();
        let headers = forwarded(&[
            ("host", "svc.example"),
            ("accept", "*/*"),
            ("cookie", "theirs=1; holdfast=a; __Host-holdfast-session=b"),
            ("cookie", "HOLDFAST_x=c; more=2; __Secure-Holdfast=d; =holdfast"),
            ("authorization", &format!("Bearer {token}")),
            ("connection", "close, X-Private, Host, Content-Length"),
            ("x-private", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("upgrade", "websocket"),
            ("proxy-authorization", "x"),
            ("expect", "100-continue"),
            ("forwarded", "for=1.1.1.1"),
            ("x-forwarded-for", "1.1.1.1"),
            ("x-forwarded-user", "root"),
            ("x_forwarded_for", "1.1.1.1"),
            ("x-real-ip", "1.1.1.1"),
            ("x_real-ip", "1.1.1.1"),
            ("x-holdfast-identity", "forged"),
            ("x-holdfast-anything", "forged"),
            ("x-holdfast-proof", "a passkey"),
            ("x_holdfast_identity", "forged"),
            ("x-webauth-user", "admin"),
            ("remote-user", "admin"),
            ("x-original-url", "/admin"),
            ("x-custom", "kept"),
        ]);
        insta::assert_snapshot!(listed(&headers), @r"
        accept: */*
        cookie: theirs=1; more=2
        host: svc.example
        x-custom: kept
        x-forwarded-for: 192.0.2.7
        x-forwarded-host: svc.example
        x-forwarded-proto: https
        x-holdfast-identity: word
        x-real-ip: 192.0.2.7
        ");
    }

    #[test]
    fn a_services_own_credentials_pass() {
        let headers = forwarded(&[("authorization", "Basic dXNlcjpwYXNz"), ("cookie", "grafana=1")]);
        assert_eq!(headers[header::AUTHORIZATION], "Basic dXNlcjpwYXNz");
        assert_eq!(headers[header::COOKIE], "grafana=1");
        let none = forwarded(&[("cookie", "holdfast=1")]);
        assert!(!none.contains_key(header::COOKIE), "an empty field is not sent");
    }

    #[test]
    fn a_service_speaks_for_its_own_origin_only() {
        let mut headers = map(&[
            ("content-type", "text/plain"),
            ("set-cookie", "own=1; Path=/; HttpOnly"),
            ("set-cookie", "wide=1; Domain=.example; Secure"),
            ("set-cookie", "wide2=1;  dOmAiN = example"),
            ("set-cookie", "holdfast=stolen"),
            ("set-cookie", "__Host-holdfast-session=x; Secure; Path=/"),
            ("connection", "x-hop"),
            ("x-hop", "1"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("clear-site-data", "\"*\""),
            ("alt-svc", "h3=\":443\""),
            ("x-holdfast-role", "owner"),
            ("content-security-policy", "default-src 'self'"),
        ]);
        toward_client(&mut headers);
        insta::assert_snapshot!(listed(&headers), @r"
        content-security-policy: default-src 'self'
        content-type: text/plain
        set-cookie: own=1; Path=/; HttpOnly
        set-cookie: wide2=1
        set-cookie: wide=1; Secure
        ");
    }

    #[test]
    fn an_upgrade_counts_only_when_it_is_asked_for_properly() {
        let wish = |fields: &[(&str, &str)]| wished_upgrade(&map(fields)).is_some();
        assert!(wish(&[("connection", "keep-alive, Upgrade"), ("upgrade", "websocket")]));
        assert!(!wish(&[("upgrade", "websocket")]));
        assert!(!wish(&[("connection", "upgrade")]));
        assert!(!wish(&[("connection", "upgrade"), ("upgrade", "h2c")]));
        assert!(!wish(&[("connection", "upgraded"), ("upgrade", "websocket")]));
    }

    fn some_name() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-zA-Z][a-zA-Z0-9_-]{0,12}",
            "[xX][-_]([fF]orwarded|[hH]oldfast|[rR]eal)[-_][a-zA-Z]{1,6}",
            Just("Cookie".to_owned()),
            Just("Authorization".to_owned()),
            Just("Connection".to_owned()),
        ]
    }

    fn some_value() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ -~]{0,20}",
            "([a-z]{0,3}=?[;, ]{0,2}(__Host-|__secure-|__HOST-)?(holdfast|HoldFast)[-_a-z]{0,4}=?[ -~]{0,6}){1,3}",
            "[ -~]{0,6}hft_[ -~]{0,6}",
            "(x-holdfast-identity|host|cookie|, ){1,4}",
        ]
    }

    proptest! {
        #[test]
        fn no_set_of_headers_lets_one_of_our_names_through(fields in proptest::collection::vec((some_name(), some_value()), 0..12)) {
            let fields: Vec<(&str, &str)> = fields.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
            let headers = forwarded(&fields);
            for (name, value) in &headers {
                let plain = name.as_str().replace('_', "-");
                let ours = [&IDENTITY, &FORWARDED_FOR, &FORWARDED_HOST, &FORWARDED_PROTO, &REAL_IP].contains(&name);
                prop_assert!(ours || !(plain.starts_with("x-holdfast-") || plain.starts_with("x-forwarded-") || plain == "x-real-ip"), "{}", name);
                prop_assert!(!HOP_BY_HOP.contains(name), "{}", name);
                if name == header::AUTHORIZATION {
                    prop_assert!(memchr::memmem::find(value.as_bytes(), OUR_TOKENS).is_none());
                }
            }
            prop_assert_eq!(headers.get_all(&IDENTITY).iter().collect::<Vec<_>>(), vec!["word"]);
            prop_assert_eq!(headers.get_all(header::HOST).iter().count(), 1);
            for cookie in headers.get_all(header::COOKIE) {
                for pair in cookie.as_bytes().split(|b| *b == b';') {
                    let name = String::from_utf8_lossy(pair.split(|b| *b == b'=').next().unwrap()).trim().to_ascii_lowercase();
                    for prefix in ["", "__host-", "__secure-"] {
                        prop_assert!(!name.starts_with(&format!("{prefix}holdfast")), "{}", name);
                    }
                }
            }
        }
    }
}
