//! The one table: each option, unit and path with its tier.
//!
//! Read from the top: the first row that fits is the one that counts, so the particular stands before the general.
//! Rows of Tier 1 and 2 are matched exactly; rows that forbid are matched in any case of letters.

use crate::policy::bounds::{Bounds, Grammar, Step};
use crate::policy::glob::{Case, is_plain_path, matches, matches_path};
use crate::policy::{HOST_OPTIONS_UNIT, Tier};
use crate::setting::UnitName;

/// What a row is about. Options are held against options and paths against paths, never one against the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Option(&'static str),
    /// An option, when it is set to this.
    Says(&'static str, &'static str),
    /// `services.<workload>.…`: what the workload itself can be told.
    WorkloadOption,
    Unit(&'static str),
    Path(&'static str),
}

impl Subject {
    pub fn pattern(&self) -> &'static str {
        match self {
            Subject::Option(pattern) | Subject::Says(pattern, _) => pattern,
            Subject::Unit(pattern) | Subject::Path(pattern) => pattern,
            Subject::WorkloadOption => "services.<workload>.*",
        }
    }
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub subject: Subject,
    pub tier: Tier,
    /// It takes effect only at a reboot, so no trial can show it.
    pub reboot: bool,
    /// It belongs to the steward itself: stratum 0, which only people change.
    pub own: bool,
    /// An option of the host, carried by [`HOST_OPTIONS_UNIT`]; a target that does not state it does not have it.
    pub host_wide: bool,
    /// Its values can be read and bounded. Without them nothing is applied, whatever the tier.
    pub bounds: Option<Bounds>,
    pub why: &'static str,
}

impl Rule {
    /// The tier that counts: what needs a reboot needs a person.
    pub const fn effective_tier(&self) -> Tier {
        match (self.tier, self.reboot) {
            (Tier::One, true) => Tier::Two,
            (tier, _) => tier,
        }
    }

    const fn needs_reboot(mut self) -> Rule {
        self.reboot = true;
        self
    }

    const fn is_own(mut self) -> Rule {
        self.own = true;
        self
    }

    const fn is_host_wide(mut self) -> Rule {
        self.host_wide = true;
        self
    }

    const fn bounded(mut self, bounds: Bounds) -> Rule {
        self.bounds = Some(bounds);
        self
    }

    const fn case(&self) -> Case {
        match self.tier {
            Tier::One | Tier::Two => Case::Exact,
            Tier::Three | Tier::Never => Case::Any,
        }
    }
}

const fn row(subject: Subject, tier: Tier, why: &'static str) -> Rule {
    Rule { subject, tier, reboot: false, own: false, host_wide: false, bounds: None, why }
}

const fn option(pattern: &'static str, tier: Tier, why: &'static str) -> Rule {
    row(Subject::Option(pattern), tier, why)
}

const fn says(pattern: &'static str, value: &'static str, tier: Tier, why: &'static str) -> Rule {
    row(Subject::Says(pattern, value), tier, why)
}

const fn unit(pattern: &'static str, why: &'static str) -> Rule {
    row(Subject::Unit(pattern), Tier::Three, why)
}

const fn path(pattern: &'static str, tier: Tier, why: &'static str) -> Rule {
    row(Subject::Path(pattern), tier, why)
}

const fn amounts(grammar: Grammar, step: Step, weekly: Step, min: i128, max: i128) -> Bounds {
    Bounds { grammar, step, weekly, min, max, alone_min: None }
}

/// A person agrees to each of these, so only the limits hold.
const fn free(grammar: Grammar, min: i128, max: i128) -> Bounds {
    amounts(grammar, Step::Free, Step::Free, min, max)
}

const M: i128 = 1 << 20;
const G: i128 = 1 << 30;

pub(crate) const MEMORY_MAX: Bounds =
    amounts(Grammar::Size, Step::Percent(20), Step::Percent(50), 256 * M, 3 * G);
/// Half of the least `MemoryMax`: a service throttled below that only reclaims and no longer works.
pub(crate) const MEMORY_HIGH: Bounds =
    amounts(Grammar::Size, Step::Percent(20), Step::Percent(50), 128 * M, 3 * G);
pub(crate) const CPU_QUOTA: Bounds = amounts(Grammar::Percent, Step::Percent(25), Step::Percent(50), 25, 400);
/// A share of a `Nice` near 0 means nothing, so a week is two steps. Below -5 the host itself may starve.
pub(crate) const NICE: Bounds =
    Bounds { alone_min: Some(-5), ..amounts(Grammar::Number, Step::Amount(3), Step::Amount(6), -20, 19) };
/// Two steps a week, as for `Nice`. 0 would mean "no builds" for one and "all cores" for the other.
const JOBS: Bounds = amounts(Grammar::Number, Step::Amount(1), Step::Amount(2), 1, 64);
const SWAP: Bounds = amounts(Grammar::Size, Step::Amount(512 * M), Step::Free, 512 * M, 64 * G);
/// What the kernel takes for a weight.
const WEIGHT: Bounds = free(Grammar::Number, 1, 10_000);
/// Fewer tasks than these and a service cannot even start its threads.
const TASKS: Bounds = free(Grammar::Number, 64, 65_536);
const MEMORY: Bounds = free(Grammar::Size, 0, 3 * G);
const SYSCTL: Bounds = free(Grammar::Number, 0, i64::MAX as i128);

const SANDBOX: &str = "it is part of how a service is fenced in";
const REACH: &str = "the target is reached through it";
const BOOT: &str = "it decides whether the target boots";
const MOUNT: &str = "it is a mount";
const USER: &str = "it defines users";
const SECRET: &str = "it is a secret";
const CODE: &str = "it runs code";
const OWN: &str = "it belongs to the steward itself";
const RESOURCE: &str = "it is another resource limit";
const INPUTS: &str = "it names what everything is built from";

pub const TABLE: &[Rule] = &[
    // Tier 1.
    option("MemoryMax", Tier::One, "a memory limit").bounded(MEMORY_MAX),
    option("MemoryHigh", Tier::One, "a memory throttle").bounded(MEMORY_HIGH),
    option("CPUQuota", Tier::One, "a share of processor time").bounded(CPU_QUOTA),
    option("Nice", Tier::One, "a scheduling priority").bounded(NICE),
    option("nix.settings.max-jobs", Tier::One, "how many builds run at once").bounded(JOBS).is_host_wide(),
    option("nix.settings.cores", Tier::One, "how many cores a build uses").bounded(JOBS).is_host_wide(),
    // Never.
    option("users.users.root*", Tier::Never, "it is about root"),
    says("networking.firewall.enable", "*false*", Tier::Never, "it switches the firewall off"),
    says("services.openssh.enable", "*false*", Tier::Never, "it switches SSH off"),
    says("services.tailscale.enable", "*false*", Tier::Never, "it switches the VPN off"),
    path(".github/workflows/", Tier::Never, "it runs with the rights of the forge"),
    path("authorized_keys*", Tier::Never, "it says who may log in"),
    // Tier 2.
    option("swapDevices[].size", Tier::Two, "the size of swap").bounded(SWAP).needs_reboot(),
    option("CPUWeight", Tier::Two, RESOURCE).bounded(WEIGHT),
    option("StartupCPUWeight", Tier::Two, RESOURCE).bounded(WEIGHT),
    option("IOWeight", Tier::Two, RESOURCE).bounded(WEIGHT),
    option("StartupIOWeight", Tier::Two, RESOURCE).bounded(WEIGHT),
    option("TasksMax", Tier::Two, RESOURCE).bounded(TASKS),
    option("MemoryMin", Tier::Two, RESOURCE).bounded(MEMORY),
    option("MemoryLow", Tier::Two, RESOURCE).bounded(MEMORY),
    option("MemorySwapMax", Tier::Two, RESOURCE).bounded(MEMORY),
    option("MemoryZSwapMax", Tier::Two, RESOURCE).bounded(MEMORY),
    option("CPUQuotaPeriodSec", Tier::Two, RESOURCE),
    option("AllowedCPUs", Tier::Two, RESOURCE),
    option("IOReadBandwidthMax", Tier::Two, RESOURCE),
    option("IOWriteBandwidthMax", Tier::Two, RESOURCE),
    option("IOReadIOPSMax", Tier::Two, RESOURCE),
    option("IOWriteIOPSMax", Tier::Two, RESOURCE),
    option("boot.kernel.sysctl.vm.*", Tier::Two, "a memory parameter of the kernel").bounded(SYSCTL),
    option("boot.kernel.sysctl.net.*", Tier::Two, "a network parameter of the kernel").bounded(SYSCTL),
    says("imports", "*steward*", Tier::Three, OWN).is_own(),
    says("imports", "modules/services/*", Tier::Two, "it adds a service module that is already there"),
    option("pins.openssh", Tier::Three, REACH),
    option("pins.tailscale", Tier::Three, REACH),
    option("pins.nftables", Tier::Three, REACH),
    option("pins.linux*", Tier::Three, BOOT),
    option("pins.systemd", Tier::Three, BOOT),
    option("pins.nix", Tier::Three, INPUTS),
    option("pins.*", Tier::Two, "it pins the version of a package"),
    // Tier 3: the steward itself, and what builds it.
    option("services.steward*", Tier::Three, OWN).is_own(),
    option("services.holdfast*", Tier::Three, OWN).is_own(),
    unit("steward*", OWN).is_own(),
    unit("holdfast*", OWN).is_own(),
    path("modules/services/steward*", Tier::Three, OWN).is_own(),
    path("hosts/", Tier::Three, "it is the configuration of a host, which people write").is_own(),
    path("*constitution*", Tier::Three, OWN).is_own(),
    path("*auditor*", Tier::Three, OWN).is_own(),
    path("*invariant*", Tier::Three, OWN).is_own(),
    path("etc/holdfast/", Tier::Three, OWN).is_own(),
    path("flake.nix", Tier::Three, INPUTS),
    path("flake.lock", Tier::Three, INPUTS),
    path("secrets/", Tier::Three, SECRET),
    path("*.age", Tier::Three, SECRET),
    // Tier 3: options of a configured system.
    option("*authorizedKeys*", Tier::Three, "it says who may log in"),
    option("services.openssh*", Tier::Three, REACH),
    option("services.sshd*", Tier::Three, REACH),
    option("services.tailscale*", Tier::Three, REACH),
    option("networking*", Tier::Three, REACH),
    option("security*", Tier::Three, "it decides who may become root"),
    option("age.secrets*", Tier::Three, SECRET),
    option("users.*", Tier::Three, USER),
    option("boot*", Tier::Three, BOOT),
    option("fileSystems*", Tier::Three, MOUNT),
    option("swapDevices*", Tier::Three, "only the size of swap is changed, never whether there is any"),
    option("system.activationScripts*", Tier::Three, CODE),
    option("services.*.enable", Tier::Three, "it switches a service on or off"),
    row(Subject::WorkloadOption, Tier::Two, "an option of the managed workload"),
    option("imports", Tier::Three, "it adds code"),
    // Tier 3: properties of a unit.
    option("Exec*", Tier::Three, CODE),
    option("*.script", Tier::Three, CODE),
    option("*.preStart", Tier::Three, CODE),
    option("*.postStart", Tier::Three, CODE),
    option("*.postStop", Tier::Three, CODE),
    option("Environment*", Tier::Three, "it changes what a program is told"),
    option("User", Tier::Three, USER),
    option("Group", Tier::Three, USER),
    option("SupplementaryGroups", Tier::Three, USER),
    option("DynamicUser", Tier::Three, USER),
    option("Protect*", Tier::Three, SANDBOX),
    option("Private*", Tier::Three, SANDBOX),
    option("Restrict*", Tier::Three, SANDBOX),
    option("NoNewPrivileges", Tier::Three, SANDBOX),
    option("SystemCall*", Tier::Three, SANDBOX),
    option("CapabilityBoundingSet", Tier::Three, SANDBOX),
    option("AmbientCapabilities", Tier::Three, SANDBOX),
    option("*Paths", Tier::Three, SANDBOX),
    option("Root*", Tier::Three, SANDBOX),
    option("Device*", Tier::Three, SANDBOX),
    option("Delegate*", Tier::Three, SANDBOX),
    option("IPAddress*", Tier::Three, REACH),
    option("SocketBind*", Tier::Three, REACH),
    option("Listen*", Tier::Three, "it opens a port"),
    option("What", Tier::Three, MOUNT),
    option("Where", Tier::Three, MOUNT),
    option("*Mount*", Tier::Three, MOUNT),
    // Tier 3: units that keep a target alive and reachable, also when the configuration forgets to say so.
    unit("ssh.*", REACH),
    unit("ssh@*", REACH),
    unit("sshd*", REACH),
    unit("dropbear*", REACH),
    unit("tailscaled.*", REACH),
    unit("wg-quick*", REACH),
    unit("openvpn*", REACH),
    unit("zerotier*", REACH),
    unit("netbird*", REACH),
    unit("nftables.*", REACH),
    unit("iptables*", REACH),
    unit("ufw.*", REACH),
    unit("firewall*", REACH),
    unit("NetworkManager*", REACH),
    unit("networking.*", REACH),
    unit("dhcp*", REACH),
    unit("wpa_supplicant*", REACH),
    unit("iwd.*", REACH),
    unit("cloud-*", BOOT),
    unit("systemd-*", BOOT),
    unit("dbus*", BOOT),
    unit("init.scope", BOOT),
    unit("system.slice", "everything else runs inside of it"),
    unit("system-*", "others run inside of it"),
    unit("user.slice", "people work inside of it"),
    unit("user-*", "people work inside of it"),
    unit("user@*", "people work inside of it"),
    unit("session-*", "people work inside of it"),
    unit("getty@*", "people log in through it"),
    unit("*.mount", MOUNT),
];

/// What no row names.
pub const UNKNOWN_OPTION: Rule = option("*", Tier::Three, "nothing is known about this option");
pub const UNKNOWN_PATH: Rule = path("*", Tier::Three, "nothing is known about this path");
const UNCLEAR_PATH: Rule = path("*", Tier::Never, "it is no plain path below the tree");

/// The first row about the option when it is set to this value.
pub fn listed_option(option: &str, value: &str, workload: &UnitName) -> Option<&'static Rule> {
    TABLE.iter().find(|rule| match rule.subject {
        Subject::Option(pattern) => matches(pattern, option, rule.case()),
        Subject::Says(pattern, said) => {
            matches(pattern, option, rule.case()) && matches(said, value.trim(), rule.case())
        }
        Subject::WorkloadOption => is_of_workload(option, workload),
        Subject::Unit(_) | Subject::Path(_) => false,
    })
}

/// The first row about the unit.
pub fn listed_unit(unit: &UnitName) -> Option<&'static Rule> {
    TABLE.iter().find(
        |rule| matches!(rule.subject, Subject::Unit(pattern) if matches(pattern, unit.as_str(), rule.case())),
    )
}

/// The first row about the path. One that could be read in two ways is never taken.
pub fn listed_path(path: &str) -> Option<&'static Rule> {
    if !is_plain_path(path) {
        return Some(&UNCLEAR_PATH);
    }
    TABLE.iter().find(
        |rule| matches!(rule.subject, Subject::Path(pattern) if matches_path(pattern, path, rule.case())),
    )
}

/// The bounds of an option whatever it is set to.
pub(super) fn option_bounds(option: &str) -> Option<&'static Bounds> {
    let row = TABLE.iter().find(
        |rule| matches!(rule.subject, Subject::Option(pattern) if matches(pattern, option, rule.case())),
    );
    row.and_then(|rule| rule.bounds.as_ref())
}

/// Whether a host-wide option is carried by the unit that stands for the host.
pub(super) fn carries_host_options(unit: &UnitName) -> bool {
    unit.as_str() == HOST_OPTIONS_UNIT
}

/// `services.openclaw.x` is an option of `openclaw-task-runner.service`, as is `services.openclaw-task-runner.x`.
fn is_of_workload(option: &str, workload: &UnitName) -> bool {
    let Some((service, _)) = option.strip_prefix("services.").and_then(|rest| rest.split_once('.')) else {
        return false;
    };
    let name = workload.as_str();
    !service.is_empty() && name.strip_prefix(service).is_some_and(|rest| rest.starts_with(['-', '.', '@']))
}
