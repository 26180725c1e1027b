//! Recovery codes: what they look like, and the slow hash that is kept of them.
//!
//! A code has 20 characters in four groups. The first four only find the row; the other sixteen are 80 random bits, of
//! which an argon2id hash is stored. So a try costs one hash when the first four fit a row and none otherwise, however
//! many codes there are.

use std::fmt;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// How many a person has.
pub const CODES: usize = 10;

/// Crockford's: without I, L, O and U. Who types one of the first three meant a 1 or a 0, and is understood.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

pub(crate) const PREFIX_LEN: usize = 4;
const SECRET_LEN: usize = 16;
const GROUP_LEN: usize = 5;

/// Longest text that is looked at: a code with generous spacing.
const SENT_MAX: usize = 64;

/// What a hash costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeCost {
    pub memory_kib: u32,
    pub passes: u32,
}

impl Default for CodeCost {
    /// The usual advice for argon2id with one lane: 19 MiB, two passes.
    fn default() -> CodeCost {
        CodeCost { memory_kib: 19 * 1024, passes: 2 }
    }
}

impl CodeCost {
    fn hasher(self) -> Result<Argon2<'static>> {
        let params = Params::new(self.memory_kib, self.passes, 1, None).map_err(|_| Error::BadCost)?;
        Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
    }
}

/// A code, in its one spelling without separators. It never prints.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Code(Zeroizing<String>);

impl Code {
    pub(crate) fn random() -> Result<Code> {
        let mut bytes = Zeroizing::new([0u8; PREFIX_LEN + SECRET_LEN]);
        getrandom::fill(bytes.as_mut()).map_err(|_| Error::NoRandomness)?;
        // 256 is a multiple of 32: every letter is equally likely.
        let letters = bytes.iter().map(|b| char::from(ALPHABET[usize::from(b % 32)]));
        Ok(Code(Zeroizing::new(letters.collect())))
    }

    /// What somebody typed, when it can be a code: spaces, hyphens and small letters are fine.
    pub(crate) fn sent(text: &str) -> Option<Code> {
        if text.len() > SENT_MAX {
            return None;
        }
        let typed = |c: &char| !c.is_ascii_whitespace() && *c != '-';
        let plain: Zeroizing<String> = Zeroizing::new(text.chars().filter(typed).map(as_meant).collect());
        let fits = plain.len() == PREFIX_LEN + SECRET_LEN && plain.bytes().all(|b| ALPHABET.contains(&b));
        fits.then_some(Code(plain))
    }

    /// Finds the row. Not secret.
    pub(crate) fn prefix(&self) -> &str {
        &self.0[..PREFIX_LEN]
    }

    fn secret(&self) -> &[u8] {
        &self.0.as_bytes()[PREFIX_LEN..]
    }

    /// In groups, as it is shown once.
    pub(crate) fn shown(&self) -> String {
        let groups: Vec<&str> =
            (0..self.0.len()).step_by(GROUP_LEN).map(|at| &self.0[at..at + GROUP_LEN]).collect();
        groups.join("-")
    }

    pub(crate) fn hash(&self, cost: CodeCost) -> Result<String> {
        let hash = cost.hasher()?.hash_password(self.secret()).map_err(|_| Error::BadCost)?;
        Ok(hash.to_string())
    }

    /// Whether this is the code a hash was made of. The cost is the hash's own.
    pub(crate) fn is(&self, hash: &str) -> bool {
        PasswordHash::new(hash)
            .is_ok_and(|parsed| Argon2::default().verify_password(self.secret(), &parsed).is_ok())
    }
}

fn as_meant(c: char) -> char {
    match c.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        other => other,
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: CodeCost = CodeCost { memory_kib: 64, passes: 1 };

    #[test]
    fn a_code_is_read_back_however_it_is_typed_and_prints_nowhere() {
        let code = Code::random().unwrap();
        let shown = code.shown();
        assert_eq!(shown.len(), 23);
        for typed in [shown.clone(), shown.to_lowercase(), shown.replace('-', " "), shown.replace('-', "")] {
            assert!(Code::sent(&typed) == Some(code.clone()), "{typed}");
        }
        for bad in
            ["", "AAAA", &shown[1..], &format!("{shown}A"), &shown.replace('-', "!"), &"A".repeat(9_999)]
        {
            assert!(Code::sent(bad).is_none(), "{bad}");
        }
        assert!(!format!("{code:?}").contains(&shown[..4]));
    }

    #[test]
    fn letters_that_look_alike_are_understood() {
        let code = Code(Zeroizing::new("0011".repeat(5)));
        assert!(Code::sent("oO-iL 0011-0011-0011-0011").is_some_and(|read| read == code));
        assert!(Code::sent(&"U".repeat(20)).is_none());
    }

    #[test]
    fn a_hash_is_argon2id_and_fits_its_code_alone() {
        let (code, other) = (Code::random().unwrap(), Code::random().unwrap());
        let hash = code.hash(QUICK).unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=64,t=1,p=1$"), "{hash}");
        assert!(code.is(&hash) && !other.is(&hash));
        assert!(!code.is("nonsense"));
        let usual = code.hash(CodeCost::default()).unwrap();
        assert!(usual.starts_with("$argon2id$v=19$m=19456,t=2,p=1$") && code.is(&usual), "{usual}");
    }
}
