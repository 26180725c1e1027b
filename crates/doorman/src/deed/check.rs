//! Whether a change would fit: asked before anything is staged, and nothing is loaded for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_steward::setting::{Change, UnitName};

use crate::kernel;
use crate::layer::{self, KEPT_PREFIX};
use crate::place::Place;
use crate::program::{Trouble, run_whatever};
use crate::room::Room;
use crate::systemd;
use crate::wire::Reply;

const VERIFY_WITHIN: Duration = Duration::from_secs(90);

/// Would the whole fit together? Nothing is loaded for it.
pub(crate) fn check(place: &Place, changes: &[Change]) -> Result<Reply, Trouble> {
    let room = super::enter(place)?;
    Ok(Reply::Checked(match checked(&room, changes)? {
        None => Ok(()),
        Some(why) => Err(why),
    }))
}

/// Why it would not.
pub(super) fn checked(room: &Room<'_>, changes: &[Change]) -> Result<Option<String>, Trouble> {
    for change in changes {
        let setting = &change.setting;
        if !room.settings.units.contains(&setting.unit) {
            return Ok(Some(format!("{} is not a unit that may be changed here", setting.unit)));
        }
        if let Err(e) = layer::text_of(setting, change.to) {
            return Ok(Some(e.to_string()));
        }
        let shown = systemd::show_one(&setting.unit)?;
        if !shown.is_loaded() {
            return Ok(Some(format!("there is no {} on this target", setting.unit)));
        }
        if let Some(path) = shown.set_at_run_time() {
            return Ok(Some(format!(
                "somebody set limits of {} at run time ({}); `systemctl revert {}` takes them away",
                setting.unit,
                path.display(),
                setting.unit
            )));
        }
        let total = kernel::meminfo("MemTotal").unwrap_or(u64::MAX);
        if !systemd::peoples(&shown, &setting.property, total)?.exact {
            return Ok(Some(format!("people set {setting} finer than a change could go back to")));
        }
    }
    verified(room, changes)
}

/// Has `systemd-analyze` read the unit with all its drop-ins and ours in a folder of its own.
fn verified(room: &Room<'_>, changes: &[Change]) -> Result<Option<String>, Trouble> {
    let scratch = room.place.state.join("scratch");
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch).map_err(Trouble::file("making a scratch folder"))?;
    let result = verified_in(&scratch, changes);
    let _ = fs::remove_dir_all(&scratch);
    result
}

fn verified_in(scratch: &Path, changes: &[Change]) -> Result<Option<String>, Trouble> {
    let copy = |from: &Path, to: PathBuf| {
        fs::copy(from, &to).map(drop).map_err(Trouble::file(format!("copying {}", from.display())))
    };
    let mut units: Vec<UnitName> = changes.iter().map(|change| change.setting.unit.clone()).collect();
    units.dedup();
    let mut verified = Vec::new();
    for unit in &units {
        let shown = systemd::show_one(unit)?;
        let folder = scratch.join(layer::folder_of(unit));
        fs::create_dir_all(&folder).map_err(Trouble::file("making a scratch folder"))?;
        let mut files = shown.peoples_files().into_iter();
        let Some(fragment) = files.next() else {
            return Ok(Some(format!("{unit} has no file of its own")));
        };
        copy(&fragment, scratch.join(unit.as_str()))?;
        for (at, path) in files.enumerate() {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("other.conf");
            copy(&path, folder.join(format!("{at:03}-{name}")))?;
        }
        for change in changes.iter().filter(|change| change.setting.unit == *unit) {
            let text = layer::text_of(&change.setting, change.to).map_err(|e| Trouble::Odd(e.to_string()))?;
            let (_, file) = layer::file_of(&change.setting, &format!("zz-{KEPT_PREFIX}"));
            fs::write(folder.join(&file), text).map_err(Trouble::file("writing a scratch file"))?;
        }
        verified.push(scratch.join(unit.as_str()).display().to_string());
    }
    let args: Vec<&str> = ["verify", "--man=no", "--recursive-errors=no"]
        .into_iter()
        .chain(verified.iter().map(String::as_str))
        .collect();
    let (_, said, ok, _) = run_whatever("systemd-analyze", &args, Vec::new(), VERIFY_WITHIN)?;
    let ours = said.lines().find(|line| line.contains(KEPT_PREFIX));
    match (ok, ours) {
        (true, None) => Ok(None),
        (_, Some(line)) => Ok(Some(holdfast_types::printable(line))),
        (false, None) => {
            Ok(Some(holdfast_types::printable(said.lines().last().unwrap_or("it does not verify"))))
        }
    }
}
