//! The webhook against real receivers on this machine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::num::NonZeroU32;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::heard::Heard;
use common::http::{Answer, Receiver};
use common::{Home, KEY, channel, fast, notice, secret, until, webhook};
use holdfast_notice::{AllowHosts, Channel, Outcome, Pace, Severity, Trouble, Webhook};
use holdfast_testkit::house::NOON;
use serde_json::Value;

const SECOND: Duration = Duration::from_secs(1);

fn at(port: u16) -> Channel {
    Channel { pace: fast(), ..channel("ops", Arc::new(webhook(port, 5 * SECOND))) }
}

/// A receiver in Python's standard library: it checks signatures with its own code and prints what it accepted.
const PYTHON: &str = r#"
import base64, hashlib, hmac, http.server, json, sys
key = base64.b64decode(sys.argv[1].removeprefix("whsec_"))
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        signed = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + body
        wanted = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        good = hmac.compare_digest(wanted, self.headers["webhook-signature"])
        print(json.dumps({"good": good, "id": self.headers["webhook-id"], "body": json.loads(body)}), flush=True)
        self.send_response(204 if good else 401)
        self.end_headers()
    def log_message(self, *args): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Hook)
print(server.server_port, flush=True)
server.serve_forever()
"#;

// shows: HRD-091
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_receiver_verifies_the_signature() {
    let mut python = Command::new("python3")
        .args(["-c", PYTHON, KEY])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is needed here");
    let mut lines = BufReader::new(python.stdout.take().unwrap()).lines().map(Result::unwrap);
    let port = lines.next().unwrap().parse().unwrap();
    let home = Home::new();
    let running = home.open(vec![at(port)]).await;
    // The first may have been told, and that written down, before the second is raised.
    let raised = ["plain", "quotes \" and \\ and é 日本"]
        .map(|text| (text, home.raise(&notice(Severity::Critical, text).with("unit", "sshd"))));
    running.all_told().await;
    running.stop().await;
    for (text, seq) in raised {
        let got: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
        assert_eq!((&got["good"], &got["body"]["message"]), (&true.into(), &text.into()), "{got}");
        assert_eq!(got["id"], got["body"]["id"]);
        assert_eq!(got["id"], format!("ntc_test_{seq}"));
    }
    python.kill().unwrap();
    python.wait().unwrap();
}

// shows: HRD-087
#[tokio::test(flavor = "multi_thread")]
async fn the_payload_says_when_how_bad_what_and_who() {
    let receiver = Receiver::start(|_| Answer::Status(200));
    let home = Home::new();
    let running = home.open(vec![at(receiver.port)]).await;
    home.raise(
        &notice(Severity::Warning, "the disk is nearly full").with("disk", "/var").with("free", "3 %"),
    );
    running.all_told().await;
    running.stop().await;
    let got = receiver.got().remove(0);
    assert_eq!(got.line, "POST /hook/T0K3N HTTP/1.1");
    assert_eq!(got.headers["content-type"], "application/json");
    assert!(got.headers["webhook-timestamp"].parse::<u64>().unwrap() > 1_700_000_000);
    insta::assert_snapshot!(String::from_utf8(got.body).unwrap(), @r#"{"id":"ntc_test_1","timestamp":"2026-11-15T12:00:00.000000Z","severity":"warning","message":"the disk is nearly full","context":{"disk":"/var","free":"3 %"},"source":"test"}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_fails_first_gets_it_again_under_the_same_id() {
    let mut answers = [Answer::Status(500), Answer::HangUp, Answer::Status(503)].into_iter();
    let receiver = Receiver::start(move |_| answers.next().unwrap_or(Answer::Status(200)));
    let home = Home::new();
    let running = home.open(vec![at(receiver.port)]).await;
    home.warn("one");
    home.warn("two");
    running.all_told().await;
    running.stop().await;
    let ids: Vec<String> = receiver.got().iter().map(|r| r.id().to_owned()).collect();
    assert_eq!(ids, ["ntc_test_1", "ntc_test_1", "ntc_test_1", "ntc_test_1", "ntc_test_2"]);
    let delivered = home.entries("notice.message.delivered");
    let attempts: Vec<&Value> = delivered.iter().map(|(_, body)| &body["attempts"]).collect();
    assert_eq!(attempts, [4, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_comes_back_gets_everything_once_in_order() {
    // The port is ours and nobody answers there yet.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let home = Home::new();
    let running = home.open(vec![at(port)]).await;
    for n in 0..200 {
        holdfast_notice::raise(&home.journal, &notice(Severity::Warning, &format!("notice {n}"))).unwrap();
    }
    home.feed();
    until(|| running.handle.outlook().unwrap()[0].trouble == Some(Trouble::Network)).await;
    assert_eq!(running.pending(), 200);
    let receiver = Receiver::on(TcpListener::bind(("127.0.0.1", port)).unwrap(), |_| Answer::Status(200));
    running.all_told().await;
    running.stop().await;
    let texts: Vec<Value> = receiver.got().iter().map(|r| r.json()["message"].clone()).collect();
    assert_eq!(texts, (0..200).map(|n| format!("notice {n}")).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_in_a_message_does_not_reach_the_receiver() {
    let receiver = Receiver::start(|_| Answer::Status(200));
    let home = Home::new();
    let running = home.open(vec![at(receiver.port)]).await;
    let token = format!("ghp_{}", "a1B2".repeat(9));
    home.raise(&notice(Severity::Warning, &format!("login with {token} failed")).with("header", &token));
    running.all_told().await;
    running.stop().await;
    let body = String::from_utf8(receiver.got().remove(0).body).unwrap();
    assert!(!body.contains("a1B2") && body.contains("[REDACTED_GITHUB_TOKEN]"), "{body}");
}

// shows: HRD-092
#[tokio::test(flavor = "multi_thread")]
async fn a_storm_at_a_failing_receiver_ends_in_few_recorded_messages_at_a_bounded_rate() {
    let mut answers = [Answer::Silence, Answer::Status(500)].into_iter();
    let receiver = Receiver::start(move |_| answers.next().unwrap_or(Answer::Status(200)));
    let pace = Pace {
        first_wait: Duration::from_millis(40),
        longest_wait: Duration::from_millis(400),
        per_minute: NonZeroU32::new(4),
        ..Pace::default()
    };
    let home = Home::new();
    let hook = channel("ops", Arc::new(webhook(receiver.port, Duration::from_millis(200))));
    let running = home.open(vec![Channel { pace, ..hook }]).await;
    let storm = notice(Severity::Warning, "the disk is slow").folding("disk").draft(home.journal.origin());
    home.journal.append_many(&vec![storm; 1000]).unwrap();
    home.feed();
    // Time limit, then 500, then accepted: the same message three times, ever later, and one record.
    until(|| running.handle.outlook().unwrap()[0].delivered == 1).await;
    let got = receiver.got();
    assert_eq!(got.len(), 3);
    assert!(got.iter().all(|r| r.id() == got[0].id()));
    assert!(got[2].at - got[1].at >= Duration::from_millis(60), "the second pause is the longer one");
    let (_, record) = &home.entries("notice.message.delivered")[0];
    assert_eq!((&record["attempts"], &record["count"]), (&3.into(), &got[0].json()["folded"]["count"]));
    // Five that differ: the rest of the storm goes before them as one, then the rate is used up.
    for n in 1..=5 {
        home.warn(&format!("notice {n}"));
    }
    until(|| running.pending() == 3).await;
    assert_eq!(receiver.got().len(), 6);
    // What the rate held back was delayed and not dropped; a critical notice does not wait.
    home.raise(&notice(Severity::Critical, "the disk is gone"));
    running.all_told().await;
    running.stop().await;
    let got: Vec<Value> = receiver.got()[2..].iter().map(|r| r.json()).collect();
    let counted: u64 = got.iter().filter_map(|m| m["folded"]["count"].as_u64()).sum();
    assert_eq!((got.len(), counted), (8, 1000));
    let differing: Vec<&str> = got[2..7].iter().map(|m| m["message"].as_str().unwrap()).collect();
    assert_eq!(differing, [1, 2, 3, 4, 5].map(|n| format!("notice {n}")));
}

async fn send_to(port: u16, limit: Duration) -> Outcome {
    let hook = channel("ops", Arc::new(webhook(port, limit)));
    holdfast_notice::test(&hook, &"holdfast/test".parse().unwrap(), NOON.parse().unwrap()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_judged() {
    use Outcome::{Delivered, Refused, Unavailable};
    let status = Trouble::Status;
    let later = |n, retry_after| Unavailable { why: status(n), retry_after };
    for (answer, expected) in [
        (Answer::Status(200), Delivered),
        (Answer::Status(204), Delivered),
        (Answer::Status(400), Refused { why: status(400) }),
        (Answer::Status(413), Refused { why: status(413) }),
        (Answer::Status(415), Refused { why: status(415) }),
        (Answer::Status(422), Refused { why: status(422) }),
        // None of these is a fault of the message: a token, a path or a proxy is out of order, and may be mended.
        (Answer::Status(401), later(401, None)),
        (Answer::Status(403), later(403, None)),
        (Answer::Status(404), later(404, None)),
        (Answer::Status(410), later(410, None)),
        (Answer::Status(304), later(304, None)),
        (Answer::Status(408), later(408, None)),
        (Answer::Status(425), later(425, None)),
        (Answer::Status(500), later(500, None)),
        (Answer::With(429, "retry-after: 7\r\n"), later(429, Some(7 * SECOND))),
        (Answer::With(503, "retry-after: Fri, 31 Dec 1999 23:59:59 GMT\r\n"), later(503, None)),
        (Answer::HangUp, Unavailable { why: Trouble::Network, retry_after: None }),
        (Answer::Endless, Delivered),
    ] {
        let given = answer.clone();
        let receiver = Receiver::start(move |_| given.clone());
        assert_eq!(send_to(receiver.port, 5 * SECOND).await, expected, "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_says_nothing_costs_no_more_than_the_time_limit() {
    let receiver = Receiver::start(|_| Answer::Silence);
    let began = Instant::now();
    let outcome = send_to(receiver.port, Duration::from_millis(100)).await;
    assert_eq!(outcome, Outcome::Unavailable { why: Trouble::TimedOut, retry_after: None });
    assert!(began.elapsed() < 3 * SECOND, "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_not_followed() {
    let elsewhere = Receiver::start(|_| Answer::Status(200));
    for status in [301, 302, 307, 308] {
        let more: &'static str = format!("location: http://127.0.0.1:{}/\r\n", elsewhere.port).leak();
        let receiver = Receiver::start(move |_| Answer::With(status, more));
        let expected = Outcome::Unavailable { why: Trouble::Status(status), retry_after: None };
        assert_eq!(send_to(receiver.port, SECOND).await, expected);
    }
    assert!(elsewhere.got().is_empty());
}

// shows: HRD-F57
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_leads_to_this_machine_is_not_called() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://localhost:{}/T0K3N", listener.local_addr().unwrap().port());
    let clock = Arc::new(holdfast_journal::SystemClock::new());
    let make = |allow: &[&str]| {
        Webhook::with_limit(secret(&address), &secret(KEY), AllowHosts::new(allow), clock.clone(), SECOND)
            .unwrap()
    };
    let send = async |hook: Webhook| {
        let origin = "holdfast/test".parse().unwrap();
        holdfast_notice::test(&channel("ops", Arc::new(hook)), &origin, NOON.parse().unwrap()).await
    };
    let refused = Outcome::Unavailable { why: Trouble::Destination, retry_after: None };
    assert_eq!(send(make(&[])).await, refused);
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "nobody came");
    // Allowed, it is called: what fails now is the encryption, which nobody answers here.
    assert_ne!(send(make(&["localhost"])).await, refused);
    assert!(listener.accept().is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_the_address_is_in_a_trace() {
    let heard = Heard::everywhere();
    let mut answers = [Answer::HangUp, Answer::Silence, Answer::Status(500)].into_iter();
    let receiver = Receiver::start(move |_| answers.next().unwrap_or(Answer::Status(200)));
    let clock = Arc::new(holdfast_journal::SystemClock::new());
    let address = format!("http://localhost:{}/T0K3N", receiver.port);
    let hook = Webhook::with_limit(
        secret(address),
        &secret(KEY),
        AllowHosts::new(["localhost"]),
        clock,
        Duration::from_millis(200),
    );
    let home = Home::new();
    let hook = Channel { pace: fast(), ..channel("ops", Arc::new(hook.unwrap())) };
    let running = home.open(vec![hook]).await;
    home.warn("one");
    home.warn("two");
    running.all_told().await;
    running.stop().await;
    let said = heard.all();
    assert!(said.contains("trying on"), "the room's own words are heard: {said}");
    let port = receiver.port.to_string();
    for part in ["localhost", "127.0.0.1", "[::1]", "T0K3N", "whsec_", &port] {
        assert!(!said.contains(part), "{part} is in:\n{said}");
    }
}
