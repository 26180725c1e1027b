//! A phone: everything over TLS, under names that lead here, believing one authority and nobody else.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use holdfast_testkit::authenticator::Key;
use http::Request;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::tungstenite;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::browser::{Reply, an_address, reach, whole};
use crate::house::House;

pub type Socket = tungstenite::WebSocket<rustls::StreamOwned<rustls::ClientConnection, std::net::TcpStream>>;

pub struct Phone {
    believes: Arc<ClientConfig>,
    /// The gateway's name.
    pub host: String,
    pub port: u16,
    pub from: Ipv4Addr,
    /// Cookies by host.
    pub jars: BTreeMap<String, BTreeMap<String, String>>,
    pub device: Key,
    word: String,
}

impl Phone {
    pub fn new(host: &str, port: u16, authority: &str) -> Phone {
        Phone {
            believes: believing(authority),
            host: host.to_owned(),
            port,
            from: an_address(),
            jars: BTreeMap::new(),
            device: Key::new(),
            word: String::new(),
        }
    }

    pub fn origin(&self) -> String {
        format!("https://{}:{}", self.host, self.port)
    }

    pub fn jar(&mut self) -> &mut BTreeMap<String, String> {
        self.jars.entry(self.host.clone()).or_default()
    }

    /// A connection to a name, if what answers there is believed.
    pub async fn reach(&self, host: &str) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = reach(self.from, self.port).await?;
        let name = ServerName::try_from(host.to_owned()).unwrap();
        tokio_rustls::TlsConnector::from(self.believes.clone()).connect(name, stream).await
    }

    /// A socket of a page of this origin, if it is let through.
    pub fn socket(&self, host: &str, origin: &str) -> Result<Socket, Box<dyn std::error::Error>> {
        let mut request = format!("wss://{host}:{}/socket", self.port).into_client_request()?;
        let cookies = self.request(host, "GET", "/").body(())?;
        request
            .headers_mut()
            .extend(cookies.headers().get("cookie").map(|it| (http::header::COOKIE, it.clone())));
        request.headers_mut().insert("origin", origin.parse()?);
        let name = ServerName::try_from(host.to_owned())?;
        let stream = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let secured = rustls::ClientConnection::new(self.believes.clone(), name)?;
        Ok(tungstenite::client(request, rustls::StreamOwned::new(secured, stream))
            .map_err(|e| e.to_string())?
            .0)
    }

    /// The certificate that it is shown.
    pub async fn shown(&self) -> std::io::Result<Vec<u8>> {
        let stream = self.reach(&self.host).await?;
        let chain = stream.get_ref().1.peer_certificates().unwrap();
        Ok(chain.first().unwrap().to_vec())
    }

    /// A request as this phone makes it, with the cookies it has for that host.
    pub fn request(&self, host: &str, method: &str, path: &str) -> http::request::Builder {
        let request =
            Request::builder().method(method).uri(path).header("host", format!("{host}:{}", self.port));
        let pairs: Vec<String> = self
            .jars
            .get(host)
            .into_iter()
            .flatten()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if pairs.is_empty() { request } else { request.header("cookie", pairs.join("; ")) }
    }

    pub async fn send(&mut self, host: &str, request: Request<Full<Bytes>>) -> Reply {
        let reply = whole(self.answer(host, request).await).await.unwrap();
        self.keep(host, &reply);
        reply
    }

    /// The answer with its body still to come.
    pub async fn answer(
        &self,
        host: &str,
        request: Request<Full<Bytes>>,
    ) -> http::Response<hyper::body::Incoming> {
        let stream = self.reach(host).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    }

    fn keep(&mut self, host: &str, reply: &Reply) {
        let jar = self.jars.entry(host.to_owned()).or_default();
        for line in reply.headers.get_all("set-cookie") {
            let (pair, rest) = line.to_str().unwrap().split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            if rest.contains("Max-Age=0") {
                jar.remove(name);
            } else {
                jar.insert(name.into(), value.into());
            }
        }
    }

    pub async fn get(&mut self, path: &str) -> Reply {
        let (host, request) = (self.host.clone(), self.request(&self.host, "GET", path));
        self.send(&host, request.body(Full::default()).unwrap()).await
    }

    /// Sends JSON; where that takes a passkey, with one. Accounts read it from the body, as a page sends it, and the API from a header.
    pub async fn post(&mut self, path: &str, body: Value) -> Reply {
        self.ask("POST", path, body).await
    }

    /// The same in another way; nothing is sent where the body is null.
    pub async fn ask(&mut self, method: &str, path: &str, mut body: Value) -> Reply {
        let reply = self.ask_with(method, path, &body, None).await;
        if reply.code() != "HF-GTW-008" {
            return reply;
        }
        let fields = if body.is_null() { json!({}) } else { body.clone() };
        match self.proof(method, path, fields).await {
            Ok(proof) if path.starts_with("/api/") => {
                return self.ask_with(method, path, &body, Some(&proof)).await;
            }
            Ok(proof) => body["proof"] = proof.into(),
            Err(refused) => return *refused,
        }
        self.ask_with(method, path, &body, None).await
    }

    /// What a passkey says about one act, as it is sent along with it.
    pub async fn proof(&mut self, method: &str, to: &str, fields: Value) -> Result<String, Box<Reply>> {
        let asked = json!({ "act": { "method": method, "to": to, "fields": fields } });
        let begun = self.post_bare("/auth/confirm/start", asked).await;
        if begun.status != 200 {
            return Err(Box::new(begun));
        }
        let credential = self.device.get(&self.origin(), &begun.json["publicKey"]);
        Ok(json!({ "ceremony": begun.json["ceremony"], "credential": credential }).to_string())
    }

    /// The same without any passkey.
    pub async fn post_bare(&mut self, path: &str, body: Value) -> Reply {
        self.ask_with("POST", path, &body, None).await
    }

    async fn ask_with(&mut self, method: &str, path: &str, body: &Value, proof: Option<&str>) -> Reply {
        let host = self.host.clone();
        let mut request = self
            .request(&host, method, path)
            .header("origin", self.origin())
            .header("x-holdfast-csrf", &self.word);
        if let Some(proof) = proof {
            request = request.header("x-holdfast-proof", proof);
        }
        let body = if body.is_null() {
            Full::default()
        } else {
            request = request.header("content-type", "application/json");
            Full::from(body.to_string())
        };
        self.send(&host, request.body(body).unwrap()).await
    }

    /// Something that waits for a word is confirmed with the passkey.
    pub async fn confirm(&mut self, what: &str) -> Reply {
        let begun = self.post_bare("/auth/confirm/start", json!({ "what": what })).await.is(200);
        let credential = self.device.get(&self.origin(), &begun.json["publicKey"]);
        let last = json!({ "ceremony": begun.json["ceremony"], "credential": credential });
        self.post_bare("/auth/confirm/finish", last).await
    }

    /// With a link that was made at the machine.
    pub async fn register(&mut self, house: &House) -> Reply {
        let link = house.home.json(&["gateway", "link"])["url"].as_str().unwrap().to_owned();
        self.register_by(link.strip_prefix(&self.origin()).unwrap()).await
    }

    /// With any link.
    pub async fn register_by(&mut self, link: &str) -> Reply {
        let link = link.strip_prefix("/register#").unwrap();
        let asked = json!({ "link": link, "label": "a phone" });
        let begun = self.post("/auth/register/start", asked).await.is(200);
        let credential = self.device.create(&self.origin(), &begun.json["publicKey"]);
        let last = json!({ "ceremony": begun.json["ceremony"], "credential": credential });
        let done = self.post("/auth/register/finish", last).await.is(200);
        self.word = done.json["word"].as_str().unwrap().to_owned();
        done
    }

    pub async fn sign_in(&mut self) -> Reply {
        let last = self.begin_signing_in().await;
        self.finish_signing_in(last).await
    }

    /// Up to what would be sent last.
    pub async fn begin_signing_in(&mut self) -> Value {
        let begun = self.post("/auth/login/start", json!({})).await.is(200);
        let credential = self.device.get(&self.origin(), &begun.json["publicKey"]);
        json!({ "ceremony": begun.json["ceremony"], "credential": credential, "next": null })
    }

    pub async fn finish_signing_in(&mut self, last: Value) -> Reply {
        let done = self.post("/auth/login/finish", last).await.is(200);
        self.word = done.json["word"].as_str().unwrap().to_owned();
        done
    }

    pub async fn sign_out(&mut self) {
        self.post("/auth/logout", json!({})).await.is(303);
        self.word.clear();
    }
}

fn believing(authority: &str) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(config.with_root_certificates(roots).with_no_client_auth())
}
