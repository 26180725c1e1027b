//! The order of the gates, what each leaves behind, and the answers that are no proposal.

use holdfast_steward::gates::{Case, Gate, GateResult, Judged, judge, judge_timed};
use holdfast_steward::policy::Tier;
use holdfast_steward::properties::{PREDICATES, Predicate};
use serde_json::json;

use crate::world::*;

fn results(judged: &Judged) -> &[GateResult] {
    match judged {
        Judged::NoAction { results, .. }
        | Judged::Refused { results, .. }
        | Judged::Draft { results, .. }
        | Judged::Cleared { results, .. } => results,
    }
}

// shows: STW-341
#[test]
fn the_gates_are_asked_in_their_one_order() {
    use Gate::*;
    assert_eq!(Gate::ORDER, [Schema, Parse, Type, Policy, Auditor, Properties, Whole, Build]);
    assert!(Gate::ORDER.is_sorted());
    let judged = judge_text(&good().to_string());
    let asked: Vec<Gate> = results(&judged).iter().map(|result| result.gate).collect();
    assert_eq!(asked, Gate::ORDER[..6]);
    assert!(results(&judged).iter().all(|result| result.passed));
}

#[test]
fn a_gate_that_refuses_is_the_last_one_asked() {
    let check = |text: String, gate: Gate| {
        let judged = judge_text(&text);
        let asked: Vec<Gate> = results(&judged).iter().map(|result| result.gate).collect();
        let expected: Vec<Gate> = Gate::ORDER.into_iter().take_while(|it| *it <= gate).collect();
        assert_eq!(asked, expected);
        let (last, before) = results(&judged).split_last().unwrap();
        assert!(!last.passed && !last.reason.is_empty() && before.iter().all(|result| result.passed));
    };
    check("{".into(), Gate::Schema);
    check(proposing(WORKLOAD, "Memory Max", "1536M", "1792M").to_string(), Gate::Parse);
    check(proposing(WORKLOAD, "MemoryMax", "1536M", "20%").to_string(), Gate::Type);
    check(proposing(WORKLOAD, "MemoryMax", "1536M", "2G").to_string(), Gate::Policy);
}

#[test]
fn a_refusal_says_which_option_and_which_value() {
    let judged = judge_text(&proposing(WORKLOAD, "MemoryMax", "1536M", "2G").to_string());
    let last = results(&judged).last().unwrap();
    assert_eq!(last.option.as_deref(), Some("MemoryMax of openclaw-task-runner.service"));
    assert_eq!(last.value.as_deref(), Some("2G"));
    assert!(last.reason.contains("more than 20 % in one step"), "{}", last.reason);
}

#[test]
fn a_good_proposal_is_cleared_with_the_candidate_it_makes() {
    let Judged::Cleared { proposal, changes, tier, candidate, .. } = judge_text(&good().to_string()) else {
        panic!("not cleared")
    };
    assert_eq!(tier, Tier::One);
    assert_eq!(changes, proposal.changes());
    assert_eq!(candidate, com().with(&changes[0]));
    assert_eq!(serde_json::to_value(&proposal).unwrap(), good());
}

#[test]
fn no_action_is_an_answer_also_on_old_data() {
    let check = |fresh, text: &str, word, part| {
        let (rules, com) = (rules(), com());
        let case = Case {
            text,
            rules: &rules,
            before: &com,
            baseline: &com,
            recent: &[],
            fresh,
            revert_to: None,
            exploration: false,
        };
        crate::world::check("", &judge(&case), word, part);
    };
    let nothing = json!({"no_action": "all is well"}).to_string();
    check(true, &nothing, "no action", "all is well");
    check(false, &nothing, "no action", "all is well");
    check(false, &good().to_string(), "refused by policy", "older than 10 minutes");
    // Also what would only be drafted: a draft from old data misleads a person.
    check(
        false,
        &proposing(WORKLOAD, "ExecStart", "a", "b").to_string(),
        "refused by policy",
        "older than 10",
    );
}

// shows: STW-114
#[test]
fn an_exploration_says_so_exactly_when_it_was_asked_for() {
    let check = |asked, said: bool, word, part| {
        let (rules, com) = (rules(), com());
        let text = good_with(&[("exploration", said.into())]).to_string();
        let case = Case {
            text: &text,
            rules: &rules,
            before: &com,
            baseline: &com,
            recent: &[],
            fresh: true,
            revert_to: None,
            exploration: asked,
        };
        crate::world::check("", &judge(&case), word, part);
    };
    check(true, true, "cleared in tier One", "");
    check(false, false, "cleared in tier One", "");
    check(true, false, "refused by schema", "does not say it is one");
    check(false, true, "refused by schema", "none was asked for");
}

#[test]
fn a_new_predicate_takes_part_without_a_change_of_the_gates() {
    let odd: Predicate = Predicate {
        name: "memory_is_not_1792M",
        why: "it was rolled back once",
        holds: |_, after, _| match after.units[&unit(WORKLOAD)]
            .value(&property("MemoryMax"))
            .to_string()
            .as_str()
        {
            "1792M" => Err("it is".into()),
            _ => Ok(()),
        },
    };
    let predicates: Vec<Predicate> = PREDICATES.iter().copied().chain([odd]).collect();
    let (rules, com, text) = (rules(), com(), good().to_string());
    let case = Case {
        text: &text,
        rules: &rules,
        before: &com,
        baseline: &com,
        recent: &[],
        fresh: true,
        revert_to: None,
        exploration: false,
    };
    check("with", &judge_timed(&case, &predicates, &mut || 0), "refused by properties", "rolled back once");
    check("without", &judge(&case), "cleared in tier One", "");
}

#[test]
fn the_time_of_each_gate_is_what_the_callers_clock_says() {
    let (rules, com, text) = (rules(), com(), good().to_string());
    let case = Case {
        text: &text,
        rules: &rules,
        before: &com,
        baseline: &com,
        recent: &[],
        fresh: true,
        revert_to: None,
        exploration: false,
    };
    let mut readings = [100, 101, 103, 106, 110, 115, 121].into_iter();
    let judged = judge_timed(&case, PREDICATES, &mut || readings.next().unwrap());
    let millis: Vec<u64> = results(&judged).iter().map(|result| result.millis).collect();
    assert_eq!(millis, [1, 2, 3, 4, 5, 6]);
}
