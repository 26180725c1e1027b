//! The closed loop on a real machine: the steward, its runner, SSH, the doorman, systemd and the kernel.
#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    reason = "helpers are shared, and a test that cannot go on should stop"
)]

mod target;

use std::process::Command;
use std::time::Duration;

use holdfast_lifeline::{EpisodeId, Identity, Steady};
use holdfast_sim::plain::{self, Calm, Timed};
use holdfast_steward::Settings;
use holdfast_steward::brain::Failure;
use holdfast_steward::effect::{Fault, Full, TargetState, Verb};
use holdfast_steward::event::Event;
use holdfast_steward::setting::{Property, Setting};
use holdfast_steward_host::{Driver, SystemdHost, Way};
use holdfast_testkit::rounds;
use serde_json::json;
use target::{Target, wait_until};

const MIB: u64 = 1 << 20;

/// The real host; the steward's time is moved by the test, the host's goes by itself.
struct Real {
    host: SystemdHost,
    /// The controller dies when it is about to say this.
    dies_at: Option<&'static str>,
}

impl Driver for Real {
    fn kind(&self) -> &'static str {
        self.host.kind()
    }
    fn call(&mut self, verb: &Verb) -> Result<holdfast_steward::effect::Answer, Fault> {
        assert!(self.dies_at != Some(verb.name()), "the controller is killed");
        self.host.call(verb)
    }
    fn state(
        &mut self,
        full: bool,
        renew: Option<&EpisodeId>,
        about: Option<&EpisodeId>,
    ) -> Result<TargetState, Fault> {
        // Pressure over a minute of the host says nothing where twenty cycles take half of one.
        self.host.state(full, renew, about).map(|state| TargetState { metric: None, ..state })
    }
    fn generations(&self) -> Vec<Identity> {
        self.host.generations()
    }
    fn collect_garbage(&mut self, keep: usize) -> Result<usize, Fault> {
        self.host.collect_garbage(keep)
    }
    fn reboot(&mut self, reset: bool) -> Result<(), Fault> {
        self.host.reboot(reset)
    }
}

impl Timed for Real {
    fn advance(&mut self, _: Steady) {}
}

/// A little more memory.
fn more(full: &Full) -> Result<String, Failure> {
    let setting = Setting { unit: "web.service".parse().unwrap(), property: Property::MemoryHigh };
    Ok(json!({
        "hypothesis": "it is held at its throttle",
        "target_service": "web.service",
        "target_option": "MemoryHigh",
        "old_value": full.com.value(&setting).to_string(),
        "new_value": "150M",
        "rationale": "it holds 140M",
        "verification_checks": [],
        "expected_outcome": {"metric": "psi_mem_some_avg60", "direction": "minimize", "relative_change": -0.1},
    })
    .to_string())
}

fn settings() -> Settings {
    let mut settings = plain::settings();
    let (web, ssh) = (
        "web.service".parse::<holdfast_steward::setting::UnitName>().unwrap(),
        "ssh.service".parse().unwrap(),
    );
    settings.endpoint_of =
        settings.endpoint_of.into_values().map(|endpoint| (web.clone(), endpoint)).collect();
    settings.rules.services = vec![web.clone()];
    settings.rules.workload = web;
    settings.rules.critical = vec![ssh];
    settings.space_there = 64 * MIB;
    settings
}

#[test]
fn one_change_goes_all_the_way_on_a_real_machine() {
    let Some(target) = Target::enrolled(130, 130) else { return };
    let found = target.state();
    // A minute and a half each, so they are left to `make soak`; what a lease does that nobody renews is shown in `guest.rs`.
    for round in 0..rounds(0, 3) {
        a_controller_that_dies_leaves_nothing_behind(&target, u64::from(round));
    }
    let real = Real { host: SystemdHost::new(target.way()), dies_at: None };
    // Another controller, or the target would take its episode for one that has ended.
    let settings = Settings { instance: 77, ..settings() };
    let settled = |event: &Event| matches!(event, Event::Kept { .. } | Event::Ended { .. });
    let ran = plain::run_until(1, settings, real, Calm::saying(more), settled).unwrap();
    let last = &ran.log().records.iter().rev().find(|record| settled(&record.event)).unwrap().event;
    assert!(matches!(last, Event::Kept { .. }), "{last:?}");
    assert_eq!(target.limit("memory.high"), (150 * MIB).to_string());
    let kept = target.state();
    assert_eq!((kept.running, kept.leased), (kept.boots_into, false));
    assert_ne!(kept.running, found.running);
    target.way().hang_up();
    assert_eq!(std::fs::read_dir(target.way().sockets).unwrap().count(), 0, "a connection is still open");
    another_key_stops_everything(&target);
}

/// What was pinned is not what answers: nothing is said to it, and the message says so.
fn another_key_stops_everything(target: &Target) {
    let folder = tempfile::tempdir().unwrap();
    let (key, pinned) = (folder.path().join("key"), folder.path().join("known_hosts"));
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).status();
    assert!(made.unwrap().success());
    let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    std::fs::write(&pinned, format!("guest {public}")).unwrap();
    let mut host = SystemdHost::new(Way { known_hosts: pinned, ..target.way() });
    assert_eq!(host.state(false, None, None), Err(Fault::Unreachable));
    let said = host.trouble().unwrap().to_string();
    assert!(said.starts_with("guest shows another host key than the one that was pinned"), "{said}");
}

/// It dies when it is about to keep what it has verified.
fn a_controller_that_dies_leaves_nothing_behind(target: &Target, instance: u64) {
    let (before, found, way) = (target.everything(), target.state(), target.way());
    let dead = std::thread::spawn(move || {
        let real = Real { host: SystemdHost::paced(way, 2), dies_at: Some("keep") };
        let settings = Settings { instance, ..settings() };
        plain::run(1, settings, real, Calm::saying(more)).map(drop)
    });
    assert!(dead.join().is_err(), "it was to die");
    let trial = target.state();
    assert_eq!((trial.boots_into, trial.leased), (found.boots_into, true), "tried, and not kept");
    wait_until("the lease runs out", Duration::from_secs(120), || !target.state().leased);
    let undone = target.state();
    assert_eq!((undone.running, undone.boots_into), (found.running, found.boots_into));
    target.is_as(&before, "undone by the target itself");
}
