//! What whoever enters does first: ends what somebody before was cut off in.
//!
//! A doorman may be killed between any two of its steps, and so may the machine. What can be left then: a rewriting of `/etc`
//! that did not end, a file that the manager left for us, a lease that ran out while nobody looked, a trial without a lease.

use holdfast_lifeline::EpisodeId;

use crate::door;
use crate::force;
use crate::kernel;
use crate::place::Place;
use crate::program::Trouble;
use crate::reserve;
use crate::room::{Room, is_unsettled};

/// The room, with nothing half-done in it. What cannot be settled now stands in the system's log, shows in what runs, and is
/// tried again by whoever enters next.
pub(crate) fn enter(place: &Place) -> Result<Room<'_>, Trouble> {
    let mut room = Room::enter(place)?;
    if let Err(trouble) = settle(&mut room) {
        door::warn(&format!("something could not be settled: {trouble}"));
    }
    Ok(room)
}

/// For who only looks and could do more: where something is left and nobody is at work on it, it is settled before it is shown.
pub(crate) fn settle_if_due(place: &Place) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    if Room::peek(place).is_ok_and(|(_, desk)| is_unsettled(place, &desk))
        && let Ok(Some(mut room)) = Room::enter_if_free(place)
        && let Err(trouble) = settle(&mut room)
    {
        door::warn(&format!("something could not be settled: {trouble}"));
    }
}

/// One thing that cannot be settled stands in the way of no other: an undo least of all.
pub(super) fn settle(room: &mut Room<'_>) -> Result<(), Trouble> {
    let rewritten = reserve::with(room.place, || room.finish_rewriting());
    let cleared = force::clear_what_was_applied(room);
    let undone = undo_what_ran_out(room);
    let left = matches!(rewritten, Ok(true)) || room.passing().is_some() || !room.tried()?.is_nothing();
    let ended = if room.desk.lease().is_none() && left { force::end_trial(room) } else { Ok(()) };
    undone.and(ended).and(rewritten.map(drop)).and(cleared)
}

/// Undoes, writes that down, and only then says so. What could not be undone has not ended.
pub(super) fn undo_what_ran_out(room: &mut Room<'_>) -> Result<(), Trouble> {
    let (was, episode) = (room.desk.clone(), room.desk.lease().map(|lease| lease.episode.clone()));
    if room.desk.expire(kernel::now()).is_none() {
        return Ok(());
    }
    let undone = force::end_trial(room).and_then(|()| reserve::with(room.place, || room.save()));
    if let Err(trouble) = undone {
        room.desk = was;
        return Err(trouble);
    }
    room.unstage_others(None);
    episode.iter().map(EpisodeId::to_string).for_each(|episode| crate::log::expired(room.place, &episode));
    Ok(())
}
