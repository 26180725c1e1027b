//! One target and one good proposal; a test names only what it makes different.

use std::collections::BTreeMap;

use holdfast_steward::com::{Com, UnitModel};
use holdfast_steward::gates::{Case, Gate, Judged, judge};
use holdfast_steward::policy::TargetRules;
use holdfast_steward::setting::{Change, Property, Setting, UnitName, Value};
use serde_json::{Value as Json, json};

pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const GIB: u64 = 1 << 30;
pub(crate) const WORKLOAD: &str = "openclaw-task-runner.service";

pub(crate) fn unit(text: &str) -> UnitName {
    text.parse().unwrap()
}

pub(crate) fn property(text: &str) -> Property {
    text.parse().unwrap()
}

pub(crate) fn rules() -> TargetRules {
    TargetRules {
        services: vec![unit(WORKLOAD), unit("nix-daemon.service"), unit("sshd.service"), unit("vpn.service")],
        workload: unit(WORKLOAD),
        critical: vec![unit("sshd.service"), unit("vpn.service"), unit("nft.service")],
        memory_budget: 3584 * MIB,
        endpoints: vec!["target-1-openclaw".into()],
        probe_hosts: vec!["target-1".into()],
    }
}

fn model(settings: &[(Property, Value)], listens: &[u16]) -> UnitModel {
    UnitModel {
        enabled: true,
        settings: settings.iter().cloned().collect(),
        listens: listens.to_vec(),
        peak_memory: Some(64 * MIB),
        definition: "sha256:definition".into(),
    }
}

pub(crate) fn com() -> Com {
    let workload = [
        (Property::MemoryMax, Value::Bytes(1536 * MIB)),
        (Property::MemoryHigh, Value::Bytes(1280 * MIB)),
        (Property::CpuQuota, Value::Percent(100)),
        (Property::Nice, Value::Number(0)),
        (property("CPUWeight"), Value::Number(100)),
        (property("swapDevices[].size"), Value::Bytes(2 * GIB)),
        (property("boot.kernel.sysctl.vm.swappiness"), Value::Number(60)),
    ];
    let nix = [(Property::MaxJobs, Value::Number(2)), (Property::Cores, Value::Number(2))];
    Com {
        memory_total: 4 * GIB,
        swap: true,
        ssh_enabled: true,
        vpn_enabled: Some(true),
        firewall_enabled: true,
        units: BTreeMap::from([
            (unit(WORKLOAD), model(&workload, &[8080])),
            (unit("nix-daemon.service"), model(&nix, &[])),
            (unit("sshd.service"), model(&[], &[22])),
            (unit("vpn.service"), model(&[], &[41641])),
            (unit("nft.service"), model(&[], &[])),
            (unit("other.service"), model(&[(Property::MemoryMax, Value::Bytes(256 * MIB))], &[9000])),
        ]),
        rest: "sha256:rest".into(),
        own_configuration: "sha256:own".into(),
    }
}

pub(crate) fn com_with(edit: impl FnOnce(&mut Com)) -> Com {
    let mut com = com();
    edit(&mut com);
    com
}

pub(crate) fn set(com: &mut Com, name: &str, property: Property, value: Value) {
    com.units.get_mut(&unit(name)).unwrap().settings.insert(property, value);
}

pub(crate) fn change(name: &str, property: Property, from: Value, to: Value) -> Change {
    Change { setting: Setting { unit: unit(name), property }, from, to }
}

/// A proposal that passes every gate.
pub(crate) fn good() -> Json {
    json!({
        "hypothesis": "the workload is short of memory",
        "target_service": WORKLOAD,
        "target_option": "MemoryMax",
        "old_value": "1536M",
        "new_value": "1792M",
        "rationale": "pressure rose with each build",
        "verification_checks": [
            {"type": "health_check", "endpoint": "target-1-openclaw", "timeout_seconds": 120},
            {"type": "ssh_probe", "host": "target-1", "timeout_seconds": 10}
        ],
        "expected_outcome": {"metric": "memory_pressure", "direction": "minimize", "relative_change": -0.2}
    })
}

pub(crate) fn good_with(fields: &[(&str, Json)]) -> Json {
    let mut proposal = good();
    for (name, value) in fields {
        proposal[*name] = value.clone();
    }
    proposal
}

/// The good proposal about another option and other values.
pub(crate) fn proposing(service: &str, option: &str, old: &str, new: &str) -> Json {
    good_with(&[
        ("target_service", service.into()),
        ("target_option", option.into()),
        ("old_value", old.into()),
        ("new_value", new.into()),
    ])
}

pub(crate) fn judge_text(text: &str) -> Judged {
    judge_in(&com(), text)
}

pub(crate) fn judge_in(before: &Com, text: &str) -> Judged {
    let (rules, baseline) = (rules(), com());
    judge(&Case {
        text,
        rules: &rules,
        before,
        baseline: &baseline,
        recent: &[],
        fresh: true,
        revert_to: None,
        exploration: false,
    })
}

/// What became of it, in a word, and why.
pub(crate) fn verdict(judged: &Judged) -> (String, String) {
    match judged {
        Judged::NoAction { why, .. } => ("no action".into(), why.clone()),
        Judged::Refused { gate, reason, .. } => (format!("refused by {}", name(*gate)), reason.clone()),
        Judged::Draft { reason, .. } => ("draft".into(), reason.clone()),
        Judged::Cleared { tier, .. } => (format!("cleared in tier {tier:?}"), String::new()),
    }
}

pub(crate) fn name(gate: Gate) -> String {
    format!("{gate:?}").to_lowercase()
}

/// Checks word and reason at once; an empty part fits any reason.
pub(crate) fn check(what: &str, judged: &Judged, word: &str, part: &str) {
    let (got, reason) = verdict(judged);
    assert_eq!(got, word, "{what}: {reason}");
    assert!(reason.contains(part), "{what}: {reason:?} does not say {part:?}");
}
