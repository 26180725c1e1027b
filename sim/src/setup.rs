//! The one estate all worlds share: a small server with a managed service and the units that keep it reachable.

use std::time::Duration;

use holdfast_lifeline::Steady;
use holdfast_steward::Settings;
use holdfast_steward::constitution::{Constitution, OnDelayedNegative, Settings as Law};
use holdfast_steward::limits::Limits;
use holdfast_steward::policy::TargetRules;
use holdfast_steward::sample::Metric;
pub(crate) use holdfast_steward_host::{CALIBRATION, LIMIT, workload};
use holdfast_steward_host::{Driver, SimHost, critical, estate};

use crate::plan::Plan;

pub(crate) const WINDOW: Duration = Duration::from_secs(600);
pub(crate) const SPACE_HERE: u64 = 1_000_000_000;
pub(crate) const SPACE_THERE: u64 = 5_000_000_000;
pub(crate) const ENDPOINT: &str = "box-1-task-runner";
const DAY: u64 = 86_400_000;

pub(crate) fn settings(plan: &Plan, which: usize) -> Settings {
    let endpoints = if plan.no_endpoints { Vec::new() } else { vec![ENDPOINT.to_owned()] };
    let law = Law { on_delayed_negative: OnDelayedNegative::Revert, ..Law::default() };
    Settings {
        target: match "box-1".parse() {
            Ok(target) => target,
            Err(_) => unreachable!("a good name"),
        },
        instance: plan.seed.wrapping_mul(2) + which as u64,
        rules: TargetRules {
            services: vec![workload()],
            workload: workload(),
            critical: critical(),
            memory_budget: (7 << 30) / 2,
            endpoints,
            probe_hosts: vec!["box-1".to_owned()],
        },
        constitution: match Constitution::try_from(law) {
            Ok(constitution) => constitution,
            Err(_) => unreachable!("the defaults are good"),
        },
        limits: Limits::default(),
        endpoint_of: ENDPOINT.parse().ok().map(|endpoint| (workload(), endpoint)).into_iter().collect(),
        window: WINDOW,
        routine_after: holdfast_steward::trigger::ROUTINE_AFTER,
        second_route: plan.second_route,
        reboot: plan.reboot,
        space_here: SPACE_HERE,
        space_there: SPACE_THERE,
        drain_within: Duration::from_secs(1800),
        predicates: holdfast_steward::properties::PREDICATES,
    }
}

pub(crate) fn metric() -> Metric {
    Metric::primary()
}

/// What was measured in the day before the world began.
pub(crate) fn past(seed: u64, begin: u64) -> Vec<(Steady, f64)> {
    let mut host = SimHost::new(estate(), seed, holdfast_lifeline::Sound::YES);
    debug_assert_eq!(host.kind(), "sim");
    (begin - DAY..begin)
        .step_by(120_000)
        .map(|at| {
            host.advance(Steady(at));
            (Steady(at), host.metric())
        })
        .collect()
}
