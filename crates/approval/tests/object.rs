//! The signed object to the byte: its golden form, and that no change to it goes unnoticed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod desk;

use std::process::Command;
use std::time::Duration;

use desk::{Desk, action};
use holdfast_approval::{Verdict, Word, believe, sign};
use holdfast_keys::{KeyName, Role, SecretKey, TrustSet, TrustedKey};
use holdfast_types::Origin;
use serde_json::{Value, json};

/// The throw-away key of `docs/formats/approvals.md`.
fn page_key() -> SecretKey {
    SecretKey::from_seed(&[7; 32])
}

fn page_verdict() -> Verdict {
    Verdict {
        ask: "apr_01kc1yq8m0e3t6v9x2b5h8n1r4".parse().unwrap(),
        digest: action(512).digest(),
        verdict: Word::Approve,
        by: "uid:1000".parse().unwrap(),
        reason: Some("watched it for a week".into()),
        issued_at: "2026-11-15T12:00:00.000000Z".parse().unwrap(),
        expires_at: "2026-11-16T11:30:00.000000Z".parse().unwrap(),
        origin: "holdfast/web-1".parse().unwrap(),
    }
}

fn trust(key: &SecretKey, origin: &Origin) -> TrustSet {
    let mut trust = TrustSet::default();
    let from = page_verdict().issued_at;
    trust.add(TrustedKey::new(key.public(), Role::Approvals, KeyName::from(origin), from)).unwrap();
    trust
}

fn page_bytes() -> Vec<u8> {
    sign(&page_verdict(), &page_key()).unwrap().to_bytes().unwrap()
}

#[test]
fn the_object_is_the_one_on_the_page() {
    let page = include_str!("../../../docs/formats/approvals.md");
    let bytes = String::from_utf8(page_bytes()).unwrap();
    assert!(page.contains(bytes.trim_end()), "docs/formats/approvals.md does not hold\n{bytes}");
    let public = page_key().public().to_string();
    assert!(page.contains(&public), "docs/formats/approvals.md does not hold {public}");
    let digest = page_verdict().digest.to_string();
    assert!(page.contains(&digest), "docs/formats/approvals.md does not hold {digest}");
    let origin = page_verdict().origin;
    assert_eq!(believe(&page_bytes(), &trust(&page_key(), &origin), &origin).unwrap(), page_verdict());
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that did not run must be seen")]
fn the_commands_on_the_page_verify_it_with_another_tool() {
    let page = include_str!("../../../docs/formats/approvals.md");
    let script = page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let run = |script: &str| {
        let dir = tempfile::tempdir().unwrap();
        Command::new("sh").args(["-ec", script]).current_dir(dir.path()).output().unwrap()
    };
    if !run("openssl version | grep -q 'OpenSSL [3-9]'").status.success() {
        eprintln!("not run: there is no OpenSSL 3 here");
        return;
    }
    let good = run(script);
    let said = String::from_utf8_lossy(&good.stdout).into_owned();
    assert!(good.status.success() && said.contains("Signature Verified Successfully"), "{good:?}");
    assert!(said.contains(page_verdict().digest.to_string().trim_start_matches("sha256:")), "{said}");
    assert!(!run(&script.replace("watched it", "watched us")).status.success());
}

/// Never believed as anything but what was signed.
#[test]
fn no_flipped_bit_goes_unnoticed() {
    let (bytes, origin) = (page_bytes(), page_verdict().origin);
    let trust = trust(&page_key(), &origin);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            if let Ok(read) = believe(&changed, &trust, &origin) {
                // White space outside the payload is no part of it.
                assert_eq!(read, page_verdict(), "byte {at}, bit {bit}");
                assert_eq!(at, bytes.len() - 1, "byte {at}, bit {bit}");
            }
        }
    }
}

#[test]
fn no_field_can_be_swapped_left_out_or_added() {
    let (whole, origin) = (page_bytes(), page_verdict().origin);
    let trust = trust(&page_key(), &origin);
    let whole: Value = serde_json::from_slice(&whole).unwrap();
    let mut tried = 0;
    let mut refused = |document: Value, what: &str| {
        tried += 1;
        let bytes = serde_json::to_vec(&document).unwrap();
        assert!(believe(&bytes, &trust, &origin).is_err(), "{what}");
    };
    let fields: Vec<String> = whole["payload"].as_object().unwrap().keys().cloned().collect();
    let other = Verdict {
        ask: "apr_01kc1yq8m0e3t6v9x2b5h8n1r5".parse().unwrap(),
        digest: action(1).digest(),
        verdict: Word::Reject,
        by: "uid:0".parse().unwrap(),
        reason: Some("because".into()),
        issued_at: page_verdict().issued_at.plus(Duration::from_secs(1)),
        expires_at: page_verdict().expires_at.plus(Duration::from_secs(1)),
        origin: "holdfast/web-2".parse().unwrap(),
    };
    let other = serde_json::to_value(other).unwrap();
    for field in &fields {
        let mut swapped = whole.clone();
        swapped["payload"][field] = other[field].clone();
        refused(swapped, field);
        let mut without = whole.clone();
        without["payload"].as_object_mut().unwrap().remove(field);
        refused(without, field);
    }
    let mut more = whole.clone();
    more["payload"]["scope"] = json!("everything");
    refused(more, "a further field");
    for (field, value) in [
        ("key", json!(SecretKey::from_seed(&[8; 32]).id())),
        ("role", json!("policy")),
        ("at", json!("2026-11-15T12:00:01.000000Z")),
        ("sig", json!(format!("{}==", "A".repeat(86)))),
    ] {
        let mut swapped = whole.clone();
        swapped["signatures"][0][field] = value;
        refused(swapped, field);
    }
    let mut twice = whole.clone();
    let again = whole["signatures"][0].clone();
    twice["signatures"].as_array_mut().unwrap().push(again);
    refused(twice, "two signatures");
    assert_eq!(tried, 2 * fields.len() + 6);
}

#[test]
fn the_log_keeps_what_was_signed_so_that_anybody_can_check_it_later() {
    let desk = Desk::new();
    let life = desk.asked(&action(1));
    let document = desk.signed(&desk.verdict(&life, Word::Approve));
    desk.give(&document).unwrap();
    let entry = desk.entries().pop().unwrap();
    let holdfast_journal::Stored::Body(body) = entry.content else { panic!("a body") };
    let kept = serde_json::to_vec(&body["document"]).unwrap();
    let read = believe(&kept, &desk.trust, &desk.house.origin).unwrap();
    assert_eq!(read, desk.verdict(&life, Word::Approve));
    assert_eq!((entry.actor.as_str(), &body["by"]), ("uid:1000", &json!("uid:1000")));
}
