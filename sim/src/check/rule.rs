//! The rules written a second time, in another way, so that a mistake would have to be made twice.

use holdfast_lifeline::Identity;
use holdfast_steward::setting::{Property, Setting, Value};
use holdfast_steward::verify::Cycle;
use holdfast_steward_host::SimHost;

fn value(host: &SimHost, identity: Identity, setting: &Setting) -> Value {
    match host.layer(identity).and_then(|layer| layer.get(setting)) {
        Some(value) => *value,
        None => host.base().value(setting),
    }
}

fn changed(host: &SimHost, from: Identity, to: Identity) -> Vec<(Setting, Value, Value)> {
    let keys = [from, to]
        .into_iter()
        .filter_map(|identity| host.layer(identity))
        .flat_map(|layer| layer.keys().cloned());
    let mut keys: Vec<Setting> = keys.collect();
    keys.sort();
    keys.dedup();
    let pairs = keys.into_iter().map(|setting| {
        let (was, is) = (value(host, from, &setting), value(host, to, &setting));
        (setting, was, is)
    });
    pairs.filter(|(_, was, is)| was != is).collect()
}

/// One setting, or the declared pair, each within its step and its limits.
pub(crate) fn is_one_bounded_change(host: &SimHost, from: Identity, to: Identity) -> bool {
    let changes = changed(host, from, to);
    let pair = |property: &Property| matches!(property, Property::MemoryMax | Property::MemoryHigh);
    let one = match changes.len() {
        1 => true,
        2 => changes.iter().all(|(setting, _, _)| pair(&setting.property)),
        _ => false,
    };
    one && changes.iter().all(|(setting, was, is)| within(&setting.property, *was, *is))
}

fn within(property: &Property, was: Value, is: Value) -> bool {
    let near = |was: f64, is: f64, percent: f64| (is - was).abs() <= was.abs() * percent / 100.0 + 1e-6;
    match (property, was, is) {
        (Property::MemoryMax, Value::Bytes(was), Value::Bytes(is)) => {
            near(was as f64, is as f64, 20.0) && (256 << 20..=3 << 30).contains(&is)
        }
        (Property::MemoryHigh, Value::Bytes(was), Value::Bytes(is)) => near(was as f64, is as f64, 20.0),
        (Property::CpuQuota, Value::Percent(was), Value::Percent(is)) => {
            near(f64::from(was), f64::from(is), 25.0) && (25..=400).contains(&is)
        }
        (Property::Nice, Value::Number(was), Value::Number(is)) => {
            (is - was).abs() <= 3 && (-20..=19).contains(&is)
        }
        _ => false,
    }
}

/// Whether nobody needs to be asked.
pub(crate) fn is_tier_one(host: &SimHost, from: Identity, to: Identity) -> bool {
    changed(host, from, to).iter().all(|(setting, _, is)| match (&setting.property, is) {
        (Property::Nice, Value::Number(nice)) => *nice >= -5,
        (Property::MemoryMax | Property::MemoryHigh | Property::CpuQuota, _) => true,
        _ => false,
    })
}

/// Whether a window that went like this may end in keeping: the rule of the requirements, counted by hand.
pub(crate) fn may_be_kept(cycles: &[Cycle]) -> bool {
    let failed = |cycle: &&Cycle| matches!(cycle, Cycle::Fail | Cycle::TimedOut);
    let scored: Vec<&Cycle> =
        cycles.iter().filter(|cycle| !matches!(cycle, Cycle::Grace | Cycle::Inconclusive)).collect();
    let failures = scored.iter().filter(|cycle| failed(cycle)).count();
    let passes = scored.len() - failures;
    let enough = scored.len() * 4 >= cycles.len() * 3 && cycles.len() >= 20;
    let few_failures = failures * 10 <= scored.len();
    let good_end = scored.len() >= 5 && scored[scored.len() - 5..].iter().all(|cycle| !failed(cycle));
    let score = passes as i64 - 3 * failures as i64;
    enough && few_failures && good_end && score * 10 >= cycles.len() as i64 * 6
}
