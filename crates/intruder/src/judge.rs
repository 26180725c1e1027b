//! From what the kernel said to an outcome.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::Outcome;
use crate::errno::{BARRED, Errno};

/// What an attempt works with: `Err` ends it early, with an outcome all the same.
pub(crate) type Tried = Result<Outcome, Outcome>;

/// The outcome, however the attempt came to its end.
pub(crate) fn settle(tried: Tried) -> Outcome {
    tried.unwrap_or_else(|early| early)
}

pub(crate) fn refused(how: impl Into<String>) -> Outcome {
    Outcome::Refused { how: how.into() }
}

pub(crate) fn through(what: impl Into<String>) -> Outcome {
    Outcome::Through { what: what.into() }
}

pub(crate) fn could_not(why: impl Into<String>) -> Outcome {
    Outcome::CouldNotTry { why: why.into() }
}

/// For attempts that are over when something is held in hand: any error is a refusal.
pub(crate) fn done<T>(got: Result<T, impl Into<Errno>>, what: &str) -> Tried {
    match got {
        Ok(_) => Ok(through(what)),
        Err(e) => Ok(refused(e.into().to_string())),
    }
}

/// For calls whose arguments the kernel turns down after its permission check: only the errors of [`BARRED`] are
/// a refusal, any other says that the call came past the fences.
pub(crate) fn reached<T>(got: Result<T, impl Into<Errno>>) -> Tried {
    reached_unless(got, &[])
}

/// Like [`reached`], with further errors by which a fence says no.
pub(crate) fn reached_unless<T>(got: Result<T, impl Into<Errno>>, also: &[i32]) -> Tried {
    Ok(match got.map_err(Into::into) {
        Ok(_) => through("the call was carried out"),
        Err(e) if BARRED.contains(&e.0) || also.contains(&e.0) => refused(e.to_string()),
        Err(e) => through(format!("the call came to the check of its arguments: {e}")),
    })
}

/// For a step that has to succeed before the attempt proper: its refusal is the refusal of the attempt.
pub(crate) fn step<T>(got: Result<T, impl Into<Errno>>) -> Result<T, Outcome> {
    got.map_err(|e| refused(e.into().to_string()))
}

/// For preparation in the attempt's own place, which no fence forbids.
pub(crate) fn prepare<T>(got: Result<T, impl Into<Errno>>, what: &str) -> Result<T, Outcome> {
    got.map_err(|e| could_not(format!("{what}: {}", e.into())))
}

/// A path as the kernel takes it.
pub(crate) fn c_path(path: impl AsRef<Path>) -> Result<CString, Outcome> {
    CString::new(path.as_ref().as_os_str().as_bytes()).map_err(|_| could_not("a path holds a zero byte"))
}
