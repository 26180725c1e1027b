//! Who judges: Cloudflare's crates, the Metamorphic log, and this crate, all asked the same way.
//!
//! A judge is told only what a stranger would be: bytes of a note, a verifier key as text, a line, hashes.

use holdfast_journal::{Checkpoint, merkle};
use holdfast_keys::{Note, NoteAlgorithm, VerifierKey, note};
use merkle::Hash;

/// What a checkpoint says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub origin: String,
    pub size: u64,
    pub root: Hash,
}

/// The leaf `line` stands at `index` in the tree of `head`.
#[derive(Clone, Debug)]
pub struct Inclusion {
    pub line: Vec<u8>,
    pub index: u64,
    pub head: Head,
    pub proof: Vec<Hash>,
}

/// The tree of `old` begins the tree of `new`.
#[derive(Clone, Debug)]
pub struct Consistency {
    pub old: Head,
    pub new: Head,
    pub proof: Vec<Hash>,
}

pub trait Judge: Sync {
    fn name(&self) -> &'static str;
    /// What the note says, if the key has signed it.
    fn head(&self, note: &[u8], verifier_key: &str) -> Option<Head>;
    fn holds(&self, claim: &Inclusion) -> bool;
    fn grew(&self, claim: &Consistency) -> bool;
}

pub const JUDGES: [&dyn Judge; 3] = [&Cloudflare, &Metamorphic, &Ours];

/// `signed_note` and `tlog_tiles`, a port of Go's own `sumdb`.
struct Cloudflare;

impl Judge for Cloudflare {
    fn name(&self) -> &'static str {
        "tlog_tiles"
    }

    fn head(&self, note: &[u8], verifier_key: &str) -> Option<Head> {
        let verifier = signed_note::StandardVerifier::new(verifier_key).ok()?;
        let known = signed_note::VerifierList::new(vec![Box::new(verifier)]);
        let note = signed_note::Note::from_bytes(note).ok()?;
        note.verify(&known).ok()?;
        let read = tlog_tiles::Checkpoint::from_bytes(note.text()).ok()?;
        Some(Head { origin: read.origin().to_owned(), size: read.size(), root: read.hash().0 })
    }

    fn holds(&self, claim: &Inclusion) -> bool {
        let proof = claim.proof.iter().copied().map(tlog_tiles::Hash).collect();
        let leaf = tlog_tiles::record_hash(&claim.line);
        let root = tlog_tiles::Hash(claim.head.root);
        tlog_tiles::check_record(&proof, claim.head.size, root, claim.index, leaf).is_ok()
    }

    fn grew(&self, claim: &Consistency) -> bool {
        let proof = claim.proof.iter().copied().map(tlog_tiles::Hash).collect();
        let (old, new) = (&claim.old, &claim.new);
        let (old_root, new_root) = (tlog_tiles::Hash(old.root), tlog_tiles::Hash(new.root));
        tlog_tiles::check_tree(&proof, new.size, new_root, old.size, old_root).is_ok()
    }
}

/// `metamorphic-log`, which takes its proofs from RFC 9162 and notes from C2SP.
struct Metamorphic;

impl Judge for Metamorphic {
    fn name(&self) -> &'static str {
        "metamorphic-log"
    }

    fn head(&self, note: &[u8], verifier_key: &str) -> Option<Head> {
        let key = metamorphic_log::note::VerifierKey::parse(verifier_key).ok()?;
        let note = std::str::from_utf8(note).ok()?;
        let read = metamorphic_log::checkpoint::Checkpoint::from_signed_note(note, &[key]).ok()?;
        Some(Head { origin: read.origin().to_owned(), size: read.size(), root: *read.root_hash() })
    }

    fn holds(&self, claim: &Inclusion) -> bool {
        let leaf = metamorphic_log::merkle::hash_leaf(&claim.line);
        let (head, proof) = (&claim.head, vecs(&claim.proof));
        metamorphic_log::verify_inclusion(claim.index, head.size, &leaf, &proof, &head.root).is_ok()
    }

    fn grew(&self, claim: &Consistency) -> bool {
        let (old, new, proof) = (&claim.old, &claim.new, vecs(&claim.proof));
        metamorphic_log::verify_consistency(old.size, new.size, &proof, &old.root, &new.root).is_ok()
    }
}

fn vecs(proof: &[Hash]) -> Vec<Vec<u8>> {
    proof.iter().map(|hash| hash.to_vec()).collect()
}

struct Ours;

impl Judge for Ours {
    fn name(&self) -> &'static str {
        "holdfast"
    }

    fn head(&self, note: &[u8], verifier_key: &str) -> Option<Head> {
        let key: VerifierKey = verifier_key.parse().ok()?;
        let note = Note::parse(note).ok()?;
        let text = note::verify(&note, &key.name, &key.public).ok()?;
        let read = Checkpoint::parse(text).ok()?;
        Some(Head { origin: read.origin.to_string(), size: read.size, root: read.root })
    }

    fn holds(&self, claim: &Inclusion) -> bool {
        let (leaf, head) = (merkle::leaf_hash(&claim.line), &claim.head);
        merkle::verify_inclusion(&leaf, claim.index, head.size, &head.root, &claim.proof).is_ok()
    }

    fn grew(&self, claim: &Consistency) -> bool {
        let (old, new) = (&claim.old, &claim.new);
        merkle::verify_consistency(old.size, new.size, &old.root, &new.root, &claim.proof).is_ok()
    }
}

/// Asks about a note that a log has signed and a witness has cosigned: do both signatures hold?
pub struct CosignedBy {
    pub log: VerifierKey,
    pub witness: VerifierKey,
}

impl CosignedBy {
    pub fn metamorphic_accepts(&self, note: &[u8]) -> bool {
        let key = |k: &VerifierKey| metamorphic_log::note::VerifierKey::parse(&k.to_string()).unwrap();
        let Ok(text) = std::str::from_utf8(note) else {
            return false;
        };
        let note = metamorphic_log::note::SignedNote::parse(text);
        let keys = [key(&self.log), key(&self.witness)];
        note.is_ok_and(|n| n.verify(&keys).is_ok_and(|verified| verified.len() == 2))
    }

    pub fn we_accept(&self, note: &[u8]) -> bool {
        assert_eq!(self.witness.algorithm, NoteAlgorithm::Cosignature);
        Note::parse(note).is_ok_and(|n| {
            note::verify(&n, &self.log.name, &self.log.public).is_ok()
                && note::verify_cosignature(&n, &self.witness.name, &self.witness.public).is_ok()
        })
    }
}
