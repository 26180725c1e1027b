//! People are told without the steward's help: on standard error, which the service manager keeps, and by a webhook of the guard's own.
//!
//! What cannot be told stops nothing.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use holdfast_probe::{Method, Request};
use serde_json::json;

use crate::provider::secret;

/// Telling may not hold up a round for longer than a look takes.
const WITHIN: Duration = Duration::from_secs(5);

/// How bad it is. The numbers are those of syslog, which the service manager reads at the beginning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Emergency,
    Critical,
    Warning,
    Info,
}

impl Severity {
    fn word(self) -> (u8, &'static str) {
        match self {
            Severity::Emergency => (0, "critical"),
            Severity::Critical => (2, "critical"),
            Severity::Warning => (4, "high"),
            Severity::Info => (6, "info"),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Teller {
    webhook: Option<PathBuf>,
}

impl Teller {
    pub fn new(webhook: Option<PathBuf>) -> Teller {
        Teller { webhook }
    }

    /// A line in the system's log.
    pub fn note(severity: Severity, line: &str) {
        let (level, _) = severity.word();
        let _nobody_reads = writeln!(std::io::stderr(), "<{level}>{}", line.replace('\n', " "));
    }

    /// The same, and a message to people.
    pub fn tell(&self, severity: Severity, event: &str, target: &str, line: &str) {
        Teller::note(severity, line);
        let Some(file) = &self.webhook else { return };
        let (_, word) = severity.word();
        let body = json!({"event": event, "severity": word, "target": target, "message": line});
        // Neither the address nor what a library says about it: it is a secret.
        let sent = secret(file).and_then(|address| {
            let unusable = |_| "its address is none that can be used".to_owned();
            let url = address.parse().map_err(unusable)?;
            let request = Request::new(Method::Post, url).header("Content-Type", "application/json");
            let request =
                request.map_err(|_| "it cannot be asked".to_owned())?.body(body.to_string().into_bytes());
            holdfast_probe::http(&request, WITHIN, crate::clock::wall())
                .map_err(|_| "it could not be reached".to_owned())
        });
        match sent {
            Ok(answer) if answer.status < 300 => {}
            Ok(answer) => Teller::note(
                Severity::Warning,
                &format!("the webhook answered with status {}", answer.status),
            ),
            Err(why) => Teller::note(Severity::Warning, &format!("the webhook was not told: {why}")),
        }
    }
}
