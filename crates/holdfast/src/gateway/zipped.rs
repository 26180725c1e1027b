//! Answers that are text go out compressed to whoever takes them so.
//!
//! Not those to a question in the address: what somebody else made a browser ask for would stand there beside what is secret in the page, and the length
//! of both compressed together tells of the one by the other. Streams are left as they are.

use std::io::Write as _;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue};
use http_body::Body as _;
use http_body_util::BodyExt as _;

/// Shorter ones do not become shorter.
const LEAST: u64 = 512;
/// Longer ones are downloads, and not worth the time.
const MOST: u64 = 1024 * 1024;

pub(super) async fn zipped(request: Request, next: Next) -> Response {
    let wanted = takes_gzip(request.headers()) && request.uri().query().is_none();
    let answer = next.run(request).await;
    if !wanted || !is_text(answer.headers()) {
        return answer;
    }
    match answer.body().size_hint().exact() {
        Some(length) if (LEAST..=MOST).contains(&length) => {}
        _ => return answer,
    }
    let (mut parts, body) = answer.into_parts();
    let Ok(whole) = body.collect().await else { return Response::from_parts(parts, Body::empty()) };
    let bytes = whole.to_bytes();
    let Some(smaller) = smaller(&bytes) else { return Response::from_parts(parts, Body::from(bytes)) };
    parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    parts.headers.append(VARY, HeaderValue::from_static("accept-encoding"));
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(smaller))
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let refused = |weight: &str| weight.replace(' ', "").trim_start_matches("q=").parse() == Ok(0.0_f32);
        parts.next() == Some("gzip") && !parts.any(refused)
    })
}

fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    headers.get(CONTENT_ENCODING).is_none()
        && matches!(
            kind,
            "text/html"
                | "text/css"
                | "text/javascript"
                | "text/plain"
                | "application/json"
                | "image/svg+xml"
        )
}

fn smaller(bytes: &Bytes) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::new(5));
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().filter(|packed| packed.len() < bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_says_so_is_sent_something_packed() {
        for (said, takes) in [
            ("gzip", true),
            ("deflate, gzip;q=0.5, br", true),
            ("gzip;q=0", false),
            ("gzip; q=0.0", false),
            ("br", false),
            ("", false),
            ("x-gzip", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(said));
            assert_eq!(takes_gzip(&headers), takes, "{said}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn what_does_not_become_smaller_stays_as_it_is() {
        assert!(smaller(&Bytes::from("a".repeat(4_000))).is_some_and(|packed| packed.len() < 100));
        assert!(smaller(&Bytes::from_static(b"x")).is_none());
    }
}
