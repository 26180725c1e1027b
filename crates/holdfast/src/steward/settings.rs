//! From configuration to what a steward is told.

use std::time::Duration;

use holdfast_config as config;
use holdfast_lifeline::TargetName;
use holdfast_steward::Settings;
use holdfast_steward::constitution::{Constitution, OnDelayedNegative, Settings as Law};
use holdfast_steward::ladder::Level;
use holdfast_steward::limits::Limits;
use holdfast_steward::policy::TargetRules;

use super::load::MEMORY_BUDGET;
use super::model::{self, Which};

/// Least free space here and on the target.
const SPACE_HERE: u64 = 100 << 20;
const SPACE_THERE: u64 = 5_000_000_000;

/// A target of the configuration, ready to be worked on.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) name: TargetName,
    pub(crate) driver: config::Driver,
    /// Of the modelled hosts there are.
    pub(super) which: Which,
    pub(crate) speed: u32,
    pub(crate) detector: config::Detector,
    /// Where a modelled host starts on the ladder.
    pub(crate) starts_at: Level,
    pub(crate) settings: Settings,
}

/// The targets of a configuration. `instance` tells the episodes of this house from another's.
pub(crate) fn places_of(config: &config::Steward, instance: &str) -> Vec<Place> {
    let config::Steward { targets } = config;
    targets.iter().filter_map(|target| place(target, instance)).collect()
}

fn place(target: &config::StewardTarget, instance: &str) -> Option<Place> {
    let config::StewardTarget {
        name,
        driver,
        seed,
        speed,
        trouble,
        detector,
        starts_at,
        window_seconds,
        limits,
    } = target;
    let config::StewardLimits { trials_per_day, rollbacks_in_a_row } = *limits;
    // The configuration is refused when a name is none.
    let name: TargetName = name.parse().ok()?;
    let endpoint = endpoint_of(&name);
    let law = Law { on_delayed_negative: OnDelayedNegative::Revert, ..Law::default() };
    let settings = Settings {
        target: name.clone(),
        instance: number_of(instance, &name),
        rules: TargetRules {
            services: vec![model::workload()],
            workload: model::workload(),
            critical: model::critical(),
            memory_budget: MEMORY_BUDGET,
            endpoints: vec![endpoint.clone()],
            probe_hosts: vec![name.to_string()],
        },
        constitution: Constitution::try_from(law).ok()?,
        limits: Limits { trials_per_day, rollbacks_in_a_row, ..Limits::default() },
        endpoint_of: endpoint
            .parse()
            .ok()
            .map(|endpoint| (model::workload(), endpoint))
            .into_iter()
            .collect(),
        window: Duration::from_secs(u64::from(*window_seconds)),
        second_route: false,
        reboot: false,
        space_here: SPACE_HERE,
        space_there: SPACE_THERE,
        drain_within: Duration::from_secs(1800),
        predicates: holdfast_steward::properties::PREDICATES,
    };
    let starts_at = match starts_at {
        config::Autonomy::Observe => Level::Observe,
        config::Autonomy::Plan => Level::Plan,
        config::Autonomy::ApproveEach => Level::ApproveEach,
        config::Autonomy::TierOne => Level::TierOne,
        config::Autonomy::TierTwo => Level::TierTwo,
    };
    let which = Which { seed: *seed, trouble: *trouble };
    let (driver, speed, detector) = (*driver, *speed, *detector);
    Some(Place { name, driver, which, speed, detector, starts_at, settings })
}

/// The endpoint of the modelled workload.
pub(super) fn endpoint_of(target: &TargetName) -> String {
    format!("{target}-task-runner")
}

/// A number for this house and target: ids of episodes are made with it.
fn number_of(instance: &str, target: &TargetName) -> u64 {
    let digest = blake3::hash(format!("{instance}\n{target}").as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest.as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}
