//! What takes a passkey in the very request, and exactly what that passkey was used for.
//!
//! An act is a method, a path and fields. A browser asks for a ceremony over its digest, and sends the answer along with
//! the act itself, in a header or as a field of the form. The proof is good for that act, in that session, once: having
//! signed in a moment ago, or having confirmed something else, counts for nothing.

use serde::Deserialize;
use serde_json::{Map, Value};
use webauthn_rs::prelude::PublicKeyCredential;

use crate::error::{Error, Result};
use crate::guard::CSRF_FIELD;

/// The header that a proof is sent in by scripts.
pub const PROOF_HEADER: &str = "x-holdfast-proof";

/// The field that forms send it in.
pub const PROOF_FIELD: &str = "proof";

/// Longest proof that is read: an answer of an authenticator has one or two kilobytes.
const PROOF_BYTES_MAX: usize = 16 * 1024;

/// Longest path of an act that is confirmed: it is recorded.
const TO_MAX: usize = 300;

/// What a route takes besides who asks. Every route says it, so that a new one has to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Nothing more.
    None,
    /// A passkey, used for this very act. No token has one.
    Passkey,
    /// The same, unless this field says this: the direction in which machines do less.
    PasskeyUnless { field: &'static str, is: &'static str },
}

impl Proof {
    /// Whether an act with these fields takes a passkey.
    pub fn asks(self, fields: &Map<String, Value>) -> bool {
        match self {
            Proof::None => false,
            Proof::Passkey => true,
            Proof::PasskeyUnless { field, is } => fields.get(field).and_then(Value::as_str) != Some(is),
        }
    }
}

/// Something that is done by one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Act {
    method: String,
    to: String,
    fields: Map<String, Value>,
}

impl Act {
    /// The anti-forgery word and the proof itself are not part of what is done.
    pub fn new(method: &str, to: &str, mut fields: Map<String, Value>) -> Act {
        fields.remove(CSRF_FIELD);
        fields.remove(PROOF_FIELD);
        Act { method: method.to_owned(), to: to.to_owned(), fields }
    }

    pub fn method(&self) -> &str {
        &self.method
    }

    /// The path, with its query where it has one.
    pub fn to(&self) -> &str {
        &self.to
    }

    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// How it is recorded.
    pub fn what(&self) -> String {
        format!("{} {}", self.method, self.to)
    }

    /// Whether it is short and plain enough to be recorded.
    pub(crate) fn is_plain(&self) -> bool {
        let plain = |text: &str, max| text.len() <= max && text.bytes().all(|b| b.is_ascii_graphic());
        plain(&self.method, 16) && plain(&self.to, TO_MAX) && self.to.starts_with('/')
    }

    /// Of exactly this act. Each part goes in with its kind and length, so that no two acts read the same.
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = blake3::Hasher::new_derive_key("holdfast gateway 2026-11 act");
        put_text(&mut hash, &self.method);
        put_text(&mut hash, &self.to);
        put_fields(&mut hash, &self.fields);
        hash.finalize().into()
    }
}

fn put_text(hash: &mut blake3::Hasher, text: &str) {
    hash.update(b"s").update(&(text.len() as u64).to_be_bytes()).update(text.as_bytes());
}

fn put_fields(hash: &mut blake3::Hasher, fields: &Map<String, Value>) {
    let mut names: Vec<&String> = fields.keys().collect();
    names.sort_unstable();
    hash.update(b"o").update(&(names.len() as u64).to_be_bytes());
    for name in names {
        put_text(hash, name);
        put(hash, &fields[name]);
    }
}

fn put(hash: &mut blake3::Hasher, value: &Value) {
    match value {
        Value::Null => drop(hash.update(b"n")),
        Value::Bool(yes) => drop(hash.update(if *yes { b"t" } else { b"f" })),
        Value::Number(number) => {
            hash.update(b"#");
            put_text(hash, &number.to_string());
        }
        Value::String(text) => put_text(hash, text),
        Value::Array(all) => {
            hash.update(b"a").update(&(all.len() as u64).to_be_bytes());
            all.iter().for_each(|one| put(hash, one));
        }
        Value::Object(fields) => put_fields(hash, fields),
    }
}

/// What somebody sent as a proof.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    pub(crate) ceremony: String,
    pub(crate) credential: PublicKeyCredential,
}

impl Given {
    /// What cannot be read proves nothing.
    pub(crate) fn read(text: &str) -> Result<Given> {
        if text.len() > PROOF_BYTES_MAX {
            return Err(Error::TooLong);
        }
        serde_json::from_str(text).map_err(|_| Error::NotFresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn act(method: &str, to: &str, fields: Value) -> Act {
        let Value::Object(fields) = fields else { panic!("fields") };
        Act::new(method, to, fields)
    }

    #[test]
    fn an_act_is_its_method_its_path_and_every_field() {
        let one = act("POST", "/hosts/box-1/level", json!({ "level": "act", "why": "x" }));
        let same = act(
            "POST",
            "/hosts/box-1/level",
            json!({ "why": "x", "level": "act", "csrf": "w", "proof": "{}" }),
        );
        assert_eq!(one.digest(), same.digest(), "the word and the proof are beside it");
        let others = [
            act("PUT", "/hosts/box-1/level", json!({ "level": "act", "why": "x" })),
            act("POST", "/hosts/box-2/level", json!({ "level": "act", "why": "x" })),
            act("POST", "/hosts/box-1/level", json!({ "level": "actw", "hy": "x" })),
            act("POST", "/hosts/box-1/level", json!({ "level": "act" })),
            act("POST", "/hosts/box-1/level", json!({ "level": "act", "why": ["x"] })),
            act("POST", "/hosts/box-1/level", json!({ "level": "act", "why": "x", "more": null })),
            act("POST", "/hosts/box-1/level", json!({ "level": "act", "why": 7 })),
            act("POST", "/hosts/box-1/level", json!({ "level": "act", "why": "7" })),
        ];
        for (n, other) in others.iter().enumerate() {
            assert_ne!(one.digest(), other.digest(), "{other:?}");
            for later in &others[n + 1..] {
                assert_ne!(other.digest(), later.digest(), "{other:?} {later:?}");
            }
        }
    }

    #[test]
    fn only_the_way_down_goes_without_a_passkey() {
        let level = Proof::PasskeyUnless { field: "level", is: "observe" };
        let asks = |fields: Value| level.asks(fields.as_object().unwrap());
        assert!(!asks(json!({ "level": "observe" })));
        assert!(asks(json!({ "level": "act" })) && asks(json!({})) && asks(json!({ "level": ["observe"] })));
        assert!(Proof::Passkey.asks(&Map::new()) && !Proof::None.asks(&Map::new()));
    }
}
