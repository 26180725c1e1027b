//! Every check of a request before it reaches anything, as functions of its parts.

use http::header::{AUTHORIZATION, HOST, ORIGIN, UPGRADE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

use crate::error::{Error, Result};
use crate::proof::PROOF_HEADER;
use crate::settings::Site;
use crate::signed::Signed;

/// The header that scripts of our own pages send the anti-forgery word in.
pub const CSRF_HEADER: &str = "x-holdfast-csrf";

/// The field that forms send it in.
pub const CSRF_FIELD: &str = "csrf";

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What kind of thing a route is: who may ask for it, and how somebody is told that they may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// For everybody: the way in, and assets. Who is signed in is known all the same.
    Public,
    /// Needs a session; without one, to `/login` and back.
    Page,
    /// Needs a session or a token; without, 401.
    Api,
    /// As the API, and also refused before anything is upgraded. Live events and sockets.
    Stream,
}

/// The request is for us: one host, and ours.
pub fn check_host(uri: &Uri, headers: &HeaderMap, site: &Site) -> Result<()> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next().map(|value| value.to_str().unwrap_or_default());
    let authority = uri.authority().map(|authority| authority.as_str());
    let ours = |named: Option<&str>| named.is_none_or(|named| site.is_authority(named));
    let once = hosts.next().is_none();
    let named = host.is_some() || authority.is_some();
    if once && named && ours(host) && ours(authority) { Ok(()) } else { Err(Error::WrongHost) }
}

/// The request was made by a page of ours. A browser cannot be made to lie about this by another site; whoever is no
/// browser brings no cookies of somebody else.
pub fn check_origin(headers: &HeaderMap, site: &Site) -> Result<()> {
    let mut origins = headers.get_all(ORIGIN).iter();
    let ours = origins.next().is_some_and(|origin| origin.as_bytes() == site.origin().as_bytes());
    let once = origins.next().is_none();
    // Another host below ours is the same site, and still not us.
    let from_here = headers.get_all(SEC_FETCH_SITE).iter().all(|site| site.as_bytes() == b"same-origin");
    if ours && once && from_here { Ok(()) } else { Err(Error::WrongOrigin) }
}

/// What is read with a cookie is read by our own pages, or by nobody's: a page on a host beside ours is the same site, so
/// browsers send the cookie along. Who is no browser does not say where the request comes from.
pub(crate) fn check_reader(headers: &HeaderMap) -> Result<()> {
    let ours = |site: &HeaderValue| matches!(site.as_bytes(), b"same-origin" | b"none");
    if headers.get_all(SEC_FETCH_SITE).iter().all(ours) { Ok(()) } else { Err(Error::WrongOrigin) }
}

/// The word of this session. Who came with a token needs none: no browser sends it by itself.
pub fn check_csrf(signed: &Signed, sent: Option<&str>) -> Result<()> {
    match (signed.csrf(), sent) {
        (None, _) => Ok(()),
        (Some(csrf), Some(sent)) if csrf.is(sent) => Ok(()),
        (Some(_), _) => Err(Error::WrongCsrf),
    }
}

/// Whether a request may change something. What is not known to be harmless may.
pub(crate) fn changes(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// Whether a page of ours must have made it: it changes something, or wants to become a socket, which browsers let any
/// site open.
pub(crate) fn needs_origin(parts: &Parts) -> bool {
    changes(&parts.method) || parts.headers.contains_key(UPGRADE) || parts.method == Method::CONNECT
}

/// The token of a request, when it brings one.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().unwrap_or_default();
    let token = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    // Anything else in that header is a credential too, and no good one.
    Some(token.map_or("", |(_, token)| token.trim()))
}

pub(crate) fn sent_csrf(headers: &HeaderMap) -> Option<&str> {
    headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok())
}

/// What shows that the act of a request is wanted, when it is sent in the header.
pub fn sent_proof(headers: &HeaderMap) -> Option<&str> {
    headers.get(PROOF_HEADER).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    fn site() -> Site {
        Settings::new("https://hold.example:9096".parse().unwrap()).site().unwrap()
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, value.parse().unwrap());
        }
        map
    }

    #[test]
    fn a_request_names_one_host_and_it_is_ours() {
        let check = |uri: &str, pairs: &[(&'static str, &str)], ok: bool| {
            let found = check_host(&uri.parse().unwrap(), &headers(pairs), &site());
            assert_eq!(found.is_ok(), ok, "{uri} {pairs:?}");
        };
        check("/x", &[("host", "hold.example:9096")], true);
        check("/x", &[("host", "HOLD.EXAMPLE:9096")], true);
        check("https://hold.example:9096/x", &[], true);
        check("https://hold.example:9096/x", &[("host", "hold.example:9096")], true);
        check("https://hold.example:9096/x", &[("host", "evil.example")], false);
        check("https://evil.example/x", &[("host", "hold.example:9096")], false);
        check("/x", &[("host", "evil.example")], false);
        check("/x", &[("host", "hold.example")], false);
        check("/x", &[("host", "127.0.0.1:9096")], false);
        check("/x", &[("host", "hold.example:9096"), ("host", "evil.example")], false);
        check("/x", &[("host", "hold.example:9096, evil.example")], false);
        check("/x", &[("x-forwarded-host", "hold.example:9096")], false);
        check("/x", &[], false);
    }

    // shows: GTW-F07
    #[test]
    fn a_change_comes_from_our_own_origin_or_not_at_all() {
        let check = |pairs: &[(&'static str, &str)], ok: bool| {
            assert_eq!(check_origin(&headers(pairs), &site()).is_ok(), ok, "{pairs:?}");
        };
        const OURS: (&str, &str) = ("origin", "https://hold.example:9096");
        check(&[OURS], true);
        check(&[OURS, ("sec-fetch-site", "same-origin")], true);
        check(&[], false);
        check(&[("sec-fetch-site", "same-origin")], false);
        check(&[OURS, ("sec-fetch-site", "cross-site")], false);
        check(&[OURS, ("sec-fetch-site", "same-site")], false);
        check(&[OURS, ("sec-fetch-site", "none")], false);
        check(&[OURS, ("origin", "https://evil.example")], false);
        for origin in [
            "null",
            "https://hold.example",
            "http://hold.example:9096",
            "https://hold.example:9096/",
            "https://hold.example:9096.evil.example",
            "https://grafana.hold.example:9096",
            "https://evil.example",
            "",
        ] {
            check(&[("origin", origin)], false);
        }
    }

    #[test]
    fn a_socket_and_every_unknown_method_need_the_origin() {
        let needs = |method: &str, upgrade: bool| {
            let mut request = http::Request::builder().method(method).uri("/x");
            if upgrade {
                request = request.header("upgrade", "websocket");
            }
            needs_origin(&request.body(()).unwrap().into_parts().0)
        };
        assert!(!needs("GET", false) && !needs("HEAD", false) && needs("GET", true));
        for method in ["POST", "PUT", "PATCH", "DELETE", "CONNECT", "TRACE", "PROPFIND", "get"] {
            assert!(needs(method, false), "{method}");
        }
    }

    #[test]
    fn any_authorization_counts_as_a_token() {
        let found = |value: &str| bearer(&headers(&[("authorization", value)])).map(str::to_owned);
        assert_eq!(found("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(found("bearer  abc").as_deref(), Some("abc"));
        assert_eq!(found("Basic abc").as_deref(), Some(""));
        assert_eq!(bearer(&HeaderMap::new()), None);
    }
}
