//! Third parties agree: what the journal signs and proves is judged by programs that are not ours.
//!
//! Logs of 0, 1, 2, 3, 255, 256, 257 and 100,000 entries are written by the real journal. Every checkpoint,
//! inclusion proof and consistency proof must be accepted by every judge (`third_parties/judges.rs`), and
//! refused by every judge once any byte of it is changed. Then witnesses: ours and somebody else's.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(unreachable_pub, reason = "the judges are a module of this file only")]
#![allow(missing_debug_implementations, reason = "nobody prints a judge")]

#[path = "third_parties/judges.rs"]
mod judges;
#[path = "third_parties/witnesses.rs"]
mod witnesses;

use std::collections::BTreeSet;

use holdfast_journal::{Draft, Journal, View};
use holdfast_keys::{KeyName, NoteAlgorithm, VerifierKey};
use holdfast_testkit::House;
use holdfast_types::Trust;
use judges::{Consistency, Head, Inclusion, JUDGES};

#[test]
fn third_parties_agree_on_a_log_of_0() {
    let log = Log::of(0);
    log.check_checkpoint(Flip::EveryBit);
    // No entry is in it, and every judge says so.
    let claim = Inclusion { line: Vec::new(), index: 0, head: log.head.clone(), proof: Vec::new() };
    refused("entry 0 of an empty log", |judge| judge.holds(&claim));
    assert!(log.journal.prove_inclusion(0, 0).is_err());
}

#[test]
fn third_parties_agree_on_a_log_of_1() {
    Log::of(1).check_everything(Flip::EveryBit);
}

#[test]
fn third_parties_agree_on_a_log_of_2() {
    Log::of(2).check_everything(Flip::EveryBit);
}

#[test]
fn third_parties_agree_on_a_log_of_3() {
    Log::of(3).check_everything(Flip::EveryBit);
}

#[test]
fn third_parties_agree_on_a_log_of_255() {
    Log::of(255).check_everything(Flip::Sampled);
}

#[test]
fn third_parties_agree_on_a_log_of_256() {
    Log::of(256).check_everything(Flip::Sampled);
}

#[test]
fn third_parties_agree_on_a_log_of_257() {
    Log::of(257).check_everything(Flip::Sampled);
}

#[test]
fn third_parties_agree_on_a_log_of_100_000() {
    let log = Log::of(100_000);
    log.check_checkpoint(Flip::EveryByte);
    let around = |n: u64| [n - 1, n, n + 1];
    let mut indices: BTreeSet<u64> = (1..=16).flat_map(|bit| around(1 << bit)).collect();
    indices.extend([0, 49_999, 50_000, 99_743, 99_998, 99_999]);
    assert!(indices.len() >= 50, "{} indices", indices.len());
    for index in &indices {
        log.check_inclusion(*index, Flip::Sampled);
    }
    let powers = [1, 2, 4, 256, 1 << 15, 1 << 16].into_iter();
    let old_sizes: BTreeSet<u64> = powers.flat_map(around).chain([99_999, 100_000]).collect();
    for old in old_sizes.into_iter().filter(|old| *old > 0) {
        log.check_consistency(old, Flip::Sampled);
    }
}

#[test]
fn the_tree_and_the_proofs_are_those_that_somebody_else_makes_from_the_same_lines() {
    let log = Log::of(257);
    let mut theirs = metamorphic_log::merkle::MerkleTree::new();
    for entry in log.journal.read(0) {
        theirs.push(&entry.unwrap().line);
    }
    for size in 0..=257 {
        assert_eq!(log.head_at(size).root, theirs.root_at(size), "root at {size}");
    }
    for index in 0..257 {
        let ours = log.journal.prove_inclusion(index, 257).unwrap();
        assert_eq!(ours, theirs.inclusion_proof(index, 257), "entry {index}");
    }
    for (old, new) in (1..=257).flat_map(|new| [1, new / 2 + 1, new].map(|old| (old, new))) {
        let ours = log.journal.prove_consistency(old, new).unwrap();
        assert_eq!(ours, theirs.consistency_proof(old, new), "{old} to {new}");
    }
}

/// Where the judges differ: a proof that begins with nothing. RFC 9162 has none, so others refuse it always;
/// we refuse it too, but call the empty log consistent with itself.
#[test]
fn a_proof_from_the_empty_log_shows_nothing() {
    let log = Log::of(3);
    let empty = log.head_at(0);
    assert_eq!(log.journal.prove_consistency(0, 3).unwrap(), [[0; 32]; 0]);
    let grown = Consistency { old: empty.clone(), new: log.head.clone(), proof: Vec::new() };
    refused("from nothing to 3", |judge| judge.grew(&grown));
    let still = Consistency { old: empty.clone(), new: empty, proof: Vec::new() };
    let accepting: Vec<_> = JUDGES.iter().filter(|j| j.grew(&still)).map(|j| j.name()).collect();
    assert_eq!(accepting, ["holdfast"]);
}

/// Which bits are changed, one at a time.
#[derive(Clone, Copy)]
enum Flip {
    EveryBit,
    /// One bit of each byte, another one from byte to byte.
    EveryByte,
    /// One bit in each 31 bytes, so in every hash, beginning elsewhere from entry to entry.
    Sampled,
}

impl Flip {
    /// Calls `look` with `bytes` changed in every way this asks for.
    fn each(self, bytes: &[u8], seed: u64, mut look: impl FnMut(&[u8], usize)) {
        let mut changed = bytes.to_vec();
        let (first, step, bits) = match self {
            Flip::EveryBit => (0, 1, 0..8),
            Flip::EveryByte => (0, 1, 0..1),
            Flip::Sampled => (seed as usize % 31, 31, 0..1),
        };
        for at in (first..bytes.len()).step_by(step) {
            for bit in bits.clone() {
                let mask = 1 << ((bit + at + seed as usize) % 8);
                changed[at] ^= mask;
                look(&changed, at);
                changed[at] ^= mask;
            }
        }
    }
}

/// A real journal with `n` entries, its newest checkpoint, and what a stranger needs to check it.
struct Log {
    journal: Journal,
    view: View,
    note: String,
    head: Head,
    verifier_key: String,
    _house: House,
}

impl Log {
    fn of(n: u64) -> Log {
        let house = House::named("judged");
        let journal = house.open();
        append(&journal, 0..n);
        let signed = journal.checkpoint().unwrap();
        let name = KeyName::from(&house.origin);
        let (algorithm, public) = (NoteAlgorithm::Ed25519, house.key().public());
        let head = Head { origin: house.origin.to_string(), size: n, root: signed.checkpoint.root };
        Log {
            view: View::open(&house.journal(), None).unwrap(),
            journal,
            note: signed.note,
            head,
            verifier_key: VerifierKey { name, algorithm, public }.to_string(),
            _house: house,
        }
    }

    fn head_at(&self, size: u64) -> Head {
        Head { size, root: self.view.root_at(size).unwrap(), ..self.head.clone() }
    }

    /// The checkpoint, every entry, and consistency with every earlier size; at the ends and in the middle
    /// with every byte changed.
    fn check_everything(&self, flip: Flip) {
        self.check_checkpoint(Flip::EveryBit);
        let size = self.head.size;
        for index in 0..size {
            self.check_inclusion(index, flip);
            self.check_consistency(index + 1, flip);
        }
        for index in [0, size / 2, size - 1] {
            self.check_inclusion(index, Flip::EveryByte);
            self.check_consistency(index + 1, Flip::EveryByte);
        }
    }

    fn check_checkpoint(&self, flip: Flip) {
        let note = self.note.as_bytes();
        for judge in JUDGES {
            let read = judge.head(note, &self.verifier_key);
            assert_eq!(read.as_ref(), Some(&self.head), "{}", judge.name());
        }
        flip.each(note, 0, |changed, at| {
            refused(&format!("the note with byte {at} changed"), |judge| {
                judge.head(changed, &self.verifier_key).is_some()
            });
        });
    }

    fn check_inclusion(&self, index: u64, flip: Flip) {
        let good = Inclusion {
            line: self.journal.entry(index).unwrap().line,
            index,
            head: self.head.clone(),
            proof: self.journal.prove_inclusion(index, self.head.size).unwrap(),
        };
        accepted(&format!("entry {index}"), |judge| judge.holds(&good));
        let bad = |what: &str, change: &dyn Fn(&mut Inclusion)| {
            let mut claim = good.clone();
            change(&mut claim);
            refused(&format!("entry {index} with {what}"), |judge| judge.holds(&claim));
        };
        flip.each(&good.line, index, |line, at| {
            bad(&format!("byte {at} of its line changed"), &|c| c.line = line.to_vec());
        });
        flip.each(&good.head.root, index, |root, at| {
            bad(&format!("byte {at} of the root changed"), &|c| c.head.root = hash(root));
        });
        flip.each(good.proof.as_flattened(), index, |proof, at| {
            bad(&format!("byte {at} of the proof changed"), &|c| c.proof = hashes(proof));
        });
        bad("a hash too many", &|c| c.proof.push([7; 32]));
        bad("an index beyond the end", &|c| c.index = c.head.size);
        if !good.proof.is_empty() {
            bad("a hash too few", &|c| c.proof.truncate(c.proof.len() - 1));
            bad("its neighbour's index", &|c| c.index = (index + 1) % c.head.size);
        }
    }

    fn check_consistency(&self, old: u64, flip: Flip) {
        let good = Consistency {
            old: self.head_at(old),
            new: self.head.clone(),
            proof: self.journal.prove_consistency(old, self.head.size).unwrap(),
        };
        accepted(&format!("growth from {old}"), |judge| judge.grew(&good));
        let bad = |what: &str, change: &dyn Fn(&mut Consistency)| {
            let mut claim = good.clone();
            change(&mut claim);
            refused(&format!("growth from {old} with {what}"), |judge| judge.grew(&claim));
        };
        flip.each(&good.old.root, old, |root, at| {
            bad(&format!("byte {at} of the old root changed"), &|c| c.old.root = hash(root));
        });
        flip.each(&good.new.root, old, |root, at| {
            bad(&format!("byte {at} of the new root changed"), &|c| c.new.root = hash(root));
        });
        flip.each(good.proof.as_flattened(), old, |proof, at| {
            bad(&format!("byte {at} of the proof changed"), &|c| c.proof = hashes(proof));
        });
        bad("a hash too many", &|c| c.proof.push([7; 32]));
        if !good.proof.is_empty() {
            bad("a hash too few", &|c| c.proof.truncate(c.proof.len() - 1));
            bad("the heads swapped", &|c| std::mem::swap(&mut c.old, &mut c.new));
        }
    }
}

#[track_caller]
fn accepted(what: &str, judge: impl Fn(&dyn judges::Judge) -> bool) {
    for j in JUDGES {
        assert!(judge(j), "{} refuses {what}", j.name());
    }
}

#[track_caller]
fn refused(what: &str, judge: impl Fn(&dyn judges::Judge) -> bool) {
    for j in JUDGES {
        assert!(!judge(j), "{} accepts {what}", j.name());
    }
}

fn hash(bytes: &[u8]) -> [u8; 32] {
    bytes.try_into().unwrap()
}

fn hashes(bytes: &[u8]) -> Vec<[u8; 32]> {
    bytes.as_chunks().0.to_vec()
}

/// Appends one small entry for each number, in as few batches as is sensible.
fn append(journal: &Journal, numbers: std::ops::Range<u64>) {
    const BATCH: usize = 10_000;
    let drafts: Vec<Draft> = numbers.map(numbered).collect();
    for batch in drafts.chunks(BATCH) {
        let written = journal.append_many(batch).unwrap();
        assert!(written.into_iter().all(|result| result.is_ok()));
    }
}

fn numbered(n: u64) -> Draft {
    let body = [("n".to_owned(), n.into())].into_iter().collect();
    let (kind, actor) = ("journal.test.noted".parse().unwrap(), "ana".parse().unwrap());
    Draft::new(kind, actor, Trust::Trusted, body)
}
