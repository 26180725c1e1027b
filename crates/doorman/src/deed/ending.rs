//! How an episode ends by a word: kept, taken back, or given up.

use std::time::Duration;

use holdfast_lifeline::{Desk, EpisodeId, Identity, Restored, Sound};

use super::{lease, settle};
use crate::force;
use crate::kernel;
use crate::layer::Layer;
use crate::place::Place;
use crate::program::Trouble;
use crate::reserve;
use crate::room::Room;
use crate::sight;
use crate::wire::Reply;

/// Whoever takes back what was kept has no lease behind it. Should it die half-way, this looks.
const LOOKED_AFTER_WITHIN: Duration = Duration::from_secs(60);

/// One step: what was tried is what a boot gives, and the lease is over.
pub(crate) fn keep(place: &Place, episode: &EpisodeId, candidate: Identity) -> Result<Reply, Trouble> {
    let mut room = super::enter(place)?;
    let seen = sight::seen(&room)?;
    let (before, was) = (room.kept()?.layer, room.desk.clone());
    if let Err(refused) = room.desk.keep(episode, candidate, seen.running, kernel::now()) {
        return Ok(Reply::Refused(refused));
    }
    // Said again, only what comes after is done again: it may have stopped half-way.
    if room.desk != was {
        let layer = room.layer_of(candidate)?;
        let written =
            room.rewrite_kept(&layer).and_then(|()| room.new_generation(&layer)).and_then(|()| room.save());
        if let Err(e) = written {
            // What a boot gives is put back; the lease still stands, and undoes the rest.
            room.desk = was;
            room.drop_newest_generation(&layer);
            room.put_back_kept(&before);
            return Err(e);
        }
        room.end_rewriting()?;
    }
    force::end_trial(&room)?;
    end(&room);
    Ok(Reply::Accepted)
}

pub(crate) fn restore(place: &Place, episode: &EpisodeId, wanted: Identity) -> Result<Reply, Trouble> {
    let mut room = super::enter(place)?;
    match room.desk.restore(episode, wanted) {
        Err(refused) => return Ok(Reply::Refused(refused)),
        Ok(Restored::Trial(_)) => force::end_trial(&room)?,
        Ok(Restored::Kept(identity)) => take_back(&room, identity)?,
        Ok(Restored::Already(_)) if room.desk.lease().is_none() => force::end_trial(&room)?,
        Ok(Restored::Already(_)) => {}
    }
    reserve::with(place, || room.save())?;
    end(&room);
    Ok(Reply::Accepted)
}

/// What a boot gives counts most: it is settled before anything that could fail. Said again, the rest is done again.
fn take_back(room: &Room<'_>, identity: Identity) -> Result<(), Trouble> {
    // Where there is no room for a timer, whoever enters next looks.
    let _ = lease::set_timer(room.place, LOOKED_AFTER_WITHIN);
    let layer = room.layer_of(identity)?;
    reserve::with(room.place, || {
        room.rewrite_kept(&layer)?;
        room.save()?;
        room.end_rewriting()
    })?;
    force::end_trial(room)
}

pub(crate) fn cancel(place: &Place, episode: &EpisodeId) -> Result<Reply, Trouble> {
    let mut room = super::enter(place)?;
    room.desk.cancel(episode);
    // A lease that was armed runs out now.
    settle::undo_what_ran_out(&mut room)?;
    reserve::with(place, || room.save())?;
    end(&room);
    Ok(Reply::Accepted)
}

/// Nothing of an episode is left when no lease is.
fn end(room: &Room<'_>) {
    if room.desk.lease().is_none() {
        lease::stop_timers();
        room.unstage_others(None);
    }
}

/// The last day: nothing is tried any more, and what people kept of ours is what it was when the target was taken in. Says whether anything
/// was different.
pub(crate) fn as_it_was_found(place: &Place, found: &Layer) -> Result<bool, Trouble> {
    let mut room = match Room::has_desk(place) {
        true => super::enter(place)?,
        false => Room::enter_without_desk(place)?,
    };
    let is_different =
        room.desk.lease().is_some() || !room.tried()?.is_nothing() || room.kept()?.layer != *found;
    lease::stop_timers();
    room.desk = Desk::new(found.identity(), Sound::YES);
    if is_different {
        reserve::with(place, || {
            room.rewrite_kept(found)?;
            room.save()?;
            room.end_rewriting()
        })?;
        force::end_trial(&room)?;
    }
    Ok(is_different)
}
