//! The port every text passes on its way into the log.
//!
//! [`Journal::open`](crate::Journal::open) cannot be called without a [`Screen`], and what is appended is
//! made into a [`Screened`] body by that screen and nowhere else: its constructor is private to this module.
//! So nothing unscreened can be written, whoever wrote the calling code. What a screen looks for is its own matter; the
//! journal knows only its verdict.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value};

/// What a screen says about one piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing in it; store it as it is.
    Clean,
    /// Store this instead.
    Redacted(String),
    /// Store nothing. The reason never quotes the text.
    Blocked { reason: Cow<'static, str> },
}

/// Looks at text before it is stored.
pub trait Screen: Send + Sync + fmt::Debug {
    fn screen(&self, text: &str) -> Verdict;

    /// The same for the value of a field, whose name may say more about it than it does itself.
    fn screen_named(&self, name: &str, text: &str) -> Verdict {
        let _ = name;
        self.screen(text)
    }

    /// The same for a name in the envelope: who did it, under which key. It is stored as it is or not at all.
    fn screen_envelope(&self, name: &str) -> Verdict {
        self.screen(name)
    }
}

/// The screen refused the text; nothing was stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text was refused: {reason}")]
pub struct Blocked {
    pub reason: Cow<'static, str>,
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
        let clean = Walk { screen, redactions: &mut redactions }.fields(body)?;
        // A map of plain values always serialises.
        let json = serde_json::to_string(clean.as_ref().unwrap_or(body)).unwrap_or_default();
        Ok(Screened { json, redactions })
    }

    /// Screens a name in the envelope.
    pub(crate) fn envelope(screen: &dyn Screen, name: &str) -> Result<(), Blocked> {
        match screen.screen_envelope(name) {
            Verdict::Clean => Ok(()),
            Verdict::Redacted(_) => {
                Err(Blocked { reason: "a name in the envelope looks like a secret".into() })
            }
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

/// A walk through a body. Whatever needs no change is `None`: the usual case copies nothing.
struct Walk<'a> {
    screen: &'a dyn Screen,
    redactions: &'a mut u32,
}

impl Walk<'_> {
    fn fields(&mut self, fields: &Map<String, Value>) -> Result<Option<Map<String, Value>>, Blocked> {
        let told = told_name(fields);
        let mut screened = Vec::with_capacity(fields.len());
        for (name, value) in fields {
            let called = told.filter(|_| name == "value").unwrap_or(name);
            let verdict = self.screen.screen(name);
            screened.push((self.text(verdict)?, self.value(called, value)?));
        }
        if screened.iter().all(|(name, value)| name.is_none() && value.is_none()) {
            return Ok(None);
        }
        let merged = screened.into_iter().zip(fields).map(|((new_name, new), (name, old))| {
            (new_name.unwrap_or_else(|| name.clone()), new.unwrap_or_else(|| old.clone()))
        });
        Ok(Some(merged.collect()))
    }

    /// A value, and what it is called; what stands in a list is called as the list is.
    fn value(&mut self, name: &str, value: &Value) -> Result<Option<Value>, Blocked> {
        match value {
            Value::String(text) => {
                let verdict = self.screen.screen_named(name, text);
                Ok(self.text(verdict)?.map(Value::String))
            }
            Value::Array(items) => {
                let screened = items.iter().map(|item| self.value(name, item));
                let screened = screened.collect::<Result<Vec<_>, _>>()?;
                if screened.iter().all(Option::is_none) {
                    return Ok(None);
                }
                let merged =
                    screened.into_iter().zip(items).map(|(new, old)| new.unwrap_or_else(|| old.clone()));
                Ok(Some(Value::Array(merged.collect())))
            }
            Value::Object(fields) => Ok(self.fields(fields)?.map(Value::Object)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(None),
        }
    }

    fn text(&mut self, verdict: Verdict) -> Result<Option<String>, Blocked> {
        match verdict {
            Verdict::Clean => Ok(None),
            Verdict::Redacted(clean) => {
                *self.redactions += 1;
                Ok(Some(clean))
            }
            Verdict::Blocked { reason } => Err(Blocked { reason }),
        }
    }
}

/// What the field `value` is called where a list of settings spells it out: `{"name": "DB_PASSWORD", "value": "…"}`.
fn told_name(fields: &Map<String, Value>) -> Option<&str> {
    fields.get("name").or_else(|| fields.get("key")).and_then(Value::as_str)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::json;

    /// Takes out the word SECRET and whatever a password is, and refuses KEYBLOCK.
    #[derive(Debug)]
    pub(crate) struct Plain;

    impl Screen for Plain {
        fn screen(&self, text: &str) -> Verdict {
            if text.contains("KEYBLOCK") {
                return Verdict::Blocked { reason: "it holds a private key".into() };
            }
            if text.contains("SECRET") {
                return Verdict::Redacted(text.replace("SECRET", "[GONE]"));
            }
            Verdict::Clean
        }

        fn screen_named(&self, name: &str, text: &str) -> Verdict {
            if name == "password" { Verdict::Redacted("[GONE]".into()) } else { self.screen(text) }
        }
    }

    fn check(body: &Value, expected: &Value, redactions: u32) {
        let screened = Screened::body(&Plain, body.as_object().unwrap()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&screened.json).unwrap(), *expected, "{body}");
        assert_eq!(screened.redactions, redactions, "{body}");
    }

    #[test]
    fn every_string_of_a_body_is_screened_however_deep() {
        let body = json!({"a": [{"b": "a SECRET"}, 7], "SECRET": null, "ok": "text"});
        check(&body, &json!({"a": [{"b": "a [GONE]"}, 7], "[GONE]": null, "ok": "text"}), 2);
    }

    #[test]
    fn a_value_is_screened_under_its_name_and_a_list_under_the_name_it_has() {
        let body = json!({"password": "x", "deep": {"password": ["y", ["z"], 3]}, "other": ["y"]});
        let clean =
            json!({"password": "[GONE]", "deep": {"password": ["[GONE]", ["[GONE]"], 3]}, "other": ["y"]});
        check(&body, &clean, 3);
        let settings = json!({"env": [{"name": "password", "value": "x"}, {"name": "user", "value": "x"}]});
        let clean = json!({"env": [{"name": "password", "value": "[GONE]"}, {"name": "user", "value": "x"}]});
        check(&settings, &clean, 1);
    }

    #[test]
    fn a_clean_body_comes_through_unchanged() {
        let body = json!({"n": 1.5, "list": [true, null, "x"], "o": {"k": "v"}});
        check(&body, &body, 0);
    }

    #[test]
    fn what_is_refused_anywhere_refuses_the_whole_body() {
        let body = json!({"a": [{"b": "KEYBLOCK"}]});
        let refused = Screened::body(&Plain, body.as_object().unwrap()).unwrap_err();
        assert_eq!(refused.to_string(), "the text was refused: it holds a private key");
        assert!(Screened::envelope(&Plain, "SECRET").is_err());
        assert!(Screened::blob(&Plain, b"\xff KEYBLOCK").is_err());
        assert_eq!(Screened::blob(&Plain, b"a SECRET").unwrap().unwrap(), b"a [GONE]");
        assert_eq!(Screened::blob(&Plain, b"\xff").unwrap(), None);
    }
}
