//! Brains: one that helps, and all the ways in which one does not.

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_steward::brain::{Bounds, Facts, Failure, HostView, UnitView, View, propose};
use holdfast_steward::com::Com;
use holdfast_steward::effect::{Asking, Full, Input, Op};
use holdfast_steward::setting::{Property, Setting, Value};
use serde_json::json;

use super::{Happening, World};
use crate::plan::Brain;
use crate::setup;

impl World {
    pub(crate) fn ask_brain(&mut self, which: usize, op: Op, asking: Asking, full: &Full, within: Duration) {
        self.planned += 1;
        let brain = match self.plan.brain {
            Brain::Mixed => self.chance.pick(&[
                Brain::Helps,
                Brain::Restarts,
                Brain::TierTwo,
                Brain::Overreaches,
                Brain::Doubles,
                Brain::Lies,
                Brain::Floods,
                Brain::Garbles,
            ]),
            one => one,
        };
        let life = self.controllers[which].life;
        let (said, takes) = match brain {
            Brain::Hangs => (Err(Failure::Timeout), within),
            brain => (
                Ok(self.answer_of(brain, asking, &full.com)),
                Duration::from_secs(self.chance.between(1, 60)),
            ),
        };
        self.controllers[which].expect_brain(op);
        self.after(takes, Happening::BrainSays { which, life, op, said });
    }

    pub(crate) fn brain_says(&mut self, which: usize, life: u32, op: Op, said: Result<String, Failure>) {
        if self.awaited(which, life, op) {
            self.feed(which, Input::Brain { op, said });
        }
    }

    fn answer_of(&mut self, brain: Brain, asking: Asking, com: &Com) -> String {
        let exploration = asking.exploration;
        let setting = |property| Setting { unit: setup::workload(), property };
        let now = |property| com.value(&setting(property));
        let step = self.planned;
        match brain {
            Brain::Helps | Brain::Mixed | Brain::Hangs => {
                // Up and down in turn, so that many changes stay within what a week may have.
                let property = if self.plan.starving {
                    Property::MemoryMax
                } else {
                    [Property::CpuQuota, Property::MemoryMax][(step % 2) as usize].clone()
                };
                let up = self.plan.starving || (step / 2).is_multiple_of(2);
                proposal(
                    &property,
                    now(property.clone()),
                    moved(now(property.clone()), if up { 110 } else { 92 }),
                    exploration,
                )
            }
            Brain::Restarts => {
                let Value::Number(nice) = now(Property::Nice) else { return "{}".to_owned() };
                let to = if nice >= 3 { nice - 2 } else { nice + 1 };
                proposal(&Property::Nice, Value::Number(nice), Value::Number(to), exploration)
            }
            Brain::TierTwo => {
                let Value::Number(nice) = now(Property::Nice) else { return "{}".to_owned() };
                let to = if nice <= -5 { nice - 1 } else { nice - 3 };
                proposal(&Property::Nice, Value::Number(nice), Value::Number(to), exploration)
            }
            Brain::Overreaches => {
                let max = now(Property::MemoryMax);
                proposal(
                    &Property::MemoryMax,
                    max,
                    moved(max, self.chance.pick(&[40, 130, 300])),
                    exploration,
                )
            }
            Brain::Doubles => {
                let (max, quota) = (now(Property::MemoryMax), now(Property::CpuQuota));
                let mut value: serde_json::Value =
                    serde_json::from_str(&proposal(&Property::MemoryMax, max, moved(max, 110), exploration))
                        .unwrap_or_default();
                value["also"] = json!({
                    "target_option": "CPUQuota",
                    "old_value": quota.to_string(),
                    "new_value": moved(quota, 110).to_string(),
                });
                value.to_string()
            }
            Brain::Lies => {
                let max = now(Property::MemoryMax);
                proposal(&Property::MemoryMax, moved(max, 150), moved(max, 170), exploration)
            }
            Brain::Floods => "{\"hypothesis\":\"".to_owned() + &"more ".repeat(30_000),
            Brain::Garbles => "I would rather not say, <b>really</b>.".to_owned(),
            Brain::Rules => propose(&view(com, asking, self.plan.starving, self.host.metric())),
        }
    }
}

fn moved(value: Value, percent: u64) -> Value {
    match value {
        Value::Bytes(bytes) => Value::Bytes(bytes / 100 * percent / (1 << 20) * (1 << 20)),
        Value::Percent(quota) => Value::Percent((u64::from(quota) * percent / 100) as u32),
        Value::Number(_) | Value::Infinity | Value::Unset => value,
    }
}

pub(crate) fn proposal(property: &Property, from: Value, to: Value, exploration: bool) -> String {
    json!({
        "hypothesis": "the workload would do better with it",
        "target_service": setup::workload(),
        "target_option": property,
        "old_value": from.to_string(),
        "new_value": to.to_string(),
        "rationale": "seen in the metrics",
        "verification_checks": [],
        "expected_outcome": { "metric": "psi_mem_some_avg60", "direction": "minimize", "relative_change": -0.1 },
        "exploration": exploration,
    })
    .to_string()
}

fn view(com: &Com, asking: Asking, starving: bool, pressure: f64) -> View {
    let model = com.units.get(&setup::workload());
    let value = |property| model.map_or(Value::Unset, |model| model.value(&property));
    let unit = UnitView {
        memory_max: value(Property::MemoryMax),
        memory_high: value(Property::MemoryHigh),
        cpu_quota: value(Property::CpuQuota),
        nice: value(Property::Nice),
        peak: model.and_then(|model| model.peak_memory),
        oom_kills: if starving { 4 } else { 0 },
        restarts: if starving { 4 } else { 0 },
        throttled: 0.0,
        people: None,
        facts: Facts::default(),
        endpoint: setup::ENDPOINT.parse().ok(),
    };
    let host = match "box-1".parse() {
        Ok(host) => host,
        Err(_) => unreachable!("a good name"),
    };
    View {
        units: BTreeMap::from([(setup::workload(), unit)]),
        pressure: Some(pressure),
        headroom: 2 << 30,
        outcomes: Vec::new(),
        experience: Vec::new(),
        on_host: HostView::default(),
        bounds: Bounds::default(),
        exploration: asking.exploration,
        spent_today: false,
        take_back: asking.take_back,
        stale: !asking.fresh,
        host,
    }
}
