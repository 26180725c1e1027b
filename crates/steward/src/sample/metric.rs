//! The metrics of a target by name: whose figure, what is measured, over which time the source averaged it.
//!
//! The set is closed. A metric named in a configuration is known at start, or refused.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::setting::UnitName;

/// Whose figure it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Host,
    Unit(UnitName),
}

/// What is measured. The set is closed, so that a metric named in a configuration is known at start or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Share of time in which some task waited for memory, in percent.
    PsiMemSome,
    /// Share of time in which every task waited for memory, in percent.
    PsiMemFull,
    /// Bytes in use now.
    MemoryCurrent,
    /// CPU seconds used per second.
    CpuUse,
    /// Share of scheduling periods in which a quota stopped the unit.
    CpuThrottled,
    /// Restarts per second.
    Restarts,
    /// Kills for want of memory per second.
    OomKills,
    /// Answer time of the unit's endpoint in milliseconds.
    Latency,
    /// Work done per second, as the unit itself reports it.
    Throughput,
}

impl Quantity {
    const NAMES: [(Quantity, &'static str); 9] = [
        (Quantity::PsiMemSome, "psi_mem_some"),
        (Quantity::PsiMemFull, "psi_mem_full"),
        (Quantity::MemoryCurrent, "memory_current"),
        (Quantity::CpuUse, "cpu_use"),
        (Quantity::CpuThrottled, "cpu_throttled"),
        (Quantity::Restarts, "restarts"),
        (Quantity::OomKills, "oom_kills"),
        (Quantity::Latency, "latency_ms"),
        (Quantity::Throughput, "throughput"),
    ];

    pub fn as_str(self) -> &'static str {
        Quantity::NAMES.iter().find(|(quantity, _)| *quantity == self).map_or("", |(_, name)| name)
    }

    /// The kernel averages pressure itself; everything else is read as it is.
    fn is_averaged(self) -> bool {
        matches!(self, Quantity::PsiMemSome | Quantity::PsiMemFull)
    }
}

/// Over which time the source averaged the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    None,
    Avg10,
    Avg60,
    Avg300,
}

impl Window {
    const SUFFIXES: [(Window, &'static str); 3] =
        [(Window::Avg10, "_avg10"), (Window::Avg60, "_avg60"), (Window::Avg300, "_avg300")];

    fn suffix(self) -> &'static str {
        Window::SUFFIXES.iter().find(|(window, _)| *window == self).map_or("", |(_, suffix)| suffix)
    }
}

/// One metric of a target. Written `psi_mem_some_avg60` for the host, `task-runner.service:memory_current` for a unit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Metric {
    scope: Scope,
    quantity: Quantity,
    window: Window,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MetricError {
    #[error("no metric is called {text:?}")]
    Unknown { text: String },
    #[error("{text:?} must say its averaging window: _avg10, _avg60 or _avg300")]
    NoWindow { text: String },
    #[error("{text:?} is not averaged by its source, so it has no window")]
    NeedlessWindow { text: String },
}

impl Metric {
    /// A metric whose window fits its quantity; none where it does not.
    pub fn new(scope: Scope, quantity: Quantity, window: Window) -> Option<Metric> {
        (quantity.is_averaged() == (window != Window::None)).then_some(Metric { scope, quantity, window })
    }

    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    pub fn quantity(&self) -> Quantity {
        self.quantity
    }

    pub fn window(&self) -> Window {
        self.window
    }

    /// The primary metric when nothing else is said: pressure on the host's memory over a minute.
    pub fn primary() -> Metric {
        Metric { scope: Scope::Host, quantity: Quantity::PsiMemSome, window: Window::Avg60 }
    }

    /// How often units of the host are started again: the one guard every target can answer.
    pub fn restarts() -> Metric {
        Metric { scope: Scope::Host, quantity: Quantity::Restarts, window: Window::None }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scope {
            Scope::Host => {}
            Scope::Unit(unit) => write!(f, "{unit}:")?,
        }
        write!(f, "{}{}", self.quantity.as_str(), self.window.suffix())
    }
}

impl FromStr for Metric {
    type Err = MetricError;

    fn from_str(text: &str) -> Result<Metric, MetricError> {
        let shown = || text.chars().take(80).collect::<String>();
        let unknown = || MetricError::Unknown { text: shown() };
        let (scope, rest) = match text.split_once(':') {
            Some((unit, rest)) => (Scope::Unit(unit.parse().map_err(|_| unknown())?), rest),
            None => (Scope::Host, text),
        };
        let ending =
            Window::SUFFIXES.iter().find_map(|(window, suffix)| Some((*window, rest.strip_suffix(suffix)?)));
        let (window, name) = ending.unwrap_or((Window::None, rest));
        let quantity = Quantity::NAMES.iter().find(|(_, known)| *known == name).ok_or_else(unknown)?.0;
        match (quantity.is_averaged(), window) {
            (true, Window::None) => Err(MetricError::NoWindow { text: shown() }),
            (false, Window::Avg10 | Window::Avg60 | Window::Avg300) => {
                Err(MetricError::NeedlessWindow { text: shown() })
            }
            (true, Window::Avg10 | Window::Avg60 | Window::Avg300) | (false, Window::None) => {
                Ok(Metric { scope, quantity, window })
            }
        }
    }
}

impl TryFrom<String> for Metric {
    type Error = MetricError;

    fn try_from(text: String) -> Result<Metric, MetricError> {
        text.parse()
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> String {
        metric.to_string()
    }
}
