//! A receiver of webhooks: a small HTTP server that keeps what it is told, and can be away.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::running::an_address;

pub struct Receiver {
    pub address: SocketAddr,
    heard: Arc<Mutex<Vec<Heard>>>,
}

#[derive(Clone, Debug)]
pub struct Heard {
    pub id: String,
    pub signature: String,
    pub message: String,
    pub severity: String,
    /// All of it, as it came.
    pub body: String,
}

impl Receiver {
    /// One that is not there yet.
    pub fn away() -> Receiver {
        Receiver { address: an_address(), heard: Arc::default() }
    }

    /// It listens from here on.
    pub fn come(&self) {
        let listener = TcpListener::bind(self.address).unwrap();
        let heard = self.heard.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let heard = heard.clone();
                std::thread::spawn(move || serve(stream.unwrap(), &heard));
            }
        });
    }

    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    /// What was heard that begins so, in order. The daemon tells of its own health meanwhile.
    pub fn said(&self, prefix: &str) -> Vec<String> {
        let heard = self.heard();
        heard.into_iter().map(|one| one.message).filter(|message| message.starts_with(prefix)).collect()
    }

    /// The settings that make it a channel.
    pub fn settings(&self) -> String {
        format!(
            "notifications:\n  channels: [log, webhook]\n  min_severity: info\n  webhook:\n    url: {{ secret: hook-url }}\n    \
             sign_with: {{ secret: hook-key }}\n    allow_hosts: [{}]\n    timeout_seconds: 2\n",
            self.address.ip()
        )
    }

    /// The secrets those settings name.
    pub fn secrets<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .env("HOLDFAST_SECRET_HOOK_URL", format!("http://{}/T0K3N", self.address))
            .env("HOLDFAST_SECRET_HOOK_KEY", "a key of sixteen bytes")
    }
}

/// Requests of one connection, until it is closed.
fn serve(stream: TcpStream, heard: &Mutex<Vec<Heard>>) {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut stream = BufReader::new(stream);
    loop {
        let (mut id, mut signature, mut length) = (String::new(), String::new(), 0);
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            match line.trim().split_once(": ") {
                Some(("webhook-id", value)) => id = value.to_owned(),
                Some(("webhook-signature", value)) => signature = value.to_owned(),
                Some(("content-length", value)) => length = value.parse().unwrap(),
                _ if line.trim().is_empty() => break,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        let whole = String::from_utf8(body).unwrap();
        let body: Value = serde_json::from_str(&whole).unwrap();
        let word = |name: &str| body[name].as_str().unwrap().to_owned();
        let one = Heard { id, signature, message: word("message"), severity: word("severity"), body: whole };
        heard.lock().unwrap().push(one);
        stream.get_mut().write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    }
}
