//! One call to `/auth/`: read whole, checked, and only then answered.

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::header::{SET_COOKIE, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::gate::{GateState, Manner, json_answer, see_other};
use super::routes::{AuthRoute, Need, dispatch};
use super::stand::{is_form, media_type, read};
use crate::accounts::{Acting, KnownBrowser, Previous, Proved};
use crate::ceremony::Holder;
use crate::client::{Caller, Locator};
use crate::cookie::{CookieKind, Cookies};
use crate::error::{Error, Result};
use crate::guard::{CSRF_FIELD, bearer, check_csrf, check_host, check_origin, sent_csrf, sent_proof};
use crate::id::DeviceId;
use crate::limit::{Kind, Whose};
use crate::name::Label;
use crate::proof::{Act, PROOF_FIELD};
use crate::secret::Secret;
use crate::shown::Shown;
use crate::signed::Signed;

/// Longest body of a call: a passkey with the largest attestation there is has a few kilobytes.
pub const AUTH_BODY_MAX: usize = 64 * 1024;

/// How long a browser keeps its mark from before signing in.
const BEFORE_SECS: u64 = 900;

/// How much of what somebody sent is told back to them when it cannot be understood.
const WHY_MAX: usize = 200;

/// A call that was let through.
pub(super) struct Call {
    pub(super) gate: GateState,
    pub(super) from: Caller,
    locator: Option<Locator>,
    pub(super) signed: Option<Signed>,
    cookies: Cookies,
    /// The browser, when somebody signed in with it before.
    pub(super) known: Option<KnownBrowser>,
    /// What is wanted, and what came along to show that it is.
    act: Act,
    proof: Option<String>,
    /// The passkey that was used for it.
    pub(super) proved: Option<Proved>,
    /// Whether the session's anti-forgery word came along.
    forged: Result<()>,
    /// What the browser calls itself.
    pub(super) agent: Label,
    fields: Map<String, Value>,
}

/// What is answered when all went well.
pub(super) struct Answer {
    body: Value,
    /// Where a form is sent back to.
    back: String,
    shown: Option<Shown>,
    cookies: Vec<HeaderValue>,
    /// Scripts are sent there too, not only forms.
    everybody: bool,
}

impl Answer {
    pub(super) fn new(body: Value, back: &str) -> Answer {
        Answer { body, back: back.to_owned(), shown: None, cookies: Vec::new(), everybody: false }
    }

    pub(super) fn go(to: &str) -> Answer {
        Answer { everybody: true, ..Answer::new(Value::Null, to) }
    }

    pub(super) fn with(mut self, cookie: Option<HeaderValue>) -> Answer {
        self.cookies.extend(cookie);
        self
    }

    pub(super) fn showing(mut self, shown: Shown) -> Answer {
        self.shown = Some(shown);
        self
    }
}

/// Answers one call.
pub(super) async fn serve(gate: GateState, route: &'static AuthRoute, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let from = parts.extensions.get::<Caller>().copied().unwrap_or_default();
    let manner = if is_form(&parts) { Manner::Page } else { Manner::Json };
    let mut who = None;
    let done = answer(&gate, route, from, &parts, body, &mut who).await;
    let outdated = gate.accounts().cookies().outdated(&parts.headers);
    let mut answer = match done {
        Ok(answer) => respond(&gate, manner, who.as_ref(), answer),
        Err(Error::NotSignedIn) if manner == Manner::Page => see_other("/login"),
        Err(e) => {
            gate.record(&e, who.as_ref(), from.address);
            gate.refusal(&e, manner, who.as_ref())
        }
    };
    for cookie in outdated {
        answer.headers_mut().append(SET_COOKIE, cookie);
    }
    answer
}

async fn answer(
    gate: &GateState,
    route: &'static AuthRoute,
    from: Caller,
    parts: &Parts,
    body: Body,
    who: &mut Option<Signed>,
) -> Result<Answer> {
    check_host(&parts.uri, &parts.headers, gate.site())?;
    if bearer(&parts.headers).is_some() {
        return Err(Error::TokenNotHere);
    }
    check_origin(&parts.headers, gate.site())?;
    let cookies = gate.accounts().cookies().read(&parts.headers);
    let known = cookies.known.as_deref().and_then(|cookie| gate.accounts().known_browser(cookie));
    if let Some(cookie) = &cookies.session {
        *who = gate.who(cookie).await?;
    }
    let mut fields = fields(parts, body).await?;
    let field = fields.remove(CSRF_FIELD);
    let proof = match fields.remove(PROOF_FIELD) {
        Some(Value::String(proof)) => Some(proof),
        _ => sent_proof(&parts.headers).map(str::to_owned),
    };
    let forged = match who {
        Some(who) => check_csrf(who, sent_csrf(&parts.headers).or(field.as_ref().and_then(Value::as_str))),
        None => Err(Error::NotSignedIn),
    };
    let mut call = Call {
        gate: gate.clone(),
        from,
        locator: parts.extensions.get().cloned(),
        signed: who.clone(),
        cookies,
        known,
        act: Act::new(parts.method.as_str(), route.path, fields.clone()),
        proof,
        proved: None,
        forged,
        agent: agent(&parts.headers),
        fields,
    };
    call.may(route.need).await?;
    dispatch(route, call).await
}

impl Call {
    async fn may(&mut self, need: Need) -> Result<()> {
        let Need::Session { least, proof } = need else {
            return Ok(());
        };
        let who = self.session()?;
        self.gate.limit_for(Kind::Account, Whose::Session(who.stamp))?;
        who.at_least(least)?;
        if proof.asks(self.act.fields()) {
            self.prove().await?;
        }
        Ok(())
    }

    /// Charges the share of whoever comes in: of the browser when it was here before, of the session whose page asks, or else of the place.
    pub(super) async fn limit(&self, kind: Kind) -> Result<()> {
        match (self.known, self.session()) {
            (Some(known), _) => self.gate.limit_for(kind, Whose::Browser(known.stamp)),
            (None, Ok(who)) => self.gate.limit_for(kind, Whose::Session(who.stamp)),
            (None, Err(_)) => self.gate.limit(kind, self.from, self.locator.as_ref()).await,
        }
    }

    /// Passes what came with a passkey that was used for exactly this. It is recorded with what it was used for.
    pub(super) async fn prove(&mut self) -> Result<()> {
        let (who, wanted) = (self.session()?.clone(), self.act.clone());
        let proof = self.proof.clone().ok_or(Error::NotFresh)?;
        let proved = move |accounts: &Acting| accounts.prove(&who, &proof, &wanted);
        self.proved = Some(self.gate.act(self.from.address, proved).await?);
        Ok(())
    }

    /// The same for what changes nothing yet, recorded at once.
    pub(super) async fn prove_at_once(&self) -> Result<()> {
        let who = self.session()?;
        self.gate.prove(who, self.proof.as_deref(), &self.act, self.from).await.map(drop)
    }

    /// The passkey that was used for it.
    pub(super) fn device(&self) -> Option<DeviceId> {
        self.proved.as_ref().map(Proved::device)
    }

    /// Changes an account, for whoever brought what it takes.
    pub(super) async fn act<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Acting) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let proved = self.proved.clone();
        self.gate.act(self.from.address, move |accounts| job(&accounts.clone().having(proved))).await
    }

    /// Who is signed in, by a request that a page of theirs made.
    pub(super) fn session(&self) -> Result<&Signed> {
        let who = self.signed.as_ref().ok_or(Error::NotSignedIn)?;
        match &self.forged {
            Ok(()) => Ok(who),
            Err(_) => Err(Error::WrongCsrf),
        }
    }

    /// What this browser had before somebody comes in with it anew.
    pub(super) fn previous(&self) -> Option<Previous> {
        self.signed.clone().map(|who| Previous { who, has_word: self.forged.is_ok() })
    }

    /// What was sent, as it is expected. Unknown fields are refused.
    pub(super) fn read<T: DeserializeOwned>(&mut self) -> Result<T> {
        let fields = std::mem::take(&mut self.fields);
        serde_json::from_value(Value::Object(fields)).map_err(|e| {
            let why = holdfast_types::printable(&e.to_string());
            Error::BadRequest { why: why.chars().take(WHY_MAX).collect() }
        })
    }

    /// The browser's mark from before signing in, made now when it has none, with the cookie that sets it.
    pub(super) fn holder(&self) -> Result<(Holder, Option<HeaderValue>)> {
        if let Some(holder) = self.held().first() {
            return Ok((*holder, None));
        }
        let value = Secret::random()?;
        let cookie = self.cookie(CookieKind::Before, value.reveal(), BEFORE_SECS);
        Ok((Holder::of_cookie(value.reveal()).ok_or(Error::Interrupted)?, cookie))
    }

    /// What it may have begun something under, before it signed in. One that signed in before has its mark for it, and
    /// so its own room.
    pub(super) fn held(&self) -> Vec<Holder> {
        let marked = self.known.map(KnownBrowser::holder);
        let before = self.cookies.before.as_deref().and_then(Holder::of_cookie);
        marked.into_iter().chain(before).collect()
    }

    /// The mark of a browser that signed in before, as it was sent.
    pub(super) fn mark(&self) -> Option<String> {
        self.cookies.known.clone()
    }

    pub(super) fn cookie(&self, kind: CookieKind, value: &str, secs: u64) -> Option<HeaderValue> {
        self.gate.accounts().cookies().set(kind, value, secs)
    }

    pub(super) fn clear(&self, kind: CookieKind) -> Option<HeaderValue> {
        self.gate.accounts().cookies().clear(kind)
    }
}

fn respond(gate: &GateState, manner: Manner, who: Option<&Signed>, answer: Answer) -> Response {
    let mut response = match manner {
        Manner::Json if !answer.everybody => json_answer(StatusCode::OK, &answer.body),
        Manner::Json | Manner::Page => {
            if let (Some(who), Some(shown)) = (who, answer.shown) {
                gate.put_on_shelf(who, shown);
            }
            see_other(&answer.back)
        }
    };
    for cookie in answer.cookies {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// JSON or a form, as one map. An empty body without a kind is an empty map.
async fn fields(parts: &Parts, body: Body) -> Result<Map<String, Value>> {
    let kind = media_type(parts);
    let bytes = read(body, AUTH_BODY_MAX).await?;
    match kind {
        Some("application/json") => match serde_json::from_slice(&bytes) {
            Ok(Value::Object(fields)) => Ok(fields),
            _ => Err(Error::BadRequest { why: "the body is not a JSON object".into() }),
        },
        Some("application/x-www-form-urlencoded") => form_fields(&bytes),
        None if bytes.is_empty() => Ok(Map::new()),
        _ => Err(Error::WrongContent),
    }
}

pub(super) fn form_fields(bytes: &[u8]) -> Result<Map<String, Value>> {
    let mut fields = Map::new();
    for (name, value) in url::form_urlencoded::parse(bytes) {
        if fields.insert(name.into_owned(), Value::String(value.into_owned())).is_some() {
            return Err(Error::BadRequest { why: "a field is there twice".into() });
        }
    }
    Ok(fields)
}

fn agent(headers: &HeaderMap) -> Label {
    let text = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    crate::browser::named(text)
}
