//! What can be measured: of the host or of one unit, by name, and over which window. A closed list, so that every stored name can
//! be drawn, and a setting that names a metric is understood at the start or refused.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Whose figure it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Scope {
    Host,
    /// A unit, by a name that [`Scope::unit`] let pass.
    Unit(String),
}

const UNIT: &str = "unit/";
const HOST: &str = "host";
/// As long as systemd lets a name be.
const UNIT_MAX: usize = 255;

impl Scope {
    /// The scope of a unit. Its name has no space, no slash, no colon and nothing that a terminal would obey.
    pub fn unit(name: &str) -> Result<Scope, NotAMetric> {
        let fits = |b: u8| b.is_ascii_alphanumeric() || b"._@-\\".contains(&b);
        if (1..=UNIT_MAX).contains(&name.len()) && name.bytes().all(fits) {
            Ok(Scope::Unit(name.to_owned()))
        } else {
            Err(NotAMetric::new(name))
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Host => f.write_str(HOST),
            Scope::Unit(unit) => write!(f, "{UNIT}{unit}"),
        }
    }
}

impl FromStr for Scope {
    type Err = NotAMetric;

    fn from_str(text: &str) -> Result<Scope, NotAMetric> {
        match text.strip_prefix(UNIT) {
            Some(unit) => Scope::unit(unit),
            None if text == HOST => Ok(Scope::Host),
            None => Err(NotAMetric::new(text)),
        }
    }
}

impl TryFrom<String> for Scope {
    type Error = NotAMetric;

    fn try_from(text: String) -> Result<Scope, NotAMetric> {
        text.parse()
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> String {
        scope.to_string()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Resource {
    Memory,
    Cpu,
    Io,
}

/// Pressure on some of what runs, or on all of it at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Share {
    Some,
    Full,
}

/// Seconds that the kernel averages over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Window {
    S10,
    S60,
    S300,
}

impl Window {
    pub const ALL: [Window; 3] = [Window::S10, Window::S60, Window::S300];

    pub const fn seconds(self) -> u32 {
        match self {
            Window::S10 => 10,
            Window::S60 => 60,
            Window::S300 => 300,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Name {
    /// Percent of the window in which something waited for it.
    Pressure(Resource, Share, Window),
    /// Bytes that could be given without swapping.
    MemoryAvailable,
    /// Processes that ran or waited, over a minute.
    Load,
    /// Bytes free where the target keeps its state.
    FreeSpace,
    /// Bytes a unit holds.
    Memory,
    /// Nanoseconds of processor time since the unit was started: a counter.
    Cpu,
    /// Microseconds the unit was held back by its quota: a counter.
    Throttled,
    /// Processes of the unit that the kernel killed for want of memory: a counter.
    Kills,
    /// Starts that the manager made by itself: a counter.
    Restarts,
}

const PLAIN: [Name; 8] = [
    Name::MemoryAvailable,
    Name::Load,
    Name::FreeSpace,
    Name::Memory,
    Name::Cpu,
    Name::Throttled,
    Name::Kills,
    Name::Restarts,
];

impl Name {
    /// All there are.
    pub fn all() -> impl Iterator<Item = Name> {
        let resources = [Resource::Memory, Resource::Cpu, Resource::Io].into_iter();
        let shares = resources.flat_map(|resource| [Share::Some, Share::Full].map(|share| (resource, share)));
        let pressures = shares
            .flat_map(|(resource, share)| Window::ALL.map(|window| Name::Pressure(resource, share, window)));
        pressures.chain(PLAIN)
    }

    /// The name without its window.
    pub const fn stem(self) -> &'static str {
        match self {
            Name::Pressure(Resource::Memory, Share::Some, _) => "psi_mem_some",
            Name::Pressure(Resource::Memory, Share::Full, _) => "psi_mem_full",
            Name::Pressure(Resource::Cpu, Share::Some, _) => "psi_cpu_some",
            Name::Pressure(Resource::Cpu, Share::Full, _) => "psi_cpu_full",
            Name::Pressure(Resource::Io, Share::Some, _) => "psi_io_some",
            Name::Pressure(Resource::Io, Share::Full, _) => "psi_io_full",
            Name::MemoryAvailable => "memory_available",
            Name::Load => "load",
            Name::FreeSpace => "free_space",
            Name::Memory => "memory",
            Name::Cpu => "cpu",
            Name::Throttled => "throttled",
            Name::Kills => "kills",
            Name::Restarts => "restarts",
        }
    }

    /// Seconds; 0 for a figure of the moment.
    pub const fn window_seconds(self) -> u32 {
        match self {
            Name::Pressure(_, _, window) => window.seconds(),
            _ => 0,
        }
    }

    /// Whether it only grows, until it begins again.
    pub const fn is_counter(self) -> bool {
        matches!(self, Name::Cpu | Name::Throttled | Name::Kills | Name::Restarts)
    }

    const fn fits(self, scope: &Scope) -> bool {
        match self {
            Name::Pressure(..) => true,
            Name::MemoryAvailable | Name::Load | Name::FreeSpace => matches!(scope, Scope::Host),
            _ => matches!(scope, Scope::Unit(_)),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.window_seconds() {
            0 => f.write_str(self.stem()),
            seconds => write!(f, "{}_avg{seconds}", self.stem()),
        }
    }
}

/// A figure of a target. As text `psi_mem_some_avg60` for the host and `web.service:memory` for a unit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Metric {
    scope: Scope,
    name: Name,
}

impl Metric {
    pub fn new(scope: Scope, name: Name) -> Result<Metric, NotAMetric> {
        if name.fits(&scope) { Ok(Metric { scope, name }) } else { Err(NotAMetric::new(&name.to_string())) }
    }

    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    pub fn name(&self) -> Name {
        self.name
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scope {
            Scope::Host => write!(f, "{}", self.name),
            Scope::Unit(unit) => write!(f, "{unit}:{}", self.name),
        }
    }
}

impl FromStr for Metric {
    type Err = NotAMetric;

    fn from_str(text: &str) -> Result<Metric, NotAMetric> {
        let (scope, name) = match text.rsplit_once(':') {
            Some((unit, name)) => (Scope::unit(unit)?, name),
            None => (Scope::Host, text),
        };
        let known = Name::all().find(|it| it.to_string() == name).ok_or_else(|| NotAMetric::new(text))?;
        Metric::new(scope, known).map_err(|_| NotAMetric::new(text))
    }
}

impl TryFrom<String> for Metric {
    type Error = NotAMetric;

    fn try_from(text: String) -> Result<Metric, NotAMetric> {
        text.parse()
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> String {
        metric.to_string()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is nothing that is measured; a figure is written like psi_mem_some_avg60 or web.service:memory"
)]
pub struct NotAMetric {
    text: String,
}

impl NotAMetric {
    fn new(text: &str) -> NotAMetric {
        NotAMetric { text: text.chars().take(120).collect() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_metric_has_one_text_and_is_read_back_from_it() {
        let unit = Scope::unit("web@1.service").unwrap();
        let all: Vec<Metric> = Name::all()
            .flat_map(|name| [Scope::Host, unit.clone()].map(|scope| Metric::new(scope, name)))
            .filter_map(Result::ok)
            .collect();
        assert_eq!(all.len(), 2 * 18 + 3 + 5);
        for metric in all {
            assert_eq!(metric.to_string().parse(), Ok(metric));
        }
    }

    #[test]
    fn a_figure_that_nobody_measures_is_refused_by_name() {
        for bad in [
            "",
            "psi_mem_some",
            "psi_mem_some_avg61",
            "PSI_MEM_SOME_AVG60",
            "memory",
            "web.service:load",
            ":memory",
            "web.service:",
            "a b.service:memory",
            "a/b.service:memory",
            "wéb.service:memory",
            "web.service\0:memory",
            "x'; DROP TABLE gauges; --",
        ] {
            assert!(bad.parse::<Metric>().is_err(), "{bad:?}");
        }
        assert!(Scope::unit(&"a".repeat(256)).is_err());
    }

    proptest! {
        #[test]
        fn whatever_is_said_is_a_metric_with_that_very_text_or_none(text in "\\PC{0,40}|[a-z.]{1,9}:[a-z_0-9]{1,20}") {
            if let Ok(metric) = text.parse::<Metric>() {
                prop_assert_eq!(metric.to_string(), text);
            }
        }
    }
}
