//! What the steward's section is made of: the targets it looks after.

use std::ops::RangeInclusive;

use serde_json::json;

use crate::diagnostic::Code;
use crate::member::Item;
use crate::quote::quoted;
use crate::reach::{ADDRESS, ENDPOINT, PROBES, UNITS, USER};
use crate::scalar::written;
use crate::tree::{Entry, Kind, Node};
use crate::value::{Mismatch, Shape, Value, choice, text};

choice! {
    /// How a target is reached.
    pub enum Driver {
        /// A modelled host inside the daemon.
        Sim = "sim",
        /// A host with systemd, over SSH, by the doorman behind its keys.
        Systemd = "systemd",
        /// The same over an ordinary account, without a doorman: it is looked at and never changed.
        Agentless = "agentless",
        /// The machine the daemon runs on: looked at and never changed.
        Local = "local",
    }
}

choice! {
    /// What notices that a metric has changed.
    pub enum Detector {
        Lookout = "lookout",
        Plain = "plain",
    }
}

choice! {
    /// What goes wrong on a modelled host.
    pub enum Trouble {
        Mixed = "mixed",
        Memory = "memory",
        Processor = "processor",
        Nice = "nice",
        Leak = "leak",
        Neighbour = "neighbour",
        Nothing = "nothing",
    }
}

choice! {
    /// How much the steward may do by itself.
    pub enum Autonomy {
        Observe = "observe",
        Plan = "plan",
        ApproveEach = "approve-each",
        TierOne = "tier-one",
        TierTwo = "tier-two",
    }
}

choice! {
    /// What becomes of a change that was kept and had no effect.
    pub enum WithoutEffect {
        Keep = "keep",
        Revert = "revert",
        Propose = "propose",
    }
}

/// One target of the steward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StewardTarget {
    pub name: String,
    pub driver: Driver,
    pub seed: u32,
    pub speed: u32,
    pub trouble: Trouble,
    pub detector: Detector,
    /// Where a modelled host starts on the ladder. Every other starts at `observe`.
    pub starts_at: Autonomy,
    pub window_seconds: u32,
    /// Without a lasting change for so long a routine cycle of planning runs.
    pub planning_interval_hours: u32,
    pub without_effect: WithoutEffect,
    pub limits: StewardLimits,
    /// The services that are looked after on a real host, the most important one first.
    pub units: Vec<String>,
    pub reach: Reach,
    /// Where the first of them answers, as `address:port`.
    pub endpoint: Option<String>,
    /// How else it is looked at from outside, and who answers whatever becomes of it, each on one line.
    pub probes: Vec<String>,
    pub references: Vec<String>,
    /// What all memory limits of a real host together stay under.
    pub memory_budget_mib: u32,
}

/// How a target is reached over SSH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Empty where nothing is to be reached.
    pub address: String,
    pub port: u32,
    /// The user without rights who looks, and the one who acts.
    pub observer: String,
    pub actor: String,
}

impl Default for Reach {
    fn default() -> Reach {
        Reach {
            address: String::new(),
            port: 22,
            observer: "holdfast-observer".to_owned(),
            actor: "root".to_owned(),
        }
    }
}

/// What the steward may do on a target in a day, and when it stops by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StewardLimits {
    pub trials_per_day: u32,
    pub rollbacks_in_a_row: u32,
}

impl Default for StewardLimits {
    fn default() -> StewardLimits {
        StewardLimits { trials_per_day: 3, rollbacks_in_a_row: 3 }
    }
}

const ITEM: Item = Item {
    word: "target",
    words: "a target as `{ name, driver, … }`, of which name and driver must be there",
};
const KEYS: [&str; 20] = [
    "name",
    "driver",
    "seed",
    "speed",
    "trouble",
    "detector",
    "starts_at",
    "window_seconds",
    "planning_interval_hours",
    "without_effect",
    "limits",
    "units",
    "address",
    "port",
    "observer",
    "actor",
    "endpoint",
    "probes",
    "references",
    "memory_budget_mib",
];
/// The keys that say something about a modelled host alone, and about a real one.
const OF_A_MODEL: [&str; 4] = ["seed", "speed", "trouble", "starts_at"];
const OF_A_REAL_ONE: [&str; 5] = ["units", "endpoint", "probes", "references", "memory_budget_mib"];
const OF_SSH: [&str; 3] = ["address", "port", "observer"];
const OF_A_DOORMAN: [&str; 1] = ["actor"];
const LIMIT_KEYS: [&str; 2] = ["trials_per_day", "rollbacks_in_a_row"];

const SEED: RangeInclusive<u32> = 0..=u32::MAX;
const SPEED: RangeInclusive<u32> = 1..=3600;
const WINDOW_SECONDS: RangeInclusive<u32> = 300..=7200;
const PLANNING_INTERVAL_HOURS: RangeInclusive<u32> = 1..=8760;
const TRIALS_PER_DAY: RangeInclusive<u32> = 1..=24;
const ROLLBACKS_IN_A_ROW: RangeInclusive<u32> = 1..=10;
const PORT: RangeInclusive<u32> = 1..=65_535;
const MEMORY_BUDGET_MIB: RangeInclusive<u32> = 64..=67_108_864;

const DRIVERS: &str = "write `driver: systemd` for a host with systemd that has a doorman, `agentless` for one without, `local` for this \
     machine, `sim` for a modelled host";
const NAME: &str = "a name of 1 to 63 characters of a-z, 0-9 and `-`, the first a letter or digit";
const NAME_PATTERN: &str = "^[a-z0-9][a-z0-9-]{0,62}$";

impl Value for StewardTarget {
    type Rule = ();

    fn read(node: &Node, (): &()) -> Result<StewardTarget, Mismatch> {
        let wrong = |what: &str| ITEM.wrong(what);
        let Kind::Map(entries) = &node.kind else {
            return Err(wrong("this is something else"));
        };
        let (mut name, mut driver) = (None, None);
        let mut target = StewardTarget::named(String::new());
        for entry in entries {
            let value = &entry.value;
            match entry.key.as_str() {
                "name" => name = Some(ITEM.part(entry, name_of(value))?),
                "driver" => driver = Some(ITEM.part(entry, driver_of(value))?),
                "seed" => target.seed = ITEM.part(entry, u32::read(value, &SEED))?,
                "speed" => target.speed = ITEM.part(entry, u32::read(value, &SPEED))?,
                "trouble" => target.trouble = ITEM.part(entry, Trouble::read(value, &()))?,
                "detector" => target.detector = ITEM.part(entry, Detector::read(value, &()))?,
                "starts_at" => target.starts_at = ITEM.part(entry, Autonomy::read(value, &()))?,
                "window_seconds" => {
                    target.window_seconds = ITEM.part(entry, u32::read(value, &WINDOW_SECONDS))?
                }
                "planning_interval_hours" => {
                    target.planning_interval_hours =
                        ITEM.part(entry, u32::read(value, &PLANNING_INTERVAL_HOURS))?;
                }
                "without_effect" => {
                    target.without_effect = ITEM.part(entry, WithoutEffect::read(value, &()))?
                }
                "limits" => target.limits = limits_of(entry)?,
                "units" => target.units = ITEM.part(entry, UNITS.read(value))?,
                "address" => target.reach.address = ITEM.part(entry, ADDRESS.read(value))?,
                "port" => target.reach.port = ITEM.part(entry, u32::read(value, &PORT))?,
                "observer" => target.reach.observer = ITEM.part(entry, USER.read(value))?,
                "actor" => target.reach.actor = ITEM.part(entry, USER.read(value))?,
                "endpoint" => target.endpoint = Some(ITEM.part(entry, ENDPOINT.read(value))?),
                "probes" => target.probes = ITEM.part(entry, PROBES.read(value))?,
                "references" => target.references = ITEM.part(entry, PROBES.read(value))?,
                "memory_budget_mib" => {
                    target.memory_budget_mib = ITEM.part(entry, u32::read(value, &MEMORY_BUDGET_MIB))?;
                }
                _ => return Err(ITEM.unknown(entry, &KEYS)),
            }
        }
        let name = name.ok_or_else(|| wrong("this has no name"))?;
        let driver = driver.ok_or_else(|| wrong("this has no driver").help(DRIVERS))?;
        keys_fit(driver, entries)?;
        Ok(StewardTarget { name, driver, ..target })
    }

    /// What is as it would be anyway is left out.
    fn shown(&self) -> String {
        let StewardTarget {
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
            endpoint,
            probes,
            references,
            memory_budget_mib,
        } = self;
        let usual = StewardTarget::named(String::new());
        let number = |key: &str, now: u32, usual: u32| (now != usual).then(|| format!("{key}: {now}"));
        let mut parts = vec![format!("name: {}", written(name)), format!("driver: {}", driver.shown())];
        let text =
            |key: &str, now: &str, usual: &str| (now != usual).then(|| format!("{key}: {}", written(now)));
        let Reach { address, port, observer, actor } = reach;
        parts.extend(text("address", address, ""));
        parts.extend(number("port", *port, usual.reach.port));
        parts.extend(text("observer", observer, &usual.reach.observer));
        parts.extend(text("actor", actor, &usual.reach.actor));
        let list = |key: &str, items: &[String]| {
            let listed: Vec<String> = items.iter().map(|item| written(item)).collect();
            (!items.is_empty()).then(|| format!("{key}: [{}]", listed.join(", ")))
        };
        parts.extend(list("units", units));
        parts.extend(endpoint.as_ref().map(|endpoint| format!("endpoint: {}", written(endpoint))));
        parts.extend(list("probes", probes));
        parts.extend(list("references", references));
        parts.extend(number("memory_budget_mib", *memory_budget_mib, usual.memory_budget_mib));
        parts.extend(number("seed", *seed, usual.seed));
        parts.extend(number("speed", *speed, usual.speed));
        parts.extend((*trouble != usual.trouble).then(|| format!("trouble: {}", trouble.shown())));
        parts.extend((*detector != usual.detector).then(|| format!("detector: {}", detector.shown())));
        parts.extend((*starts_at != usual.starts_at).then(|| format!("starts_at: {}", starts_at.shown())));
        parts.extend(number("window_seconds", *window_seconds, usual.window_seconds));
        let hours = usual.planning_interval_hours;
        parts.extend(number("planning_interval_hours", *planning_interval_hours, hours));
        let left_to = (*without_effect != usual.without_effect).then(|| without_effect.shown());
        parts.extend(left_to.map(|word| format!("without_effect: {word}")));
        let StewardLimits { trials_per_day, rollbacks_in_a_row } = *limits;
        let trials = number("trials_per_day", trials_per_day, usual.limits.trials_per_day);
        let rollbacks = number("rollbacks_in_a_row", rollbacks_in_a_row, usual.limits.rollbacks_in_a_row);
        let limits: Vec<String> = trials.into_iter().chain(rollbacks).collect();
        parts.extend((!limits.is_empty()).then(|| format!("limits: {{ {} }}", limits.join(", "))));
        format!("{{ {} }}", parts.join(", "))
    }

    fn shape((): &()) -> Shape {
        let number = |range: RangeInclusive<u32>| u32::shape(&range).schema;
        let schema = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "pattern": NAME_PATTERN },
                "driver": Driver::shape(&()).schema,
                "seed": number(SEED),
                "speed": number(SPEED),
                "trouble": Trouble::shape(&()).schema,
                "detector": Detector::shape(&()).schema,
                "starts_at": Autonomy::shape(&()).schema,
                "window_seconds": number(WINDOW_SECONDS),
                "planning_interval_hours": number(PLANNING_INTERVAL_HOURS),
                "without_effect": WithoutEffect::shape(&()).schema,
                "limits": {
                    "type": "object",
                    "properties": {
                        "trials_per_day": number(TRIALS_PER_DAY),
                        "rollbacks_in_a_row": number(ROLLBACKS_IN_A_ROW),
                    },
                    "additionalProperties": false,
                },
                "units": UNITS.schema(),
                "address": ADDRESS.schema(),
                "port": number(PORT),
                "observer": USER.schema(),
                "actor": USER.schema(),
                "endpoint": ENDPOINT.schema(),
                "probes": PROBES.schema(),
                "references": PROBES.schema(),
                "memory_budget_mib": number(MEMORY_BUDGET_MIB),
            },
            "required": ["name", "driver"],
            "additionalProperties": false,
            "allOf": Driver::ALL.iter().map(|driver| fitting_schema(*driver)).collect::<Vec<_>>(),
        });
        let examples = [
            "{ name: box-1, driver: sim, seed: 7, speed: 600 }",
            "{ name: box-2, driver: sim, trouble: leak, detector: plain, starts_at: tier-one, window_seconds: 900, planning_interval_hours: 24, without_effect: keep, limits: { trials_per_day: 1 } }",
            "{ name: box-3, driver: systemd, address: box-3.lan, units: [web.service], endpoint: box-3.lan:8080 }",
            "{ name: box-4, driver: systemd, address: box-4.lan, units: [web.service], probes: [\"tls://box-4.lan:443?days=14\", \"gatus+https://status.lan/#home_web\", tailscale:nAbC123], references: [icmp://192.0.2.1, https://example.org/] }",
        ];
        let shape = Shape::new(ITEM.words, schema, examples.map(str::to_owned).to_vec());
        Shape { words_known: KEYS.iter().chain(&LIMIT_KEYS).map(|key| (*key).to_owned()).collect(), ..shape }
    }
}

impl StewardTarget {
    /// A target of which only the name was said.
    pub fn named(name: String) -> StewardTarget {
        StewardTarget {
            name,
            driver: Driver::Sim,
            seed: 0,
            speed: 1,
            trouble: Trouble::Mixed,
            detector: Detector::Lookout,
            starts_at: Autonomy::Observe,
            window_seconds: 600,
            planning_interval_hours: 72,
            without_effect: WithoutEffect::Propose,
            limits: StewardLimits::default(),
            units: Vec::new(),
            reach: Reach::default(),
            endpoint: None,
            probes: Vec::new(),
            references: Vec::new(),
            memory_budget_mib: 3584,
        }
    }
}

/// The keys a target with this driver must have, and those that say nothing about it.
fn fitting(driver: Driver) -> (&'static [&'static str], Vec<&'static str>) {
    match driver {
        Driver::Sim => (&[], [&OF_A_REAL_ONE[..], &OF_SSH, &OF_A_DOORMAN].concat()),
        Driver::Systemd => (&["address", "units"], OF_A_MODEL.to_vec()),
        Driver::Agentless => (&["address", "units"], [&OF_A_MODEL[..], &OF_A_DOORMAN].concat()),
        Driver::Local => (&["units"], [&OF_A_MODEL[..], &OF_SSH, &OF_A_DOORMAN].concat()),
    }
}

/// The same for a schema.
fn fitting_schema(driver: Driver) -> serde_json::Value {
    let (needed, not_its) = fitting(driver);
    let none: serde_json::Map<_, _> = not_its.iter().map(|key| ((*key).to_owned(), json!(false))).collect();
    json!({
        "if": { "properties": { "driver": { "const": driver.word() } } },
        "then": { "required": needed, "properties": none },
    })
}

/// A key that says nothing about this kind of target would be believed and do nothing; one that is needed must be there.
fn keys_fit(driver: Driver, entries: &[Entry]) -> Result<(), Mismatch> {
    let (needed, not_its) = fitting(driver);
    let word = driver.word();
    if let Some(entry) = entries.iter().find(|entry| not_its.contains(&entry.key.as_str())) {
        let what = format!("has a target with the driver {word}, which has no `{}`", entry.key);
        let wrong = Mismatch::new(Code::WrongValue, what).help("take the key out");
        return Err(Mismatch { place: Some(entry.key_place), ..wrong });
    }
    let missing = needed.iter().find(|key| entries.iter().all(|entry| entry.key != **key));
    missing.map_or(Ok(()), |key| {
        let what = format!("has a target with the driver {word} and without `{key}`");
        let help = match *key {
            "address" => "write `address:` with the name or address it is reached by",
            _ => "write `units:` with the services that are looked after, the most important one first",
        };
        Err(Mismatch::new(Code::WrongValue, what).help(help))
    })
}

fn name_of(node: &Node) -> Result<String, Mismatch> {
    let found = text(node, NAME)?;
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let good = (1..=63).contains(&found.len())
        && found.as_bytes().first().is_some_and(|b| plain(*b))
        && found.bytes().all(|b| plain(b) || b == b'-');
    let wrong = || {
        let found = quoted(found);
        Mismatch::new(Code::WrongValue, format!("takes {NAME}, and this is the text {found}"))
    };
    good.then(|| found.to_owned()).ok_or_else(wrong)
}

fn driver_of(node: &Node) -> Result<Driver, Mismatch> {
    Driver::read(node, &()).map_err(|wrong| wrong.help(DRIVERS))
}

fn limits_of(entry: &Entry) -> Result<StewardLimits, Mismatch> {
    let Kind::Map(entries) = &entry.value.kind else {
        let words = "a map with trials_per_day and rollbacks_in_a_row";
        return ITEM.part(entry, Err(Mismatch::wrong_type(&entry.value, words)));
    };
    let mut limits = StewardLimits::default();
    for entry in entries {
        match entry.key.as_str() {
            "trials_per_day" => {
                limits.trials_per_day = ITEM.part(entry, u32::read(&entry.value, &TRIALS_PER_DAY))?
            }
            "rollbacks_in_a_row" => {
                limits.rollbacks_in_a_row = ITEM.part(entry, u32::read(&entry.value, &ROLLBACKS_IN_A_ROW))?;
            }
            _ => return Err(ITEM.unknown(entry, &LIMIT_KEYS)),
        }
    }
    Ok(limits)
}
