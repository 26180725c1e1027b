//! A small house for tests: a state directory with a journal, a key, a vault, a clock. One builder for all of it,
//! so that a test names only what matters to it.

#![allow(clippy::unwrap_used, reason = "a test whose house cannot be built should stop")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use holdfast_journal::{
    Archive, Content, Draft, Journal, Limits, Options, Result, Vault, Verification, VerifyOptions, verify,
};
use holdfast_keys::{KeyName, Role, SecretKey, TrustSet, TrustedKey};
use holdfast_screen::GuardScreen;
use holdfast_types::{Clock, Origin, Trust};
use serde_json::json;

use crate::TestClock;

#[derive(Debug)]
pub struct House {
    root: PathBuf,
    /// Removes the directory at the end, where this house made it.
    _made: Option<tempfile::TempDir>,
    pub origin: Origin,
    pub clock: TestClock,
    pub limits: Limits,
    pub archive: Option<Arc<dyn Archive>>,
    seed: [u8; 32],
}

/// When a test's clock begins.
pub const NOON: &str = "2026-11-15T12:00:00.000000Z";

impl Default for House {
    fn default() -> House {
        House::new()
    }
}

impl House {
    pub fn new() -> House {
        House::named("test")
    }

    pub fn named(instance: &str) -> House {
        House::at(tempfile::tempdir().unwrap(), instance)
    }

    fn at(dir: tempfile::TempDir, instance: &str) -> House {
        let house = House { _made: None, ..House::attach(dir.path(), instance) };
        house.create();
        House { _made: Some(dir), ..house }
    }

    /// A house whose directory someone else keeps; nothing is made in it.
    pub fn attach(root: &Path, instance: &str) -> House {
        let mut seed = [7; 32];
        let len = instance.len().min(32);
        seed[..len].copy_from_slice(&instance.as_bytes()[..len]);
        let origin = format!("holdfast/{instance}").parse().unwrap();
        let (clock, limits) = (TestClock::at(NOON), Limits::default());
        House { root: root.to_owned(), _made: None, origin, clock, limits, archive: None, seed }
    }

    /// Makes the journal and the vault.
    pub fn create(&self) {
        let clock: Arc<dyn Clock> = Arc::new(self.clock.clone());
        Journal::create(&self.journal(), &self.origin, &[self.key()], clock).unwrap();
        holdfast_durable::create_dir(&self.etc()).unwrap();
        Vault::create(&self.vault_path()).unwrap();
    }

    pub fn path(&self) -> &Path {
        &self.root
    }

    pub fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    pub fn journal(&self) -> PathBuf {
        self.state().join("journal")
    }

    pub fn etc(&self) -> PathBuf {
        self.path().join("etc")
    }

    pub fn vault_path(&self) -> PathBuf {
        self.etc().join("vault")
    }

    pub fn key(&self) -> SecretKey {
        SecretKey::from_seed(&self.seed)
    }

    pub fn trust(&self) -> TrustSet {
        let mut trust = TrustSet::default();
        let name = KeyName::from(&self.origin);
        trust.add(TrustedKey::new(self.key().public(), Role::Log, name, NOON.parse().unwrap())).unwrap();
        trust
    }

    pub fn options(&self) -> Options {
        Options {
            dir: self.journal(),
            signers: vec![self.key()],
            screen: Arc::new(GuardScreen::builtin()),
            clock: Arc::new(self.clock.clone()),
            vault: Some(Vault::open(&self.vault_path()).unwrap()),
            archive: self.archive.clone(),
            limits: self.limits.clone(),
        }
    }

    pub fn open(&self) -> Journal {
        self.try_open().unwrap()
    }

    pub fn try_open(&self) -> Result<Journal> {
        Journal::open(self.options())
    }

    pub fn verify(&self) -> Result<Verification> {
        let trust = self.trust();
        let vault = Vault::open(&self.vault_path())?;
        verify(
            &self.journal(),
            VerifyOptions {
                trust: Some(&trust),
                vault: Some(&vault),
                archive: self.archive.clone(),
                every_signature: true,
                progress: &mut |_| {},
            },
        )
    }

    /// An entry of about 400 bytes.
    pub fn note(&self, n: u64) -> Draft {
        let serde_json::Value::Object(body) = json!({"n": n, "text": "the quick brown fox ".repeat(8)})
        else {
            unreachable!()
        };
        Draft::new("journal.test.noted".parse().unwrap(), "ana".parse().unwrap(), Trust::Trusted, body)
    }

    pub fn blob(&self, text: &str) -> Draft {
        Draft { content: Content::Blob(text.as_bytes().to_vec()), ..self.note(0) }
    }

    /// A text too long to be sealed into its line, so that it lies in the pack. Its first line is `text`.
    pub fn long_blob(&self, text: &str) -> Draft {
        self.blob(&long(text))
    }

    /// The one segment file of a small log.
    pub fn segment(&self, first: u64) -> PathBuf {
        self.journal().join(format!("{first:020}.jsonl"))
    }
}

/// `text`, and below it more than fits a line of the log when it is sealed.
pub fn long(text: &str) -> String {
    format!("{text}\n{}", "and so on ".repeat(1_000))
}
