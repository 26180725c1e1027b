//! Whoever provides the machine can start it again: first asked softly, then by a reset, which a hung one cannot ignore.
//!
//! Accepted is not done: whether it came up with what is wanted is seen by looking at it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use holdfast_probe::{Method, Request, Url};
use serde::Deserialize;

/// A token, a header or an address is a line.
const SECRET_BYTES_MAX: u64 = 8 << 10;
const HETZNER: &str = "https://api.hetzner.cloud/v1";
const LOOK_EVERY: Duration = Duration::from_millis(20);

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Provider {
    /// A server of Hetzner Cloud, by its number.
    Hetzner {
        server: u64,
        /// The file with the token.
        token: PathBuf,
        /// Where its API is, when it is not where it usually is.
        #[serde(default)]
        api: Option<String>,
    },
    /// Programs by their argument lists; each is done when it ends with 0.
    Command { reboot: Vec<String>, reset: Vec<String>, check: Vec<String> },
    /// Any API: a call each.
    Http(Box<Calls>),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calls {
    pub reboot: Call,
    pub reset: Call,
    pub check: Call,
}

/// One HTTP call; done when the answer's status is 2xx.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    pub url: Url,
    #[serde(default)]
    pub method: How,
    #[serde(default)]
    pub body: Option<String>,
    /// Headers, whose values are read from these files: they are secrets as a rule.
    #[serde(default)]
    pub headers: BTreeMap<String, PathBuf>,
}

/// How it is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum How {
    Get,
    #[default]
    Post,
    Put,
    Delete,
}

/// What is asked of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Reboot,
    Reset,
    /// Nothing is done; only whether it would listen.
    Check,
}

impl Provider {
    /// Where it is asked, as `host:port`; nothing of programs, which go where they like.
    pub fn addresses(&self) -> Vec<String> {
        match self {
            Provider::Hetzner { api, .. } => {
                let api: Result<Url, _> = api.as_deref().unwrap_or(HETZNER).parse();
                api.into_iter().map(|url| url.address().to_string()).collect()
            }
            Provider::Command { .. } => Vec::new(),
            Provider::Http(calls) => [&calls.reboot, &calls.reset, &calls.check]
                .map(|call| call.url.address().to_string())
                .to_vec(),
        }
    }

    /// Returns when it was accepted, or why it was not.
    pub fn ask(&self, wish: Wish, within: Duration) -> Result<(), String> {
        match self {
            Provider::Hetzner { server, token, api } => {
                let api = api.as_deref().unwrap_or(HETZNER).trim_end_matches('/');
                let (method, path) = match wish {
                    Wish::Reboot => (Method::Post, "/actions/reboot"),
                    Wish::Reset => (Method::Post, "/actions/reset"),
                    Wish::Check => (Method::Get, ""),
                };
                let url: Url = format!("{api}/servers/{server}{path}").parse().map_err(said)?;
                let bearer = format!("Bearer {}", secret(token)?);
                called(&Request::new(method, url).header("Authorization", &bearer).map_err(said)?, within)
            }
            Provider::Command { reboot, reset, check } => ran(
                match wish {
                    Wish::Reboot => reboot,
                    Wish::Reset => reset,
                    Wish::Check => check,
                },
                within,
            ),
            Provider::Http(calls) => {
                let call = match wish {
                    Wish::Reboot => &calls.reboot,
                    Wish::Reset => &calls.reset,
                    Wish::Check => &calls.check,
                };
                let method = match call.method {
                    How::Get => Method::Get,
                    How::Post => Method::Post,
                    How::Put => Method::Put,
                    How::Delete => Method::Delete,
                };
                let mut request = Request::new(method, call.url.clone());
                for (name, file) in &call.headers {
                    request = request.header(name, &secret(file)?).map_err(said)?;
                }
                let body = call.body.clone().unwrap_or_default().into_bytes();
                called(&request.body(body), within)
            }
        }
    }
}

fn said(e: impl std::fmt::Display) -> String {
    e.to_string()
}

fn called(request: &Request, within: Duration) -> Result<(), String> {
    match holdfast_probe::http(request, within, crate::clock::wall()) {
        Ok(answer) if (200..300).contains(&answer.status) => Ok(()),
        Ok(answer) => Err(format!("the provider answered with status {}", answer.status)),
        Err(e) => Err(e.to_string()),
    }
}

/// What a file of one line holds. Its text appears in no error.
pub(crate) fn secret(path: &Path) -> Result<String, String> {
    let meta = std::fs::metadata(path).map_err(|e| format!("{}: {e}", path.display()))?;
    if meta.len() > SECRET_BYTES_MAX {
        return Err(format!("{} is longer than a secret is", path.display()));
    }
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(text.trim().to_owned())
}

/// Runs a program, which gets nothing and whose words nobody reads. It is over when this returns.
fn ran(argv: &[String], within: Duration) -> Result<(), String> {
    let [program, args @ ..] = argv else { return Err("no program is named".to_owned()) };
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|e| format!("{program}: {e}"))?;
    let until = Instant::now() + within;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("{program} ended with {status}")),
            Ok(None) if Instant::now() < until => std::thread::sleep(LOOK_EVERY),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{program} did not end within {} s", within.as_secs()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;
    use std::sync::mpsc;

    use super::*;

    const SOON: Duration = Duration::from_secs(5);

    /// A provider that answers with these statuses, one after the other; gives its address and what it was asked. Scripted: the real one is
    /// paid.
    fn scripted(statuses: &'static [u16]) -> (String, mpsc::Receiver<(String, Option<String>)>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            for status in statuses {
                let (mut stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut first = String::new();
                reader.read_line(&mut first).unwrap();
                let mut token = None;
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    if line.trim().is_empty() {
                        break;
                    }
                    if line.to_ascii_lowercase().starts_with("authorization:") {
                        token = Some(line[14..].trim().to_owned());
                    }
                }
                write!(stream, "HTTP/1.1 {status} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    .unwrap();
                tell.send((first.trim().to_owned(), token)).unwrap();
            }
        });
        (address, told)
    }

    // shows: STW-181
    #[test]
    fn a_server_is_asked_softly_then_reset_and_checked_without_doing_anything() {
        let (api, told) = scripted(&[201, 201, 200, 401]);
        let folder = tempfile::tempdir().unwrap();
        let token = folder.path().join("token");
        std::fs::write(&token, "s3cret-token\n").unwrap();
        let provider: Provider = serde_json::from_value(
            serde_json::json!({"hetzner": {"server": 42, "token": token, "api": api}}),
        )
        .unwrap();
        provider.ask(Wish::Reboot, SOON).unwrap();
        provider.ask(Wish::Reset, SOON).unwrap();
        provider.ask(Wish::Check, SOON).unwrap();
        let refused = provider.ask(Wish::Check, SOON).unwrap_err();
        assert_eq!(refused, "the provider answered with status 401");
        let asked: Vec<_> = told.iter().take(4).collect();
        let lines: Vec<&str> = asked.iter().map(|(line, _)| line.as_str()).collect();
        assert_eq!(
            lines,
            [
                "POST /servers/42/actions/reboot HTTP/1.1",
                "POST /servers/42/actions/reset HTTP/1.1",
                "GET /servers/42 HTTP/1.1",
                "GET /servers/42 HTTP/1.1"
            ]
        );
        assert!(asked.iter().all(|(_, token)| token.as_deref() == Some("Bearer s3cret-token")));
        assert!(!format!("{provider:?}").contains("s3cret"));
    }

    // shows: STW-320
    #[test]
    fn a_program_is_done_when_it_ends_well_and_one_that_hangs_is_ended() {
        let program = |argv: &[&str]| argv.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
        let provider = Provider::Command {
            reboot: program(&["true"]),
            reset: program(&["false"]),
            check: program(&["sleep", "60"]),
        };
        assert_eq!(provider.ask(Wish::Reboot, SOON), Ok(()));
        assert!(provider.ask(Wish::Reset, SOON).unwrap_err().contains("ended with"));
        let began = Instant::now();
        assert!(provider.ask(Wish::Check, Duration::from_millis(200)).unwrap_err().contains("did not end"));
        assert!(began.elapsed() < SOON);
        assert!(ran(&[], SOON).is_err());
        assert!(ran(&program(&["/no/such/program"]), SOON).unwrap_err().contains("/no/such/program"));
    }

    #[test]
    fn any_api_can_be_told_with_headers_from_files() {
        let (address, told) = scripted(&[204]);
        let folder = tempfile::tempdir().unwrap();
        let header = folder.path().join("header");
        std::fs::write(&header, "Basic abc").unwrap();
        let call = |path: &str| serde_json::json!({"url": format!("{address}{path}"), "method": "POST", "headers": {"Authorization": header}});
        let provider: Provider = serde_json::from_value(
            serde_json::json!({"http": {"reboot": call("/r"), "reset": call("/x"), "check": call("/c")}}),
        )
        .unwrap();
        provider.ask(Wish::Reset, SOON).unwrap();
        assert_eq!(told.recv().unwrap(), ("POST /x HTTP/1.1".to_owned(), Some("Basic abc".to_owned())));
    }
}
