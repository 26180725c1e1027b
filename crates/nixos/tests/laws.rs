//! The `nixos` driver obeys the laws of a driver, over a scripted peer with real git, evaluation, build, store and profile.
#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "helpers are shared, and a test that cannot go on should stop"
)]

mod peer;

use holdfast_laws::{laws, obeys};
use peer::Scripted;

// shows: STW-265, STW-273, STW-274, STW-292, STW-410
#[test]
fn the_nixos_driver_obeys_every_law_over_a_scripted_peer() {
    let mut scripted = Scripted::enrolled();
    let report = obeys(&mut scripted).unwrap();
    assert_eq!(report.held, laws());
    assert_eq!(report.not_asked, []);
    scripted.is_one();
}
