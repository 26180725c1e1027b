//! The webhook sink: one signed JSON POST per message.
//!
//! The address is a secret (it often carries a token) and appears nowhere: not in a debug form, not in an error,
//! not in a log. The libraries that make the call would log the host, so it runs where nobody listens to them; and a
//! connection is not kept, for a kept one is looked after (and talked about) in the background. Names are resolved here and the very addresses that were judged are the ones connected to, so
//! a name server cannot answer differently the second time.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use holdfast_credentials::Secret;
use holdfast_types::Clock;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER, USER_AGENT};
use reqwest::{Client, Response, Url};
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

use crate::destination::{AllowHosts, Leave, bare};
use crate::error::{Error, Result};
use crate::message::Message;
use crate::sign::Signer;
use crate::sink::{Identity, Outcome, Sink, Trouble};

/// An attempt from the first look-up to the end of the answer.
const LIMIT: Duration = Duration::from_secs(10);
/// As much of an answer is read as a polite receiver sends; it is thrown away.
const ANSWER_MAX: usize = 4 * 1024;
const ADDRESSES_MAX: usize = 16;

#[derive(Debug)]
pub struct Webhook {
    address: Secret,
    signer: Signer,
    client: Client,
    limit: Duration,
    clock: Arc<dyn Clock>,
    identity: Identity,
}

impl Webhook {
    /// `address` must be https, or lead to one of `allow` that is near.
    pub fn new(address: Secret, key: &Secret, allow: AllowHosts, clock: Arc<dyn Clock>) -> Result<Webhook> {
        Webhook::with_limit(address, key, allow, clock, LIMIT)
    }

    /// The same with another time limit for an attempt.
    pub fn with_limit(
        address: Secret,
        key: &Secret,
        allow: AllowHosts,
        clock: Arc<dyn Clock>,
        limit: Duration,
    ) -> Result<Webhook> {
        let leave = check(&parse(&address)?, &allow)?;
        let identity = identity(&address, key, &allow, limit);
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
        Ok(Webhook { address, signer: Signer::new(key)?, client, limit, clock, identity })
    }

    async fn post(&self, message: &Message) -> Outcome {
        let (Ok(url), Ok(body)) = (parse(&self.address), serde_json::to_vec(message)) else {
            return Outcome::Unavailable { why: Trouble::Destination, retry_after: None };
        };
        let seconds = self.clock.now().as_micros().div_euclid(1_000_000);
        let request = self
            .client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, concat!("holdfast/", env!("CARGO_PKG_VERSION")))
            .header("webhook-id", &message.id)
            .header("webhook-timestamp", seconds.to_string())
            .header("webhook-signature", self.signer.sign(&message.id, seconds, &body))
            .body(body);
        match request.send().await {
            Ok(response) => answered(response).await,
            Err(e) => Outcome::Unavailable { why: class(&e), retry_after: None },
        }
    }
}

impl Sink for Webhook {
    fn send<'a>(&'a self, message: &'a Message) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        Box::pin(async move {
            // The client keeps the same limit; this one also holds when it does not.
            let late = Outcome::Unavailable { why: Trouble::TimedOut, retry_after: None };
            tokio::time::timeout(self.limit + Duration::from_secs(1), self.post(message))
                .with_subscriber(NoSubscriber::default())
                .await
                .unwrap_or(late)
        })
    }

    fn identity(&self) -> Option<Identity> {
        Some(self.identity)
    }
}

fn identity(address: &Secret, key: &Secret, allow: &AllowHosts, limit: Duration) -> Identity {
    let limit = limit.as_micros().to_le_bytes();
    let own: [&[u8]; 4] = [b"webhook", address.expose().as_bytes(), key.expose().as_bytes(), &limit];
    Identity::of(own.into_iter().chain(allow.hosts().iter().map(String::as_bytes)))
}

fn parse(address: &Secret) -> Result<Url> {
    Url::parse(address.expose()).map_err(|_| Error::Address { why: "it is not a URL" })
}

fn check(url: &Url, allow: &AllowHosts) -> Result<Leave> {
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
            refused("it leads where no webhook may go, or without encryption beyond the neighbourhood")
        }
        Some(ip) if !leave.covers(ip) => {
            refused("it leads to this machine or its neighbours, and its host is not in allow_hosts")
        }
        _ => Ok(leave),
    }
}

/// Only what says that this very message is at fault counts against it. Whatever else a receiver answers, or a
/// proxy in its place, may be over in an hour: a page gone missing, a token run out, a wrong clock.
async fn answered(mut response: Response) -> Outcome {
    let (status, retry_after) = (response.status(), retry_after(response.headers()));
    drain(&mut response).await;
    let why = Trouble::Status(status.as_u16());
    match status.as_u16() {
        200..=299 => Outcome::Delivered,
        400 | 413 | 415 | 422 => Outcome::Refused { why },
        _ => Outcome::Unavailable { why, retry_after },
    }
}

/// Reads a short answer to its end so that the connection can serve the next message; a long one is left.
async fn drain(response: &mut Response) {
    let mut read = 0;
    while let Ok(Some(piece)) = response.chunk().await {
        read += piece.len();
        if read > ANSWER_MAX {
            return;
        }
    }
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
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.take(ADDRESSES_MAX).collect();
            // One bad address among good ones is reason enough: a name that mixes them is set up to mislead.
            if !found.iter().all(|address| leave.covers(address.ip())) {
                return Err(NotAllowed.into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(address: &str, allow: &[&str]) -> Result<Webhook> {
        let secret = |text: &str| Secret::new(text.into()).unwrap();
        let clock = Arc::new(holdfast_journal::SystemClock::new());
        Webhook::new(secret(address), &secret("a key of sixteen bytes"), AllowHosts::new(allow), clock)
    }

    // shows: HRD-F57
    #[test]
    fn an_address_is_https_and_public_or_explicitly_allowed() {
        for (address, allow, ok) in [
            ("https://hooks.example.org/T0K3N", &[][..], true),
            ("https://8.8.8.8/T0K3N", &[], true),
            ("http://hooks.example.org/T0K3N", &[], false),
            ("http://hooks.lan/T0K3N", &["hooks.lan"], true),
            ("https://127.0.0.1/T0K3N", &[], false),
            ("https://127.0.0.1/T0K3N", &["127.0.0.1"], true),
            ("https://2130706433/T0K3N", &[], false),
            ("https://0x7f.1/T0K3N", &[], false),
            ("https://[::1]/T0K3N", &[], false),
            ("https://[::1]/T0K3N", &["::1"], true),
            ("https://[::ffff:169.254.169.254]/T0K3N", &[], false),
            ("https://169.254.169.254/T0K3N", &["169.254.169.254"], false),
            ("http://[fe80::1]/T0K3N", &["fe80::1"], false),
            ("http://8.8.8.8/T0K3N", &["8.8.8.8"], false),
            ("https://8.8.8.8/T0K3N", &["8.8.8.8"], true),
            ("http://192.168.1.9/T0K3N", &["192.168.1.9"], true),
            // holdfast: allow password_in_url — a marker, looked for in what is printed
            ("https://user:T0K3N@hooks.example.org/", &[], false),
            ("ftp://hooks.example.org/T0K3N", &["hooks.example.org"], false),
            ("file:///T0K3N", &[], false),
            ("T0K3N", &[], false),
        ] {
            let made = made(address, allow);
            assert_eq!(made.is_ok(), ok, "{address}");
            let said = format!("{made:?} {:?}", made.as_ref().err().map(|e| (e.to_string(), e.problem())));
            assert!(!said.contains("T0K3N") && !said.contains("sixteen"), "{said}");
        }
    }
}
