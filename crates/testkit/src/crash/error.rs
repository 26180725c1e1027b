//! Why a child did not get to the point the test wanted.

use std::fmt;
use std::process::ExitStatus;
use std::time::Duration;

/// Each variant carries what the child printed, because that is where the reason stands.
pub enum CrashError {
    Start { child: String, source: std::io::Error },
    NeverEntered { child: String, status: ExitStatus, output: String },
    TimedOut { child: String, limit: Duration, output: String },
    NotReached { child: String, wanted: String, limit: Duration, output: String },
    EndedFirst { child: String, wanted: String, status: ExitStatus, output: String },
}

impl fmt::Display for CrashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CrashError::Start { child, source } => write!(f, "cannot start {child}: {source}"),
            CrashError::NeverEntered { child, status, output } => write!(
                f,
                "the child ended ({status}) without calling crash::child_main({child:?}, ..): the name must be \
                 the full name of the test function, as `cargo test -- --list` shows it\n{output}"
            ),
            CrashError::TimedOut { child, limit, output } => {
                write!(
                    f,
                    "{child} was killed because it still ran after its time limit of {limit:?}\n{output}"
                )
            }
            CrashError::NotReached { child, wanted, limit, output } => {
                write!(f, "waited {limit:?} in vain for {wanted} from {child}\n{output}")
            }
            CrashError::EndedFirst { child, wanted, status, output } => {
                write!(f, "{child} ended ({status}) before {wanted}\n{output}")
            }
        }
    }
}

/// The same as the display form: `unwrap` in a test prints this, and escaped newlines are hard to read.
impl fmt::Debug for CrashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for CrashError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CrashError::Start { source, .. } => Some(source),
            CrashError::NeverEntered { .. }
            | CrashError::TimedOut { .. }
            | CrashError::NotReached { .. }
            | CrashError::EndedFirst { .. } => None,
        }
    }
}
