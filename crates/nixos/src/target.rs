//! The words, on the host: each enters the room, has the desk decide, carries that out, and writes it down.

use std::path::Path;
use std::time::Duration;

use holdfast_git::NotDone;
use holdfast_lifeline::{BootId, EpisodeId, Identity, Lease, Refused, Restored, Steady};
use holdfast_steward::effect::{Activation, Answer, Fault, Full, Staged, TargetState, Verb, Workload};
use holdfast_steward::setting::{Change, UnitName};
use sha2::{Digest, Sha256};

use crate::candidate::NotBuilt;
use crate::machine::{Machine, NotRun, Said};
use crate::place::Place;
use crate::reading::{self, Generation};
use crate::repository::head;
use crate::room::{Manifest, Room, Trial, Trouble};
use crate::step::{How, Step};
use crate::store::StorePath;

/// The newest generations that stay whatever happens.
const KEPT: usize = 3;
/// A timer that fires early would find a lease that has not run out.
const TIMER_LATER: Duration = Duration::from_secs(1);
/// What `switch-to-configuration` ends with when all was switched and some unit would not start.
const UNITS_FAILED: i32 = 4;

/// A NixOS host, and who runs its programs.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a, M> {
    pub place: &'a Place,
    pub machine: &'a M,
    /// The units that may be changed.
    pub units: &'a [UnitName],
}

impl<M: Machine> Target<'_, M> {
    /// The first day, by a person: what runs has to be what is booted into and what the clone builds.
    pub fn enrol(&self) -> Result<(), Trouble> {
        let (running, booted) = (self.running()?, self.booted()?);
        if running != booted {
            return Err(Trouble::Odd(format!("{running} runs, and a boot would give {booted}")));
        }
        match self.adopt(&running) {
            Ok(found) => Room::begin(self.place, self.boot()?, &found),
            Err(NotBuilt::Wrong(why)) => Err(Trouble::Odd(why)),
            Err(NotBuilt::Trouble(trouble)) => Err(trouble),
        }
    }

    pub fn call(&self, verb: &Verb) -> Result<Answer, Fault> {
        self.answer(verb).map_err(|trouble| fault_of(&trouble))?.map_err(Fault::Refused)
    }

    /// What the host tells itself: the timer, and the activation in its unit.
    pub fn own(&self, args: &[&str]) -> Result<(), Trouble> {
        let odd = |e: &dyn std::fmt::Display| Trouble::Odd(e.to_string());
        match args {
            ["expire"] => self.expire(),
            ["activate", episode, candidate] => {
                let episode = episode.parse().map_err(|e| odd(&e))?;
                self.activate(&episode, candidate.parse().map_err(|e| odd(&e))?)
            }
            _ => Err(Trouble::Odd("this is not called by hand".to_owned())),
        }
    }

    fn answer(&self, verb: &Verb) -> Result<Result<Answer, Refused>, Trouble> {
        let mut room = self.enter()?;
        match verb {
            Verb::Check { changes } => self.check(&room, changes).map(|checked| Ok(Answer::Checked(checked))),
            // A build would hold up the renewing of a lease that stands.
            Verb::Stage { episode, .. }
                if room.saved.desk.lease().is_some_and(|lease| lease.episode != *episode) =>
            {
                Ok(Err(Refused::Busy))
            }
            Verb::Stage { base, changes, .. } => self.stage(&room, *base, changes),
            Verb::Arm { episode, known_good, candidate, lasts, cap } => {
                let now = self.now()?;
                let (expires, cap) = (now.plus(*lasts), now.plus(*cap));
                let (known_good, candidate, lasts) = (*known_good, *candidate, *lasts);
                self.arm(
                    &mut room,
                    Lease { episode: episode.clone(), known_good, candidate, lasts, expires, cap },
                    now,
                )
            }
            Verb::Try { episode, candidate } => self.begin(&mut room, episode, *candidate),
            Verb::Poll { episode } => self.poll(&mut room, episode).map(|it| Ok(Answer::Activation(it))),
            Verb::Keep { episode, candidate } => self.keep(&mut room, episode, *candidate),
            Verb::Restore { episode, wanted } => self.restore(&mut room, episode, *wanted),
            Verb::Cancel { episode } => {
                room.saved.desk.cancel(episode);
                // A lease that was armed runs out now.
                self.undo_what_ran_out(&mut room)?;
                room.save()?;
                Ok(Ok(Answer::Accepted))
            }
        }
    }

    // --- entering

    /// Enters and settles what was left half-done. What cannot be settled now is left to the lease's timer, or to whoever comes next: a
    /// look has to be possible meanwhile, and nothing is tried on what is not known-good.
    fn enter(&self) -> Result<Room<'_>, Trouble> {
        let mut room = self.open()?;
        let was = room.saved.clone();
        match self.settle(&mut room) {
            Ok(()) => Ok(room),
            Err(Trouble::NotRun(not_run)) => Err(not_run.into()),
            Err(_) => {
                room.saved = was;
                Ok(room)
            }
        }
    }

    /// A lease that ran out unseen, or something that runs without a lease because a way back stopped half-way.
    fn settle(&self, room: &mut Room<'_>) -> Result<(), Trouble> {
        self.undo_what_ran_out(room)?;
        if room.saved.unsettled && room.saved.desk.lease().is_none() {
            self.end_trial(room, room.saved.desk.boots_into())?;
            room.save()?;
        }
        Ok(())
    }

    /// Waits for the lock and brings the desk up to date: with a boot, a rewriting that did not end, and what people deployed meanwhile.
    fn open(&self) -> Result<Room<'_>, Trouble> {
        let mut room = Room::enter(self.place, self.boot()?)?;
        if room.is_rewriting() {
            let system = self.system_of(&room, room.saved.desk.boots_into())?;
            self.make_boot(&system)?;
            room.end_rewriting()?;
        }
        let booted = self.booted()?.identity();
        if booted != room.saved.desk.boots_into() {
            room.saved.desk.overtaken(booted);
            room.saved.unsettled = false;
            room.save()?;
        }
        Ok(room)
    }

    // --- before a trial

    fn check(&self, room: &Room<'_>, changes: &[Change]) -> Result<Result<(), String>, Trouble> {
        if let Err(why) = self.are_for_this_host(changes) {
            return Ok(Err(why));
        }
        match self.base(room).and_then(|base| self.check_candidate(&base, changes)) {
            Ok(()) => Ok(Ok(())),
            Err(NotBuilt::Wrong(why)) => Ok(Err(why)),
            Err(NotBuilt::Trouble(trouble)) => Err(trouble),
        }
    }

    fn are_for_this_host(&self, changes: &[Change]) -> Result<(), String> {
        match changes.iter().find(|change| !self.units.contains(&change.setting.unit)) {
            Some(change) => Err(format!("{} is not a unit that may be changed here", change.setting.unit)),
            None => Ok(()),
        }
    }

    /// What runs, and what it is made of. Deployed by people and not known yet, it is taken from the clone.
    fn base(&self, room: &Room<'_>) -> Result<Manifest, NotBuilt> {
        let running = self.running()?;
        if let Some(known) = room.manifest(running.identity())? {
            return Ok(known);
        }
        let found = self.adopt(&running)?;
        room.know(&found)?;
        Ok(found)
    }

    fn stage(
        &self,
        room: &Room<'_>,
        base: Identity,
        changes: &[Change],
    ) -> Result<Result<Answer, Refused>, Trouble> {
        if self.running()?.identity() != base || room.saved.desk.boots_into() != base {
            return Ok(Err(Refused::NotKnownGood));
        }
        if let Err(why) = self.are_for_this_host(changes) {
            return Ok(Ok(Answer::Staged(Err(why))));
        }
        let link = self.place.state.join("staging");
        let built = self.base(room).and_then(|base| self.candidate(&base, changes, &link));
        match built {
            Ok(manifest) => {
                let staged = self.staged(room, &manifest, &link)?;
                Ok(Ok(Answer::Staged(Ok(staged))))
            }
            Err(NotBuilt::Wrong(why)) => Ok(Ok(Answer::Staged(Err(why)))),
            Err(NotBuilt::Trouble(trouble)) => Err(trouble),
        }
    }

    /// Writes down what was built, and keeps it in the store under a link of its own.
    fn staged(&self, room: &Room<'_>, manifest: &Manifest, link: &Path) -> Result<Staged, Trouble> {
        let identity = manifest.system.identity();
        let mut needed = self.needed(room)?;
        needed.push(identity);
        room.forget_all_but(&needed);
        room.know(manifest)?;
        let root = room.root_of(identity);
        if !root.exists() {
            // Another link to the same is how the store is told of it under the name that stays.
            self.must(Step::Root { system: manifest.system.clone(), link: root }, "nix-store --add-root")?;
        }
        let _ = std::fs::remove_file(link);
        Ok(Staged { identity, com: Box::new(manifest.com.clone()) })
    }

    fn arm(
        &self,
        room: &mut Room<'_>,
        lease: Lease,
        now: Steady,
    ) -> Result<Result<Answer, Refused>, Trouble> {
        let running = self.running()?.identity();
        let (known_good, candidate) = (lease.known_good, lease.candidate);
        let timer = room.unique("lease")?;
        let armed = match room.saved.desk.arm(lease, running) {
            Err(refused) => return Ok(Err(refused)),
            Ok(armed) => armed,
        };
        // A way back that is not there is found out before the way forward.
        for identity in [known_good, candidate] {
            self.is_whole(&self.system_of(room, identity)?)?;
        }
        // The timer first: a lease that is written down and never runs out would be none.
        self.set_timer(timer, armed.expires.since(now))?;
        room.save()?;
        Ok(Ok(Answer::Armed(armed)))
    }

    /// One more timer. Those before it stay, fire, find the lease renewed, and are gone.
    fn set_timer(&self, unit: String, after: Duration) -> Result<(), Trouble> {
        self.must(Step::Timer { unit, after: after + TIMER_LATER }, "systemd-run").map(drop)
    }

    // --- the trial

    fn begin(
        &self,
        room: &mut Room<'_>,
        episode: &EpisodeId,
        candidate: Identity,
    ) -> Result<Result<Answer, Refused>, Trouble> {
        if let Err(refused) = room.saved.desk.may_try(episode, candidate, self.now()?) {
            return Ok(Err(refused));
        }
        if room.saved.trial.as_ref().is_some_and(|trial| trial.episode == *episode) {
            return Ok(Ok(Answer::Accepted));
        }
        let unit = room.unique("trial")?;
        room.saved.trial =
            Some(Trial { episode: episode.clone(), unit: unit.clone(), activation: Activation::Running });
        room.saved.unsettled = true;
        room.save()?;
        let begun = self.must(Step::Activate { unit, episode: episode.clone(), candidate }, "systemd-run");
        if begun.is_err() {
            self.ended(room, episode, Activation::Failed)?;
        }
        begun.map(|_| Ok(Answer::Accepted))
    }

    fn ended(&self, room: &mut Room<'_>, episode: &EpisodeId, activation: Activation) -> Result<(), Trouble> {
        if let Some(trial) = room.saved.trial.as_mut().filter(|trial| trial.episode == *episode) {
            trial.activation = activation;
        }
        room.save()
    }

    /// The activation itself, away from any session. The lock is not held meanwhile: the lease has to be renewed and may run out.
    fn activate(&self, episode: &EpisodeId, candidate: Identity) -> Result<(), Trouble> {
        let mut room = self.enter()?;
        // The lease may have run out since this was begun.
        if room.saved.desk.may_try(episode, candidate, self.now()?).is_err() {
            return self.ended(&mut room, episode, Activation::Failed);
        }
        let system =
            self.system_of(&room, candidate).and_then(|system| self.is_whole(&system).map(|()| system));
        let system = match system {
            Ok(system) => system,
            Err(trouble) => {
                self.ended(&mut room, episode, Activation::Failed)?;
                return Err(trouble);
            }
        };
        drop(room);
        let said = self.machine.run(self.place, &Step::Switch { system, how: How::Test });
        let mut room = self.enter()?;
        let stands = room.saved.desk.may_try(episode, candidate, self.now()?).is_ok();
        let is_done =
            stands && matches!(&said, Ok(said) if said.code == 0) && self.running()?.identity() == candidate;
        let activation = match is_done {
            true => {
                Activation::Done { identity: candidate, boot: room.saved.boot, workload: self.workload()? }
            }
            false => Activation::Failed,
        };
        self.ended(&mut room, episode, activation)
    }

    fn poll(&self, room: &mut Room<'_>, episode: &EpisodeId) -> Result<Activation, Trouble> {
        let Some(trial) = room.saved.trial.as_ref().filter(|trial| trial.episode == *episode) else {
            return Ok(Activation::Unknown);
        };
        // It writes its end down under the lock, which is held here: one that is gone without has died.
        if trial.activation == Activation::Running && !self.is_active(&trial.unit)? {
            self.ended(room, episode, Activation::Failed)?;
            return Ok(Activation::Failed);
        }
        Ok(trial.activation)
    }

    fn is_active(&self, unit: &str) -> Result<bool, Trouble> {
        let said = self.must(Step::IsActive { unit: unit.to_owned() }, "systemctl show")?;
        Ok(matches!(said.trim(), "active" | "activating" | "reloading" | "deactivating"))
    }

    // --- keeping

    /// One step: what was tried is what a boot gives, and the lease is over.
    fn keep(
        &self,
        room: &mut Room<'_>,
        episode: &EpisodeId,
        candidate: Identity,
    ) -> Result<Result<Answer, Refused>, Trouble> {
        let (running, now) = (self.running()?, self.now()?);
        let was = room.saved.clone();
        if let Err(refused) = room.saved.desk.keep(episode, candidate, running.identity(), now) {
            return Ok(Err(refused));
        }
        // Said again, it is done already.
        if room.saved.desk != was.desk {
            let (before, listed) = (self.booted()?, self.generations()?);
            room.saved.unsettled = false;
            let kept = room
                .begin_rewriting()
                .and_then(|()| {
                    self.must(Step::SetProfile { system: running.clone() }, "nix-env --set").map(drop)
                })
                .and_then(|()| self.switch(&running, How::Switch))
                .and_then(|()| self.is_running_and_booted(&running))
                .and_then(|()| room.save());
            if let Err(trouble) = kept {
                // What a boot gives is put back; the lease still stands, and undoes the rest.
                room.saved = was;
                self.put_back(room, &before, &listed);
                return Err(trouble);
            }
            room.end_rewriting()?;
        }
        Ok(Ok(Answer::Accepted))
    }

    /// After keeping failed. What cannot be put back now is put back by whoever enters next: the note is still there.
    fn put_back(&self, room: &Room<'_>, before: &StorePath, listed: &[Generation]) {
        if self.make_boot(before).is_ok() {
            let _ = room.end_rewriting();
            let numbers: Vec<u32> =
                self.generations().unwrap_or_default().iter().map(|it| it.number).collect();
            let new: Vec<u32> =
                numbers.into_iter().filter(|number| listed.iter().all(|it| it.number != *number)).collect();
            if !new.is_empty() {
                let _ = self.must(Step::DeleteGenerations { numbers: new }, "nix-env --delete-generations");
            }
        }
    }

    fn is_running_and_booted(&self, system: &StorePath) -> Result<(), Trouble> {
        let (running, booted) = (self.running()?, self.booted()?);
        match running == *system && booted == *system {
            true => Ok(()),
            false => Err(Trouble::Odd(format!("{system} was kept, and {running} runs and {booted} boots"))),
        }
    }

    // --- going back

    fn restore(
        &self,
        room: &mut Room<'_>,
        episode: &EpisodeId,
        wanted: Identity,
    ) -> Result<Result<Answer, Refused>, Trouble> {
        match room.saved.desk.restore(episode, wanted) {
            Err(refused) => return Ok(Err(refused)),
            Ok(Restored::Trial(identity)) => self.end_trial(room, identity)?,
            Ok(Restored::Kept(identity)) => {
                let system = self.system_of(room, identity)?;
                self.is_whole(&system)?;
                // What a boot gives counts most: it is settled before anything that could fail. Said again, the rest is done again.
                room.begin_rewriting()?;
                self.make_boot(&system)?;
                room.saved.unsettled = true;
                room.save()?;
                room.end_rewriting()?;
                self.end_trial(room, identity)?;
            }
            Ok(Restored::Already(_)) if room.saved.desk.lease().is_none() => {
                self.end_trial(room, room.saved.desk.boots_into())?;
            }
            Ok(Restored::Already(_)) => {}
        }
        room.save()?;
        Ok(Ok(Answer::Accepted))
    }

    /// What the timer does: looks whether the lease was renewed, and undoes when it was not. Fails when that did not work, to be tried
    /// again.
    fn expire(&self) -> Result<(), Trouble> {
        let mut room = self.open()?;
        self.settle(&mut room)
    }

    fn undo_what_ran_out(&self, room: &mut Room<'_>) -> Result<(), Trouble> {
        if let Some(known_good) = room.saved.desk.expire(self.now()?) {
            self.end_trial(room, known_good)?;
            room.save()?;
        }
        Ok(())
    }

    /// Runs this again. An activation that is still under way is stopped first: it must not overtake its own undoing.
    fn end_trial(&self, room: &mut Room<'_>, wanted: Identity) -> Result<(), Trouble> {
        let begun = room.saved.trial.as_ref().filter(|trial| trial.activation == Activation::Running);
        if let Some(trial) = begun
            && self.is_active(&trial.unit)?
        {
            self.must(Step::Stop { unit: trial.unit.clone() }, "systemctl stop")?;
        }
        if !room.saved.unsettled && self.running()?.identity() == wanted {
            return Ok(());
        }
        let system = self.system_of(room, wanted)?;
        self.is_whole(&system)?;
        let said = self.machine.run(self.place, &Step::Switch { system: system.clone(), how: How::Test })?;
        let running = self.running()?;
        // A unit that does not start is seen in the workload; the system is the wanted one all the same.
        if running != system || !matches!(said.code, 0 | UNITS_FAILED) {
            return Err(failed("switch-to-configuration test", &said));
        }
        if let Some(trial) = room.saved.trial.as_mut().filter(|trial| trial.activation == Activation::Running)
        {
            trial.activation = Activation::Failed;
        }
        room.saved.unsettled = false;
        Ok(())
    }

    /// Has a boot give this: the profile by its number where it has one, and the boot loader.
    fn make_boot(&self, system: &StorePath) -> Result<(), Trouble> {
        if self.booted().ok().as_ref() != Some(system) {
            let numbered =
                self.generations()?.into_iter().rev().find(|generation| generation.system == *system);
            match numbered {
                Some(Generation { number, .. }) => {
                    self.must(Step::SwitchGeneration { number }, "nix-env --switch-generation")?
                }
                None => self.must(Step::SetProfile { system: system.clone() }, "nix-env --set")?,
            };
        }
        self.switch(system, How::Boot)
    }

    fn switch(&self, system: &StorePath, how: How) -> Result<(), Trouble> {
        self.must(Step::Switch { system: system.clone(), how }, "switch-to-configuration").map(drop)
    }

    // --- looking

    pub fn state(
        &self,
        full: bool,
        renew: Option<&EpisodeId>,
        about: Option<&EpisodeId>,
    ) -> Result<TargetState, Fault> {
        self.seen(full, renew, about).map_err(|trouble| fault_of(&trouble))
    }

    fn seen(
        &self,
        full: bool,
        renew: Option<&EpisodeId>,
        about: Option<&EpisodeId>,
    ) -> Result<TargetState, Trouble> {
        let mut room = self.enter()?;
        if let Some(episode) = renew {
            let (now, timer) = (self.now()?, room.unique("lease")?);
            // A lease that cannot be renewed shows in what runs; the look itself is still worth having.
            if let Ok(armed) = room.saved.desk.renew(episode, now) {
                self.set_timer(timer, armed.expires.since(now))?;
                room.save()?;
            }
        }
        let running = self.running()?;
        let full = match full {
            true => self.everything(&room, &running)?,
            false => None,
        };
        let head = head(self.place)?;
        Ok(TargetState {
            running: running.identity(),
            boots_into: self.booted()?.identity(),
            boot: room.saved.boot,
            people: digest(head.as_str()),
            workload: self.workload()?,
            ended: about.and_then(|episode| room.saved.desk.ending(episode)),
            leased: room.saved.desk.lease().is_some(),
            metric: self.said(&Step::Pressure)?.and_then(|text| reading::pressure(&text)),
            full,
        })
    }

    /// Nothing where people deployed what the clone does not build.
    fn everything(&self, room: &Room<'_>, running: &StorePath) -> Result<Option<Box<Full>>, Trouble> {
        let manifest = match room.manifest(running.identity())? {
            Some(manifest) => manifest,
            None => match self.base(room) {
                Ok(manifest) => manifest,
                Err(NotBuilt::Wrong(_)) => return Ok(None),
                Err(NotBuilt::Trouble(trouble)) => return Err(trouble),
            },
        };
        let space = self.must(Step::Space, "df")?;
        Ok(Some(Box::new(Full {
            com: manifest.com,
            baseline: manifest.baseline,
            generations: u32::try_from(self.generations()?.len()).unwrap_or(u32::MAX),
            space: reading::space(&space).ok_or_else(|| Trouble::Odd("df said no number".to_owned()))?,
        })))
    }

    fn workload(&self) -> Result<Workload, Trouble> {
        let text = self.must(Step::Units { units: self.units.to_vec() }, "systemctl show")?;
        let shown = reading::units(&text);
        let mut workload = Workload { active: true, ..Workload::default() };
        for unit in self.units {
            let one = shown.get(unit.as_str()).cloned().unwrap_or_default();
            workload.active &= one.state == "active";
            workload.failed_units += u32::from(one.state == "failed");
            workload.restarts = workload.restarts.saturating_add(one.restarts);
            if is_group(&one.group) {
                let kills =
                    self.said(&Step::Kills { group: one.group })?.and_then(|text| reading::kills(&text));
                workload.kills = workload.kills.saturating_add(kills.unwrap_or_default());
            }
        }
        Ok(workload)
    }

    /// The states that can be gone back to, oldest first.
    pub fn generations(&self) -> Result<Vec<Generation>, Trouble> {
        let text = self.must(Step::Generations, "find")?;
        Ok(reading::generations(&self.place.store, &self.place.profile, &text))
    }

    /// Removes old generations by their numbers, then what the store has no other use for.
    pub fn collect_garbage(&self, keep: usize) -> Result<usize, Fault> {
        self.collected(keep).map_err(|trouble| fault_of(&trouble))
    }

    fn collected(&self, keep: usize) -> Result<usize, Trouble> {
        let room = self.enter()?;
        let (all, needed) = (self.generations()?, self.needed_now(&room)?);
        let old = all.len().saturating_sub(keep.max(KEPT));
        let numbers: Vec<u32> = all
            .iter()
            .take(old)
            .filter(|generation| !needed.contains(&generation.system.identity()))
            .map(|generation| generation.number)
            .collect();
        let removed = numbers.len();
        if removed > 0 {
            self.must(Step::DeleteGenerations { numbers }, "nix-env --delete-generations")?;
            room.forget_all_but(&self.needed(&room)?);
            self.must(Step::CollectStore, "nix-store --gc")?;
        }
        Ok(removed)
    }

    /// What runs, what boots, and what a trial is about.
    fn needed_now(&self, room: &Room<'_>) -> Result<Vec<Identity>, Trouble> {
        let mut needed =
            vec![self.running()?.identity(), self.booted()?.identity(), room.saved.desk.boots_into()];
        needed.extend(
            room.saved.desk.lease().into_iter().flat_map(|lease| [lease.known_good, lease.candidate]),
        );
        Ok(needed)
    }

    /// Those, and everything that can be gone back to.
    fn needed(&self, room: &Room<'_>) -> Result<Vec<Identity>, Trouble> {
        let mut needed = self.needed_now(room)?;
        needed.extend(self.generations()?.iter().map(|generation| generation.system.identity()));
        Ok(needed)
    }

    /// The path behind an identity: a generation, or something that was staged.
    fn system_of(&self, room: &Room<'_>, identity: Identity) -> Result<StorePath, Trouble> {
        let numbered =
            self.generations()?.into_iter().find(|it| it.system.identity() == identity).map(|it| it.system);
        let known = match numbered {
            Some(system) => Some(system),
            None => room.manifest(identity)?.map(|manifest| manifest.system),
        };
        known.ok_or_else(|| Trouble::Odd(format!("no generation here is {identity:?}")))
    }

    fn is_whole(&self, system: &StorePath) -> Result<(), Trouble> {
        self.must(Step::IsValid { system: system.clone() }, "nix-store --check-validity").map(drop)
    }

    fn running(&self) -> Result<StorePath, Trouble> {
        self.path_of(Step::Current)
    }

    /// What the profile names.
    fn booted(&self) -> Result<StorePath, Trouble> {
        self.path_of(Step::Profile)
    }

    fn path_of(&self, step: Step) -> Result<StorePath, Trouble> {
        let said = self.must(step, "readlink")?;
        StorePath::parse(&self.place.store, said.trim_end_matches('\n'))
            .map_err(|e| Trouble::Odd(e.to_string()))
    }

    fn now(&self) -> Result<Steady, Trouble> {
        let said = self.must(Step::Uptime, "reading the clock")?;
        reading::uptime(&said).ok_or_else(|| Trouble::Odd("the clock cannot be read".to_owned()))
    }

    fn boot(&self) -> Result<BootId, Trouble> {
        let said = self.must(Step::BootId, "reading which boot this is")?;
        reading::boot_id(&said).ok_or_else(|| Trouble::Odd("which boot this is cannot be read".to_owned()))
    }

    // --- steps

    /// A step that has to end well.
    pub(crate) fn must(&self, step: Step, what: &'static str) -> Result<String, Trouble> {
        let said = self.machine.run(self.place, &step)?;
        match said.code {
            0 => Ok(said.text),
            _ => Err(failed(what, &said)),
        }
    }

    /// A step that may find nothing.
    fn said(&self, step: &Step) -> Result<Option<String>, Trouble> {
        let said = self.machine.run(self.place, step)?;
        Ok((said.code == 0).then_some(said.text))
    }
}

fn failed(what: &'static str, said: &Said) -> Trouble {
    Trouble::Failed { what, code: said.code, why: said.why() }
}

/// What a controller is told.
fn fault_of(trouble: &Trouble) -> Fault {
    match trouble {
        Trouble::NotRun(NotRun::Unreachable) => Fault::Unreachable,
        Trouble::NotRun(NotRun::TooLong { .. }) | Trouble::Git(NotDone::TooLong { .. }) => Fault::TimedOut,
        Trouble::NotRun(NotRun::NoProgram { .. })
        | Trouble::Git(_)
        | Trouble::Failed { .. }
        | Trouble::File { .. }
        | Trouble::Odd(_) => Fault::Broken,
    }
}

/// A control group as systemd writes it; it goes into a path.
fn is_group(text: &str) -> bool {
    text.starts_with('/') && text.len() > 1 && !text.contains("..") && !text.contains('\0')
}

fn digest(text: &str) -> u64 {
    let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    hash.iter().take(8).fold(0, |so, byte| so << 8 | u64::from(*byte))
}
