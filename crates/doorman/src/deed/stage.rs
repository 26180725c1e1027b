//! Staging: what may be tried is written down, under the identity of exactly what it holds.

use holdfast_lifeline::{EpisodeId, Identity, Refused};
use holdfast_steward::effect::Staged;
use holdfast_steward::setting::{Change, Setting};

use super::check::checked;
use crate::place::Place;
use crate::program::Trouble;
use crate::reserve;
use crate::room::Room;
use crate::sight;
use crate::wire::Reply;

pub(crate) fn stage(
    place: &Place,
    episode: &EpisodeId,
    base: Identity,
    changes: &[Change],
) -> Result<Reply, Trouble> {
    let room = super::enter(place)?;
    if room.desk.lease().is_some_and(|lease| lease.episode != *episode) {
        return Ok(Reply::Refused(Refused::Busy));
    }
    match staged(&room, base, changes) {
        // A full disk is no fault of the proposal's, and a reason not to try it.
        Err(trouble) if trouble.is_for_want_of_room() => Ok(Reply::Staged(Err(trouble.to_string()))),
        done => done,
    }
}

fn staged(room: &Room<'_>, base: Identity, changes: &[Change]) -> Result<Reply, Trouble> {
    reserve::hold(room.place)?;
    let seen = sight::everything(room)?;
    if seen.brief.running != base || seen.brief.boots_into != base || room.desk.boots_into() != base {
        return Ok(Reply::Refused(Refused::NotKnownGood));
    }
    if let Some(why) = checked(room, changes)? {
        return Ok(Reply::Staged(Err(why)));
    }
    let people = |setting: &Setting| seen.baseline.value(setting);
    let candidate = match room.kept()?.layer.with(changes, people) {
        Ok(candidate) => candidate,
        Err(e) => return Ok(Reply::Staged(Err(e.to_string()))),
    };
    room.unstage_others(room.desk.lease().map(|lease| lease.candidate));
    let identity = match room.stage(&candidate) {
        Ok(identity) => identity,
        Err(e) => return Ok(Reply::Staged(Err(e.to_string()))),
    };
    let com = changes.iter().fold(seen.com.clone(), |com, change| com.with(change));
    Ok(Reply::Staged(Ok(Staged { identity, com: Box::new(com) })))
}
