//! A house with accounts, a clock that the test moves, and people with keys.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use holdfast_gateway::{
    Accounts, Acting, CodeCost, Error, Finished, Holder, Label, NewLink, Registration, Result, Role,
    Settings, Signed,
};
use holdfast_testkit::TestClock;
use serde_json::Value;

use holdfast_testkit::authenticator::Key;

use crate::diary::Diary;

pub(crate) const ORIGIN: &str = "https://hold.example:9096";

pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3_600);
pub(crate) const DAY: Duration = Duration::from_secs(24 * 3_600);

pub(crate) struct House {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) clock: TestClock,
    pub(crate) accounts: Acting,
    /// What was recorded of acts, and whether anything can be.
    pub(crate) diary: Arc<Diary>,
}

/// Somebody with a key who is signed in.
pub(crate) struct Member {
    pub(crate) key: Key,
    pub(crate) cookie: String,
    pub(crate) codes: Vec<String>,
}

pub(crate) fn settings(origin: &str) -> Settings {
    // Cheap hashes: the usual ones have a test of their own.
    Settings { code_cost: CodeCost { memory_kib: 64, passes: 1 }, ..Settings::new(origin.parse().unwrap()) }
}

pub(crate) fn label(text: &str) -> Label {
    text.parse().unwrap()
}

/// Accounts in the hands of somebody whose acts are recorded nowhere.
pub(crate) fn acting(accounts: Accounts) -> Acting {
    Acting::new(Arc::new(accounts), Arc::<Diary>::default(), "192.0.2.9".parse().unwrap())
}

/// A browser that has not signed in yet; as many different ones as there are numbers.
pub(crate) fn stranger(n: u32) -> Holder {
    Holder::of_cookie(&format!("{n:043}")).unwrap()
}

impl House {
    pub(crate) fn new() -> House {
        House::at(ORIGIN)
    }

    pub(crate) fn at(origin: &str) -> House {
        let (dir, clock) = (tempfile::tempdir().unwrap(), TestClock::at("2026-11-15T08:00:00.000000Z"));
        let path = dir.path().join("gateway.db");
        let accounts = Accounts::open(&path, settings(origin), Arc::new(clock.clone())).unwrap();
        House::of(dir, clock, accounts)
    }

    fn of(dir: tempfile::TempDir, clock: TestClock, accounts: Accounts) -> House {
        let diary = Arc::<Diary>::default();
        let accounts = Acting::new(Arc::new(accounts), diary.clone(), "192.0.2.9".parse().unwrap());
        House { dir, clock, accounts, diary }
    }

    /// With an owner called Ana.
    pub(crate) fn with_owner() -> (House, Member) {
        let house = House::new();
        let owner = house.first_owner();
        (house, owner)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("gateway.db")
    }

    /// Closed and opened again, as after a restart.
    pub(crate) fn reopened(self) -> House {
        let House { dir, clock, accounts, .. } = self;
        let shared = accounts.accounts().clone();
        drop(accounts);
        drop(Arc::into_inner(shared).unwrap());
        let path = dir.path().join("gateway.db");
        let accounts = Accounts::open(&path, settings(ORIGIN), Arc::new(clock.clone())).unwrap();
        House::of(dir, clock, accounts)
    }

    pub(crate) fn first_owner(&self) -> Member {
        let link = self.accounts.first_link(&"Ana".parse().unwrap()).unwrap();
        self.join(&link, Key::new())
    }

    pub(crate) fn invited(&self, owner: &Member, name: &str, role: Role) -> Member {
        let by = self.signed(owner);
        let link = self.accounts.invite(&by, None, &name.parse().unwrap(), role).unwrap();
        self.join(&link, Key::new())
    }

    pub(crate) fn join(&self, link: &NewLink, mut key: Key) -> Member {
        let done = self.register(link, &mut key).unwrap();
        let cookie = done.session.unwrap().cookie.reveal().to_owned();
        Member { key, cookie, codes: done.codes.unwrap_or_default() }
    }

    pub(crate) fn register(&self, link: &NewLink, key: &mut Key) -> Result<Registration> {
        let holder = stranger(1);
        let started = self.accounts.register_start(holder, link.token.reveal(), &label("a key"))?;
        let answer = key.create(ORIGIN, &started.options);
        self.finish_registration(holder, started.ceremony.reveal(), &answer)
    }

    pub(crate) fn finish_registration(
        &self,
        holder: Holder,
        ceremony: &str,
        answer: &Value,
    ) -> Result<Registration> {
        let answer = serde_json::from_value(answer.clone()).unwrap();
        self.accounts.register_finish(holder, ceremony, &answer, &label("a browser"), None)
    }

    pub(crate) fn sign_in(&self, key: &mut Key) -> Result<Finished> {
        let started = self.accounts.sign_in_start(stranger(2))?;
        let answer = key.try_get(ORIGIN, &started.options).map_err(|_| Error::CredentialRefused)?;
        self.finish_sign_in(stranger(2), started.ceremony.reveal(), &answer)
    }

    pub(crate) fn finish_sign_in(&self, holder: Holder, ceremony: &str, answer: &Value) -> Result<Finished> {
        let answer = serde_json::from_value(answer.clone()).unwrap();
        self.accounts.sign_in_finish(holder, ceremony, &answer, &label("a browser"), None)
    }

    pub(crate) fn signed(&self, member: &Member) -> Signed {
        self.accounts.signed(&member.cookie).unwrap().unwrap()
    }

    pub(crate) fn is_signed_in(&self, cookie: &str) -> bool {
        let (slow, quick) = (self.accounts.signed(cookie).unwrap(), self.accounts.signed_if_known(cookie));
        assert!(quick.is_none() || slow.is_some(), "what is known is what is stored");
        slow.is_some()
    }
}

/// The number of the problem, which is what callers and pages go by.
#[track_caller]
pub(crate) fn number<T: std::fmt::Debug>(result: Result<T>) -> u16 {
    result.unwrap_err().problem().code.number
}
