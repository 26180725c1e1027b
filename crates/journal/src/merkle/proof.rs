//! Inclusion and consistency proofs, made and checked.
//!
//! One recursion serves all of them. A proof that the leaves `start..end` are a part of a tree of `size`
//! leaves walks from the root down to that range and notes the sibling it passes at each step; checking
//! walks the same way and folds the siblings back up. An inclusion proof is the range of one leaf; a
//! consistency proof is a range that starts at zero, where the walk may have to go on *inside* the range
//! until it meets subtrees both trees share. Ranges that start elsewhere are the subtree proofs of Merkle
//! tree certificates, with the same rules.

use super::tree::{Hash, empty_root, node_hash};

/// Where hashes of complete, aligned subtrees come from: (level, index) covers the leaves
/// `index << level .. (index + 1) << level`.
pub trait HashSource {
    type Error;

    fn hash(&self, level: u8, index: u64) -> Result<Hash, Self::Error>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    #[error("there is no such leaf or range in a tree of that size")]
    OutOfRange,
    #[error("the range is not a subtree: its start is not aligned to its length")]
    NotASubtree,
    #[error("the proof has too few hashes")]
    TooShort,
    #[error("the proof has too many hashes")]
    TooLong,
    #[error("the proof leads to another root")]
    WrongRoot,
    #[error("the proof does not contain the earlier tree")]
    WrongSubtree,
}

/// The hashes that prove that leaf `index` is in the tree of the first `size` leaves.
pub fn prove_inclusion<S: HashSource>(source: &S, index: u64, size: u64) -> Result<Vec<Hash>, S::Error> {
    assert!(index < size, "a proof is asked for a leaf that is there");
    let mut proof = Vec::new();
    siblings(source, Range { start: index, end: index + 1 }, 0, size, Known::Yes, &mut proof)?;
    Ok(proof)
}

/// The hashes that prove that the first `old` leaves of the tree of `new` leaves are the tree of `old`.
pub fn prove_consistency<S: HashSource>(source: &S, old: u64, new: u64) -> Result<Vec<Hash>, S::Error> {
    assert!(old <= new, "a proof is asked for a tree that has grown");
    let mut proof = Vec::new();
    if 0 < old && old < new {
        siblings(source, Range { start: 0, end: old }, 0, new, Known::Yes, &mut proof)?;
    }
    Ok(proof)
}

pub fn verify_inclusion(
    leaf: &Hash,
    index: u64,
    size: u64,
    root: &Hash,
    proof: &[Hash],
) -> Result<(), ProofError> {
    verify_subtree_inclusion(leaf, index, 0, size, root, proof)
}

pub fn verify_consistency(
    old: u64,
    new: u64,
    old_root: &Hash,
    new_root: &Hash,
    proof: &[Hash],
) -> Result<(), ProofError> {
    if old > new || (old == 0 && new > 0) {
        // Nothing is consistent with everything: a proof from the empty tree proves nothing.
        return Err(ProofError::OutOfRange);
    }
    if new == 0 && *new_root != empty_root() {
        return Err(ProofError::WrongRoot);
    }
    verify_subtree_consistency(0, old, new, old_root, new_root, proof)
}

/// Is the leaf at `index` in the subtree over `start..end` whose root is `root`?
pub fn verify_subtree_inclusion(
    leaf: &Hash,
    index: u64,
    start: u64,
    end: u64,
    root: &Hash,
    proof: &[Hash],
) -> Result<(), ProofError> {
    require_subtree(start, end)?;
    if index < start || index >= end {
        return Err(ProofError::OutOfRange);
    }
    let at = index - start;
    let mut rest = proof;
    let range = Range { start: at, end: at + 1 };
    let folded = fold(range, end - start, Known::Yes, leaf, &mut rest)?;
    finish(rest, folded, None, root)
}

/// Is the subtree over `start..end`, whose root is `subtree_root`, a part of the tree of `size` leaves?
///
/// A subtree of no leaves is a part of every tree that reaches so far, and its root is that of nothing. There
/// is no leaf by which to hold it against `root`, which is therefore not looked at.
pub fn verify_subtree_consistency(
    start: u64,
    end: u64,
    size: u64,
    subtree_root: &Hash,
    root: &Hash,
    proof: &[Hash],
) -> Result<(), ProofError> {
    require_subtree(start, end)?;
    if end > size {
        return Err(ProofError::OutOfRange);
    }
    if start == end {
        return match proof {
            [] if *subtree_root == empty_root() => Ok(()),
            [] => Err(ProofError::WrongSubtree),
            _ => Err(ProofError::TooLong),
        };
    }
    let mut rest = proof;
    let folded = fold(Range { start, end }, size, Known::Yes, subtree_root, &mut rest)?;
    finish(rest, folded, Some(subtree_root), root)
}

/// The root over `start..end` of a tree whose complete subtrees `source` knows.
pub fn root_of_range<S: HashSource>(source: &S, start: u64, end: u64) -> Result<Hash, S::Error> {
    let span = end - start;
    if span == 0 {
        return Ok(empty_root());
    }
    if span.is_power_of_two() && start.is_multiple_of(span) {
        let level = span.trailing_zeros() as u8;
        return source.hash(level, start >> level);
    }
    let k = split(span);
    let left = root_of_range(source, start, start + k)?;
    let right = root_of_range(source, start + k, end)?;
    Ok(node_hash(&left, &right))
}

#[derive(Clone, Copy)]
struct Range {
    start: u64,
    end: u64,
}

/// Whether whoever checks already holds the hash of the range we walk into: it does for the whole range
/// it asked about, and not for the parts a consistency walk breaks it into.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    Yes,
    No,
}

/// The largest power of two smaller than `size`: where RFC 6962 splits a tree.
fn split(size: u64) -> u64 {
    debug_assert!(size > 1);
    1 << (63 - (size - 1).leading_zeros())
}

/// Which way the walk goes at a split point `k`.
enum Turn {
    /// The range lies left of `k`; the sibling is the right part.
    Left,
    /// The range lies right of `k`; the sibling is the left part.
    Right(Range),
    /// The range begins at zero and crosses `k`; its left part is shared, the walk goes on in the right.
    Across(Range),
}

fn turn(range: Range, k: u64) -> Turn {
    if range.end <= k {
        Turn::Left
    } else if range.start >= k {
        Turn::Right(Range { start: range.start - k, end: range.end - k })
    } else {
        Turn::Across(Range { start: 0, end: range.end - k })
    }
}

fn siblings<S: HashSource>(
    source: &S,
    range: Range,
    base: u64,
    size: u64,
    known: Known,
    proof: &mut Vec<Hash>,
) -> Result<(), S::Error> {
    if range.start == 0 && range.end == size {
        if known == Known::No {
            proof.push(root_of_range(source, base, base + size)?);
        }
        return Ok(());
    }
    let k = split(size);
    match turn(range, k) {
        Turn::Left => {
            siblings(source, range, base, k, known, proof)?;
            proof.push(root_of_range(source, base + k, base + size)?);
        }
        Turn::Right(inner) => {
            siblings(source, inner, base + k, size - k, known, proof)?;
            proof.push(root_of_range(source, base, base + k)?);
        }
        Turn::Across(inner) => {
            siblings(source, inner, base + k, size - k, Known::No, proof)?;
            proof.push(root_of_range(source, base, base + k)?);
        }
    }
    Ok(())
}

/// What a proof folds to: the hash of the range and of the whole.
struct Folded {
    range: Hash,
    whole: Hash,
}

/// Mirrors [`siblings`]: takes hashes from the end of `proof`, where the walk left its topmost one.
fn fold(
    range: Range,
    size: u64,
    known: Known,
    given: &Hash,
    proof: &mut &[Hash],
) -> Result<Folded, ProofError> {
    if range.start == 0 && range.end == size {
        let hash = if known == Known::Yes { *given } else { take_last(proof)? };
        return Ok(Folded { range: hash, whole: hash });
    }
    let k = split(size);
    let sibling = take_last(proof)?;
    Ok(match turn(range, k) {
        Turn::Left => {
            let f = fold(range, k, known, given, proof)?;
            Folded { range: f.range, whole: node_hash(&f.whole, &sibling) }
        }
        Turn::Right(inner) => {
            let f = fold(inner, size - k, known, given, proof)?;
            Folded { range: f.range, whole: node_hash(&sibling, &f.whole) }
        }
        Turn::Across(inner) => {
            let f = fold(inner, size - k, Known::No, given, proof)?;
            Folded { range: node_hash(&sibling, &f.range), whole: node_hash(&sibling, &f.whole) }
        }
    })
}

fn take_last(proof: &mut &[Hash]) -> Result<Hash, ProofError> {
    let (last, rest) = proof.split_last().ok_or(ProofError::TooShort)?;
    *proof = rest;
    Ok(*last)
}

fn finish(rest: &[Hash], folded: Folded, range: Option<&Hash>, root: &Hash) -> Result<(), ProofError> {
    if !rest.is_empty() {
        return Err(ProofError::TooLong);
    }
    if range.is_some_and(|r| *r != folded.range) {
        return Err(ProofError::WrongSubtree);
    }
    if *root != folded.whole {
        return Err(ProofError::WrongRoot);
    }
    Ok(())
}

/// A subtree starts at a multiple of its length rounded up to a power of two. An empty one starts anywhere.
fn require_subtree(start: u64, end: u64) -> Result<(), ProofError> {
    let span = end.checked_sub(start).ok_or(ProofError::OutOfRange)?;
    match span.checked_next_power_of_two() {
        Some(width) if start.is_multiple_of(width) => Ok(()),
        None if start == 0 => Ok(()),
        _ => Err(ProofError::NotASubtree),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merkle::{Frontier, leaf_hash};
    use proptest::prelude::*;
    use std::collections::HashMap;
    use std::convert::Infallible;

    struct Held(HashMap<(u8, u64), Hash>);

    impl HashSource for Held {
        type Error = Infallible;

        fn hash(&self, level: u8, index: u64) -> Result<Hash, Infallible> {
            Ok(self.0[&(level, index)])
        }
    }

    /// A tree of `n` distinct leaves, with the root at every size.
    fn tree(n: u64) -> (Held, Vec<Hash>) {
        let mut held = HashMap::new();
        let mut frontier = Frontier::default();
        let mut roots = vec![frontier.root()];
        for i in 0..n {
            let leaf = leaf_hash(&i.to_be_bytes());
            held.insert((0, i), leaf);
            frontier.push(leaf, |level, index, hash| {
                held.insert((level, index), *hash);
            });
            roots.push(frontier.root());
        }
        (Held(held), roots)
    }

    #[test]
    fn every_leaf_of_every_small_tree_has_a_proof() {
        let (held, roots) = tree(70);
        for size in 1..=70 {
            for index in 0..size {
                let proof = prove_inclusion(&held, index, size).unwrap();
                let leaf = leaf_hash(&index.to_be_bytes());
                assert_eq!(verify_inclusion(&leaf, index, size, &roots[size as usize], &proof), Ok(()));
                let other = verify_inclusion(&leaf, (index + 1) % size, size, &roots[size as usize], &proof);
                assert!(size == 1 || other.is_err());
            }
        }
    }

    #[test]
    fn every_pair_of_small_trees_is_shown_consistent_and_no_other() {
        let (held, roots) = tree(70);
        for new in 0..=70usize {
            for old in 0..=new {
                let proof = prove_consistency(&held, old as u64, new as u64).unwrap();
                let verdict = verify_consistency(old as u64, new as u64, &roots[old], &roots[new], &proof);
                assert_eq!(verdict.is_ok(), old > 0 || new == 0, "{old} {new}");
                let forked = leaf_hash(b"another history");
                assert!(verify_consistency(old as u64, new as u64, &forked, &roots[new], &proof).is_err());
                assert!(verify_consistency(old as u64, new as u64, &roots[old], &forked, &proof).is_err());
            }
        }
    }

    proptest! {
        #[test]
        fn a_changed_proof_is_refused(size in 2u64..300, pick: u64, bit in 0usize..256, hash: u64) {
            let (held, roots) = tree(size);
            let index = pick % size;
            let mut proof = prove_inclusion(&held, index, size).unwrap();
            let n = proof.len() as u64;
            proof[(hash % n) as usize][bit / 8] ^= 1 << (bit % 8);
            let leaf = leaf_hash(&index.to_be_bytes());
            prop_assert!(verify_inclusion(&leaf, index, size, &roots[size as usize], &proof).is_err());
        }

        #[test]
        fn nonsense_never_panics(a: u64, b: u64, c: u64, n in 0usize..80) {
            let proof = vec![[7; 32]; n];
            let _ = verify_subtree_inclusion(&[1; 32], a, b, c, &[2; 32], &proof);
            let _ = verify_subtree_consistency(a, b, c, &[1; 32], &[2; 32], &proof);
            let _ = verify_consistency(a, b, &[1; 32], &[2; 32], &proof);
        }
    }
}
