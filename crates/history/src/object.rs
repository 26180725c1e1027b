//! Git's objects, as bytes with the name that follows from them.
//!
//! Made here rather than asked of git, so that what a repository should hold is known before it is touched: the same records give the
//! same commits, to the byte.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use holdfast_types::Timestamp;
use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};

/// The name of an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Oid([u8; 20]);

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..5].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no name of an object: expected 40 lower-case hexadecimal digits")]
pub struct NotAnOid;

impl FromStr for Oid {
    type Err = NotAnOid;

    fn from_str(text: &str) -> Result<Oid, NotAnOid> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(NotAnOid),
        };
        let mut id = [0; 20];
        if text.len() != 2 * id.len() {
            return Err(NotAnOid);
        }
        for (byte, pair) in id.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Oid(id))
    }
}

impl TryFrom<String> for Oid {
    type Error = NotAnOid;

    fn try_from(text: String) -> Result<Oid, NotAnOid> {
        text.parse()
    }
}

impl From<Oid> for String {
    fn from(id: Oid) -> String {
        id.to_string()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Commit,
    Tree,
    Blob,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Kind::Commit => "commit",
            Kind::Tree => "tree",
            Kind::Blob => "blob",
        }
    }
}

/// An object and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub id: Oid,
    pub kind: Kind,
    pub bytes: Vec<u8>,
}

impl Object {
    fn new(kind: Kind, bytes: Vec<u8>) -> Object {
        let mut hasher = Sha1::new();
        hasher.update(format!("{} {}\0", kind.word(), bytes.len()));
        hasher.update(&bytes);
        Object { id: Oid(hasher.finalize().into()), kind, bytes }
    }

    pub fn blob(text: &str) -> Object {
        Object::new(Kind::Blob, text.as_bytes().to_vec())
    }

    /// The folder with these entries; each name is a file's or a folder's.
    pub fn tree(entries: &BTreeMap<String, Entry>) -> Object {
        let mut sorted: Vec<(&String, &Entry)> = entries.iter().collect();
        // Git compares a folder's name as if it ended in a slash.
        let key = |(name, entry): &(&String, &Entry)| match entry {
            Entry::File(_) => (*name).clone(),
            Entry::Folder(_) => format!("{name}/"),
        };
        sorted.sort_by_key(key);
        let mut bytes = Vec::new();
        for (name, entry) in sorted {
            let (mode, id) = match entry {
                Entry::File(id) => ("100644", id),
                Entry::Folder(id) => ("40000", id),
            };
            bytes.extend(format!("{mode} {name}\0").as_bytes());
            bytes.extend(id.0);
        }
        Object::new(Kind::Tree, bytes)
    }

    /// A commit by one who both wrote and committed it, signed where there is a signer.
    pub fn commit(commit: &Commit<'_>, signer: Option<&dyn Signer>) -> Object {
        let Commit { tree, parent, at, who, message } = commit;
        let seconds = at.as_micros().div_euclid(1_000_000).max(0);
        let parent = parent.map(|id| format!("parent {id}\n")).unwrap_or_default();
        let head =
            format!("tree {tree}\n{parent}author {who} {seconds} +0000\ncommitter {who} {seconds} +0000\n");
        let bare = format!("{head}\n{message}");
        let Some(signer) = signer else { return Object::new(Kind::Commit, bare.into_bytes()) };
        let signature = signer.sign(bare.as_bytes());
        // A header of many lines goes on after a space.
        let folded = signature.trim_end_matches('\n').replace('\n', "\n ");
        Object::new(Kind::Commit, format!("{head}gpgsig {folded}\n\n{message}").into_bytes())
    }
}

/// What an entry of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    File(Oid),
    Folder(Oid),
}

/// What a commit says.
#[derive(Clone, Copy, Debug)]
pub struct Commit<'a> {
    pub tree: Oid,
    pub parent: Option<Oid>,
    pub at: Timestamp,
    /// `name <address>`.
    pub who: &'a str,
    pub message: &'a str,
}

/// Signs what a commit says, in OpenSSH's armour.
pub trait Signer: fmt::Debug {
    fn sign(&self, message: &[u8]) -> String;
}

/// A key of this house.
#[derive(Debug)]
pub struct KeySigner(pub holdfast_keys::SecretKey);

impl Signer for KeySigner {
    fn sign(&self, message: &[u8]) -> String {
        holdfast_keys::ssh::sign(message, holdfast_keys::ssh::Namespace::Git, &self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_ones_git_gives() {
        assert_eq!(Object::blob("").id.to_string(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(Object::blob("hello\n").id.to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
        let none = Object::tree(&BTreeMap::new());
        assert_eq!(none.id.to_string(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    }

    #[test]
    fn a_folder_is_sorted_as_if_its_name_ended_in_a_slash() {
        let (file, folder) = (Entry::File(Object::blob("").id), Entry::Folder(Object::blob("").id));
        let tree = Object::tree(&BTreeMap::from([
            ("a".to_owned(), folder),
            ("a.b".to_owned(), file),
            ("a0".to_owned(), file),
        ]));
        let text = String::from_utf8_lossy(&tree.bytes).into_owned();
        let at = |name: &str| text.find(&format!(" {name}\0")).unwrap();
        assert!(at("a.b") < at("a") && at("a") < at("a0"), "{text:?}");
    }

    #[test]
    fn a_name_reads_back_and_nothing_else_is_one() {
        let id = Object::blob("x").id;
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in ["", "e69de29b", &"g".repeat(40), &"A".repeat(40), &"0".repeat(41)] {
            assert_eq!(bad.parse::<Oid>(), Err(NotAnOid), "{bad}");
        }
    }
}
