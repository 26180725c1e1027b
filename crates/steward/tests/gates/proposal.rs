//! The schema of an answer: accepted in full, refused for each thing that is missing, added, too long or foreign.

use holdfast_steward::proposal::{Answer, parse};
use serde_json::{Value as Json, json};

use crate::world::*;

fn refused(text: &str, part: &str) {
    let error = parse(text).unwrap_err().to_string();
    assert!(error.contains(part), "{error:?} does not say {part:?}");
}

fn without(field: &str) -> String {
    let mut proposal = good();
    proposal.as_object_mut().unwrap().remove(field).unwrap();
    proposal.to_string()
}

#[test]
fn the_full_form_is_read_and_written_back_the_same() {
    let full = good_with(&[
        ("exploration", true.into()),
        ("also", json!({"target_option": "MemoryHigh", "old_value": "1280M", "new_value": "1536M"})),
    ]);
    for form in [good(), full] {
        let Answer::Proposal(proposal) = parse(&form.to_string()).unwrap() else { panic!("no proposal") };
        assert_eq!(serde_json::to_value(&proposal).unwrap(), form);
    }
}

// shows: STW-125
#[test]
fn each_missing_field_is_named() {
    let fields: Vec<String> = good().as_object().unwrap().keys().cloned().collect();
    assert_eq!(fields.len(), 8);
    for field in fields {
        refused(&without(&field), &format!("the field {field} is missing"));
    }
}

// shows: STW-125, STW-269, STW-350
#[test]
fn what_is_not_in_the_schema_is_refused() {
    let with = |field, value: Json| good_with(&[(field, value)]).to_string();
    refused(&with("overlay_file", "x.nix".into()), "\"overlay_file\" is unknown");
    refused(&with("id", "x".into()), "\"id\" is unknown");
    refused(&with("old_value", 5.into()), "invalid type");
    refused(&with("old_value", "".into()), "old_value has 0 characters");
    refused(&with("hypothesis", "x".repeat(2001).into()), "hypothesis has 2001 characters");
    refused(&with("rationale", "".into()), "rationale has 0 characters");
    refused(&with("rationale", "a\nb".into()), "control characters");
    refused(&with("rationale", "a\u{202e}b".into()), "control characters");
    refused(&with("exploration", "yes".into()), "invalid type");
    refused(&with("also", json!({"target_option": "Nice"})), "missing field");
    refused(
        &with("also", json!({"target_option": "Nice", "old_value": "0", "new_value": "1", "x": 1})),
        "unknown field",
    );
    let outcome = |metric: &str, direction: &str, by: f64| {
        with("expected_outcome", json!({"metric": metric, "direction": direction, "relative_change": by}))
    };
    refused(&outcome("x", "sideways", 0.1), "unknown variant");
    refused(&outcome("x", "minimize", -1.5), "outside of -1 to 10");
    refused(&outcome("", "minimize", 0.1), "metric has 0 characters");
}

#[test]
fn no_action_stands_alone() {
    assert_eq!(parse(r#"{"no_action": "calm"}"#), Ok(Answer::NoAction { why: "calm".into() }));
    refused(r#"{"no_action": ""}"#, "0 characters");
    refused(&json!({"no_action": "x".repeat(501)}).to_string(), "501 characters");
    refused(r#"{"no_action": true}"#, "no text");
    refused(&good_with(&[("no_action", "but also".into())]).to_string(), "either no_action alone");
}

// shows: STW-119, STW-330
#[test]
fn checks_come_from_a_closed_set_and_places_from_the_configuration() {
    let check = |check: Json, word, part| {
        let text = good_with(&[("verification_checks", json!([check]))]).to_string();
        crate::world::check(&check.to_string(), &judge_text(&text), word, part);
    };
    let ssh =
        |host: &str, seconds: i64| json!({"type": "ssh_probe", "host": host, "timeout_seconds": seconds});
    let foreign = "not in the target's configuration";
    // Both kinds, and the name an earlier design had for an endpoint.
    for name in ["endpoint", "gatus_endpoint"] {
        let health = json!({"type": "health_check", name: "target-1-openclaw", "timeout_seconds": 120});
        check(health, "cleared in tier One", "");
        let health = json!({"type": "health_check", name: "evil.example", "timeout_seconds": 120});
        check(health, "refused by schema", foreign);
    }
    check(
        json!({"type": "health_check", "endpoint": "target-1-openclaw", "gatus_endpoint": "evil", "timeout_seconds": 9}),
        "refused by schema",
        "duplicate field",
    );
    check(ssh("target-1", 10), "cleared in tier One", "");
    check(ssh("evil.example", 10), "refused by schema", foreign);
    check(ssh("target-1 -oProxyCommand=x", 10), "refused by schema", foreign);
    check(ssh("TARGET-1", 10), "refused by schema", foreign);
    check(ssh("target-1-openclaw", 10), "refused by schema", foreign);
    check(ssh("target-1", 0), "refused by schema", "timeout_seconds");
    check(ssh("target-1", 301), "refused by schema", "timeout_seconds");
    check(ssh("target-1", -1), "refused by schema", "invalid value");
    check(
        json!({"type": "health_check", "endpoint": "target-1", "timeout_seconds": 9}),
        "refused by schema",
        foreign,
    );
    check(json!({"type": "run", "command": "id"}), "refused by schema", "unknown variant");
    check(
        json!({"type": "ssh_probe", "host": "target-1", "timeout_seconds": 9, "command": "id"}),
        "refused by schema",
        "unknown field",
    );
    let many = json!(vec![ssh("target-1", 10); 9]);
    let text = good_with(&[("verification_checks", many)]).to_string();
    crate::world::check("nine", &judge_text(&text), "refused by schema", "more than 8");
    let none = good_with(&[("verification_checks", json!([]))]).to_string();
    crate::world::check("none", &judge_text(&none), "cleared in tier One", "");
}
