//! From configuration to what a steward is told.

use std::time::Duration;

use holdfast_config as config;
use holdfast_lifeline::TargetName;
use holdfast_steward::Settings;
use holdfast_steward::constitution::{Constitution, OnDelayedNegative, OnNeutral, Settings as Law};
use holdfast_steward::ladder::Level;
use holdfast_steward::limits::Limits;
use holdfast_steward::policy::TargetRules;
use holdfast_steward::setting::UnitName;

use super::load::MEMORY_BUDGET;
use super::looks::Looks;
use super::model::{self, Which};

/// Least free space here, on a modelled target, and on a real one in each place that is written to.
const SPACE_HERE: u64 = 100 << 20;
const SPACE_OF_A_MODEL: u64 = 5_000_000_000;
const SPACE_OF_A_REAL_ONE: u64 = 64 << 20;

/// What keeps a host with systemd reachable, as distributions call it.
const CRITICAL: [&str; 2] = ["ssh.service", "sshd.service"];

/// A target of the configuration, ready to be worked on.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) name: TargetName,
    pub(super) kind: Kind,
    pub(crate) speed: u32,
    pub(crate) detector: config::Detector,
    /// Where a modelled host starts on the ladder.
    pub(crate) starts_at: Level,
    pub(crate) settings: Settings,
}

/// Modelled or real.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Modelled(Which),
    Real(Real),
}

/// How a real host is reached, and how it is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Real {
    pub(super) driver: config::Driver,
    pub(super) reach: config::Reach,
    pub(super) looks: Looks,
}

impl Place {
    /// How it is reached, in a word.
    pub(crate) fn driver(&self) -> config::Driver {
        match &self.kind {
            Kind::Modelled(_) => config::Driver::Sim,
            Kind::Real(real) => real.driver,
        }
    }

    /// Whether it can be changed at all.
    pub(super) fn is_only_watched(&self) -> bool {
        matches!(self.driver(), config::Driver::Agentless | config::Driver::Local)
    }

    /// The units that are looked after, the most important one first.
    pub(super) fn units(&self) -> &[UnitName] {
        &self.settings.rules.services
    }

    /// Which host it is: the same name may be given to another.
    pub(super) fn which_host(&self) -> String {
        match &self.kind {
            Kind::Modelled(which) => which.to_string(),
            Kind::Real(Real { driver: config::Driver::Local, .. }) => "this machine".to_owned(),
            Kind::Real(real) => format!("a host reached at {} port {}", real.reach.address, real.reach.port),
        }
    }
}

/// The targets of a configuration. `instance` tells the episodes of this house from another's.
pub(crate) fn places_of(config: &config::Steward, instance: &str) -> Vec<Place> {
    let config::Steward { targets, tripwire: _, history: _ } = config;
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
        planning_interval_hours,
        without_effect,
        limits,
        units,
        reach,
        endpoint: _,
        probes: _,
        references: _,
        memory_budget_mib,
    } = target;
    let config::StewardLimits { trials_per_day, rollbacks_in_a_row } = *limits;
    // The configuration is refused when a name is none.
    let name: TargetName = name.parse().ok()?;
    let kind = match driver {
        config::Driver::Sim => Kind::Modelled(Which { seed: *seed, trouble: *trouble }),
        driver => Kind::Real(Real { driver: *driver, reach: reach.clone(), looks: Looks::of(target) }),
    };
    let (rules, space_there) = match &kind {
        Kind::Modelled(_) => (rules_of_a_model(&name), SPACE_OF_A_MODEL),
        Kind::Real(real) => (rules_of_a_real_one(real, units, *memory_budget_mib)?, SPACE_OF_A_REAL_ONE),
    };
    let on_neutral = match without_effect {
        config::WithoutEffect::Keep => OnNeutral::Keep,
        config::WithoutEffect::Revert => OnNeutral::Revert,
        config::WithoutEffect::Propose => OnNeutral::ProposeRevert,
    };
    let law = Law { on_delayed_negative: OnDelayedNegative::Revert, on_neutral, ..Law::default() };
    let settings = Settings {
        target: name.clone(),
        instance: number_of(instance, &name),
        constitution: Constitution::try_from(law).ok()?,
        limits: Limits { trials_per_day, rollbacks_in_a_row, ..Limits::default() },
        endpoint_of: rules
            .endpoints
            .first()
            .and_then(|endpoint| Some((rules.workload.clone(), endpoint.parse().ok()?)))
            .into_iter()
            .collect(),
        rules,
        window: Duration::from_secs(u64::from(*window_seconds)),
        routine_after: Duration::from_secs(u64::from(*planning_interval_hours) * 3600),
        second_route: false,
        reboot: false,
        space_here: SPACE_HERE,
        space_there,
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
    let (speed, detector) = (*speed, *detector);
    Some(Place { name, kind, speed, detector, starts_at, settings })
}

fn rules_of_a_model(name: &TargetName) -> TargetRules {
    TargetRules {
        services: vec![model::workload()],
        workload: model::workload(),
        critical: model::critical(),
        memory_budget: MEMORY_BUDGET,
        endpoints: vec![endpoint_of(name)],
        probe_hosts: vec![name.to_string()],
    }
}

fn rules_of_a_real_one(real: &Real, units: &[String], memory_budget_mib: u32) -> Option<TargetRules> {
    let services: Vec<UnitName> = units.iter().filter_map(|unit| unit.parse().ok()).collect();
    Some(TargetRules {
        workload: services.first()?.clone(),
        services,
        critical: CRITICAL.iter().filter_map(|unit| unit.parse().ok()).collect(),
        memory_budget: u64::from(memory_budget_mib) << 20,
        endpoints: real.looks.names(),
        probe_hosts: vec![real.reach.address.clone()],
    })
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
