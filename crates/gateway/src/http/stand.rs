//! The guard before pages, API and streams.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use http::header::{CONTENT_TYPE, SET_COOKIE};
use http::request::Parts;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use serde_json::Value;

use super::call::form_fields;
use super::gate::{Gate, GateState, see_other};
use crate::client::{Caller, Locator};
use crate::error::{Error, Result};
use crate::guard::{
    CSRF_FIELD, Place, bearer, changes, check_csrf, check_host, check_origin, check_reader, needs_origin,
    sent_csrf, sent_proof,
};
use crate::headers::dress;
use crate::limit::Kind;
use crate::path::local_path;
use crate::proof::{Act, PROOF_FIELD};
use crate::signed::Signed;

/// Longest form of a page: fields, and no files.
const FORM_MAX: usize = 64 * 1024;

/// What a form wants done, and what it brought to show that it is wanted. Behind the guard it is in the extensions of
/// every request that sends a form in a session.
#[derive(Clone, Debug)]
pub struct Brought {
    pub act: Act,
    pub proof: Option<String>,
}

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
    let outdated = gate.accounts().cookies().outdated(&parts.headers);
    let mut answer = match admit(&gate, place, from, &mut parts, body, &mut who).await {
        Ok(request) => next.run(request).await,
        Err(Error::NotSignedIn) if place == Place::Page => to_sign_in(&parts),
        Err(e) => gate.refuse(&e, place, who.as_ref(), from),
    };
    dress(answer.headers_mut(), https);
    for cookie in outdated {
        answer.headers_mut().append(SET_COOKIE, cookie);
    }
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
        (Some(token), Place::Api | Place::Stream) => {
            Some(by_token(gate, token, from, parts.extensions.get::<Locator>()).await?)
        }
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
    match gate.accounts().cookies().read(&parts.headers).session {
        Some(cookie) => gate.who(&cookie).await,
        None => Ok(None),
    }
}

/// A good token is never held up by bad ones from the same place: only those are counted.
async fn by_token(gate: &Gate, token: &str, from: Caller, locator: Option<&Locator>) -> Result<Signed> {
    let token = token.to_owned();
    match gate.work(move |accounts| accounts.signed_by_token(&token)).await? {
        Some(signed) => Ok(signed),
        None => {
            let limited = gate.limit(Kind::TokenRefused, from, locator).await;
            Err(limited.err().unwrap_or(Error::TokenRefused))
        }
    }
}

/// Passes what brings the session's word, in the header or as a field of a form; the body is handed on as it came.
async fn passed(parts: &mut Parts, body: Body, who: &Signed) -> Result<Body> {
    if who.csrf().is_none() {
        return Ok(body);
    }
    let header = sent_csrf(&parts.headers).map(str::to_owned);
    if let Some(sent) = &header {
        check_csrf(who, Some(sent))?;
    }
    if !is_form(parts) {
        return if header.is_some() { Ok(body) } else { Err(Error::WrongCsrf) };
    }
    let bytes = read(body, FORM_MAX).await?;
    let mut fields = form_fields(&bytes)?;
    if header.is_none() {
        check_csrf(who, fields.get(CSRF_FIELD).and_then(Value::as_str))?;
    }
    let proof = match fields.remove(PROOF_FIELD) {
        Some(Value::String(proof)) => Some(proof),
        _ => sent_proof(&parts.headers).map(str::to_owned),
    };
    let to = parts.uri.path_and_query().map_or("/", |to| to.as_str()).to_owned();
    let act = Act::new(parts.method.as_str(), &to, fields);
    parts.extensions.insert(Brought { act, proof });
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

/// Writes down that the session or the token was used, now and then and beside the request: it holds nobody up, and nothing fails for it.
fn touch(gate: &Gate, who: &Signed) {
    if !gate.accounts().touch_is_due(who) {
        return;
    }
    let (accounts, who) = (gate.accounts().clone(), who.clone());
    drop(tokio::task::spawn_blocking(move || {
        if let Err(e) = accounts.touch(&who) {
            tracing::warn!(error = %e, "the use of a session or a token could not be written down");
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
