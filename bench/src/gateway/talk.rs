//! One kept HTTP/1.1 connection and what is said over it: just enough to ask a page, a peer or a driver, and to count every byte that came.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

/// Far beyond any goal, so that something that never answers is told from something slow.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// No page and no answer of a driver comes near it.
const BODY_MAX: usize = 64 << 20;
/// Nor does a head.
const LINE_MAX: u64 = 64 << 10;

#[derive(Debug)]
pub(super) struct Talk {
    stream: BufReader<TcpStream>,
    host: String,
}

/// An answer, and how many bytes of the wire it took.
#[derive(Clone, Debug, Default)]
pub(super) struct Reply {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) wire: usize,
}

impl Reply {
    /// The values of a header, whose name is given in small letters.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(super) fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body).with_context(|| format!("no JSON: {}", self.text()))
    }
}

impl Talk {
    /// Connects; `host` is what the other side is called.
    pub(super) fn to(address: SocketAddr, host: &str) -> Result<Talk> {
        let stream = TcpStream::connect(address).with_context(|| format!("connecting to {host}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        Ok(Talk { stream: BufReader::new(stream), host: host.to_owned() })
    }

    pub(super) fn get(&mut self, path: &str, headers: &[(&str, &str)]) -> Result<Reply> {
        self.ask("GET", path, headers, None)
    }

    pub(super) fn post(&mut self, path: &str, headers: &[(&str, &str)], body: &Value) -> Result<Reply> {
        self.ask("POST", path, headers, Some(&body.to_string()))
    }

    pub(super) fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Result<Reply> {
        let mut said = head(method, path, &self.host, headers);
        if let Some(body) = body {
            said.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
        }
        said.push_str("\r\n");
        said.push_str(body.unwrap_or_default());
        self.stream.get_mut().write_all(said.as_bytes())?;
        self.answer().with_context(|| format!("asking for {path}"))
    }

    fn answer(&mut self) -> Result<Reply> {
        let mut reply = Reply::default();
        let first = self.line(&mut reply.wire)?;
        let status = first.split(' ').nth(1).and_then(|word| word.parse().ok());
        reply.status = status.with_context(|| format!("no answer: {first:?}"))?;
        loop {
            let line = self.line(&mut reply.wire)?;
            let Some((name, value)) = line.split_once(':') else { break };
            reply.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let length = reply.all("content-length").next().map(str::parse::<usize>).transpose()?;
        let is_chunked = reply.all("transfer-encoding").any(|value| value == "chunked");
        match (reply.status, is_chunked, length) {
            (204 | 304, _, _) => {}
            (_, true, _) => self.chunks(&mut reply)?,
            (_, false, Some(length)) => self.bytes(&mut reply, length)?,
            (_, false, None) => bail!("an answer without an end"),
        }
        Ok(reply)
    }

    fn chunks(&mut self, reply: &mut Reply) -> Result<()> {
        loop {
            let line = self.line(&mut reply.wire)?;
            let size = usize::from_str_radix(line.split(';').next().unwrap_or_default(), 16)?;
            self.bytes(reply, size)?;
            ensure!(self.line(&mut reply.wire)?.is_empty(), "a chunk that goes on");
            if size == 0 {
                return Ok(());
            }
        }
    }

    fn bytes(&mut self, reply: &mut Reply, count: usize) -> Result<()> {
        let from = reply.body.len();
        ensure!(count <= BODY_MAX - from, "an answer of more than {BODY_MAX} bytes");
        reply.body.resize(from + count, 0);
        self.stream.read_exact(&mut reply.body[from..])?;
        reply.wire += count;
        Ok(())
    }

    fn line(&mut self, wire: &mut usize) -> Result<String> {
        let mut line = String::new();
        *wire += self.stream.by_ref().take(LINE_MAX).read_line(&mut line)?;
        ensure!(line.ends_with('\n'), "the connection was closed");
        Ok(line.trim_end().to_owned())
    }
}

/// The first line of a request and its fields, without the empty line that ends them.
pub(super) fn head(method: &str, path: &str, host: &str, headers: &[(&str, &str)]) -> String {
    let fields: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\n{fields}")
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn answered(bytes: &'static [u8]) -> Result<Reply> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 1024]).unwrap() > 0);
            stream.write_all(bytes).unwrap();
        });
        let reply = Talk::to(address, "somebody").unwrap().get("/", &[]);
        server.join().unwrap();
        reply
    }

    #[test]
    fn every_byte_of_an_answer_is_counted_however_it_is_framed() {
        let plain = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nset-cookie: a=b\r\n\r\nhello";
        let reply = answered(plain).unwrap();
        assert_eq!((reply.status, reply.text().as_str(), reply.wire), (200, "hello", plain.len()));
        assert_eq!(reply.all("set-cookie").collect::<Vec<_>>(), ["a=b"]);
        let chunked =
            b"HTTP/1.1 404 No\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
        let reply = answered(chunked).unwrap();
        assert_eq!((reply.status, reply.text().as_str(), reply.wire), (404, "hello", chunked.len()));
    }

    #[test]
    fn an_answer_that_is_cut_off_is_none() {
        for bytes in [
            &b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello"[..],
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"",
            b"nonsense\r\n\r\n",
        ] {
            assert!(answered(bytes).is_err(), "{bytes:?}");
        }
    }
}
