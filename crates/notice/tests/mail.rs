//! Mail, handed in at a real server of somebody else's (aiosmtpd, which `scripts/smtp.sh` brings and `make lab` calls), with
//! certificates made here; and at a scripted peer on loopback for what a good server never does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::heard::Heard;
use common::{Home, channel, fast, notice, secret};
use holdfast_notice::{Channel, Login, Mail, MailSettings, Outcome, Pace, Security, Severity, Trouble};
use holdfast_testkit::house::NOON;
use serde_json::Value;

const SECOND: Duration = Duration::from_secs(1);

/// Prints its port, then a line for each message it took, parsed by Python's own library.
const SERVER: &str = r#"
import asyncio, email, email.policy, json, os, ssl, sys
from aiosmtpd.smtp import SMTP, AuthResult
mode, folder = sys.argv[1:3]
refusals = iter(os.environ.get("REFUSALS", "").split())
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
if mode != "plain":
    context.load_cert_chain(folder + "/leaf.pem", folder + "/leaf.key")
class Desk:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("gone"): return "550 5.1.1 nobody of that name"
        if address.startswith("full"): return "452 4.2.2 mailbox full"
        envelope.rcpt_tos.append(address)
        return "250 OK"
    async def handle_DATA(self, server, session, envelope):
        refusal = next(refusals, None)
        if refusal: return refusal + " not now"
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        print(json.dumps({
            "from": envelope.mail_from, "to": envelope.rcpt_tos, "headers": mail.keys(), "subject": mail["subject"],
            "id": mail["message-id"], "text": mail.get_content(), "login": session.auth_data and session.auth_data.decode(),
            "encrypted": mode == "tls" or session.ssl is not None, "defects": [repr(d) for d in mail.defects],
        }), flush=True)
        return "250 taken"
def known(server, session, envelope, mechanism, data):
    good = (data.login, data.password) == (b"ana", b"T0K3N pass")
    return AuthResult(success=good, handled=False, auth_data=data.login if good else None)
def protocol():
    if mode == "plain": return SMTP(Desk())
    return SMTP(Desk(), tls_context=context if mode == "starttls" else None, require_starttls=mode == "starttls",
        authenticator=known, auth_required=True, auth_require_tls=mode == "starttls",
        auth_exclude_mechanism=os.environ.get("WITHOUT", "").split())
async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(protocol, "127.0.0.1", 0, ssl=context if mode == "tls" else None)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"#;

/// The mail server, until it is dropped.
struct Server {
    child: Child,
    port: u16,
    got: Arc<Mutex<Vec<Value>>>,
}

impl Server {
    fn start(mode: &str, folder: &Path, variables: &[(&str, &str)]) -> Server {
        let mut child = Command::new(python())
            .args(["-c", SERVER, mode])
            .arg(folder)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the mail server of scripts/smtp.sh is needed here; `make lab` brings it");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let port = lines.next().expect("the server says its port").parse().unwrap();
        let got = Arc::<Mutex<Vec<Value>>>::default();
        let kept = got.clone();
        std::thread::spawn(move || {
            lines.for_each(|line| kept.lock().unwrap().push(serde_json::from_str(&line).unwrap()))
        });
        Server { child, port, got }
    }

    /// What it took, once it has said so.
    fn got(&self, count: usize) -> Vec<Value> {
        let began = Instant::now();
        loop {
            let got = self.got.lock().unwrap().clone();
            if got.len() >= count || began.elapsed() > 10 * SECOND {
                assert_eq!(got.len(), count, "{got:?}");
                return got;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn python() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = || set("XDG_CACHE_HOME").unwrap_or_else(|| set("HOME").unwrap().join(".cache"));
    set("HOLDFAST_TOOLS").unwrap_or_else(|| cache().join("holdfast/tools")).join("smtp/bin/python")
}

/// A folder with an authority and a certificate of it for this machine.
fn certificates() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let openssl = |words: &str| {
        let made =
            Command::new("openssl").args(words.split(' ')).current_dir(folder.path()).output().unwrap();
        assert!(made.status.success(), "openssl {words}: {}", String::from_utf8_lossy(&made.stderr));
    };
    let new = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    std::fs::write(folder.path().join("ext"), "subjectAltName=IP:127.0.0.1\n").unwrap();
    openssl(&format!("req -x509 {new} -keyout ca.key -out ca.pem -days 30 -subj /CN=authority"));
    openssl(&format!("req {new} -keyout leaf.key -out leaf.csr -subj /CN=leaf"));
    openssl(
        "x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile ext -out leaf.pem",
    );
    folder
}

fn login(password: &str) -> Option<Login> {
    Some(Login { user: secret("ana"), password: secret(password) })
}

fn settings(port: u16, security: Security) -> MailSettings {
    MailSettings {
        host: "127.0.0.1".into(),
        port,
        security,
        login: None,
        from: "holdfast@example.org".parse().unwrap(),
        to: vec!["ana@example.org".parse().unwrap(), "ben@example.net".parse().unwrap()],
        authorities: None,
    }
}

/// With the authority of that folder, and the password that is known.
fn trusting(port: u16, security: Security, folder: &Path) -> MailSettings {
    let authorities = Some(Mail::read_authorities(&folder.join("ca.pem")).unwrap());
    MailSettings { login: login("T0K3N pass"), authorities, ..settings(port, security) }
}

async fn send(settings: MailSettings) -> Outcome {
    send_within(settings, 5 * SECOND).await
}

async fn send_within(settings: MailSettings, limit: Duration) -> Outcome {
    let mail = channel("mail", Arc::new(Mail::new(settings, limit).unwrap()));
    holdfast_notice::test(&mail, &"holdfast/test".parse().unwrap(), NOON.parse().unwrap()).await
}

fn later(why: Trouble) -> Outcome {
    Outcome::Unavailable { why, retry_after: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_server_takes_it_encrypted_and_with_a_login() {
    let folder = certificates();
    for (mode, security, without) in [
        ("starttls", Security::StartTls, ""),
        ("starttls", Security::StartTls, "PLAIN"),
        ("tls", Security::Tls, ""),
    ] {
        let server = Server::start(mode, folder.path(), &[("WITHOUT", without)]);
        let sent = send(trusting(server.port, security, folder.path())).await;
        assert_eq!(sent, Outcome::Delivered, "{mode} without {without:?}");
        let got = server.got(1).remove(0);
        assert_eq!((&got["encrypted"], &got["login"]), (&true.into(), &"ana".into()), "{got}");
        assert_eq!(got["from"], "holdfast@example.org");
        assert_eq!(got["to"], serde_json::json!(["ana@example.org", "ben@example.net"]));
        assert_eq!(got["subject"], "ℹ️ INFO on test: This is a test: notices of this instance arrive here.");
        assert!(got["text"].as_str().unwrap().contains("run `holdfast status` on test"), "{got}");
        assert_eq!(got["defects"], serde_json::json!([]), "{got}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_prove_to_be_the_server_or_does_not_encrypt_gets_nothing() {
    let (folder, strangers) = (certificates(), certificates());
    for (mode, security) in [("starttls", Security::StartTls), ("tls", Security::Tls)] {
        let server = Server::start(mode, folder.path(), &[]);
        let unknown = trusting(server.port, security, strangers.path());
        assert_eq!(send(unknown).await, later(Trouble::Encryption), "{mode}: another authority");
        let machine = MailSettings { authorities: None, ..trusting(server.port, security, folder.path()) };
        assert_eq!(send(machine).await, later(Trouble::Encryption), "{mode}: the machine's own");
        let named =
            MailSettings { host: "localhost".into(), ..trusting(server.port, security, folder.path()) };
        assert_eq!(send(named).await, later(Trouble::Encryption), "{mode}: a certificate for another name");
        let wrong =
            MailSettings { login: login("guessed"), ..trusting(server.port, security, folder.path()) };
        assert_eq!(send(wrong).await, later(Trouble::Login), "{mode}: another password");
        let nobody = MailSettings { login: None, ..trusting(server.port, security, folder.path()) };
        assert_eq!(send(nobody).await, later(Trouble::Status(530)), "{mode}: no password");
        server.got(0);
    }
    // A server that offers no encryption is told nothing but hello.
    let plain = Server::start("plain", folder.path(), &[]);
    assert_eq!(
        send(trusting(plain.port, Security::StartTls, folder.path())).await,
        later(Trouble::Encryption)
    );
    assert_eq!(send(trusting(plain.port, Security::Tls, folder.path())).await, later(Trouble::Encryption));
    // And one that offers no login gets no password.
    let asked = MailSettings { login: login("T0K3N pass"), ..settings(plain.port, Security::Plain) };
    assert_eq!(send(asked).await, later(Trouble::Login));
    plain.got(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn whom_the_server_does_not_take_keeps_nobody_else_from_being_told() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start("plain", folder.path(), &[]);
    let to = |names: &[&str]| MailSettings {
        to: names.iter().map(|name| format!("{name}@example.org").parse().unwrap()).collect(),
        ..settings(server.port, Security::Plain)
    };
    assert_eq!(send(to(&["gone", "ana", "full"])).await, Outcome::Delivered);
    let got = server.got(1).remove(0);
    assert_eq!(got["to"], serde_json::json!(["ana@example.org"]));
    assert!(got["text"].as_str().unwrap().contains("did not take 2 of the addresses"), "{got}");
    // With nobody left, it waits until somebody mends the address.
    assert_eq!(send(to(&["gone"])).await, later(Trouble::Status(550)));
    assert_eq!(send(to(&["full"])).await, later(Trouble::Status(452)));
    server.got(1);
}

// shows: HRD-093
#[tokio::test(flavor = "multi_thread")]
async fn no_text_becomes_a_header_a_command_or_a_second_mail_and_no_secret_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start("plain", folder.path(), &[]);
    let home = Home::new();
    let mail = Mail::new(settings(server.port, Security::Plain), 5 * SECOND).unwrap();
    let running = home.open(vec![Channel { pace: fast(), ..channel("mail", Arc::new(mail)) }]).await;
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let hostile = format!(
        "full\r\nBcc: all@example.org\r\n\r\n.\r\nMAIL FROM:<x@y>\r\n {token} =?utf-8?q?=0D=0ABcc:x?= é"
    );
    home.raise(&notice(Severity::Critical, &hostile).with("a\r\nBcc: b", &hostile).with("token", &token));
    home.raise(&notice(Severity::Warning, &"日".repeat(20_000)));
    running.all_told().await;
    running.stop().await;
    let names =
        ["Date", "From", "To", "Subject", "Message-ID", "Auto-Submitted", "Importance", "MIME-Version"];
    let all: Vec<&str> = names.into_iter().chain(["Content-Type", "Content-Transfer-Encoding"]).collect();
    let got = server.got(2);
    for mail in &got {
        assert_eq!(mail["headers"], serde_json::json!(all));
        assert_eq!((&mail["to"].as_array().unwrap().len(), &mail["defects"]), (&2, &serde_json::json!([])));
        assert!(!mail.to_string().contains("a1B2"), "{mail}");
        assert!(mail["subject"].as_str().unwrap().chars().count() <= 140);
    }
    assert!(got[0]["text"].as_str().unwrap().contains("[REDACTED_GITHUB_TOKEN]"), "{}", got[0]);
    assert!(
        got[0]["subject"].as_str().unwrap().starts_with("🚨 CRITICAL on test: full  Bcc: all@example.org")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_between_two_tries_loses_nothing_and_doubles_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start("plain", folder.path(), &[("REFUSALS", "451 421")]);
    let home = Home::new();
    let open = async || {
        let mail = Mail::new(settings(server.port, Security::Plain), 5 * SECOND).unwrap();
        let pace = Pace { first_wait: 60 * SECOND, longest_wait: 60 * SECOND, ..fast() };
        home.open(vec![Channel { pace, ..channel("mail", Arc::new(mail)) }]).await
    };
    for round in 1..=2 {
        let running = open().await;
        if round == 1 {
            home.warn("one");
            home.warn("two");
        }
        common::until(|| running.handle.outlook().unwrap()[0].trouble.is_some()).await;
        running.stop().await;
        home.feed();
    }
    let running = open().await;
    running.all_told().await;
    running.stop().await;
    let ids: Vec<Value> = server.got(2).iter().map(|mail| mail["id"].clone()).collect();
    assert_eq!(ids, ["<ntc_test_1@example.org>", "<ntc_test_2@example.org>"]);
    assert_eq!(home.entries("notice.message.delivered").len(), 2);
}

/// A scripted peer: says one thing after another, each after it heard a line, and keeps what it heard.
fn peer(says: &'static [&'static str]) -> (u16, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, heard) = (listener.local_addr().unwrap().port(), Arc::<Mutex<String>>::default());
    let kept = heard.clone();
    std::thread::spawn(move || converse(listener.accept().unwrap().0, says, &kept));
    (port, heard)
}

fn converse(mut stream: TcpStream, says: &[&str], heard: &Mutex<String>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    for said in says {
        match *said {
            "(silence)" => {
                let _ = stream.read(&mut [0; 1]);
                return;
            }
            "(endless)" => {
                while stream.write_all(&[b'2'; 4_096]).is_ok() {}
                return;
            }
            "(wordy)" => {
                while stream.write_all(b"220-more\r\n").is_ok() {}
                return;
            }
            said if stream.write_all(said.as_bytes()).is_err() => return,
            said => {
                // A message is heard to its end.
                let until = if said.starts_with("354") { ".\r\n" } else { "\n" };
                let mut line = String::new();
                while !(line == until || (until == "\n" && line.ends_with('\n'))) {
                    line.clear();
                    if lines.read_line(&mut line).unwrap_or(0) == 0 {
                        return;
                    }
                    heard.lock().unwrap().push_str(&line);
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_of_a_scripted_peer_is_judged() {
    const GOOD: [&str; 2] = ["220 hello\r\n", "250-peer\r\n250 SIZE\r\n"];
    let status = |code| later(Trouble::Status(code));
    let refused = |code| Outcome::Refused { why: Trouble::Status(code) };
    let cases: &[(&'static [&'static str], Outcome)] = &[
        (
            &[GOOD[0], GOOD[1], "250 ok\r\n", "250 ok\r\n", "251 ok\r\n", "354 go\r\n", "250 ok\r\n"],
            Outcome::Delivered,
        ),
        // What is about this very message counts against it, everything else is waited for.
        (
            &[GOOD[0], GOOD[1], "250 ok\r\n", "250 ok\r\n", "250 ok\r\n", "354 go\r\n", "554 spam\r\n"],
            refused(554),
        ),
        (
            &[GOOD[0], GOOD[1], "250 ok\r\n", "250 ok\r\n", "250 ok\r\n", "354 go\r\n", "451 later\r\n"],
            status(451),
        ),
        (&[GOOD[0], GOOD[1], "250 ok\r\n", "250 ok\r\n", "250 ok\r\n", "554 no\r\n"], status(554)),
        (&[GOOD[0], GOOD[1], "553 not you\r\n"], status(553)),
        (&["554 go away\r\n"], status(554)),
        (&["421 too many\r\n"], status(421)),
        (&[GOOD[0], "502 what\r\n"], status(502)),
        (&[GOOD[0], GOOD[1]], later(Trouble::Network)),
        (&[], later(Trouble::Network)),
        (&["HTTP/1.1 400 Bad Request\r\n"], later(Trouble::Answer)),
        (&["(endless)"], later(Trouble::Answer)),
        (&["(wordy)"], later(Trouble::Answer)),
        (&["(silence)"], later(Trouble::TimedOut)),
        (
            &[GOOD[0], GOOD[1], "250 ok\r\n", "250 ok\r\n", "250 ok\r\n", "354 go\r\n", "(silence)"],
            later(Trouble::TimedOut),
        ),
    ];
    for (says, expected) in cases {
        let (port, _) = peer(says);
        let limit = if says.contains(&"(silence)") { Duration::from_millis(200) } else { 5 * SECOND };
        let got = send_within(settings(port, Security::Plain), limit).await;
        assert_eq!(got, *expected, "{says:?}");
    }
    // Nobody there at all.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    assert_eq!(send(settings(port, Security::Plain)).await, later(Trouble::Network));
}

/// Whoever stands in between says "encrypted from here" and goes on in the clear, or takes the offer away.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_said_to_whoever_takes_encryption_away() {
    let folder = certificates();
    for says in [
        &["220 hello\r\n", "250 peer\r\n", "250 ok\r\n"][..],
        &[
            "220 hello\r\n",
            "250-peer\r\n250 STARTTLS\r\n",
            "220 go\r\n250-AUTH PLAIN\r\n250 ok\r\n",
            "235 in\r\n",
        ],
        &["220 hello\r\n", "250-peer\r\n250 STARTTLS\r\n", "454 not now\r\n", "235 in\r\n"],
    ] {
        let (port, heard) = peer(says);
        let sent = send(trusting(port, Security::StartTls, folder.path())).await;
        assert!(matches!(sent, Outcome::Unavailable { .. }), "{sent:?}");
        let heard = heard.lock().unwrap().clone();
        assert!(!heard.contains("AUTH") && !heard.contains("MAIL") && !heard.contains("arrive"), "{heard}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_the_server_the_login_or_people_is_in_a_trace_or_in_the_house() {
    let heard = Heard::everywhere();
    let folder = certificates();
    let server = Server::start("starttls", folder.path(), &[("REFUSALS", "451")]);
    let home = Home::new();
    let mail = Mail::new(trusting(server.port, Security::StartTls, folder.path()), 5 * SECOND).unwrap();
    let running = home.open(vec![Channel { pace: fast(), ..channel("mail", Arc::new(mail)) }]).await;
    home.warn("one");
    running.all_told().await;
    running.stop().await;
    server.got(1);
    let (said, port) = (heard.all(), server.port.to_string());
    assert!(said.contains("trying on"), "the room's own words are heard: {said}");
    for part in ["T0K3N", "ana@", "example.org", &port] {
        assert!(!said.contains(part), "{part} is in:\n{said}");
        let files = holdfast_testkit::files::find_bytes(home.house.path(), part.as_bytes());
        assert!(part == port || files.is_empty(), "{part} is in {files:?}");
    }
}
