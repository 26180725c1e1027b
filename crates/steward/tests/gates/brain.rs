//! The built-in brain and the gates read one table: what it proposes is never refused.

use std::collections::BTreeMap;

use holdfast_steward::brain::{Bounds, Facts, HostView, UnitView, View, propose};
use holdfast_steward::com::Com;
use holdfast_steward::policy;
use holdfast_steward::setting::{Property, Setting, Value};
use proptest::prelude::*;

use crate::world::*;

#[test]
fn the_built_in_brain_has_the_bounds_of_the_table() {
    let Bounds { memory_max, memory_high, cpu_quota, nice } = Bounds::default();
    for (property, bounds) in [
        (Property::MemoryMax, memory_max),
        (Property::MemoryHigh, memory_high),
        (Property::CpuQuota, cpu_quota),
        (Property::Nice, nice),
    ] {
        assert_eq!(policy::alone(&property), Some(&bounds), "{property}");
    }
    assert_eq!(policy::alone(&property("CPUWeight")), None, "a person agrees to each");
    assert_eq!(policy::alone(&property("OOMScoreAdjust")), None, "nobody knows it");
}

/// The world with these figures for the workload, as the brain is shown it.
fn view(com: &Com, figures: (u64, u64, f64), pressure: f64, exploration: bool) -> View {
    let value = |property| com.value(&Setting { unit: unit(WORKLOAD), property });
    let (peak, oom_kills, throttled) = figures;
    let seen = UnitView {
        memory_max: value(Property::MemoryMax),
        memory_high: value(Property::MemoryHigh),
        cpu_quota: value(Property::CpuQuota),
        nice: value(Property::Nice),
        peak: Some(peak),
        oom_kills,
        restarts: oom_kills,
        throttled,
        people: None,
        facts: Facts::default(),
        endpoint: Some("target-1-openclaw".parse().unwrap()),
    };
    // 256M of another unit, and four that use 64M each.
    let Value::Bytes(limit) = seen.memory_max else { panic!("it has a limit") };
    let headroom = rules().memory_budget.saturating_sub(limit + 512 * MIB + 1);
    View {
        units: BTreeMap::from([(unit(WORKLOAD), seen)]),
        pressure: Some(pressure),
        headroom,
        outcomes: Vec::new(),
        experience: Vec::new(),
        on_host: HostView::default(),
        bounds: Bounds::default(),
        exploration,
        spent_today: false,
        take_back: Vec::new(),
        stale: false,
        host: "target-1".parse().unwrap(),
    }
}

proptest! {
    #[test]
    fn what_the_built_in_brain_proposes_is_cleared_in_tier_one(
        max in 200 * MIB..3000 * MIB,
        share in 1u64..=100,
        quota in 10u32..450,
        nice in -20i64..=19,
        figures in (1u64..3 * GIB, 0u64..4, 0.0..1.0f64),
        pressure in 0.0..40.0f64,
    ) {
        let before = com_with(|com| {
            set(com, WORKLOAD, Property::MemoryMax, Value::Bytes(max));
            set(com, WORKLOAD, Property::MemoryHigh, Value::Bytes(max / 100 * share));
            set(com, WORKLOAD, Property::CpuQuota, Value::Percent(quota));
            set(com, WORKLOAD, Property::Nice, Value::Number(nice));
        });
        let text = propose(&view(&before, figures, pressure, false));
        // Judged against what people set: here, what is there now.
        let (rules, baseline) = (rules(), before.clone());
        let case = holdfast_steward::gates::Case {
            text: &text,
            rules: &rules,
            before: &before,
            baseline: &baseline,
            recent: &[],
            fresh: true,
            revert_to: None,
            exploration: false,
        };
        let (word, reason) = verdict(&holdfast_steward::gates::judge(&case));
        prop_assert!(["cleared in tier One", "no action"].contains(&word.as_str()), "{}: {} for {}", word, reason, text);
    }
}
