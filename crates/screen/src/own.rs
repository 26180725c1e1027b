//! The product's own names and signatures. They look like secrets and open nothing; an approval whose signature or key had
//! been taken out would prove nothing any more.

use holdfast_types::{AgentId, ApprovalId, Digest, RunId, TargetId};

/// Whether a value may stand under whatever name it has.
pub(crate) fn is_public(name: &str, value: &str) -> bool {
    is_name(value) || (matches!(name, "sig" | "signature") && is_signature(value))
}

/// An id, a digest, or the name of a key: `apr_…`, `blake3:…`, `ed25519:…`.
pub(crate) fn is_name(word: &str) -> bool {
    // Looked at for every value there is, so what cannot be one must cost nothing.
    match word.as_bytes() {
        [_, _, _, b'_', rest @ ..] if rest.len() == ULID => is_id(word),
        bytes if bytes.len() <= LONGEST && bytes.contains(&b':') => {
            word.parse::<Digest>().is_ok() || word.strip_prefix("ed25519:").is_some_and(is_key_id)
        }
        _ => false,
    }
}

/// Characters of an id behind its prefix.
const ULID: usize = 26;

/// `sha256:` and 64 hexadecimal digits, with room to spare.
const LONGEST: usize = 80;

fn is_id(word: &str) -> bool {
    word.parse::<AgentId>().is_ok()
        || word.parse::<TargetId>().is_ok()
        || word.parse::<RunId>().is_ok()
        || word.parse::<ApprovalId>().is_ok()
}

/// Eight bytes of a digest of the public key.
fn is_key_id(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// 64 bytes in base64.
fn is_signature(value: &str) -> bool {
    let base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'-' | b'_');
    let bytes = value.strip_suffix("==").unwrap_or(value);
    bytes.len() == 86 && bytes.bytes().all(base64)
}
