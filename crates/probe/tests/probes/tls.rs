//! Hosts that prove who they are, or do not: `openssl s_server` with certificates made here.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use holdfast_probe::{Found, Method, Request, Terms, http, run};
use holdfast_types::Timestamp;

use crate::peer::{PLENTY, assert_found, check, now, page, terms, word};

const DAY: Duration = Duration::from_secs(24 * 3600);

fn openssl(folder: &Path, words: &str) {
    let made = Command::new("openssl").args(words.split(' ')).current_dir(folder).output().unwrap();
    assert!(made.status.success(), "openssl {words}: {}", String::from_utf8_lossy(&made.stderr));
}

const EC: &str = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";

/// An authority in this file, as the only one that is trusted.
pub(crate) fn authority(file: &Path) -> PathBuf {
    let made =
        format!("req -x509 {EC} -keyout /dev/null -out {} -days 365 -subj /CN=authority", file.display());
    openssl(Path::new("/"), &made);
    file.to_owned()
}

/// A folder with an authority, and what it signed.
struct House(tempfile::TempDir);

impl House {
    fn new() -> House {
        let house = House(tempfile::tempdir().unwrap());
        house.openssl(&format!("req -x509 {EC} -keyout ca.key -out ca.pem -days 365 -subj /CN=authority"));
        house
    }

    fn openssl(&self, words: &str) {
        openssl(self.0.path(), words);
    }

    fn roots(&self) -> PathBuf {
        self.0.path().join("ca.pem")
    }

    /// A server with a certificate for this alternative name, lasting so many days.
    fn server(&self, name: &str, days: u32) -> Server {
        std::fs::write(self.0.path().join("ext"), format!("subjectAltName={name}\n")).unwrap();
        self.openssl(&format!("req {EC} -keyout leaf.key -out leaf.csr -subj /CN=leaf"));
        self.openssl(&format!(
            "x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days {days} -extfile ext -out leaf.pem"
        ));
        self.serve("leaf", "-www")
    }

    fn serve(&self, certificate: &str, option: &str) -> Server {
        let mut child = Command::new("openssl")
            .args(["s_server", "-accept", "127.0.0.1:0", option])
            .args(["-cert", &format!("{certificate}.pem"), "-key", &format!("{certificate}.key")])
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address =
            lines.map_while(Result::ok).find_map(|line| line.strip_prefix("ACCEPT ").map(str::to_owned));
        Server { child, address: address.expect("s_server says where it listens") }
    }
}

struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// What is found of a server, with these fields besides its address and the authority.
fn look(house: &House, server: &Server, fields: &str, at: Timestamp) -> Found {
    let roots = house.roots();
    let json =
        format!(r#"{{"tls":{{"address":"{}","roots":"{}"{fields}}}}}"#, server.address, roots.display());
    run(&check(&json), &Terms { within: PLENTY, now: at, not_before: None })
}

#[test]
fn a_certificate_is_valid_for_its_name_and_its_time() {
    let house = House::new();
    let server = house.server("DNS:web.example.org,IP:127.0.0.1", 30);
    // A little later, so that thirty days are over when it says.
    let now = now().plus(Duration::from_secs(60));
    let then = |days| Timestamp::from_micros(now.as_micros() + days * DAY.as_micros() as i64).unwrap();
    let cases = [
        ("by its address", "", 0, "passed", ""),
        ("by its name", r#","name":"web.example.org""#, 0, "passed", ""),
        ("by another name", r#","name":"web.example.com""#, 0, "failed", "another name"),
        ("by another address", r#","name":"127.0.0.2""#, 0, "failed", "another name"),
        ("long enough", r#","days_left":29"#, 0, "passed", ""),
        ("not long enough", r#","days_left":31"#, 0, "failed", "29 days left, and 31 are wanted"),
        ("not nearly", r#","days_left":4294967295"#, 0, "failed", "29 days left"),
        ("nearly over", r#","days_left":14"#, 28, "failed", "1 days left"),
        ("over", "", 31, "failed", "has run out"),
        ("not yet", "", -2, "failed", "not valid yet"),
    ];
    for (case, fields, days, expected, part) in cases {
        let found = look(&house, &server, fields, then(days));
        let (word, why) = word(&found);
        assert!(word == expected && why.contains(part), "{case}: {found:?}");
    }
}

#[test]
fn who_is_vouched_for_by_nobody_is_not_believed() {
    let house = House::new();
    let server = house.server("IP:127.0.0.1", 30);
    // With the machine's own authorities, which have never heard of ours. A machine without any cannot tell.
    let found = run(&check(&format!(r#"{{"tls":{{"address":"{}"}}}}"#, server.address)), &terms(PLENTY));
    assert!(!matches!(found, Found::Passed { .. } | Found::TimedOut), "{found:?}");
    // Somebody who vouches for himself.
    house.openssl(&format!(
        "req -x509 {EC} -keyout own.key -out own.pem -days 30 -subj /CN=own -addext subjectAltName=IP:127.0.0.1"
    ));
    let own = house.serve("own", "-www");
    assert_found(&look(&house, &own, "", now()), "failed", "certificate");
}

#[test]
fn an_older_tls_is_spoken_and_no_tls_is_no_tls() {
    let house = House::new();
    drop(house.server("IP:127.0.0.1", 30));
    let older = house.serve("leaf", "-tls1_2");
    assert_found(&look(&house, &older, r#","days_left":7"#, now()), "passed", "");
    let plain = page("HTTP/1.1 400 Bad Request\r\n\r\n");
    let json = format!(r#"{{"tls":{{"address":"{plain}","roots":"{}"}}}}"#, house.roots().display());
    // A plain server waits for the end of a line that never comes, or answers with what is no TLS.
    let found = run(&check(&json), &terms(Duration::from_millis(500)));
    assert!(matches!(found, Found::Failed { .. } | Found::TimedOut), "{found:?}");
}

#[test]
fn roots_that_cannot_be_read_are_no_fault_of_the_host() {
    let house = House::new();
    let server = house.server("IP:127.0.0.1", 30);
    std::fs::write(house.roots(), "").unwrap();
    assert_found(&look(&house, &server, "", now()), "unknown", "no certificate in the file");
    std::fs::write(house.roots(), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    assert_found(&look(&house, &server, "", now()), "unknown", "roots");
    std::fs::remove_file(house.roots()).unwrap();
    assert_found(&look(&house, &server, "", now()), "unknown", "roots");
}

#[test]
fn pages_and_calls_go_over_tls() {
    let house = House::new();
    let server = house.server("IP:127.0.0.1", 30);
    let (address, roots) = (&server.address, house.roots());
    let look = |fields: &str| {
        let json =
            format!(r#"{{"http":{{"url":"https://{address}/","roots":"{}"{fields}}}}}"#, roots.display());
        run(&check(&json), &terms(PLENTY))
    };
    assert_found(&look(""), "passed", "");
    assert_found(&look(r#","contains":"Ciphers supported""#), "passed", "");
    assert_found(&look(r#","contains":"never said""#), "failed", "text");
    let call = Request::new(Method::Get, format!("https://{address}/").parse().unwrap());
    let answer = http(&call.clone().roots(Some(roots)), PLENTY, now()).unwrap();
    assert_eq!((answer.status, answer.whole), (200, true));
    // Without our authority there is no answer, and nothing was asked.
    assert!(http(&call, PLENTY, now()).is_err());
}
