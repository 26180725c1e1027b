//! What somebody who is signed in changes: devices, sessions, codes, people, tokens.

use std::str::FromStr;

use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::call::{Answer, Call};
use crate::accounts::Tokens;
use crate::cookie::CookieKind;
use crate::error::{Error, Result};
use crate::id::{DeviceId, LinkId, PersonId, SessionId, TokenId};
use crate::name::{Label, PersonName};
use crate::role::{Role, Scope};
use crate::shown::Shown;

const DEVICES: &str = "/settings#devices";
const SESSIONS: &str = "/settings#sessions";
const LINKS: &str = "/settings#links";
const CODES: &str = "/settings#codes";
const PEOPLE: &str = "/settings/people";
const TOKENS: &str = "/settings/tokens";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneDevice {
    id: DeviceId,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Renamed {
    id: DeviceId,
    label: Label,
}

/// What the session that asks is called; ending it takes no passkey.
pub(super) const THIS: &str = "this";

#[derive(Clone, Copy)]
enum Which {
    One(SessionId),
    Others,
    All,
}

/// One session by its id, or the words `this`, `others` and `all`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ended {
    id: String,
    /// Whether tokens end too: of one session those that were made in it. They do where nothing is said: whoever locks an
    /// intruder out does not know what that one made.
    #[serde(default = "yes", deserialize_with = "flag")]
    tokens: bool,
}

/// The newest of what was shown: what came later is still news.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    #[serde(deserialize_with = "number")]
    upto: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneLink {
    id: LinkId,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Invitation {
    name: PersonName,
    role: Role,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewRole {
    id: PersonId,
    role: Role,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OnePerson {
    id: PersonId,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WantedToken {
    name: Label,
    scope: Scope,
    #[serde(deserialize_with = "number")]
    days: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OneToken {
    id: TokenId,
}

pub(super) async fn remove_device(mut call: Call) -> Result<Answer> {
    let OneDevice { id } = call.read()?;
    let who = whose(&call)?;
    call.act(move |accounts| accounts.remove_device(&who, id)).await?;
    Ok(Answer::new(json!({}), DEVICES))
}

pub(super) async fn rename_device(mut call: Call) -> Result<Answer> {
    let Renamed { id, label } = call.read()?;
    let who = whose(&call)?;
    call.act(move |accounts| accounts.rename_device(&who, id, &label)).await?;
    Ok(Answer::new(json!({}), DEVICES))
}

pub(super) async fn link_device(mut call: Call) -> Result<Answer> {
    let Nothing {} = call.read()?;
    let who = whose(&call)?;
    let device = call.device();
    let link = call.act(move |accounts| accounts.device_link(&who, device)).await?.path();
    Ok(Answer::new(json!({ "link": link }), DEVICES).showing(Shown::Link(link)))
}

pub(super) async fn end_sessions(mut call: Call) -> Result<Answer> {
    let Ended { id, tokens } = call.read()?;
    let tokens = if tokens { Tokens::End } else { Tokens::Stay };
    let who = whose(&call)?;
    let own = who.session().ok_or(Error::TokenNotHere)?;
    let which = match id.as_str() {
        THIS => Which::One(own),
        "others" => Which::Others,
        "all" => Which::All,
        text => Which::One(text.parse().map_err(|_| Error::NotFound { what: "session" })?),
    };
    call.act(move |accounts| match which {
        Which::One(id) => accounts.end_session(&who, id, tokens),
        Which::Others => accounts.end_other_sessions(&who, tokens),
        Which::All => accounts.end_all_sessions(who.person, tokens),
    })
    .await?;
    let out = match which {
        Which::One(id) => id == own,
        Which::Others => false,
        Which::All => true,
    };
    Ok(if out {
        Answer::new(json!({ "next": "/login" }), "/login").with(call.clear(CookieKind::Session))
    } else {
        Answer::new(json!({}), SESSIONS)
    })
}

pub(super) async fn renew_codes(mut call: Call) -> Result<Answer> {
    let Nothing {} = call.read()?;
    let who = whose(&call)?;
    let codes = call.act(move |accounts| accounts.renew_codes(&who)).await?;
    Ok(Answer::new(json!({ "codes": codes }), CODES).showing(Shown::Codes(codes)))
}

pub(super) async fn invite(mut call: Call) -> Result<Answer> {
    let Invitation { name, role } = call.read()?;
    let who = whose(&call)?;
    let device = call.device();
    let link = call.act(move |accounts| accounts.invite(&who, device, &name, role)).await?;
    let path = link.path();
    Ok(Answer::new(json!({ "link": path }), PEOPLE).showing(Shown::Link(path)))
}

pub(super) async fn set_role(mut call: Call) -> Result<Answer> {
    let NewRole { id, role } = call.read()?;
    let who = whose(&call)?;
    call.act(move |accounts| accounts.set_role(&who, id, role)).await?;
    Ok(Answer::new(json!({}), PEOPLE))
}

pub(super) async fn remove_person(mut call: Call) -> Result<Answer> {
    let OnePerson { id } = call.read()?;
    let who = whose(&call)?;
    call.act(move |accounts| accounts.remove_person(&who, id)).await?;
    Ok(Answer::new(json!({}), PEOPLE))
}

pub(super) async fn make_token(mut call: Call) -> Result<Answer> {
    let WantedToken { name, scope, days } = call.read()?;
    let who = whose(&call)?;
    let device = call.device();
    let made = call.act(move |accounts| accounts.make_token(&who, device, &name, scope, days)).await?;
    let token = made.token.reveal().to_owned();
    let body = json!({ "id": made.id, "token": token, "expires": made.expires });
    Ok(Answer::new(body, TOKENS).showing(Shown::Token(token)))
}

pub(super) async fn revoke_token(mut call: Call) -> Result<Answer> {
    let OneToken { id } = call.read()?;
    let who = whose(&call)?;
    call.act(move |accounts| accounts.revoke_token(&who, id)).await?;
    Ok(Answer::new(json!({}), TOKENS))
}

pub(super) async fn revoke_link(mut call: Call) -> Result<Answer> {
    let OneLink { id } = call.read()?;
    let who = whose(&call)?;
    call.act(move |accounts| accounts.revoke_link(&who, id)).await?;
    Ok(Answer::new(json!({}), LINKS))
}

/// They have seen what was made in their name.
pub(super) async fn know_news(mut call: Call) -> Result<Answer> {
    let Known { upto } = call.read()?;
    let who = whose(&call)?;
    call.act(move |accounts| accounts.news_known(&who, upto)).await?;
    Ok(Answer::new(json!({}), "/settings"))
}

fn whose(call: &Call) -> Result<crate::Signed> {
    call.session().cloned()
}

/// Forms have only text.
fn number<'de, D, N>(from: D) -> std::result::Result<N, D::Error>
where
    D: Deserializer<'de>,
    N: Deserialize<'de> + FromStr,
    N::Err: std::fmt::Display,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either<N> {
        Number(N),
        Text(String),
    }
    match Either::<N>::deserialize(from)? {
        Either::Number(number) => Ok(number),
        Either::Text(text) => text.parse().map_err(serde::de::Error::custom),
    }
}

fn yes() -> bool {
    true
}

/// A box that is ticked, in a form; a field that is there and says nothing else.
fn flag<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Flag(bool),
        Text(String),
    }
    match Either::deserialize(from)? {
        Either::Flag(flag) => Ok(flag),
        Either::Text(text) => match text.as_str() {
            "yes" => Ok(true),
            "no" => Ok(false),
            _ => Err(serde::de::Error::custom("`tokens` is yes or no")),
        },
    }
}
