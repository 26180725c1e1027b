//! Notices from end to end: raised with and without a daemon, told when there is somebody to tell, once and in order.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use holdfast_types::Clock as _;

use crate::home::{Home, run};
use crate::receiver::Receiver;
use crate::running::{Looking, Running, wait_until};

#[test]
fn what_is_raised_while_receiver_or_daemon_is_away_is_told_once_and_in_order() {
    let home = Home::made("web-1");
    let receiver = Receiver::away();
    home.configure(&receiver.settings());
    let raise = |n: u32| home.run(&["notice", "raise", &format!("tide {n}"), "--severity", "info"]).ok();
    let start = || Running::with(&home, |command| receiver.secrets(command));

    let daemon = start();
    wait_until("the channel is open", || {
        daemon.metric(r#"holdfast_notice_pending{sink="webhook"}"#).is_some()
    });
    (0..3).for_each(|n| drop(raise(n)));
    wait_until("it could not be told", || {
        home.json(&["notice", "list"])["sinks"][1]["last_error"].as_str().is_some()
    });
    home.run(&["status"]).ends(1).shows("notices wait for webhook");
    let mut doctor = home.command(&["--json", "doctor"]);
    receiver.secrets(&mut doctor);
    let doctor = run(doctor, None).ends(2).json();
    let notices = &doctor["checks"][8];
    assert_eq!((&notices["check"], &notices["status"]), (&"notices".into(), &"degraded".into()), "{doctor}");
    daemon.terminated().well();
    // Nobody runs: written down all the same.
    (3..5).for_each(|n| drop(raise(n)));
    let daemon = start();
    raise(5);
    daemon.killed();
    let daemon = start();
    receiver.come();
    raise(6);
    wait_until("everything was told", || receiver.said("tide ").len() >= 7);
    wait_until("and written down", || {
        daemon.metric(r#"holdfast_notice_pending{sink="webhook"}"#) == Some(0.0)
    });
    let sinks = home.json(&["notice", "list"])["sinks"].clone();
    assert_eq!(sinks[1]["last_error"], serde_json::Value::Null, "{sinks}");
    daemon.terminated().well();

    let told: Vec<String> = (0..7).map(|n| format!("tide {n}")).collect();
    assert_eq!(receiver.said("tide "), told);
    let heard = receiver.heard();
    let ids: BTreeSet<&str> = heard.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids.len(), heard.len(), "each under its own id");
    assert!(heard.iter().all(|one| one.signature.starts_with("v1,")), "{heard:?}");
    // The log, which is never away, has the same.
    let logged = home.told().iter().filter(|n| n["message"].as_str().unwrap().starts_with("tide ")).count();
    assert_eq!(logged, 7);
    // A restart tells nothing again.
    let daemon = start();
    raise(7);
    wait_until("the next one was told", || receiver.said("tide ").len() >= 8);
    assert_eq!(receiver.said("tide ").len(), 8);
    daemon.terminated().well();
    // The address is a password: it is nowhere in the home.
    assert!(holdfast_testkit::files::find_bytes(home.path(), b"T0K3N").is_empty());
}

/// A scripted peer that answers every request with this status and body.
fn peer(status: u16, body: &'static str) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, heard) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<String>>>::default());
    let kept = heard.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = vec![0; 65_536];
            let (mut read, mut wanted) = (0, usize::MAX);
            while read < wanted {
                read += stream.read(&mut request[read..]).unwrap();
                let text = String::from_utf8_lossy(&request[..read]).to_lowercase();
                if let Some(end) = text.find("\r\n\r\n") {
                    let length = text.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
                    wanted = end + 4 + length.parse::<usize>().unwrap();
                }
            }
            kept.lock().unwrap().push(String::from_utf8_lossy(&request[..read]).into_owned());
            let answer = format!(
                "HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (address, heard)
}

#[test]
fn each_channel_is_tried_for_itself_and_says_what_to_do() {
    let home = Home::made("web-1");
    let ((slack, heard), (discord, _)) = (peer(200, "ok"), peer(404, "{}"));
    home.configure(
        "notifications:\n  channels: [slack, discord, ntfy, mail]\n  min_severity: critical\n  \
         slack: { url: { secret: slack-url }, allow_hosts: [127.0.0.1], quiet_hours: '00:00-23:59 UTC', min_severity: info }\n  \
         discord: { url: { secret: discord-url }, allow_hosts: [127.0.0.1] }\n  \
         ntfy: { topic: { secret: ntfy-topic } }\n  \
         mail: { host: 127.0.0.1, port: 1, security: none, from: a@example.org, to: [b@example.org] }\n",
    );
    let with_secrets = |args: &[&str]| {
        let mut command = home.command(args);
        command
            .env("HOLDFAST_SECRET_SLACK_URL", format!("http://{slack}/T0K3N"))
            .env("HOLDFAST_SECRET_DISCORD_URL", format!("http://{discord}/T0K3N"));
        command
    };
    let tried = run(with_secrets(&["--json", "notice", "test"]), None).ends(1).json();
    let rows: Vec<(&str, bool, Option<&str>)> = tried["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["sink"].as_str().unwrap(), row["delivered"].as_bool().unwrap(), row["why"].as_str()))
        .collect();
    assert_eq!(
        rows,
        [
            ("slack", true, None),
            ("discord", false, Some("status-404")),
            ("ntfy", false, Some("HF-CRD-003")),
            ("mail", false, Some("network")),
            ("log", true, None),
        ]
    );
    let told = tried["results"].as_array().unwrap().iter().filter(|row| row["delivered"] == false);
    assert!(
        told.into_iter().all(|row| row["do_next"].as_str().is_some_and(|next| next.ends_with('.'))),
        "{tried}"
    );
    assert!(heard.lock().unwrap()[0].contains("This is a test"), "quiet hours do not hold a test back");
    run(with_secrets(&["notice", "test"]), None)
        .ends(1)
        .shows("slack     arrived")
        .shows("discord   did not arrive: the receiver answered with status 404")
        .shows("make a new one and put it into the secret");
    run(with_secrets(&["notice", "test", "slack"]), None).ends(0);
    run(with_secrets(&["notice", "test", "pager"]), None).ends(2);
    // The secret that is not there is also the doctor's to find, and none is in what was written.
    let doctor = run(with_secrets(&["--json", "doctor"]), None).json();
    let secrets =
        doctor["checks"].as_array().unwrap().iter().find(|check| check["check"] == "secrets").unwrap();
    assert!(secrets["status"] != "healthy" && secrets.to_string().contains("ntfy-topic"), "{secrets}");
    assert!(holdfast_testkit::files::find_bytes(home.path(), b"T0K3N").is_empty());
}

#[test]
fn in_quiet_hours_a_chat_is_told_only_what_is_critical() {
    let home = Home::made("web-1");
    let (slack, heard) = peer(200, "ok");
    // All day but for one minute, which is half a day away.
    let now = holdfast_journal::SystemClock::new().now().as_micros().unsigned_abs();
    let away = now / 60_000_000 + 720;
    let clock = |minute: u64| format!("{:02}:{:02}", minute / 60 % 24, minute % 60);
    home.configure(&format!(
        "notifications:\n  channels: [slack]\n  slack: {{ url: {{ secret: slack-url }}, allow_hosts: [127.0.0.1], \
         quiet_hours: '{}-{} UTC' }}\n",
        clock(away + 1),
        clock(away)
    ));
    let daemon = Running::with(&home, |command| {
        command.env("HOLDFAST_SECRET_SLACK_URL", format!("http://{slack}/T0K3N"))
    });
    wait_until("the channel is open", || daemon.metric(r#"holdfast_notice_pending{sink="slack"}"#).is_some());
    home.run(&["notice", "raise", "slow tide"]).ok();
    home.run(&["notice", "raise", "high tide", "--severity", "critical"]).ok();
    wait_until("the critical one was told", || heard.lock().unwrap().iter().any(|r| r.contains("high tide")));
    wait_until("the other one waits", || {
        home.json(&["notice", "list"])["sinks"]
            .as_array()
            .unwrap()
            .iter()
            .any(|s| s["quiet_until"].is_string())
    });
    home.run(&["notice", "list"]).ok().shows("quiet until");
    assert!(!heard.lock().unwrap().iter().any(|request| request.contains("slow tide")));
    daemon.terminated().well();
    assert!(holdfast_testkit::files::find_bytes(home.path(), b"T0K3N").is_empty());
}
