//! A socket's address may have 107 bytes; a path may have more. A longer one is reached through its open folder.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// What fits into an address, with its closing zero.
const ADDRESS_MAX: usize = 107;

/// A path short enough for an address, good as long as this lives.
#[derive(Debug)]
pub(crate) struct Address {
    path: PathBuf,
    _folder: Option<File>,
}

impl Address {
    pub(crate) fn of(path: &Path) -> io::Result<Address> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        if path.as_os_str().len() <= ADDRESS_MAX {
            return Ok(Address { path: path.to_owned(), _folder: None });
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = File::options().read(true).custom_flags(flags.bits() as i32).open(folder)?;
        let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
        Ok(Address { path, _folder: Some(folder) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
