//! What a repository's people looked at and let stand: `.holdfast/scan.toml`, which is committed and reviewed.
//!
//! ```toml
//! [[exception]]
//! fingerprint = "blake3:0123456789abcdef0123456789abcdef"   # as a scan shows it
//! path = "tests/data/"                # optional: a file, or a folder with a slash at its end
//! reason = "a key of the test server that never leaves this machine"
//! expires = 2027-06-30                # optional: passes up to and including this day
//!
//! [scope]
//! only = ["notes/"]                   # optional: everything else is out of scope
//! not = ["third_party/"]              # optional
//! ```
//!
//! An exception names one value: another value in its place has another fingerprint and is found.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::{Error, Result};

/// Where the list lies, from the root of a repository.
pub const REVIEW_FILE: &str = ".holdfast/scan.toml";

/// A list of this size was not reviewed by anybody.
pub(crate) const BYTES_MAX: u64 = 4 << 20;

/// The reviewed exceptions and the scope of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Review {
    exceptions: Vec<Exception>,
    only: Vec<String>,
    not: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Exception {
    fingerprint: String,
    path: Option<String>,
    expires: Option<jiff::civil::Date>,
}

/// Whether a finding may stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    NotListed,
    Excepted,
    Expired { on: String },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    exception: Vec<WrittenException>,
    #[serde(default)]
    scope: WrittenScope,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenException {
    fingerprint: String,
    path: Option<String>,
    #[serde(default)]
    reason: String,
    expires: Option<Day>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WrittenScope {
    only: Vec<String>,
    not: Vec<String>,
}

/// With or without quotes.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Day {
    Bare(toml::value::Datetime),
    Quoted(String),
}

impl Review {
    /// Reads the list. `path` is only named in errors.
    pub fn parse(text: &str, path: &Path) -> Result<Review> {
        let wrong = |why: String| Error::Review { path: path.to_owned(), why };
        let written: Written = toml::from_str(text).map_err(|e| wrong(e.message().to_owned()))?;
        let numbered = written.exception.into_iter().enumerate();
        let exceptions =
            numbered.map(|(n, e)| understood(e).map_err(|why| wrong(format!("exception {} {why}", n + 1))));
        let exceptions = exceptions.collect::<Result<_>>()?;
        Ok(Review { exceptions, only: written.scope.only, not: written.scope.not })
    }

    /// Reads the list from a file that was named.
    pub fn read(path: &Path) -> Result<Review> {
        let failed = |source| Error::Read { path: path.to_owned(), source };
        let size = std::fs::metadata(path).map_err(failed)?.len();
        if size > BYTES_MAX {
            return Err(Error::Review { path: path.to_owned(), why: format!("it has {size} bytes") });
        }
        Review::parse(&std::fs::read_to_string(path).map_err(failed)?, path)
    }

    /// The list of the repository or tree with this root; an empty one where there is none.
    pub fn of_root(root: &Path) -> Result<Review> {
        let path: PathBuf = root.join(REVIEW_FILE);
        match std::fs::metadata(&path) {
            Ok(meta) if meta.is_file() => Review::read(&path),
            Ok(_) => Err(Error::Review { path, why: "it is no file".to_owned() }),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(Review::default())
            }
            Err(source) => Err(Error::Read { path, source }),
        }
    }

    /// Whether a file is to be looked at.
    pub(crate) fn covers(&self, place: &str) -> bool {
        let listed = |list: &[String]| list.iter().any(|pattern| lies_in(place, pattern));
        (self.only.is_empty() || listed(&self.only)) && !listed(&self.not)
    }

    /// Whether a finding of this fingerprint may stand in this file on this day.
    pub(crate) fn standing(&self, fingerprint: &str, place: &str, today: jiff::civil::Date) -> Standing {
        let fits = |e: &&Exception| {
            e.fingerprint == fingerprint && e.path.as_ref().is_none_or(|path| lies_in(place, path))
        };
        let mut expired = None;
        for exception in self.exceptions.iter().filter(fits) {
            match exception.expires {
                Some(on) if on < today => expired = expired.max(Some(on)),
                _ => return Standing::Excepted,
            }
        }
        expired.map_or(Standing::NotListed, |on| Standing::Expired { on: on.to_string() })
    }
}

fn understood(written: WrittenException) -> Result<Exception, String> {
    if written.reason.chars().filter(|c| c.is_alphanumeric()).count() < 3 {
        return Err("has no reason".to_owned());
    }
    if written.fingerprint.is_empty() {
        return Err("has no fingerprint".to_owned());
    }
    let day = written.expires.map(|day| match day {
        Day::Bare(bare) => bare.to_string(),
        Day::Quoted(text) => text,
    });
    let parsed = day.map(|text| text.parse::<jiff::civil::Date>()).transpose();
    let expires = parsed.map_err(|_| "expires on what is no day; a day is written 2027-06-30".to_owned())?;
    Ok(Exception { fingerprint: written.fingerprint, path: written.path, expires })
}

/// A file by its path, also one inside an archive of that path; a folder by its path and a slash.
fn lies_in(place: &str, pattern: &str) -> bool {
    let rest = place.strip_prefix(pattern);
    rest.is_some_and(|rest| rest.is_empty() || pattern.ends_with('/') || rest.starts_with("!/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"
        [[exception]]
        fingerprint = "aa"
        reason = "a fixture"
        [[exception]]
        fingerprint = "bb"
        path = "tests/data/"
        reason = "a fixture"
        expires = 2026-12-31
        [[exception]]
        fingerprint = "cc"
        path = "a.zip"
        reason = "a fixture"
        expires = "2026-01-01"
        [scope]
        not = ["vendor/"]
    "#;

    fn standing(fingerprint: &str, place: &str, today: &str) -> Standing {
        Review::parse(LIST, Path::new("x")).unwrap().standing(fingerprint, place, today.parse().unwrap())
    }

    #[test]
    fn an_exception_holds_for_its_value_its_place_and_its_time() {
        let table = [
            ("aa", "anywhere", "2026-11-15", Standing::Excepted),
            ("ab", "anywhere", "2026-11-15", Standing::NotListed),
            ("bb", "tests/data/x", "2026-12-31", Standing::Excepted),
            ("bb", "tests/data/x", "2027-01-01", Standing::Expired { on: "2026-12-31".into() }),
            ("bb", "tests/other/x", "2026-12-31", Standing::NotListed),
            ("cc", "a.zip!/inner", "2025-12-31", Standing::Excepted),
            ("cc", "a.zipper", "2025-12-31", Standing::NotListed),
        ];
        for (fingerprint, place, today, expected) in table {
            assert_eq!(standing(fingerprint, place, today), expected, "{fingerprint} {place} {today}");
        }
    }

    #[test]
    fn the_scope_says_what_is_looked_at() {
        let review = |scope: &str| Review::parse(&format!("[scope]\n{scope}"), Path::new("x")).unwrap();
        assert!(
            !review("not = ['vendor/']").covers("vendor/a") && review("not = ['vendor/']").covers("vendors")
        );
        let only = review("only = ['notes/', 'x.md']\nnot = ['notes/old/']");
        assert_eq!(
            ["notes/a", "x.md", "x.mdx", "notes/old/a"].map(|p| only.covers(p)),
            [true, true, false, false]
        );
    }

    #[test]
    fn what_was_not_reviewed_is_refused() {
        for (text, why) in [
            ("[[exception]]\nfingerprint = 'aa'", "exception 1 has no reason"),
            ("[[exception]]\nfingerprint = ''\nreason = 'why not'", "exception 1 has no fingerprint"),
            (
                "[[exception]]\nfingerprint = 'a'\nreason = 'why not'\nexpires = 'soon'",
                "exception 1 expires on what is no day",
            ),
            ("[[exceptions]]", "unknown field"),
            ("{", "invalid"),
        ] {
            let e = Review::parse(text, Path::new("x")).unwrap_err().to_string();
            assert!(e.contains(why) || why == "invalid", "{e}");
        }
    }
}
