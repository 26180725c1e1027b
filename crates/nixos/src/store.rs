//! A built system by its path in the store, and a commit by its digest: the names that make a state unmistakable.

use std::fmt;
use std::path::Path;

use holdfast_lifeline::Identity;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const DIGEST_LEN: usize = 32;
const NAME_MAX: usize = 211;
/// The alphabet of Nix for digests: no e, o, u, t.
const DIGITS: &[u8] = b"0123456789abcdfghijklmnpqrsvwxyz";

/// A path right below the store: `/nix/store/<digest>-<name>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StorePath(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no path of the store")]
pub struct NotInStore(String);

impl StorePath {
    /// Reads a path, which has to lie in this store and to be nothing more.
    pub fn parse(store: &Path, text: &str) -> Result<StorePath, NotInStore> {
        let error = || NotInStore(holdfast_types::printable(&text.chars().take(120).collect::<String>()));
        let store = store.to_str().ok_or_else(error)?;
        let base = text.strip_prefix(store).and_then(|rest| rest.strip_prefix('/')).ok_or_else(error)?;
        if is_base(base) { Ok(StorePath(text.to_owned())) } else { Err(error()) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digest of the path. A path names its content, so the same content has the same one.
    pub fn identity(&self) -> Identity {
        let mut hasher = Sha256::new();
        hasher.update(b"holdfast store path 1\n");
        hasher.update(self.0.as_bytes());
        Identity(hasher.finalize().into())
    }
}

impl fmt::Display for StorePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_base(base: &str) -> bool {
    let Some((digest, name)) = base.split_at_checked(DIGEST_LEN) else { return false };
    let Some(name) = name.strip_prefix('-') else { return false };
    digest.bytes().all(|b| DIGITS.contains(&b))
        && (1..=NAME_MAX).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-._?=".contains(&b))
}

/// A commit of the repository the host is built from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Commit(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no commit: expected 40 lower-case hexadecimal digits")]
pub struct NotACommit(String);

impl Commit {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Commit {
    type Error = NotACommit;

    fn try_from(text: String) -> Result<Commit, NotACommit> {
        let is_hex = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if text.len() == 40 && is_hex {
            Ok(Commit(text))
        } else {
            Err(NotACommit(text.chars().take(60).collect()))
        }
    }
}

impl From<Commit> for String {
    fn from(commit: Commit) -> String {
        commit.0
    }
}

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_right_below_its_store_and_nothing_more() {
        let store = Path::new("/nix/store");
        let good = "/nix/store/kmfr2gw4nanc8clkd8f0vb8s55fw4j8d-nixos-system-target-1";
        assert_eq!(StorePath::parse(store, good).unwrap().as_str(), good);
        for bad in [
            "/nix/store",
            "/nix/store/",
            "/nix/store/kmfr2gw4nanc8clkd8f0vb8s55fw4j8d",
            "/nix/store/kmfr2gw4nanc8clkd8f0vb8s55fw4j8d-",
            "/nix/store/kmfr2gw4nanc8clkd8f0vb8s55fw4j8e-x",
            "/nix/store/kmfr2gw4nanc8clkd8f0vb8s55fw4j8d-x/bin",
            "/nix/store/kmfr2gw4nanc8clkd8f0vb8s55fw4j8d-x\n",
            "/nix/store/../etc/kmfr2gw4nanc8clkd8f0vb8s55fw4j8d-x",
            "/nix/storekmfr2gw4nanc8clkd8f0vb8s55fw4j8d-x",
            "/gnu/store/kmfr2gw4nanc8clkd8f0vb8s55fw4j8d-x",
            "-x",
        ] {
            assert!(StorePath::parse(store, bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_commit_is_a_whole_digest_and_no_name() {
        assert!(Commit::try_from("98b9c4ac6d2bbdc91930ca057538c4082351aa7c".to_owned()).is_ok());
        for bad in ["HEAD", "98b9c4a", "98B9C4AC6D2BBDC91930CA057538C4082351AA7C", "--help", ""] {
            assert!(Commit::try_from(bad.to_owned()).is_err(), "{bad:?}");
        }
    }
}
