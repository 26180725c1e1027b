//! The files systemd hands to a unit: one per secret, in a directory only that unit sees.

use std::path::Path;

use crate::environment::Variables;
use crate::error::Failure;
use crate::name::SecretName;
use crate::private_file;
use crate::secret::{Secret, VALUE_MAX};

const DIRECTORY: &str = "CREDENTIALS_DIRECTORY";

/// Without the variable this process was not started by a unit that passes secrets, and has none from there.
pub(crate) fn ask(name: &SecretName, variables: &Variables) -> Result<Option<Secret>, Failure> {
    let Some(directory) = variables.get(DIRECTORY) else { return Ok(None) };
    let directory = Path::new(&directory);
    let path = directory.join(name.as_str());
    let Some(opened) = private_file::open(&path)? else {
        return directory_is_there(directory).map(|()| None);
    };
    opened.refuse_if_not_for_a_unit(&path)?;
    // Two more than a value may have, for the line end.
    Ok(Some(Secret::from_line(opened.read(&path, VALUE_MAX + 2)?)?))
}

/// A variable that points nowhere is a broken unit and not an absent secret.
fn directory_is_there(directory: &Path) -> Result<(), Failure> {
    std::fs::read_dir(directory).map(|_| ()).map_err(|e| private_file::unreadable(directory, e))
}
