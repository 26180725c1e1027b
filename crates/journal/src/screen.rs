//! The port every text passes on its way into the log, and a small screen to begin with.
//!
//! [`Journal::open`](crate::Journal::open) cannot be called without a [`Screen`], and what is appended is
//! made into a [`Screened`] body by that screen and nowhere else: its constructor is private to this module.
//! So nothing unscreened can be written, whoever wrote the calling code.

use std::fmt;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::{Map, Value};

/// What a screen says about one piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing in it; store it as it is.
    Clean,
    /// Store this instead.
    Redacted(String),
    /// Store nothing. The reason never quotes the text.
    Blocked { reason: &'static str },
}

/// Looks at text before it is stored.
pub trait Screen: Send + Sync + fmt::Debug {
    fn screen(&self, text: &str) -> Verdict;
}

/// The screen refused the text; nothing was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text was refused: {reason}")]
pub struct Blocked {
    pub reason: &'static str,
}

/// A body that has passed the screen, with how many places were redacted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Screened {
    pub(crate) json: String,
    pub(crate) redactions: u32,
}

impl Screened {
    /// Screens every string of a JSON body, the names of its fields included.
    pub(crate) fn body(screen: &dyn Screen, body: &Map<String, Value>) -> Result<Screened, Blocked> {
        let mut redactions = 0;
        let clean = screen_fields(screen, body, &mut redactions)?;
        // A map of plain values always serialises.
        let json = serde_json::to_string(clean.as_ref().unwrap_or(body)).unwrap_or_default();
        Ok(Screened { json, redactions })
    }

    /// Screens a text that will be stored as it is or not at all, such as a name in the envelope.
    pub(crate) fn exact(screen: &dyn Screen, text: &str) -> Result<(), Blocked> {
        match screen.screen(text) {
            Verdict::Clean => Ok(()),
            Verdict::Redacted(_) => Err(Blocked { reason: "a name in the envelope looks like a secret" }),
            Verdict::Blocked { reason } => Err(Blocked { reason }),
        }
    }

    /// Screens the text of a blob. Bytes that are not text are screened as far as they read as text.
    pub(crate) fn blob(screen: &dyn Screen, bytes: &[u8]) -> Result<Option<Vec<u8>>, Blocked> {
        let text = String::from_utf8_lossy(bytes);
        match screen.screen(&text) {
            Verdict::Clean => Ok(None),
            Verdict::Redacted(clean) => Ok(Some(clean.into_bytes())),
            Verdict::Blocked { reason } => Err(Blocked { reason }),
        }
    }
}

/// The screened form of a value, or `None` when nothing in it had to change (the usual case copies nothing).
fn screen_value(screen: &dyn Screen, value: &Value, redactions: &mut u32) -> Result<Option<Value>, Blocked> {
    match value {
        Value::String(text) => Ok(screen_text(screen, text, redactions)?.map(Value::String)),
        Value::Array(items) => {
            let screened = items.iter().map(|v| screen_value(screen, v, redactions));
            let screened = screened.collect::<Result<Vec<_>, _>>()?;
            if screened.iter().all(Option::is_none) {
                return Ok(None);
            }
            let merged = screened.into_iter().zip(items).map(|(new, old)| new.unwrap_or_else(|| old.clone()));
            Ok(Some(Value::Array(merged.collect())))
        }
        Value::Object(fields) => Ok(screen_fields(screen, fields, redactions)?.map(Value::Object)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(None),
    }
}

fn screen_fields(
    screen: &dyn Screen,
    fields: &Map<String, Value>,
    redactions: &mut u32,
) -> Result<Option<Map<String, Value>>, Blocked> {
    let screened = fields.iter().map(|(name, old)| {
        Ok((screen_text(screen, name, redactions)?, screen_value(screen, old, redactions)?))
    });
    let screened = screened.collect::<Result<Vec<_>, Blocked>>()?;
    if screened.iter().all(|(name, value)| name.is_none() && value.is_none()) {
        return Ok(None);
    }
    let merged = screened.into_iter().zip(fields).map(|((new_name, new), (name, old))| {
        (new_name.unwrap_or_else(|| name.clone()), new.unwrap_or_else(|| old.clone()))
    });
    Ok(Some(merged.collect()))
}

fn screen_text(screen: &dyn Screen, text: &str, redactions: &mut u32) -> Result<Option<String>, Blocked> {
    match screen.screen(text) {
        Verdict::Clean => Ok(None),
        Verdict::Redacted(clean) => {
            *redactions += 1;
            Ok(Some(clean))
        }
        Verdict::Blocked { reason } => Err(Blocked { reason }),
    }
}

/// The screen to begin with: private key blocks are refused, tokens with a well-known beginning are
/// replaced. It knows nothing of key names, entropy or personal data.
#[derive(Debug)]
pub struct KnownSecrets {
    finder: AhoCorasick,
}

/// Beginnings of private key blocks. Such text is refused whole: cutting a key out of the middle of a
/// document leaves too much of it behind when the cut is off by a line.
const KEY_BLOCKS: &[&str] = &[
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN ENCRYPTED PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----BEGIN DSA PRIVATE KEY-----",
    "-----BEGIN EC PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----",
    "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----",
    "PuTTY-User-Key-File-",
    "AGE-SECRET-KEY-1",
    "AGE-PLUGIN-",
    "ed25519-seed:",
];

/// Token beginnings, how many token characters must follow before we believe it, and what to call it.
const TOKENS: &[(&str, usize, &str)] = &[
    ("ghp_", 30, "github-token"),
    ("gho_", 30, "github-token"),
    ("ghu_", 30, "github-token"),
    ("ghs_", 30, "github-token"),
    ("ghr_", 30, "github-token"),
    ("github_pat_", 30, "github-token"),
    ("glpat-", 18, "gitlab-token"),
    ("sk-ant-", 24, "anthropic-key"),
    ("sk-proj-", 24, "openai-key"),
    ("sk-", 32, "api-key"),
    ("sk_live_", 16, "stripe-key"),
    ("rk_live_", 16, "stripe-key"),
    ("xoxb-", 16, "slack-token"),
    ("xoxp-", 16, "slack-token"),
    ("xoxa-", 16, "slack-token"),
    ("xapp-", 16, "slack-token"),
    ("AKIA", 16, "aws-key-id"),
    ("ASIA", 16, "aws-key-id"),
    ("AIza", 30, "google-key"),
    ("ya29.", 20, "google-token"),
    ("npm_", 30, "npm-token"),
    ("pypi-", 30, "pypi-token"),
    ("hf_", 30, "huggingface-token"),
    ("dop_v1_", 40, "digitalocean-token"),
    ("SG.", 40, "sendgrid-key"),
    ("eyJhbGciOi", 40, "json-web-token"),
    ("tskey-", 16, "tailscale-key"),
    ("hvs.", 24, "vault-token"),
];

impl KnownSecrets {
    pub fn new() -> Self {
        let needles = KEY_BLOCKS.iter().copied().chain(TOKENS.iter().map(|(prefix, ..)| *prefix));
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(needles)
            .expect("a fixed list of short needles always builds");
        KnownSecrets { finder }
    }
}

impl Default for KnownSecrets {
    fn default() -> Self {
        Self::new()
    }
}

impl Screen for KnownSecrets {
    fn screen(&self, text: &str) -> Verdict {
        let mut out = String::new();
        let mut copied = 0;
        for found in self.finder.find_iter(text) {
            let Some((_, min, name)) =
                found.pattern().as_usize().checked_sub(KEY_BLOCKS.len()).map(|i| TOKENS[i])
            else {
                return Verdict::Blocked { reason: "it holds a private key" };
            };
            if found.start() < copied || follows_a_word(text, found.start()) {
                continue;
            }
            let end = found.end() + token_len(&text[found.end()..]);
            if end - found.end() < min {
                continue;
            }
            out.push_str(&text[copied..found.start()]);
            out.push_str("[redacted:");
            out.push_str(name);
            out.push(']');
            copied = end;
        }
        if copied == 0 {
            return Verdict::Clean;
        }
        out.push_str(&text[copied..]);
        Verdict::Redacted(out)
    }
}

/// A token starts a word: `task-force` holds no `sk-` key.
fn follows_a_word(text: &str, at: usize) -> bool {
    text[..at].bytes().next_back().is_some_and(|b| b.is_ascii_alphanumeric())
}

fn token_len(text: &str) -> usize {
    let part_of_token = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    text.bytes().position(|b| !part_of_token(b)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(text: &str, expected: Verdict) {
        assert_eq!(KnownSecrets::new().screen(text), expected, "{text}");
    }

    /// Built here so that no token-shaped text stands in the tree.
    fn token(prefix: &str, len: usize) -> String {
        format!("{prefix}{}", "Ab3".repeat(len).chars().take(len).collect::<String>())
    }

    #[test]
    fn tokens_are_replaced_where_they_stand() {
        let text = format!("use {} or {}.", token("ghp_", 36), token("sk-ant-", 40));
        // The full stop is a token character, so it goes with the token: better one too many.
        check(&text, Verdict::Redacted("use [redacted:github-token] or [redacted:anthropic-key]".into()));
    }

    #[test]
    fn ordinary_words_are_left_alone() {
        for text in [
            "",
            "the task-force met",
            "sk-",
            "ghp_short",
            "AKIA is a prefix",
            "risk-averse-and-more-so-every-day-of-the-week",
        ] {
            check(text, Verdict::Clean);
        }
    }

    #[test]
    fn a_private_key_is_refused_whole_without_being_quoted() {
        let block = format!("-----BEGIN {} PRIVATE KEY-----\nMIIE", "RSA");
        check(&block, Verdict::Blocked { reason: "it holds a private key" });
    }

    #[test]
    fn every_string_of_a_body_is_screened_however_deep() {
        let secret = token("glpat-", 20);
        let body = json!({"a": [{"b": secret.clone()}, 7], secret.clone(): null, "ok": "text"});
        let screened = Screened::body(&KnownSecrets::new(), body.as_object().unwrap()).unwrap();
        assert!(!screened.json.contains(&secret));
        assert_eq!(screened.redactions, 2);
        assert!(screened.json.contains("\"ok\":\"text\""));
    }

    #[test]
    fn a_clean_body_comes_through_unchanged() {
        let body = json!({"n": 1.5, "list": [true, null, "x"], "o": {"k": "v"}});
        let screened = Screened::body(&KnownSecrets::new(), body.as_object().unwrap()).unwrap();
        assert_eq!(screened.json, body.to_string());
        assert_eq!(screened.redactions, 0);
    }
}
