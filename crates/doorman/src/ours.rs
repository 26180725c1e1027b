//! Files of ours in a folder of units: read without following a link, written whole, taken away again.
//!
//! Only names that say they are ours are looked at. What bears such a name and is not what we would have written is *odd*: it
//! gives the target another identity, and whoever wants to stage something there is refused.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use holdfast_durable::Mode;
use holdfast_steward::setting::{Setting, Value};

use crate::layer::{self, Layer};
use crate::program::Trouble;

/// A drop-in of ours has three lines.
const FILE_MAX: u64 = 64 << 10;

/// Our files in a folder of units, and any that somebody edited.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) layer: Layer,
    /// What has a name of ours and does not hold what we would have written, with what it holds instead.
    pub(crate) odd: Vec<(PathBuf, String)>,
}

impl Found {
    pub(crate) fn is_nothing(&self) -> bool {
        self.layer.iter().next().is_none() && self.odd.is_empty()
    }
}

pub(crate) fn layer_in(root: &Path, prefix: &str) -> Result<Found, Trouble> {
    let mut found = Found::default();
    for named in names_in(root, prefix)? {
        let held =
            if named.behind_link { Err("it lies behind a link".to_owned()) } else { read(&named.path) };
        let value = held.as_ref().ok().and_then(|text| layer::value_in(&named.setting, text));
        match value {
            Some(value) => found.layer.insert(named.setting, value),
            None => found.odd.push((named.path, held.unwrap_or_else(|why| why))),
        }
    }
    Ok(found)
}

/// Writes what is missing or different, removes what is not in the layer; folders that this leaves empty go too.
pub(crate) fn write_layer(root: &Path, prefix: &str, layer: &Layer) -> Result<(), Trouble> {
    for (setting, value) in layer.iter() {
        write_setting(root, prefix, setting, value)?;
    }
    for named in names_in(root, prefix)? {
        // The manager reads no folder as a drop-in, and what lies behind a link lies in a place that is not ours.
        if layer.get(&named.setting).is_none() && !named.is_folder && !named.behind_link {
            remove(&named.path)?;
            if let Some(folder) = named.path.parent() {
                let _ = fs::remove_dir(folder);
            }
        }
    }
    Ok(())
}

fn write_setting(root: &Path, prefix: &str, setting: &Setting, value: Value) -> Result<(), Trouble> {
    let text = layer::text_of(setting, value).map_err(|e| Trouble::Odd(e.to_string()))?;
    let (folder, file) = layer::file_of(setting, prefix);
    let folder = root.join(folder);
    match fs::create_dir(&folder) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => {
            return Err(Trouble::File { what: format!("making {}", folder.display()), source: e });
        }
        _ => {}
    }
    // A link put there by somebody else would have us write elsewhere.
    if !is_folder(&folder) {
        return Err(Trouble::Odd(format!("{} is not a folder", folder.display())));
    }
    let path = folder.join(file);
    if read(&path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    // A link with this name is replaced, and what it leads to is left alone.
    holdfast_durable::replace(&path, text.as_bytes(), Mode::Readable)
        .map_err(Trouble::file(format!("writing {}", path.display())))
}

/// Something that bears a name of ours.
struct Named {
    path: PathBuf,
    setting: Setting,
    is_folder: bool,
    behind_link: bool,
}

fn names_in(root: &Path, prefix: &str) -> Result<Vec<Named>, Trouble> {
    let mut names = Vec::new();
    for (folder, folder_name) in entries(root)? {
        if !folder_name.ends_with(".d") {
            continue;
        }
        let behind_link = !is_folder(&folder);
        for (path, name) in entries(&folder)? {
            if let Some(setting) = layer::setting_of(&folder_name, &name, prefix) {
                names.push(Named { is_folder: is_folder(&path), path, setting, behind_link });
            }
        }
    }
    names.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(names)
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// What an ordinary file holds, or why it is none. Neither a link nor a pipe is waited for or followed.
fn read(path: &Path) -> Result<String, String> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|e| e.to_string())?;
    if !file.metadata().is_ok_and(|meta| meta.is_file()) {
        return Err("it is no file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(FILE_MAX).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Names that are UTF-8; ours are. A folder that is not there is empty.
pub(crate) fn entries(folder: &Path) -> Result<Vec<(PathBuf, String)>, Trouble> {
    let what = || format!("reading {}", folder.display());
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(Vec::new()),
        Err(e) => return Err(Trouble::File { what: what(), source: e }),
    };
    let mut all = Vec::new();
    for entry in listed {
        let entry = entry.map_err(Trouble::file(what()))?;
        all.extend(entry.file_name().into_string().ok().map(|name| (entry.path(), name)));
    }
    Ok(all)
}

/// One that is already gone is fine.
pub(crate) fn remove(path: &Path) -> Result<(), Trouble> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => {
            Err(Trouble::File { what: format!("removing {}", path.display()), source: e })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::KEPT_PREFIX;

    const NAME: &str = "web.service.d/50-holdfast-MemoryMax.conf";

    #[test]
    fn a_link_a_folder_and_a_pipe_with_a_name_of_ours_are_odd_and_nothing_is_read_or_removed_behind_them() {
        let folder = tempfile::tempdir().unwrap();
        let (root, prey) = (folder.path().join("units"), folder.path().join("prey"));
        let ours = "# Written by holdfast, which takes it away by itself. Yours go beside it.\n[Service]\nMemoryMax=4096\n";
        for plant in ["link", "folder", "pipe"] {
            fs::create_dir_all(root.join("web.service.d")).unwrap();
            fs::write(&prey, ours).unwrap();
            let path = root.join(NAME);
            match plant {
                "link" => std::os::unix::fs::symlink(&prey, &path).unwrap(),
                "folder" => fs::create_dir(&path).unwrap(),
                _ => rustix::fs::mknodat(
                    rustix::fs::CWD,
                    &path,
                    rustix::fs::FileType::Fifo,
                    rustix::fs::Mode::RUSR,
                    0,
                )
                .unwrap(),
            }
            let found = layer_in(&root, KEPT_PREFIX).unwrap();
            assert_eq!(found.odd.len(), 1, "{plant}");
            assert_eq!(found.layer, Layer::default(), "{plant}");
            write_layer(&root, KEPT_PREFIX, &Layer::default()).unwrap();
            assert_eq!(path.is_dir(), plant == "folder", "{plant}");
            assert_eq!(fs::read_to_string(&prey).unwrap(), ours, "{plant}");
            fs::remove_dir_all(&root).unwrap();
        }
    }

    #[test]
    fn what_lies_behind_a_linked_folder_is_odd_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (root, elsewhere) = (folder.path().join("units"), folder.path().join("elsewhere"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&elsewhere).unwrap();
        let file = elsewhere.join("50-holdfast-MemoryMax.conf");
        fs::write(&file, "[Service]\nMemoryMax=1G\n").unwrap();
        std::os::unix::fs::symlink(&elsewhere, root.join("web.service.d")).unwrap();
        assert_eq!(layer_in(&root, KEPT_PREFIX).unwrap().odd.len(), 1);
        write_layer(&root, KEPT_PREFIX, &Layer::default()).unwrap();
        assert!(file.exists(), "it is not in a folder of ours");
    }
}
