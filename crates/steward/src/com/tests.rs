//! The object model: its differences, its one text, its strict door.

use super::*;
use proptest::prelude::*;

fn unit(text: &str) -> UnitName {
    text.parse().unwrap()
}

fn com() -> Com {
    let model = UnitModel {
        enabled: true,
        settings: BTreeMap::from([(Property::MemoryMax, Value::Bytes(1 << 30))]),
        listens: vec![8080],
        peak_memory: Some(1 << 28),
        definition: "sha256:a".into(),
    };
    Com {
        memory_total: 4 << 30,
        swap: true,
        ssh_enabled: true,
        vpn_enabled: Some(true),
        firewall_enabled: true,
        units: BTreeMap::from([(unit("a.service"), model)]),
        rest: "sha256:r".into(),
        own_configuration: "sha256:o".into(),
    }
}

fn changed(edit: impl FnOnce(&mut Com)) -> Com {
    let mut com = com();
    edit(&mut com);
    com
}

fn first(com: &mut Com) -> &mut UnitModel {
    com.units.get_mut("a.service".parse::<UnitName>().as_ref().unwrap()).unwrap()
}

// shows: STW-355
#[test]
fn every_kind_of_difference_is_seen_and_named() {
    let check = |after: Com, expected: &[&str]| {
        let shown: Vec<String> = com().differences(&after).iter().map(ToString::to_string).collect();
        assert_eq!(shown, expected);
        assert_eq!(com().canonical_text() == after.canonical_text(), expected.is_empty(), "{expected:?}");
    };
    check(com(), &[]);
    check(changed(|c| c.ssh_enabled = false), &["the SSH daemon is switched off"]);
    check(changed(|c| c.vpn_enabled = Some(false)), &["the VPN is switched off"]);
    check(changed(|c| c.vpn_enabled = None), &["the VPN is gone"]);
    check(changed(|c| c.firewall_enabled = false), &["the firewall is switched off"]);
    check(changed(|c| c.swap = false), &["swap is switched off"]);
    check(changed(|c| c.memory_total = 1), &["memory is 1 instead of 4294967296 bytes"]);
    check(changed(|c| c.rest = "x".into()), &["something outside of all units is changed"]);
    check(changed(|c| c.own_configuration = "x".into()), &["the steward's own configuration is changed"]);
    check(changed(|c| first(c).enabled = false), &["a.service is switched off"]);
    check(changed(|c| first(c).definition = "x".into()), &["what people wrote for a.service is changed"]);
    check(
        changed(|c| first(c).listens = vec![8080, 22]),
        &["a.service listens on [22, 8080] instead of [8080]"],
    );
    check(changed(|c| c.units.clear()), &["a.service is gone"]);
    check(
        changed(|c| c.units.insert(unit("b.service"), UnitModel::default()).map_or((), drop)),
        &["b.service is new"],
    );
    check(
        changed(|c| first(c).settings.insert(Property::Nice, Value::Number(3)).map_or((), drop)),
        &["Nice of a.service from unset to 3"],
    );
    check(changed(|c| first(c).settings.clear()), &["MemoryMax of a.service from 1G to unset"]);
}

#[test]
fn what_means_the_same_is_no_difference() {
    let check = |after: Com| {
        assert_eq!(com().differences(&after), []);
        assert_eq!(com().canonical_text(), after.canonical_text());
    };
    check(changed(|c| first(c).settings.insert(Property::Nice, Value::Unset).map_or((), drop)));
    check(changed(|c| first(c).listens = vec![8080, 8080]));
    check(changed(|c| first(c).peak_memory = None));
}

// shows: STW-355
#[test]
fn an_evaluation_is_read_strictly() {
    let text = serde_json::to_string(&com()).unwrap();
    assert_eq!(Com::parse(&text), Ok(com()));
    let check = |text: String, part: &str| {
        let error = Com::parse(&text).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    check(text.replace("\"swap\":true", "\"swap\":true,\"swap\":true"), "stands twice");
    check(text.replace("\"swap\":true", "\"swap\":true,\"extra\":1"), "unknown field");
    check(text.replace("\"swap\":true,", ""), "missing field `swap`");
    check(text.replace("a.service", "../a.service"), "a unit is");
    check(text.replace("sha256:r", &"r".repeat(200)), "characters in a digest");
}

proptest! {
    #[test]
    fn a_change_is_the_whole_difference_it_makes(bytes in 1u64.., high in any::<bool>()) {
        let property = if high { Property::MemoryHigh } else { Property::MemoryMax };
        let setting = Setting { unit: unit("a.service"), property };
        let change = Change { from: com().value(&setting), setting, to: Value::Bytes(bytes) };
        let after = com().with(&change);
        let expected = if change.from == change.to { vec![] } else { vec![Difference::Setting(change.clone())] };
        prop_assert_eq!(com().differences(&after), expected);
        let back = Change { from: change.to, to: change.from, setting: change.setting };
        prop_assert_eq!(after.with(&back), com());
    }
}
