//! Objects as one stream that git takes in with a single call and checks object by object.

use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use sha1::{Digest, Sha1};

use crate::object::{Kind, Object};

/// A pack of whole objects, none as a difference to another.
pub(crate) fn pack(objects: &[Object]) -> io::Result<Vec<u8>> {
    let count = u32::try_from(objects.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut out = b"PACK".to_vec();
    out.extend(2u32.to_be_bytes());
    out.extend(count.to_be_bytes());
    for object in objects {
        head(&mut out, object);
        let mut packed = ZlibEncoder::new(&mut out, Compression::fast());
        packed.write_all(&object.bytes)?;
        packed.finish()?;
    }
    let sum: [u8; 20] = Sha1::digest(&out).into();
    out.extend(sum);
    Ok(out)
}

/// Its kind and its length: four bits of the length beside the kind, then seven in each byte that follows.
fn head(out: &mut Vec<u8>, object: &Object) {
    let kind: u8 = match object.kind {
        Kind::Commit => 1,
        Kind::Tree => 2,
        Kind::Blob => 3,
    };
    let mut rest = object.bytes.len();
    let mut byte = kind << 4 | (rest & 0x0f) as u8;
    rest >>= 4;
    while rest > 0 {
        out.push(byte | 0x80);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    out.push(byte);
}
