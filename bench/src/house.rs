//! A journal to measure: how it is made and opened, and drafts whose line has exactly the length wanted.
//!
//! It is opened as the product opens it: real clock, real screen, real key, checkpoints and all.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use holdfast_journal::{Draft, Journal, Limits, Options, SystemClock};
use holdfast_keys::{KeyName, Role, SecretKey, TrustSet, TrustedKey};
use holdfast_screen::GuardScreen;
use holdfast_types::{Origin, Timestamp, Trust};
use serde_json::{Map, Value};

/// The length of the lines that are measured, the newline included.
pub(crate) const LINE: usize = 400;

/// As many entries as the journal writes as one batch.
pub(crate) const BATCH: u64 = 4096;

/// A journal's directory and the limits it is opened with.
#[derive(Clone, Debug)]
pub(crate) struct House {
    pub(crate) dir: PathBuf,
    pub(crate) limits: Limits,
}

/// Makes drafts whose lines are [`LINE`] bytes long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drafts {
    /// The length of a line without any padding and with a seq of one digit.
    bare: usize,
}

impl House {
    pub(crate) fn create(dir: &Path) -> Result<House> {
        let clock = Arc::new(SystemClock::new());
        Journal::create(dir, &origin()?, &[key()], clock).context("making a journal")?;
        Ok(House::at(dir))
    }

    pub(crate) fn at(dir: &Path) -> House {
        House { dir: dir.to_owned(), limits: Limits::default() }
    }

    pub(crate) fn options(&self) -> Options {
        options(&self.dir, key(), self.limits.clone())
    }

    pub(crate) fn open(&self) -> Result<Journal> {
        Journal::open(self.options()).context("opening a journal")
    }
}

/// A journal opened as the product opens it.
pub(crate) fn options(dir: &Path, signer: SecretKey, limits: Limits) -> Options {
    Options {
        dir: dir.to_owned(),
        signers: vec![signer],
        screen: Arc::new(GuardScreen::builtin()),
        clock: Arc::new(SystemClock::new()),
        vault: None,
        archive: None,
        limits,
    }
}

/// A trust set that believes the key these journals are signed with.
pub(crate) fn trust() -> Result<TrustSet> {
    let mut trust = TrustSet::default();
    let name = KeyName::from(&origin()?);
    trust.add(TrustedKey::new(key().public(), Role::Log, name, Timestamp::EPOCH))?;
    Ok(trust)
}

fn origin() -> Result<Origin> {
    Ok("holdfast/bench".parse()?)
}

/// A fixed key: nothing here is worth a secret.
fn key() -> SecretKey {
    SecretKey::from_seed(&[7; 32])
}

impl Drafts {
    /// Measures one line, in a journal of its own.
    pub(crate) fn measure(scratch: &Path) -> Result<Drafts> {
        let journal = House::create(scratch)?.open()?;
        journal.append(&draft(0, 0)?)?;
        let bare = journal.entry(0)?.line.len() + 1;
        let drafts = Drafts { bare };
        ensure!(bare < LINE, "an entry without any text has {bare} bytes already");
        journal.append(&drafts.exact(1, 1)?)?;
        let len = journal.entry(1)?.line.len() + 1;
        ensure!(len == LINE, "a padded line has {len} bytes instead of {LINE}");
        Ok(drafts)
    }

    /// A draft whose line has [`LINE`] bytes when its seq has as many digits as `seq`.
    pub(crate) fn exact(&self, seq: u64, n: u64) -> Result<Draft> {
        draft(LINE - self.bare + 1 - seq.to_string().len(), n)
    }

    /// Appends such entries until there are `size`, in large batches.
    pub(crate) fn fill(&self, journal: &Journal, size: u64) -> Result<()> {
        while journal.size() < size {
            let from = journal.size();
            let drafts = (from..size.min(from + BATCH)).map(|seq| self.exact(seq, seq));
            append_all(journal, &drafts.collect::<Result<Vec<_>>>()?)?;
        }
        Ok(journal.settle()?)
    }
}

pub(crate) fn append_all(journal: &Journal, drafts: &[Draft]) -> Result<()> {
    journal.append_many(drafts)?.into_iter().try_for_each(|appended| appended.map(drop).map_err(Into::into))
}

/// A draft with so many bytes of text and a number, of which the low nine digits are kept.
pub(crate) fn draft(text_len: usize, n: u64) -> Result<Draft> {
    const WORDS: &str = "the unit was restarted after its check had failed twice and answered again ";
    let text: String = WORDS.chars().cycle().take(text_len).collect();
    let number = 1_000_000_000 + n % 1_000_000_000;
    let body =
        Map::from_iter([("n".to_owned(), Value::from(number)), ("text".to_owned(), Value::from(text))]);
    Ok(Draft::new("journal.bench.noted".parse()?, "ana".parse()?, Trust::Trusted, body))
}
