//! Witnesses: what they cosign is taken twice in a row, and nothing is that shows another, a shorter or an
//! older log. The other way round our own witness cosigns nothing of that kind.

use std::path::Path;

use holdfast_journal::{Cosigned, Error, Journal, Refused, Request, Witness};
use holdfast_keys::{KeyName, NoteAlgorithm, Role, SecretKey, TrustSet, TrustedKey, VerifierKey};
use holdfast_testkit::files;
use holdfast_types::Timestamp;
use metamorphic_log::note::{SignedNote, sign_cosignature_ed25519};

use crate::judges::CosignedBy;
use crate::{Flip, append};
use holdfast_testkit::house::{House, NOON};

const SEED: [u8; 32] = [42; 32];
const NAME: &str = "witness.example/w1";

#[test]
fn a_cosignature_of_ours_is_accepted_by_others_and_by_us_and_no_changed_byte_is() {
    let (house, journal) = grown("alpha", 5);
    let mut witness = our_witness(house.path());
    for (size, seconds) in [(5, 10), (9, 20)] {
        append(&journal, journal.size()..size);
        let request = journal.witness_request(NAME).unwrap();
        assert_eq!(Request::parse(&request.to_text()), Ok(request.clone()));
        let cosigned = witness.cosign(&request, &house.trust(), at(seconds)).unwrap();
        check_cosigned(&house, cosigned.as_bytes());
        let taken = journal.accept_cosigned(cosigned.as_bytes(), &trust_in_witness()).unwrap();
        assert_eq!(taken, cosigned_at(size, seconds));
    }
    let found = house.verify().unwrap();
    assert!(found.is_good());
    assert_eq!(found.witnessed, 2);
}

#[test]
fn cosignatures_that_somebody_else_made_are_taken_twice_in_a_row() {
    let (house, journal) = grown("alpha", 5);
    for (size, seconds) in [(5, 10), (9, 20)] {
        append(&journal, journal.size()..size);
        let request = journal.witness_request(NAME).unwrap();
        let cosigned = foreign_cosign(&request.note, at(seconds));
        check_cosigned(&house, cosigned.as_bytes());
        let taken = journal.accept_cosigned(cosigned.as_bytes(), &trust_in_witness()).unwrap();
        assert_eq!(taken, cosigned_at(size, seconds));
        // From here on the proof begins where this witness has been.
        assert_eq!(journal.witness_request(NAME).unwrap().old_size, size);
        assert_eq!(journal.witness_request("witness.example/w2").unwrap().old_size, 0);
    }
    drop(journal);
    assert_eq!(house.verify().unwrap().witnessed, 2);
}

#[test]
fn both_witnesses_sign_the_same_bytes() {
    let (house, journal) = grown("alpha", 5);
    let request = journal.witness_request(NAME).unwrap();
    let ours = our_witness(house.path()).cosign(&request, &house.trust(), at(10)).unwrap();
    // Ed25519 leaves nothing to chance: the same key, text and time give the same signature.
    assert_eq!(ours, foreign_cosign(&request.note, at(10)));
}

// shows: HRD-050
#[test]
fn a_log_put_back_from_an_older_copy_is_found_against_what_a_witness_saw() {
    let (house, journal) = grown("alpha", 5);
    drop(journal);
    let older = tempfile::tempdir().unwrap();
    files::copy_tree(house.state(), older.path().join("state"));
    files::copy_tree(house.etc(), older.path().join("etc"));
    let journal = house.open();
    append(&journal, 5..9);
    let anchor = foreign_cosign(&journal.checkpoint().unwrap().note, at(10));
    journal.accept_cosigned(anchor.as_bytes(), &trust_in_witness()).unwrap();
    drop(journal);

    let shrunk = House::attach(older.path(), "alpha");
    assert!(shrunk.verify().unwrap().is_good(), "by itself nothing is wrong with it");
    let expected = Refused::LogShrunk { seen: 9, here: 5 };
    refused(&shrunk.open(), &anchor, expected);

    // The same when only the log went back and the anchor beside it stayed.
    let (from, to) = (house.journal(), shrunk.journal());
    std::fs::copy(from.join("witnessed.jsonl"), to.join("witnessed.jsonl")).unwrap();
    assert!(shrunk.verify().unwrap().is_damaged());

    // Growing again with other entries does not help: then it is another log.
    let journal = shrunk.open();
    append(&journal, 50..60);
    refused(&journal, &anchor, Refused::Forked { size: 9 });
}

#[test]
fn a_cosigned_checkpoint_of_a_forked_log_is_refused() {
    let (_one, journal) = grown("alpha", 5);
    let (_other, forked) = grown_from("alpha", 100..105);
    assert_eq!(journal.origin(), forked.origin());
    let cosigned = foreign_cosign(&forked.checkpoint().unwrap().note, at(10));
    refused(&journal, &cosigned, Refused::Forked { size: 5 });
    append(&journal, 5..9);
    refused(&journal, &cosigned, Refused::Forked { size: 5 });
    assert_eq!(journal.witness_request(NAME).unwrap().old_size, 0, "nothing was kept");
}

#[test]
fn a_cosigned_checkpoint_of_another_log_is_refused() {
    let (_one, journal) = grown("alpha", 5);
    let (other, theirs) = grown("beta", 5);
    let cosigned = foreign_cosign(&theirs.checkpoint().unwrap().note, at(10));
    let expected = Refused::OtherLog { found: other.origin.clone(), expected: journal.origin().clone() };
    refused(&journal, &cosigned, expected);
}

#[test]
fn only_a_key_trusted_as_a_witness_counts() {
    let (house, journal) = grown("alpha", 5);
    let note = journal.checkpoint().unwrap().note;
    let cosigned = foreign_cosign(&note, at(10));
    let check = |note: &str, trust: &TrustSet| match journal.accept_cosigned(note.as_bytes(), trust) {
        Err(Error::Witness(refused)) => Some(refused),
        Err(other) => panic!("{other}"),
        Ok(_) => None,
    };
    assert!(matches!(check(&cosigned, &TrustSet::default()), Some(Refused::NotSigned(_))));
    assert_eq!(check(&cosigned, &house.trust()), Some(Refused::NotCosigned));
    assert_eq!(check(&cosigned, &trust_in(Role::Log, NAME)), Some(Refused::NotCosigned));
    let other_name = trust_in(Role::Witness, "witness.example/w2");
    assert_eq!(check(&cosigned, &other_name), Some(Refused::NotCosigned));
    let too_early = foreign_cosign(&note, at(0) - 1);
    assert_eq!(check(&too_early, &trust_in_witness()), Some(Refused::NotCosigned));
    assert_eq!(check(&note, &trust_in_witness()), Some(Refused::NotCosigned));
    assert_eq!(check(&cosigned, &trust_in_witness()), None);
}

#[test]
fn a_witness_that_goes_back_in_size_is_refused() {
    let (_house, journal) = grown("alpha", 5);
    let five = foreign_cosign(&journal.checkpoint().unwrap().note, at(10));
    append(&journal, 5..9);
    let nine = foreign_cosign(&journal.checkpoint().unwrap().note, at(20));
    journal.accept_cosigned(nine.as_bytes(), &trust_in_witness()).unwrap();
    refused(&journal, &five, Refused::WentBack { size: 5, earlier: 9 });
    // The same size again is a later look at the same log.
    let again = foreign_cosign(&journal.checkpoint().unwrap().note, at(30));
    journal.accept_cosigned(again.as_bytes(), &trust_in_witness()).unwrap();
}

#[test]
fn a_damaged_cosignature_is_refused_and_not_passed_over() {
    let (_house, journal) = grown("alpha", 5);
    let cosigned = foreign_cosign(&journal.checkpoint().unwrap().note, at(10));
    let (rest, line) = cosigned.trim_end().rsplit_once('\n').unwrap();
    let blob = line.rfind(' ').unwrap() + 1;
    // Beyond the key hash, so that it is still the witness's, and before the padding.
    Flip::EveryByte.each(&line.as_bytes()[blob + 8..line.len() - 4], 0, |changed, n| {
        let Ok(changed) = std::str::from_utf8(changed) else {
            return;
        };
        let (head, tail) = (&line[..blob + 8], &line[line.len() - 4..]);
        let note = format!("{rest}\n{head}{changed}{tail}\n");
        let result = journal.accept_cosigned(note.as_bytes(), &trust_in_witness());
        let found = matches!(result, Err(Error::Witness(Refused::Malformed(_))));
        assert!(found, "character {n}: {result:?}");
    });
    let nonsense = journal.accept_cosigned(b"not a note", &trust_in_witness());
    assert!(matches!(nonsense, Err(Error::Witness(Refused::Malformed(_)))));
}

#[test]
fn our_witness_cosigns_no_shrunk_log_also_after_it_was_reopened() {
    let (house, journal) = grown("alpha", 5);
    let first = journal.witness_request(NAME).unwrap();
    append(&journal, 5..9);
    let mut witness = our_witness(house.path());
    let whole = Request { old_size: 0, proof: Vec::new(), note: journal.checkpoint().unwrap().note };
    let cosigned = witness.cosign(&whole, &house.trust(), at(10)).unwrap();
    let shrunk = Refused::WentBack { size: 5, earlier: 9 };
    not_cosigned(&mut witness, &first, &house.trust(), &shrunk);
    drop(witness);

    let mut witness = our_witness(house.path());
    not_cosigned(&mut witness, &first, &house.trust(), &shrunk);
    journal.accept_cosigned(cosigned.as_bytes(), &trust_in_witness()).unwrap();
    append(&journal, 9..12);
    let next = journal.witness_request(NAME).unwrap();
    assert_eq!(next.old_size, 9);
    witness.cosign(&next, &house.trust(), at(20)).unwrap();
}

#[test]
fn our_witness_cosigns_no_forked_log() {
    let (house, journal) = grown("alpha", 5);
    let (_other, forked) = grown_from("alpha", 100..105);
    let mut witness = our_witness(house.path());
    let request = journal.witness_request(NAME).unwrap();
    let cosigned = witness.cosign(&request, &house.trust(), at(10)).unwrap();
    let mut other = forked.witness_request(NAME).unwrap();
    other.old_size = 5;
    not_cosigned(&mut witness, &other, &house.trust(), &Refused::Forked { size: 5 });
    // Longer than what was seen, with the proof of the other log's own growth.
    append(&forked, 105..109);
    let longer = Request {
        old_size: 5,
        note: forked.checkpoint().unwrap().note,
        proof: forked.prove_consistency(5, 9).unwrap(),
    };
    bad_proof(&mut witness, &longer, &house.trust());
    // None of it was remembered: the first log goes on.
    journal.accept_cosigned(cosigned.as_bytes(), &trust_in_witness()).unwrap();
    append(&journal, 5..9);
    let next = journal.witness_request(NAME).unwrap();
    witness.cosign(&next, &house.trust(), at(20)).unwrap();
}

#[test]
fn our_witness_wants_a_proof_that_fits_and_begins_where_it_was() {
    let (house, journal) = grown("alpha", 5);
    let mut witness = our_witness(house.path());
    let request = journal.witness_request(NAME).unwrap();
    let early = Request { old_size: 3, proof: journal.prove_consistency(3, 5).unwrap(), ..request.clone() };
    let expected = Refused::Stale { asked: 3, expected: 0 };
    not_cosigned(&mut witness, &early, &house.trust(), &expected);
    let cosigned = witness.cosign(&request, &house.trust(), at(10)).unwrap();
    append(&journal, 5..9);
    let stale = journal.witness_request(NAME).unwrap();
    assert_eq!(stale.old_size, 0, "the log never saw the answer");
    let expected = Refused::Stale { asked: 0, expected: 5 };
    not_cosigned(&mut witness, &stale, &house.trust(), &expected);

    journal.accept_cosigned(cosigned.as_bytes(), &trust_in_witness()).unwrap();
    let good = journal.witness_request(NAME).unwrap();
    Flip::EveryBit.each(good.proof.as_flattened(), 0, |proof, _| {
        let proof = crate::hashes(proof);
        bad_proof(&mut witness, &Request { proof, ..good.clone() }, &house.trust());
    });
    let short = good.proof[1..].to_vec();
    let long = [good.proof.clone(), vec![[7; 32]]].concat();
    for proof in [Vec::new(), short, long] {
        bad_proof(&mut witness, &Request { proof, ..good.clone() }, &house.trust());
    }
    witness.cosign(&good, &house.trust(), at(20)).unwrap();
}

#[test]
fn our_witness_cosigns_only_what_a_log_it_trusts_has_signed() {
    let (house, journal) = grown("alpha", 5);
    let mut witness = our_witness(house.path());
    let good = journal.witness_request(NAME).unwrap();
    let unsigned = |request: &Request, trust: &TrustSet, witness: &mut Witness| {
        let result = witness.cosign(request, trust, at(10));
        matches!(result, Err(Error::Witness(Refused::NotSigned(_) | Refused::Malformed(_))))
    };
    assert!(unsigned(&good, &TrustSet::default(), &mut witness));
    assert!(unsigned(&good, &House::named("beta").trust(), &mut witness));
    Flip::EveryByte.each(good.note.as_bytes(), 0, |note, n| {
        if let Ok(note) = String::from_utf8(note.to_vec()) {
            let request = Request { note, ..good.clone() };
            assert!(unsigned(&request, &house.trust(), &mut witness), "byte {n}");
        }
    });
    witness.cosign(&good, &house.trust(), at(10)).unwrap();
}

#[test]
fn a_witness_does_not_begin_anew_when_its_memory_is_damaged() {
    let (house, journal) = grown("alpha", 5);
    let request = journal.witness_request(NAME).unwrap();
    our_witness(house.path()).cosign(&request, &house.trust(), at(10)).unwrap();
    let path = house.path().join("seen.json");
    files::truncate(&path, 20);
    let reopened = Witness::open(NAME.parse().unwrap(), SecretKey::from_seed(&SEED), &path);
    assert!(matches!(reopened, Err(Error::Damaged(_))));
}

/// Both signatures hold for others and for us, and no longer when any bit is changed.
fn check_cosigned(house: &House, cosigned: &[u8]) {
    let log = VerifierKey {
        name: KeyName::from(&house.origin),
        algorithm: NoteAlgorithm::Ed25519,
        public: house.key().public(),
    };
    let witness = VerifierKey {
        name: NAME.parse().unwrap(),
        algorithm: NoteAlgorithm::Cosignature,
        public: SecretKey::from_seed(&SEED).public(),
    };
    let by = CosignedBy { log, witness };
    assert!(by.metamorphic_accepts(cosigned));
    assert!(by.we_accept(cosigned));
    Flip::EveryBit.each(cosigned, 0, |changed, at| {
        assert!(!by.metamorphic_accepts(changed), "metamorphic-log, byte {at}");
        assert!(!by.we_accept(changed), "holdfast, byte {at}");
    });
}

#[track_caller]
fn refused(journal: &Journal, cosigned: &str, expected: Refused) {
    match journal.accept_cosigned(cosigned.as_bytes(), &trust_in_witness()) {
        Err(Error::Witness(found)) => assert_eq!(found, expected),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn not_cosigned(witness: &mut Witness, request: &Request, trust: &TrustSet, expected: &Refused) {
    match witness.cosign(request, trust, at(15)) {
        Err(Error::Witness(found)) => assert_eq!(&found, expected),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn bad_proof(witness: &mut Witness, request: &Request, trust: &TrustSet) {
    let result = witness.cosign(request, trust, at(15));
    let refused = matches!(result, Err(Error::Witness(Refused::BadProof(_))));
    assert!(refused, "{result:?}");
}

fn grown(instance: &str, size: u64) -> (House, Journal) {
    grown_from(instance, 0..size)
}

fn grown_from(instance: &str, numbers: std::ops::Range<u64>) -> (House, Journal) {
    let house = House::named(instance);
    let journal = house.open();
    append(&journal, numbers);
    (house, journal)
}

/// The witness that metamorphic-log makes: the note with its cosignature added.
fn foreign_cosign(note: &str, unix_secs: u64) -> String {
    let note = SignedNote::parse(note).unwrap();
    let cosignature = sign_cosignature_ed25519(note.text(), NAME, &SEED, unix_secs).unwrap();
    let signatures = [note.signatures(), &[cosignature]].concat();
    SignedNote::new(note.text().to_owned(), signatures).unwrap().marshal()
}

fn our_witness(dir: &Path) -> Witness {
    let (name, key) = (NAME.parse().unwrap(), SecretKey::from_seed(&SEED));
    Witness::open(name, key, &dir.join("seen.json")).unwrap()
}

fn trust_in_witness() -> TrustSet {
    trust_in(Role::Witness, NAME)
}

/// The log `alpha`'s own key, and this one.
fn trust_in(role: Role, name: &str) -> TrustSet {
    let public = SecretKey::from_seed(&SEED).public();
    let mut trust = House::named("alpha").trust();
    trust.add(TrustedKey::new(public, role, name.parse().unwrap(), noon())).unwrap();
    trust
}

fn cosigned_at(size: u64, seconds: u64) -> Cosigned {
    let at = noon().plus(std::time::Duration::from_secs(seconds));
    Cosigned { witness: NAME.to_owned(), at, size }
}

fn noon() -> Timestamp {
    NOON.parse().unwrap()
}

/// Seconds since 1970, so many after noon.
fn at(seconds: u64) -> u64 {
    u64::try_from(noon().as_micros() / 1_000_000).unwrap() + seconds
}

#[test]
fn a_cosigned_checkpoint_the_log_did_not_sign_is_evidence_of_nothing() {
    let (_house, journal) = grown("alpha", 5);
    let text = journal.checkpoint().unwrap().checkpoint.text();
    let name: KeyName = NAME.parse().unwrap();
    let cosignature =
        holdfast_keys::note::cosign(&text, &name, &SecretKey::from_seed(&SEED), at(10)).unwrap();
    let unsigned = format!("{text}\n{cosignature}");
    let refused = journal.accept_cosigned(unsigned.as_bytes(), &trust_in_witness());
    assert!(matches!(refused, Err(Error::Witness(Refused::NotSigned(_)))), "{refused:?}");
}

#[test]
fn our_witness_takes_no_proof_where_there_is_nothing_to_prove() {
    let (house, journal) = grown("alpha", 5);
    let mut witness = our_witness(house.path());
    let first = journal.witness_request(NAME).unwrap();
    let junk = |request: &Request| Request { proof: vec![[1; 32]], ..request.clone() };
    let bad = |result| matches!(result, Err(Error::Witness(Refused::BadProof(_))));
    assert!(bad(witness.cosign(&junk(&first), &house.trust(), at(10))));
    witness.cosign(&first, &house.trust(), at(10)).unwrap();
    let again = Request { old_size: 5, ..first };
    assert!(bad(witness.cosign(&junk(&again), &house.trust(), at(11))));
    witness.cosign(&again, &house.trust(), at(12)).unwrap();
}

#[test]
fn a_request_has_one_spelling() {
    let (_house, journal) = grown("alpha", 5);
    let text = journal.witness_request(NAME).unwrap().to_text();
    for other in ["old +0\n", "old 00\n", "old -1\n", "old \n", "Old 0\n"] {
        assert!(Request::parse(&text.replacen("old 0\n", other, 1)).is_err(), "{other:?}");
    }
}
