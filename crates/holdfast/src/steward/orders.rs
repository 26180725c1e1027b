//! What people order of one target's worker.

use holdfast_control::{StewardDone, StewardOrder};
use holdfast_steward::effect::{Input, Person};
use holdfast_steward::episode::Phase;
use holdfast_steward::ladder::{self, Level};
use holdfast_steward_host::LogFailed;
use holdfast_types::Actor;

use super::StewardError;
use super::records::{level_name, level_of};
use super::worker::Worker;
use crate::problem::Result;

impl Worker {
    pub(crate) fn order(
        &mut self,
        order: &StewardOrder,
        actor: &Actor,
        dry_run: bool,
    ) -> Result<StewardDone> {
        let said = match order {
            StewardOrder::Trigger => self.trigger(actor, dry_run),
            StewardOrder::Level { to } => self.set_level(to, dry_run),
            StewardOrder::RollBack => self.roll_back(dry_run),
            StewardOrder::Accept => self.accept(dry_run),
            StewardOrder::Reset => self.reset(dry_run),
            StewardOrder::Review { episode } => self.review(episode, dry_run),
            StewardOrder::Rehearsed { tripwire } => self.rehearsed(*tripwire, dry_run),
        }?;
        Ok(StewardDone {
            target: self.place.name.to_string(),
            said: said.sentence,
            level: level_name(self.steward().level()).to_owned(),
            episode: self.steward().episode().map(|episode| episode.id.to_string()),
            repeated: said.repeated,
            dry_run,
        })
    }

    fn person(&mut self, person: Person, dry_run: bool) -> Result<()> {
        if dry_run {
            return Ok(());
        }
        let failed = |e: LogFailed| StewardError::NotKept { why: e.why };
        Ok(self.step(Input::Person(person)).map_err(failed)?)
    }

    fn trigger(&mut self, actor: &Actor, dry_run: bool) -> Result<Said> {
        if let Some(why) = self.hindrance() {
            return Err(self.held(why).into());
        }
        let by = actor.as_str().parse();
        let by = by.map_err(|_| self.held("whoever asks has no name that can be kept".to_owned()))?;
        let before = self.runner.log().seen().queued;
        self.person(Person::Trigger { by }, dry_run)?;
        if !dry_run && self.runner.log().seen().queued == before {
            return Err(self.held("it was looked into just now".to_owned()).into());
        }
        Ok(match self.steward().episode() {
            Some(episode) => Said::new(format!("planned when {} is over", episode.id)),
            None => Said::new("a cycle of planning begins in a moment"),
        })
    }

    /// What keeps everything from being planned.
    fn hindrance(&self) -> Option<String> {
        let steward = self.steward();
        if !ladder::may_plan(steward.level()) {
            Some(format!("at the level {} nothing is planned", level_name(steward.level())))
        } else if self.paused {
            Some("autonomy is paused".to_owned())
        } else if steward.breaker_is_open() {
            Some(format!("the breaker is open; `holdfast steward reset {}` closes it", self.place.name))
        } else if steward.has_drifted() {
            Some(format!(
                "it is not what it was left as; see it, then `holdfast steward accept {}`",
                self.place.name
            ))
        } else {
            None
        }
    }

    fn held(&self, why: String) -> StewardError {
        StewardError::Held { target: self.place.name.to_string(), why }
    }

    fn set_level(&mut self, to: &str, dry_run: bool) -> Result<Said> {
        let to = level_of(to).ok_or_else(|| StewardError::UnknownLevel { name: to.to_owned() })?;
        let from = self.steward().level();
        if to == from {
            return Ok(Said { repeated: true, ..Said::new(format!("is at {} already", level_name(to))) });
        }
        if to > from {
            self.may_rise(from, to)?;
        }
        self.person(Person::SetLevel { to }, dry_run)?;
        Ok(Said::new(format!("from {} to {}", level_name(from), level_name(to))))
    }

    fn may_rise(&self, from: Level, to: Level) -> Result<()> {
        let now = self.moment();
        if self.place.is_only_watched() {
            let missing = vec![format!(
                "it would have to be changed, and by the driver {} it is only looked at",
                self.place.driver().word()
            )];
            let (from, to) = (level_name(from), level_name(to));
            return Err(StewardError::LevelRefused {
                target: self.place.name.to_string(),
                from,
                to,
                missing,
            }
            .into());
        }
        let missing = match ladder::raise(from, self.steward().evidence(), now) {
            Ok(next) if next == to => return Ok(()),
            Ok(next) => vec![format!("{} comes first", level_name(next))],
            Err(missing) => missing.into_iter().map(|missing| missing.sentence).collect(),
        };
        let (from, to) = (level_name(from), level_name(to));
        Err(StewardError::LevelRefused { target: self.place.name.to_string(), from, to, missing }.into())
    }

    fn roll_back(&mut self, dry_run: bool) -> Result<Said> {
        let nothing = |why| StewardError::NothingToUndo { target: self.place.name.to_string(), why };
        let Some(episode) = self.steward().episode() else {
            return Err(nothing("no episode is open, and what was kept is past its probation").into());
        };
        match episode.phase {
            Phase::Claiming { .. }
            | Phase::Keeping { .. }
            | Phase::ReadingBack { .. }
            | Phase::Closing { .. } => {
                return Err(nothing("it is being settled this moment; ask again").into());
            }
            Phase::TakingOver { .. } | Phase::Undoing { .. } | Phase::StandingBy { .. } => {
                return Ok(Said {
                    repeated: true,
                    ..Said::new(format!("{} is being undone already", episode.id))
                });
            }
            _ => {}
        }
        let said = format!("{} is undone", episode.id);
        self.person(Person::RollBack, dry_run)?;
        Ok(Said::new(said))
    }

    fn accept(&mut self, dry_run: bool) -> Result<Said> {
        if !self.steward().has_drifted() {
            return Ok(Said { repeated: true, ..Said::new("is what it was left as") });
        }
        if let Some(episode) = self.steward().episode() {
            let why = format!("{} is open", episode.id);
            return Err(self.held(why).into());
        }
        let found = self.runner.driver().running().map_err(|why| self.held(why))?;
        self.person(Person::AcceptTarget { found }, dry_run)?;
        Ok(Said::new(format!("what runs there, {found:?}, is what is gone back to from now on")))
    }

    fn reset(&mut self, dry_run: bool) -> Result<Said> {
        if !self.steward().breaker_is_open() {
            return Ok(Said { repeated: true, ..Said::new("the breaker is closed") });
        }
        self.person(Person::ResetBreaker, dry_run)?;
        Ok(Said::new("the breaker is closed again"))
    }

    /// A level above `plan` asks for proposals that people have read.
    fn review(&mut self, episode: &str, dry_run: bool) -> Result<Said> {
        let unknown = || StewardError::UnknownEpisode { text: episode.to_owned() };
        let episode = episode.parse().map_err(|_| unknown())?;
        if self.steward().evidence().has_reviewed(&episode) {
            return Ok(Said { repeated: true, ..Said::new(format!("{episode} was read before")) });
        }
        let (steward, target) = (self.steward(), &self.place.name);
        if !steward.book().standing(target).any(|record| record.episode == episode) {
            return Err(self.held(format!("{episode} has not ended with anything to read")).into());
        }
        let said = format!("{episode} was read by a person");
        self.person(Person::Reviewed { episode }, dry_run)?;
        Ok(Said::new(said))
    }

    /// A level above `approve-each` asks for ways back that people have seen work.
    fn rehearsed(&mut self, tripwire: bool, dry_run: bool) -> Result<Said> {
        self.person(Person::Rehearsed { tripwire }, dry_run)?;
        Ok(Said::new(match tripwire {
            true => "the tripwire was seen to undo a trial; that counts for 30 days",
            false => "a rollback was seen to come back; that counts for 30 days",
        }))
    }
}

struct Said {
    sentence: String,
    repeated: bool,
}

impl Said {
    fn new(sentence: impl Into<String>) -> Said {
        Said { sentence: sentence.into(), repeated: false }
    }
}
