//! The ntfy sink: a topic on ntfy.sh or on a server of one's own.
//!
//! The text is plain text, which ntfy shows as it is. Whoever knows a topic can read it and write to it, so its name is a
//! secret, as is the token; the server is not, and stands in the settings.

use std::pin::Pin;
use std::time::Duration;

use holdfast_credentials::Secret;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::call::{Caller, check, read};
use crate::destination::AllowHosts;
use crate::error::{Error, Result};
use crate::message::Message;
use crate::notice::Severity;
use crate::sink::{Identity, Outcome, Sink, Trouble};
use crate::telling;
use crate::text::cut_bytes;

/// A longer text becomes a file that has to be opened.
const TEXT_MAX: usize = 4_096;
const TITLE_MAX: usize = 200;
const TOPIC_MAX: usize = 64;

#[derive(Debug)]
pub struct Ntfy {
    server: Url,
    topic: Secret,
    token: Option<Secret>,
    caller: Caller,
    identity: Identity,
}

impl Ntfy {
    /// `server` is https, or near. That it is named in the settings is leave enough to call it.
    pub fn new(server: &str, topic: Secret, token: Option<Secret>, limit: Duration) -> Result<Ntfy> {
        let server = read(server)?;
        let allow = AllowHosts::new(server.host_str());
        let caller = Caller::new(check(&server, &allow)?, limit)?;
        let is_sign = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if topic.expose().len() > TOPIC_MAX || !topic.expose().bytes().all(is_sign) {
            return Err(Error::Address { why: "the name of a topic is 1 to 64 letters, digits, _ and -" });
        }
        if token.as_ref().is_some_and(|token| HeaderValue::from_str(token.expose()).is_err()) {
            return Err(Error::Login { why: "the token has a character that no token has" });
        }
        let time = limit.as_micros().to_le_bytes();
        let secret = token.as_ref().map(Secret::expose).unwrap_or_default();
        let own: [&[u8]; 5] =
            [b"ntfy", server.as_str().as_bytes(), topic.expose().as_bytes(), secret.as_bytes(), &time];
        Ok(Ntfy { identity: Identity::of(own), server, topic, token, caller })
    }

    async fn post(&self, message: &Message) -> Outcome {
        let (Some(url), Some(headers)) = (self.address(), self.headers(message)) else {
            return Outcome::Unavailable { why: Trouble::Destination, retry_after: None };
        };
        match self.caller.post(url, headers, text(message).into_bytes()).await {
            Ok(answer) => answer.outcome_if(|body| {
                serde_json::from_slice::<Value>(body).is_ok_and(|body| body["event"] == "message")
            }),
            Err(outcome) => outcome,
        }
    }

    fn address(&self) -> Option<Url> {
        let mut url = self.server.clone();
        url.path_segments_mut().ok()?.pop_if_empty().push(self.topic.expose());
        Some(url)
    }

    fn headers(&self, message: &Message) -> Option<HeaderMap> {
        let value = |text: &str| HeaderValue::from_str(text).ok();
        let (priority, tag) = match message.severity {
            Severity::Info => ("2", "information_source"),
            Severity::Warning => ("4", "warning"),
            Severity::Critical => ("5", "rotating_light"),
        };
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert(HeaderName::from_static("title"), value(&title(message))?);
        headers.insert(HeaderName::from_static("priority"), HeaderValue::from_static(priority));
        headers.insert(HeaderName::from_static("tags"), HeaderValue::from_static(tag));
        if let Some(token) = &self.token {
            let mut bearer = value(&format!("Bearer {}", token.expose()))?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        Some(headers)
    }
}

impl Sink for Ntfy {
    fn send<'a>(&'a self, message: &'a Message) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        Box::pin(self.post(message))
    }

    fn identity(&self) -> Option<Identity> {
        Some(self.identity)
    }
}

/// In a header there is room for visible ASCII; the sign is the tag.
fn title(message: &Message) -> String {
    let title = format!("{} on {}", message.severity.word(), message.source);
    title.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).take(TITLE_MAX).collect()
}

/// What to do next stands last and is never what is cut away.
fn text(message: &Message) -> String {
    let mut lines = vec![message.message.clone()];
    lines.extend(telling::lines(message));
    lines.extend(telling::facts(message).into_iter().map(|(name, value)| format!("{name}: {value}")));
    let next = telling::next(message);
    let body = cut_bytes(&lines.join("\n"), TEXT_MAX.saturating_sub(next.len() + 2));
    format!("{body}\n\n{next}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(server: &str, topic: &str, token: Option<&str>) -> Result<Ntfy> {
        let secret = |text: &str| Secret::new(text.into()).unwrap();
        Ntfy::new(server, secret(topic), token.map(secret), Duration::from_secs(1))
    }

    #[test]
    fn a_topic_stays_one_and_the_server_is_encrypted_or_near() {
        for (server, topic, token, ok) in [
            ("https://ntfy.sh", "T0P1C", None, true),
            ("https://ntfy.sh/", "T0P1C", Some("tk_T0K3N"), true),
            ("http://192.168.1.9:8080", "T0P1C", None, true),
            ("https://127.0.0.1", "T0P1C", None, true),
            ("http://8.8.8.8", "T0P1C", None, false),
            ("https://169.254.169.254", "T0P1C", None, false),
            ("ntfy.sh", "T0P1C", None, false),
            ("https://ntfy.sh", "T0P1C/../x", None, false),
            ("https://ntfy.sh", "T0P1C?x", None, false),
            ("https://ntfy.sh", "T0P1C x", None, false),
            ("https://ntfy.sh", "T0P1C", Some("T0K3N\r\nx: y"), false),
        ] {
            let made = made(server, topic, token);
            assert_eq!(made.is_ok(), ok, "{server} {topic} {token:?}");
            let said = format!("{made:?} {:?}", made.as_ref().err().map(|e| (e.to_string(), e.problem())));
            assert!(!said.contains("T0P1C") && !said.contains("T0K3N"), "{said}");
        }
        let below = made("https://push.example.org/ntfy/", "a", None).unwrap();
        assert_eq!(below.address().unwrap().as_str(), "https://push.example.org/ntfy/a");
    }

    // shows: HRD-093
    #[test]
    fn a_text_fits_and_says_what_to_do_last() {
        for filling in ["x", "日", "🚨"] {
            let text = text(&Message { source: "web-1".into(), ..Message::bare(&filling.repeat(9_000)) });
            assert!(text.len() <= TEXT_MAX && text.len() > TEXT_MAX - 8, "{}", text.len());
            assert!(text.ends_with("run `holdfast status` on web-1; it says what needs you."), "{text}");
        }
        let odd = Message { source: "wéb\r\nx: y".into(), ..Message::bare("x") };
        assert_eq!(title(&odd), "WARNING on w?b??x: y");
    }
}
