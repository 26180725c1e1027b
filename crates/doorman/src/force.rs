//! Has files of ours become what the kernel does, and reads that back.
//!
//! Going back does not depend on the manager: where it cannot be told, for want of room below `/run` or whatever else, the limits
//! are put into the kernel at once, and the manager is told as soon as it listens.

use std::collections::BTreeMap;

use holdfast_steward::setting::{Property, Setting, UnitName, Value};

use crate::door;
use crate::kernel;
use crate::layer::Layer;
use crate::program::Trouble;
use crate::room::{Passing, Room};
use crate::systemd::{self, Shown};

/// Puts a layer in force without what a boot gives being touched: where they differ, below `/run`.
pub(crate) fn try_layer(room: &Room<'_>, layer: &Layer) -> Result<(), Trouble> {
    let kept = room.kept()?.layer;
    let mut trial = Layer::default();
    for setting in kept.differences(layer) {
        let value = match layer.get(&setting) {
            Some(value) => value,
            // Our word is taken away: for the trial people's own value is said in its place.
            None => peoples(&systemd::show_one(&setting.unit)?, &setting.property)?,
        };
        trial.insert(setting, value);
    }
    in_force_with(room, &trial)
}

/// Ends a trial: what is kept is in force, and nothing else. May be done as often as one likes.
pub(crate) fn end_trial(room: &Room<'_>) -> Result<(), Trouble> {
    let undone = in_force_with(room, &Layer::default());
    if undone.is_err() {
        put_kept_into_kernel(room);
    }
    revive(room);
    undone
}

/// The units that may be changed and that run now.
pub(crate) fn what_runs(room: &Room<'_>) -> Result<Vec<UnitName>, Trouble> {
    let running = shown(room)?.into_iter().filter(|(_, shown)| shown.is_active());
    Ok(running.map(|(unit, _)| unit).collect())
}

/// What ran before the last trial and has failed since is started again: a limit that is back is no help to a service that
/// the manager has given up. What a person has stopped has not failed.
fn revive(room: &Room<'_>) {
    let (Ok(Some(attempt)), Ok(shown)) = (room.last_result(), shown(room)) else { return };
    for (unit, _) in shown.iter().filter(|(unit, shown)| shown.has_failed() && attempt.ran.contains(unit)) {
        if let Err(trouble) = systemd::start_again(unit) {
            door::warn(&format!("{unit} failed while something was tried and does not start: {trouble}"));
        }
    }
}

/// Takes away what a step that was cut off between two of the manager's deeds has left there.
pub(crate) fn clear_what_was_applied(room: &Room<'_>) -> Result<(), Trouble> {
    let Some((setting, value)) = room.passing().and_then(|passing| passing.applying) else { return Ok(()) };
    // What the manager was told last it may do only now: a reload comes after it.
    systemd::reload()?;
    systemd::clear_control(room.place, &setting, value)?;
    systemd::reload()?;
    room.pass(&Passing::default())
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
    // Whoever finds this knows that it did not end. Going back goes on without it.
    let _ = room.pass(&Passing::default());
    room.rewrite_trial(trial)?;
    put_in_force(room, &touched)?;
    room.has_passed()
}

/// Has the manager read its files, and makes what they say what the kernel does; reads it back.
fn put_in_force(room: &Room<'_>, settings: &[Setting]) -> Result<(), Trouble> {
    systemd::reload()?;
    apply_what_is_live(room, settings)?;
    restart_for_the_rest(room, settings)?;
    let shown = shown(room)?;
    match settings.iter().find_map(|it| Some((it, differing(room, &shown, it)?))) {
        None => Ok(()),
        Some((setting, wanted)) => {
            Err(Trouble::Odd(format!("{setting} should be {wanted}, and the kernel has another value")))
        }
    }
}

fn apply_what_is_live(room: &Room<'_>, settings: &[Setting]) -> Result<(), Trouble> {
    let (before, mut applied) = (shown(room)?, false);
    for setting in settings.iter().filter(|setting| !setting.property.needs_restart()) {
        if let Some(value) = differing(room, &before, setting) {
            apply(room, setting, value)?;
            applied = true;
        }
    }
    // The manager forgets the files that it had left.
    if applied { systemd::reload() } else { Ok(()) }
}

/// The manager leaves the value in a file of its own, which is taken away again: what is configured is in our own, and one that
/// nobody knows of would be somebody else's to explain. That it is about to be ours is written down first.
fn apply(room: &Room<'_>, setting: &Setting, value: Value) -> Result<(), Trouble> {
    if systemd::control_file(room.place, setting).exists() {
        // Somebody said it at run time. It says the same afterwards, and stays.
        return systemd::set_property(setting, value);
    }
    room.pass(&Passing { applying: Some((setting.clone(), value)) })?;
    let told = systemd::set_property(setting, value);
    systemd::clear_control(room.place, setting, value)?;
    told?;
    room.pass(&Passing::default())
}

fn restart_for_the_rest(room: &Room<'_>, settings: &[Setting]) -> Result<(), Trouble> {
    let mut rest = settings.iter().filter(|setting| setting.property.needs_restart()).peekable();
    if rest.peek().is_none() {
        return Ok(());
    }
    let shown = shown(room)?;
    let mut units: Vec<&UnitName> = rest
        .filter(|setting| differing(room, &shown, setting).is_some())
        .map(|setting| &setting.unit)
        .collect();
    units.dedup();
    units.into_iter().try_for_each(systemd::restart)
}

/// The manager could not be told. What it would have done to the limits is done.
fn put_kept_into_kernel(room: &Room<'_>) {
    let (Ok(kept), Ok(shown)) = (room.kept(), shown(room)) else { return };
    for (unit, shown) in &shown {
        for setting in systemd::settings_of(unit) {
            let wanted = kept.layer.get(&setting).or_else(|| peoples(shown, &setting.property).ok());
            let live = kernel::live(room.place, shown, &setting.property);
            let (Some(wanted), Some(live)) = (wanted, live) else { continue };
            if !kernel::is_same(&setting.property, live, wanted) {
                kernel::put(room.place, shown, &setting.property, wanted);
                door::warn(&format!("{setting} was put back without the manager"));
            }
        }
    }
}

fn peoples(shown: &Shown, property: &Property) -> Result<Value, Trouble> {
    systemd::peoples_value(shown, property, kernel::meminfo("MemTotal").unwrap_or(u64::MAX))
}

/// All units that may be changed, as the manager shows them now.
fn shown(room: &Room<'_>) -> Result<BTreeMap<UnitName, Shown>, Trouble> {
    let units: Vec<&str> = room.settings.units.iter().map(UnitName::as_str).collect();
    let shown = systemd::show(&units)?;
    match shown.len() == units.len() {
        // In the order in which they were asked for; a unit may have another name besides.
        true => Ok(room.settings.units.iter().cloned().zip(shown).collect()),
        false => Err(Trouble::Odd("systemctl does not show all units".to_owned())),
    }
}

/// What is configured, where the kernel does something else.
fn differing(room: &Room<'_>, shown: &BTreeMap<UnitName, Shown>, setting: &Setting) -> Option<Value> {
    let (shown, property) = (shown.get(&setting.unit)?, &setting.property);
    let (configured, live) = (shown.configured(property)?, kernel::live(room.place, shown, property)?);
    (!kernel::is_same(property, live, configured)).then_some(configured)
}
