//! A history that came as a git bundle, unpacked where nothing else is and gone when it is let go.
//!
//! A bundle is somebody else's bytes. Git checks every object of it while it unpacks, within a time of ours, and runs nothing: there is no work
//! tree, no hook and no setting but those of `holdfast-git`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_git::{Ask, Git, NotDone};
use tempfile::TempDir;

use crate::error::{Error, Result};

/// As large a bundle as is taken unpacks in a few seconds; one that was made to take long is cut off.
const UNPACK_WITHIN: Duration = Duration::from_secs(60);

/// Laid over git's settings: what is large is streamed, not held, and one processor is enough.
const GENTLY: [(&str, &str); 2] = [("core.bigFileThreshold", "1m"), ("pack.threads", "1")];

/// An unpacked history. Its folder is gone with it.
#[derive(Debug)]
pub struct Unpacked {
    folder: PathBuf,
    _all: TempDir,
}

impl Unpacked {
    pub fn from_bundle(bundle: &[u8]) -> Result<Unpacked> {
        let all = tempfile::tempdir().map_err(not_here)?;
        let (file, folder) = (all.path().join("bundle"), all.path().join("history"));
        std::fs::write(&file, bundle).map_err(not_here)?;
        let git = Git::at(&folder);
        // It says what is wrong with a bundle and not with us only once there is a place to unpack into.
        git.ask(Ask::new("make a place", &["init", "--quiet", "--bare", "--initial-branch=main"]))
            .map_err(Error::Git)?;
        let file = file.to_string_lossy();
        let ask = Ask {
            within: UNPACK_WITHIN,
            environment: gently(),
            ..Ask::new("unpack the bundle", &["bundle", "unbundle", &file])
        };
        let heads = git.ask(ask).map_err(|e| wrong(e, all.path()))?;
        let head = head(&heads).ok_or_else(|| Error::NotABundle("it names no commit".to_owned()))?;
        let args = ["update-ref", "--no-deref", "HEAD", head];
        git.ask(Ask::new("name its newest commit", &args)).map_err(|e| wrong(e, all.path()))?;
        Ok(Unpacked { folder, _all: all })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// The commit that was checked out where the bundle was made, or the first that it has.
fn head(heads: &str) -> Option<&str> {
    let lines = || heads.lines().filter_map(|line| line.split_once(' '));
    let checked_out = lines().find(|(_, name)| *name == "HEAD");
    checked_out.or_else(|| lines().next()).map(|(id, _)| id)
}

fn gently() -> Vec<(String, String)> {
    let mut all = vec![("GIT_CONFIG_COUNT".to_owned(), GENTLY.len().to_string())];
    for (n, (key, value)) in GENTLY.iter().enumerate() {
        all.push((format!("GIT_CONFIG_KEY_{n}"), (*key).to_owned()));
        all.push((format!("GIT_CONFIG_VALUE_{n}"), (*value).to_owned()));
    }
    all
}

/// What git says against the bundle; where it lay for the moment is nobody's business.
fn wrong(e: NotDone, folder: &Path) -> Error {
    match e {
        NotDone::Refused { said, .. } => {
            Error::NotABundle(said.replace(&*folder.to_string_lossy(), "").trim().to_owned())
        }
        other => Error::Git(other),
    }
}

/// What it means that git could not read a history that was unpacked whole: commits of it lead to some that were not sent, as in a shallow clone.
pub fn not_whole(e: Error) -> Error {
    match e {
        Error::Git(NotDone::Refused { said, .. }) => {
            Error::NotABundle(format!("it has a part of a history alone: {said}"))
        }
        other => other,
    }
}

fn not_here(source: std::io::Error) -> Error {
    Error::Git(NotDone::NotRun(source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_that_was_checked_out_comes_before_others() {
        assert_eq!(head("aa refs/heads/main\nbb HEAD\n"), Some("bb"));
        assert_eq!(head("aa refs/heads/main\ncc refs/tags/v1\n"), Some("aa"));
        assert_eq!(head(""), None);
    }

    #[test]
    fn bytes_that_are_no_bundle_are_refused_without_saying_where_they_lay() {
        for bytes in [&b""[..], b"# v2 git bundle\n", b"# v2 git bundle\n\nPACK", b"hello", &[0xff; 4096]] {
            match Unpacked::from_bundle(bytes) {
                Err(Error::NotABundle(said)) => assert!(!said.contains("/tmp"), "{said}"),
                other => panic!("{bytes:?}: {other:?}"),
            }
        }
    }
}
