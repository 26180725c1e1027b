//! A Gatus monitor, scripted: the real one cannot be installed here. The form of its answers is that of its version 5.

use std::io::Write as _;
use std::time::Duration;

use holdfast_probe::{Found, Terms, run};
use holdfast_types::Timestamp;

use crate::peer::{PLENTY, answer, assert_found, check, heard, page, peer};

/// 2026-11-15T12:00:00Z.
const NOON: &str = "2026-11-15T12:00:00.000000Z";

fn noon() -> Timestamp {
    NOON.parse().unwrap()
}

/// So many seconds before (or, negative, after) noon, in the form Gatus writes.
fn at(seconds_ago: i64) -> String {
    let then = Timestamp::from_micros(noon().as_micros() - seconds_ago * 1_000_000).unwrap();
    then.to_string().replace('Z', "123Z")
}

fn result(success: bool, timestamp: &str) -> String {
    format!(
        r#"{{"status":200,"hostname":"web","duration":21034112,"conditionResults":[{{"condition":"[STATUS] == 200","success":{success}}}],"success":{success},"timestamp":"{timestamp}"}}"#
    )
}

fn endpoint(group: &str, name: &str, results: &[String]) -> String {
    let results = results.join(",");
    format!(r#"{{"name":"{name}","group":"{group}","key":"{group}_{name}","results":[{results}]}}"#)
}

/// What a monitor with these endpoints makes of these names; the trial went live a minute before noon.
fn asked(said: &str, wanted: &str) -> Found {
    let monitor = page(answer(200, said));
    let look = check(&format!(r#"{{"gatus":{{"url":"http://{monitor}/","endpoints":{wanted}}}}}"#));
    let activation = Timestamp::from_micros(noon().as_micros() - 60_000_000).unwrap();
    run(&look, &Terms { within: PLENTY, now: noon(), not_before: Some(activation) })
}

// shows: STW-285
#[test]
fn named_endpoints_that_are_healthy_since_the_trial_pass() {
    let said = format!(
        "[{},{},{}]",
        endpoint("core", "web", &[result(false, &at(90)), result(true, &at(10))]),
        // Where the monitor is, it is five hours and a half later.
        endpoint("core", "Grüße 日本", &[result(true, "2026-11-15T17:29:50.000000001+05:30")]),
        endpoint("other", "printer", &[result(false, &at(10))]),
    );
    assert_found(&asked(&said, r#"["core_web"]"#), "passed", "");
    assert_found(&asked(&said, r#"["web", "Grüße 日本"]"#), "passed", "");
    assert_found(&asked(&said, r#"["core_web", "other_printer"]"#), "failed", "other_printer is not healthy");
}

// shows: STW-327
#[test]
fn a_frozen_monitor_never_gives_a_pass() {
    let newest = [
        ("measured as the trial went live", result(true, "2026-11-15T11:59:00Z"), "before the trial"),
        ("measured before the trial", result(true, &at(61)), "before the trial"),
        ("ill before the trial", result(false, &at(61)), "before the trial"),
        ("never measured", result(true, "0001-01-01T00:00:00Z"), "before the trial"),
        ("from the future", result(true, &at(-60)), "in the future"),
        ("without a time", r#"{"success":true}"#.to_owned(), "without a time"),
        ("with a time that is none", result(true, "yesterday"), "without a time"),
        ("without a verdict", format!(r#"{{"timestamp":"{}"}}"#, at(1)), "says nothing"),
    ];
    for (case, newest, part) in newest {
        let said = format!("[{}]", endpoint("core", "web", &[newest]));
        let found = asked(&said, r#"["core_web"]"#);
        assert!(matches!(found, Found::Unknown { .. }), "{case}");
        assert_found(&found, "unknown", part);
    }
    // The same frozen answer, looked at for an hour from when it was measured: at most in the first minutes does it count, and with a trial
    // that went live after it, never.
    let monitor = page(answer(200, &format!("[{}]", endpoint("core", "web", &[result(true, &at(0))]))));
    let look = check(&format!(r#"{{"gatus":{{"url":"http://{monitor}","endpoints":["core_web"]}}}}"#));
    for minutes in 1..=60 {
        let now = noon().plus(Duration::from_secs(60 * minutes));
        let of_trial = Terms { within: PLENTY, now, not_before: Some(noon().plus(Duration::from_secs(1))) };
        assert_found(&run(&look, &of_trial), "unknown", "before the trial");
        let at_rest = Terms { not_before: None, ..of_trial };
        let found = run(&look, &at_rest);
        if minutes <= 3 {
            assert_found(&found, "passed", "");
        } else {
            assert_found(&found, "unknown", "not looked at lately");
        }
    }
}

// shows: STW-328
#[test]
fn an_endpoint_that_is_absent_or_not_measured_is_unknown() {
    let web = endpoint("core", "web", &[result(true, &at(10))]);
    let twice = format!("[{},{}]", web, endpoint("edge", "web", &[result(true, &at(10))]));
    let ill = format!("[{}]", endpoint("core", "web", &[result(false, &at(10))]));
    let cases = [
        ("[]".to_owned(), r#"["core_web"]"#, "unknown", "not known to the monitor"),
        (format!("[{web}]"), r#"["core_web", "core_wbe"]"#, "unknown", "core_wbe is not known"),
        (format!("[{}]", endpoint("core", "web", &[])), r#"["core_web"]"#, "unknown", "no result yet"),
        (r#"[{"key":"core_web","results":null}]"#.to_owned(), r#"["core_web"]"#, "unknown", "no result yet"),
        (r#"[{"results":[]}]"#.to_owned(), r#"["core_web"]"#, "unknown", "not known"),
        (twice.clone(), r#"["web"]"#, "unknown", "several"),
        (twice, r#"["edge_web"]"#, "passed", ""),
        // What is surely ill outweighs what is not known.
        (ill, r#"["absent", "core_web", "absent"]"#, "failed", "core_web is not healthy"),
    ];
    for (said, wanted, expected, part) in cases {
        assert_found(&asked(&said, wanted), expected, part);
    }
}

#[test]
fn a_monitor_that_does_not_answer_as_one_says_nothing_about_the_target() {
    let long = format!("[{}]", endpoint("core", "web", &vec![result(true, &at(10)); 9000]));
    let bodies =
        ["", "{}", "null", "<html>", r#"[{"key":7}]"#, "[{\"key\":\"core_web\"", &"[".repeat(9000), &long];
    for said in bodies {
        assert_found(&asked(said, r#"["core_web"]"#), "unknown", "the monitor");
    }
    for status in [302, 401, 500] {
        let monitor = page(answer(status, "[]"));
        let look = check(&format!(r#"{{"gatus":{{"url":"http://{monitor}","endpoints":["a"]}}}}"#));
        let terms = Terms { within: PLENTY, now: noon(), not_before: None };
        assert_found(&run(&look, &terms), "unknown", &format!("status {status}"));
    }
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let look = format!(r#"{{"gatus":{{"url":"http://{gone}","endpoints":["a"]}}}}"#);
    assert_found(&crate::peer::found(&look), "unknown", "the monitor: it refuses connections");
}

// shows: STW-064
#[test]
fn only_the_newest_results_are_asked_for() {
    let monitor = peer(|mut visitor| {
        let head = heard(&mut visitor);
        let expected = "GET /status/api/v1/endpoints/statuses?page=1&pageSize=1 HTTP/1.1\r\n";
        let body = endpoint("core", "web", &[result(head.starts_with(expected), &at(10))]);
        let _gone = visitor.write_all(answer(200, &format!("[{body}]")).as_bytes());
    });
    let look = check(&format!(r#"{{"gatus":{{"url":"http://{monitor}/status/","endpoints":["web"]}}}}"#));
    assert_found(&run(&look, &Terms { within: PLENTY, now: noon(), not_before: None }), "passed", "");
}
