//! Certificate authorities for tests: one that signs whatever it is asked to, and Debian's `pebble`, a real one that checks names by
//! itself, with `pebble-challtestsrv` as its resolver, which says that every name is this machine.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use serde_json::json;

/// Far beyond what it takes to come up on a slow machine.
const LONG: Duration = Duration::from_secs(20);

/// An authority that signs for any name.
#[derive(Debug)]
pub struct Root {
    issuer: Issuer<'static, KeyPair>,
    /// What its believers are given.
    pub pem: String,
}

/// A certificate with those above it, and its key.
#[derive(Debug)]
pub struct Pair {
    pub chain: String,
    pub key: String,
}

impl Default for Root {
    fn default() -> Root {
        Root::new()
    }
}

impl Root {
    pub fn new() -> Root {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        // Whose name is its own signer's has signed itself, some readers say.
        params.distinguished_name.push(DnType::CommonName, "an authority for tests");
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Root { issuer: Issuer::new(params, key), pem }
    }

    pub fn sign(&self, names: &[&str]) -> Pair {
        let key = KeyPair::generate().expect("a key");
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let params = CertificateParams::new(names).expect("names");
        let leaf = params.signed_by(&key, &self.issuer).expect("a certificate");
        Pair { chain: leaf.pem(), key: key.serialize_pem() }
    }
}

/// A port below those that the system gives to clients, so that nobody holds it when whoever it is for comes, or comes back.
pub fn a_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // 64 for each process; those that run at the same time have other numbers at the end.
    let begin = u16::try_from(std::process::id() % 250).unwrap_or_default() * 64;
    let free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let next = || 16_000 + (begin + NEXT.fetch_add(1, Ordering::Relaxed) % 64);
    std::iter::repeat_with(next).find(free).expect("a port")
}

/// Where it looks for the proof that a name belongs to whoever orders.
#[derive(Clone, Copy, Debug)]
pub struct Looks {
    pub tls_port: u16,
    pub http_port: u16,
}

/// `pebble` with files in a folder of its own; ended when it is dropped.
#[derive(Debug)]
pub struct Pebble {
    dir: PathBuf,
    listen: u16,
    management: u16,
    children: Vec<Child>,
}

impl Pebble {
    /// Has its address and its files, and does not run yet.
    pub fn planned(dir: &Path, looks: Looks) -> Pebble {
        let root = Root::new();
        let reached = root.sign(&["localhost", "127.0.0.1"]);
        let (listen, management) = (a_port(), a_port());
        let config = json!({ "pebble": {
            "listenAddress": format!("127.0.0.1:{listen}"),
            "managementListenAddress": format!("127.0.0.1:{management}"),
            "certificate": dir.join("reach.pem"),
            "privateKey": dir.join("reach.key"),
            "httpPort": looks.http_port,
            "tlsPort": looks.tls_port,
            "ocspResponderURL": "",
            "externalAccountBindingRequired": false,
        }});
        for (file, text) in [
            ("root.pem", root.pem),
            ("reach.pem", reached.chain),
            ("reach.key", reached.key),
            ("pebble.json", config.to_string()),
        ] {
            std::fs::write(dir.join(file), text).expect("a file of pebble's");
        }
        Pebble { dir: dir.to_owned(), listen, management, children: Vec::new() }
    }

    pub fn running(dir: &Path, looks: Looks) -> Pebble {
        let mut pebble = Pebble::planned(dir, looks);
        pebble.start();
        pebble
    }

    /// Returns once it answers.
    pub fn start(&mut self) {
        let (dns, control) = (a_port(), a_port());
        let mut resolver = Command::new("pebble-challtestsrv");
        resolver
            .args(["-defaultIPv4", "127.0.0.1", "-defaultIPv6", ""])
            .args(["-http01", "", "-https01", "", "-tlsalpn01", ""])
            .args(["-dns01", &format!("127.0.0.1:{dns}"), "-management", &format!("127.0.0.1:{control}")]);
        let mut pebble = Command::new("pebble");
        pebble
            .arg("-config")
            .arg(self.dir.join("pebble.json"))
            .args(["-dnsserver", &format!("127.0.0.1:{dns}")])
            .env("PEBBLE_VA_NOSLEEP", "1")
            .env("PEBBLE_WFE_NONCEREJECT", "0")
            .env("PEBBLE_AUTHZREUSE", "0");
        self.children = vec![started(&mut resolver), started(&mut pebble)];
        [control, self.management, self.listen].into_iter().for_each(answers);
    }

    pub fn stop(&mut self) {
        for mut child in self.children.drain(..) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Where orders begin.
    pub fn directory(&self) -> String {
        format!("https://localhost:{}/dir", self.listen)
    }

    /// What is to be trusted for the authority's own address.
    pub fn root_file(&self) -> PathBuf {
        self.dir.join("root.pem")
    }

    /// What is to be trusted for what it issues: another one at each start.
    pub fn issues_under(&self) -> String {
        let mut asking = Command::new("openssl")
            .args(["s_client", "-quiet", "-servername", "localhost", "-verify_return_error"])
            .args(["-connect", &format!("127.0.0.1:{}", self.management), "-CAfile"])
            .arg(self.root_file())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl is installed");
        let mut asks = asking.stdin.take().expect("its input");
        std::io::Write::write_all(&mut asks, b"GET /roots/0 HTTP/1.0\r\nHost: localhost\r\n\r\n")
            .expect("asked");
        let answer = asking.wait_with_output().expect("an answer").stdout;
        drop(asks);
        let answer = String::from_utf8(answer).expect("a text");
        let begins = answer.find("-----BEGIN").unwrap_or_else(|| panic!("no certificate in {answer}"));
        answer[begins..].to_owned()
    }
}

impl Drop for Pebble {
    fn drop(&mut self) {
        self.stop();
    }
}

fn started(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap_or_else(|e| panic!("{command:?}, of Debian's package pebble: {e}"))
}

fn answers(port: u16) {
    let until = Instant::now() + LONG;
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        assert!(Instant::now() < until, "pebble does not come up");
        std::thread::sleep(Duration::from_millis(20));
    }
}
