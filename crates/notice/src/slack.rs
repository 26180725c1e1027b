//! The Slack sink: an incoming webhook.
//!
//! Every text goes as plain text, with `&`, `<` and `>` escaped as Slack asks, so nothing of a notice can be markup, a link or
//! a call to people. The URL is the password and a secret.

use std::pin::Pin;
use std::time::Duration;

use holdfast_credentials::Secret;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::{Value, json};

use crate::call::{Caller, check, parse};
use crate::destination::AllowHosts;
use crate::error::Result;
use crate::message::Message;
use crate::sink::{Identity, Outcome, Sink, Trouble};
use crate::telling;
use crate::text::{fitted, unpinged};

/// Slack's limits: a block's text, a field's text, fields of a block.
const BLOCK_MAX: usize = 3_000;
const FIELD_MAX: usize = 2_000;
const FIELDS_MAX: usize = 10;
/// What is shown where blocks are not, such as on a phone's lock screen.
const SHORT_MAX: usize = 500;

#[derive(Debug)]
pub struct Slack {
    address: Secret,
    channel: Option<String>,
    caller: Caller,
    identity: Identity,
}

impl Slack {
    /// `address` must be https, or lead to one of `allow` that is near. `channel` is another one than the webhook's
    /// own, which older webhooks of Slack follow.
    pub fn new(address: Secret, channel: Option<&str>, allow: &AllowHosts, limit: Duration) -> Result<Slack> {
        let caller = Caller::new(check(&parse(&address)?, allow)?, limit)?;
        let (time, named) = (limit.as_micros().to_le_bytes(), channel.unwrap_or_default());
        let own: [&[u8]; 4] = [b"slack", address.expose().as_bytes(), named.as_bytes(), &time];
        let identity = Identity::of(own.into_iter().chain(allow.hosts().iter().map(String::as_bytes)));
        Ok(Slack { address, channel: channel.map(str::to_owned), caller, identity })
    }

    async fn post(&self, message: &Message) -> Outcome {
        let body = serde_json::to_vec(&payload(message, self.channel.as_deref()));
        let (Ok(url), Ok(body)) = (parse(&self.address), body) else {
            return Outcome::Unavailable { why: Trouble::Destination, retry_after: None };
        };
        let json = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        match self.caller.post(url, json, body).await {
            Ok(answer) => answer.outcome_if(|body| body.trim_ascii() == b"ok"),
            Err(outcome) => outcome,
        }
    }
}

impl Sink for Slack {
    fn send<'a>(&'a self, message: &'a Message) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        Box::pin(self.post(message))
    }

    fn identity(&self) -> Option<Identity> {
        Some(self.identity)
    }
}

/// The body of the request.
fn payload(message: &Message, channel: Option<&str>) -> Value {
    let title = telling::title(message);
    let mut blocks = vec![section(&format!("{title}\n{}", message.message))];
    let lines = telling::lines(message);
    if !lines.is_empty() {
        blocks.push(section(&lines.join("\n")));
    }
    let facts = telling::facts(message);
    for some in facts.chunks(FIELDS_MAX) {
        let fields: Vec<Value> =
            some.iter().map(|(name, value)| plain(&format!("{name}\n{value}"), FIELD_MAX)).collect();
        blocks.push(json!({"type": "section", "fields": fields}));
    }
    blocks.push(json!({"type": "context", "elements": [plain(&telling::next(message), FIELD_MAX)]}));
    let mut body = json!({
        "text": escaped(&format!("{title}: {}", message.message), SHORT_MAX),
        "mrkdwn": false,
        "blocks": blocks,
        "unfurl_links": false,
        "unfurl_media": false,
    });
    if let Some(channel) = channel {
        body["channel"] = channel.into();
    }
    body
}

fn section(text: &str) -> Value {
    json!({"type": "section", "text": plain(text, BLOCK_MAX)})
}

/// A text in which nothing means anything.
fn plain(text: &str, max: usize) -> Value {
    json!({"type": "plain_text", "emoji": false, "text": escaped(text, max)})
}

fn escaped(text: &str, max: usize) -> String {
    fitted(&unpinged(text), max, |c| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        c => c.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // shows: HRD-093, HRD-F56
    #[test]
    fn nothing_in_a_notice_is_markup_or_calls_people_and_everything_fits() {
        for filling in ["x", "<", "&", "🚨", "@everyone ", "*_`~"] {
            let mut message = Message::bare(&filling.repeat(4_000));
            message.context =
                (0..40).map(|n| (format!("{n}{filling}"), filling.repeat(3_000).into())).collect();
            let body = payload(&message, None);
            let units = |text: &Value| text["text"].as_str().unwrap().encode_utf16().count();
            for block in body["blocks"].as_array().unwrap() {
                assert!(
                    block
                        .get("text")
                        .is_none_or(|text| units(text) <= BLOCK_MAX && text["type"] == "plain_text")
                );
                let fields = block.get("fields").and_then(Value::as_array).into_iter().flatten();
                assert!(fields.clone().count() <= FIELDS_MAX);
                assert!(fields.into_iter().all(|text| (1..=FIELD_MAX).contains(&units(text))));
            }
            assert!(body["blocks"].as_array().unwrap().len() <= 50);
        }
        let body =
            payload(&Message::bare("<!channel> <@U1> <https://a|b> @here & @channel"), None).to_string();
        for part in ["<!channel", "<@U1", "<https", "@here", "@channel"] {
            assert!(!body.contains(part), "{part} in {body}");
        }
    }
}
