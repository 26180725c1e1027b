//! People are told without the steward's help: on standard error, which the service manager keeps, and by a webhook of the guard's own.
//!
//! What cannot be told stops nothing.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_probe::{Method, Request};
use serde_json::json;

use crate::provider::secret;

/// Longer nobody is talked to.
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

    /// The same, and a message to people. Nobody waits for it: a receiver that hangs puts off no way back.
    pub fn tell(&self, severity: Severity, event: &str, target: &str, line: &str) {
        Teller::note(severity, line);
        let Some(file) = self.webhook.clone() else { return };
        let (_, word) = severity.word();
        let body = json!({"event": event, "severity": word, "target": target, "message": line}).to_string();
        let send = move || match sent(&file, body) {
            Ok(status) if status < 300 => {}
            Ok(status) => {
                Teller::note(Severity::Warning, &format!("the webhook answered with status {status}"))
            }
            Err(why) => Teller::note(Severity::Warning, &format!("the webhook was not told: {why}")),
        };
        if std::thread::Builder::new().name("tell".to_owned()).spawn(send).is_err() {
            Teller::note(Severity::Warning, "the webhook was not told: no thread can be started");
        }
    }
}

/// Neither the address nor what a library says about it is told: it is a secret.
fn sent(file: &Path, body: String) -> Result<u16, String> {
    let unusable = |_| "its address is none that can be used".to_owned();
    let url = secret(file)?.parse().map_err(unusable)?;
    let request = Request::new(Method::Post, url).header("Content-Type", "application/json");
    let request = request.map_err(|_| "it cannot be asked".to_owned())?.body(body.into_bytes());
    let answer = holdfast_probe::http(&request, WITHIN, crate::clock::wall());
    answer.map(|answer| answer.status).map_err(|_| "it could not be reached".to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::time::Instant;

    use super::*;

    #[test]
    fn people_are_told_and_one_who_hangs_holds_up_nobody() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("url");
        std::fs::write(&file, format!("http://{}/S3CR3T\n", listener.local_addr().unwrap())).unwrap();
        let teller = Teller::new(Some(file.clone()));
        let began = Instant::now();
        teller.tell(Severity::Emergency, "rollback_failed", "box-1", "no way back worked");
        assert!(began.elapsed() < WITHIN, "it was waited for");
        let (mut stream, _) = listener.accept().unwrap();
        let mut heard = vec![0; 4096];
        let mut length = 0;
        while !String::from_utf8_lossy(&heard[..length]).contains("no way back worked") {
            length += stream.read(&mut heard[length..]).unwrap();
        }
        stream.write_all(b"HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n").unwrap();
        let heard = String::from_utf8_lossy(&heard[..length]).into_owned();
        assert!(heard.starts_with("POST /S3CR3T HTTP/1.1"), "{heard}");
        assert!(
            heard.contains(r#""event":"rollback_failed""#) && heard.contains(r#""severity":"critical""#),
            "{heard}"
        );
        drop((stream, listener));
        let why = sent(&file, String::new()).unwrap_err();
        assert!(!why.contains("S3CR3T"), "{why}");
    }
}
