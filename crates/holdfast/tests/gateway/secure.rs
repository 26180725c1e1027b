//! The same house over TLS, with a certificate of its own authority.

use std::net::Ipv4Addr;
use std::sync::Arc;

use holdfast_testkit::authenticator::Key;
use http::Request;
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};

use crate::browser::{Reply, an_address, raw, reach, whole};
use crate::house::House;
use crate::running::{Looking as _, read, wait_until};

/// Somebody whose phone was told of the authority.
struct Phone {
    trusts: Arc<ClientConfig>,
    port: u16,
    from: Ipv4Addr,
    cookie: String,
    word: String,
}

impl Phone {
    fn new(port: u16, authority: &[u8]) -> Phone {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let trusts = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
        Phone { trusts, port, from: an_address(), cookie: String::new(), word: String::new() }
    }

    fn origin(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    async fn ask(&mut self, method: &str, path: &str, body: Option<Value>) -> Reply {
        let stream = reach(self.from, self.port).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let stream =
            tokio_rustls::TlsConnector::from(self.trusts.clone()).connect(name, stream).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", format!("localhost:{}", self.port))
            .header("cookie", &self.cookie);
        if body.is_some() {
            request = request
                .header("origin", self.origin())
                .header("x-holdfast-csrf", &self.word)
                .header("content-type", "application/json");
        }
        let body = Full::<hyper::body::Bytes>::from(body.map(|body| body.to_string()).unwrap_or_default());
        whole(sender.send_request(request.body(body).unwrap()).await.unwrap()).await.unwrap()
    }
}

// shows: GTW-026, GTW-031, GTW-F20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tls_cookies_are_for_this_host_alone_and_plain_words_are_not_answered() {
    let mut house = House::planned("");
    let origin = format!("https://localhost:{}", house.port);
    house.home.configure(&format!("gateway:\n  address: {origin}\n  tls: {{ from: local }}\n"));
    house.start();
    let authority = house.home.state("gateway/certificates/authority.pem");
    wait_until("there is an authority", || read(&authority).contains("END CERTIFICATE"));
    let mut phone = Phone::new(house.port, read(&authority).as_bytes());

    let link = house.home.json(&["gateway", "link"])["url"].as_str().unwrap().to_owned();
    let link = link.strip_prefix(&format!("{origin}/register#")).unwrap();
    let asked = json!({ "link": link, "label": "a phone" });
    let begun = phone.ask("POST", "/auth/register/start", Some(asked)).await.is(200);
    let before = begun.header("set-cookie").to_owned();
    assert!(before.starts_with("__Host-holdfast-pre=") && before.contains("; Secure"), "{before}");
    phone.cookie = before.split(';').next().unwrap().to_owned();
    let credential = Key::new().create(&origin, &begun.json["publicKey"]);
    let last = json!({ "ceremony": begun.json["ceremony"], "credential": credential });
    let done = phone.ask("POST", "/auth/register/finish", Some(last)).await.is(200);
    let cookies = done.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap());
    let session = cookies.into_iter().find(|line| line.starts_with("__Host-holdfast=")).unwrap().to_owned();
    for part in ["; Path=/", "; HttpOnly", "; SameSite=Lax", "; Secure"] {
        assert!(session.contains(part), "{session}");
    }
    assert!(!session.contains("Domain"), "{session}");
    phone.cookie = session.split(';').next().unwrap().to_owned();

    let page = phone.ask("GET", "/settings", None).await.is(200);
    assert!(page.header("strict-transport-security").contains("max-age="));
    // The name without its prefix is nobody's, whoever planted it.
    let value = phone.cookie.split_once('=').unwrap().1.to_owned();
    phone.cookie = format!("holdfast={value}");
    assert_eq!(phone.ask("GET", "/settings", None).await.is(303).location(), "/login?next=%2Fsettings");

    // Phones are told of the authority before anybody signs in, and it is the one that signs.
    phone.cookie = String::new();
    assert!(phone.ask("GET", "/authority", None).await.is(200).text.contains("/authority/holdfast.crt"));
    assert_eq!(phone.ask("GET", "/authority/holdfast.pem", None).await.is(200).text, read(&authority));
    assert!(!phone.ask("GET", "/authority/authority.key", None).await.is(404).text.contains("KEY"));

    // Without TLS there is nothing to be had.
    let plain = format!("GET /login HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n\r\n", house.port);
    let answer = raw(an_address(), house.port, plain.as_bytes()).await;
    assert!(!answer.contains("200 OK") && !answer.contains("<html"), "{answer}");
    house.stop().well();
}
