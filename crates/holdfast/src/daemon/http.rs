//! Health and metrics over HTTP, by hand: two fixed pages for one machine's own tools, each request bounded in
//! size, time and number. The gateway is where HTTP is spoken for real.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use holdfast_supervisor::{Failed, Life};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::debug;

use super::health::{self, Known};
use super::parts::Shared;
use crate::problem::Result;

/// No tool that scrapes sends more.
pub(super) const HEAD_MAX: usize = 8 * 1024;
const CLIENTS_MAX: usize = 32;
const TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) async fn run(shared: Shared, listener: Arc<TcpListener>, life: Life) -> Result<(), Failed> {
    let permits = Arc::new(Semaphore::new(CLIENTS_MAX));
    loop {
        life.beat.now();
        tokio::select! {
            // An accepted client is handed on at once; dropping the others loses nothing.
            () = life.stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(Duration::from_secs(20)) => {}
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                let Ok(permit) = permits.clone().try_acquire_owned() else { continue };
                let shared = shared.clone();
                tokio::spawn(async move {
                    let talk = tokio::time::timeout(TIMEOUT, talk(stream, shared, permit));
                    if let Ok(Err(e)) | Err(e) = talk.await.map_err(std::io::Error::from) {
                        debug!(error = %e, "a client of the health door left early");
                    }
                });
            }
        }
    }
}

async fn talk(mut stream: TcpStream, shared: Shared, permit: OwnedSemaphorePermit) -> std::io::Result<()> {
    let head = read_head(&mut stream).await?;
    let page = match parse(&head) {
        Ok(Path::Health) => health(&shared),
        Ok(Path::Metrics) => {
            // The permit goes with the thread: a disk that hangs must not collect threads without end.
            let work = move || {
                let page = metrics(&shared);
                drop(permit);
                page
            };
            tokio::task::spawn_blocking(work).await.unwrap_or(BROKEN)
        }
        Err(page) => page,
    };
    page.send(&mut stream).await
}

async fn read_head(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(512);
    let mut chunk = [0; 1024];
    while !head.windows(4).any(|w| w == b"\r\n\r\n") && head.len() < HEAD_MAX {
        match stream.read(&mut chunk).await? {
            0 => break,
            n => head.extend_from_slice(&chunk[..n]),
        }
    }
    Ok(head)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    Health,
    Metrics,
}

/// One answer, after which the connection ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) status: &'static str,
    pub(super) kind: &'static str,
    /// Seconds after which it is worth asking again.
    pub(super) retry_after: Option<u64>,
    pub(super) body: String,
}

impl Page {
    pub(super) async fn send(self, stream: &mut TcpStream) -> std::io::Result<()> {
        let Page { status, kind, retry_after, body } = self;
        let (length, again) = (body.len(), retry_after.map(|seconds| format!("Retry-After: {seconds}\r\n")));
        let again = again.unwrap_or_default();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{again}Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        stream.shutdown().await
    }
}

const TEXT: &str = "text/plain; charset=utf-8";

const BROKEN: Page =
    Page { status: "500 Internal Server Error", kind: TEXT, retry_after: None, body: String::new() };

fn plain(status: &'static str, body: &str) -> Page {
    Page { status, kind: TEXT, retry_after: None, body: format!("{body}\n") }
}

fn parse(head: &[u8]) -> Result<Path, Page> {
    let line = head.split(|b| *b == b'\r').next().unwrap_or_default();
    let line = std::str::from_utf8(line).map_err(|_| plain("400 Bad Request", "not a request"))?;
    let mut words = line.split(' ');
    let (method, path, version) = (words.next(), words.next(), words.next());
    if !version.is_some_and(|v| v.starts_with("HTTP/1.")) || words.next().is_some() {
        return Err(plain("400 Bad Request", "not a request"));
    }
    if method != Some("GET") {
        return Err(plain("405 Method Not Allowed", "only GET is answered here"));
    }
    match path.unwrap_or_default().split('?').next() {
        Some("/health") => Ok(Path::Health),
        Some("/metrics") => Ok(Path::Metrics),
        _ => Err(plain("404 Not Found", "there is /health and /metrics")),
    }
}

/// From memory alone: it must answer when the disk does not.
fn health(shared: &Shared) -> Page {
    let Some(staff) = shared.office.staff() else { return BROKEN };
    let found = shared.findings.lock().unwrap_or_else(PoisonError::into_inner).len();
    let known = Known {
        parts_safe: staff.board.is_safe(),
        parts: &staff.board.parts(),
        findings: found + usize::from(shared.office.certificate_trouble().is_some()),
        disk: *shared.disk.lock().unwrap_or_else(PoisonError::into_inner),
        targets: &shared.office.bench.vitals(),
        now: shared.office.clock.monotonic(),
    };
    let (safe, body) = health::page(&known);
    let status = if safe { "200 OK" } else { "503 Service Unavailable" };
    Page { status, kind: "application/json", retry_after: None, body: format!("{body}\n") }
}

fn metrics(shared: &Shared) -> Page {
    let Ok(status) = shared.office.status() else { return BROKEN };
    Page {
        status: "200 OK",
        kind: "application/openmetrics-text; version=1.0.0; charset=utf-8",
        retry_after: None,
        body: shared.metrics.render(&status, shared),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_pages_are_served_and_everything_else_is_refused_in_words() {
        let check = |head: &str, said: Result<Path, &str>| {
            let found = parse(head.as_bytes());
            match said {
                Ok(path) => assert_eq!(found, Ok(path), "{head:?}"),
                Err(status) => assert!(found.as_ref().unwrap_err().status.starts_with(status), "{head:?}"),
            }
        };
        check("GET /health HTTP/1.1\r\nHost: x\r\n\r\n", Ok(Path::Health));
        check("GET /metrics?x=1 HTTP/1.0\r\n\r\n", Ok(Path::Metrics));
        check("GET / HTTP/1.1\r\n\r\n", Err("404"));
        check("GET /../etc HTTP/1.1\r\n\r\n", Err("404"));
        check("POST /health HTTP/1.1\r\n\r\n", Err("405"));
        check("hello", Err("400"));
        check("", Err("400"));
        check("GET /health HTTP/2\r\n\r\n", Err("400"));
        check("GET /health extra HTTP/1.1\r\n\r\n", Err("400"));
        assert!(parse(b"\xff\xff").is_err());
    }
}
