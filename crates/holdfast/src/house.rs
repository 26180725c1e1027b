//! The files of one home, looked at: journal, keys and trust set, without a lock. Whoever wants to write asks
//! (`ask.rs`).

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holdfast_journal::{
    Archive, Checkpoint, DirArchive, Error, Journal, Stored, SystemClock, Vault, View, trusted_signer,
};
use holdfast_keys::note::{Note, NoteAlgorithm};
use holdfast_keys::{FileError, KeyName, Role, TrustSet, VerifierKey, file};
use holdfast_types::{Actor, Clock, Origin, Timestamp};

use crate::console::Console;
use crate::look;
use crate::places::Places;
use crate::problem::{CliError, Result};
use crate::settings::{self, Overlay};

#[derive(Clone, Debug)]
pub(crate) struct House {
    pub(crate) places: Places,
}

/// Segments that have left for another directory are read from there.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ArchiveArgs {
    /// Read segments that are no longer in the state directory from this archive
    #[arg(long, value_name = "DIR")]
    pub(crate) archive: Option<PathBuf>,
}

impl ArchiveArgs {
    pub(crate) fn open(&self) -> Result<Option<Arc<dyn Archive>>> {
        let Some(dir) = &self.archive else {
            return Ok(None);
        };
        // A reader must not make the directory it was to read.
        if !dir.is_dir() {
            return Err(CliError::NoArchive { path: dir.clone() }.into());
        }
        let archive = DirArchive::new(dir).map_err(|e| reading(dir, e))?;
        Ok(Some(Arc::new(archive)))
    }
}

impl House {
    /// The journal, to look at.
    pub(crate) fn view(&self, archive: &ArchiveArgs) -> Result<View> {
        let archive = match archive.open()? {
            Some(archive) => Some(archive),
            None => self.configured_archive(),
        };
        Ok(View::open(&self.places.journal(), archive)?)
    }

    /// The archive the configuration names. A wrong configuration is somebody else's news: reading goes on
    /// without one.
    fn configured_archive(&self) -> Option<Arc<dyn Archive>> {
        let loaded = settings::load(&self.places, &Overlay::of_this_process(&[])).ok()?;
        let dir = loaded.config.journal.archive?;
        ArchiveArgs { archive: Some(dir.to_path_buf()) }.open().ok()?
    }

    pub(crate) fn vault(&self) -> Result<Option<Vault>> {
        let path = self.places.vault();
        if !path.exists() {
            return Ok(None);
        }
        Ok(Some(Vault::open(&path)?))
    }

    /// The text sealed with an entry. Needs no lock, so it can be read while another process writes.
    pub(crate) fn text(&self, seq: u64, archive: &ArchiveArgs) -> Result<Vec<u8>> {
        let view = self.view(archive)?;
        if !matches!(view.entry(seq)?.parse()?.content, Stored::Blob(_)) {
            return Err(CliError::NoSealedText { seq }.into());
        }
        Ok(view.text(seq, &self.vault()?.ok_or(Error::NoVault)?)?)
    }

    pub(crate) fn trust(&self) -> Result<TrustSet, FileError> {
        file::load_trust(&self.places.trust())
    }

    pub(crate) fn save_trust(&self, trust: &TrustSet) -> Result<()> {
        let path = self.places.trust();
        match file::save_trust(&path, trust) {
            Err(FileError::Io { source, .. }) => Err(writing(&path, source).into()),
            saved => Ok(saved?),
        }
    }

    /// The trust set, for adding to it. An empty one only in a home that never had one: a set that is lost held
    /// revocations, and a new one would believe those keys again.
    pub(crate) fn trust_to_add_to(&self) -> Result<TrustSet> {
        match self.trust() {
            Err(FileError::Missing { .. }) if self.places.made().exists() => {
                Err(CliError::TrustLost { path: self.places.trust() }.into())
            }
            Err(FileError::Missing { .. }) => Ok(TrustSet::default()),
            other => Ok(other?),
        }
    }

    /// The trust set, or an empty one where there is none yet. For judging alone: an empty set believes nobody.
    pub(crate) fn trust_or_empty(&self) -> Result<TrustSet, FileError> {
        match self.trust() {
            Err(FileError::Missing { .. }) => Ok(TrustSet::default()),
            other => other,
        }
    }
}

/// Says on stderr what opening the journal had to mend.
pub(crate) fn say_what_was_mended(journal: &Journal, console: &Console) {
    let report = journal.report();
    if let Some(torn) = &report.torn {
        console.warn(&format!(
            "torn end set aside: {} after the last whole entry of {}, kept in {}",
            look::bytes(torn.bytes),
            torn.segment,
            torn.kept_in.display()
        ));
    }
    if report.tree_rebuilt {
        console.warn("the tree's hashes were missing or wrong and were made again from the entries");
    }
}

/// Says who might be there although nobody answers.
pub(crate) fn say_who_writes(house: &House, console: &Console) {
    if house.view(&ArchiveArgs::default()).is_ok_and(|view| view.is_being_written()) {
        console.warn("nobody answers at the socket, and another process has the journal open");
    }
}

/// What the journal's status wants a person to know.
pub(crate) fn say_warnings(warnings: &[String], console: &Console) {
    warnings.iter().for_each(|warning| console.warn(warning));
}

/// The log key of the trust set that signed this checkpoint, as others know it.
pub(crate) fn signer(trust: &TrustSet, checkpoint: &Checkpoint, note: &Note) -> Option<VerifierKey> {
    let key = trusted_signer(trust, &checkpoint.origin, note, checkpoint.size).ok()?;
    Some(verifier_key(key.name().clone(), Role::Log, key.public()))
}

/// A public key as it is handed on to others: witnesses cosign, everyone else signs.
pub(crate) fn verifier_key(name: KeyName, role: Role, public: &holdfast_keys::PublicKey) -> VerifierKey {
    let algorithm = match role {
        Role::Witness => NoteAlgorithm::Cosignature,
        Role::Log | Role::Manifest | Role::Approvals | Role::Policy | Role::History => NoteAlgorithm::Ed25519,
    };
    VerifierKey { name, algorithm, public: *public }
}

/// The verifier key of this log that signs now.
pub(crate) fn present_key(
    trust: &TrustSet,
    origin: &Origin,
    checkpoint: &Checkpoint,
    note: &str,
) -> Result<VerifierKey> {
    let note = Note::parse(note.as_bytes())?;
    let found = signer(trust, checkpoint, &note);
    let unknown = || CliError::NoKeyFor { origin: origin.to_string() };
    Ok(found.ok_or_else(unknown)?)
}

/// The bytes of a file, or of standard input for `-`, but never more than `limit`.
pub(crate) fn read_input(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        io::stdin().lock().take(limit + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes))
    };
    read.map_err(|e| reading(path, e))?;
    if bytes.len() as u64 > limit {
        let what =
            if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
        return Err(CliError::TooMuchInput { what, limit }.into());
    }
    Ok(bytes)
}

/// 32 random bytes that are kept in a file of their own, made when they are first wanted.
pub(crate) fn secret_at(path: &Path) -> Result<[u8; 32]> {
    let unfit =
        || CliError::Input { what: path.display().to_string(), why: "it has not 32 bytes".to_owned() };
    match std::fs::read(path) {
        Ok(bytes) => return Ok(bytes.try_into().map_err(|_| unfit())?),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(reading(path, e).into()),
    }
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)
        .map_err(|e| CliError::Start { what: "randomness", source: io::Error::other(e.to_string()) })?;
    if let Some(folder) = path.parent() {
        holdfast_durable::create_dir(folder).map_err(|e| writing(folder, e))?;
    }
    holdfast_durable::create(path, &secret, holdfast_durable::Mode::Private).map_err(|e| writing(path, e))?;
    Ok(secret)
}

pub(crate) fn reading(path: &Path, source: io::Error) -> CliError {
    CliError::Read { path: path.to_owned(), source }
}

pub(crate) fn writing(path: &Path, source: io::Error) -> CliError {
    CliError::Write { path: path.to_owned(), source: cause_of(source) }
}

/// The system's own word, without the deed and the path that our message has already.
fn cause_of(e: io::Error) -> io::Error {
    let inner = e.get_ref().and_then(|inner| inner.source());
    let raw = inner.and_then(|s| s.downcast_ref::<io::Error>()).and_then(io::Error::raw_os_error);
    raw.map_or(e, io::Error::from_raw_os_error)
}

/// Who runs this program.
pub(crate) fn this_user() -> Result<Actor> {
    user(rustix::process::geteuid().as_raw())
}

/// A user of this machine, as entries name them.
pub(crate) fn user(uid: u32) -> Result<Actor> {
    let name = format!("uid:{uid}");
    name.parse().map_err(|e: holdfast_types::NameError| CliError::Usage { message: e.to_string() }.into())
}

pub(crate) fn now() -> Timestamp {
    SystemClock::new().now()
}
