//! Forgetting: the text is gone from every file, also from copies made before, and the log still verifies.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use holdfast_journal::{Error, Journal, Limits, Options, Vault, VerifyOptions, verify};
use holdfast_testkit::files;
use holdfast_testkit::house::long;
use holdfast_testkit::{House, SmallDisk, require};

const TEXT: &str = "Ana's new address is Kelp Street 5, and she would rather not have it known";

// shows: MEM-F55
#[test]
fn an_erased_text_is_in_no_file_and_cannot_be_read_from_old_copies_either() {
    forgotten_everywhere(TEXT);
    // And one that lies beside the log.
    forgotten_everywhere(&long(TEXT));
}

fn forgotten_everywhere(text: &str) {
    let house = House::new();
    let copies = tempfile::tempdir().unwrap();
    let journal = house.open();
    let kept = journal.append(&house.blob("a text that stays")).unwrap().seq;
    let forgotten = journal.append(&house.blob(text)).unwrap().seq;
    let before = journal.checkpoint().unwrap();
    // A copy of the state directory, as a backup would make it.
    files::copy_tree(house.state(), copies.path().join("state"));
    assert_eq!(journal.text(forgotten).unwrap(), text.as_bytes());
    let erased = journal.erase(forgotten, &"ana".parse().unwrap()).unwrap();
    assert!(matches!(journal.text(forgotten), Err(Error::Erased { seq }) if seq == forgotten));
    assert_eq!(journal.text(kept).unwrap(), b"a text that stays");
    let note = journal.entry(erased.seq).unwrap().parse().unwrap();
    assert_eq!((note.kind.as_str(), note.cause), ("journal.blob.erased", Some(forgotten)));
    // Once more is no mistake, and is not noted twice.
    assert!(journal.erase(forgotten, &"ana".parse().unwrap()).unwrap().repeated);
    drop(journal);

    for place in [house.path(), copies.path()] {
        assert!(files::find_bytes(place, TEXT.as_bytes()).is_empty());
        assert!(files::find_bytes(place, b"Kelp Street").is_empty());
    }
    let found = house.verify().unwrap();
    assert!(found.is_good(), "{:?}", found.findings);
    assert_eq!((found.blobs, found.blobs_erased), (2, 1));

    // The old copy, opened with all keys there are now: sealed bytes, and nobody can open them.
    let old = Journal::open(Options { dir: copies.path().join("state/journal"), ..house.options() }).unwrap();
    assert!(matches!(old.text(forgotten), Err(Error::Erased { .. })));
    assert_eq!(old.text(kept).unwrap(), b"a text that stays");
    drop(old);
    let (trust, vault) = (house.trust(), Vault::open(&house.vault_path()).unwrap());
    let options = VerifyOptions {
        trust: Some(&trust),
        vault: Some(&vault),
        archive: None,
        every_signature: true,
        progress: &mut |_| {},
    };
    assert!(verify(&copies.path().join("state/journal"), options).unwrap().is_good());

    // The proof that something was there remains.
    let journal = house.open();
    let now = journal.checkpoint().unwrap();
    journal.prove_consistency(before.checkpoint.size, now.checkpoint.size).unwrap();
    journal.prove_inclusion(forgotten, now.checkpoint.size).unwrap();
}

#[test]
fn the_key_material_of_an_erased_text_is_overwritten_on_the_disk() {
    let house = House::new();
    let journal = house.open();
    let seq = journal.append(&house.blob(TEXT)).unwrap().seq;
    let root_key = std::fs::read_to_string(house.vault_path()).unwrap().lines().nth(1).unwrap().to_owned();
    let link = house.etc().join("a-second-name-for-the-old-file");
    std::fs::hard_link(house.vault_path(), &link).unwrap();
    journal.erase(seq, &"ana".parse().unwrap()).unwrap();
    assert!(std::fs::read(&link).unwrap().iter().all(|b| *b == 0));
    assert!(files::find_bytes(house.path(), &root_key.as_bytes()[20..]).is_empty());
}

#[test]
fn guessing_the_text_does_not_fit_its_name_once_the_key_is_gone() {
    let house = House::new();
    let journal = house.open();
    let one = journal.append(&house.blob("yes")).unwrap().seq;
    let two = journal.append(&house.blob("yes")).unwrap().seq;
    let line = |seq: u64| String::from_utf8(journal.entry(seq).unwrap().line).unwrap();
    let name = |seq: u64| line(seq).split("\"name\":\"").nth(1).unwrap()[..71].to_owned();
    // The same text has another name each time: nothing in the log tells that they are equal.
    assert_ne!(name(one), name(two));
    assert_ne!(name(one), format!("blake3:{}", blake3_hex(b"yes")));
}

fn blake3_hex(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

#[test]
fn without_a_vault_blobs_are_neither_written_nor_read_and_bodies_are() {
    let house = House::new();
    let seq = house.open().append(&house.blob(TEXT)).unwrap().seq;
    let journal = Journal::open(Options { vault: None, ..house.options() }).unwrap();
    assert!(matches!(journal.append(&house.blob(TEXT)), Err(Error::NoVault)));
    assert!(matches!(journal.text(seq), Err(Error::NoVault)));
    journal.append(&house.note(1)).unwrap();
}

#[test]
fn a_blob_may_have_16_mib_and_not_a_byte_more() {
    let house = House::new();
    let journal = house.open();
    let most = "x".repeat(holdfast_journal::BLOB_MAX);
    let seq = journal.append(&house.blob(&most)).unwrap().seq;
    assert_eq!(journal.text(seq).unwrap().len(), most.len());
    assert!(matches!(journal.append(&house.blob(&(most + "x"))), Err(Error::BlobTooLong { .. })));
}

/// What is beside the vault, and whether the text can be read: nothing was begun.
fn assert_untouched(house: &House, journal: &Journal, seq: u64) {
    assert_eq!(journal.text(seq).unwrap(), TEXT.as_bytes());
    assert!(!house.vault_path().with_extension("new").exists(), "no second vault is left");
    let erased = |raw: &holdfast_journal::RawEntry| raw.line.windows(19).any(|w| w == b"journal.blob.erased");
    assert!(!journal.read(0).any(|raw| erased(&raw.unwrap())), "nothing says that it was erased");
}

#[test]
fn a_full_log_refuses_to_erase_and_destroys_nothing() {
    let mut house = House::new();
    house.limits = Limits {
        segment_bytes: 64 * 1024,
        keep_segments: 1,
        warn_bytes: 256 * 1024,
        cap_bytes: 512 * 1024,
        ..Limits::default()
    };
    let journal = house.open();
    let seq = journal.append(&house.blob(TEXT)).unwrap().seq;
    while journal.append(&house.note(0).reserved()).is_ok() {}
    let vault = std::fs::read(house.vault_path()).unwrap();
    assert!(matches!(journal.erase(seq, &"ana".parse().unwrap()), Err(Error::CapReached { .. })));
    let why = house.note(1).reserved();
    assert!(journal.erase_because(&why, &[seq], &"ana".parse().unwrap()).is_err());
    assert_untouched(&house, &journal, seq);
    assert_eq!(std::fs::read(house.vault_path()).unwrap(), vault);
}

#[test]
fn a_full_disk_refuses_to_erase_and_says_nothing_of_it_in_the_log() {
    let Some(disk) = require(SmallDisk::tmpfs(3 * 1024 * 1024)) else { return };
    let house = House::attach(disk.path(), "full");
    house.create();
    let journal = house.open();
    let seq = journal.append(&house.blob(TEXT)).unwrap().seq;
    let filler = disk.path().join("filler");
    let mut other = std::fs::File::create(&filler).unwrap();
    while std::io::Write::write(&mut other, &[1; 4096]).is_ok_and(|written| written > 0) {}
    drop(other);
    let ana = "ana".parse().unwrap();
    // The log would take the entry.
    journal.append(&house.note(1).reserved()).unwrap();
    assert!(matches!(journal.erase(seq, &ana), Err(Error::DiskFull { .. })));
    assert!(matches!(
        journal.erase_because(&house.note(2).reserved(), &[seq], &ana),
        Err(Error::DiskFull { .. })
    ));
    assert_untouched(&house, &journal, seq);
    std::fs::remove_file(&filler).unwrap();
    assert!(!journal.erase(seq, &ana).unwrap().repeated);
    assert!(matches!(journal.text(seq), Err(Error::Erased { .. })));
}

#[test]
fn an_erasure_that_was_cut_short_is_done_at_the_next_start_if_the_log_has_it_and_else_not() {
    let house = House::new();
    let journal = house.open();
    let one = journal.append(&house.blob(TEXT)).unwrap().seq;
    let two = journal.append(&house.blob(TEXT)).unwrap().seq;
    let (vault, aside) = (house.vault_path(), house.vault_path().with_extension("new"));
    let before = std::fs::read(&vault).unwrap();
    journal.erase(one, &"ana".parse().unwrap()).unwrap();
    drop(journal);
    // Killed between the entry and the new vault.
    let after = std::fs::read(&vault).unwrap();
    std::fs::write(&vault, &before).unwrap();
    put_aside(&aside, &after);
    let journal = house.open();
    assert!(matches!(journal.text(one), Err(Error::Erased { .. })), "the log says so, and now it is so");
    assert_eq!(journal.text(two).unwrap(), TEXT.as_bytes());
    assert!(!aside.exists() && std::fs::read(&vault).unwrap() == after);
    drop(journal);
    // Killed before the entry: a vault without the other key lies there, and the log says nothing of that.
    let elsewhere = tempfile::tempdir().unwrap();
    let other = elsewhere.path().join("vault");
    std::fs::copy(&vault, &other).unwrap();
    let copy = elsewhere.path().join("journal");
    files::copy_tree(house.journal(), &copy);
    let options = Options { dir: copy, vault: Some(Vault::open(&other).unwrap()), ..house.options() };
    Journal::open(options).unwrap().erase(two, &"ana".parse().unwrap()).unwrap();
    put_aside(&aside, &std::fs::read(&other).unwrap());
    let journal = house.open();
    assert_eq!(journal.text(two).unwrap(), TEXT.as_bytes());
    assert!(!aside.exists() && std::fs::read(&vault).unwrap() == after);
}

fn put_aside(path: &std::path::Path, bytes: &[u8]) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, bytes).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn a_key_that_could_not_be_destroyed_after_it_was_written_down_is_told_in_the_log() {
    let house = House::new();
    let journal = house.open();
    let seq = journal.append(&house.blob(TEXT)).unwrap().seq;
    let (vault, away) = (house.vault_path(), house.etc().join("away"));
    holdfast_durable::move_to_new(&vault, &away).unwrap();
    std::fs::create_dir(&vault).unwrap();
    journal.erase(seq, &"ana".parse().unwrap()).unwrap_err();
    let kinds = |journal: &Journal| -> Vec<String> {
        journal.read(seq + 1).map(|raw| raw.unwrap().parse().unwrap().kind.to_string()).collect()
    };
    assert_eq!(kinds(&journal), ["journal.blob.erased", "journal.blob.kept"]);
    std::fs::remove_dir(&vault).unwrap();
    holdfast_durable::move_to_new(&away, &vault).unwrap();
    assert!(!journal.erase(seq, &"ana".parse().unwrap()).unwrap().repeated, "it is written down again");
    assert_eq!(kinds(&journal), ["journal.blob.erased", "journal.blob.kept", "journal.blob.erased"]);
    assert!(matches!(journal.text(seq), Err(Error::Erased { .. })));
}
