//! The words that change something. Each enters the room, has the desk decide, carries that out, and writes it down.

use std::fs;
use std::time::Duration;

use holdfast_lifeline::{EpisodeId, Identity, Lease, Refused, Restored};
use holdfast_steward::effect::{Activation, Staged};
use holdfast_steward::setting::{Change, Property, Setting, UnitName, Value};

use crate::kernel;
use crate::layer::{self, KEPT_PREFIX, Layer};
use crate::place::Place;
use crate::program::{Trouble, run, run_whatever, run_with};
use crate::room::Room;
use crate::sight;
use crate::systemd::{self, Shown};
use crate::wire::{Ask, Reply};

/// Longer than the lock may be waited for and a unit may take to start again.
const APART_WITHIN: Duration = Duration::from_secs(300);
const START_WITHIN: Duration = Duration::from_secs(20);
const VERIFY_WITHIN: Duration = Duration::from_secs(90);
/// A timer that fires early would find a lease that has not run out. This one waits, and then looks.
const TIMER_LATER: u64 = 1;

/// Would the whole fit together? Nothing is loaded for it.
pub(crate) fn check(place: &Place, changes: &[Change]) -> Result<Reply, Trouble> {
    let room = Room::enter(place)?;
    Ok(Reply::Checked(match checked(&room, changes)? {
        None => Ok(()),
        Some(why) => Err(why),
    }))
}

/// Why it would not.
fn checked(room: &Room<'_>, changes: &[Change]) -> Result<Option<String>, Trouble> {
    for change in changes {
        let setting = &change.setting;
        if !room.settings.units.contains(&setting.unit) {
            return Ok(Some(format!("{} is not a unit that may be changed here", setting.unit)));
        }
        if let Err(e) = layer::text_of(setting, change.to) {
            return Ok(Some(e.to_string()));
        }
        let shown = systemd::show_one(&setting.unit)?;
        if !shown.is_loaded() {
            return Ok(Some(format!("there is no {} on this target", setting.unit)));
        }
        if let Some(path) = shown.set_at_run_time() {
            return Ok(Some(format!(
                "somebody set limits of {} at run time ({}); `systemctl revert {}` takes them away",
                setting.unit,
                path.display(),
                setting.unit
            )));
        }
    }
    verified(room, changes)
}

/// Has `systemd-analyze` read the unit with all its drop-ins and ours in a folder of its own.
fn verified(room: &Room<'_>, changes: &[Change]) -> Result<Option<String>, Trouble> {
    let scratch = room.place.state.join("scratch");
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch).map_err(Trouble::file("making a scratch folder"))?;
    let result = verified_in(&scratch, changes);
    let _ = fs::remove_dir_all(&scratch);
    result
}

fn verified_in(scratch: &std::path::Path, changes: &[Change]) -> Result<Option<String>, Trouble> {
    let copy = |from: &std::path::Path, to: std::path::PathBuf| {
        fs::copy(from, &to).map(drop).map_err(Trouble::file(format!("copying {}", from.display())))
    };
    let mut units: Vec<UnitName> = changes.iter().map(|change| change.setting.unit.clone()).collect();
    units.dedup();
    let mut verified = Vec::new();
    for unit in &units {
        let shown = systemd::show_one(unit)?;
        let folder = scratch.join(layer::folder_of(unit));
        fs::create_dir_all(&folder).map_err(Trouble::file("making a scratch folder"))?;
        let mut files = shown.peoples_files().into_iter();
        let Some(fragment) = files.next() else {
            return Ok(Some(format!("{unit} has no file of its own")));
        };
        copy(&fragment, scratch.join(unit.as_str()))?;
        for (at, path) in files.enumerate() {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("other.conf");
            copy(&path, folder.join(format!("{at:03}-{name}")))?;
        }
        for change in changes.iter().filter(|change| change.setting.unit == *unit) {
            let text = layer::text_of(&change.setting, change.to).map_err(|e| Trouble::Odd(e.to_string()))?;
            let (_, file) = layer::file_of(&change.setting, &format!("zz-{KEPT_PREFIX}"));
            fs::write(folder.join(&file), text).map_err(Trouble::file("writing a scratch file"))?;
        }
        verified.push(scratch.join(unit.as_str()).display().to_string());
    }
    let args: Vec<&str> = ["verify", "--man=no", "--recursive-errors=no"]
        .into_iter()
        .chain(verified.iter().map(String::as_str))
        .collect();
    let (_, said, ok, _) = run_whatever("systemd-analyze", &args, Vec::new(), VERIFY_WITHIN)?;
    let ours = said.lines().find(|line| line.contains(KEPT_PREFIX));
    match (ok, ours) {
        (true, None) => Ok(None),
        (_, Some(line)) => Ok(Some(holdfast_types::printable(line))),
        (false, None) => {
            Ok(Some(holdfast_types::printable(said.lines().last().unwrap_or("it does not verify"))))
        }
    }
}

pub(crate) fn stage(place: &Place, base: Identity, changes: &[Change]) -> Result<Reply, Trouble> {
    let room = Room::enter(place)?;
    let seen = sight::everything(&room)?;
    if seen.brief.running != base || seen.brief.boots_into != base || room.desk.boots_into() != base {
        return Ok(Reply::Refused(Refused::NotKnownGood));
    }
    if let Some(why) = checked(&room, changes)? {
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
        // A full disk is no fault of the proposal's, and a reason not to try it.
        Err(e) => return Ok(Reply::Staged(Err(e.to_string()))),
    };
    let com = changes.iter().fold(seen.com.clone(), |com, change| com.with(change));
    Ok(Reply::Staged(Ok(Staged { identity, com: Box::new(com) })))
}

pub(crate) fn arm(
    place: &Place,
    episode: &EpisodeId,
    (known_good, candidate): (Identity, Identity),
    (lasts, cap): (Duration, Duration),
) -> Result<Reply, Trouble> {
    let mut room = Room::enter(place)?;
    let (seen, now) = (sight::seen(&room)?, kernel::now());
    let lease = Lease {
        episode: episode.clone(),
        known_good,
        candidate,
        lasts,
        expires: now.plus(lasts),
        cap: now.plus(cap),
    };
    match room.desk.arm(lease, seen.running) {
        Err(refused) => Ok(Reply::Refused(refused)),
        Ok(armed) => {
            // The timer first: a lease that is written down and never runs out would be none.
            set_timer(place, armed.expires.since(now))?;
            room.save()?;
            Ok(Reply::Armed(armed))
        }
    }
}

/// Renews while it is looked at. A lease that cannot be renewed shows in what runs.
pub(crate) fn renew(room: &mut Room<'_>, episode: &EpisodeId) -> Result<(), Trouble> {
    let now = kernel::now();
    if let Ok(armed) = room.desk.renew(episode, now) {
        set_timer(room.place, armed.expires.since(now))?;
        room.save()?;
    }
    Ok(())
}

/// One more timer. Those before it stay, fire, find the lease renewed, and are gone.
fn set_timer(place: &Place, after: Duration) -> Result<(), Trouble> {
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

/// A name no unit has: what is left of an earlier one never stands in the way.
pub(crate) fn unique(what: &str) -> String {
    format!("holdfast-{what}-{}-{}", std::process::id(), kernel::now().0)
}

/// Whether this may be tried; then the activation is begun, on its own, and asked for.
pub(crate) fn begin(place: &Place, episode: &EpisodeId, candidate: Identity) -> Result<Reply, Trouble> {
    let room = Room::enter(place)?;
    if let Err(refused) = room.desk.may_try(episode, candidate, kernel::now()) {
        return Ok(Reply::Refused(refused));
    }
    if room.result(episode)?.is_some() {
        return Ok(Reply::Accepted);
    }
    room.set_result(episode, Activation::Running)?;
    drop(room);
    let unit = format!("--unit={}", unique("trial"));
    let (program, candidate) = (place.program.display().to_string(), candidate.to_string());
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
    run("systemd-run", &args, START_WITHIN)?;
    Ok(Reply::Accepted)
}

/// The activation itself, away from any session.
pub(crate) fn activate(place: &Place, episode: &EpisodeId, candidate: Identity) -> Result<(), Trouble> {
    let room = Room::enter(place)?;
    // The lease may have run out since this was begun.
    let done = match room.desk.may_try(episode, candidate, kernel::now()) {
        Err(_) => Err(Trouble::Odd("the lease is gone".to_owned())),
        Ok(()) => room.layer_of(candidate).and_then(|layer| try_layer(&room, &layer)),
    };
    let activation = match done.and_then(|()| sight::seen(&room)) {
        Ok(seen) if seen.running == candidate => {
            Activation::Done { identity: candidate, boot: room.boot, workload: seen.workload }
        }
        Ok(_) | Err(_) => Activation::Failed,
    };
    room.set_result(episode, activation)
}

/// Puts a layer in force without what a boot gives being touched: where they differ, below `/run`.
fn try_layer(room: &Room<'_>, layer: &Layer) -> Result<(), Trouble> {
    let kept = room.kept()?.layer;
    let mut trial = Layer::default();
    for setting in kept.differences(layer) {
        let value = match layer.get(&setting) {
            Some(value) => value,
            // Our word is taken away: for the trial people's own value is said in its place.
            None => peoples(&setting)?,
        };
        trial.insert(setting, value);
    }
    in_force_with(room, &trial)
}

/// Ends a trial: what is kept is in force, and nothing else.
fn end_trial(room: &Room<'_>) -> Result<(), Trouble> {
    in_force_with(room, &Layer::default())
}

/// Has what is kept in force, with this tried above it. All limits of all units are looked at, because a way back that stopped
/// half-way may have left any of them. What takes a restart is touched only where we say or said something about it: a process
/// may have set its own.
fn in_force_with(room: &Room<'_>, trial: &Layer) -> Result<(), Trouble> {
    let (kept, tried) = (room.kept()?.layer, room.tried()?.layer);
    let said =
        |setting: &Setting| [&kept, &tried, trial].into_iter().any(|layer| layer.get(setting).is_some());
    let all = room.settings.units.iter().flat_map(systemd::settings_of);
    let touched: Vec<Setting> =
        all.filter(|setting| !setting.property.needs_restart() || said(setting)).collect();
    room.rewrite_trial(trial)?;
    put_in_force(room, &touched)
}

fn peoples(setting: &Setting) -> Result<Value, Trouble> {
    let total = kernel::meminfo("MemTotal").unwrap_or(u64::MAX);
    systemd::peoples_value(&systemd::show_one(&setting.unit)?, &setting.property, total)
}

/// Has the manager read its files, and makes what they say what the kernel does; reads it back.
fn put_in_force(room: &Room<'_>, settings: &[Setting]) -> Result<(), Trouble> {
    systemd::reload()?;
    let mut cleared = false;
    for setting in settings.iter().filter(|setting| !setting.property.needs_restart()) {
        let shown = systemd::show_one(&setting.unit)?;
        if let Some(value) = differing(room.place, &shown, &setting.property) {
            systemd::apply(room.place, setting, value)?;
            cleared = true;
        }
    }
    if cleared {
        systemd::reload()?;
    }
    let mut restarted: Vec<&UnitName> = Vec::new();
    for setting in settings.iter().filter(|setting| setting.property.needs_restart()) {
        let shown = systemd::show_one(&setting.unit)?;
        if differing(room.place, &shown, &setting.property).is_some() && !restarted.contains(&&setting.unit) {
            systemd::restart(&setting.unit)?;
            restarted.push(&setting.unit);
        }
    }
    for setting in settings {
        let shown = systemd::show_one(&setting.unit)?;
        if let Some(wanted) = differing(room.place, &shown, &setting.property) {
            return Err(Trouble::Odd(format!(
                "{setting} should be {wanted}, and the kernel has another value"
            )));
        }
    }
    Ok(())
}

/// What is configured, where the kernel does something else.
fn differing(place: &Place, shown: &Shown, property: &Property) -> Option<Value> {
    let (configured, live) = (shown.configured(property)?, kernel::live(place, shown, property)?);
    (!kernel::is_same(property, live, configured)).then_some(configured)
}

pub(crate) fn poll(place: &Place, episode: &EpisodeId) -> Result<Reply, Trouble> {
    let room = Room::enter(place)?;
    Ok(Reply::Activation(room.result(episode)?.unwrap_or(Activation::Unknown)))
}

/// One step: what was tried is what a boot gives, and the lease is over.
pub(crate) fn keep(place: &Place, episode: &EpisodeId, candidate: Identity) -> Result<Reply, Trouble> {
    let mut room = Room::enter(place)?;
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
            room.put_back_kept(&before);
            return Err(e);
        }
        room.end_rewriting()?;
    }
    end_trial(&room)?;
    Ok(Reply::Accepted)
}

pub(crate) fn restore(place: &Place, episode: &EpisodeId, wanted: Identity) -> Result<Reply, Trouble> {
    let mut room = Room::enter(place)?;
    match room.desk.restore(episode, wanted) {
        Err(refused) => return Ok(Reply::Refused(refused)),
        Ok(Restored::Trial(_)) => end_trial(&room)?,
        Ok(Restored::Kept(identity)) => {
            room.rewrite_kept(&room.layer_of(identity)?)?;
            // What a boot gives counts most: it is settled before anything that could fail. Said again, the rest is done again.
            room.save()?;
            room.end_rewriting()?;
            end_trial(&room)?;
        }
        Ok(Restored::Already(_)) if room.desk.lease().is_none() => end_trial(&room)?,
        Ok(Restored::Already(_)) => {}
    }
    room.save()?;
    Ok(Reply::Accepted)
}

pub(crate) fn cancel(place: &Place, episode: &EpisodeId) -> Result<Reply, Trouble> {
    let mut room = Room::enter(place)?;
    room.desk.cancel(episode);
    // A lease that was armed runs out now.
    undo_what_ran_out(&mut room)?;
    room.save()?;
    Ok(Reply::Accepted)
}

/// What the timer does: waits out the last moment, looks whether the lease was renewed, and undoes when it was not.
pub(crate) fn expire(place: &Place) -> Result<(), Trouble> {
    let mut room = Room::enter(place)?;
    undo_what_ran_out(&mut room)?;
    room.save()
}

fn undo_what_ran_out(room: &mut Room<'_>) -> Result<(), Trouble> {
    let episode = room.desk.lease().map(|lease| lease.episode.to_string());
    if room.desk.expire(kernel::now()).is_some() {
        end_trial(room)?;
        episode.iter().for_each(|episode| crate::log::expired(room.place, episode));
    }
    Ok(())
}

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

pub(crate) fn clean(place: &Place, keep: u32) -> Result<Reply, Trouble> {
    let room = Room::enter(place)?;
    Ok(Reply::Cleaned { removed: room.clean(keep as usize)? })
}
