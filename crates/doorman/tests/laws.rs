//! The laws of a driver, put to a real machine: SSH, the doorman, systemd and the kernel.
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
use holdfast_testkit::lab::RELEASES;
use holdfast_testkit::rounds;
use target::Target;

const MIB: u64 = 1 << 20;

struct Machine {
    target: Target,
    host: SystemdHost,
    began: Instant,
}

impl Subject for Machine {
    fn driver(&mut self) -> &mut dyn Driver {
        &mut self.host
    }

    fn clock(&mut self) -> Duration {
        self.began.elapsed()
    }

    fn pass(&mut self, span: Duration) {
        std::thread::sleep(span);
    }

    fn setting(&self) -> Setting {
        Setting { unit: "web.service".parse().unwrap(), property: Property::MemoryHigh }
    }

    fn value(&self, number: u32) -> Value {
        Value::Bytes((200 + u64::from(number)) * MIB)
    }

    /// Files that outlive a boot.
    fn durable(&mut self) -> String {
        let everything = self.target.everything();
        let files = everything.iter().filter(|line| line.contains("  etc/"));
        files.map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    fn cut(&mut self) {
        self.target.guest.cut();
    }

    fn join(&mut self) {
        self.target.guest.join();
        self.target.guest.wait_until_back();
        self.forget();
    }

    fn boot(&mut self) -> Result<(), NotHere> {
        self.target.guest.reset();
        self.target.guest.wait_until_back();
        self.forget();
        Ok(())
    }
}

impl Machine {
    /// Connections from before lead nowhere.
    fn forget(&self) {
        self.target.hang_up();
        self.host.way().hang_up();
    }
}

// shows: STW-296, STW-265, STW-273, STW-274, STW-292, STW-293, STW-400, STW-410
/// Leases run out in real time and the machine boots, so `make soak` asks for all of them, on machines of both releases, and
/// `make test` for the first few, which need neither.
#[test]
fn a_real_machine_obeys_the_laws_of_a_driver() {
    let all = laws();
    if rounds(0, 1) == 0 {
        return obeyed("trixie", &all[..3]);
    }
    for release in RELEASES {
        // A guest lives ten minutes.
        all.chunks(4).for_each(|some| obeyed(release, some));
    }
}

fn obeyed(release: &str, some: &[&'static str]) {
    let Some(target) = Target::of(release, &target::program(20), &target::service(190)) else { return };
    let host = SystemdHost::new(target.way());
    let mut machine = Machine { target, host, began: Instant::now() };
    let report = obeys_some(&mut machine, |name| some.contains(&name)).unwrap();
    assert_eq!(report.held, some, "{release}");
    machine.forget();
}
