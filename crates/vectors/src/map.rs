//! The front of a file as memory, read when it is touched.
//!
//! The second of the two modules with `unsafe` in them. A mapping changes when its file does. Files mapped here lie in a folder that is
//! private to its owner and locked by one [`Index`](crate::Index); it writes to them only with the index borrowed for itself alone, and
//! then nobody holds a slice of the mapping. Files are never shortened while they are mapped.

use std::fs::File;
use std::io;

use memmap2::{Advice, Mmap, MmapOptions};

// The sections are used as they lie in the file, in little-endian order.
#[cfg(target_endian = "big")]
compile_error!("the files of the vector index are mapped as they are, and are little-endian");

#[derive(Debug)]
pub(crate) struct Map(Mmap);

impl Map {
    /// The first `len` bytes of a file that is at least that long.
    pub(crate) fn of(file: &File, len: usize) -> io::Result<Map> {
        // SAFETY: as the opening of this module says, nobody changes the file while a slice of it is borrowed.
        let map = unsafe { MmapOptions::new().len(len).map(file)? };
        // A walk over the graph touches pages all over the file: reading ahead would load what nobody looks at.
        map.advise(Advice::Random)?;
        Ok(Map(map))
    }

    pub(crate) fn bytes(&self, begin: usize, len: usize) -> &[u8] {
        &self.0[begin..begin + len]
    }

    /// `count` numbers from `begin` on, which is a multiple of four.
    pub(crate) fn floats(&self, begin: usize, count: usize) -> &[f32] {
        // SAFETY: every pattern of bits is an `f32`.
        whole(unsafe { self.bytes(begin, count * 4).align_to::<f32>() })
    }

    /// `count` numbers from `begin` on, which is a multiple of four.
    pub(crate) fn words(&self, begin: usize, count: usize) -> &[u32] {
        // SAFETY: every pattern of bits is a `u32`.
        whole(unsafe { self.bytes(begin, count * 4).align_to::<u32>() })
    }
}

/// Mappings begin with a page and sections are whole pages, so that nothing is left over at either end.
fn whole<'a, T>((before, items, after): (&'a [u8], &'a [T], &'a [u8])) -> &'a [T] {
    assert!(before.is_empty() && after.is_empty(), "a section that is not aligned");
    items
}
