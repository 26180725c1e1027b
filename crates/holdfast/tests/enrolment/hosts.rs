//! What every host of these tests has.

use std::path::{Path, PathBuf};

use holdfast_testkit::lab;

/// The lab has no sudo: one that asks nobody, by a copy of Python that is root's. Without `-n` somebody would be asked.
pub const SUDO: &str = r#"cp /usr/bin/python3 /usr/local/lib/sudo-python && chmod 4755 /usr/local/lib/sudo-python && \
cat >/usr/local/bin/sudo <<'END' && chmod 755 /usr/local/bin/sudo
#!/bin/sh
[ "$1" = -n ] || { echo "sudo: a terminal is required" >&2; exit 1; }
shift
exec /usr/local/lib/sudo-python -I -c 'import os,sys; os.setgroups([0]); os.setgid(0); os.setuid(0); os.execvp(sys.argv[1], sys.argv[1:])' "$@"
END
"#;

/// A program of the workspace, as it was built for the tests.
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join(name)
}

/// The doorman's program, small enough to be sent to an emulated machine.
pub fn doorman(folder: &Path) -> String {
    lab::stripped(program("holdfast-doorman"), folder).display().to_string()
}
