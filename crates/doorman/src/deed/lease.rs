//! The lease's own timer: armed before anything is tried, and followed by another for as long as the lease is renewed.
//!
//! There is one timer for a lease, whatever happens to the lease meanwhile. When it fires it looks: a lease that was renewed gets
//! the next timer, one that ran out is undone. Where either fails the manager starts it again, every few seconds, until it is done.

use std::time::Duration;

use holdfast_lifeline::{EpisodeId, Identity, Lease};

use super::{START_WITHIN, settle, unique};
use crate::door;
use crate::force;
use crate::kernel;
use crate::place::Place;
use crate::program::{Trouble, run, run_whatever};
use crate::reserve;
use crate::room::Room;
use crate::sight;
use crate::wire::Reply;

/// A timer that fires early would find a lease that has not run out. This one waits, and then looks.
const TIMER_LATER: u64 = 1;
/// All of them, whoever set them.
const TIMERS: &str = "holdfast-lease-*.timer";

pub(crate) fn arm(
    place: &Place,
    episode: &EpisodeId,
    (known_good, candidate): (Identity, Identity),
    (lasts, cap): (Duration, Duration),
) -> Result<Reply, Trouble> {
    let mut room = super::enter(place)?;
    let (seen, now) = (sight::seen(&room)?, kernel::now());
    let lease = Lease {
        episode: episode.clone(),
        known_good,
        candidate,
        lasts,
        expires: now.plus(lasts),
        cap: now.plus(cap),
    };
    let armed = match room.desk.arm(lease, seen.running) {
        Err(refused) => return Ok(Reply::Refused(refused)),
        Ok(armed) => armed,
    };
    // No way back, no way forward.
    reserve::hold(place)?;
    // The timer first: a lease that is written down and never runs out would be none.
    set_timer(place, armed.expires.since(now))?;
    if let Err(e) = room.save() {
        stop_timers();
        return Err(e);
    }
    Ok(Reply::Armed(armed))
}

/// Renews while it is looked at. A lease that cannot be renewed shows in what runs. Its timer finds it renewed.
pub(crate) fn renew(room: &mut Room<'_>, episode: &EpisodeId) -> Result<(), Trouble> {
    if room.desk.renew(episode, kernel::now()).is_ok() {
        room.save()?;
    }
    Ok(())
}

/// What the timer does: looks whether the lease was renewed, and undoes when it was not.
pub(crate) fn expire(place: &Place) -> Result<(), Trouble> {
    if !Room::has_desk(place) {
        // Nobody knows any more what was agreed on. What is tried is not kept, so it is undone.
        door::warn("the desk of this target cannot be read: what is tried is undone");
        return force::end_trial(&Room::enter_without_desk(place)?);
    }
    let mut room = Room::enter(place)?;
    settle::settle(&mut room)?;
    match room.desk.lease() {
        Some(lease) => set_timer(place, lease.expires.since(kernel::now())),
        None => {
            stop_timers();
            Ok(())
        }
    }
}

/// One more timer.
pub(super) fn set_timer(place: &Place, after: Duration) -> Result<(), Trouble> {
    let (seconds, name) = (after.as_secs() + TIMER_LATER, unique("lease"));
    let (unit, active) = (format!("--unit={name}"), format!("--on-active={seconds}s"));
    let program = place.program.display().to_string();
    // What could not be undone is tried again until it is: nobody else may be there to do it.
    let args = [
        "--quiet",
        "--collect",
        &unit,
        &active,
        "--timer-property=AccuracySec=100ms",
        "--property=Restart=on-failure",
        "--property=RestartSec=5s",
        "--property=StartLimitIntervalSec=0",
        "--",
        &program,
        "expire",
    ];
    run("systemd-run", &args, START_WITHIN).map(drop)
}

/// There is nothing left to wait for. One that is not stopped finds nothing to do when it fires.
pub(super) fn stop_timers() {
    let _ = run_whatever("systemctl", &["stop", "--", TIMERS], Vec::new(), START_WITHIN);
}
