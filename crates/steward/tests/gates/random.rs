//! Random differences between two configurations: the policy lets pass exactly those that conform.

use holdfast_steward::com::{Com, UnitModel};
use holdfast_steward::gates::Judged;
use holdfast_steward::policy::{Standing, Tier, judge};
use holdfast_steward::setting::{Property, Setting, UnitName, Value};
use proptest::prelude::*;
use serde_json::json;

use crate::world::*;

/// One thing done to a configuration.
#[derive(Clone, Debug)]
enum Edit {
    Set(UnitName, Property, Value),
    Ssh,
    Vpn,
    Firewall,
    Swap,
    Rest,
    Own,
    Disable(UnitName),
    Remove(UnitName),
    Add,
    Listen(UnitName),
    Redefine(UnitName),
}

fn apply(com: &mut Com, edit: &Edit) {
    let mut with = |unit: &UnitName, it: &mut dyn FnMut(&mut UnitModel)| {
        if let Some(model) = com.units.get_mut(unit) {
            it(model);
        }
    };
    match edit {
        Edit::Set(unit, property, value) => with(unit, &mut |model| {
            model.settings.insert(property.clone(), *value);
        }),
        Edit::Disable(unit) => with(unit, &mut |model| model.enabled = false),
        Edit::Listen(unit) => with(unit, &mut |model| model.listens.push(31337)),
        Edit::Redefine(unit) => with(unit, &mut |model| model.definition = "sha256:x".into()),
        Edit::Remove(unit) => drop(com.units.remove(unit)),
        Edit::Add => drop(com.units.insert(unit("new.service"), UnitModel::default())),
        Edit::Ssh => com.ssh_enabled = false,
        Edit::Vpn => com.vpn_enabled = None,
        Edit::Firewall => com.firewall_enabled = false,
        Edit::Swap => com.swap = false,
        Edit::Rest => com.rest = "sha256:x".into(),
        Edit::Own => com.own_configuration = "sha256:x".into(),
    }
}

fn a_unit() -> impl Strategy<Value = UnitName> {
    let names =
        vec![WORKLOAD, "nix-daemon.service", "sshd.service", "vpn.service", "nft.service", "other.service"];
    prop_oneof![3 => Just(unit(WORKLOAD)), 2 => prop::sample::select(names).prop_map(unit)]
}

fn a_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => (1000u64..1900).prop_map(|n| Value::Bytes(n * MIB)),
        3 => (60u32..150).prop_map(Value::Percent),
        3 => (-6i64..6).prop_map(Value::Number),
        1 => any::<u64>().prop_map(Value::Bytes),
        1 => Just(Value::Infinity),
        1 => Just(Value::Unset),
    ]
}

fn a_property() -> impl Strategy<Value = Property> {
    let known = [
        "MemoryMax",
        "MemoryHigh",
        "CPUQuota",
        "Nice",
        "nix.settings.max-jobs",
        "ExecStart",
        "OOMScoreAdjust",
    ];
    prop::sample::select(known.to_vec()).prop_map(property)
}

/// An option with a value of its kind, so that many differences come near to what conforms.
fn a_fitting_set() -> impl Strategy<Value = Edit> {
    let of_kind = prop_oneof![
        (900u64..1900).prop_map(|n| (Property::MemoryMax, Value::Bytes(n * MIB))),
        (900u64..1700).prop_map(|n| (Property::MemoryHigh, Value::Bytes(n * MIB))),
        (60u32..140).prop_map(|n| (Property::CpuQuota, Value::Percent(n))),
        (-6i64..6).prop_map(|n| (Property::Nice, Value::Number(n))),
    ];
    of_kind.prop_map(|(property, value)| Edit::Set(unit(WORKLOAD), property, value))
}

fn an_edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        12 => a_fitting_set(),
        8 => (a_unit(), a_property(), a_value()).prop_map(|(unit, property, value)| Edit::Set(unit, property, value)),
        1 => prop::sample::select(vec![Edit::Ssh, Edit::Vpn, Edit::Firewall, Edit::Swap, Edit::Rest, Edit::Own, Edit::Add]),
        1 => a_unit().prop_map(Edit::Disable),
        1 => a_unit().prop_map(Edit::Remove),
        1 => a_unit().prop_map(Edit::Listen),
        1 => a_unit().prop_map(Edit::Redefine),
    ]
}

/// The rules once more, written from the other end: what the world starts with, and which single values conform.
fn conforms(before: &Com, after: &Com) -> Option<Tier> {
    let mut rest = after.clone();
    let mut moved = Vec::new();
    for (service, options) in [
        (WORKLOAD, &[Property::MemoryMax, Property::MemoryHigh, Property::CpuQuota, Property::Nice][..]),
        (
            "nix-daemon.service",
            &[
                Property::MemoryMax,
                Property::MemoryHigh,
                Property::CpuQuota,
                Property::Nice,
                Property::MaxJobs,
            ][..],
        ),
    ] {
        let (was, now) = (before.units.get(&unit(service))?, rest.units.get_mut(&unit(service))?);
        for option in options {
            if was.value(option) != now.value(option) {
                moved.push((service, option.clone(), was.value(option), now.value(option)));
            }
            match was.settings.get(option) {
                Some(value) => drop(now.settings.insert(option.clone(), *value)),
                None => drop(now.settings.remove(option)),
            }
        }
    }
    // With the allowed settings put back nothing may be left over.
    if rest.canonical_text() != before.canonical_text() {
        return None;
    }
    let pair = |a: &Property, b: &Property| {
        [a, b].contains(&&Property::MemoryMax) && [a, b].contains(&&Property::MemoryHigh)
    };
    match moved.as_slice() {
        [_] => {}
        [(s, a, ..), (t, b, ..)] if s == t && pair(a, b) => {}
        _ => return None,
    }
    let mut tier = Tier::One;
    for (service, option, from, to) in &moved {
        tier = tier.max(single(option, *from, *to)?);
        let model = &after.units[&unit(service)];
        if let (Value::Bytes(high), Value::Bytes(max)) =
            (model.value(&Property::MemoryHigh), model.value(&Property::MemoryMax))
            && high > max
        {
            return None;
        }
    }
    Some(tier)
}

fn single(option: &Property, from: Value, to: Value) -> Option<Tier> {
    let near = |from: i128, to: i128, percent: i128| (to - from).abs() * 100 <= from * percent;
    let only = |holds: bool| holds.then_some(Tier::One);
    let (least, most) = if *option == Property::MemoryMax { (256, 3072) } else { (128, 3072) };
    match (option, from, to) {
        (Property::MemoryMax | Property::MemoryHigh, Value::Bytes(from), Value::Bytes(to)) => {
            only(near(from.into(), to.into(), 20) && (least * MIB..=most * MIB).contains(&to))
        }
        (Property::MemoryMax | Property::MemoryHigh, _, Value::Bytes(to)) => {
            (least * MIB..=most * MIB).contains(&to).then_some(Tier::Two)
        }
        (Property::MemoryMax | Property::MemoryHigh, _, Value::Infinity | Value::Unset) => Some(Tier::Two),
        (Property::CpuQuota, Value::Percent(from), Value::Percent(to)) => {
            only(near(from.into(), to.into(), 25) && (25..=400).contains(&to))
        }
        (Property::CpuQuota, _, Value::Percent(to)) => (25..=400).contains(&to).then_some(Tier::Two),
        (Property::CpuQuota, _, Value::Infinity | Value::Unset) => Some(Tier::Two),
        (Property::Nice, Value::Number(from), Value::Number(to)) if (to - from).abs() <= 3 => {
            Some(if to < -5 { Tier::Two } else { Tier::One })
        }
        (Property::Nice, Value::Unset, Value::Number(_)) | (Property::Nice, _, Value::Unset) => {
            Some(Tier::Two)
        }
        (Property::MaxJobs, Value::Number(from), Value::Number(to)) => {
            only((to - from).abs() <= 1 && to >= 1)
        }
        (Property::MaxJobs, Value::Number(_), Value::Unset) => Some(Tier::Two),
        _ => None,
    }
}

fn judged(before: &Com, after: &Com) -> Option<Tier> {
    let rules = rules();
    let standing = Standing { rules: &rules, baseline: before, recent: &[], revert_to: None, fresh: true };
    judge(before, after, &standing).ok().map(|allowed| allowed.tier)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    // shows: STW-342
    #[test]
    fn only_conforming_differences_pass(edits in prop::collection::vec(an_edit(), 0..3)) {
        let before = com();
        let mut after = before.clone();
        edits.iter().for_each(|edit| apply(&mut after, edit));
        prop_assert_eq!(judged(&before, &after), conforms(&before, &after), "{:?}", edits);
    }

    /// Whatever a brain says, what is cleared conforms, and in the tier it is cleared in.
    #[test]
    fn only_conforming_answers_are_cleared(
        service in a_unit(),
        (option, other) in (a_property(), a_property()),
        (old, new) in (a_word(), a_word()),
        also in prop::option::of((a_word(), a_word())),
        truthful: bool,
    ) {
        let stated = |option: &Property, old: String| match truthful {
            true => com().value(&Setting { unit: service.clone(), property: option.clone() }).to_string(),
            false => old,
        };
        let mut text = proposing(service.as_str(), option.as_str(), &stated(&option, old), &new);
        if let Some((old, new)) = also {
            text["also"] = json!({"target_option": other, "old_value": stated(&other, old), "new_value": new});
        }
        cleared_conforms(&text.to_string())?;
    }

    /// A good answer with bytes changed, cut out or doubled.
    #[test]
    fn no_damaged_answer_is_cleared_as_something_else(
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0usize..3, 0x20u8..0x7f), 1..4),
    ) {
        let mut text = good().to_string().into_bytes();
        for (place, how, byte) in cuts {
            let at = place.index(text.len());
            match how {
                0 => text[at] = byte,
                1 => drop(text.remove(at)),
                _ => text.insert(at, byte),
            }
        }
        cleared_conforms(&String::from_utf8(text).unwrap())?;
    }

    #[test]
    fn no_text_breaks_the_gates(text: String) {
        cleared_conforms(&text)?;
    }
}

/// Values near to what conforms, and far from it.
fn a_word() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (900u64..1900).prop_map(|n| format!("{n}M")),
        2 => (60u32..140).prop_map(|n| format!("{n}%")),
        2 => (-6i64..6).prop_map(|n| n.to_string()),
        1 => prop::sample::select(vec!["infinity", "unset", "0", "1G", "99999999999999999999", "1536m", "%", "-"]).prop_map(str::to_owned),
        1 => "[ -~]{1,12}",
    ]
}

fn cleared_conforms(text: &str) -> Result<(), TestCaseError> {
    if let Judged::Cleared { candidate, tier, changes, .. } = judge_text(text) {
        prop_assert_eq!(conforms(&com(), &candidate), Some(tier), "{}", text);
        let made = changes.iter().fold(com(), |com, change| com.with(change));
        prop_assert_eq!(made.canonical_text(), candidate.canonical_text(), "{}", text);
    }
    Ok(())
}

/// A property that never meets what it is about shows nothing.
#[test]
fn random_differences_meet_both_sides() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut passed, mut refused) = (0, 0);
    for _ in 0..2000 {
        let edits = prop::collection::vec(an_edit(), 0..3).new_tree(&mut runner).unwrap().current();
        let mut after = com();
        edits.iter().for_each(|edit| apply(&mut after, edit));
        match judged(&com(), &after) {
            Some(_) => passed += 1,
            None => refused += 1,
        }
    }
    assert!(passed > 200 && refused > 1000, "{passed} passed, {refused} refused");
}
