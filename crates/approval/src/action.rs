//! What exactly is to be allowed, and the digest that stands for it.
//!
//! The digest is the SHA-256 of the canonical JSON (RFC 8785) of `{"action":…,"subject":…,"target":…}`. Whatever makes
//! a difference to the act belongs into `action`: a version, the hash of an artefact, old and new value.

use holdfast_keys::{Canonical, canonical};
use holdfast_types::Digest;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::name::{Subject, Target};

/// Longest canonical form: it is shown to a person, who has to read it.
pub const ACTION_BYTES_MAX: usize = 16 * 1024;

/// One act, named to the byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    subject: Subject,
    target: Target,
    what: Canonical,
    digest: Digest,
}

impl Action {
    pub fn new(subject: Subject, target: Target, what: &(impl Serialize + ?Sized)) -> Result<Action> {
        let what = canonical::from_serialize(what).map_err(Error::NotCanonical)?;
        let whole = json!({"action": what.as_value(), "subject": subject, "target": target});
        let whole = canonical::from_value(&whole).map_err(Error::NotCanonical)?;
        let len = whole.as_bytes().len();
        if len > ACTION_BYTES_MAX {
            let why = format!("the action is {len} bytes long, and one may have {ACTION_BYTES_MAX}");
            return Err(Error::BadAsk { why });
        }
        let digest = Digest::sha256(Sha256::digest(whole.as_bytes()).into());
        Ok(Action { subject, target, what, digest })
    }

    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    /// What was given to [`Action::new`].
    pub fn what(&self) -> &Value {
        self.what.as_value()
    }

    pub fn digest(&self) -> Digest {
        self.digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(subject: &str, target: &str, what: Value) -> Action {
        Action::new(subject.parse().unwrap(), target.parse().unwrap(), &what).unwrap()
    }

    /// `printf %s '{"action":{"version":"1.3.0"},"subject":"repair.install","target":"npm:left-pad"}' | sha256sum`
    #[test]
    fn the_digest_is_one_that_other_tools_compute() {
        let digest = action("repair.install", "npm:left-pad", json!({"version": "1.3.0"})).digest();
        let expected = "sha256:e33f1e6275e9ffb3ae4f6675ff9a1984d01c7622c8c0cb3c8958ef0e629ae95a";
        assert_eq!(digest.to_string(), expected);
    }

    #[test]
    fn any_difference_is_another_action_and_spelling_is_none() {
        let one = action("repair.install", "npm:a", json!({"version": "1", "hash": "x", "n": 1.0}));
        let same = action("repair.install", "npm:a", json!({"n": 1, "hash": "x", "version": "1"}));
        assert_eq!(one.digest(), same.digest());
        for other in [
            action("repair.remove", "npm:a", json!({"version": "1", "hash": "x", "n": 1})),
            action("repair.install", "npm:b", json!({"version": "1", "hash": "x", "n": 1})),
            action("repair.install", "npm:a", json!({"version": "2", "hash": "x", "n": 1})),
            action("repair.install", "npm:a", json!({"version": "1", "hash": "x"})),
            action("repair.install", "npm:a", json!({"version": 1, "hash": "x", "n": 1})),
        ] {
            assert_ne!(one.digest(), other.digest(), "{other:?}");
        }
    }

    #[test]
    fn what_nobody_could_read_is_no_action() {
        let what = json!({"text": "x".repeat(ACTION_BYTES_MAX)});
        let made = Action::new("a.b".parse().unwrap(), "t".parse().unwrap(), &what);
        assert!(matches!(made, Err(Error::BadAsk { .. })));
        let made = Action::new("a.b".parse().unwrap(), "t".parse().unwrap(), &f64::NAN);
        assert!(matches!(made, Err(Error::NotCanonical(_))));
    }
}
