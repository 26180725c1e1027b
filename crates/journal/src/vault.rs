//! Keys for blobs that can be destroyed one by one, and stay destroyed.
//!
//! The key of entry `n`'s blob is a leaf of a binary tree of keys: each node's two children are derived from
//! it, one way only. To begin with the vault holds the root and can derive every leaf; nothing has to be
//! written when a blob is. To destroy leaf `n` the vault replaces the node above it by the siblings along the
//! path down to `n`, so that every leaf but that one can still be derived. A thousand erasures in a million
//! entries cost about ten thousand small records.
//!
//! The vault lives with the keys, outside the state directory. A copy of the state directory therefore holds
//! sealed bytes and no key, and after an erasure the old copies are as unreadable as the new ones.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use holdfast_durable::{Mode, Replacement};
use holdfast_types::{Digest, Origin};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::error::{Error, Result};

const HEADING: &str = "holdfast vault 1";
const NONCE_LEN: usize = 24;
/// Bytes a sealed blob is longer than its text: the nonce and the tag.
pub(crate) const SEAL_OVERHEAD: usize = NONCE_LEN + 16;

/// The keys of one log's blobs.
pub struct Vault {
    path: PathBuf,
    /// By the first leaf each node covers; ranges never overlap.
    nodes: BTreeMap<u64, Node>,
    /// The node that was met last on the way down to a leaf, [`NEARBY_LEVEL`] above it: entries that are written or read one after another have
    /// most of their way in common. Gone with every erasure, since it may lie above the leaf that goes.
    nearby: Mutex<Option<(u64, Node)>>,
}

/// 256 leaves share it.
const NEARBY_LEVEL: u8 = 8;

#[derive(Clone, Zeroize, ZeroizeOnDrop)]
struct Node {
    /// Covers `1 << level` leaves; 64 for the root.
    #[zeroize(skip)]
    level: u8,
    key: [u8; 32],
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node").field("level", &self.level).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vault").field("path", &self.path).field("nodes", &self.nodes.len()).finish()
    }
}

impl Vault {
    /// Makes a vault with a fresh root key.
    pub fn create(path: &Path) -> Result<Vault> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|e| Error::Vault(format!("no randomness: {e}")))?;
        let vault = Vault::of(path, BTreeMap::from([(0, Node { level: 64, key })]));
        key.zeroize();
        let mut text = to_text(&vault.nodes);
        let made = holdfast_durable::create(path, text.as_bytes(), Mode::Private);
        text.zeroize();
        made?;
        Ok(vault)
    }

    /// Opens a vault; one that others can read is refused.
    pub fn open(path: &Path) -> Result<Vault> {
        let mut text = read_private(path)?;
        let nodes = parse(&text);
        text.zeroize();
        let nodes = nodes.ok_or_else(|| Error::Vault(format!("{} is damaged", path.display())))?;
        Ok(Vault::of(path, nodes))
    }

    fn of(path: &Path, nodes: BTreeMap<u64, Node>) -> Vault {
        Vault { path: path.to_owned(), nodes, nearby: Mutex::new(None) }
    }

    /// Seals the text of entry `seq` and gives its name.
    pub(crate) fn seal(&self, origin: &Origin, seq: u64, text: &[u8]) -> Result<(Digest, Vec<u8>)> {
        let leaf = self.leaf(seq).ok_or(Error::Erased { seq })?;
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|e| Error::Vault(format!("no randomness: {e}")))?;
        let sealed = cipher(&leaf)
            .encrypt(&XNonce::from(nonce), Payload { msg: text, aad: &bound_to(origin, seq) })
            .map_err(|_| Error::Vault("sealing failed".into()))?;
        Ok((commitment(&leaf, &nonce, text), [nonce.as_slice(), &sealed].concat()))
    }

    /// Opens what [`seal`](Vault::seal) made; anything else is refused.
    pub(crate) fn unseal(&self, origin: &Origin, seq: u64, name: &Digest, sealed: &[u8]) -> Result<Vec<u8>> {
        let leaf = self.leaf(seq).ok_or(Error::Erased { seq })?;
        let damaged = || Error::damaged("the blob pack", 0, Some(seq), "the sealed text does not open");
        let (nonce, rest) = sealed.split_first_chunk::<NONCE_LEN>().ok_or_else(damaged)?;
        let text = cipher(&leaf)
            .decrypt(&XNonce::from(*nonce), Payload { msg: rest, aad: &bound_to(origin, seq) })
            .map_err(|_| damaged())?;
        if commitment(&leaf, nonce, &text) != *name {
            return Err(Error::damaged(
                "the blob pack",
                0,
                Some(seq),
                "the text is not the one that was named",
            ));
        }
        Ok(text)
    }

    /// Whether the key of entry `seq` has been destroyed.
    pub fn is_erased(&self, seq: u64) -> bool {
        self.covering(seq).is_none()
    }

    /// Writes the keys without those of some entries beside the vault. Destroying these with [`Vault::complete`] takes no room on the disk
    /// then. `None` where they are destroyed already. Dropped unused, it leaves the vault as it is.
    pub(crate) fn prepare_erasure(&self, seqs: &[u64]) -> Result<Option<Erasure>> {
        let mut nodes = self.nodes.clone();
        for seq in seqs {
            if let Some((first, node)) = covering(&nodes, *seq) {
                let (first, node) = (first, node.clone());
                nodes.remove(&first);
                nodes.extend(siblings_on_the_way(first, &node, *seq));
            }
        }
        if seqs.iter().all(|seq| self.is_erased(*seq)) {
            return Ok(None);
        }
        let mut text = to_text(&nodes);
        let written = Replacement::prepare(&self.path, text.as_bytes(), Mode::Private);
        text.zeroize();
        Ok(Some(Erasure { nodes, replacement: written? }))
    }

    /// Destroys the keys; durable on return. It must have been prepared from this vault as it is.
    pub(crate) fn complete(&mut self, erasure: Erasure) -> Result<()> {
        *self.nearby() = None;
        if let Err(e) = erasure.replacement.place() {
            // What is in memory must be what is on disk: read it back before anything else is erased.
            *self = Vault::open(&self.path)?;
            return Err(e.into());
        }
        self.nodes = erasure.nodes;
        Ok(())
    }

    /// What a process that was killed had prepared and not completed. One that was not written whole is removed.
    pub(crate) fn interrupted(&self) -> Option<Erasure> {
        let replacement = Replacement::find(&self.path)?;
        let mut text = read_private(&replacement.aside()).ok()?;
        let nodes = parse(&text);
        text.zeroize();
        nodes.map(|nodes| Erasure { nodes, replacement })
    }

    fn covering(&self, seq: u64) -> Option<(u64, &Node)> {
        covering(&self.nodes, seq)
    }

    fn leaf(&self, seq: u64) -> Option<Node> {
        let (first, node) = self.covering(seq)?;
        if node.level <= NEARBY_LEVEL {
            return Some(down_to(first, node, seq, 0));
        }
        let place = seq >> NEARBY_LEVEL;
        let mut nearby = self.nearby();
        let above = match &*nearby {
            Some((at, above)) if *at == place => above,
            _ => &nearby.insert((place, down_to(first, node, seq, NEARBY_LEVEL))).1,
        };
        Some(down_to(place << NEARBY_LEVEL, above, seq, 0))
    }

    fn nearby(&self) -> MutexGuard<'_, Option<(u64, Node)>> {
        // A plain assignment cannot leave it half written.
        self.nearby.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keys without some of those that a vault has, on the disk beside it.
#[derive(Debug)]
pub(crate) struct Erasure {
    nodes: BTreeMap<u64, Node>,
    replacement: Replacement,
}

impl Erasure {
    /// Whether the key of entry `seq` is destroyed when it is completed.
    pub(crate) fn erases(&self, seq: u64) -> bool {
        covering(&self.nodes, seq).is_none()
    }
}

fn covering(nodes: &BTreeMap<u64, Node>, seq: u64) -> Option<(u64, &Node)> {
    let (first, node) = nodes.range(..=seq).next_back()?;
    let covered = node.level == 64 || (seq - first) >> node.level == 0;
    covered.then_some((*first, node))
}

fn to_text(nodes: &BTreeMap<u64, Node>) -> String {
    use std::fmt::Write;
    let mut text = format!("{HEADING}\n");
    for (first, node) in nodes {
        let _ = write!(text, "{first:016x} {:02} ", node.level);
        let _ = node.key.iter().try_for_each(|b| write!(text, "{b:02x}"));
        text.push('\n');
    }
    let crc = crc32c::crc32c(text.as_bytes());
    let _ = writeln!(text, "crc {crc:08x}");
    text
}

/// The node at `level` on the way from one that begins at `first` to the leaf of `seq`.
fn down_to(first: u64, node: &Node, seq: u64, level: u8) -> Node {
    let offset = seq - first;
    let down = (level..node.level).rev();
    down.fold(node.clone(), |node, level| child(&node, level, offset >> level & 1 == 1))
}

/// The child of a node at `level`, on its right side or its left.
fn child(node: &Node, level: u8, right: bool) -> Node {
    Node { level, key: *blake3::keyed_hash(&node.key, &[u8::from(right)]).as_bytes() }
}

/// The nodes that together cover all that `node` does but the one leaf.
fn siblings_on_the_way(first: u64, node: &Node, seq: u64) -> Vec<(u64, Node)> {
    let (mut first, mut node) = (first, node.clone());
    let mut kept = Vec::new();
    for level in (0..node.level).rev() {
        let right = (seq - first) >> level & 1 == 1;
        let (left_first, right_first) = (first, first + (1u64 << level));
        let sibling_first = if right { left_first } else { right_first };
        kept.push((sibling_first, child(&node, level, !right)));
        node = child(&node, level, right);
        first = if right { right_first } else { left_first };
    }
    kept
}

fn cipher(leaf: &Node) -> XChaCha20Poly1305 {
    let mut key = blake3::derive_key("holdfast 2026 blob encryption v1", &leaf.key);
    let cipher = XChaCha20Poly1305::new(&key.into());
    key.zeroize();
    cipher
}

/// The blob's name: a hash under a salt that goes with the leaf, so that after an erasure nobody can test
/// a guess at the text against it.
fn commitment(leaf: &Node, nonce: &[u8; NONCE_LEN], text: &[u8]) -> Digest {
    let mut salt = blake3::derive_key("holdfast 2026 blob commitment v1", &leaf.key);
    let mut hasher = blake3::Hasher::new_keyed(&salt);
    salt.zeroize();
    hasher.update(nonce);
    hasher.update(text);
    Digest::blake3(*hasher.finalize().as_bytes())
}

/// Ties sealed bytes to their place, so that they cannot be moved to another entry.
fn bound_to(origin: &Origin, seq: u64) -> Vec<u8> {
    [origin.as_str().as_bytes(), b"\n", &seq.to_be_bytes()].concat()
}

fn read_private(path: &Path) -> Result<String> {
    use std::os::unix::fs::PermissionsExt;
    let mut file = std::fs::File::open(path).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => Error::Vault(format!("there is none at {}", path.display())),
        _ => holdfast_durable::while_doing("opening", path, e).into(),
    })?;
    let mode = file.metadata()?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let path = path.display();
        return Err(Error::Vault(format!(
            "{path} can be read by others (mode {mode:04o}): chmod 600 {path}"
        )));
    }
    let mut text = String::new();
    io::Read::read_to_string(&mut file, &mut text)
        .map_err(|e| holdfast_durable::while_doing("reading", path, e))?;
    Ok(text)
}

fn parse(text: &str) -> Option<BTreeMap<u64, Node>> {
    let (covered, crc) = text.rsplit_once("crc ")?;
    if crc.trim_end() != format!("{:08x}", crc32c::crc32c(covered.as_bytes())) {
        return None;
    }
    let mut lines = covered.lines();
    if lines.next()? != HEADING {
        return None;
    }
    lines.map(parse_node).collect()
}

fn parse_node(line: &str) -> Option<(u64, Node)> {
    let mut words = line.split(' ');
    let first = u64::from_str_radix(words.next()?, 16).ok()?;
    let level = words.next()?.parse().ok().filter(|level| *level <= 64)?;
    let hex = words.next().filter(|hex| hex.len() == 64)?;
    let mut key = [0; 32];
    for (i, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * i..2 * i + 2)?, 16).ok()?;
    }
    words.next().is_none().then_some((first, Node { level, key }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn origin() -> Origin {
        "holdfast/test".parse().unwrap()
    }

    impl Vault {
        fn erase(&mut self, seq: u64) -> Result<()> {
            self.prepare_erasure(&[seq])?.map_or(Ok(()), |erasure| self.complete(erasure))
        }
    }

    fn fresh() -> (tempfile::TempDir, Vault) {
        let dir = tempfile::tempdir().unwrap();
        let vault = Vault::create(&dir.path().join("vault")).unwrap();
        (dir, vault)
    }

    #[test]
    fn what_is_sealed_opens_at_its_place_and_nowhere_else() {
        let (_dir, vault) = fresh();
        for seq in [0, 1, 41, u64::MAX] {
            let (name, sealed) = vault.seal(&origin(), seq, b"a note").unwrap();
            assert_eq!(vault.unseal(&origin(), seq, &name, &sealed).unwrap(), b"a note");
            assert!(vault.unseal(&origin(), seq ^ 1, &name, &sealed).is_err());
            assert!(vault.unseal(&"holdfast/other".parse().unwrap(), seq, &name, &sealed).is_err());
            for i in 0..sealed.len() {
                let mut bad = sealed.clone();
                bad[i] ^= 1;
                assert!(vault.unseal(&origin(), seq, &name, &bad).is_err(), "byte {i}");
            }
        }
    }

    #[test]
    fn an_erased_leaf_is_gone_and_all_others_remain_also_after_reopening() {
        let (dir, mut vault) = fresh();
        let sealed: Vec<_> = (0..300).map(|seq| vault.seal(&origin(), seq, b"text").unwrap()).collect();
        let erased = [0u64, 7, 8, 9, 255, 256, 299];
        for seq in erased {
            vault.erase(seq).unwrap();
            vault.erase(seq).unwrap();
        }
        let vault = Vault::open(&dir.path().join("vault")).unwrap();
        for (seq, (name, bytes)) in sealed.iter().enumerate() {
            let opened = vault.unseal(&origin(), seq as u64, name, bytes);
            if erased.contains(&(seq as u64)) {
                assert!(matches!(opened, Err(Error::Erased { .. })));
            } else {
                assert_eq!(opened.unwrap(), b"text");
            }
        }
    }

    /// What is kept of the way to a leaf must not outlive the leaf.
    #[test]
    fn an_erasure_forgets_what_was_kept_of_the_way_to_it() {
        let (_dir, mut vault) = fresh();
        for seq in [700, 701, 300, 767] {
            let (name, sealed) = vault.seal(&origin(), seq, b"text").unwrap();
            // Beside an erased leaf the way is so short that none of it is kept.
            let kept = vault.nearby().as_ref().map(|(place, _)| *place);
            assert_eq!(kept, matches!(seq, 700 | 300).then_some(seq >> NEARBY_LEVEL), "{seq}");
            vault.erase(seq).unwrap();
            assert!(vault.nearby().is_none());
            assert!(matches!(vault.unseal(&origin(), seq, &name, &sealed), Err(Error::Erased { .. })));
            assert!(vault.leaf(seq ^ 1).is_some() || seq == 701, "its neighbour is as it was");
            assert!(vault.leaf(seq).is_none());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn erasures_never_touch_another_leaf(seqs in proptest::collection::btree_set(0u64..5_000, 1..12), other in 0u64..5_000) {
            let (_dir, mut vault) = fresh();
            let before = vault.leaf(other).unwrap().key;
            for seq in &seqs {
                vault.erase(*seq).unwrap();
            }
            prop_assert_eq!(vault.leaf(other).map(|n| n.key), (!seqs.contains(&other)).then_some(before));
        }
    }

    #[test]
    fn an_erasure_that_is_not_completed_changes_nothing_and_one_that_was_cut_short_is_found() {
        let (dir, mut vault) = fresh();
        let path = dir.path().join("vault");
        let aside = dir.path().join("vault.new");
        let before = std::fs::read(&path).unwrap();
        let prepared = vault.prepare_erasure(&[3, 7, 700]).unwrap().unwrap();
        assert!(prepared.erases(3) && prepared.erases(700) && !prepared.erases(4));
        drop(prepared);
        assert!(!aside.exists() && !vault.is_erased(3));
        assert_eq!(std::fs::read(&path).unwrap(), before);
        // Killed after it was prepared: nobody dropped it.
        std::mem::forget(vault.prepare_erasure(&[3, 7, 700]).unwrap().unwrap());
        let found = vault.interrupted().unwrap();
        assert!(found.erases(7) && !found.erases(8));
        vault.complete(found).unwrap();
        assert!(!aside.exists());
        let vault = Vault::open(&path).unwrap();
        assert!([3, 7, 700].iter().all(|seq| vault.is_erased(*seq)) && !vault.is_erased(8));
        assert!(vault.prepare_erasure(&[7]).unwrap().is_none(), "it is destroyed already");
        // Killed while it was written.
        std::fs::write(&aside, "holdfast vault 1\n0000").unwrap();
        assert!(vault.interrupted().is_none() && !aside.exists());
    }

    #[test]
    fn a_vault_others_can_read_or_that_is_damaged_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let (dir, _vault) = fresh();
        let path = dir.path().join("vault");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(Vault::open(&path).unwrap_err().to_string().contains("chmod 600"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen('0', "1", 1)).unwrap();
        assert!(Vault::open(&path).is_err());
    }
}
