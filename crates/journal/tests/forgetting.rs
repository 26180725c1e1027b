//! Forgetting: the text is gone from every file, also from copies made before, and the log still verifies.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use holdfast_journal::{Error, Journal, Options, Vault, VerifyOptions, verify};
use holdfast_testkit::House;
use holdfast_testkit::files;
use holdfast_testkit::house::long;

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
