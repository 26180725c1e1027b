//! Trying: the activation, in a unit of its own that no session takes with it, and how it went.

use holdfast_lifeline::{EpisodeId, Identity};
use holdfast_steward::effect::Activation;

use super::{START_WITHIN, unique};
use crate::force;
use crate::kernel;
use crate::place::Place;
use crate::program::{Trouble, run};
use crate::room::Attempt;
use crate::sight;
use crate::systemd;
use crate::wire::Reply;

/// Whether this may be tried; then the activation is begun, on its own, and asked for.
pub(crate) fn begin(place: &Place, episode: &EpisodeId, candidate: Identity) -> Result<Reply, Trouble> {
    let room = super::enter(place)?;
    if let Err(refused) = room.desk.may_try(episode, candidate, kernel::now()) {
        return Ok(Reply::Refused(refused));
    }
    // Said again, it is not begun again: it may be half-way, and how it went is for whoever polls.
    if room.result(episode)?.is_some() {
        return Ok(Reply::Accepted);
    }
    let (unit, ran) = (unique("trial"), force::what_runs(&room)?);
    room.set_result(&Attempt {
        episode: episode.clone(),
        activation: Activation::Running,
        unit: format!("{unit}.service"),
        ran,
    })?;
    let (program, candidate) = (place.program.display().to_string(), candidate.to_string());
    let unit = format!("--unit={unit}");
    let args = [
        "--quiet",
        "--collect",
        "--no-block",
        &unit,
        "--",
        &program,
        "activate",
        episode.as_str(),
        &candidate,
    ];
    // Under the lock, so that nobody takes a unit that is not there yet for one that is gone.
    run("systemd-run", &args, START_WITHIN)?;
    Ok(Reply::Accepted)
}

/// The activation itself, away from any session.
pub(crate) fn activate(place: &Place, episode: &EpisodeId, candidate: Identity) -> Result<(), Trouble> {
    let room = super::enter(place)?;
    // The lease may have run out since this was begun.
    let done = match room.desk.may_try(episode, candidate, kernel::now()) {
        Err(_) => Err(Trouble::Odd("the lease is gone".to_owned())),
        Ok(()) => room.layer_of(candidate).and_then(|layer| force::try_layer(&room, &layer)),
    };
    let activation = match done.and_then(|()| sight::seen(&room)) {
        Ok(seen) if seen.running == candidate => {
            Activation::Done { identity: candidate, boot: room.boot, workload: seen.workload }
        }
        Ok(_) | Err(_) => Activation::Failed,
    };
    let Some(attempt) = room.result(episode)? else { return Ok(()) };
    room.set_result(&Attempt { activation, ..attempt })
}

/// How it went. An activation that is gone without a word went wrong.
pub(crate) fn poll(place: &Place, episode: &EpisodeId) -> Result<Reply, Trouble> {
    let room = super::enter(place)?;
    let Some(attempt) = room.result(episode)? else { return Ok(Reply::Activation(Activation::Unknown)) };
    let died = attempt.activation == Activation::Running && !systemd::is_at_work(&attempt.unit)?;
    if died {
        let attempt = Attempt { activation: Activation::Failed, ..attempt };
        room.set_result(&attempt)?;
        return Ok(Reply::Activation(attempt.activation));
    }
    Ok(Reply::Activation(attempt.activation))
}
