//! Digests as text: `algo:value`, so that no reader has to guess what made the bytes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// SHA-256 for the Merkle tree and anything foreign; BLAKE3 for our own manifests and blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algo {
    Sha256,
    Blake3,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest {
    pub algo: Algo,
    pub bytes: [u8; 32],
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{text:?} is not a digest: expected sha256: or blake3: and 64 lower-case hex digits")]
pub struct DigestError {
    text: String,
}

impl Digest {
    pub const fn sha256(bytes: [u8; 32]) -> Self {
        Digest { algo: Algo::Sha256, bytes }
    }

    pub const fn blake3(bytes: [u8; 32]) -> Self {
        Digest { algo: Algo::Blake3, bytes }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.algo {
            Algo::Sha256 => "sha256:",
            Algo::Blake3 => "blake3:",
        })?;
        self.bytes.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let parse = || {
            let (algo, hex) = text.split_once(':')?;
            let algo = match algo {
                "sha256" => Algo::Sha256,
                "blake3" => Algo::Blake3,
                _ => return None,
            };
            Some(Digest { algo, bytes: lower_hex(hex)? })
        };
        parse().ok_or_else(|| DigestError { text: text.chars().take(80).collect() })
    }
}

fn lower_hex(hex: &str) -> Option<[u8; 32]> {
    let hex = hex.as_bytes();
    if hex.len() != 64 {
        return None;
    }
    let nibble = |c: u8| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    };
    let mut out = [0; 32];
    for (byte, pair) in out.iter_mut().zip(hex.chunks_exact(2)) {
        *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Some(out)
}

impl From<Digest> for String {
    fn from(d: Digest) -> String {
        d.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, DigestError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips_and_names_its_algorithm() {
        for d in [Digest::sha256([0xab; 32]), Digest::blake3([0; 32])] {
            assert_eq!(d.to_string().parse(), Ok(d));
        }
        assert!(Digest::sha256([0xab; 32]).to_string().starts_with("sha256:abab"));
    }

    #[test]
    fn other_spellings_are_refused() {
        let good = Digest::sha256([0xab; 32]).to_string();
        for bad in
            ["", "sha256:", &good.to_uppercase(), &good[..70], &good.replace("sha256", "md5"), &good[7..]]
        {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
    }
}
