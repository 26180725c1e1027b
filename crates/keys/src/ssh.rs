//! Signatures as OpenSSH makes them (`ssh-keygen -Y sign`), which git verifies on commits.
//!
//! What is signed says what it is: a mark of this format and a word for the use, so that a signature of a commit fits nothing else.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha512};

use crate::key::{PublicKey, SecretKey};

const MAGIC: &[u8] = b"SSHSIG";
const ALGORITHM: &[u8] = b"ssh-ed25519";
const HASH: &[u8] = b"sha512";
/// As long as OpenSSH makes its lines.
const COLUMNS: usize = 70;

/// What a signature is for. Git knows its own word alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// Commits and tags.
    Git,
}

impl Namespace {
    const fn word(self) -> &'static [u8] {
        match self {
            Namespace::Git => b"git",
        }
    }
}

/// The signature of a message, armoured, with a line feed at its end. The same message and key give the same signature.
pub fn sign(message: &[u8], namespace: Namespace, key: &SecretKey) -> String {
    let mut signed = MAGIC.to_vec();
    let hash = Sha512::digest(message);
    [namespace.word(), b"", HASH, hash.as_slice()].into_iter().for_each(|part| put(&mut signed, part));
    let mut signature = Vec::new();
    put(&mut signature, ALGORITHM);
    put(&mut signature, &key.sign(&signed));
    let mut blob = MAGIC.to_vec();
    blob.extend(1u32.to_be_bytes());
    let public = wire(&key.public());
    let parts: [&[u8]; 5] = [&public, namespace.word(), b"", HASH, &signature];
    parts.into_iter().for_each(|part| put(&mut blob, part));
    armoured(&STANDARD.encode(blob))
}

/// The public key as `authorized_keys` and `allowed_signers` have it: its kind and its base64.
pub fn public_line(key: &PublicKey) -> String {
    format!("ssh-ed25519 {}", STANDARD.encode(wire(key)))
}

fn wire(key: &PublicKey) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, ALGORITHM);
    put(&mut out, key.as_bytes());
    out
}

/// Its length in four bytes, then itself. Nothing here is longer than a kilobyte.
fn put(out: &mut Vec<u8>, part: &[u8]) {
    out.extend(u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend(part);
}

fn armoured(base64: &str) -> String {
    let mut out = "-----BEGIN SSH SIGNATURE-----\n".to_owned();
    let mut rest = base64;
    while !rest.is_empty() {
        // Base64 is ASCII, so every place is between two characters.
        let (line, more) = rest.split_at(rest.len().min(COLUMNS));
        out.extend([line, "\n"]);
        rest = more;
    }
    out + "-----END SSH SIGNATURE-----\n"
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    /// Whether OpenSSH itself takes the signature.
    fn verified(folder: &std::path::Path, message: &[u8], namespace: &str) -> bool {
        let mut child = Command::new("ssh-keygen")
            .args(["-Y", "verify", "-f"])
            .arg(folder.join("allowed"))
            .args(["-I", "steward@test", "-n", namespace, "-s"])
            .arg(folder.join("signature"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(message).unwrap();
        child.wait().unwrap().success()
    }

    #[test]
    fn openssh_takes_the_signature_for_this_message_this_use_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let key = SecretKey::from_seed(&[7; 32]);
        let allowed = format!("steward@test {}\n", public_line(&key.public()));
        std::fs::write(folder.path().join("allowed"), allowed).unwrap();
        let message = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n";
        let signature = sign(message, Namespace::Git, &key);
        std::fs::write(folder.path().join("signature"), &signature).unwrap();
        assert!(verified(folder.path(), message, "git"));
        assert!(!verified(folder.path(), b"another", "git"));
        assert!(!verified(folder.path(), message, "file"));
        assert_eq!(signature, sign(message, Namespace::Git, &key), "the same each time");
    }
}
