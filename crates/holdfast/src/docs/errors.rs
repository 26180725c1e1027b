//! Every error an operator can meet, with an example of its sentence.
//!
//! The rooms keep their errors as enums; one value of each is built here. A test makes the compiler visit
//! every variant of the journal's and counts all numbers, so that a new one is not forgotten.

use std::io;
use std::path::PathBuf;

use holdfast_journal as journal;
use holdfast_journal::Damage;
use holdfast_keys as keys;
use holdfast_keys::{
    CanonicalError, Distrust, DocumentError, FileError, KeyError, NoteError, Role, SecretKey, TrustError,
};
use holdfast_types::{Problem, Timestamp};

use super::pages::REGENERATE;
use crate::commands::egress::EgressError;
use crate::enrolment::EnrolError;
use crate::memory::MemoryError;
use crate::problem::CliError;
use crate::steward::StewardError;

pub(super) fn page() -> String {
    let cli = CliError::samples().iter().map(CliError::problem).collect();
    let rooms = [
        ("The command line", cli),
        ("Configuration", holdfast_config::Error::samples().iter().map(|e| e.problem()).collect()),
        ("The local socket", holdfast_control::Error::samples().iter().map(|e| e.problem()).collect()),
        ("Databases", holdfast_store::Error::samples().iter().map(|e| e.problem()).collect()),
        ("Secrets", holdfast_credentials::Error::samples().iter().map(|e| e.problem()).collect()),
        ("Notices", holdfast_notice::Error::samples().iter().map(|e| e.problem()).collect()),
        ("Approvals", holdfast_approval::Error::samples().iter().map(|e| e.problem()).collect()),
        ("The gateway", holdfast_gateway::Error::samples().iter().map(|e| e.problem()).collect()),
        ("The API", holdfast_api::ApiError::samples().iter().map(|e| e.problem()).collect()),
        ("The ledger", holdfast_ledger::Error::samples().iter().map(|e| e.problem()).collect()),
        ("Scanning", holdfast_scan::Error::samples().iter().map(|e| e.problem()).collect()),
        ("The cage", holdfast_cage::CageError::samples().iter().map(|e| e.problem()).collect()),
        ("The steward", StewardError::samples().iter().map(StewardError::problem).collect()),
        ("Memory", MemoryError::samples().iter().map(MemoryError::problem).collect()),
        ("Taking hosts in", EnrolError::samples().iter().map(EnrolError::problem).collect()),
        ("Destinations", EgressError::samples().iter().map(EgressError::problem).collect()),
        ("The journal", journal_problems()),
        ("Keys, signatures and canonical JSON", key_problems()),
    ];
    let mut out = format!("# Errors\n\n{REGENERATE}\n{INTRO}");
    for (title, problems) in rooms {
        let sections: String = problems.iter().map(section).collect();
        out.push_str(&format!("\n## {title}\n{sections}"));
    }
    out
}

const INTRO: &str = "\
Every error has a code that never changes its meaning, a sentence, what was left untouched, and what to do. The
sentences below are examples: names, paths and numbers in them are made up. The exit codes stand in
[exit-codes.md](exit-codes.md).
";

fn section(problem: &Problem) -> String {
    let Problem { code, exit, what, untouched, hint } = problem;
    format!(
        "\n### {code}\n\n> {what}\n\n- untouched: {untouched}\n- next: {hint}\n- exit code: {}\n",
        exit.code()
    )
}

fn path() -> PathBuf {
    PathBuf::from("/srv/holdfast/etc/keys/log.key")
}

fn trust_path() -> PathBuf {
    PathBuf::from("/srv/holdfast/etc/trust.json")
}

fn broken() -> io::Error {
    io::Error::other("input/output error")
}

fn journal_problems() -> Vec<Problem> {
    journal_samples().iter().map(journal::Error::problem).collect()
}

fn journal_samples() -> Vec<journal::Error> {
    use journal::Error;
    let dir = || PathBuf::from("/srv/holdfast/state/journal");
    let text = |text: &str| text.to_owned();
    vec![
        Error::Busy { holder: text("pid 4711") },
        Error::Missing { path: dir() },
        Error::Exists { path: dir() },
        Error::NewerFormat { found: text("2") },
        Error::Damaged(Damage {
            file: text("00000000000000000000.jsonl"),
            offset: 81_920,
            seq: Some(412),
            what: text("the entry that should stand here is not whole"),
        }),
        Error::DiskFull { source: io::Error::other("no space left on device") },
        Error::CapReached { bytes: 4 << 30, cap: 4 << 30 },
        Error::ReadOnly { source: io::Error::other("read-only file system") },
        Error::TooLong { len: 70_000, max: 65_536 },
        Error::BlobTooLong { len: 20 << 20, max: journal::BLOB_MAX },
        Error::Blocked(journal::Blocked { reason: "it holds a private key".into() }),
        Error::Stopped { why: text("input/output error") },
        Error::Gone { seq: 3, oldest: 100 },
        Error::NoSuchEntry { seq: 99, size: 42 },
        Error::Erased { seq: 41 },
        Error::NoVault,
        Error::Key(FileError::Missing { path: path() }),
        Error::Vault(text("/srv/holdfast/etc/keys/vault is damaged")),
        Error::Witness(journal::Refused::Forked { size: 41 }),
        Error::Foreign(text("entry 7 was taken in before with other content")),
        Error::Setting { name: "keep_segments", why: text("at least one segment must stay") },
        Error::Io(broken()),
    ]
}

fn key_problems() -> Vec<Problem> {
    let mut all = Vec::new();
    all.extend(canonical_samples().iter().map(CanonicalError::problem));
    all.extend(pair_samples().iter().map(KeyError::problem));
    all.extend(file_samples().iter().map(FileError::problem));
    all.extend(trust_samples().iter().map(TrustError::problem));
    all.extend(distrust_samples().iter().map(Distrust::problem));
    all.extend(document_samples().iter().map(DocumentError::problem));
    all.extend(note_samples().iter().map(NoteError::problem));
    all
}

fn canonical_samples() -> Vec<CanonicalError> {
    let path = keys::canonical::Path::default;
    let literal = |text: &str| text.to_owned();
    vec![
        CanonicalError::NotUtf8 { offset: 7 },
        CanonicalError::Syntax {
            path: path(),
            line: 1,
            column: 5,
            message: "EOF while parsing a value".into(),
        },
        CanonicalError::DuplicateKey { path: path() },
        CanonicalError::InexactInteger { path: path(), literal: literal("9007199254740993") },
        CanonicalError::OutOfRange { path: path(), literal: literal("1e999") },
        CanonicalError::NotFinite { path: path() },
        CanonicalError::TooDeep { path: path() },
        CanonicalError::Unserializable { path: path(), message: "a key is not a string".into() },
    ]
}

fn pair_samples() -> Vec<KeyError> {
    let text = || "ed25519:AAAA".to_owned();
    vec![
        KeyError::MalformedPublic { text: text() },
        KeyError::MalformedId { text: text() },
        KeyError::UnknownRole { text: "root".into() },
        KeyError::NotAKey { text: text() },
        KeyError::NoRandomness { cause: "operation not permitted".into() },
    ]
}

/// Keys for examples, from seeds everyone can read here.
fn example(n: u8) -> keys::KeyId {
    SecretKey::from_seed(&[n; 32]).id()
}

fn file_samples() -> Vec<FileError> {
    let (found, actual) = (example(1), example(2));
    vec![
        FileError::Io { deed: "reading", path: path(), source: broken() },
        FileError::Missing { path: path() },
        FileError::SymbolicLink { path: path() },
        FileError::NotAFile { path: path() },
        FileError::Exposed { path: path(), mode: 0o644 },
        FileError::Writable { path: trust_path(), mode: 0o666 },
        FileError::ForeignOwner { path: path(), uid: 1001 },
        FileError::TooLarge { path: path(), size: 9_000, limit: keys::file::KEY_FILE_SIZE_MAX },
        FileError::Malformed { path: path(), line: 1, column: 120 },
        FileError::NewerFormat { path: path(), found: 2 },
        FileError::OtherKind { path: path() },
        FileError::WrongRole { path: path(), found: Role::Log, wanted: Role::Manifest },
        FileError::PublicMismatch { path: path(), found, actual },
        FileError::IdMismatch { path: path(), found, actual },
        FileError::Exists { path: path() },
        FileError::Trust { path: trust_path(), source: TrustError::NewerFormat { found: 2 } },
    ]
}

fn trust_samples() -> Vec<TrustError> {
    let key = example(1);
    vec![
        TrustError::DuplicateKey { key },
        TrustError::UnknownKey { key },
        TrustError::RoleChanges {
            old: key,
            old_role: Role::Manifest,
            new: example(2),
            new_role: Role::Policy,
        },
        TrustError::LogKeyEndsBySize { key },
        TrustError::NotALogKey { key, role: Role::Policy },
        TrustError::WouldExtend { key, from: "1200".into(), to: "1300".into() },
        TrustError::EmptyValidity { key, from: Timestamp::EPOCH, until: Timestamp::EPOCH },
        TrustError::NewerFormat { found: 2 },
        TrustError::NotCanonical(CanonicalError::NotUtf8 { offset: 7 }),
        TrustError::Malformed { message: "missing field `keys`".into() },
    ]
}

fn distrust_samples() -> Vec<Distrust> {
    let (key, at) = (example(1), Timestamp::EPOCH);
    vec![
        Distrust::Unknown { key },
        Distrust::WrongRole { key, actual: Role::Log, wanted: Role::Policy },
        Distrust::NotYetValid { key, from: at, at },
        Distrust::Expired { key, until: at, at },
        Distrust::Retired { key, until_size: 1_200, size: 1_300 },
        Distrust::Revoked { key, at, reason: "the laptop was stolen".into() },
        Distrust::CannotJudge { key, role: Role::Log, by: "time" },
    ]
}

fn document_samples() -> Vec<DocumentError> {
    vec![
        DocumentError::NotCanonical(CanonicalError::NotUtf8 { offset: 7 }),
        DocumentError::Malformed { message: "missing field `payload`".into() },
        DocumentError::NewerFormat { found: 2 },
        DocumentError::TooManySignatures { found: 17 },
        DocumentError::Unsigned,
        DocumentError::NoneAcceptable { refused: vec![(example(1), keys::Refusal::DoesNotFit)] },
    ]
}

fn note_samples() -> Vec<NoteError> {
    // The name is a good one, so there is always exactly one list.
    let names = "witness.example/w1".parse::<keys::KeyName>().into_iter();
    names.flat_map(note_samples_for).collect()
}

fn note_samples_for(name: keys::KeyName) -> Vec<NoteError> {
    vec![
        NoteError::BadName { text: "a b".into() },
        NoteError::MalformedVerifierKey { text: "w1+00".into() },
        NoteError::UnknownAlgorithm { name: name.clone(), found: 2 },
        NoteError::BadPublicKey {
            name: name.clone(),
            source: KeyError::NotAKey { text: "ed25519:AAAA".into() },
        },
        NoteError::TooLarge { found: 100_000 },
        NoteError::TooManySignatures,
        NoteError::BadText { why: "it has control characters" },
        NoteError::NoSignatures,
        NoteError::MalformedSignature { line: 1 },
        NoteError::NotSignedBy { name: name.clone() },
        NoteError::DoesNotFit { name },
        NoteError::BadTime { unix_secs: u64::MAX },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_error_of_a_room_is_left_out() {
        let numbers = |problems: Vec<Problem>| problems.iter().map(|p| p.code.number).collect::<Vec<_>>();
        let names: BTreeSet<_> = journal_samples().iter().map(variant_of).collect();
        assert_eq!(names.len(), journal_samples().len());
        assert_eq!(numbers(journal_problems()), (1..=22).collect::<Vec<u16>>());
        let published = [1..=8, 10..=14, 20..=35, 50..=66, 70..=75, 80..=91];
        let published: Vec<u16> = published.into_iter().flatten().collect();
        assert_eq!(numbers(key_problems()), published);
    }

    /// A new variant does not compile until it is named here; then give it a sample above.
    fn variant_of(e: &journal::Error) -> &'static str {
        use journal::Error;
        match e {
            Error::Busy { .. } => "Busy",
            Error::Missing { .. } => "Missing",
            Error::Exists { .. } => "Exists",
            Error::NewerFormat { .. } => "NewerFormat",
            Error::Damaged(_) => "Damaged",
            Error::DiskFull { .. } => "DiskFull",
            Error::CapReached { .. } => "CapReached",
            Error::ReadOnly { .. } => "ReadOnly",
            Error::TooLong { .. } => "TooLong",
            Error::BlobTooLong { .. } => "BlobTooLong",
            Error::Blocked(_) => "Blocked",
            Error::Stopped { .. } => "Stopped",
            Error::Gone { .. } => "Gone",
            Error::NoSuchEntry { .. } => "NoSuchEntry",
            Error::Erased { .. } => "Erased",
            Error::NoVault => "NoVault",
            Error::Key(_) => "Key",
            Error::Vault(_) => "Vault",
            Error::Witness(_) => "Witness",
            Error::Foreign(_) => "Foreign",
            Error::Setting { .. } => "Setting",
            Error::Io(_) => "Io",
        }
    }

    #[test]
    fn every_section_can_be_acted_on_and_no_code_is_there_twice() {
        let page = page();
        let codes: Vec<&str> = page.lines().filter_map(|l| l.strip_prefix("### ")).collect();
        let unique: BTreeSet<_> = codes.iter().collect();
        assert_eq!(codes.len(), unique.len());
        assert!(!page.contains("next: \n") && !page.contains("> \n"));
    }
}
