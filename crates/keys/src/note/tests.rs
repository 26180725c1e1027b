//! Our notes against somebody else's reader and theirs against ours, and what breaks them.

use proptest::prelude::*;
use signed_note::{Note as Theirs, StandardSigner, StandardVerifier, VerifierList};

use super::*;

/// The example of the Go module that the format comes from (golang.org/x/mod/sumdb/note).
const PETER_VKEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const PETER_SEED: &str = "gQoUAtUUbI2E8kQzMPVAgOv5juF9nHT2JS/F1ccoMXM=";
const PETER_TEXT: &str =
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const PETER_LINE: &str = "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

const CHECKPOINT: &str = "holdfast/web-1\n42\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
const NOW: u64 = 1_763_194_636;

fn key(seed: u8) -> SecretKey {
    SecretKey::from_seed(&[seed; 32])
}

fn name(text: &str) -> KeyName {
    text.parse().unwrap()
}

fn log() -> KeyName {
    name("holdfast/web-1")
}

fn witness() -> KeyName {
    name("witness.example/w1")
}

fn vkey(name: &KeyName, seed: u8) -> String {
    let public = key(seed).public();
    VerifierKey { name: name.clone(), algorithm: NoteAlgorithm::Ed25519, public }.to_string()
}

/// What the other implementation says of these bytes, for this verifier key.
fn they_accept(bytes: &[u8], vkey: &str) -> bool {
    let known = VerifierList::new(vec![Box::new(StandardVerifier::new(vkey).unwrap())]);
    Theirs::from_bytes(bytes).is_ok_and(|note| note.verify(&known).is_ok())
}

fn we_accept(bytes: &[u8], name: &KeyName, seed: u8) -> bool {
    Note::parse(bytes).is_ok_and(|note| verify(&note, name, &key(seed).public()).is_ok())
}

fn their_signer(name: &KeyName, seed: u8) -> StandardSigner {
    let hash = u32::from_be_bytes(key_hash(name, NoteAlgorithm::Ed25519, &key(seed).public()));
    let secret = STANDARD.encode([[1].as_slice(), &[seed; 32]].concat());
    StandardSigner::new(&format!("PRIVATE+KEY+{name}+{hash:08x}+{secret}")).unwrap()
}

#[test]
fn the_example_everyone_uses_verifies_and_is_reproduced_to_the_byte() {
    let peter: VerifierKey = PETER_VKEY.parse().unwrap();
    assert_eq!((peter.to_string().as_str(), peter.hash()), (PETER_VKEY, [0xc7, 0x4f, 0x20, 0xa3]));
    let bytes = format!("{PETER_TEXT}\n{PETER_LINE}").into_bytes();
    let note = Note::parse(&bytes).unwrap();
    assert_eq!(verify(&note, &peter.name, &peter.public), Ok(PETER_TEXT));
    let seed: [u8; 32] = STANDARD.decode(PETER_SEED).unwrap().try_into().unwrap();
    let again = sign(PETER_TEXT, &peter.name, &SecretKey::from_seed(&seed)).unwrap();
    assert_eq!(again.to_bytes(), bytes);
}

#[test]
fn our_note_is_accepted_by_the_other_implementation_and_theirs_by_us() {
    let ours = sign(CHECKPOINT, &log(), &key(1)).unwrap().to_bytes();
    assert!(they_accept(&ours, &vkey(&log(), 1)) && we_accept(&ours, &log(), 1));
    assert!(!they_accept(&ours, &vkey(&log(), 2)) && !we_accept(&ours, &log(), 2));
    let mut theirs = Theirs::new(CHECKPOINT.as_bytes(), &[]).unwrap();
    theirs.add_sigs(&[&their_signer(&log(), 1)]).unwrap();
    assert_eq!(theirs.to_bytes(), ours);
}

#[test]
fn any_single_bit_of_text_or_signature_is_refused_by_both() {
    let good = sign(CHECKPOINT, &log(), &key(1)).unwrap().to_bytes();
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            assert!(!we_accept(&bad, &log(), 1), "byte {at} bit {bit}");
            assert!(!they_accept(&bad, &vkey(&log(), 1)), "byte {at} bit {bit}");
        }
    }
}

proptest! {
    #[test]
    fn any_text_signed_by_either_is_accepted_by_both(text in "[^\u{0}-\u{1f}]{0,20}(\n[^\u{0}-\u{1f}]{0,20}){0,6}") {
        let text = text + "\n";
        let ours = sign(&text, &log(), &key(1)).unwrap();
        let bytes = ours.to_bytes();
        prop_assert_eq!(&Note::parse(&bytes).unwrap(), &ours);
        prop_assert_eq!(verify(&ours, &log(), &key(1).public()), Ok(text.as_str()));
        prop_assert!(they_accept(&bytes, &vkey(&log(), 1)));
        let mut theirs = Theirs::new(text.as_bytes(), &[]).unwrap();
        theirs.add_sigs(&[&their_signer(&log(), 1)]).unwrap();
        prop_assert_eq!(theirs.to_bytes(), bytes);
    }

    /// We are stricter in size and names, never laxer; and what we read we write back the same.
    #[test]
    fn what_we_read_they_read_and_it_comes_out_as_it_was(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<char>(), any::<bool>()), 1..4)
    ) {
        let note = sign(CHECKPOINT, &log(), &key(1)).unwrap().with(signature(CHECKPOINT, &witness(), &key(2)).unwrap());
        let mut text: Vec<char> = String::from_utf8(note.unwrap().to_bytes()).unwrap().chars().collect();
        for (at, c, insert) in edits {
            let at = at.index(text.len());
            if insert { text.insert(at, c) } else { text[at] = c }
        }
        let bytes = text.into_iter().collect::<String>().into_bytes();
        if let Ok(read) = Note::parse(&bytes) {
            prop_assert_eq!(read.to_bytes(), bytes.clone());
            prop_assert!(Theirs::from_bytes(&bytes).is_ok());
            let (ours, theirs) = (we_accept(&bytes, &log(), 1), they_accept(&bytes, &vkey(&log(), 1)));
            prop_assert!(!ours || theirs);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(note) = Note::parse(&bytes) {
            prop_assert_eq!(note.to_bytes(), bytes);
        }
    }

    #[test]
    fn verifier_keys_round_trip_and_agree_with_theirs(seed: [u8; 32], label in "[!-*,-~é]{1,20}", cosigner: bool) {
        let algorithm = if cosigner { NoteAlgorithm::Cosignature } else { NoteAlgorithm::Ed25519 };
        let key = VerifierKey { name: name(&label), algorithm, public: SecretKey::from_seed(&seed).public() };
        prop_assert_eq!(key.to_string().parse(), Ok(key.clone()));
        let typed = [[algorithm.byte()].as_slice(), key.public.as_bytes()].concat();
        prop_assert_eq!(signed_note::key_id(&label, &typed), u32::from_be_bytes(key.hash()));
        prop_assert_eq!(StandardVerifier::new(&key.to_string()).is_ok(), !cosigner);
    }
}

#[test]
fn the_last_blank_line_is_the_border() {
    for text in ["a\n\nb\n", "a\n\n", "\n", "\n\n\n", "a\n\n— looks like a signature AAAAAAA=\n"] {
        let note = sign(text, &log(), &key(1)).unwrap();
        let read = Note::parse(&note.to_bytes()).unwrap();
        assert_eq!(verify(&read, &log(), &key(1).public()), Ok(text));
        assert!(they_accept(&note.to_bytes(), &vkey(&log(), 1)), "{text:?}");
    }
}

#[test]
fn malformed_notes_are_refused() {
    let line = "— w1 AAAAAAA=\n";
    assert!(Note::parse(format!("a\n\n{line}").as_bytes()).is_ok());
    let many = |n| format!("a\n\n{}", line.repeat(n));
    assert!(Note::parse(many(100).as_bytes()).is_ok());
    type Expected = fn(&NoteError) -> bool;
    let cases: &[(&[u8], Expected)] = &[
        (b"", |e| matches!(e, NoteError::NoSignatures)),
        (b"a\n", |e| matches!(e, NoteError::NoSignatures)),
        (b"a\n\n", |e| matches!(e, NoteError::NoSignatures)),
        ("a\n— w1 AAAAAAA=\n".as_bytes(), |e| matches!(e, NoteError::NoSignatures)),
        ("\n— w1 AAAAAAA=\n".as_bytes(), |e| matches!(e, NoteError::NoSignatures)),
        (b"a\xff\n\n\xe2\x80\x94 w1 AAAAAAA=\n", |e| matches!(e, NoteError::BadText { .. })),
        ("a\tb\n\n— w1 AAAAAAA=\n".as_bytes(), |e| matches!(e, NoteError::BadText { .. })),
        ("a\r\n\n— w1 AAAAAAA=\n".as_bytes(), |e| matches!(e, NoteError::BadText { .. })),
        ("a\0\n\n— w1 AAAAAAA=\n".as_bytes(), |e| matches!(e, NoteError::BadText { .. })),
    ];
    for (bytes, expected) in cases {
        let error = Note::parse(bytes).unwrap_err();
        assert!(expected(&error), "{:?}: {error}", String::from_utf8_lossy(bytes));
    }
    for bad in [
        "— w1 AAAAAAA=",
        "- w1 AAAAAAA=\n",
        "—w1 AAAAAAA=\n",
        "— w1  AAAAAAA=\n",
        "—  w1 AAAAAAA=\n",
        "— w1 AAAAAAA= \n",
        "— w1 AAAAAA\n",
        "— w1 AAAAAAB=\n",
        "— w1 AAAAAA==\n",
        "— w1 \n",
        "— w1\n",
        "— w+1 AAAAAAA=\n",
        "— w\u{a0}1 AAAAAAA=\n",
        "— w1 AAAAAAA=\r\n",
        "— w1 AAAAAAA=\nmore\n",
    ] {
        let error = Note::parse(format!("a\n\n{bad}").as_bytes()).unwrap_err();
        assert!(matches!(error, NoteError::MalformedSignature { .. }), "{bad:?}: {error}");
    }
    assert_eq!(Note::parse(many(101).as_bytes()), Err(NoteError::TooManySignatures));
    let large = format!("{}\n\n{line}", "a".repeat(NOTE_SIZE_MAX));
    assert!(matches!(Note::parse(large.as_bytes()), Err(NoteError::TooLarge { .. })));
}

#[test]
fn texts_that_no_note_can_carry_are_not_signed() {
    let large = "a".repeat(NOTE_SIZE_MAX) + "\n";
    for text in ["", "a", "a\t\n", "a\r\n", "\u{1}\n", &large] {
        assert!(sign(text, &log(), &key(1)).is_err() && cosign(text, &log(), &key(1), NOW).is_err());
    }
    let just_too_large = "a".repeat(NOTE_SIZE_MAX - 20) + "\n";
    assert!(matches!(sign(&just_too_large, &log(), &key(1)), Err(NoteError::TooLarge { .. })));
}

/// A note's signature covers bare text, so a text that reads like a document's or a cosignature's signed
/// bytes would give the signer's word for those.
#[test]
fn a_text_that_would_pass_as_something_else_signed_is_refused() {
    let document = "holdfast-document/v1\nlog\nmanifest\n1970-01-01T00:00:00.000000Z\n{}\n";
    for text in [document, &format!("cosignature/v1\ntime 1\n{CHECKPOINT}")] {
        assert!(matches!(sign(text, &log(), &key(1)), Err(NoteError::BadText { .. })));
    }
}

#[test]
fn strangers_are_passed_over_and_a_bad_signature_by_a_known_key_spoils_the_note() {
    let good = sign(CHECKPOINT, &log(), &key(1)).unwrap();
    let read = |note: &Note| verify(note, &log(), &key(1).public()).map(str::len);
    // The same name with another key, and the same key under another name.
    let stranger = signature(CHECKPOINT, &log(), &key(2)).unwrap();
    let renamed = signature(CHECKPOINT, &witness(), &key(1)).unwrap();
    let crowd = good.clone().with(stranger.clone()).unwrap().with(renamed.clone()).unwrap();
    assert_eq!(read(&crowd), Ok(CHECKPOINT.len()));
    let strangers = sign(CHECKPOINT, &log(), &key(2)).unwrap().with(renamed).unwrap();
    assert_eq!(read(&strangers), Err(NoteError::NotSignedBy { name: log() }));
    // Before the good one or after it.
    let bad = NoteSignature { bytes: vec![7; 64], ..good.signatures[0].clone() };
    let short = NoteSignature { bytes: vec![7; 63], ..good.signatures[0].clone() };
    for bad in [bad, short] {
        for signatures in
            [vec![bad.clone(), good.signatures[0].clone()], vec![good.signatures[0].clone(), bad.clone()]]
        {
            let spoilt = Note { text: CHECKPOINT.into(), signatures };
            assert_eq!(read(&spoilt), Err(NoteError::DoesNotFit { name: log() }));
        }
    }
}

#[test]
fn a_signature_that_is_there_twice_counts_once() {
    let good = sign(CHECKPOINT, &log(), &key(1)).unwrap();
    assert_eq!(good.clone().with(good.signatures[0].clone()).unwrap(), good);
    let bytes = [good.to_bytes(), good.signatures[0].to_string().into_bytes()].concat();
    assert!(we_accept(&bytes, &log(), 1) && they_accept(&bytes, &vkey(&log(), 1)));
}

#[test]
fn a_full_note_takes_no_more_signatures() {
    let full = (0..100).try_fold(Note { text: CHECKPOINT.into(), signatures: vec![] }, |note, n: u8| {
        note.with(signature(CHECKPOINT, &log(), &key(n))?)
    });
    let full = full.unwrap();
    assert!(we_accept(&full.to_bytes(), &log(), 99));
    let one_more = signature(CHECKPOINT, &log(), &key(100)).unwrap();
    assert_eq!(full.with(one_more), Err(NoteError::TooManySignatures));
}

#[test]
fn a_cosignature_says_when_and_stands_beside_the_logs_own_signature() {
    let note = sign(CHECKPOINT, &log(), &key(1)).unwrap();
    let note = note.with(cosign(CHECKPOINT, &witness(), &key(2), NOW).unwrap()).unwrap();
    let read = Note::parse(&note.to_bytes()).unwrap();
    let at = verify_cosignature(&read, &witness(), &key(2).public()).unwrap();
    assert_eq!(at.to_string(), "2025-11-15T08:17:16.000000Z");
    // Each is passed over by who looks for the other, here and elsewhere.
    assert_eq!(verify(&read, &log(), &key(1).public()), Ok(CHECKPOINT));
    assert!(they_accept(&note.to_bytes(), &vkey(&log(), 1)));
    let not_signed = |name| Err(NoteError::NotSignedBy { name });
    assert_eq!(verify(&read, &witness(), &key(2).public()), not_signed(witness()));
    assert_eq!(
        verify_cosignature(&read, &log(), &key(1).public()),
        Err(NoteError::NotSignedBy { name: log() })
    );
}

/// Built here from the words of c2sp.org/tlog-cosignature, byte by byte, with the older signing library that
/// the other implementation brings along.
#[test]
fn a_cosignature_has_the_bytes_that_c2sp_draws() {
    use signed_note::Signer as _;
    let message = format!("cosignature/v1\ntime {NOW}\n{CHECKPOINT}");
    let raw = their_signer(&witness(), 2).sign(message.as_bytes()).unwrap();
    let typed = [[4].as_slice(), key(2).public().as_bytes()].concat();
    let id = signed_note::key_id(witness().as_str(), &typed);
    let drawn = [id.to_be_bytes().as_slice(), &NOW.to_be_bytes(), &raw].concat();
    let line = format!("— {} {}\n", witness(), STANDARD.encode(drawn));
    assert_eq!(cosign(CHECKPOINT, &witness(), &key(2), NOW).unwrap().to_string(), line);
}

#[test]
fn any_single_bit_of_a_cosigned_text_time_or_signature_is_refused() {
    let good = Note {
        text: CHECKPOINT.into(),
        signatures: vec![cosign(CHECKPOINT, &witness(), &key(2), NOW).unwrap()],
    };
    let good = good.to_bytes();
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            let accepted =
                Note::parse(&bad).map(|note| verify_cosignature(&note, &witness(), &key(2).public()));
            assert!(!matches!(accepted, Ok(Ok(_))), "byte {at} bit {bit}");
        }
    }
}

#[test]
fn of_two_cosignatures_the_later_time_counts_and_a_false_one_spoils_both() {
    let at = |secs| cosign(CHECKPOINT, &witness(), &key(2), secs).unwrap();
    let mut note = Note { text: CHECKPOINT.into(), signatures: vec![at(NOW + 9), at(NOW)] };
    let time = verify_cosignature(&note, &witness(), &key(2).public()).unwrap();
    assert_eq!(time, timestamp(NOW + 9).unwrap());
    // An old statement with a new time on it.
    note.signatures[1].bytes[7] ^= 0x40;
    let refused = verify_cosignature(&note, &witness(), &key(2).public());
    assert_eq!(refused, Err(NoteError::DoesNotFit { name: witness() }));
}

#[test]
fn a_time_that_is_none_is_refused() {
    assert!(cosign(CHECKPOINT, &witness(), &key(2), 0).is_ok());
    for secs in [u64::MAX, 1 << 63, i64::MAX as u64, 300_000_000_000] {
        assert_eq!(
            cosign(CHECKPOINT, &witness(), &key(2), secs),
            Err(NoteError::BadTime { unix_secs: secs })
        );
        // A witness that signs it all the same.
        let bytes = [secs.to_be_bytes().as_slice(), &key(2).sign(&cosigned(secs, CHECKPOINT))].concat();
        let signature = NoteSignature { bytes, ..cosign(CHECKPOINT, &witness(), &key(2), 0).unwrap() };
        let note = Note { text: CHECKPOINT.into(), signatures: vec![signature] };
        assert!(verify_cosignature(&note, &witness(), &key(2).public()).is_err());
    }
}

#[test]
fn verifier_keys_in_any_other_spelling_are_refused() {
    for end in 0..PETER_VKEY.len() {
        assert!(PETER_VKEY[..end].parse::<VerifierKey>().is_err(), "cut at {end}");
    }
    for at in 0..PETER_VKEY.len() {
        let mut bad = PETER_VKEY.as_bytes().to_vec();
        bad[at] += 1;
        assert!(String::from_utf8(bad).unwrap().parse::<VerifierKey>().is_err(), "byte {at}");
    }
    let upper = PETER_VKEY.replace("c74f20a3", "C74F20A3");
    assert!(matches!(upper.parse::<VerifierKey>(), Err(NoteError::MalformedVerifierKey { .. })));
    let ecdsa = format!("w1+00000000+{}", STANDARD.encode([[2].as_slice(), &[0; 32]].concat()));
    assert!(matches!(ecdsa.parse::<VerifierKey>(), Err(NoteError::UnknownAlgorithm { found: 2, .. })));
    let weak = format!("w1+00000000+{}", STANDARD.encode([[1].as_slice(), &[0; 32]].concat()));
    assert!(matches!(weak.parse::<VerifierKey>(), Err(NoteError::BadPublicKey { .. })));
}

#[test]
fn names_are_free_of_what_would_break_a_line() {
    for good in ["a", "holdfast/web-1", "oid/1.3.6.1", "é", &"n".repeat(255)] {
        assert!(good.parse::<KeyName>().is_ok(), "{good}");
        assert!(signed_note::is_key_name_valid(good));
    }
    for bad in
        ["", " ", "a b", "a+b", "a\nb", "a\tb", "a\u{a0}b", "a\u{2003}", "a\u{0}", "\u{85}", &"n".repeat(256)]
    {
        assert!(bad.parse::<KeyName>().is_err(), "{bad:?}");
    }
    let origin: Origin = "holdfast/web-1.lan".parse().unwrap();
    assert_eq!(KeyName::from(&origin).as_str().parse(), Ok(KeyName::from(&origin)));
}
