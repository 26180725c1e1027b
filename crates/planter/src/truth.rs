//! What stands where: the files of a corpus, and the truth about them.

use std::io;
use std::path::Path;

/// A tree of files, and the truth about them. Files are in the order they were made; the rest follows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Corpus {
    pub files: Vec<File>,
    pub planted: Vec<Planted>,
    pub decoys: Vec<Decoy>,
    pub asides: Vec<Aside>,
}

/// One file: its path from the top of the tree, with slashes, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub path: String,
    pub text: String,
}

/// A secret and where it stands. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planted {
    pub file: String,
    pub first_line: usize,
    pub last_line: usize,
    pub column: usize,
    pub kind: &'static str,
    pub group: Group,
    /// As it stands in the file: encoded, escaped and indented.
    pub secret: String,
}

/// Something that looks like a secret and is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoy {
    pub file: String,
    pub line: usize,
    pub kind: &'static str,
}

/// A line on which good judges may differ (a publishable key, the id that goes with a secret): never counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aside {
    pub file: String,
    pub line: usize,
}

/// Where in the world a secret of a kind turns up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// A token with a shape its issuer gave it.
    ProviderToken,
    /// A password or key that only its name gives away.
    KeyValue,
    PrivateKey,
    ConnectionString,
    /// A hash of a password.
    Hash,
    /// Told by a person to a person.
    Prose,
}

impl Group {
    pub const ALL: [Group; 6] = [
        Group::ProviderToken,
        Group::KeyValue,
        Group::PrivateKey,
        Group::ConnectionString,
        Group::Hash,
        Group::Prose,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Group::ProviderToken => "provider_token",
            Group::KeyValue => "key_value",
            Group::PrivateKey => "private_key",
            Group::ConnectionString => "connection_string",
            Group::Hash => "hash",
            Group::Prose => "prose",
        }
    }
}

impl Corpus {
    /// Writes the tree below `dir`. The directory should be a passing one: these files look like leaked secrets.
    pub fn write_to(&self, dir: &Path) -> io::Result<()> {
        for file in &self.files {
            let path = dir.join(&file.path);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(path, &file.text)?;
        }
        Ok(())
    }
}
