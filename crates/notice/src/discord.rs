//! The Discord sink: a channel's webhook.
//!
//! Discord reads Markdown in every text of an embed, so whatever could be markup is escaped; no mention is allowed whatever
//! stands in the text. The URL is the password and a secret.

use std::pin::Pin;
use std::time::Duration;

use holdfast_credentials::Secret;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::call::{Answer, Caller, check, parse};
use crate::destination::AllowHosts;
use crate::error::Result;
use crate::message::Message;
use crate::notice::Severity;
use crate::sink::{Identity, Outcome, Sink, Trouble};
use crate::telling;
use crate::text::{fitted, unpinged};

/// Discord's limits: content, title, description, a field's name and value, fields, footer, and all texts together.
const CONTENT_MAX: usize = 2_000;
const TITLE_MAX: usize = 256;
const DESCRIPTION_MAX: usize = 4_096;
const NAME_MAX: usize = 256;
const VALUE_MAX: usize = 1_024;
const FIELDS_MAX: usize = 25;
const FOOTER_MAX: usize = 500;
const TOGETHER_MAX: usize = 6_000;

#[derive(Debug)]
pub struct Discord {
    address: Secret,
    caller: Caller,
    identity: Identity,
}

impl Discord {
    /// `address` must be https, or lead to one of `allow` that is near.
    pub fn new(address: Secret, allow: &AllowHosts, limit: Duration) -> Result<Discord> {
        let caller = Caller::new(check(&parse(&address)?, allow)?, limit)?;
        let time = limit.as_micros().to_le_bytes();
        let own: [&[u8]; 3] = [b"discord", address.expose().as_bytes(), &time];
        let identity = Identity::of(own.into_iter().chain(allow.hosts().iter().map(String::as_bytes)));
        Ok(Discord { address, caller, identity })
    }

    async fn post(&self, message: &Message) -> Outcome {
        let (Ok(url), Ok(body)) = (parse(&self.address), serde_json::to_vec(&payload(message))) else {
            return Outcome::Unavailable { why: Trouble::Destination, retry_after: None };
        };
        let json = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        match self.caller.post(url, json, body).await {
            Ok(answer) => judged(&answer),
            Err(outcome) => outcome,
        }
    }
}

impl Sink for Discord {
    fn send<'a>(&'a self, message: &'a Message) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        Box::pin(self.post(message))
    }

    fn identity(&self) -> Option<Identity> {
        Some(self.identity)
    }
}

/// 204 without a body, or 200 with the message where the address asks for it (`?wait=true`). The pause it wants stands in
/// the body, finer than in the header.
fn judged(answer: &Answer) -> Outcome {
    #[derive(Deserialize)]
    struct Limited {
        retry_after: f64,
    }
    let theirs = |body: &[u8]| {
        answer.status == 204 || serde_json::from_slice::<Value>(body).is_ok_and(|body| body["id"].is_string())
    };
    match answer.outcome_if(theirs) {
        Outcome::Unavailable { why, retry_after } => {
            let said = serde_json::from_slice::<Limited>(&answer.body).ok();
            let said = said.and_then(|limited| Duration::try_from_secs_f64(limited.retry_after).ok());
            Outcome::Unavailable { why, retry_after: said.max(retry_after) }
        }
        other => other,
    }
}

/// The body of the request.
fn payload(message: &Message) -> Value {
    let severity = message.severity;
    let title = format!("{} {}", severity.icon(), severity.word());
    let mut description = escaped(&message.message, DESCRIPTION_MAX);
    for line in telling::lines(message) {
        let room = DESCRIPTION_MAX.saturating_sub(units(&description) + 1);
        if room < 40 {
            break;
        }
        description = format!("{description}\n{}", escaped(&line, room));
    }
    let footer = fitted(&unpinged(&telling::next(message)), FOOTER_MAX, |c| c.to_string());
    let used = units(&title) + units(&description) + units(&footer);
    json!({
        "content": escaped(&telling::title(message), CONTENT_MAX),
        "allowed_mentions": {"parse": []},
        "embeds": [{
            "title": escaped(&title, TITLE_MAX),
            "description": description,
            "color": colour(severity),
            "timestamp": message.timestamp.to_string(),
            "fields": fields(message, TOGETHER_MAX.saturating_sub(used)),
            "footer": {"text": footer},
        }],
    })
}

/// The facts, as long as there is room. Discord refuses an embed with an empty text in it.
fn fields(message: &Message, mut room: usize) -> Vec<Value> {
    let filled = |text: String| if text.trim().is_empty() { "–".to_owned() } else { text };
    let mut fields = Vec::new();
    for (name, value) in telling::facts(message).into_iter().take(FIELDS_MAX) {
        let (name, value) = (filled(escaped(&name, NAME_MAX)), filled(escaped(&value, VALUE_MAX)));
        let Some(left) = room.checked_sub(units(&name) + units(&value)) else { break };
        room = left;
        fields.push(json!({"name": name, "value": value, "inline": true}));
    }
    fields
}

const fn colour(severity: Severity) -> u32 {
    match severity {
        Severity::Critical => 0xff_0000,
        Severity::Warning => 0xff_aa00,
        Severity::Info => 0x00_aaff,
    }
}

fn escaped(text: &str, max: usize) -> String {
    fitted(&unpinged(text), max, |c| match c {
        '\\' | '*' | '_' | '~' | '`' | '|' | '>' | '<' | '[' | ']' | '(' | ')' | '#' | '-' | ':' => {
            format!("\\{c}")
        }
        c => c.to_string(),
    })
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_texts(value: &Value) -> usize {
        let embed = &value["embeds"][0];
        let of = |value: &Value| units(value.as_str().unwrap());
        let fields = embed["fields"].as_array().unwrap();
        of(&embed["title"])
            + of(&embed["description"])
            + of(&embed["footer"]["text"])
            + fields.iter().map(|field| of(&field["name"]) + of(&field["value"])).sum::<usize>()
    }

    // shows: HRD-093, HRD-F56
    #[test]
    fn nothing_in_a_notice_is_markup_or_calls_people_and_everything_fits() {
        for filling in ["x", "*", "🚨", "@everyone ", "\\", ""] {
            let mut message = Message::bare(&filling.repeat(4_000));
            message.context =
                (0..40).map(|n| (format!("{n}{filling}"), filling.repeat(3_000).into())).collect();
            let body = payload(&message);
            let embed = &body["embeds"][0];
            assert!(all_texts(&body) <= TOGETHER_MAX, "{filling}");
            assert!(units(embed["description"].as_str().unwrap()) <= DESCRIPTION_MAX);
            for field in embed["fields"].as_array().unwrap() {
                let (name, value) = (field["name"].as_str().unwrap(), field["value"].as_str().unwrap());
                assert!((1..=NAME_MAX).contains(&units(name)) && (1..=VALUE_MAX).contains(&units(value)));
                // What ends in half an escape would swallow what comes after it.
                let backslashes =
                    value.trim_end_matches('…').chars().rev().take_while(|c| *c == '\\').count();
                assert_eq!(backslashes % 2, 0, "{value}");
            }
        }
        let text = "@everyone <@&12> <@34> [a](https://b) **c** `d` ||e|| # f";
        let body = payload(&Message::bare(text));
        let said = body["embeds"][0]["description"].as_str().unwrap();
        assert_eq!(
            said,
            "@\u{200b}everyone \\<@&12\\> \\<@\u{200b}34\\> \\[a\\]\\(https\\://b\\) \\*\\*c\\*\\* \\`d\\` \\|\\|e\\|\\| \\# f"
        );
        assert_eq!(body["allowed_mentions"], json!({"parse": []}));
    }

    #[test]
    fn a_digest_of_the_longest_lines_fits() {
        let mut message = Message::bare("20 notices waited until the quiet hours were over.");
        message.digest = (0..20)
            .map(|_| crate::DigestLine {
                timestamp: message.timestamp,
                severity: Severity::Warning,
                message: "*".repeat(200),
                count: 3,
            })
            .collect();
        assert!(all_texts(&payload(&message)) <= TOGETHER_MAX);
    }

    #[test]
    fn the_pause_is_the_longer_of_the_two_it_names() {
        let answer = |status, header: Option<u64>, body: &str| Answer {
            status,
            retry_after: header.map(Duration::from_secs),
            body: body.into(),
        };
        let later = |status, millis: Option<u64>| Outcome::Unavailable {
            why: Trouble::Status(status),
            retry_after: millis.map(Duration::from_millis),
        };
        for (given, expected) in [
            (answer(204, None, ""), Outcome::Delivered),
            (answer(200, None, r#"{"id":"1"}"#), Outcome::Delivered),
            (
                answer(200, None, "<html>welcome to the hotel</html>"),
                Outcome::Unavailable { why: Trouble::Answer, retry_after: None },
            ),
            (answer(429, Some(1), r#"{"retry_after":2.5,"global":false}"#), later(429, Some(2_500))),
            (answer(429, Some(3), r#"{"retry_after":0.2}"#), later(429, Some(3_000))),
            (answer(429, None, r#"{"retry_after":-1}"#), later(429, None)),
            (answer(429, None, r#"{"retry_after":1e300}"#), later(429, None)),
            (answer(500, None, ""), later(500, None)),
            (answer(400, None, "{}"), Outcome::Refused { why: Trouble::Status(400) }),
        ] {
            assert_eq!(judged(&given), expected, "{given:?}");
        }
    }
}
