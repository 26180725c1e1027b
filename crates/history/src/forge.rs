//! Change requests at a forge: found, opened with the label `steward`, and asked what became of them.
//!
//! Forgejo (and Gitea, whose interface it shares) and GitHub answer to the same few words; where they differ is here.

use std::time::Duration;

use holdfast_credentials::Secret;
use holdfast_probe::{HttpError, Method, Request as Call, Url, http};
use holdfast_types::Timestamp;
use serde_json::{Value, json};

use crate::remote::Address;

const WITHIN: Duration = Duration::from_secs(30);
const LABEL: &str = "steward";
/// Kelp, the colour of what is settled.
const COLOUR: &str = "2f6f5e";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgeKind {
    /// And Gitea.
    Forgejo,
    Github,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Open,
    Merged,
    /// Closed without being merged.
    Closed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub number: u64,
    /// Where people read it.
    pub address: String,
    pub state: State,
}

#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    #[error("the forge was not reached: {0}")]
    NotReached(#[from] HttpError),
    #[error("the forge answered {what} with status {status}")]
    Refused { what: &'static str, status: u16 },
    #[error("the forge answered {what} with something that cannot be read")]
    Garbled { what: &'static str },
    #[error("the repository's address is not one of a forge")]
    NoForge,
}

pub struct Forge {
    kind: ForgeKind,
    /// Up to and with `/repos/owner/name`.
    api: String,
    owner: String,
    /// What people merge into.
    base: String,
    token: Secret,
}

impl std::fmt::Debug for Forge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forge").field("kind", &self.kind).field("api", &self.api).finish_non_exhaustive()
    }
}

impl Forge {
    /// The one that has this repository.
    pub fn of(kind: ForgeKind, address: &Address, base: &str, token: Secret) -> Result<Forge, ForgeError> {
        let (url, name) = address.on_the_web().ok_or(ForgeError::NoForge)?;
        let text = url.to_string();
        let server = text.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        let (owner, repository) = name.rsplit_once('/').ok_or(ForgeError::NoForge)?;
        let api = match kind {
            ForgeKind::Forgejo => format!("{server}/api/v1"),
            ForgeKind::Github if server == "https://github.com" => "https://api.github.com".to_owned(),
            ForgeKind::Github => format!("{server}/api/v3"),
        };
        let api = format!("{api}/repos/{owner}/{repository}");
        Ok(Forge { kind, api, owner: owner.to_owned(), base: base.to_owned(), token })
    }

    /// The newest request for a branch, if there ever was one.
    pub fn find(&self, branch: &str, now: Timestamp) -> Result<Option<Request>, ForgeError> {
        const WHAT: &str = "whether there is a change request";
        let place = match self.kind {
            ForgeKind::Forgejo => format!("/pulls/{}/{branch}", self.base),
            ForgeKind::Github => {
                format!("/pulls?state=all&head={}:{branch}&base={}&per_page=5", self.owner, self.base)
            }
        };
        let (status, value) = self.call(Method::Get, &place, None, WHAT, now)?;
        match (status, &value) {
            (404, _) => Ok(None),
            (200, Value::Array(all)) => {
                let newest = all.iter().max_by_key(|one| one["number"].as_u64());
                newest.map(|one| request(one).ok_or(ForgeError::Garbled { what: WHAT })).transpose()
            }
            (200, one) => request(one).map(Some).ok_or(ForgeError::Garbled { what: WHAT }),
            (status, _) => Err(ForgeError::Refused { what: WHAT, status }),
        }
    }

    /// Opens one, or finds the one that is there: whoever was cut off after opening it opens no second.
    pub fn open(&self, branch: &str, title: &str, text: &str, now: Timestamp) -> Result<Request, ForgeError> {
        const WHAT: &str = "a new change request";
        let found = self.find(branch, now)?;
        let request = match found {
            Some(request) => request,
            None => {
                let body = json!({"head": branch, "base": self.base, "title": title, "body": text});
                let (status, value) = self.call(Method::Post, "/pulls", Some(&body), WHAT, now)?;
                match status {
                    200..=299 => request(&value).ok_or(ForgeError::Garbled { what: WHAT })?,
                    status => return Err(ForgeError::Refused { what: WHAT, status }),
                }
            }
        };
        self.label(request.number, now)?;
        Ok(request)
    }

    /// Safe to repeat: a label that is there stays.
    fn label(&self, number: u64, now: Timestamp) -> Result<(), ForgeError> {
        const WHAT: &str = "a label";
        let label = match self.kind {
            ForgeKind::Forgejo => json!(self.label_number(now)?),
            ForgeKind::Github => json!(LABEL),
        };
        let place = format!("/issues/{number}/labels");
        match self.call(Method::Post, &place, Some(&json!({"labels": [label]})), WHAT, now)?.0 {
            200..=299 => Ok(()),
            status => Err(ForgeError::Refused { what: WHAT, status }),
        }
    }

    /// Forgejo knows labels by number, and only those that were made.
    fn label_number(&self, now: Timestamp) -> Result<u64, ForgeError> {
        const WHAT: &str = "which labels there are";
        let (status, value) = self.call(Method::Get, "/labels?limit=50", None, WHAT, now)?;
        if status != 200 {
            return Err(ForgeError::Refused { what: WHAT, status });
        }
        let known = value.as_array().into_iter().flatten().find(|label| label["name"] == LABEL);
        if let Some(number) = known.and_then(|label| label["id"].as_u64()) {
            return Ok(number);
        }
        const NEW: &str = "a new label";
        let body =
            json!({"name": LABEL, "color": format!("#{COLOUR}"), "description": "What the steward applied"});
        let (status, value) = self.call(Method::Post, "/labels", Some(&body), NEW, now)?;
        match (status, value["id"].as_u64()) {
            (200..=299, Some(number)) => Ok(number),
            (200..=299, None) => Err(ForgeError::Garbled { what: NEW }),
            (status, _) => Err(ForgeError::Refused { what: NEW, status }),
        }
    }

    fn call(
        &self,
        method: Method,
        place: &str,
        body: Option<&Value>,
        what: &'static str,
        now: Timestamp,
    ) -> Result<(u16, Value), ForgeError> {
        let url: Url = format!("{}{place}", self.api).parse().map_err(|_| ForgeError::NoForge)?;
        let mut call = Call::new(method, url)
            .header("Accept", "application/json")?
            .header("Authorization", &format!("token {}", self.token.expose()))?;
        if let Some(body) = body {
            call = call.header("Content-Type", "application/json")?.body(body.to_string().into_bytes());
        }
        let answer = http(&call, WITHIN, now)?;
        let value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
        if answer.status == 200 && (!answer.whole || value.is_null()) {
            return Err(ForgeError::Garbled { what });
        }
        Ok((answer.status, value))
    }
}

fn request(value: &Value) -> Option<Request> {
    let merged = value["merged"] == true || value["merged_at"].is_string();
    let state = match (merged, value["state"].as_str()?) {
        (true, _) => State::Merged,
        (false, "open") => State::Open,
        (false, _) => State::Closed,
    };
    let address = value["html_url"].as_str().unwrap_or_default().chars().take(300).collect();
    Some(Request { number: value["number"].as_u64()?, address, state })
}
