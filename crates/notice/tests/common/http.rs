//! A small HTTP receiver on a thread of its own, which keeps what it got and answers as the test says.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Instant;

#[derive(Clone, Debug)]
pub struct Request {
    pub line: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
    pub at: Instant,
}

impl Request {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }
}

#[derive(Clone, Debug)]
pub enum Answer {
    Status(u16),
    With(u16, &'static str),
    /// With further headers and a body.
    Body(u16, &'static str, &'static str),
    /// Takes the request and hangs up without a word.
    HangUp,
    /// Takes the request and says nothing for as long as the caller waits.
    Silence,
    /// Says 200 and then sends a body without end.
    Endless,
}

#[derive(Debug)]
pub struct Receiver {
    pub port: u16,
    got: Arc<Mutex<Vec<Request>>>,
}

impl Receiver {
    /// Listens until the process ends.
    pub fn start(answer: impl FnMut(&Request) -> Answer + Send + 'static) -> Receiver {
        Receiver::on(TcpListener::bind("127.0.0.1:0").unwrap(), answer)
    }

    pub fn on(
        listener: TcpListener,
        mut answer: impl FnMut(&Request) -> Answer + Send + 'static,
    ) -> Receiver {
        let (port, got) = (listener.local_addr().unwrap().port(), Arc::<Mutex<Vec<Request>>>::default());
        let kept = got.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                // A caller that was killed has sent half a request.
                let Some(request) = read(&stream) else { continue };
                kept.lock().unwrap().push(request.clone());
                respond(stream, &answer(&request));
            }
        });
        Receiver { port, got }
    }

    pub fn got(&self) -> Vec<Request> {
        self.got.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let header = |line: &String| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    let headers: BTreeMap<String, String> = lines.iter().skip(1).filter_map(header).collect();
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Request { line: lines.first()?.clone(), headers, body, at: Instant::now() })
}

/// A caller that went away is no failure of the receiver.
fn respond(mut stream: TcpStream, answer: &Answer) {
    let head = |status: u16, more: &str| format!("HTTP/1.1 {status} x\r\nconnection: close\r\n{more}");
    let empty = "content-length: 0\r\n\r\n";
    let _ = match answer {
        Answer::Status(status) => stream.write_all((head(*status, "") + empty).as_bytes()),
        Answer::With(status, more) => stream.write_all((head(*status, more) + empty).as_bytes()),
        Answer::Body(status, more, body) => {
            let length = format!("content-length: {}\r\n\r\n{body}", body.len());
            stream.write_all((head(*status, more) + &length).as_bytes())
        }
        Answer::HangUp => Ok(()),
        Answer::Silence => stream.read(&mut [0]).map(drop),
        Answer::Endless => {
            std::thread::spawn(move || {
                let _ = stream.write_all(head(200, "\r\n").as_bytes());
                while stream.write_all(&[b'x'; 1024]).is_ok() {}
            });
            Ok(())
        }
    };
}
