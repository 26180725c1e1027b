//! The words that change something. Each enters the room, settles what was left half-done, has the desk decide, carries that out,
//! and writes it down.
//!
//! In the order of an episode: `check.rs`, `stage.rs`, `lease.rs` (arming, renewing, running out), `trial.rs` (trying, and how it
//! went), `ending.rs` (keeping, restoring, cancelling); `settle.rs` is what whoever enters does first.

mod check;
mod ending;
mod lease;
mod settle;
mod stage;
mod trial;

use std::time::Duration;

pub(crate) use check::check;
pub(crate) use ending::{as_it_was_found, cancel, keep, restore};
pub(crate) use lease::{arm, expire, renew};
pub(crate) use settle::{enter, settle_if_due};
pub(crate) use stage::stage;
pub(crate) use trial::{activate, begin, poll};

use crate::kernel;
use crate::place::Place;
use crate::program::{Trouble, run_with};
use crate::wire::{Ask, Reply};

/// Longer than the lock may be waited for and a unit may take to start again.
const APART_WITHIN: Duration = Duration::from_secs(300);
const START_WITHIN: Duration = Duration::from_secs(20);

/// Has a unit of its own do it, and waits for what that replies. When the session dies only the waiting ends.
pub(crate) fn apart(place: &Place, ask: &Ask) -> Result<Reply, Trouble> {
    let odd = |e: serde_json::Error| Trouble::Odd(e.to_string());
    let input = serde_json::to_vec(ask).map_err(odd)?;
    let (unit, program) = (format!("--unit={}", unique("step")), place.program.display().to_string());
    let word = ask.word().as_str();
    let args = ["--quiet", "--collect", "--wait", "--pipe", &unit, "--", &program, "apart", word];
    let text = run_with("systemd-run", &args, input, APART_WITHIN)?;
    serde_json::from_str(text.trim_end()).map_err(odd)
}

pub(crate) fn clean(place: &Place, keep: u32, older_than: Duration) -> Result<Reply, Trouble> {
    let room = enter(place)?;
    Ok(Reply::Cleaned { removed: room.clean(keep as usize, older_than)? })
}

/// A name no unit has: what is left of an earlier one never stands in the way.
fn unique(what: &str) -> String {
    format!("holdfast-{what}-{}-{}", std::process::id(), kernel::now().0)
}
