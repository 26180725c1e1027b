//! The last moment before the program begins: everything that binds it for good.

use std::os::fd::{AsFd, OwnedFd};

use holdfast_cage::layer::Layer;
use holdfast_cage::plan::{Opening, Plan, Resource};
use landlock::{
    ABI, Access as _, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::process::{Resource as Kept, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::inner::{Failed, Step as _};
use crate::link::{self, Word};
use crate::sys;

/// In this order: nothing that is taken away is needed for what follows.
pub(crate) fn confine(plan: &Plan, to_watcher: &OwnedFd) -> Result<(), Failed> {
    limits(&plan.rlimits)?;
    if plan.off.contains(&Layer::Capabilities) {
        keep_capabilities()?;
    } else {
        drop_capabilities()?;
    }
    if !plan.off.contains(&Layer::NoNewPrivileges) {
        rustix::thread::set_no_new_privs(true).step("giving up new privileges")?;
    }
    if let Some(openings) = &plan.openings {
        let came_to = fence_files(openings).step("putting the second fence around files up")?;
        link::say(to_watcher, &Word::Landlock(came_to), &[]).step("saying what the second fence came to")?;
    }
    if let Some(filter) = &plan.filter {
        let listener = sys::filter(&filter.program, filter.told).step("putting the filter of calls up")?;
        if let Some(listener) = listener {
            link::say(to_watcher, &Word::Refusals, &[listener.as_fd()]).step("handing refused calls out")?;
        }
    }
    Ok(())
}

fn limits(limits: &[(Resource, u64)]) -> Result<(), Failed> {
    for (resource, value) in limits {
        let kept = match resource {
            Resource::Core => Kept::Core,
            Resource::Processes => Kept::Nproc,
            Resource::Descriptors => Kept::Nofile,
            Resource::FileSize => Kept::Fsize,
            Resource::Locked => Kept::Memlock,
            Resource::Queues => Kept::Msgqueue,
            Resource::RealTime => Kept::Rtprio,
            Resource::Nice => Kept::Nice,
        };
        // A limit that is lower already stays.
        let value = rustix::process::getrlimit(kept).maximum.map_or(*value, |most| most.min(*value));
        let both = Rlimit { current: Some(value), maximum: Some(value) };
        rustix::process::setrlimit(kept, both).step(format!("setting the limit of {resource:?}"))?;
    }
    Ok(())
}

fn drop_capabilities() -> Result<(), Failed> {
    rustix::thread::clear_ambient_capability_set().step("clearing capabilities")?;
    for capability in CapabilitySet::all().iter() {
        // One this kernel does not have cannot be held either.
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(e) => return Err(e).step("bounding capabilities"),
        }
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).step("dropping capabilities")
}

/// Only where this layer is switched off, to see that it is what refuses.
fn keep_capabilities() -> Result<(), Failed> {
    let mut sets = rustix::thread::capabilities(None).step("reading capabilities")?;
    sets.inheritable = sets.permitted;
    rustix::thread::set_capabilities(None, sets).step("keeping capabilities")?;
    for capability in sets.permitted.iter() {
        rustix::thread::configure_capability_in_ambient_set(capability, true).step("keeping capabilities")?;
    }
    Ok(())
}

/// Landlock: the grants once more, kept by another part of the kernel; signals and nameless sockets stay inside.
fn fence_files(openings: &[Opening]) -> Result<String, landlock::RulesetError> {
    let newest = ABI::V6;
    let mut ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(newest))?
        .scope(Scope::from_all(newest))?
        .create()?;
    for opening in openings {
        // What is not there cannot be opened; the plan has said so where it matters.
        let Ok(path) = PathFd::new(&opening.path) else { continue };
        ruleset = ruleset.add_rule(PathBeneath::new(path, rights(opening, newest)))?;
    }
    let status = ruleset.restrict_self()?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced => "whole",
        RulesetStatus::PartiallyEnforced => "in part",
        RulesetStatus::NotEnforced => "not there",
    }
    .to_owned())
}

fn rights(opening: &Opening, newest: ABI) -> BitFlags<AccessFs> {
    let mut rights = AccessFs::from_read(newest);
    if opening.write {
        rights |= AccessFs::from_all(newest);
        rights.remove(AccessFs::MakeChar | AccessFs::MakeBlock);
    }
    if opening.run {
        rights.insert(AccessFs::Execute)
    } else {
        rights.remove(AccessFs::Execute)
    }
    // A file has no folder's rights.
    if std::fs::metadata(&opening.path).is_ok_and(|found| found.is_dir()) {
        rights
    } else {
        rights & AccessFs::from_file(newest)
    }
}
