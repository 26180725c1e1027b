//! Reading the tree: which files git knows, and what is in them. The only module that reads files.
//!
//! "Knows" means tracked, or untracked and not ignored: a file is checked before it is first committed.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

/// The files of the working tree, by their path from its root (always with `/`).
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

impl Tree {
    /// Reads every file git knows, wherever below the root the command was started.
    pub(crate) fn read() -> anyhow::Result<Tree> {
        let root = PathBuf::from(git(Path::new("."), &["rev-parse", "--show-toplevel"])?.trim_end());
        let listing = git(&root, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
        let mut files = BTreeMap::new();
        for path in listing.split('\0').filter(|path| !path.is_empty()) {
            if let Some(bytes) = read_if_there(&root.join(path))? {
                files.insert(path.to_owned(), bytes);
            }
        }
        Ok(Tree { root, files })
    }

    /// The text of the files `wanted` picks. A file that is not UTF-8 is an error here; `lint` reports it kindly.
    pub(crate) fn texts(&self, wanted: impl Fn(&str) -> bool) -> anyhow::Result<Vec<(String, String)>> {
        let picked = self.files.iter().filter(|(path, _)| wanted(path));
        picked
            .map(|(path, bytes)| {
                let text = std::str::from_utf8(bytes).with_context(|| format!("{path} is not UTF-8"))?;
                Ok((path.clone(), text.to_owned()))
            })
            .collect()
    }
}

/// `None` for a file that git still lists but someone deleted, and for links: a link's target is checked itself.
fn read_if_there(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    match std::fs::symlink_metadata(path) {
        Ok(meta) if !meta.is_file() => return Ok(None),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("looking at {}", path.display())),
    }
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
    }
}

fn git(dir: &Path, args: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git").arg("-C").arg(dir).args(args).output().context("starting git")?;
    if !output.status.success() {
        bail!("git {} failed: {}", args[0], String::from_utf8_lossy(&output.stderr).trim_end());
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("git {} printed a name that is not UTF-8", args[0]))
}
