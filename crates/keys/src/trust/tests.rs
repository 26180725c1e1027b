//! What is believed when, and that trust is only ever taken away.

use proptest::prelude::*;

use super::*;
use crate::SecretKey;

fn time(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros).unwrap()
}

fn trusted(seed: u8, role: Role, from: i64) -> TrustedKey {
    let name = format!("holdfast/{seed}").parse().unwrap();
    TrustedKey::new(SecretKey::from_seed(&[seed; 32]).public(), role, name, time(from))
}

fn id(seed: u8) -> KeyId {
    SecretKey::from_seed(&[seed; 32]).id()
}

fn set(keys: impl IntoIterator<Item = TrustedKey>) -> TrustSet {
    let mut set = TrustSet::default();
    keys.into_iter().for_each(|key| set.add(key).unwrap());
    set
}

/// Asks and gives the answer as a word, so that a table can hold it.
fn ask(set: &TrustSet, seed: u8, role: Role, moment: Moment) -> &'static str {
    match set.accepts(id(seed), role, moment) {
        Ok(key) => {
            assert_eq!(key.id(), id(seed));
            "yes"
        }
        Err(Distrust::Unknown { .. }) => "unknown",
        Err(Distrust::WrongRole { .. }) => "wrong role",
        Err(Distrust::NotYetValid { .. }) => "not yet valid",
        Err(Distrust::Expired { .. }) => "expired",
        Err(Distrust::Retired { .. }) => "retired",
        Err(Distrust::Revoked { .. }) => "revoked",
        Err(Distrust::CannotJudge { .. }) => "cannot judge",
    }
}

#[test]
fn a_key_is_believed_in_its_role_from_its_beginning_on() {
    let set = set([trusted(1, Role::Manifest, 100)]);
    for (seed, role, at, answer) in [
        (1, Role::Manifest, 100, "yes"),
        (1, Role::Manifest, i64::from(u32::MAX), "yes"),
        (1, Role::Manifest, 99, "not yet valid"),
        (1, Role::Policy, 100, "wrong role"),
        (2, Role::Manifest, 100, "unknown"),
    ] {
        assert_eq!(ask(&set, seed, role, Moment::At(time(at))), answer, "{seed} {role} {at}");
    }
}

// shows: CON-019
#[test]
fn during_the_overlap_both_keys_are_believed_and_after_it_only_the_new_one() {
    let mut set = set([trusted(1, Role::Manifest, 0)]);
    set.rotate(id(1), trusted(2, Role::Manifest, 1000), time(1000), Duration::from_micros(500)).unwrap();
    for (at, old, new) in [
        (999, "yes", "not yet valid"),
        (1000, "yes", "yes"),
        (1499, "yes", "yes"),
        (1500, "expired", "yes"),
        (9999, "expired", "yes"),
    ] {
        assert_eq!(ask(&set, 1, Role::Manifest, Moment::At(time(at))), old, "{at}");
        assert_eq!(ask(&set, 2, Role::Manifest, Moment::At(time(at))), new, "{at}");
    }
    assert_eq!(ask(&set, 3, Role::Manifest, Moment::At(time(1200))), "unknown");
}

#[test]
fn rotation_that_cannot_be_is_refused_and_changes_nothing() {
    let before = set([trusted(1, Role::Manifest, 100), trusted(2, Role::Log, 0)]);
    let overlap = Duration::from_micros(10);
    for (old, new, now, said) in [
        (3, trusted(4, Role::Manifest, 0), 200, "not in the trust set"),
        (1, trusted(4, Role::Policy, 0), 200, "cannot follow"),
        (1, trusted(1, Role::Manifest, 0), 200, "in the trust set already"),
        (1, trusted(4, Role::Manifest, 0), 50, "not after its beginning"),
        (2, trusted(4, Role::Log, 0), 200, "cannot end at a time"),
    ] {
        let mut set = before.clone();
        let error = set.rotate(id(old), new, time(now), overlap).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(set, before);
    }
}

#[test]
fn a_second_rotation_never_gives_the_first_key_more_time() {
    let mut set = set([trusted(1, Role::Policy, 0)]);
    set.rotate(id(1), trusted(2, Role::Policy, 0), time(10), Duration::from_micros(10)).unwrap();
    set.rotate(id(1), trusted(3, Role::Policy, 0), time(15), Duration::from_micros(100)).unwrap();
    assert_eq!(set.get(id(1)).unwrap().valid_until(), Some(time(20)));
}

#[test]
fn a_retired_log_key_vouches_up_to_its_size() {
    let mut set = set([trusted(1, Role::Log, 0), trusted(2, Role::Log, 0), trusted(3, Role::Manifest, 0)]);
    set.retire_log_key(id(1), 42).unwrap();
    for (seed, size, answer) in [(1, 0, "yes"), (1, 42, "yes"), (1, 43, "retired"), (2, u64::MAX, "yes")] {
        assert_eq!(ask(&set, seed, Role::Log, Moment::Size(size)), answer, "{seed} {size}");
    }
    assert!(matches!(set.retire_log_key(id(1), 43), Err(TrustError::WouldExtend { .. })));
    assert!(matches!(set.retire_log_key(id(2), (1 << 53) + 1), Err(TrustError::WouldExtend { .. })));
    assert!(matches!(set.retire_log_key(id(3), 1), Err(TrustError::NotALogKey { .. })));
    assert!(matches!(set.retire_log_key(id(4), 1), Err(TrustError::UnknownKey { .. })));
    set.retire_log_key(id(1), 7).unwrap();
    assert_eq!(ask(&set, 1, Role::Log, Moment::Size(8)), "retired");
}

/// Otherwise a key that ended on one scale could go on signing on the other.
#[test]
fn a_key_is_not_judged_on_the_scale_it_does_not_end_on() {
    let mut set = set([trusted(1, Role::Log, 0), trusted(2, Role::Manifest, 0)]);
    assert_eq!(ask(&set, 1, Role::Log, Moment::At(time(5))), "yes");
    set.retire_log_key(id(1), 42).unwrap();
    assert_eq!(ask(&set, 1, Role::Log, Moment::At(time(5))), "cannot judge");
    assert_eq!(ask(&set, 2, Role::Manifest, Moment::Size(5)), "cannot judge");
}

#[test]
fn a_revoked_key_is_believed_in_nothing_unless_the_caller_knows_better() {
    let mut set = set([trusted(1, Role::Manifest, 0), trusted(2, Role::Log, 0)]);
    set.revoke(id(1), time(100), "laptop stolen").unwrap();
    set.revoke(id(2), time(100), "laptop stolen").unwrap();
    for at in [0, 99, 100, 101] {
        assert_eq!(ask(&set, 1, Role::Manifest, Moment::At(time(at))), "revoked", "{at}");
    }
    let honour = |seed, role, moment| {
        set.accepts_under(RevocationPolicy::HonourEarlier, id(seed), role, moment).is_ok()
    };
    assert!(honour(1, Role::Manifest, Moment::At(time(99))));
    assert!(!honour(1, Role::Manifest, Moment::At(time(100))));
    assert!(!honour(2, Role::Log, Moment::Size(0)), "a size says nothing about before and after");
    let said = set.accepts(id(1), Role::Manifest, Moment::At(time(0))).unwrap_err().to_string();
    assert!(said.contains("laptop stolen") && said.contains(&id(1).to_string()), "{said}");
}

#[test]
fn a_revocation_may_move_earlier_and_never_later() {
    let mut set = set([trusted(1, Role::Manifest, 0)]);
    set.revoke(id(1), time(100), "lost").unwrap();
    assert!(matches!(set.revoke(id(1), time(101), "found again"), Err(TrustError::WouldExtend { .. })));
    set.revoke(id(1), time(50), "lost even earlier").unwrap();
    assert_eq!(set.get(id(1)).unwrap().revoked().unwrap().at, time(50));
    assert!(matches!(set.revoke(id(2), time(1), "?"), Err(TrustError::UnknownKey { .. })));
}

#[test]
fn a_key_is_in_the_set_once_and_so_has_one_role() {
    let mut set = set([trusted(1, Role::Manifest, 0)]);
    let error = set.add(trusted(1, Role::Policy, 0)).unwrap_err();
    assert_eq!(error, TrustError::DuplicateKey { key: id(1) });
}

fn full() -> TrustSet {
    let mut set =
        set([trusted(1, Role::Manifest, 0), trusted(2, Role::Log, 5), trusted(3, Role::Witness, 5)]);
    set.rotate(id(1), trusted(4, Role::Manifest, 9), time(9), Duration::from_secs(60)).unwrap();
    set.retire_log_key(id(2), 1 << 53).unwrap();
    set.revoke(id(3), time(77), "its owner asked for it").unwrap();
    set
}

#[test]
fn the_file_form_round_trips() {
    for set in [TrustSet::default(), full()] {
        assert_eq!(TrustSet::parse(&set.to_bytes().unwrap()), Ok(set));
    }
}

#[test]
fn the_file_form_is_the_one_that_was_published() {
    let mut set = set([trusted(1, Role::Log, 0)]);
    set.retire_log_key(id(1), 42).unwrap();
    set.revoke(id(1), time(1_000_000), "lost").unwrap();
    let expected = r#"{
  "format": 1,
  "keys": [
    {
      "id": "ed25519:34750f98bd59fcfc",
      "public": "ed25519:iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w=",
      "role": "log",
      "name": "holdfast/1",
      "valid_from": "1970-01-01T00:00:00.000000Z",
      "until_size": 42,
      "revoked": {
        "at": "1970-01-01T00:00:01.000000Z",
        "reason": "lost"
      }
    }
  ]
}
"#;
    assert_eq!(String::from_utf8(set.to_bytes().unwrap()).unwrap(), expected);
}

#[test]
fn a_file_form_that_is_not_exactly_right_is_refused() {
    let good = String::from_utf8(full().to_bytes().unwrap()).unwrap();
    let other_id = id(9).to_string();
    for (from, to, said) in [
        ("\"format\": 1", "\"format\": 2", "reads up to 1"),
        ("\"format\": 1", "\"format\": 2, \"shape\": []", "reads up to 1"),
        ("\"format\": 1", "\"format\": 0", "never was a format 0"),
        ("\"format\": 1", "\"format\": 1, \"extra\": 0", "unknown field `extra`"),
        ("\"format\": 1", "\"format\": 1, \"format\": 1", "not JSON that may be relied on"),
        ("\"role\": \"log\"", "\"role\": \"log\", \"color\": \"red\"", "unknown field `color`"),
        ("\"role\": \"log\"", "\"role\": \"root\"", "unknown variant"),
        ("\"role\": \"log\"", "\"role\": \"policy\"", "only log keys are retired"),
        ("\"reason\"", "\"because\"", "unknown field"),
        ("9007199254740992", "9007199254740993", "not JSON that may be relied on"),
        ("holdfast/1", "holdfast 1", "not a key name"),
        (&id(1).to_string(), &other_id, "is not that of"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good);
        let error = TrustSet::parse(bad.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(said), "{to}: {error}");
    }
    for end in 0..good.len() - 1 {
        assert!(TrustSet::parse(&good.as_bytes()[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn a_file_form_with_a_key_twice_or_an_end_before_the_beginning_is_refused() {
    let text = |set: &TrustSet| String::from_utf8(set.to_bytes().unwrap()).unwrap();
    let mut rotated = set([trusted(1, Role::Manifest, 5)]);
    rotated.rotate(id(1), trusted(2, Role::Manifest, 5), time(7), Duration::ZERO).unwrap();
    let ends_early = text(&rotated).replace("00:00:00.000007Z", "00:00:00.000005Z");
    assert!(matches!(TrustSet::parse(ends_early.as_bytes()), Err(TrustError::EmptyValidity { .. })));
    let mut doubled = rotated.clone();
    doubled.keys.push(trusted(1, Role::Policy, 0));
    assert_eq!(TrustSet::parse(text(&doubled).as_bytes()), Err(TrustError::DuplicateKey { key: id(1) }));
}

#[derive(Clone, Debug)]
enum Change {
    Rotate { old: u8, new: u8, now: i64, overlap: u64 },
    Retire { key: u8, size: u64 },
    Revoke { key: u8, at: i64 },
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (0..8u8, 8..16u8, 0..50i64, 0..20u64).prop_map(|(old, new, now, overlap)| Change::Rotate {
            old,
            new,
            now,
            overlap
        }),
        (0..8u8, 0..50u64).prop_map(|(key, size)| Change::Retire { key, size }),
        (0..8u8, 0..50i64).prop_map(|(key, at)| Change::Revoke { key, at }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is done, nobody who was refused is believed afterwards, but for keys newly added.
    #[test]
    fn no_change_gives_a_key_trust_it_did_not_have(changes in prop::collection::vec(any_change(), 1..6)) {
        let role = |seed: u8| if seed.is_multiple_of(2) { Role::Log } else { Role::Manifest };
        let mut set = set((0..4).map(|seed| trusted(seed, role(seed), 0)));
        for change in changes {
            let before = set.clone();
            let outcome = match change {
                Change::Rotate { old, new, now, overlap } => {
                    set.rotate(id(old), trusted(new, role(old), 0), time(now), Duration::from_micros(overlap))
                }
                Change::Retire { key, size } => set.retire_log_key(id(key), size),
                Change::Revoke { key, at } => set.revoke(id(key), time(at), "lost"),
            };
            if outcome.is_err() {
                prop_assert_eq!(&set, &before);
            }
            for seed in 0..4u8 {
                for n in (0..60u32).step_by(7) {
                    for moment in [Moment::At(time(n.into())), Moment::Size(n.into())] {
                        let now = set.accepts(id(seed), role(seed), moment).is_ok();
                        prop_assert!(!now || before.accepts(id(seed), role(seed), moment).is_ok());
                    }
                }
            }
            prop_assert_eq!(TrustSet::parse(&set.to_bytes().unwrap()), Ok(set.clone()));
        }
    }
}
