//! The guard before pages, API and streams.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::gate::{Gate, GateState, see_other};
use crate::client::Caller;
use crate::cookie::Cookies;
use crate::error::{Error, Result};
use crate::guard::{
    CSRF_FIELD, Place, bearer, changes, check_csrf, check_host, check_origin, check_reader, needs_origin,
    sent_csrf,
};
use crate::headers::dress;
use crate::limit::Kind;
use crate::path::local_path;
use crate::signed::Signed;

/// Longest form of a page: fields, and no files.
const FORM_MAX: usize = 64 * 1024;

/// Puts the guard before all routes of `router`. Behind it, a request has a [`Signed`] in its extensions (for
/// [`Place::Public`] only when somebody is signed in), and every answer has our headers.
pub fn guard(router: Router, gate: &GateState, place: Place) -> Router {
    let gate = gate.clone();
    router.layer(from_fn(move |request, next| stand(gate.clone(), place, request, next)))
}

async fn stand(gate: GateState, place: Place, request: Request, next: Next) -> Response {
    let https = gate.site().https();
    let from = request.extensions().get::<Caller>().copied().unwrap_or_default();
    let (mut parts, body) = request.into_parts();
    let mut who = None;
    let mut answer = match admit(&gate, place, from, &mut parts, body, &mut who).await {
        Ok(request) => next.run(request).await,
        Err(Error::NotSignedIn) if place == Place::Page => to_sign_in(&parts),
        Err(e) => gate.refuse(&e, place, who.as_ref(), from),
    };
    dress(answer.headers_mut(), https);
    answer
}

async fn admit(
    gate: &Gate,
    place: Place,
    from: Caller,
    parts: &mut Parts,
    body: Body,
    who: &mut Option<Signed>,
) -> Result<Request> {
    check_host(&parts.uri, &parts.headers, gate.site())?;
    let token = bearer(&parts.headers);
    if token.is_none() && needs_origin(parts) {
        check_origin(&parts.headers, gate.site())?;
    }
    if token.is_none() && matches!(place, Place::Api | Place::Stream) {
        check_reader(&parts.headers)?;
    }
    *who = match (token, place) {
        (Some(token), Place::Api | Place::Stream) => Some(by_token(gate, token, from).await?),
        (Some(_), Place::Public | Place::Page) => return Err(Error::TokenNotHere),
        (None, _) => by_cookie(gate, parts).await?,
    };
    if who.is_none() && place != Place::Public {
        return Err(Error::NotSignedIn);
    }
    let body = match who {
        Some(who) if changes(&parts.method) => passed(parts, body, who).await?,
        _ => body,
    };
    if let Some(who) = who {
        touch(gate, who);
        parts.extensions.insert(who.clone());
    }
    Ok(Request::from_parts(parts.clone(), body))
}

async fn by_cookie(gate: &Gate, parts: &Parts) -> Result<Option<Signed>> {
    match Cookies::read(&parts.headers, gate.site().https()).session {
        Some(cookie) => gate.who(&cookie).await,
        None => Ok(None),
    }
}

/// A good token is never held up by bad ones from the same place: only those are counted.
async fn by_token(gate: &Gate, token: &str, from: Caller) -> Result<Signed> {
    let token = token.to_owned();
    match gate.work(move |accounts| accounts.signed_by_token(&token)).await? {
        Some(signed) => Ok(signed),
        None => Err(gate.limit(Kind::TokenRefused, from.address).err().unwrap_or(Error::TokenRefused)),
    }
}

/// Passes what brings the session's word, in the header or as a field of a form; the body is handed on as it came.
async fn passed(parts: &Parts, body: Body, who: &Signed) -> Result<Body> {
    if who.csrf().is_none() {
        return Ok(body);
    }
    if let Some(sent) = sent_csrf(&parts.headers) {
        return check_csrf(who, Some(sent)).map(|()| body);
    }
    if !is_form(parts) {
        return Err(Error::WrongCsrf);
    }
    let bytes = read(body, FORM_MAX).await?;
    let field = url::form_urlencoded::parse(&bytes).find(|(name, _)| name == CSRF_FIELD);
    check_csrf(who, field.as_ref().map(|(_, value)| value.as_ref()))?;
    Ok(Body::from(bytes))
}

pub(super) fn is_form(parts: &Parts) -> bool {
    media_type(parts) == Some("application/x-www-form-urlencoded")
}

/// The kind of content, without its parameters.
pub(super) fn media_type(parts: &Parts) -> Option<&str> {
    let value = parts.headers.get(CONTENT_TYPE)?.to_str().unwrap_or("unreadable");
    Some(value.split(';').next().unwrap_or_default().trim())
}

/// A body, whole, when it is no longer than it may be.
pub(super) async fn read(body: Body, max: usize) -> Result<axum::body::Bytes> {
    match Limited::new(body, max).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(e) if e.is::<LengthLimitError>() => Err(Error::TooLong),
        Err(_) => Err(Error::BadRequest { why: "it broke off".into() }),
    }
}

/// Writes down that the session was used, now and then and beside the request.
fn touch(gate: &Gate, who: &Signed) {
    if !gate.accounts().touch_is_due(who) {
        return;
    }
    let (accounts, who) = (gate.accounts().clone(), who.clone());
    drop(tokio::task::spawn_blocking(move || {
        if let Err(e) = accounts.touch(&who) {
            tracing::warn!(error = %e, "the use of a session could not be written down");
        }
    }));
}

/// To the door, and back afterwards where that is possible: only what was looked at, never what was posted.
fn to_sign_in(parts: &Parts) -> Response {
    let wanted = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    match local_path(wanted) {
        "/" => see_other("/login"),
        _ if changes(&parts.method) => see_other("/login"),
        next => {
            let query =
                url::form_urlencoded::Serializer::new(String::new()).append_pair("next", next).finish();
            see_other(&format!("/login?{query}"))
        }
    }
}
