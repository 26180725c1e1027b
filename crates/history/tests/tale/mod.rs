//! Records of a target as a steward would write them, and the real git to look at what became of them.

#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    clippy::unwrap_used,
    reason = "every test file uses a part of it, and stops where it cannot go on"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use holdfast_history::{Book, KeySigner, Look, Refs, Repository, Told, Trouble, keep};
use holdfast_keys::SecretKey;
use holdfast_lifeline::{EpisodeId, Identity, Steady, TargetName};
use holdfast_steward::effect::Op;
use holdfast_steward::episode::{Cleared, Ending, Episode, Phase, Trial, Violation, Why};
use holdfast_steward::event::{Event, Record};
use holdfast_steward::outcome::Outcome;
use holdfast_steward::policy::Tier;
use holdfast_steward::retrospective::Verdict;
use holdfast_steward::setting::{Change, Property, Setting, Value};
use holdfast_steward::trigger::Cause;
use holdfast_types::Timestamp;

/// Monday, 16 November 2026, 10:00 UTC.
pub const BEGAN: i64 = 1_794_823_200_000_000;

/// The records of a house, one after the other, a minute apart.
#[derive(Clone, Debug, Default)]
pub struct Tale {
    pub records: Vec<(u64, TargetName, Record)>,
}

pub fn episode(number: u32) -> EpisodeId {
    format!("ep_{number:04}").parse().unwrap()
}

pub fn identity(byte: u8) -> Identity {
    Identity([byte; 32])
}

pub fn memory(from: u64, to: u64) -> Change {
    let setting = Setting { unit: "web.service".parse().unwrap(), property: Property::MemoryMax };
    Change { setting, from: Value::Bytes(from << 20), to: Value::Bytes(to << 20) }
}

impl Tale {
    pub fn say(&mut self, target: &str, event: Event) -> &mut Tale {
        let seq = self.records.len() as u64 * 3 + 5;
        let wall = Timestamp::from_micros(BEGAN).unwrap().plus(Duration::from_secs(60 * seq));
        let record = Record { at: Steady(seq * 60_000), wall, synced: true, event };
        self.records.push((seq, target.parse().unwrap(), record));
        self
    }

    pub fn enrolled(target: &str) -> Tale {
        let mut tale = Tale::default();
        tale.say(target, Event::Enrolled { known_good: identity(0) });
        tale
    }

    pub fn opened(&mut self, target: &str, number: u32) -> &mut Tale {
        let phase = Phase::Looking { op: Op(1), until: Steady(0) };
        let opened = Episode {
            id: episode(number),
            causes: vec![Cause::OutOfMemory { unit: "web.service".parse().unwrap() }],
            exploration: false,
            reverts: None,
            opened: Steady(0),
            cleared: None,
            proposed: Vec::new(),
            refused_by: None,
            approved: false,
            phase,
        };
        self.say(target, Event::Opened { episode: Box::new(opened) })
    }

    pub fn judged(&mut self, target: &str, number: u32, change: Change) -> &mut Tale {
        let cleared = Cleared {
            changes: vec![change],
            tier: Tier::One,
            hypothesis: "The limit is below what the service needs at its peak".to_owned(),
            people: 0,
            expected: None,
        };
        let cleared = Some(Box::new(cleared));
        self.say(
            target,
            Event::Judged { episode: episode(number), results: vec![], cleared, proposed: vec![] },
        )
    }

    pub fn refused(&mut self, target: &str, number: u32, change: Change) -> &mut Tale {
        let proposed = vec![change];
        self.say(target, Event::Judged { episode: episode(number), results: vec![], cleared: None, proposed })
    }

    pub fn kept(&mut self, target: &str, number: u32, change: Change) -> &mut Tale {
        let (identity, replaced) = (identity(number as u8), identity(number as u8 - 1));
        self.say(target, Event::Kept { episode: episode(number), identity, replaced, changes: vec![change] })
    }

    pub fn going_back(&mut self, target: &str, number: u32) -> &mut Tale {
        let trial = Trial { known_good: identity(0), candidate: identity(number as u8) };
        let why = Why::Probation(Violation::Unhealthy);
        let phase = Phase::TakingOver { op: Op(9), until: Steady(0), trial, why, kept: true };
        self.say(target, Event::Moved { episode: episode(number), phase: Box::new(phase) })
    }

    pub fn restored(&mut self, target: &str, number: u32) -> &mut Tale {
        self.say(target, Event::Restored { episode: episode(number), identity: identity(0) })
    }

    pub fn ended(&mut self, target: &str, number: u32, outcome: Outcome, reason: &str) -> &mut Tale {
        let ending = Ending { outcome, reason: reason.to_owned(), tried: true };
        self.say(target, Event::Ended { episode: episode(number), ending })
    }

    pub fn looked_back(&mut self, target: &str, number: u32) -> &mut Tale {
        self.say(target, Event::Retrospected { episode: episode(number), verdict: Verdict::Improved })
    }

    /// A change from the beginning to the end.
    pub fn change(&mut self, target: &str, number: u32, change: Change) -> &mut Tale {
        self.opened(target, number).judged(target, number, change.clone()).kept(target, number, change);
        self.ended(target, number, Outcome::Kept, "verified from outside, and well on probation")
    }

    /// One that was kept and taken back in its probation.
    pub fn taken_back(&mut self, target: &str, number: u32, change: Change) -> &mut Tale {
        self.opened(target, number).judged(target, number, change.clone()).kept(target, number, change);
        self.going_back(target, number).restored(target, number);
        self.ended(target, number, Outcome::RolledBack, "on probation, an endpoint was not healthy")
    }

    /// Everything of a house with two targets that a line of commits can have.
    pub fn whole() -> Tale {
        let mut tale = Tale::enrolled("web");
        tale.say("db", Event::Enrolled { known_good: identity(0) });
        tale.change("web", 1, memory(512, 640)).looked_back("web", 1);
        tale.opened("db", 7).refused("db", 7, memory(1, 2)).ended(
            "db",
            7,
            Outcome::GateRejected,
            "too small",
        );
        tale.change("web", 2, memory(640, 768)).taken_back("web", 3, memory(768, 896));
        tale.opened("db", 8).judged("db", 8, memory(256, 300));
        tale.say("web", Event::Drifted { expected: identity(2), found: identity(99) });
        tale.say("web", Event::Accepted { known_good: identity(99) });
        tale.change("web", 4, memory(768, 512));
        tale.opened("web", 5).judged("web", 5, memory(512, 700));
        tale
    }

    pub fn book(&self) -> Book {
        let mut book = Book::new("test", Some(Box::new(KeySigner(key()))));
        self.records.iter().for_each(|(seq, target, record)| book.take(*seq, target, record));
        book
    }
}

pub fn key() -> SecretKey {
    SecretKey::from_seed(&[7; 32])
}

/// A repository in a folder of its own, and the real git beside it.
pub struct Desk {
    pub folder: tempfile::TempDir,
    pub repository: Repository,
}

impl Desk {
    pub fn new() -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::at(&folder.path().join("history/repository.git"), &signers());
        Desk { folder, repository }
    }

    pub fn path(&self) -> PathBuf {
        self.repository.folder().to_owned()
    }

    pub fn keep(&self, tale: &Tale) -> Told {
        self.try_keep(tale, Look::Whole).unwrap()
    }

    pub fn try_keep(&self, tale: &Tale, look: Look) -> Result<Told, Trouble> {
        keep(&self.repository, &mut tale.book(), look, now())
    }

    pub fn refs(&self) -> Refs {
        self.repository.look().unwrap()
    }

    pub fn short(&self) -> Vec<String> {
        self.refs().keys().map(|name| name.trim_start_matches("refs/").to_owned()).collect()
    }

    /// What a person's own git says.
    pub fn git(&self, args: &[&str]) -> String {
        git(&self.path(), args)
    }
}

/// As a person runs it, with nothing of this machine's settings.
pub fn git(folder: &Path, args: &[&str]) -> String {
    let (worked, said) = try_git(folder, args);
    assert!(worked, "git {args:?}: {said}");
    said
}

pub fn try_git(folder: &Path, args: &[&str]) -> (bool, String) {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C.UTF-8");
    let who = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "ana"));
    command.envs(who).envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "ana@example.org")));
    let ran = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ran.status.success(), text(&ran.stdout) + &text(&ran.stderr))
}

pub fn signers() -> String {
    let public = holdfast_keys::ssh::public_line(&key().public());
    format!("{} {public}\n", holdfast_history::address("test"))
}

pub fn now() -> Timestamp {
    Timestamp::from_micros(BEGAN).unwrap().plus(Duration::from_secs(86_400))
}
