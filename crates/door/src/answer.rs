//! The few answers the door gives by itself: short, plain, cached nowhere.

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Response, StatusCode};

use crate::body::Outgoing;

/// Says what happened in one line. Nothing from the request is repeated in it.
pub(crate) fn plain(status: StatusCode) -> Response<Outgoing> {
    let text: &'static str = match status {
        StatusCode::BAD_REQUEST => "This is not a request that can be answered safely.\n",
        StatusCode::UNAUTHORIZED => "Sign in first.\n",
        StatusCode::FORBIDDEN => "This is not allowed.\n",
        StatusCode::NOT_FOUND => "There is nothing here.\n",
        StatusCode::REQUEST_TIMEOUT => "The request took too long to arrive.\n",
        StatusCode::PAYLOAD_TOO_LARGE => "This is more than the service takes.\n",
        StatusCode::MISDIRECTED_REQUEST => "This is not the address of this gateway.\n",
        StatusCode::BAD_GATEWAY => "The service did not answer. Nothing was sent twice.\n",
        StatusCode::SERVICE_UNAVAILABLE => "The service is busy. Try again in a moment.\n",
        StatusCode::GATEWAY_TIMEOUT => "The service took too long. It may still have acted.\n",
        _ => "This cannot be answered.\n",
    };
    let mut response = Response::new(Outgoing::short(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    guard(headers);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// To another address; an address that is no header value is our own mistake.
pub(crate) fn go_to(status: StatusCode, location: &str) -> Response<Outgoing> {
    let Ok(location) = HeaderValue::from_str(location) else {
        return plain(StatusCode::INTERNAL_SERVER_ERROR);
    };
    let mut response = Response::new(Outgoing::short(Bytes::new()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::LOCATION, location);
    guard(response.headers_mut());
    response
}

fn guard(headers: &mut http::HeaderMap) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    );
}
