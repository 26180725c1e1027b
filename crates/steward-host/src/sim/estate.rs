//! The modelled server as people set it up: one managed service, and the units that keep it reachable.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use holdfast_lifeline::{Sound, Steady};
use holdfast_steward::calibrate::{Calibration, Wanted};
use holdfast_steward::com::{Com, UnitModel};
use holdfast_steward::sample::{Marked, Metric, Sample};
use holdfast_steward::setting::{Property, UnitName, Value};

use super::SimHost;

/// What the managed service may have of memory at first.
pub const LIMIT: u64 = 1 << 30;
/// Between two samples of the week the detector is calibrated on.
const PERIOD: Duration = Duration::from_secs(120);
/// A week, and a day more than a calibration asks for.
const SAMPLES: u64 = 8 * 720;

fn unit(name: &str) -> UnitName {
    name.parse().unwrap_or_else(|_| unreachable!("the names of this file are good ones"))
}

/// The managed service.
pub fn workload() -> UnitName {
    unit("task-runner.service")
}

/// The units that keep the host reachable.
pub fn critical() -> Vec<UnitName> {
    vec![unit("sshd.service"), unit("nftables.service")]
}

/// What people set up.
pub fn estate() -> Com {
    let plain = |listens: Vec<u16>| UnitModel {
        enabled: true,
        settings: BTreeMap::new(),
        listens,
        peak_memory: Some(64 << 20),
        definition: "as-installed".to_owned(),
    };
    let managed = UnitModel {
        settings: BTreeMap::from([
            (Property::MemoryMax, Value::Bytes(LIMIT)),
            (Property::MemoryHigh, Value::Bytes(LIMIT / 8 * 7)),
            (Property::CpuQuota, Value::Percent(100)),
            (Property::Nice, Value::Number(0)),
        ]),
        ..plain(vec![8080])
    };
    let others =
        critical().into_iter().zip([vec![22], Vec::new()]).map(|(unit, listens)| (unit, plain(listens)));
    Com {
        memory_total: 4 << 30,
        swap: true,
        ssh_enabled: true,
        vpn_enabled: None,
        firewall_enabled: true,
        units: others.chain([(workload(), managed)]).collect(),
        rest: "people-0".to_owned(),
        own_configuration: "as-installed".to_owned(),
    }
}

/// A detector's calibration on a quiet week of such a host; the same for all of them.
pub static CALIBRATION: LazyLock<Calibration> = LazyLock::new(|| {
    let mut host = SimHost::new(estate(), 7, Sound::YES);
    let samples: Vec<Sample> = (0..SAMPLES)
        .map(|n| {
            let at = Steady(0).plus(PERIOD * u32::try_from(n).unwrap_or(u32::MAX));
            host.advance(at);
            Sample::known(at, host.metric())
        })
        .collect();
    match Calibration::from_samples(samples, &Marked::default(), &Wanted::usual(&Metric::primary(), PERIOD)) {
        Ok(calibration) => calibration,
        Err(refusal) => unreachable!("a quiet week calibrates: {refusal:?}"),
    }
});
