//! Reads a file of tensors from its beginning to its end: a length, a description as JSON, then the numbers of one tensor after another.
//!
//! The description is used only when it is the one we know, so that nothing in it can mislead whoever reads on; what the numbers
//! are is known when the whole file went by.

use std::collections::BTreeMap;
use std::io::{self, Read};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::pinned::{WEIGHTS_HEADER, hex};

/// One tensor of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tensor {
    pub(super) name: String,
    /// Where its numbers begin in the file.
    pub(super) offset: u64,
    pub(super) bytes: usize,
}

#[derive(Deserialize)]
struct Described {
    #[serde(default)]
    data_offsets: [u64; 2],
}

/// The tensors that are still to come, in the order of the file.
#[derive(Debug)]
pub(super) struct Tensors<'a, R> {
    from: &'a mut R,
    left: std::vec::IntoIter<Tensor>,
}

impl<'a, R: Read> Tensors<'a, R> {
    pub(super) fn begin(from: &'a mut R) -> io::Result<Tensors<'a, R>> {
        let mut header = vec![0; WEIGHTS_HEADER.bytes as usize];
        from.read_exact(&mut header)?;
        if hex(&Sha256::digest(&header)) != WEIGHTS_HEADER.sha256 {
            return Err(malformed("its description is not the one that was pinned"));
        }
        let described: BTreeMap<String, Described> = serde_json::from_slice(&header[8..])?;
        let mut tensors: Vec<Tensor> = described
            .into_iter()
            .filter(|(name, _)| name != "__metadata__")
            .map(|(name, it)| Tensor {
                name,
                offset: WEIGHTS_HEADER.bytes + it.data_offsets[0],
                bytes: (it.data_offsets[1] - it.data_offsets[0]) as usize,
            })
            .collect();
        tensors.sort_by_key(|it| it.offset);
        Ok(Tensors { from, left: tensors.into_iter() })
    }

    /// The next one; its bytes are to be read before another is asked for.
    pub(super) fn next_tensor(&mut self) -> Option<Tensor> {
        self.left.next()
    }

    pub(super) fn bytes_of(&mut self, tensor: &Tensor) -> impl Read {
        self.from.take(tensor.bytes as u64)
    }

    pub(super) fn values_of(&mut self, tensor: &Tensor) -> io::Result<Vec<f32>> {
        let mut bytes = vec![0; tensor.bytes];
        self.from.read_exact(&mut bytes)?;
        Ok(bytes.as_chunks().0.iter().map(|it| f32::from_le_bytes(*it)).collect())
    }
}

pub(super) fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
