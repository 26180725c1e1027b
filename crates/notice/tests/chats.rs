//! Slack, Discord and ntfy. None of them can run here: what answers is a scripted peer on loopback that speaks their
//! protocol as their own pages describe it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::heard::Heard;
use common::http::{Answer, Receiver, Request};
use common::{Home, channel, fast, notice, secret};
use holdfast_notice::{AllowHosts, Channel, Discord, Ntfy, Outcome, Severity, Sink, Slack, Trouble};
use holdfast_testkit::house::NOON;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Slack,
    Discord,
    Ntfy,
}

const KINDS: [Kind; 3] = [Kind::Slack, Kind::Discord, Kind::Ntfy];

impl Kind {
    fn sink(self, host: &str, port: u16, limit: Duration) -> Arc<dyn Sink> {
        let (url, allow) = (secret(format!("http://{host}:{port}/services/T0K3N")), AllowHosts::new([host]));
        match self {
            Kind::Slack => Arc::new(Slack::new(url, None, &allow, limit).unwrap()),
            Kind::Discord => Arc::new(Discord::new(url, &allow, limit).unwrap()),
            Kind::Ntfy => {
                let server = format!("http://{host}:{port}");
                Arc::new(Ntfy::new(&server, secret("T0P1C"), Some(secret("tk_T0K3N")), limit).unwrap())
            }
        }
    }

    /// What the service says when it has a message.
    fn yes(self) -> Answer {
        match self {
            Kind::Slack => Answer::Body(200, "content-type: text/html\r\n", "ok"),
            Kind::Discord => Answer::Status(204),
            Kind::Ntfy => {
                Answer::Body(200, "", r#"{"id":"hwQ2YpKdmg","time":1,"event":"message","topic":"T0P1C"}"#)
            }
        }
    }

    /// What it says when it is told too much.
    fn too_much(self) -> Answer {
        match self {
            Kind::Slack => Answer::With(429, "retry-after: 7\r\n"),
            Kind::Discord => Answer::Body(
                429,
                "retry-after: 7\r\n",
                r#"{"message":"You are being rate limited.","retry_after":6.4,"global":false}"#,
            ),
            Kind::Ntfy => Answer::Body(429, "retry-after: 7\r\n", r#"{"code":42901,"http":429}"#),
        }
    }

    /// The words a reader sees, without what is around them.
    fn words(self, request: &Request) -> String {
        match self {
            Kind::Slack => request.json()["blocks"][0]["text"]["text"].as_str().unwrap().to_owned(),
            Kind::Discord => request.json()["embeds"][0]["description"].as_str().unwrap().to_owned(),
            Kind::Ntfy => String::from_utf8(request.body.clone()).unwrap(),
        }
    }
}

fn at(kind: Kind, port: u16) -> Channel {
    Channel {
        pace: fast(),
        min_severity: Severity::Info,
        ..channel("chat", kind.sink("127.0.0.1", port, 5 * SECOND))
    }
}

async fn send_to(kind: Kind, port: u16, limit: Duration) -> Outcome {
    let chat = channel("chat", kind.sink("127.0.0.1", port, limit));
    holdfast_notice::test(&chat, &"holdfast/test".parse().unwrap(), NOON.parse().unwrap()).await
}

/// A request as it is read by people: what does not matter is left out.
fn shown(request: &Request) -> String {
    let kept = ["authorization", "content-type", "priority", "tags", "title"];
    let headers = request.headers.iter().filter(|(name, _)| kept.contains(&name.as_str()));
    let headers: String = headers.map(|(name, value)| format!("{name}: {value}\n")).collect();
    let body = match serde_json::from_slice::<serde_json::Value>(&request.body) {
        Ok(json) => serde_json::to_string_pretty(&json).unwrap(),
        Err(_) => String::from_utf8(request.body.clone()).unwrap(),
    };
    format!("{}\n{headers}\n{body}\n", request.line)
}

// shows: HRD-086, HRD-089, HRD-090
#[tokio::test(flavor = "multi_thread")]
async fn each_service_gets_a_sign_a_word_a_sentence_facts_and_what_to_do() {
    for kind in KINDS {
        let receiver = Receiver::start(move |_| kind.yes());
        let home = Home::new();
        let running = home.open(vec![at(kind, receiver.port)]).await;
        for severity in Severity::ALL {
            home.raise(
                &notice(severity, "Memory pressure rose from 2 % to 31 %.").with("unit", "web.service"),
            );
        }
        running.all_told().await;
        running.stop().await;
        let got: Vec<String> = receiver.got().iter().map(shown).collect();
        assert_eq!(got.len(), 3);
        insta::assert_snapshot!(format!("{kind:?}").to_lowercase(), got.join("\n"));
        assert!(!got.join("").replace("allowed", "").contains('!'), "{kind:?} shouts");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_channel_is_named_where_one_is_wanted() {
    let receiver = Receiver::start(|_| Kind::Slack.yes());
    let url = secret(format!("http://127.0.0.1:{}/x", receiver.port));
    let slack = Slack::new(url, Some("#ops"), &AllowHosts::new(["127.0.0.1"]), SECOND).unwrap();
    let origin = "holdfast/test".parse().unwrap();
    let sent = holdfast_notice::test(&channel("chat", Arc::new(slack)), &origin, NOON.parse().unwrap()).await;
    assert_eq!((sent, &receiver.got()[0].json()["channel"]), (Outcome::Delivered, &"#ops".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_judged() {
    use Outcome::{Delivered, Refused, Unavailable};
    let later = |why| Unavailable { why, retry_after: None };
    let status = |code| later(Trouble::Status(code));
    for kind in KINDS {
        let portal = Answer::Body(200, "", "<html>Welcome to the hotel. Please log in.</html>");
        let asks = Unavailable { why: Trouble::Status(429), retry_after: Some(7 * SECOND) };
        for (answer, expected) in [
            (kind.yes(), Delivered),
            (kind.too_much(), asks),
            (Answer::Status(500), status(500)),
            (Answer::Status(503), status(503)),
            (Answer::Status(401), status(401)),
            (Answer::Status(403), status(403)),
            (Answer::Status(404), status(404)),
            (Answer::Status(410), status(410)),
            (Answer::Status(400), Refused { why: Trouble::Status(400) }),
            (Answer::HangUp, later(Trouble::Network)),
            (portal, later(Trouble::Answer)),
            (Answer::Endless, later(Trouble::Answer)),
        ] {
            let given = answer.clone();
            let receiver = Receiver::start(move |_| given.clone());
            assert_eq!(send_to(kind, receiver.port, 5 * SECOND).await, expected, "{kind:?} {answer:?}");
        }
        let began = Instant::now();
        let receiver = Receiver::start(|_| Answer::Silence);
        let late = send_to(kind, receiver.port, Duration::from_millis(100)).await;
        assert_eq!((late, began.elapsed() < 3 * SECOND), (later(Trouble::TimedOut), true), "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_not_followed() {
    let elsewhere = Receiver::start(|_| Answer::Status(204));
    let more: &'static str = format!("location: http://127.0.0.1:{}/\r\n", elsewhere.port).leak();
    for kind in KINDS {
        for status in [301, 302, 307, 308] {
            let receiver = Receiver::start(move |_| Answer::With(status, more));
            let expected = Outcome::Unavailable { why: Trouble::Status(status), retry_after: None };
            assert_eq!(send_to(kind, receiver.port, SECOND).await, expected, "{kind:?}");
        }
    }
    assert!(elsewhere.got().is_empty());
}

// shows: HRD-093, HRD-F56
#[tokio::test(flavor = "multi_thread")]
async fn neither_a_secret_nor_a_call_to_everybody_nor_markup_leaves() {
    for kind in KINDS {
        let receiver = Receiver::start(move |_| kind.yes());
        let home = Home::new();
        let running = home.open(vec![at(kind, receiver.port)]).await;
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let hostile =
            format!("{token} @everyone <!channel> <@U123> [x](https://evil.example) **b**\r\nX-Evil: 1");
        home.raise(&notice(Severity::Warning, &hostile).with("header", &token).with("@here", &hostile));
        home.raise(&notice(Severity::Warning, &"long ".repeat(20_000)).with("long", "v".repeat(9_000)));
        running.all_told().await;
        running.stop().await;
        let got = receiver.got();
        for request in &got {
            let said = format!("{:?} {}", request.headers, String::from_utf8(request.body.clone()).unwrap());
            assert!(!said.contains("a1B2") && !request.headers.contains_key("x-evil"), "{kind:?} {said}");
            assert!(request.body.len() < 40_000, "{kind:?}");
            // Slack is told that a text is plain; ntfy shows a text as it is and knows neither markup nor people.
            let calls: &[&str] = match kind {
                Kind::Slack => {
                    &["@everyone", "@here", "<!channel>", "<@U123>", "mrkdwn\":true", "\"mrkdwn\","]
                }
                Kind::Discord => &["@everyone", "@here", "<!channel>", "<@U123>", "[x](", "**b"],
                Kind::Ntfy => &["markdown"],
            };
            for call in calls {
                assert!(!said.contains(call), "{kind:?} {call} in {said}");
            }
        }
        let words = kind.words(&got[0]).replace('\\', "");
        assert!(words.contains("[REDACTED_GITHUB_TOKEN]"), "{kind:?} {words}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_between_two_tries_loses_nothing_and_doubles_nothing() {
    for kind in KINDS {
        let mut answers = [Answer::Status(503), Answer::HangUp].into_iter();
        let receiver = Receiver::start(move |_| answers.next().unwrap_or_else(|| kind.yes()));
        let home = Home::new();
        let slow = || {
            // After the first failure it waits until long after the restart.
            let pace = holdfast_notice::Pace { first_wait: 60 * SECOND, longest_wait: 60 * SECOND, ..fast() };
            vec![Channel { pace, ..at(kind, receiver.port) }]
        };
        for tries in 1..=2 {
            let running = home.open(slow()).await;
            if tries == 1 {
                home.warn("one");
                home.warn("two");
            }
            common::until(|| receiver.got().len() == tries).await;
            running.stop().await;
            home.feed();
        }
        let running = home.open(slow()).await;
        running.all_told().await;
        running.stop().await;
        let words: Vec<String> = receiver.got().iter().map(|request| kind.words(request)).collect();
        let of = |text: &str| words.iter().filter(|words| words.contains(text)).count();
        assert_eq!((words.len(), of("one"), of("two")), (4, 3, 1), "{kind:?} {words:?}");
        assert_eq!(home.entries("notice.message.delivered").len(), 2, "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_an_address_or_a_token_is_in_a_trace_or_in_the_house() {
    let heard = Heard::everywhere();
    for kind in KINDS {
        let mut answers = [Answer::HangUp, Answer::Silence, Answer::Status(500)].into_iter();
        let receiver = Receiver::start(move |_| answers.next().unwrap_or_else(|| kind.yes()));
        let home = Home::new();
        let sink = kind.sink("localhost", receiver.port, Duration::from_millis(200));
        assert!(!format!("{sink:?}").contains("T0K3N") && !format!("{sink:?}").contains("T0P1C"), "{sink:?}");
        let running = home.open(vec![Channel { pace: fast(), ..channel("chat", sink) }]).await;
        home.warn("one");
        running.all_told().await;
        running.stop().await;
        for needle in [&b"T0K3N"[..], b"T0P1C"] {
            assert!(holdfast_testkit::files::find_bytes(home.house.path(), needle).is_empty(), "{kind:?}");
        }
        // Other tests of this process may speak of other receivers.
        let (said, port) = (heard.all(), receiver.port.to_string());
        assert!(said.contains("trying on"), "the room's own words are heard: {said}");
        for part in ["localhost", "T0K3N", "T0P1C", &port] {
            assert!(!said.contains(part), "{kind:?}: {part} is in:\n{said}");
        }
    }
}
