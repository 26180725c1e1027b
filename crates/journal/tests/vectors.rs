//! Merkle proofs that somebody else made, good and bad, and some of our own making.
//!
//! The 518 files of transparency-dev/merkle lie beside the checkout and not in it. The tables below say the
//! same things about one small tree, so that a clone without them proves the rules too.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use holdfast_journal::merkle::{
    Hash, ProofError, verify_consistency, verify_inclusion, verify_subtree_consistency,
    verify_subtree_inclusion,
};
use holdfast_testkit::shared_data_or_say;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// How many files transparency-dev/merkle has, by folder.
const FILES: [(&str, usize); 4] =
    [("inclusion", 98), ("consistency", 98), ("subtreeinclusion", 204), ("subtreeconsistency", 118)];

#[test]
fn all_518_proofs_of_transparency_dev_are_judged_as_they_are_there() {
    let Some(data) = shared_data_or_say("the RFC 6962 vectors") else {
        return;
    };
    let root = data.join("vectors/rfc6962");
    let mut disagreements = Vec::new();
    for (folder, count) in FILES {
        let files = json_files(&root.join(folder));
        assert_eq!(files.len(), count, "files in {folder}");
        disagreements.extend(files.iter().filter_map(|path| disagreement(folder, path)));
    }
    assert_eq!(FILES.map(|(_, count)| count).iter().sum::<usize>(), 518);
    assert!(disagreements.is_empty(), "{} of 518:\n{}", disagreements.len(), disagreements.join("\n"));
}

fn disagreement(folder: &str, path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).unwrap();
    let (meta, verdict): (Meta, _) = match folder {
        "inclusion" => (read(&bytes), read::<InclusionVector>(&bytes).judge()),
        "consistency" => (read(&bytes), read::<ConsistencyVector>(&bytes).judge()),
        "subtreeinclusion" => (read(&bytes), read::<SubtreeInclusionVector>(&bytes).judge()),
        "subtreeconsistency" => (read(&bytes), read::<SubtreeConsistencyVector>(&bytes).judge()),
        other => panic!("{other} is no kind of vector"),
    };
    let agreed = verdict.is_err() == meta.want_err;
    (!agreed).then(|| {
        format!("{}: {} (want error: {}, ours: {verdict:?})", path.display(), meta.desc, meta.want_err)
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    desc: String,
    want_err: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InclusionVector {
    leaf_idx: u64,
    tree_size: u64,
    root: HashText,
    leaf_hash: HashText,
    proof: Option<Vec<HashText>>,
}

#[derive(Deserialize)]
struct ConsistencyVector {
    size1: u64,
    size2: u64,
    root1: HashText,
    root2: HashText,
    proof: Option<Vec<HashText>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SubtreeInclusionVector {
    leaf_idx: u64,
    start: u64,
    end: u64,
    root: HashText,
    leaf_hash: HashText,
    proof: Option<Vec<HashText>>,
}

#[derive(Deserialize)]
struct SubtreeConsistencyVector {
    start: u64,
    end: u64,
    size: u64,
    root1: HashText,
    root2: HashText,
    proof: Option<Vec<HashText>>,
}

#[derive(Debug, PartialEq)]
enum Refusal {
    /// There is nothing where a hash should be.
    AtTheDoor,
    Proof(ProofError),
}

impl InclusionVector {
    fn judge(&self) -> Result<(), Refusal> {
        let (leaf, root, proof) = (self.leaf_hash.hash()?, self.root.hash()?, hashes(&self.proof)?);
        verify_inclusion(&leaf, self.leaf_idx, self.tree_size, &root, &proof).map_err(Refusal::Proof)
    }
}

impl ConsistencyVector {
    fn judge(&self) -> Result<(), Refusal> {
        let (old, new, proof) = (self.root1.hash()?, self.root2.hash()?, hashes(&self.proof)?);
        verify_consistency(self.size1, self.size2, &old, &new, &proof).map_err(Refusal::Proof)
    }
}

impl SubtreeInclusionVector {
    fn judge(&self) -> Result<(), Refusal> {
        let (leaf, root, proof) = (self.leaf_hash.hash()?, self.root.hash()?, hashes(&self.proof)?);
        verify_subtree_inclusion(&leaf, self.leaf_idx, self.start, self.end, &root, &proof)
            .map_err(Refusal::Proof)
    }
}

impl SubtreeConsistencyVector {
    fn judge(&self) -> Result<(), Refusal> {
        let (part, whole, proof) = (self.root1.hash()?, self.root2.hash()?, hashes(&self.proof)?);
        verify_subtree_consistency(self.start, self.end, self.size, &part, &whole, &proof)
            .map_err(Refusal::Proof)
    }
}

/// A hash in base64, or what a vector has in its place.
#[derive(Deserialize)]
struct HashText(String);

impl HashText {
    /// The hash that our functions are given. They take 32 bytes and nothing else.
    ///
    /// Nothing at all is refused where bytes become a hash. A word like `don't care 1` or `WrongLeaf` is
    /// another matter: there it stands for some hash, alike where it is alike, and good proofs have it too.
    /// A digest of the word takes its place, so that what is judged is the proof and not the length.
    fn hash(&self) -> Result<Hash, Refusal> {
        let bytes = BASE64.decode(&self.0).unwrap();
        match Hash::try_from(bytes.as_slice()) {
            Ok(hash) => Ok(hash),
            Err(_) if bytes.is_empty() => Err(Refusal::AtTheDoor),
            Err(_) => Ok(Sha256::digest([b"in place of ", bytes.as_slice()].concat()).into()),
        }
    }
}

fn hashes(texts: &Option<Vec<HashText>>) -> Result<Vec<Hash>, Refusal> {
    texts.iter().flatten().map(HashText::hash).collect()
}

fn read<T: for<'a> Deserialize<'a>>(bytes: &[u8]) -> T {
    serde_json::from_slice(bytes).unwrap()
}

fn json_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(json_files(&path));
        } else if path.extension().is_some_and(|e| e == "json") {
            files.push(path);
        }
    }
    files.sort();
    files
}

// The tree of the seven lines `a` to `g`, worked out with Python's hashlib and not with this crate:
//
//             ABCDEFG
//            /       \
//        ABCD         EFG
//       /    \       /   \
//     AB      CD   EF     G
//    /  \    /  \  / \
//   A    B  C   D  E  F
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const A: &str = "022a6979e6dab7aa5ae4c3e5e45f7e977112a7e63593820dbec1ec738a24f93c";
const B: &str = "57eb35615d47f34ec714cacdf5fd74608a5e8e102724e80b24b287c0c27b6a31";
const C: &str = "597fcb31282d34654c200d3418fca5705c648ebf326ec73d8ddef11841f876d8";
const D: &str = "d070dc5b8da9aea7dc0f5ad4c29d89965200059c9a0ceca3abd5da2492dcb71d";
const E: &str = "2824a7ccda2caa720c85c9fba1e8b5b735eecfdb03878e4f8dfe6c3625030bc4";
const F: &str = "f5a06d3c52937089c51b7c6c1cc1948ccdc5581328b2ebb578e8cca66a7b5221";
const G: &str = "5aeb196e83598231b45c61f3e0c5a0fda49b0d4f86a6db5f893aacccf514fa99";
const AB: &str = "b137985ff484fb600db93107c77b0365c80d78f5b429ded0fd97361d077999eb";
const CD: &str = "dbbd68c325614a73dacb4e7a87a2b7b4ae9724b489e5629ee83151fe8f0eafd7";
const EF: &str = "918566184c9d5be235ad2b6dd60828f5cec14fc409f02f7db8647009ec6da588";
const ABC: &str = "36642e73c2540ab121e3a6bf9545b0a24982cd830eb13d3cd19de3ce6c021ec1";
const ABCD: &str = "33376a3bd63e9993708a84ddfe6c28ae58b83505dd1fed711bd924ec5a6239f0";
const EFG: &str = "e286d3390665a7cdc759453bed0b00cded1842d757e3e6cfe87df53db177e725";
const ABCDEF: &str = "e069fc12e231ccfd4516bf1617945fb3ccd5cc8910d92d6265289f088f777fdd";
const ABCDEFG: &str = "4ae191939f548d9934740b88dea2c5cb89bb8870fc4505cd79dec6bbfaaee9cb";

/// What a proof is said to show.
#[derive(Debug)]
enum Claim {
    /// This leaf has this index in the tree of this size and root.
    Inclusion(&'static str, u64, u64, &'static str),
    /// The tree of the first size and root begins the tree of the second.
    Consistency((u64, &'static str), (u64, &'static str)),
    /// This leaf has this index in the subtree over these leaves.
    SubtreeInclusion(&'static str, u64, (u64, u64), &'static str),
    /// The subtree over these leaves with this root is a part of the tree of this size and root.
    SubtreeConsistency((u64, u64), &'static str, (u64, &'static str)),
}
use Claim::{Consistency, Inclusion, SubtreeConsistency, SubtreeInclusion};

const HOLDS: Result<(), ProofError> = Ok(());
const OUT_OF_RANGE: Result<(), ProofError> = Err(ProofError::OutOfRange);
const NO_SUBTREE: Result<(), ProofError> = Err(ProofError::NotASubtree);
const SHORT: Result<(), ProofError> = Err(ProofError::TooShort);
const LONG: Result<(), ProofError> = Err(ProofError::TooLong);
const WRONG_ROOT: Result<(), ProofError> = Err(ProofError::WrongRoot);
const WRONG_PART: Result<(), ProofError> = Err(ProofError::WrongSubtree);

#[test]
fn inclusion_in_a_tree_of_seven() {
    check(Inclusion(A, 0, 1, A), &[], HOLDS);
    check(Inclusion(B, 1, 7, ABCDEFG), &[A, CD, EFG], HOLDS);
    check(Inclusion(C, 2, 7, ABCDEFG), &[D, AB, EFG], HOLDS);
    check(Inclusion(G, 6, 7, ABCDEFG), &[EF, ABCD], HOLDS);
    // Another leaf, another place, another size, another root.
    check(Inclusion(D, 2, 7, ABCDEFG), &[D, AB, EFG], WRONG_ROOT);
    check(Inclusion(C, 3, 7, ABCDEFG), &[D, AB, EFG], WRONG_ROOT);
    check(Inclusion(C, 6, 7, ABCDEFG), &[D, AB, EFG], LONG);
    check(Inclusion(C, 2, 3, ABCDEFG), &[D, AB, EFG], LONG);
    check(Inclusion(G, 6, 8, ABCDEFG), &[EF, ABCD], SHORT);
    check(Inclusion(C, 2, 7, ABCDEF), &[D, AB, EFG], WRONG_ROOT);
    // Truncated, trailing, reordered.
    check(Inclusion(C, 2, 7, ABCDEFG), &[D, AB], SHORT);
    check(Inclusion(C, 2, 7, ABCDEFG), &[D, AB, EFG, EFG], LONG);
    check(Inclusion(C, 2, 7, ABCDEFG), &[AB, D, EFG], WRONG_ROOT);
    // Inner nodes are no leaves of a shorter tree of the same root: the size says how long the proof is.
    check(Inclusion(CD, 1, 7, ABCDEFG), &[AB, EFG], SHORT);
    // Nothing is in the tree of nothing, and nothing beyond the end of any.
    check(Inclusion(A, 0, 0, EMPTY), &[], OUT_OF_RANGE);
    check(Inclusion(EMPTY, 0, 0, EMPTY), &[], OUT_OF_RANGE);
    check(Inclusion(G, 7, 7, ABCDEFG), &[EF, ABCD], OUT_OF_RANGE);
}

#[test]
fn consistency_of_a_tree_of_seven_with_its_beginnings() {
    check(Consistency((7, ABCDEFG), (7, ABCDEFG)), &[], HOLDS);
    check(Consistency((4, ABCD), (7, ABCDEFG)), &[EFG], HOLDS);
    check(Consistency((3, ABC), (7, ABCDEFG)), &[C, D, AB, EFG], HOLDS);
    check(Consistency((6, ABCDEF), (7, ABCDEFG)), &[EF, G, ABCD], HOLDS);
    // Another old root, another new root, both at once, swapped.
    check(Consistency((3, ABCD), (7, ABCDEFG)), &[C, D, AB, EFG], WRONG_PART);
    check(Consistency((3, ABC), (7, ABCDEF)), &[C, D, AB, EFG], WRONG_ROOT);
    check(Consistency((6, ABCDEFG), (7, ABCDEF)), &[EF, G, ABCD], WRONG_PART);
    check(Consistency((7, ABCDEFG), (7, ABCDEF)), &[], WRONG_ROOT);
    // Another size, going backwards.
    check(Consistency((4, ABC), (7, ABCDEFG)), &[C, D, AB, EFG], LONG);
    check(Consistency((3, ABC), (4, ABCDEFG)), &[C, D, AB, EFG], LONG);
    check(Consistency((7, ABCDEFG), (6, ABCDEF)), &[EF, G, ABCD], OUT_OF_RANGE);
    // Truncated, trailing.
    check(Consistency((3, ABC), (7, ABCDEFG)), &[D, AB, EFG], SHORT);
    check(Consistency((4, ABCD), (7, ABCDEFG)), &[], SHORT);
    check(Consistency((4, ABCD), (7, ABCDEFG)), &[EFG, EFG], LONG);
    check(Consistency((7, ABCDEFG), (7, ABCDEFG)), &[EFG], LONG);
    // The tree of nothing begins every tree, so that it does shows nothing; only with itself it agrees.
    check(Consistency((0, EMPTY), (7, ABCDEFG)), &[], OUT_OF_RANGE);
    check(Consistency((0, EMPTY), (0, EMPTY)), &[], HOLDS);
    check(Consistency((0, EMPTY), (0, EMPTY)), &[A], LONG);
    check(Consistency((0, EMPTY), (0, A)), &[], WRONG_ROOT);
    check(Consistency((0, A), (0, A)), &[], WRONG_ROOT);
}

#[test]
fn inclusion_in_the_subtrees_of_a_tree_of_seven() {
    check(SubtreeInclusion(E, 4, (4, 7), EFG), &[F, G], HOLDS);
    check(SubtreeInclusion(G, 6, (4, 7), EFG), &[EF], HOLDS);
    check(SubtreeInclusion(G, 6, (6, 7), G), &[], HOLDS);
    check(SubtreeInclusion(C, 2, (0, 4), ABCD), &[D, AB], HOLDS);
    check(SubtreeInclusion(E, 5, (4, 7), EFG), &[F, G], WRONG_ROOT);
    check(SubtreeInclusion(E, 4, (4, 7), ABCD), &[F, G], WRONG_ROOT);
    check(SubtreeInclusion(E, 3, (4, 7), EFG), &[F, G], OUT_OF_RANGE);
    check(SubtreeInclusion(E, 7, (4, 7), EFG), &[F, G], OUT_OF_RANGE);
    check(SubtreeInclusion(E, 4, (4, 7), EFG), &[F], SHORT);
    check(SubtreeInclusion(E, 4, (4, 7), EFG), &[F, G, G], LONG);
    // The leaves 2 to 4 are no node of any tree.
    check(SubtreeInclusion(C, 2, (2, 5), ABC), &[D, E], NO_SUBTREE);
    // An empty subtree is one, and has no leaf.
    check(SubtreeInclusion(EMPTY, 3, (3, 3), EMPTY), &[], OUT_OF_RANGE);
    check(SubtreeInclusion(E, 4, (7, 4), EFG), &[F, G], OUT_OF_RANGE);
}

#[test]
fn consistency_of_subtrees_with_a_tree_of_seven() {
    check(SubtreeConsistency((4, 7), EFG, (7, ABCDEFG)), &[ABCD], HOLDS);
    check(SubtreeConsistency((2, 4), CD, (7, ABCDEFG)), &[AB, EFG], HOLDS);
    check(SubtreeConsistency((4, 6), EF, (7, ABCDEFG)), &[G, ABCD], HOLDS);
    check(SubtreeConsistency((0, 3), ABC, (7, ABCDEFG)), &[C, D, AB, EFG], HOLDS);
    check(SubtreeConsistency((4, 7), EF, (7, ABCDEFG)), &[ABCD], WRONG_ROOT);
    check(SubtreeConsistency((4, 7), EFG, (7, ABCDEF)), &[ABCD], WRONG_ROOT);
    check(SubtreeConsistency((4, 6), EFG, (7, ABCDEFG)), &[ABCD], SHORT);
    check(SubtreeConsistency((4, 7), EFG, (7, ABCDEFG)), &[ABCD, ABCD], LONG);
    check(SubtreeConsistency((0, 3), AB, (7, ABCDEFG)), &[C, D, AB, EFG], WRONG_PART);
    check(SubtreeConsistency((4, 8), EFG, (7, ABCDEFG)), &[ABCD], OUT_OF_RANGE);
    check(SubtreeConsistency((2, 5), ABC, (7, ABCDEFG)), &[AB, EFG], NO_SUBTREE);
    check(SubtreeConsistency((1, 3), AB, (7, ABCDEFG)), &[A, D], NO_SUBTREE);
    // An empty subtree has the root of nothing and is a part of every tree, whatever the tree's root: there
    // is no entry it could be held against.
    check(SubtreeConsistency((3, 3), EMPTY, (7, ABCDEFG)), &[], HOLDS);
    check(SubtreeConsistency((7, 7), EMPTY, (7, A)), &[], HOLDS);
    check(SubtreeConsistency((0, 0), EMPTY, (0, EMPTY)), &[], HOLDS);
    check(SubtreeConsistency((3, 3), A, (7, ABCDEFG)), &[], WRONG_PART);
    check(SubtreeConsistency((3, 3), EMPTY, (7, ABCDEFG)), &[A], LONG);
    check(SubtreeConsistency((8, 8), EMPTY, (7, ABCDEFG)), &[], OUT_OF_RANGE);
    check(SubtreeConsistency((4, 3), EMPTY, (7, ABCDEFG)), &[], OUT_OF_RANGE);
}

#[track_caller]
fn check(claim: Claim, proof: &[&str], expected: Result<(), ProofError>) {
    let proof: Vec<Hash> = proof.iter().map(|text| hash(text)).collect();
    let verdict = match &claim {
        Inclusion(leaf, index, size, root) => {
            verify_inclusion(&hash(leaf), *index, *size, &hash(root), &proof)
        }
        Consistency((old, old_root), (new, new_root)) => {
            verify_consistency(*old, *new, &hash(old_root), &hash(new_root), &proof)
        }
        SubtreeInclusion(leaf, index, (start, end), root) => {
            verify_subtree_inclusion(&hash(leaf), *index, *start, *end, &hash(root), &proof)
        }
        SubtreeConsistency((start, end), part, (size, root)) => {
            verify_subtree_consistency(*start, *end, *size, &hash(part), &hash(root), &proof)
        }
    };
    assert_eq!(verdict, expected, "{claim:?}");
}

fn hash(hex: &str) -> Hash {
    let byte = |n: usize| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).unwrap();
    std::array::from_fn(byte)
}
