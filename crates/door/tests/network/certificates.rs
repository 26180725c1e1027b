//! TLS with certificates from files and from the local authority, seen by real clients.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use holdfast_door::{Certificates, Error, HostName, Keeper, Standing};
use holdfast_testkit::TestClock;
use http::Request;
use http_body_util::{BodyExt as _, Empty, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;

use crate::house::{APP, House, NOW, OWN, Plan, real_clock};
use crate::origin::Origin;
use crate::raw::{exchange, status};

const DAY: Duration = Duration::from_secs(86_400);

async fn local(dir: &Path) -> (House, Arc<Origin>) {
    let (origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.certificates = Certificates::Local { dir: dir.to_owned() };
    plan.clock = real_clock();
    plan.redirect = true;
    plan.names.push("127.0.0.1".into());
    (plan.open(), origin)
}

fn client(house: &House, pem: &str) -> reqwest::Client {
    reqwest::Client::builder()
        .tls_certs_only([reqwest::Certificate::from_pem(pem.as_bytes()).unwrap()])
        .resolve(OWN, house.address)
        .resolve(APP, house.address)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .unwrap()
}

fn address(house: &House, host: &str, path: &str) -> String {
    format!("https://{host}:{}{path}", house.address.port())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_trusts_the_local_authority_gets_in_by_name_and_by_address() {
    let dir = tempfile::tempdir().unwrap();
    let (house, origin) = local(dir.path()).await;
    let authority = house.door.keeper().authority().unwrap();
    let client = client(&house, &authority.pem);
    for host in [OWN, "127.0.0.1"] {
        let answer = client.get(address(&house, host, "/page")).send().await.unwrap();
        assert_eq!(answer.text().await.unwrap(), "own /page 0 https=true");
    }
    let answer =
        client.get(address(&house, APP, "/x")).header("cookie", "holdfast-app=ana").send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(origin.last().headers["x-forwarded-proto"], "https");
    let stranger = reqwest::Client::builder().resolve(OWN, house.address).no_proxy().build().unwrap();
    assert!(stranger.get(address(&house, OWN, "/")).send().await.is_err(), "nobody else trusts it");
    house.stop().await;
}

fn openssl(args: &[&str]) -> (bool, String) {
    let output = Command::new("openssl").args(args).output().expect("openssl is installed");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn the_local_authority_is_what_others_call_one_and_bound_to_its_names() {
    let dir = tempfile::tempdir().unwrap();
    let names = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<HostName>>();
    let open = |texts: &[&str]| {
        Keeper::open(Certificates::Local { dir: dir.path().into() }, names(texts), Arc::new(real_clock()))
    };
    let keeper = open(&["gate.example", "10.1.2.3"]).unwrap();
    let (ca, leaf) = (dir.path().join("authority.pem"), dir.path().join("leaf.pem"));
    let (ca, leaf) = (ca.to_str().unwrap(), leaf.to_str().unwrap());
    let (good, said) = openssl(&["verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", ca, leaf]);
    assert!(good, "{said}");
    for (flag, name, fits) in [
        ("-verify_hostname", "gate.example", true),
        ("-verify_hostname", "evil.example", false),
        ("-verify_ip", "10.1.2.3", true),
    ] {
        let (good, said) = openssl(&["verify", flag, name, "-CAfile", ca, leaf]);
        assert_eq!(good, fits, "{name}: {said}");
    }
    let (_, shown) = openssl(&["x509", "-in", ca, "-noout", "-text"]);
    for wanted in [
        "Name Constraints: critical",
        "DNS:gate.example",
        "IP:10.1.2.3/255.255.255.255",
        "CA:TRUE, pathlen:0",
    ] {
        assert!(shown.contains(wanted), "{wanted} in {shown}");
    }
    // Below its own name it may speak, elsewhere not, and then nothing is changed.
    drop(keeper);
    let before = std::fs::read(ca).unwrap();
    assert!(open(&["gate.example", "grafana.gate.example"]).unwrap().authority().is_some());
    let refused = open(&["gate.example", "other.example"]).unwrap_err();
    assert!(matches!(refused, Error::NotPermitted { .. }), "{refused}");
    assert_eq!(std::fs::read(ca).unwrap(), before);
    for (file, mode) in [("authority.key", 0o600), ("leaf.pem", 0o600), ("authority.pem", 0o644)] {
        use std::os::unix::fs::PermissionsExt as _;
        let found = std::fs::metadata(dir.path().join(file)).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{file}");
    }
}

#[test]
fn a_stolen_authority_key_signs_nothing_that_a_device_believes_for_another_name() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<HostName> = vec!["gate.example".parse().unwrap()];
    Keeper::open(Certificates::Local { dir: dir.path().into() }, names, Arc::new(real_clock())).unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("ext"), "subjectAltName=DNS:bank.example,IP:10.9.9.9\n").unwrap();
    let (made, said) = openssl(&[
        "req",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-subj",
        "/CN=bank.example",
        "-keyout",
        &path("forged.key"),
        "-out",
        &path("forged.csr"),
    ]);
    assert!(made, "{said}");
    let (made, said) = openssl(&[
        "x509",
        "-req",
        "-in",
        &path("forged.csr"),
        "-CA",
        &path("authority.pem"),
        "-CAkey",
        &path("authority.key"),
        "-CAcreateserial",
        "-days",
        "30",
        "-extfile",
        &path("ext"),
        "-out",
        &path("forged.pem"),
    ]);
    assert!(made, "{said}");
    let (good, said) = openssl(&["verify", "-CAfile", &path("authority.pem"), &path("forged.pem")]);
    assert!(!good && said.contains("subtree violation"), "{said}");
}

#[tokio::test]
async fn the_local_certificate_is_renewed_by_itself_and_the_authority_stays() {
    let dir = tempfile::tempdir().unwrap();
    let clock = TestClock::at(NOW);
    let names: Vec<HostName> = vec!["gate.example".parse().unwrap()];
    let open = || {
        Keeper::open(Certificates::Local { dir: dir.path().into() }, names.clone(), Arc::new(clock.clone()))
            .unwrap()
    };
    let keeper = open();
    let Standing::InUse { not_before, not_after, renews_at: Some(renews_at), uncovered } =
        keeper.status().standing
    else {
        panic!("{:?}", keeper.status());
    };
    assert_eq!((not_after.since(not_before), uncovered), (DAY * 397, vec![]));
    let authority = keeper.authority().unwrap();
    // Compared as a whole and never shown: a key is in it.
    let leaf = || std::fs::read(dir.path().join("leaf.pem")).unwrap();
    let first = leaf();
    clock.set_wall(not_before.plus(DAY * 200));
    keeper.tend().await;
    assert!(leaf() == first, "not yet");
    clock.set_wall(renews_at);
    keeper.tend().await;
    assert!(leaf() != first, "now");
    let Standing::InUse { not_before: again, .. } = keeper.status().standing else { panic!() };
    assert!(again > not_before);
    assert_eq!(keeper.authority().unwrap(), authority);
    let second = leaf();
    drop(open());
    assert!(leaf() == second, "a restart makes nothing new");
}

/// A certificate of its own, put where the door looks.
fn put(dir: &Path, name: &str) -> String {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new([name.to_owned()]).unwrap().self_signed(&key).unwrap();
    // Renamed over the old one by the shell's own tool, as certbot and people do.
    for (file, text) in [("key.pem", key.serialize_pem()), ("chain.pem", certificate.pem())] {
        std::fs::write(dir.join("aside"), text).unwrap();
        let moved = Command::new("mv").arg(dir.join("aside")).arg(dir.join(file)).status().unwrap();
        assert!(moved.success());
    }
    certificate.pem()
}

async fn served(address: SocketAddr) -> Vec<u8> {
    let stream = connect(address, &[b"http/1.1"]).await;
    stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

fn der(pem: &str) -> Vec<u8> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_read_again_when_they_change_and_broken_ones_leave_the_old_certificate() {
    let dir = tempfile::tempdir().unwrap();
    let first = put(dir.path(), OWN);
    let (_origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.certificates =
        Certificates::Files { chain: dir.path().join("chain.pem"), key: dir.path().join("key.pem") };
    let house = plan.open();
    let keeper = house.door.keeper().clone();
    assert_eq!(served(house.address).await, der(&first));
    let Standing::InUse { uncovered, renews_at: None, .. } = keeper.status().standing else { panic!() };
    assert_eq!(uncovered, vec![APP.parse::<HostName>().unwrap()], "what it does not speak for is told");

    let second = put(dir.path(), OWN);
    keeper.tend().await;
    assert_eq!(served(house.address).await, der(&second));
    assert_eq!(keeper.status().trouble, None);

    std::fs::write(dir.path().join("chain.pem"), "nonsense").unwrap();
    for _ in 0..2 {
        keeper.tend().await;
        let trouble = keeper.status().trouble.unwrap();
        assert!(
            trouble.ends_with("chain.pem holds no usable certificate and key: there is no certificate in it"),
            "{trouble}"
        );
        assert_eq!(served(house.address).await, der(&second), "the old one stays");
    }
    std::fs::write(dir.path().join("chain.pem"), &first).unwrap();
    keeper.tend().await;
    let trouble = keeper.status().trouble.unwrap();
    assert!(trouble.contains("do not fit"), "a key of another certificate: {trouble}");
    std::fs::remove_file(dir.path().join("key.pem")).unwrap();
    keeper.tend().await;
    assert!(keeper.status().trouble.unwrap().contains("key.pem cannot be read"));
    assert_eq!(served(house.address).await, der(&second));

    let third = put(dir.path(), OWN);
    keeper.tend().await;
    assert_eq!((keeper.status().trouble, served(house.address).await), (None, der(&third)));
    house.stop().await;
}

/// Trusts anything, for looking at what is served.
#[derive(Debug)]
struct Anything;

impl rustls::client::danger::ServerCertVerifier for Anything {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

pub(crate) async fn connect(
    address: SocketAddr,
    protocols: &[&[u8]],
) -> tokio_rustls::client::TlsStream<TcpStream> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anything))
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from(OWN).unwrap();
    tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_2_goes_the_same_way_with_the_same_care() {
    let dir = tempfile::tempdir().unwrap();
    let (house, origin) = local(dir.path()).await;
    let stream = connect(house.address, &[b"h2"]).await;
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let ask = |uri: String, cookies: &[&'static str]| {
        let mut request = Request::get(uri).body(Empty::<Bytes>::new().boxed()).unwrap();
        for cookie in cookies {
            request.headers_mut().append("cookie", http::HeaderValue::from_static(cookie));
        }
        request
    };
    let answer = sender.send_request(ask(format!("https://{OWN}/page"), &[])).await.unwrap();
    assert_eq!(answer.collect().await.unwrap().to_bytes(), "own /page 0 https=true");
    let cookies = ["theirs=1", "holdfast-app=ana", "__Host-holdfast-session=x", "more=2"];
    let answer = sender.send_request(ask(format!("https://{APP}/x?y"), &cookies)).await.unwrap();
    assert_eq!(answer.collect().await.unwrap().to_bytes(), "GET /x?y 0");
    let seen = origin.last().headers;
    assert_eq!(
        (&seen["host"], &seen["cookie"]),
        (&APP.parse().unwrap(), &"theirs=1; more=2".parse().unwrap())
    );
    let mut upload = Request::put(format!("https://{APP}/up")).header("cookie", "holdfast-app=ana");
    upload = upload.header("x-holdfast-identity", "forged");
    let upload = upload.body(Full::new(Bytes::from(vec![1; 1_000_000])).boxed()).unwrap();
    let answer = sender.send_request(upload).await.unwrap();
    assert_eq!(answer.collect().await.unwrap().to_bytes(), "PUT /up 1000000");
    assert_ne!(origin.last().headers["x-holdfast-identity"], "forged");
    for (uri, expected) in [
        (format!("https://{APP}/a/../b"), 400),
        (format!("https://{APP}/a%2fb"), 400),
        ("https://evil.example/".to_owned(), 421),
    ] {
        let answer = sender.send_request(ask(uri.clone(), &["holdfast-app=ana"])).await.unwrap();
        assert_eq!(answer.status(), expected, "{uri}");
    }
    let mut other_host = ask(format!("https://{APP}/x"), &["holdfast-app=ana"]);
    other_host.headers_mut().insert("host", http::HeaderValue::from_static(OWN));
    assert_eq!(sender.send_request(other_host).await.unwrap().status(), 400, "one host at a time");
    assert_eq!(origin.requests(), 2);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_encrypted_socket_is_opened_by_a_page_of_the_encrypted_origin_only() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let dir = tempfile::tempdir().unwrap();
    let (house, _origin) = local(dir.path()).await;
    for (scheme, expected) in [("http", "HTTP/1.1 403"), ("https", "HTTP/1.1 101")] {
        let mut stream = connect(house.address, &[b"http/1.1"]).await;
        let text = format!(
            "GET /upgrade HTTP/1.1\r\nHost: {APP}\r\nCookie: holdfast-app=ana\r\nOrigin: {scheme}://{APP}\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\n"
        );
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        assert!(head.starts_with(expected.as_bytes()), "{}", String::from_utf8_lossy(&head));
        if scheme == "https" {
            stream.write_all(b"quiet\n").await.unwrap();
            let mut back = [0; 6];
            stream.read_exact(&mut back).await.unwrap();
            assert_eq!(&back, b"QUIET\n");
        }
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_http_2_connection_without_requests_is_closed_and_one_that_says_nothing_too() {
    let dir = tempfile::tempdir().unwrap();
    let (_origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.certificates = Certificates::Local { dir: dir.path().into() };
    plan.clock = real_clock();
    plan.limits.idle_timeout = Duration::from_millis(300);
    plan.limits.head_timeout = Duration::from_millis(300);
    let house = plan.open();
    let stream = connect(house.address, &[b"h2"]).await;
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let served = tokio::spawn(connection);
    let request = Request::get(format!("https://{OWN}/page")).body(Empty::<Bytes>::new()).unwrap();
    assert_eq!(sender.send_request(request).await.unwrap().status(), 200);
    let closed = tokio::time::timeout(crate::house::SOON, served).await;
    closed.expect("the door says goodbye").unwrap().unwrap();
    let silent = connect(house.address, &[b"h2"]).await;
    crate::house::eventually("nobody is left", || house.door.counts().connections_open == 0).await;
    drop(silent);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_plain_listener_sends_people_on_for_names_of_ours_only() {
    let dir = tempfile::tempdir().unwrap();
    let (house, _origin) = local(dir.path()).await;
    let plain = house.redirect.unwrap();
    let ask = async |host: &str, path: &str| {
        exchange(
            plain,
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes(),
        )
        .await
    };
    let sent_on = ask(&format!("{OWN}:80"), "/a?b=c").await;
    assert_eq!(status(&sent_on), Some(308));
    let wanted = format!("location: https://{OWN}:{}/a?b=c\r\n", house.address.port());
    assert!(sent_on.contains(&wanted), "{sent_on}");
    assert_eq!(status(&ask("evil.example", "/").await), Some(421));
    assert_eq!(status(&ask(OWN, "//evil.example/").await), Some(400));
    assert_eq!(status(&ask(OWN, "/.well-known/acme-challenge/none").await), Some(308));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handshake_that_does_not_come_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let (_origin, to) = Origin::on_loopback().await;
    let mut plan = Plan::to(to);
    plan.certificates = Certificates::Local { dir: dir.path().into() };
    plan.limits.handshake_timeout = Duration::from_millis(200);
    let house = plan.open();
    let mut silent = TcpStream::connect(house.address).await.unwrap();
    assert_eq!(crate::raw::read_to_end(&mut silent).await, "");
    let plain = exchange(house.address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(!plain.starts_with("HTTP"), "no word of HTTP without TLS");
    assert_eq!(house.door.counts().handshakes_failed, 2);
    house.stop().await;
}
