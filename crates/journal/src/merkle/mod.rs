//! The RFC 6962 Merkle tree over the journal's lines.
//!
//! [`tree`] hashes and folds, [`proof`] makes and checks proofs, [`rows`] keeps the hashes on disk so that
//! a proof needs a handful of reads and opening needs none of the entries. Everything but `rows` is pure.

mod proof;
mod rows;
mod tree;

pub use proof::{
    HashSource, ProofError, prove_consistency, prove_inclusion, root_of_range, verify_consistency,
    verify_inclusion, verify_subtree_consistency, verify_subtree_inclusion,
};
pub(crate) use rows::{LeafWindow, Rows};
pub use tree::{Frontier, Hash, empty_root, leaf_hash, node_hash};
