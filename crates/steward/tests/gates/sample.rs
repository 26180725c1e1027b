//! The sample of an earlier design that breaks its own rules: refused for each reason, repaired one at a time.

use holdfast_steward::auditor::lint_overlay;
use holdfast_steward::com::Com;
use holdfast_steward::gates::{Judged, evaluated};
use holdfast_steward::setting::{Change, Property, Value};
use serde_json::{Value as Json, json};

use crate::world::*;

const OVERLAY: &str = include_str!("../fixtures/sample-overlay.txt");
const PROPOSAL: &str = include_str!("../fixtures/sample-proposal.json");

/// What the overlay evaluates to, with these two sizes.
fn overlaid(max: u64, high: u64) -> Com {
    com_with(|com| {
        set(com, WORKLOAD, Property::MemoryMax, Value::Bytes(max * MIB));
        set(com, WORKLOAD, Property::MemoryHigh, Value::Bytes(high * MIB));
    })
}

fn cleared(proposal: &Json) -> Vec<Change> {
    match judge_text(&proposal.to_string()) {
        Judged::Cleared { changes, .. } => changes,
        other => panic!("not cleared: {:?}", verdict(&other)),
    }
}

// shows: STW-347
#[test]
fn the_sample_is_refused_for_each_of_its_reasons() {
    // As it came: a third more memory.
    let mut proposal: Json = serde_json::from_str(PROPOSAL).unwrap();
    check("as it came", &judge_text(PROPOSAL), "refused by policy", "from 1536M to 2G is more than 20 %");

    // With that repaired, the overlay still sets a second option, which nobody proposed.
    proposal["new_value"] = "1792M".into();
    let one = cleared(&proposal);
    let reason = evaluated(&com(), &overlaid(1792, 1792), &one, &rules()).unwrap_err();
    assert!(reason.contains("more than was proposed: MemoryHigh"), "{reason}");

    // With the second option declared as the other half of a pair, it goes up by two fifths.
    proposal["also"] = json!({"target_option": "MemoryHigh", "old_value": "1280M", "new_value": "1792M"});
    let reason = "MemoryHigh of openclaw-task-runner.service: from 1280M to 1792M is more than 20 %";
    check("both", &judge_text(&proposal.to_string()), "refused by policy", reason);

    // With that repaired, the proposal is good, and the overlay still defines what is defined already.
    proposal["also"]["new_value"] = "1536M".into();
    let pair = cleared(&proposal);
    assert_eq!(evaluated(&com(), &overlaid(1792, 1536), &pair, &rules()), Ok(()));
    let overlay = OVERLAY.replace("2048M", "1792M").replace("High = \"1792M\"", "High = \"1536M\"");
    let problems = lint_overlay(&overlay, &com()).unwrap_err();
    assert_eq!(problems.len(), 2);
    assert!(problems.iter().all(|problem| problem.contains("already defined")), "{problems:?}");

    // With its priority said, nothing is left to refuse.
    let overlay = overlay.replace("= \"", "= lib.mkForce \"");
    let named: Vec<_> = pair.iter().map(|change| change.setting.clone()).collect();
    assert_eq!(lint_overlay(&overlay, &com()), Ok(named));
}

#[test]
fn an_overlay_sets_one_option_of_one_unit_or_a_pair() {
    let fresh = com_with(|com| com.units.get_mut(&unit(WORKLOAD)).unwrap().settings.clear());
    let overlay = |lines: &str| {
        lint_overlay(&format!("{{ ... }}: {{\n{lines}\n}}\n"), &fresh).map_err(|it| it.join("; "))
    };
    let line =
        |unit: &str, option: &str| format!("systemd.services.\"{unit}\".serviceConfig.{option} = \"1\";");
    assert!(overlay(&line("a", "Nice")).is_ok());
    let refused = |lines: String, part: &str| {
        let reason = overlay(&lines).unwrap_err();
        assert!(reason.contains(part), "{reason}");
    };
    refused(String::new(), "sets 0 options");
    refused(line("a", "Nice") + &line("a", "CPUQuota"), "sets 2 options");
    refused(line("a", "MemoryMax") + &line("b", "MemoryHigh"), "sets 2 options");
    refused(
        line("a", "Nice") + "\nboot.loader.grub.enable = false;",
        "boot.loader.grub.enable is no setting of a unit",
    );
    refused("systemd.services.a.script = \"id\";".into(), "is no setting of a unit");
}
