//! One HTTP request to where people are told, shared by the sinks that speak HTTP.
//!
//! An address is a secret where it carries a token, and appears nowhere: not in a debug form, not in an error, not in
//! a log. The libraries that make the call would log the host, so it runs where nobody listens to them; and a
//! connection is not kept, for a kept one is looked after (and talked about) in the background. Names are resolved here
//! and the very addresses that were judged are the ones connected to, so a name server cannot answer differently the
//! second time. Nothing is followed elsewhere.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use holdfast_credentials::Secret;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, HeaderValue, RETRY_AFTER, USER_AGENT};
use reqwest::{Client, Response, Url};
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

use crate::destination::{AllowHosts, Leave, bare};
use crate::error::{Error, Result};
use crate::sink::{Outcome, Trouble};

/// As much of an answer is kept as a polite receiver sends.
const ANSWER_MAX: usize = 64 * 1024;
const ADDRESSES_MAX: usize = 16;

#[derive(Debug)]
pub(crate) struct Caller {
    client: Client,
    limit: Duration,
}

/// What a receiver answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Duration>,
    /// The beginning of it.
    pub(crate) body: Vec<u8>,
}

impl Caller {
    /// `limit` is for an attempt from the first look-up to the end of the answer.
    pub(crate) fn new(leave: Leave, limit: Duration) -> Result<Caller> {
        let client = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .timeout(limit)
            .pool_max_idle_per_host(0)
            .dns_resolver(Arc::new(Guarded { leave }))
            .build()
            // Its text may name the address.
            .map_err(|_| Error::Client)?;
        Ok(Caller { client, limit })
    }

    /// What was answered, or the outcome where nobody did.
    pub(crate) async fn post(&self, url: Url, headers: HeaderMap, body: Vec<u8>) -> Result<Answer, Outcome> {
        // The client keeps the same limit; this one also holds when it does not.
        let late = Outcome::Unavailable { why: Trouble::TimedOut, retry_after: None };
        tokio::time::timeout(self.limit + Duration::from_secs(1), self.exchange(url, headers, body))
            .with_subscriber(NoSubscriber::default())
            .await
            .unwrap_or(Err(late))
    }

    async fn exchange(&self, url: Url, mut headers: HeaderMap, body: Vec<u8>) -> Result<Answer, Outcome> {
        let own = HeaderValue::from_static(concat!("holdfast/", env!("CARGO_PKG_VERSION")));
        headers.insert(USER_AGENT, own);
        let mut response = self
            .client
            .post(url)
            .headers(headers)
            .body(body)
            .send()
            .await
            .map_err(|e| Outcome::Unavailable { why: class(&e), retry_after: None })?;
        let (status, retry_after) = (response.status().as_u16(), retry_after(response.headers()));
        Ok(Answer { status, retry_after, body: beginning(&mut response).await })
    }
}

impl Answer {
    /// Only what says that this very message is at fault counts against it. Whatever else a receiver answers, or a
    /// proxy in its place, may be over in an hour: a page gone missing, a token run out, a wrong clock.
    pub(crate) fn outcome(&self) -> Outcome {
        let why = Trouble::Status(self.status);
        match self.status {
            200..=299 => Outcome::Delivered,
            400 | 413 | 415 | 422 => Outcome::Refused { why },
            _ => Outcome::Unavailable { why, retry_after: self.retry_after },
        }
    }

    /// The same where a receiver says in its answer that it has the message, so that a page that says yes to
    /// everything is not taken for it.
    pub(crate) fn outcome_if(&self, is_theirs: impl FnOnce(&[u8]) -> bool) -> Outcome {
        match self.outcome() {
            Outcome::Delivered if !is_theirs(&self.body) => {
                Outcome::Unavailable { why: Trouble::Answer, retry_after: None }
            }
            other => other,
        }
    }
}

/// Reads an address that a secret holds.
pub(crate) fn parse(address: &Secret) -> Result<Url> {
    read(address.expose())
}

pub(crate) fn read(address: &str) -> Result<Url> {
    Url::parse(address.trim()).map_err(|_| Error::Address { why: "it is not a URL" })
}

/// How an address may be called, or why not at all.
pub(crate) fn check(url: &Url, allow: &AllowHosts) -> Result<Leave> {
    let refused = |why| Err(Error::Address { why });
    let Some(host) = url.host_str().filter(|host| !host.is_empty()) else {
        return refused("it names no host");
    };
    if !url.username().is_empty() || url.password().is_some() {
        return refused("it holds a user name or a password");
    }
    let leave = Leave { allowed: allow.allows(host), plain: url.scheme() == "http" };
    match url.scheme() {
        "https" => {}
        "http" if leave.allowed => {}
        "http" => return refused("it is not https, and its host is not in allow_hosts"),
        _ => return refused("it is neither https nor http"),
    }
    // An address that stands in the URL itself is never resolved, so it is judged here.
    let literal: Option<IpAddr> = bare(host).parse().ok();
    match literal {
        Some(ip) if !leave.covers(ip) && leave.allowed => {
            refused("it leads where nobody may be called, or without encryption beyond the neighbourhood")
        }
        Some(ip) if !leave.covers(ip) => {
            refused("it leads to this machine or its neighbours, and its host is not in allow_hosts")
        }
        _ => Ok(leave),
    }
}

/// The addresses of a host, all of which may be called.
pub(crate) async fn resolved(host: &str, port: u16, leave: Leave) -> Result<Vec<SocketAddr>, Trouble> {
    let found = tokio::net::lookup_host((host, port)).await.map_err(|_| Trouble::Network)?;
    let found: Vec<SocketAddr> = found.take(ADDRESSES_MAX).collect();
    // One bad address among good ones is reason enough: a name that mixes them is set up to mislead.
    match found.iter().all(|address| leave.covers(address.ip())) {
        true => Ok(found),
        false => Err(Trouble::Destination),
    }
}

/// Reads a short answer to its end; a long one is left.
async fn beginning(response: &mut Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        let room = ANSWER_MAX - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() >= room {
            break;
        }
    }
    body
}

/// The pause a receiver asks for, in seconds. The form with a date is passed over: our own pause does.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Which kind of failure it was; its text is left unread, for it names the address.
fn class(e: &reqwest::Error) -> Trouble {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(e);
    while let Some(e) = cause {
        if e.is::<NotAllowed>() {
            return Trouble::Destination;
        }
        cause = e.source();
    }
    if e.is_timeout() { Trouble::TimedOut } else { Trouble::Network }
}

/// Resolves names and hands out only addresses that may be called.
#[derive(Debug)]
struct Guarded {
    leave: Leave,
}

#[derive(Debug, thiserror::Error)]
#[error("the name leads to an address that may not be called")]
struct NotAllowed;

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let leave = self.leave;
        Box::pin(async move {
            let found = resolved(name.as_str(), 0, leave).await;
            let found = found.map_err(|why| match why {
                Trouble::Destination => NotAllowed.into(),
                _ => Box::<dyn std::error::Error + Send + Sync>::from("the name could not be resolved"),
            })?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
