//! Leaf and node hashes, and the frontier: the few hashes that stand for a whole tree of any size.

use sha2::{Digest as _, Sha256};

/// A SHA-256 hash of a leaf or node.
pub type Hash = [u8; 32];

/// The root of the tree with no leaves: SHA-256 of nothing.
pub fn empty_root() -> Hash {
    Sha256::digest([]).into()
}

/// The hash of a leaf; the leading zero byte keeps leaves and nodes apart.
pub fn leaf_hash(line: &[u8]) -> Hash {
    let mut h = Sha256::new();
    h.update([0]);
    h.update(line);
    h.finalize().into()
}

/// The hash of an inner node.
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    let mut bytes = [0; 65];
    bytes[0] = 1;
    bytes[1..33].copy_from_slice(left);
    bytes[33..].copy_from_slice(right);
    Sha256::digest(bytes).into()
}

/// The roots of the complete subtrees a tree of `size` leaves is made of, largest first.
///
/// Adding a leaf costs two hashes on average, and memory is one hash per bit of `size`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    peaks: Vec<Hash>,
}

impl Frontier {
    /// Takes up a tree at `size`; `peaks` has one hash per set bit of `size`, largest subtree first.
    pub fn resume(size: u64, peaks: Vec<Hash>) -> Option<Self> {
        (peaks.len() == size.count_ones() as usize).then_some(Frontier { size, peaks })
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// Adds a leaf and tells `completed` of every inner node that it completed, as (level, index, hash).
    pub fn push(&mut self, leaf: Hash, mut completed: impl FnMut(u8, u64, &Hash)) {
        let mut hash = leaf;
        let mut level = 0u8;
        while self.size >> level & 1 == 1 {
            let Some(left) = self.peaks.pop() else { break };
            hash = node_hash(&left, &hash);
            level += 1;
            completed(level, self.size >> level, &hash);
        }
        self.peaks.push(hash);
        self.size += 1;
    }

    pub fn root(&self) -> Hash {
        let mut peaks = self.peaks.iter().rev();
        let Some(last) = peaks.next() else {
            return empty_root();
        };
        peaks.fold(*last, |right, left| node_hash(left, &right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6962's definition, word for word, as the thing to compare with.
    fn mth(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => empty_root(),
            [one] => *one,
            many => {
                let k = many.len().next_power_of_two() / 2;
                node_hash(&mth(&many[..k]), &mth(&many[k..]))
            }
        }
    }

    #[test]
    fn the_frontier_gives_the_root_of_the_definition_at_every_size() {
        let leaves: Vec<Hash> = (0u32..300).map(|i| leaf_hash(&i.to_be_bytes())).collect();
        let mut frontier = Frontier::default();
        for (i, leaf) in leaves.iter().enumerate() {
            assert_eq!(frontier.root(), mth(&leaves[..i]));
            frontier.push(*leaf, |level, index, hash| {
                let span = 1usize << level;
                let from = index as usize * span;
                assert_eq!(*hash, mth(&leaves[from..from + span]));
            });
        }
    }
}
