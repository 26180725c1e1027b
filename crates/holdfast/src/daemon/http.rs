//! Health and metrics over HTTP, by hand: two fixed pages for one machine's own tools, each request bounded in
//! size, time and number. The gateway is where HTTP is spoken for real.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use holdfast_config::Config;
use holdfast_door::Listening;
use holdfast_supervisor::{Failed, Life};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::descriptors::give_spare;
use super::health::{self, Known};
use super::parts::Shared;
use crate::problem::Result;

/// No tool that scrapes sends more.
pub(super) const HEAD_MAX: usize = 8 * 1024;
const CLIENTS_MAX: usize = 32;
const TIMEOUT: Duration = Duration::from_secs(5);
/// For a place that is being made: whoever has it only has to be woken.
const PLACE_WITHIN: Duration = Duration::from_millis(250);

pub(crate) async fn run(shared: Shared, listening: Arc<Listening>, life: Life) -> Result<(), Failed> {
    let permits = Arc::new(Semaphore::new(CLIENTS_MAX));
    let names = Arc::new(names(&shared.office.config().config));
    // Those who have not said what they want, the first to come first.
    let mut silent: VecDeque<CancellationToken> = VecDeque::new();
    loop {
        life.beat.now();
        tokio::select! {
            // An accepted client is handed on at once; dropping the others loses nothing.
            () = life.stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(Duration::from_secs(20)) => {}
            accepted = listening.accept() => {
                let (stream, _) = match accepted {
                    Err(e) if give_spare(&e) => continue,
                    accepted => accepted?,
                };
                silent.retain(|client| !client.is_cancelled());
                let Some(permit) = place(&permits, &mut silent).await else { continue };
                let client = CancellationToken::new();
                silent.push_back(client.clone());
                tokio::spawn(attend(stream, shared.clone(), names.clone(), client, permit));
            }
        }
    }
}

/// A place for one more. When there is none, whoever has said nothing for longest makes room: a few connections that ask for nothing must not
/// keep a monitor away.
async fn place(
    permits: &Arc<Semaphore>,
    silent: &mut VecDeque<CancellationToken>,
) -> Option<OwnedSemaphorePermit> {
    if let Ok(permit) = permits.clone().try_acquire_owned() {
        return Some(permit);
    }
    silent.pop_front()?.cancel();
    tokio::time::timeout(PLACE_WITHIN, permits.clone().acquire_owned()).await.ok()?.ok()
}

async fn attend(
    mut stream: TcpStream,
    shared: Shared,
    names: Arc<Vec<String>>,
    client: CancellationToken,
    permit: OwnedSemaphorePermit,
) {
    let head = tokio::select! {
        // It asked for nothing yet.
        () = client.cancelled() => return,
        head = tokio::time::timeout(TIMEOUT, read_head(&mut stream)) => head,
    };
    // From here on it makes room for nobody.
    client.cancel();
    let said = match head.map_err(std::io::Error::from) {
        Ok(Ok(head)) => tokio::time::timeout(TIMEOUT, answer(stream, &head, shared, &names, permit)).await,
        Ok(Err(e)) | Err(e) => Ok(Err(e)),
    };
    if let Ok(Err(e)) | Err(e) = said.map_err(std::io::Error::from) {
        debug!(error = %e, "a client of the health door left early");
    }
}

async fn answer(
    mut stream: TcpStream,
    head: &[u8],
    shared: Shared,
    names: &[String],
    permit: OwnedSemaphorePermit,
) -> std::io::Result<()> {
    let here = stream.local_addr()?.ip();
    let page = match parse(head).and_then(|path| asks_us(head, here, names).map(|()| path)) {
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

/// The names under which it may be asked.
fn names(config: &Config) -> Vec<String> {
    let gateway = config.gateway.address.as_ref().and_then(|address| url::Url::parse(address.as_str()).ok());
    let gateway = gateway.as_ref().and_then(url::Url::host_str);
    let named = config.health.hosts.iter().map(|host| host.as_str());
    let all = ["localhost"].into_iter().chain(gateway).chain(named);
    all.map(|name| bare(name).to_ascii_lowercase()).collect()
}

/// Without what IPv6 has around it, and without the dot of a whole name.
fn bare(host: &str) -> &str {
    let inner = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(host);
    inner.strip_suffix('.').unwrap_or(inner)
}

/// Whether the host that a request is for is this one.
///
/// A web page may lead its own name to this machine and then read what answers there as if it were its own ("DNS rebinding"); the browser still says
/// that name. What names no host is no browser.
fn asks_us(head: &[u8], here: IpAddr, names: &[String]) -> Result<(), Page> {
    let text = std::str::from_utf8(head).map_err(|_| plain("400 Bad Request", "not a request"))?;
    let mut hosts = text.split("\r\n").skip(1).filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("host").then_some(value.trim())
    });
    let (host, another) = (hosts.next(), hosts.next());
    let Some(host) = host else { return Ok(()) };
    let is_ours = |name: &str| match name.parse::<IpAddr>().map(|ip| ip.to_canonical()) {
        Ok(ip) => ip.is_loopback() || ip == here.to_canonical() || names.iter().any(|known| known == name),
        Err(_) => names.contains(&name.to_ascii_lowercase()),
    };
    if another.is_none() && without_port(host).is_some_and(|name| is_ours(bare(name))) {
        return Ok(());
    }
    Err(plain(
        "421 Misdirected Request",
        "this is not the host that is asked for; health.hosts names further ones under which it may be",
    ))
}

/// The host of `host[:port]`.
fn without_port(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(_) => host.split_at_checked(host.find(']')? + 1)?,
        None => host.split_at_checked(host.find(':').unwrap_or(host.len()))?,
    };
    let port_is_one = port.is_empty() || port.strip_prefix(':')?.bytes().all(|b| b.is_ascii_digit());
    port_is_one.then_some(name)
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
    fn it_answers_for_hosts_that_are_this_one_and_for_no_other() {
        let config = Config::default();
        let mut known = names(&config);
        known.push("box-1.lan".to_owned());
        let check = |hosts: &[&str], good: bool| {
            let fields: String = hosts.iter().map(|host| format!("HoSt: {host}\r\n")).collect();
            let head = format!("GET /health HTTP/1.1\r\n{fields}\r\n");
            let said = asks_us(head.as_bytes(), "192.0.2.7".parse().unwrap(), &known);
            assert_eq!(said.is_ok(), good, "{hosts:?}");
        };
        for good in [
            "localhost",
            "LocalHost:9095",
            "localhost.:9095",
            "127.0.0.1:9095",
            "[::1]:9095",
            "127.9.9.9",
            "192.0.2.7:9095",
            "BOX-1.lan",
        ] {
            check(&[good], true);
        }
        for bad in [
            "evil.example",
            "evil.example:9095",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.0.2.8:9095",
            "0.0.0.0:9095",
            "[::1].evil.example",
            "[::1",
            "localhost:9095@evil.example",
            "",
            ":9095",
        ] {
            check(&[bad], false);
        }
        check(&[], true);
        check(&["localhost", "localhost"], false);
        check(&["localhost", "evil.example"], false);
    }

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
