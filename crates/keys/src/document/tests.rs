//! What is signed, what breaks a signature, and whose signatures count.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::trust::{TrustError, TrustedKey};

const MANIFEST: Purpose = Purpose::new("manifest");
const ALLOWLIST: Purpose = Purpose::new("allowlist");

fn key(seed: u8) -> SecretKey {
    SecretKey::from_seed(&[seed; 32])
}

fn time(secs: i64) -> Timestamp {
    Timestamp::from_micros(secs * 1_000_000).unwrap()
}

fn trust(keys: &[(u8, Role)]) -> TrustSet {
    let mut set = TrustSet::default();
    for (seed, role) in keys {
        let name = format!("holdfast/{seed}").parse().unwrap();
        set.add(TrustedKey::new(key(*seed).public(), *role, name, time(0))).unwrap();
    }
    set
}

/// A payload with something at every depth.
fn payload() -> Canonical {
    canonical::from_value(&json!({
        "agent": "agt_01", "generation": 7, "ratio": 0.1, "last_restore_source": null, "whole": true,
        "files": {
            "notes.md": { "sha256": "ab12", "size_bytes": 1234, "parts": [[1, 2.5], [], {}] },
            "é/\u{1f511}": { "sha256": "cd34", "size_bytes": 0, "parts": [] },
        },
    }))
    .unwrap()
}

fn signed() -> SignedDocument {
    sign(MANIFEST, payload(), &key(1), Role::Manifest, time(100))
}

fn check(document: &SignedDocument, trust: &TrustSet) -> Result<KeyId, DocumentError> {
    verify(document, MANIFEST, Role::Manifest, trust).map(|verified| {
        assert_eq!(verified.payload(), &document.payload);
        verified.key()
    })
}

/// The refusals of a document, one per signature.
fn refusals(document: &SignedDocument, trust: &TrustSet) -> Vec<Refusal> {
    match check(document, trust) {
        Err(DocumentError::NoneAcceptable { refused }) => refused.into_iter().map(|(_, why)| why).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_signed_verifies_after_a_trip_through_its_file_form() {
    let document = signed();
    let read = SignedDocument::parse(&document.to_bytes().unwrap()).unwrap();
    assert_eq!(read, document);
    let trust = trust(&[(1, Role::Manifest)]);
    let verified = verify(&read, MANIFEST, Role::Manifest, &trust).unwrap();
    assert_eq!((verified.key(), verified.at()), (key(1).id(), time(100)));
    assert_eq!(verified.payload().as_value()["files"]["notes.md"]["size_bytes"], 1234);
}

/// Drawn here byte by byte, so that no change of the code can change the format unseen.
#[test]
fn the_signed_bytes_are_the_ones_the_format_names() {
    let payload = canonical::parse(r#"{"b":1.0,"a":[]}"#).unwrap();
    let drawn = b"holdfast-document/v1\nmanifest\nallowlist\n1970-01-01T00:00:07.000000Z\n{\"a\":[],\"b\":1}";
    assert_eq!(message(ALLOWLIST, &payload, Role::Manifest, time(7)), drawn);
    let document = sign(ALLOWLIST, payload, &key(1), Role::Manifest, time(7));
    assert!(key(1).public().verifies(drawn, &document.signatures[0].sig.0));
}

#[test]
fn the_file_form_is_the_one_that_was_published() {
    let document = sign(MANIFEST, canonical::parse("[0.1]").unwrap(), &key(1), Role::Manifest, time(7));
    let sig = String::from(document.signatures[0].sig);
    let expected = format!(
        "{{\"format\":1,\"payload\":[0.1],\"signatures\":[{{\"at\":\"1970-01-01T00:00:07.000000Z\",\
         \"key\":\"ed25519:34750f98bd59fcfc\",\"role\":\"manifest\",\"sig\":\"{sig}\"}}]}}\n"
    );
    assert_eq!(String::from_utf8(document.to_bytes().unwrap()).unwrap(), expected);
}

/// Every way to change one thing below `value`: each leaf replaced, each member and item removed, each key
/// renamed, something added to each container.
fn changes(value: &Value) -> Vec<Value> {
    let mut out = Vec::new();
    match value {
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                let put = |inner| items.iter().enumerate().map(move |(m, i)| if m == n { inner } else { i });
                out.extend(changes(item).iter().map(|inner| put(inner).cloned().collect()));
                out.push(items.iter().enumerate().filter(|(m, _)| *m != n).map(|(_, i)| i.clone()).collect());
            }
            out.push(items.iter().cloned().chain([Value::Null]).collect());
        }
        Value::Object(members) => {
            for (name, member) in members {
                let with = |inner: Option<(String, Value)>| {
                    let mut members = members.clone();
                    members.remove(name);
                    members.extend(inner);
                    Value::Object(members)
                };
                out.extend(changes(member).into_iter().map(|inner| with(Some((name.clone(), inner)))));
                out.push(with(Some((format!("{name}x"), member.clone()))));
                out.push(with(None));
            }
            let mut more = members.clone();
            more.insert("added".into(), json!(0));
            out.push(Value::Object(more));
        }
        Value::Number(n) => out.push(json!(n.as_f64().unwrap() + 0.5)),
        Value::String(text) => out.push(json!(format!("{text} "))),
        Value::Bool(b) => out.push(json!(!b)),
        Value::Null => out.push(json!("git")),
    }
    out.push(json!("something else"));
    out
}

// shows: CON-015, CON-F01
#[test]
fn any_change_to_any_leaf_at_any_depth_breaks_the_signature() {
    let (good, trust) = (signed(), trust(&[(1, Role::Manifest)]));
    let changed = changes(good.payload.as_value());
    assert!(changed.len() > 60, "only {}", changed.len());
    for value in changed {
        let payload = canonical::from_value(&value).unwrap();
        let bad = SignedDocument { payload, ..good.clone() };
        assert_eq!(refusals(&bad, &trust), [Refusal::DoesNotFit], "{value}");
    }
}

proptest! {
    // shows: CON-015
    #[test]
    fn any_changed_byte_of_the_file_is_refused_or_changes_nothing(at: prop::sample::Index, to: u8) {
        let (good, trust) = (signed(), trust(&[(1, Role::Manifest)]));
        let mut bytes = good.to_bytes().unwrap();
        let at = at.index(bytes.len());
        bytes[at] = to;
        if let Ok(read) = SignedDocument::parse(&bytes) {
            // What may be written differently without meaning anything else is still the same document.
            prop_assert!(read == good || check(&read, &trust).is_err(), "{}", String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn any_changed_byte_of_the_signature_is_refused(at in 0..64usize, flip in 1..=255u8) {
        let mut bad = signed();
        bad.signatures[0].sig.0[at] ^= flip;
        prop_assert_eq!(refusals(&bad, &trust(&[(1, Role::Manifest)])), [Refusal::DoesNotFit]);
    }

    #[test]
    fn any_other_time_is_refused(micros in 0..1_000_000_000_000i64) {
        let mut bad = signed();
        bad.signatures[0].at = Timestamp::from_micros(micros).unwrap();
        prop_assume!(bad.signatures[0].at != time(100));
        prop_assert_eq!(refusals(&bad, &trust(&[(1, Role::Manifest)])), [Refusal::DoesNotFit]);
    }

    #[test]
    fn any_payload_verifies_and_with_one_more_byte_of_text_does_not(text: String, n: i32, x: f64) {
        prop_assume!(canonical::from_serialize(&x).is_ok());
        let make = |text: &str| canonical::from_serialize(&json!({ "t": text, "n": n, "x": [x] })).unwrap();
        let trust = trust(&[(1, Role::Manifest)]);
        let good = sign(MANIFEST, make(&text), &key(1), Role::Manifest, time(1));
        prop_assert!(check(&SignedDocument::parse(&good.to_bytes().unwrap()).unwrap(), &trust).is_ok());
        let bad = SignedDocument { payload: make(&format!("{text}\n")), ..good };
        prop_assert!(check(&bad, &trust).is_err());
    }
}

#[test]
fn a_document_for_another_purpose_or_role_is_refused() {
    let document = signed();
    let trust = trust(&[(1, Role::Manifest), (2, Role::Policy)]);
    assert!(verify(&document, ALLOWLIST, Role::Manifest, &trust).is_err());
    assert!(verify(&document, MANIFEST, Role::Policy, &trust).is_err());
    let mut relabelled = document;
    relabelled.signatures[0].role = Role::Policy;
    assert!(verify(&relabelled, MANIFEST, Role::Policy, &trust).is_err());
    assert!(verify(&relabelled, MANIFEST, Role::Manifest, &trust).is_err());
}

// shows: CON-020, CON-F05
#[test]
fn an_allowlist_signed_with_the_manifest_key_is_refused() {
    let trust = trust(&[(1, Role::Manifest), (2, Role::Policy)]);
    for claimed in [Role::Manifest, Role::Policy] {
        let by_host = sign(ALLOWLIST, payload(), &key(1), claimed, time(1));
        assert!(verify(&by_host, ALLOWLIST, Role::Policy, &trust).is_err(), "{claimed}");
    }
    let by_owner = sign(ALLOWLIST, payload(), &key(2), Role::Policy, time(1));
    assert!(verify(&by_owner, ALLOWLIST, Role::Policy, &trust).is_ok());
    // Nor can the manifest key be made to count as a policy key: it is in the set once.
    let mut set = trust.clone();
    let name = "holdfast/1".parse().unwrap();
    let again = TrustedKey::new(key(1).public(), Role::Policy, name, time(0));
    assert_eq!(set.add(again), Err(TrustError::DuplicateKey { key: key(1).id() }));
}

#[test]
fn an_unsigned_document_is_refused_and_so_is_one_by_a_stranger() {
    let trust = trust(&[(1, Role::Manifest)]);
    let unsigned = SignedDocument { signatures: Vec::new(), ..signed() };
    assert_eq!(check(&unsigned, &trust), Err(DocumentError::Unsigned));
    let stranger = sign(MANIFEST, payload(), &key(2), Role::Manifest, time(100));
    assert_eq!(refusals(&stranger, &trust), [Refusal::Distrusted(Distrust::Unknown { key: key(2).id() })]);
    // A stranger who writes the trusted key's id under his own signature.
    let mut posing = stranger;
    posing.signatures[0].key = key(1).id();
    assert_eq!(refusals(&posing, &trust), [Refusal::DoesNotFit]);
}

// shows: CON-019, CON-F06
#[test]
fn in_the_overlap_old_and_new_key_both_verify_and_after_it_only_the_new_one() {
    let mut trust = trust(&[(1, Role::Manifest)]);
    let name = "holdfast/2".parse().unwrap();
    let new = TrustedKey::new(key(2).public(), Role::Manifest, name, time(100));
    trust.rotate(key(1).id(), new, time(100), Duration::from_secs(50)).unwrap();
    for (seed, at, ok) in [
        (1, 99, true),
        (1, 100, true),
        (1, 149, true),
        (1, 150, false),
        (2, 99, false),
        (2, 100, true),
        (2, 150, true),
        (3, 120, false),
    ] {
        let document = sign(MANIFEST, payload(), &key(seed), Role::Manifest, time(at));
        assert_eq!(check(&document, &trust).is_ok(), ok, "key {seed} at {at}");
    }
}

#[test]
fn one_good_signature_is_enough_and_the_refusal_of_all_lists_each() {
    let mut document = signed();
    document.sign_also(MANIFEST, &key(2), Role::Manifest, time(101));
    assert_eq!(check(&document, &trust(&[(2, Role::Manifest)])), Ok(key(2).id()));
    assert_eq!(check(&document, &trust(&[(1, Role::Manifest)])), Ok(key(1).id()));
    let said = check(&document, &trust(&[(1, Role::Log)])).unwrap_err().to_string();
    for part in [format!("{} is trusted for log", key(1).id()), format!("{} is not in", key(2).id())] {
        assert!(said.contains(&part), "{said}");
    }
}

#[test]
fn signing_again_with_the_same_key_replaces_its_signature() {
    let mut document = signed();
    document.sign_also(MANIFEST, &key(1), Role::Manifest, time(200));
    assert_eq!(document.signatures.len(), 1);
    assert_eq!(document.signatures[0].at, time(200));
}

#[test]
fn a_revoked_key_signs_nothing_more() {
    let mut trust = trust(&[(1, Role::Manifest)]);
    trust.revoke(key(1).id(), time(150), "lost").unwrap();
    assert!(matches!(refusals(&signed(), &trust)[..], [Refusal::Distrusted(Distrust::Revoked { .. })]));
    let honour = |d: &SignedDocument| {
        verify_under(RevocationPolicy::HonourEarlier, d, MANIFEST, Role::Manifest, &trust).is_ok()
    };
    assert!(honour(&signed()));
    assert!(!honour(&sign(MANIFEST, payload(), &key(1), Role::Manifest, time(150))));
}

#[test]
fn numbers_at_the_edges_verify_in_every_spelling_and_no_other_number_does() {
    let trust = trust(&[(1, Role::Manifest)]);
    for (spellings, other) in [
        (["1", "1.0", "10e-1"], "1.0000000000000002"),
        (["0", "-0", "0e9"], "5e-324"),
        (["9007199254740992", "9007199254740992.0", "9.007199254740992e15"], "9007199254740991"),
        (["0.1", "1e-1", "0.1000000000000000055511151231257827"], "0.10000000000000002"),
        (["1e21", "1.0E+21", "1000e18"], "1.0000000000000001e21"),
    ] {
        let document = |n: &str| canonical::parse(format!("{{\"n\":{n}}}")).unwrap();
        let good = sign(MANIFEST, document(spellings[0]), &key(1), Role::Manifest, time(1));
        for spelling in spellings {
            assert!(check(&SignedDocument { payload: document(spelling), ..good.clone() }, &trust).is_ok());
        }
        assert!(
            check(&SignedDocument { payload: document(other), ..good.clone() }, &trust).is_err(),
            "{other}"
        );
    }
}

#[test]
fn a_malformed_or_newer_document_is_refused() {
    let good = String::from_utf8(signed().to_bytes().unwrap()).unwrap();
    for (from, to, said) in [
        ("\"format\":1", "\"format\":2,\"seal\":0", "reads up to 1"),
        ("\"format\":1", "\"format\":0", "never was a format 0"),
        ("\"format\":1", "\"format\":1,\"x\":0", "unknown field `x`"),
        ("\"role\":\"manifest\"", "\"role\":\"manifest\",\"x\":0", "unknown field `x`"),
        ("\"generation\":7", "\"generation\":7,\"generation\":8", "not JSON that can be signed"),
        ("\"generation\":7", "\"generation\":9007199254740993", "not JSON that can be signed"),
        ("==\"", "\"", "88 characters"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good, "{from}");
        let error = SignedDocument::parse(bad.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(said), "{to}: {error}");
    }
    for end in 0..good.len() - 1 {
        assert!(SignedDocument::parse(&good.as_bytes()[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn more_signatures_than_anyone_needs_are_not_even_checked() {
    let mut document = signed();
    document.signatures = vec![document.signatures[0].clone(); SIGNATURES_MAX + 1];
    let refused = check(&document, &trust(&[(1, Role::Manifest)]));
    assert_eq!(refused, Err(DocumentError::TooManySignatures { found: SIGNATURES_MAX + 1 }));
}
