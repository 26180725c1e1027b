//! A browser: it keeps cookies, sends its origin, reads the anti-forgery word from a page, and has a device with a passkey.
//!
//! Each has an address of its own, all of 127.0.0.0/8 being this machine: limits and records are by address.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use holdfast_testkit::authenticator::Key;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::running::LONG;

/// What came back.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
    pub json: Value,
}

impl Reply {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub fn location(&self) -> &str {
        self.header("location")
    }

    pub fn code(&self) -> &str {
        self.json["error"]["code"].as_str().unwrap_or("")
    }

    #[track_caller]
    pub fn is(self, status: u16) -> Reply {
        assert_eq!(self.status, status, "{:?} {}", self.headers, self.text);
        self
    }
}

#[derive(Clone)]
pub struct Browser {
    pub port: u16,
    pub from: Ipv4Addr,
    pub jar: BTreeMap<String, String>,
    pub device: Key,
    /// What it calls itself.
    pub agent: String,
    /// What its person calls the device.
    pub label: String,
    pub word: Option<String>,
}

pub fn an_address() -> Ipv4Addr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let [_, a, b, c] = (0x0001_0001 + NEXT.fetch_add(1, Ordering::Relaxed)).to_be_bytes();
    Ipv4Addr::new(127, a.wrapping_add(100), b, c)
}

/// A connection from an address of ours to the gateway.
pub async fn reach(from: Ipv4Addr, port: u16) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((from, 0)))?;
    socket.connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await
}

/// Sends bytes as they are, and gives all that comes back.
pub async fn raw(from: Ipv4Addr, port: u16, bytes: &[u8]) -> String {
    let mut stream = reach(from, port).await.unwrap();
    // A server that has seen enough closes early.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = timeout(LONG, stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// Sends one request on a connection of its own and gives the answer with its body still to come.
pub async fn send(
    from: Ipv4Addr,
    port: u16,
    request: Request<Full<Bytes>>,
) -> Result<http::Response<Incoming>, String> {
    let stream = reach(from, port).await.map_err(|e| e.to_string())?;
    let shaken = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = shaken.map_err(|e| e.to_string())?;
    tokio::spawn(connection);
    let answer = timeout(LONG, sender.send_request(request)).await;
    answer.map_err(|_| "no answer in time".to_owned())?.map_err(|e| e.to_string())
}

pub async fn whole(answer: http::Response<Incoming>) -> Result<Reply, String> {
    let (parts, body) = answer.into_parts();
    let bytes = timeout(LONG, body.collect()).await.map_err(|_| "no end in time".to_owned())?;
    let bytes = bytes.map_err(|e| e.to_string())?.to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let json = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    Ok(Reply { status: parts.status.as_u16(), headers: parts.headers, text, json })
}

impl Browser {
    pub fn new(port: u16) -> Browser {
        Browser {
            port,
            from: an_address(),
            jar: BTreeMap::new(),
            device: Key::new(),
            agent: "Software 1.0".to_owned(),
            label: "a key".to_owned(),
            word: None,
        }
    }

    pub fn origin(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    pub fn cookies(&self) -> String {
        let pairs: Vec<String> = self.jar.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("; ")
    }

    pub fn cookie(&self) -> Option<&String> {
        self.jar.get(&self.session_name()?)
    }

    /// What the session's cookie is called: it has the instance and the port in its name.
    pub fn session_name(&self) -> Option<String> {
        let ours =
            |name: &&String| name.starts_with("holdfast-") && name.ends_with(&format!("-{}", self.port));
        self.jar.keys().find(ours).cloned()
    }

    /// A request with this browser's cookies and nothing that a page adds.
    pub fn bare(&self, method: &str, path: &str) -> http::request::Builder {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", format!("localhost:{}", self.port))
            .header("user-agent", &self.agent);
        if !self.jar.is_empty() {
            request = request.header("cookie", self.cookies());
        }
        request
    }

    /// A request as a page of the site itself makes it.
    pub fn request(&self, method: &str, path: &str) -> http::request::Builder {
        let request = self.bare(method, path);
        if method == "GET" {
            return request;
        }
        request.header("origin", self.origin()).header("sec-fetch-site", "same-origin")
    }

    pub async fn try_send(&mut self, request: Request<Full<Bytes>>) -> Result<Reply, String> {
        let reply = whole(send(self.from, self.port, request).await?).await?;
        self.keep(&reply.headers);
        // The module keeps it where other ports cannot read it.
        if let Some(word) = reply.json["word"].as_str() {
            self.word = Some(word.to_owned());
        }
        Ok(reply)
    }

    pub async fn send(&mut self, request: Request<Full<Bytes>>) -> Reply {
        let told = format!("{} {}", request.method(), request.uri());
        self.try_send(request).await.unwrap_or_else(|e| panic!("{told}: {e}"))
    }

    fn keep(&mut self, headers: &HeaderMap) {
        for line in headers.get_all("set-cookie") {
            let (pair, rest) = line.to_str().unwrap().split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            if name.starts_with("holdfast-") && name.ends_with(&format!("-{}", self.port)) {
                self.word = None;
            }
            if rest.contains("Max-Age=0") {
                self.jar.remove(name);
            } else {
                self.jar.insert(name.into(), value.into());
            }
        }
    }

    pub async fn get(&mut self, path: &str) -> Reply {
        let request = self.request("GET", path).body(Full::default()).unwrap();
        self.send(request).await
    }

    /// The anti-forgery word, as it was told at signing in. On localhost no page has it.
    pub async fn word(&mut self) -> Option<String> {
        if self.word.is_none() && self.cookie().is_some() {
            let page = self.get("/settings").await.text;
            let after = page.split_once("<meta name=\"csrf\" content=\"").map(|(_, rest)| rest);
            let word = after.and_then(|rest| rest.split_once('"')).map(|(word, _)| word.to_owned());
            self.word = word.filter(|word| !word.is_empty());
        }
        self.word.clone()
    }

    /// Sends JSON; where that takes a passkey, with one. Accounts read it from the body, as a page sends it, and the API from a header.
    pub async fn post(&mut self, path: &str, mut body: Value) -> Reply {
        let reply = self.post_bare(path, body.clone()).await;
        if reply.code() != "HF-GTW-008" {
            return reply;
        }
        match self.proof("POST", path, body.clone()).await {
            Ok(proof) if path.starts_with("/api/") => return self.post_with(path, body, Some(&proof)).await,
            Ok(proof) => body["proof"] = proof.into(),
            Err(refused) => return *refused,
        }
        self.post_bare(path, body).await
    }

    /// What a passkey says about one act, as it is sent along with it.
    pub async fn proof(&mut self, method: &str, to: &str, fields: Value) -> Result<String, Box<Reply>> {
        let act = json!({ "method": method, "to": to, "fields": fields });
        Ok(self.begin_confirming_as(json!({ "act": act })).await?.to_string())
    }

    /// The same without any passkey.
    pub async fn post_bare(&mut self, path: &str, body: Value) -> Reply {
        self.post_with(path, body, None).await
    }

    async fn post_with(&mut self, path: &str, body: Value, proof: Option<&str>) -> Reply {
        let word = self.word().await;
        let mut request = self.request("POST", path).header("content-type", "application/json");
        if let Some(word) = word {
            request = request.header("x-holdfast-csrf", word);
        }
        if let Some(proof) = proof {
            request = request.header("x-holdfast-proof", proof);
        }
        self.send(request.body(Full::from(body.to_string())).unwrap()).await
    }

    /// A form of the page is sent; where that takes a passkey for itself, with one.
    pub async fn submit(&mut self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let reply = self.submit_bare(path, fields).await;
        if !reply.text.contains("HF-GTW-008") {
            return reply;
        }
        let named = fields.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        match self.proof("POST", path, Value::Object(named)).await {
            Ok(proof) => self.submit_bare(path, &[fields, &[("proof", &proof)]].concat()).await,
            Err(refused) => *refused,
        }
    }

    /// A form is sent by a browser that runs no scripts but has the word.
    pub async fn submit_bare(&mut self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields);
        if let Some(word) = self.word().await {
            form.append_pair("csrf", &word);
        }
        let request = self.request("POST", path).header("content-type", "application/x-www-form-urlencoded");
        self.send(request.body(Full::from(form.finish())).unwrap()).await
    }

    pub async fn register(&mut self, link: &str) -> Reply {
        let asked = json!({ "link": link, "label": self.label });
        let begun = self.post("/auth/register/start", asked).await.is(200);
        let origin = self.origin();
        let credential = self.device.create(&origin, &begun.json["publicKey"]);
        let body = json!({ "ceremony": begun.json["ceremony"], "credential": credential });
        self.post("/auth/register/finish", body).await.is(200)
    }

    /// Signing in, up to what would be sent last.
    pub async fn begin_signing_in(&mut self, next: Option<&str>) -> Value {
        let begun = self.post("/auth/login/start", json!({})).await.is(200);
        let origin = self.origin();
        let credential = self.device.get(&origin, &begun.json["publicKey"]);
        json!({ "ceremony": begun.json["ceremony"], "credential": credential, "next": next })
    }

    pub async fn sign_in(&mut self, next: Option<&str>) -> Reply {
        let last = self.begin_signing_in(next).await;
        self.post("/auth/login/finish", last).await
    }

    /// Confirming something with the passkey, up to what would be sent last.
    pub async fn begin_confirming(&mut self, what: &str) -> Result<Value, Box<Reply>> {
        self.begin_confirming_as(json!({ "what": what })).await
    }

    async fn begin_confirming_as(&mut self, asked: Value) -> Result<Value, Box<Reply>> {
        let begun = self.post_bare("/auth/confirm/start", asked).await;
        if begun.status != 200 {
            return Err(Box::new(begun));
        }
        let origin = self.origin();
        let credential = self.device.get(&origin, &begun.json["publicKey"]);
        Ok(json!({ "ceremony": begun.json["ceremony"], "credential": credential }))
    }

    pub async fn confirm(&mut self, what: &str) -> Reply {
        match self.begin_confirming(what).await {
            Ok(last) => self.post("/auth/confirm/finish", last).await,
            Err(refused) => *refused,
        }
    }

    /// The id of a new token, and the token.
    pub async fn token(&mut self, scope: &str) -> (String, String) {
        let wanted = json!({ "name": format!("to {scope}"), "scope": scope, "days": 7 });
        let made = self.post("/auth/tokens/make", wanted).await.is(200).json;
        (made["id"].as_str().unwrap().to_owned(), made["token"].as_str().unwrap().to_owned())
    }

    /// A stream of events, which goes on until it is dropped.
    pub async fn follow(&self, path: &str) -> Result<Stream, String> {
        follow(self.from, self.port, self.request("GET", path)).await
    }
}

/// A call of a script to the API.
pub async fn call(port: u16, token: &str, method: &str, target: &str, body: Option<&Value>) -> Reply {
    let kind = body.is_some().then_some("application/json");
    let bytes = body.map(Value::to_string).unwrap_or_default().into_bytes();
    call_with(port, token, (method, target), kind, bytes).await
}

/// The same with a body of any kind.
pub async fn call_with(
    port: u16,
    token: &str,
    (method, target): (&str, &str),
    kind: Option<&str>,
    bytes: Vec<u8>,
) -> Reply {
    let mut request = by_token(port, token, method, target);
    if let Some(kind) = kind {
        request = request.header("content-type", kind);
    }
    let request = request.body(bytes.into()).unwrap();
    whole(send(an_address(), port, request).await.unwrap()).await.unwrap()
}

pub fn by_token(port: u16, token: &str, method: &str, target: &str) -> http::request::Builder {
    Request::builder()
        .method(method)
        .uri(target)
        .header("host", format!("localhost:{port}"))
        .header("authorization", format!("Bearer {token}"))
}

pub async fn follow(from: Ipv4Addr, port: u16, request: http::request::Builder) -> Result<Stream, String> {
    let answer = send(from, port, request.body(Full::default()).unwrap()).await?;
    if answer.status() != 200 {
        return Err(answer.status().to_string());
    }
    Ok(Stream { body: answer.into_body(), text: String::new() })
}

pub struct Stream {
    body: Incoming,
    text: String,
}

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub id: Option<String>,
    pub event: String,
    pub data: String,
}

impl Stream {
    /// The next event; `None` when the stream has ended or nothing came in that time.
    pub async fn next(&mut self, within: Duration) -> Option<Told> {
        let deadline = tokio::time::Instant::now() + within;
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                if let Some(told) = told(&block) {
                    return Some(told);
                }
            }
            let frame = tokio::time::timeout_at(deadline, self.body.frame()).await.ok()??.ok()?;
            self.text.push_str(&String::from_utf8_lossy(frame.data_ref()?));
        }
    }

    /// Whether the server closes it in that time.
    pub async fn ended(mut self, within: Duration) -> bool {
        let closed = async { while let Some(Ok(_)) = self.body.frame().await {} };
        timeout(within, closed).await.is_ok()
    }
}

/// A block without an event says nothing.
fn told(block: &str) -> Option<Told> {
    let field = |name: &str| {
        let begins = format!("{name}: ");
        block.lines().find_map(|line| line.strip_prefix(&begins)).map(str::to_owned)
    };
    let data: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    (!data.is_empty()).then(|| Told {
        id: field("id"),
        event: field("event").unwrap_or_else(|| "message".to_owned()),
        data: data.join("\n"),
    })
}
