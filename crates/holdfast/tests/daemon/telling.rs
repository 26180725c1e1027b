//! Notices from end to end: raised with and without a daemon, told when there is somebody to tell, once and in order.

use std::collections::BTreeSet;

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
