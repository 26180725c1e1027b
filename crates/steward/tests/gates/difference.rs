//! What a change may be: told truly, alone or in a declared pair, back to where it was, and as evaluated.

use holdfast_steward::com::Com;
use holdfast_steward::gates::{Case, Judged, judge};
use holdfast_steward::policy::{Standing, TABLE, Tier, read_value};
use holdfast_steward::setting::{Change, Property, Value};
use serde_json::json;

use crate::world::*;

// shows: STW-349
#[test]
fn the_old_value_is_what_was_evaluated_and_the_new_one_what_the_candidate_holds() {
    let judged = |old, new| judge_text(&proposing(WORKLOAD, "MemoryMax", old, new).to_string());
    check("as it is", &judged("1536M", "1792M"), "cleared in tier One", "");
    for old in ["1535M", "1536K", "1536", "unset", "infinity", "2G"] {
        check(
            old,
            &judged(old, "1792M"),
            "refused by policy",
            "MemoryMax of openclaw-task-runner.service is 1536M",
        );
    }
    // One value has one meaning, however it is spelled.
    check("in K", &judged("1572864K", "1835008K"), "cleared in tier One", "");
    let Judged::Cleared { changes, candidate, .. } = judged("1572864K", "1835008K") else { panic!() };
    assert_eq!(candidate.value(&changes[0].setting), Value::Bytes(1792 * MIB));
}

// shows: STW-120
#[test]
fn two_options_are_one_change_only_as_a_declared_pair() {
    let also = |option: &str, old: &str, new: &str| {
        let also = json!({"target_option": option, "old_value": old, "new_value": new});
        judge_text(&good_with(&[("also", also)]).to_string())
    };
    check("pair", &also("MemoryHigh", "1280M", "1536M"), "cleared in tier One", "");
    check("no pair", &also("Nice", "0", "1"), "refused by policy", "2 settings would change");
    check(
        "twice the same",
        &also("MemoryMax", "1536M", "1700M"),
        "refused by policy",
        "do not make one change each",
    );
    check(
        "half of nothing",
        &also("MemoryHigh", "1280M", "1280M"),
        "refused by policy",
        "do not make one change each",
    );
    check("half too far", &also("MemoryHigh", "1280M", "1792M"), "refused by policy", "more than 20 %");
    check("half for people", &also("ExecStart", "a", "b"), "draft", "it runs code");
}

// shows: STW-388
#[test]
fn a_pair_moves_where_one_option_alone_cannot() {
    let before = com_with(|com| set(com, WORKLOAD, Property::MemoryHigh, Value::Bytes(1536 * MIB)));
    let alone = proposing(WORKLOAD, "MemoryMax", "1536M", "1300M");
    check("alone", &judge_in(&before, &alone.to_string()), "refused by policy", "change both together");
    let mut pair = alone;
    pair["also"] = json!({"target_option": "MemoryHigh", "old_value": "1536M", "new_value": "1300M"});
    check("pair", &judge_in(&before, &pair.to_string()), "cleared in tier One", "");
    // All bounds are explicit, and a low Nice needs a person.
    assert!(TABLE.iter().filter(|rule| rule.tier == Tier::One).all(|rule| rule.bounds.is_some()));
    let nice = com_with(|com| set(com, WORKLOAD, Property::Nice, Value::Number(-4)));
    for (new, word) in [("-5", "cleared in tier One"), ("-6", "cleared in tier Two")] {
        check(new, &judge_in(&nice, &proposing(WORKLOAD, "Nice", "-4", new).to_string()), word, "");
    }
}

#[test]
fn a_revert_that_is_named_may_be_larger_than_a_step() {
    let mib = |n| Value::Bytes(n * MIB);
    let max = |from, to| change(WORKLOAD, property("MemoryMax"), mib(from), mib(to));
    let high = |from, to| change(WORKLOAD, property("MemoryHigh"), mib(from), mib(to));
    let now = com_with(|com| {
        set(com, WORKLOAD, property("MemoryMax"), mib(1229));
        set(com, WORKLOAD, property("MemoryHigh"), mib(1024));
    });
    let (rules, baseline) = (rules(), com());
    let recent = [max(1536, 1229), high(1280, 1024)];
    let judged = |revert_to: Option<Change>, text: &str| {
        let case = Case {
            text,
            rules: &rules,
            before: &now,
            baseline: &baseline,
            recent: &recent,
            fresh: true,
            revert_to: revert_to.as_ref(),
            exploration: false,
        };
        judge(&case)
    };
    let back = proposing(WORKLOAD, "MemoryMax", "1229M", "1536M").to_string();
    check("not named", &judged(None, &back), "refused by policy", "more than 20 % in one step");
    check("named", &judged(Some(max(1229, 1536)), &back), "cleared in tier One", "");
    check(
        "another",
        &judged(Some(max(1229, 1535)), &back),
        "refused by policy",
        "more than 20 % in one step",
    );
    check(
        "other half",
        &judged(Some(high(1024, 1280)), &back),
        "refused by policy",
        "more than 20 % in one step",
    );
    // Of a pair, the other half counts when it undoes what was last done to it.
    let pair = |high: &str| {
        let mut pair = proposing(WORKLOAD, "MemoryMax", "1229M", "1536M");
        pair["also"] = json!({"target_option": "MemoryHigh", "old_value": "1024M", "new_value": high});
        pair.to_string()
    };
    check("pair", &judged(Some(max(1229, 1536)), &pair("1280M")), "cleared in tier One", "");
    check(
        "pair, further",
        &judged(Some(max(1229, 1536)), &pair("1290M")),
        "refused by policy",
        "more than 20 %",
    );
}

#[test]
fn what_people_had_set_may_be_gone_back_to_also_outside_the_limits() {
    let gib = |n| Value::Bytes(n * GIB);
    let baseline = com_with(|com| set(com, WORKLOAD, property("MemoryMax"), gib(4)));
    let now = com_with(|com| set(com, WORKLOAD, property("MemoryMax"), gib(3)));
    let mut rules = rules();
    rules.memory_budget = 16 * GIB;
    let back = change(WORKLOAD, property("MemoryMax"), gib(3), gib(4));
    let text = proposing(WORKLOAD, "MemoryMax", "3G", "4G").to_string();
    let judged = |revert_to, baseline| {
        judge(&Case {
            text: &text,
            rules: &rules,
            before: &now,
            baseline,
            recent: &[],
            fresh: true,
            revert_to,
            exploration: false,
        })
    };
    check("named", &judged(Some(&back), &baseline), "cleared in tier One", "");
    check("not named", &judged(None, &baseline), "refused by policy", "outside of 256M to 3G");
    check("not people's", &judged(Some(&back), &now), "refused by policy", "outside of 256M to 3G");
}

// shows: STW-270
#[test]
fn values_are_read_by_the_grammar_the_table_gives() {
    for (option, text, expected) in [
        ("MemoryMax", "2G", Some(Ok(Value::Bytes(2 * GIB)))),
        ("MemoryLow", "2G", Some(Ok(Value::Bytes(2 * GIB)))),
        ("CPUWeight", "200", Some(Ok(Value::Number(200)))),
        ("CPUWeight", "200M", Some(Err(()))),
        ("MemoryMax", "unset", Some(Ok(Value::Unset))),
        ("ExecStart", "2G", None),
        ("services.openclaw.x", "2G", None),
    ] {
        let read = read_value(&property(option), text);
        assert_eq!(read.map(|it| it.map_err(drop)), expected, "{option} {text}");
    }
    let error = read_value(&property("CPUWeight"), "x").unwrap().unwrap_err();
    assert_eq!(error.property, "CPUWeight");
}

/// The gate on two evaluations, without anybody's words.
pub(crate) fn difference(fresh: bool, edit: impl FnOnce(&mut Com)) -> Result<Tier, String> {
    let (rules, before, after) = (rules(), com(), com_with(edit));
    let standing = Standing { rules: &rules, baseline: &before, recent: &[], revert_to: None, fresh };
    let judged = holdfast_steward::policy::judge(&before, &after, &standing);
    judged.map(|allowed| allowed.tier).map_err(|refusal| refusal.reason)
}

#[test]
fn a_difference_is_judged_without_anybodys_words() {
    let refused = |judged: Result<Tier, String>, part: &str| {
        let reason = judged.unwrap_err();
        assert!(reason.contains(part), "{reason}");
    };
    let nice = |com: &mut Com| set(com, WORKLOAD, Property::Nice, Value::Number(1));
    assert_eq!(difference(true, nice), Ok(Tier::One));
    refused(difference(false, nice), "older than 10 minutes");
    // The halves of a pair belong to one unit.
    let apart = |com: &mut Com| {
        set(com, WORKLOAD, Property::MemoryMax, Value::Bytes(1600 * MIB));
        set(com, "nix-daemon.service", Property::MemoryHigh, Value::Bytes(256 * MIB));
    };
    refused(difference(true, apart), "2 settings would change");
    // A target may answer with a value of another kind; its number means nothing.
    for (property, value) in [
        (Property::Nice, Value::Percent(1)),
        (Property::Nice, Value::Infinity),
        (Property::CpuQuota, Value::Number(101)),
        (Property::MemoryMax, Value::Number(1_610_612_737)),
    ] {
        refused(difference(true, |com| set(com, WORKLOAD, property, value)), "not the kind of value");
    }
    // And so may it for what is there now: 100 of another kind is not 100 %.
    let (rules, good) = (rules(), com());
    let odd = com_with(|com| set(com, WORKLOAD, Property::CpuQuota, Value::Number(100)));
    let after = com_with(|com| set(com, WORKLOAD, Property::CpuQuota, Value::Percent(110)));
    let judged = |before: &Com, baseline: &Com| {
        let standing = Standing { rules: &rules, baseline, recent: &[], revert_to: None, fresh: true };
        holdfast_steward::policy::judge(before, &after, &standing).map(|allowed| allowed.tier)
    };
    refused(judged(&odd, &good).map_err(|refusal| refusal.reason), "100 is not the kind of value");
    assert_eq!(judged(&good, &good), Ok(Tier::One));
    assert_eq!(judged(&good, &odd), Ok(Tier::Two), "nothing to measure a week by");
}
