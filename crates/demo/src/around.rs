//! Everything around the steward that is not its target: what is seen from outside, the brain, the window record.
//!
//! All of it is the controller's memory: it is gone with the controller.

use holdfast_lifeline::{Claim, EpisodeId, Now, Steady, WindowRecord};
use holdfast_steward::Claimed;
use holdfast_steward::brain::{Bounds, Failure, HostView, UnitView, View, propose};
use holdfast_steward::com::Com;
use holdfast_steward::effect::{Asking, Compared, Full, Looked, Probe, TargetState, Tiding};
use holdfast_steward::invariant::Health;
use holdfast_steward::sample::Metric;
use holdfast_steward::setting::{Property, Setting, Value};
use holdfast_steward_host::{MemoryWindow, Outside, workload};
use serde_json::json;

use crate::host::Host;
use crate::lookout::Seen;

/// Over how many samples the brain is told the mean pressure: as many as a shift takes to be noticed.
const LATELY: usize = 2;
/// Free space where the controller runs; nothing is written here, so there is enough.
const SPACE_HERE: u64 = 20 << 30;

/// Who proposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brain {
    /// The rules that are built in.
    BuiltIn,
    /// Scripted: it takes a quarter of the processor away and hopes.
    Careless,
}

impl Brain {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Brain::BuiltIn => "the built-in rules",
            Brain::Careless => "a careless brain, scripted for this act",
        }
    }
}

#[derive(Debug)]
pub(crate) struct Around {
    name: String,
    host: Host,
    brain: Brain,
    seen: Seen,
    lately: Vec<f64>,
    memory_budget: u64,
    window: MemoryWindow,
}

/// The endpoint of the modelled workload.
pub(crate) fn endpoint_of(host: &str) -> String {
    format!("{host}-task-runner")
}

impl Around {
    pub(crate) fn new(name: &str, host: Host, brain: Brain, memory_budget: u64) -> Around {
        let seen = Seen::new(name);
        Around {
            name: name.to_owned(),
            host,
            brain,
            seen,
            lately: Vec::new(),
            memory_budget,
            window: MemoryWindow::default(),
        }
    }

    /// The window record is durable beside the controller, so a new one finds it.
    pub(crate) fn finding(mut self, window: Option<WindowRecord>) -> Around {
        self.window = MemoryWindow::found(window);
        self
    }

    pub(crate) fn window(&self) -> Option<&WindowRecord> {
        self.window.record()
    }

    /// A sample was taken.
    pub(crate) fn collected(&mut self, at: Steady, value: f64) -> Option<crate::lookout::Noticed> {
        self.lately.push(value);
        let surplus = self.lately.len().saturating_sub(LATELY);
        self.lately.drain(..surplus);
        self.seen.step(at, value)
    }

    fn pressure(&self) -> Option<f64> {
        let count = self.lately.len();
        (count > 0).then(|| self.lately.iter().sum::<f64>() / count as f64)
    }

    fn rules(&self, asking: Asking, full: &Full) -> Result<String, Failure> {
        let unit = self.unit_view(&full.com);
        let used = match unit.memory_max {
            Value::Bytes(bytes) => bytes,
            _ => 0,
        };
        Ok(propose(&View {
            units: [(workload(), unit)].into(),
            pressure: self.pressure(),
            headroom: self.memory_budget.saturating_sub(used),
            outcomes: Vec::new(),
            experience: Vec::new(),
            on_host: HostView::default(),
            spent_today: false,
            bounds: Bounds::default(),
            exploration: asking.exploration,
            take_back: asking.take_back,
            stale: !asking.fresh,
            host: self.name.parse().map_err(|_| Failure::InvalidOutput)?,
        }))
    }

    fn careless(&self, asking: Asking, full: &Full) -> String {
        let setting = Setting { unit: workload(), property: Property::CpuQuota };
        let from = full.com.value(&setting);
        let to = match from {
            Value::Percent(percent) => Value::Percent(percent / 4 * 3),
            other => other,
        };
        json!({
            "hypothesis": "it would hardly notice a quarter less of the processor",
            "target_service": setting.unit,
            "target_option": setting.property,
            "old_value": from.to_string(),
            "new_value": to.to_string(),
            "rationale": "it looked idle",
            "verification_checks": [],
            "expected_outcome": {
                "metric": Metric::primary().to_string(),
                "direction": "minimize",
                "relative_change": -0.1,
            },
            "exploration": asking.exploration,
        })
        .to_string()
    }

    fn unit_view(&self, com: &Com) -> UnitView {
        UnitView { endpoint: endpoint_of(&self.name).parse().ok(), ..UnitView::of(com, &workload()) }
    }
}

impl Outside for Around {
    fn look(&mut self, now: Now, reached: Option<TargetState>, ssh: Probe) -> Looked {
        let at = now.steady;
        let health = Health { healthy: self.host.seen().is_healthy(), at };
        Looked {
            ssh,
            endpoints: vec![(endpoint_of(&self.name), Some(health))],
            references: true,
            vpn: None,
            // A modelled host has no tripwire beside it, and its ways back are calls inside this process: there is
            // nothing about them to rehearse.
            heartbeat: Some(at),
            watched: self.window.record().map(|window| window.episode.clone()),
            rehearsed: vec![("lease", Some(at)), ("first route", Some(at))],
            integrity: true,
            space_here: SPACE_HERE,
            figures: Vec::new(),
            target: reached,
        }
    }

    fn ask(&mut self, asking: Asking, full: &Full) -> Result<String, Failure> {
        match self.brain {
            Brain::BuiltIn => self.rules(asking, full),
            Brain::Careless => Ok(self.careless(asking, full)),
        }
    }

    fn open_window(&mut self, record: WindowRecord) -> Claimed {
        self.window.open(record)
    }

    fn claim(&mut self, episode: &EpisodeId, claim: Claim) -> Claimed {
        self.window.claim(episode, claim)
    }

    fn ask_approval(&mut self, _: &EpisodeId, _: &str, _: &str) {}
    fn withdraw_approval(&mut self, _: &EpisodeId) {}

    /// What comes a day later is beyond the demo.
    fn compare(&mut self, _: Steady) -> Compared {
        Compared { before: None, after: None, guards: Vec::new() }
    }

    fn rebase(&mut self) {
        self.seen.rebase();
    }

    fn tell(&mut self, _: &Tiding) {}
}
