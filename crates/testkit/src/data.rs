//! Where the measuring and conformance data lies. It is no part of the repository.

use std::env::VarError;
use std::path::{Path, PathBuf};

const DATA_ENV: &str = "HOLDFAST_TEST_DATA";

/// The folder in `HOLDFAST_TEST_DATA`, or `../shared/data` beside the checkout; `None` when it is absent,
/// as in a user's clone.
pub fn shared_data() -> Option<PathBuf> {
    find().ok()
}

/// The same, and when it is absent one line on stderr saying that `what` was not run and why.
#[expect(clippy::print_stderr, reason = "a part of the suite that did not run must be seen")]
pub fn shared_data_or_say(what: &str) -> Option<PathBuf> {
    find().map_err(|why| eprintln!("{what}: not run, {why}")).ok()
}

fn find() -> Result<PathBuf, String> {
    choose(std::env::var(DATA_ENV), &default_folder())
}

fn choose(set: Result<String, VarError>, default: &Path) -> Result<PathBuf, String> {
    match set {
        Ok(named) if Path::new(&named).is_dir() => Ok(named.into()),
        Ok(named) => Err(format!("{DATA_ENV} names {named:?}, which is not a folder")),
        Err(VarError::NotUnicode(named)) => Err(format!("{DATA_ENV} is not text: {named:?}")),
        Err(VarError::NotPresent) if default.is_dir() => Ok(default.into()),
        Err(VarError::NotPresent) => Err(format!("{DATA_ENV} is not set and the default folder is absent")),
    }
}

fn default_folder() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Resolved here, so that what tests print is a path a person recognises.
    workspace.canonicalize().unwrap_or(workspace).join("../shared/data")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_folder_wins_over_the_default() {
        let (named, default) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let text = named.path().to_str().unwrap().to_owned();
        assert_eq!(choose(Ok(text), default.path()), Ok(named.path().into()));
        assert_eq!(choose(Err(VarError::NotPresent), default.path()), Ok(default.path().into()));
    }

    #[test]
    fn an_absent_folder_is_told_apart_from_an_unset_name() {
        let absent = Path::new("/nonexistent/data");
        assert_eq!(
            choose(Err(VarError::NotPresent), absent).unwrap_err(),
            "HOLDFAST_TEST_DATA is not set and the default folder is absent"
        );
        let said = choose(Ok("/nonexistent/other".into()), absent).unwrap_err();
        assert!(said.contains("names \"/nonexistent/other\""), "{said}");
    }
}
