//! The webhook sink: one signed JSON POST per message. `call.rs` says how the address is kept secret.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use holdfast_credentials::Secret;
use holdfast_types::Clock;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use crate::call::{Caller, check, parse};
use crate::destination::AllowHosts;
use crate::error::Result;
use crate::message::Message;
use crate::sign::Signer;
use crate::sink::{Identity, Outcome, Sink, Trouble};

const LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Webhook {
    address: Secret,
    signer: Signer,
    caller: Caller,
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
        let caller = Caller::new(check(&parse(&address)?, &allow)?, limit)?;
        let identity = identity(&address, key, &allow, limit);
        Ok(Webhook { address, signer: Signer::new(key)?, caller, clock, identity })
    }

    async fn post(&self, message: &Message) -> Outcome {
        let seconds = self.clock.now().as_micros().div_euclid(1_000_000);
        let (Ok(url), Ok(body)) = (parse(&self.address), serde_json::to_vec(message)) else {
            return Outcome::Unavailable { why: Trouble::Destination, retry_after: None };
        };
        let Some(headers) = headers(&message.id, seconds, &self.signer.sign(&message.id, seconds, &body))
        else {
            return Outcome::Unavailable { why: Trouble::Destination, retry_after: None };
        };
        match self.caller.post(url, headers, body).await {
            Ok(answer) => answer.outcome(),
            Err(outcome) => outcome,
        }
    }
}

impl Sink for Webhook {
    fn send<'a>(&'a self, message: &'a Message) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        Box::pin(self.post(message))
    }

    fn identity(&self) -> Option<Identity> {
        Some(self.identity)
    }
}

fn headers(id: &str, seconds: i64, signature: &str) -> Option<HeaderMap> {
    let value = |text: &str| HeaderValue::from_str(text).ok();
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(HeaderName::from_static("webhook-id"), value(id)?);
    headers.insert(HeaderName::from_static("webhook-timestamp"), value(&seconds.to_string())?);
    headers.insert(HeaderName::from_static("webhook-signature"), value(signature)?);
    Some(headers)
}

fn identity(address: &Secret, key: &Secret, allow: &AllowHosts, limit: Duration) -> Identity {
    let limit = limit.as_micros().to_le_bytes();
    let own: [&[u8]; 4] = [b"webhook", address.expose().as_bytes(), key.expose().as_bytes(), &limit];
    Identity::of(own.into_iter().chain(allow.hosts().iter().map(String::as_bytes)))
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
