//! The program behind both proxies: answers of 1 KB, and an echo for whoever wants a WebSocket. And the load on them.
//!
//! Both do as little as can be done, so that what is measured stands between them: a request is looked at for its end alone, an answer is
//! one fixed write, and one thread each serves all connections.

use std::net::{SocketAddr, TcpListener as Bound};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// What an answer carries.
pub(super) const BODY: usize = 1024;
/// Heads are a few hundred bytes, and an answer little more than its body.
const BUFFER: usize = 8 * 1024;
/// The question and the answer that RFC 6455 gives as its example of a handshake.
pub(super) const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
/// A text of two letters from a client, whose mask is four zeros, and the same from a server.
pub(super) const SAID: [u8; 8] = [0x81, 0x82, 0, 0, 0, 0, b'h', b'i'];
pub(super) const ECHOED: [u8; 4] = [0x81, 0x02, b'h', b'i'];
/// Answers before the counting begins, in time: connections are made, caches are warm.
const WARM: Duration = Duration::from_millis(300);
/// Far beyond what one answer takes.
const ANSWER_MAX: Duration = Duration::from_secs(20);

pub(super) fn runtime() -> Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting a runtime")
}

/// Serves until it is dropped.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) address: SocketAddr,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Origin {
    pub(super) fn start() -> Result<Origin> {
        let bound = Bound::bind("127.0.0.1:0")?;
        bound.set_nonblocking(true)?;
        let (address, stop) = (bound.local_addr()?, Arc::new(Notify::new()));
        let (runtime, stopped) = (runtime()?, stop.clone());
        let serving = move || {
            runtime.block_on(async {
                let Ok(listener) = TcpListener::from_std(bound) else { return };
                tokio::select! {
                    () = accept(listener) => {}
                    () = stopped.notified() => {}
                }
            });
        };
        Ok(Origin { address, stop, thread: Some(std::thread::spawn(serving)) })
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            // It only serves; that it panicked was seen by whoever asked.
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener) {
    let answer: Arc<[u8]> = answer().into();
    while let Ok((stream, _)) = listener.accept().await {
        let answer = answer.clone();
        tokio::spawn(async move {
            // Whoever leaves in the middle has to say so elsewhere.
            let _ = serve(stream, &answer).await;
        });
    }
}

fn answer() -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {BODY}\r\n\r\n");
    let mut answer = head.into_bytes();
    answer.resize(answer.len() + BODY, b'x');
    answer
}

async fn serve(mut stream: TcpStream, answer: &[u8]) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut buffer, mut len) = ([0; BUFFER], 0);
    loop {
        let more = stream.read(&mut buffer[len..]).await?;
        len += more;
        if more == 0 {
            return Ok(());
        }
        if !buffer[..len].ends_with(b"\r\n\r\n") {
            continue;
        }
        if String::from_utf8_lossy(&buffer[..len]).contains(KEY) {
            return echo(stream).await;
        }
        len = 0;
        stream.write_all(answer).await?;
    }
}

async fn echo(mut stream: TcpStream) -> std::io::Result<()> {
    let agreed = format!(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: {ACCEPT}\r\n\r\n"
    );
    stream.write_all(agreed.as_bytes()).await?;
    let mut said = [0; SAID.len()];
    while stream.read_exact(&mut said).await.is_ok() {
        stream.write_all(&ECHOED).await?;
    }
    Ok(())
}

/// What came of a turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Turn {
    pub(super) per_second: f64,
    /// All that were answered, those before the counting began with them.
    pub(super) answered: usize,
    /// Of each answer that counts.
    pub(super) micros: Vec<f64>,
}

/// Asks the same again and again over so many connections.
pub(super) fn load(to: SocketAddr, request: &str, connections: usize, lasts: Duration) -> Result<Turn> {
    let request: Arc<[u8]> = request.as_bytes().into();
    let begins = Instant::now() + WARM;
    runtime()?.block_on(async {
        let mut asking = JoinSet::new();
        for _ in 0..connections {
            asking.spawn(ask(to, request.clone(), begins, begins + lasts));
        }
        let mut turn = Turn::default();
        while let Some(done) = asking.join_next().await {
            let (micros, all) = done??;
            turn.micros.extend(micros);
            turn.answered += all;
        }
        turn.per_second = turn.micros.len() as f64 / lasts.as_secs_f64();
        Ok(turn)
    })
}

/// The first answer says how long all of them are: they differ in nothing but the time.
async fn ask(
    to: SocketAddr,
    request: Arc<[u8]>,
    begins: Instant,
    ends: Instant,
) -> Result<(Vec<f64>, usize)> {
    let mut stream = TcpStream::connect(to).await?;
    stream.set_nodelay(true)?;
    let (mut buffer, mut micros) = ([0; BUFFER], Vec::new());
    let (mut whole, mut all) = (None, 0);
    loop {
        let asked = Instant::now();
        stream.write_all(&request).await?;
        let len = tokio::time::timeout(ANSWER_MAX, answered(&mut stream, &mut buffer, whole)).await??;
        ensure!(buffer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&buffer[..len.min(200)]));
        whole = Some(len);
        all += 1;
        let now = Instant::now();
        if now > ends {
            return Ok((micros, all));
        }
        if asked >= begins {
            micros.push((now - asked).as_secs_f64() * 1e6);
        }
    }
}

async fn answered(stream: &mut TcpStream, buffer: &mut [u8], whole: Option<usize>) -> Result<usize> {
    let mut len = 0;
    loop {
        let more = stream.read(&mut buffer[len..]).await?;
        len += more;
        ensure!(more > 0, "the connection was closed: {}", String::from_utf8_lossy(&buffer[..len.min(200)]));
        let is_whole = match whole {
            Some(whole) => len >= whole,
            None => {
                buffer[..len]
                    .windows(4)
                    .position(|four| four == b"\r\n\r\n")
                    .is_some_and(|head| len >= head + 4 + BODY)
                    || !buffer.starts_with(b"HTTP/1.1 200")
            }
        };
        if is_whole {
            return Ok(len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::talk::head;

    #[test]
    fn the_load_counts_answers_of_the_origin() {
        let origin = Origin::start().unwrap();
        let request = format!("{}\r\n", head("GET", "/", "origin", &[]));
        let turn = load(origin.address, &request, 4, Duration::from_millis(100)).unwrap();
        assert!(turn.per_second > 0.0 && turn.micros.len() as f64 / 0.1 == turn.per_second);
    }

    #[test]
    fn a_refusal_ends_the_load() {
        let listener = Bound::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let refusing = std::thread::spawn(move || {
            use std::io::{Read as _, Write as _};
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 1024]).unwrap() > 0);
            stream.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n").unwrap();
        });
        let request = format!("{}\r\n", head("GET", "/", "origin", &[]));
        let said = load(address, &request, 1, Duration::from_millis(50)).unwrap_err().to_string();
        assert!(said.contains("401"), "{said}");
        refusing.join().unwrap();
    }
}
