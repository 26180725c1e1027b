//! The one way to run Python.

use std::io;
use std::process::Command;

/// The system's `python3`, isolated: no module is taken from the folder it runs in, from a `PYTHONPATH`, or from a user's own packages.
pub fn python() -> io::Result<Command> {
    let mut command = crate::isolated_any(&crate::find::find_any("python3")?)?;
    command.arg("-I");
    Ok(command)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Limits, run};

    #[test]
    fn it_imports_nothing_of_the_folder_it_is_in() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("mark");
        for name in ["json", "sitecustomize", "usercustomize"] {
            let text = format!("open({mark:?}, 'w')\n");
            std::fs::write(folder.path().join(name).with_extension("py"), text).unwrap();
        }
        let mut command = python().unwrap();
        // Even if a caller sets the folder and the variable again.
        command.current_dir(folder.path()).env("PYTHONPATH", folder.path());
        command.args(["-c", "import json; print(json.__name__)"]);
        let ran =
            run(&mut command, Vec::new(), Limits { within: Duration::from_secs(120), output_max: 1 << 16 })
                .unwrap();
        assert_eq!(ran.out, b"json\n", "{}", String::from_utf8_lossy(&ran.err));
        assert!(!mark.exists());
    }
}
