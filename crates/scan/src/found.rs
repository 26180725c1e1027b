//! What a scan says: findings, what was left out and why, what could not be read.

use std::fmt;

use holdfast_guard::Confidence;

/// A secret that was found. Not a byte of it is in here.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The file as it was named or reached; a member of an archive as `archive.zip!/member`.
    pub file: String,
    /// The file as the repository knows it: from its root, whatever directory the scan was started in.
    pub place: String,
    /// From 1.
    pub line: u64,
    /// From 1, in characters of the line.
    pub column: u64,
    pub end_line: u64,
    /// The column after the last character.
    pub end_column: u64,
    /// The id of the rule: `github_token`.
    pub rule: String,
    /// What it is, for people.
    pub what: String,
    pub confidence: Confidence,
    /// Why it was reported, in words that quote nothing.
    pub reason: String,
    /// How it looks, without its bytes.
    pub masked: String,
    /// The same for the same secret wherever it stands; what exceptions and baselines name.
    pub fingerprint: String,
    /// The first commit that had it, where history was looked at.
    pub commit: Option<String>,
    /// Why something that should have let it pass did not.
    pub note: Option<Note>,
}

/// Why something that should have let a finding pass did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    AllowedWithoutReason,
    AllowedForAnother { rule: String },
    ExceptionExpired { on: String },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::AllowedWithoutReason => {
                write!(f, "the comment that allows it gives no reason, so it does not count")
            }
            Note::AllowedForAnother { rule } => {
                write!(f, "the comment beside it allows {rule}, which this is not")
            }
            Note::ExceptionExpired { on } => write!(f, "its exception expired after {on}"),
        }
    }
}

/// Why content was not looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    Binary,
    Database,
    /// A packing that is not read here, by its name.
    Packing(&'static str),
    /// An archive that cannot be read as one.
    BrokenArchive(String),
    /// A member behind a password.
    Encrypted,
    /// What a bound of archives cut off.
    Bound(&'static str),
    WideTextTooLarge,
    OutOfScope,
    Link,
    NotAFile,
    Submodule,
    Unmerged,
    /// There are more findings than are listed.
    MoreFindings,
    /// What went before, in a clone that ends at some commits. Whether it is there or not, git does not go on.
    Shallow,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Binary => write!(f, "binary"),
            Why::Database => write!(f, "SQLite database"),
            Why::Packing(name) => write!(f, "packed with {name}, which is not read"),
            Why::BrokenArchive(why) => write!(f, "not readable as an archive: {why}"),
            Why::Encrypted => write!(f, "encrypted"),
            Why::Bound(which) => write!(f, "archive: {which}"),
            Why::WideTextTooLarge => write!(f, "UTF-16 text of more than 64 MiB"),
            Why::OutOfScope => write!(f, "out of the scope that is configured"),
            Why::Link => write!(f, "symbolic link, not followed"),
            Why::NotAFile => write!(f, "not a regular file"),
            Why::Submodule => write!(f, "submodule"),
            Why::Unmerged => write!(f, "unmerged, git does not commit it"),
            Why::MoreFindings => write!(f, "more findings than are listed for one file"),
            Why::Shallow => write!(f, "the history before the commits it names: this clone is shallow"),
        }
    }
}

/// Content that was not looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    pub file: String,
    pub why: Why,
}

/// Content that should have been looked at and could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    pub file: String,
    pub why: String,
}

/// Everything a scan has to say, sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// What nothing lets pass.
    pub findings: Vec<Found>,
    /// How many passed by a comment with a reason.
    pub allowed: u64,
    /// How many passed by a reviewed exception.
    pub excepted: u64,
    /// How many passed because the baseline has them.
    pub known: u64,
    pub skipped: Vec<Skipped>,
    pub failed: Vec<Failed>,
    /// Files, or blobs, that were looked at.
    pub files: u64,
    pub bytes: u64,
}

impl Report {
    /// Nothing was found, and everything could be read.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty() && self.failed.is_empty()
    }
}

/// How one content is named.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) file: String,
    pub(crate) place: String,
}

impl Name {
    /// A member of an archive of this name.
    pub(crate) fn member(&self, path: &str) -> Name {
        let join = |outer: &str| format!("{outer}!/{path}");
        Name { file: join(&self.file), place: join(&self.place) }
    }

    /// The same name everywhere: paths of a repository, standard input.
    pub(crate) fn same(file: String) -> Name {
        Name { place: file.clone(), file }
    }
}

/// What was seen in one file or blob, its members included.
#[derive(Clone, Debug)]
pub(crate) struct Looked {
    pub(crate) name: Name,
    pub(crate) bytes: u64,
    pub(crate) findings: Vec<Found>,
    pub(crate) allowed: u64,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) failed: Vec<Failed>,
}

impl Looked {
    pub(crate) fn new(name: Name) -> Looked {
        Looked { name, bytes: 0, findings: vec![], allowed: 0, skipped: vec![], failed: vec![] }
    }

    pub(crate) fn skipped(name: Name, why: Why) -> Looked {
        let mut looked = Looked::new(name);
        looked.skip(why);
        looked
    }

    pub(crate) fn failed(name: Name, why: String) -> Looked {
        let mut looked = Looked::new(name);
        looked.failed.push(Failed { file: looked.name.file.clone(), why });
        looked
    }

    pub(crate) fn skip(&mut self, why: Why) {
        self.skipped.push(Skipped { file: self.name.file.clone(), why });
    }

    /// Whether any of it was looked at.
    pub(crate) fn was_looked_at(&self) -> bool {
        self.bytes > 0 || (self.skipped.is_empty() && self.failed.is_empty())
    }
}
