//! The `systemd` driver obeys the laws of a driver, on a real machine.
#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    reason = "helpers are shared, and a test that cannot go on should stop"
)]

mod target;

use std::time::{Duration, Instant};

use holdfast_laws::{NotHere, Subject, laws, obeys_some};
use holdfast_steward::setting::{Property, Setting, Value};
use holdfast_steward_host::{Driver, SystemdHost};
use holdfast_testkit::rounds;
use target::Target;

struct Real {
    target: Target,
    host: SystemdHost,
    since: Instant,
}

impl Subject for Real {
    fn driver(&mut self) -> &mut dyn Driver {
        &mut self.host
    }
    fn clock(&mut self) -> Duration {
        self.since.elapsed()
    }
    fn pass(&mut self, span: Duration) {
        std::thread::sleep(span);
    }
    fn setting(&self) -> Setting {
        Setting { unit: "web.service".parse().unwrap(), property: Property::MemoryHigh }
    }
    fn value(&self, number: u32) -> Value {
        Value::Bytes((150 + u64::from(number)) << 20)
    }
    fn durable(&mut self) -> String {
        let files = "cd /etc && find . -type f ! -path './.*' | LC_ALL=C sort | xargs -d '\\n' sha256sum";
        self.target.must(&["sh", "-c", files])
    }
    fn cut(&mut self) {
        self.target.guest.cut();
    }
    fn join(&mut self) {
        self.target.guest.join();
    }
    fn boot(&mut self) -> Result<(), NotHere> {
        self.target.guest.reset();
        self.target.guest.wait_until_back();
        Ok(())
    }
    fn moment(&self) -> Duration {
        Duration::from_millis(500)
    }
}

/// In real time all laws take more minutes than a guest lives, so they are asked on three, and in `make test` the first few.
#[test]
fn the_systemd_driver_obeys_the_laws_on_a_real_machine() {
    let all = laws();
    let parts = [&all[..3], &all[3..8], &all[8..]];
    for part in &parts[..rounds(1, 3) as usize] {
        let Some(target) = Target::enrolled(60, 140) else { return };
        let host = SystemdHost::new(target.way());
        let mut real = Real { target, host, since: Instant::now() };
        let report = obeys_some(&mut real, |law| part.contains(&law)).unwrap();
        assert_eq!(report.held, *part);
    }
}
