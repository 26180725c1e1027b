//! The product's own program: built by the cargo that runs this one, or found beside it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

/// Another program of the house, built the same way. Where it lies.
pub(crate) fn built(target: &Path, package: &str) -> Result<PathBuf> {
    if let Some(cargo) = std::env::var_os("CARGO") {
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--release", "--locked", "--package", package]);
        build.arg("--target-dir").arg(target).current_dir(env!("CARGO_MANIFEST_DIR"));
        ensure!(build.status().context("running cargo")?.success(), "{package} could not be built");
    }
    let path = target.join("release").join(package);
    ensure!(path.is_file(), "there is no {}", path.display());
    Ok(path)
}

/// Where the program lies.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    path: PathBuf,
}

impl Program {
    /// Below `cargo run` it is built first, which takes no time when nothing has changed: a program of another day
    /// would be measured in silence.
    pub(crate) fn find(target: &Path) -> Result<Program> {
        if let Some(cargo) = std::env::var_os("CARGO") {
            let mut build = Command::new(cargo);
            build.args([
                "build",
                "--quiet",
                "--release",
                "--locked",
                "--package",
                "holdfast",
                "--package",
                "holdfast-cage",
            ]);
            build.arg("--target-dir").arg(target).current_dir(env!("CARGO_MANIFEST_DIR"));
            let built = build.status().context("running cargo")?;
            ensure!(built.success(), "the program to measure could not be built");
        }
        let path = target.join("release/holdfast");
        ensure!(
            path.is_file(),
            "there is no {}; build it with `cargo build --release -p holdfast`",
            path.display()
        );
        Ok(Program { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A call for one home. Nothing of this process's environment gets in, and nothing comes out.
    pub(crate) fn call(&self, home: &Path, args: &[&str]) -> Command {
        let mut call = Command::new(&self.path);
        call.env_clear().arg("--home").arg(home).args(args);
        call.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        call
    }

    /// Calls, and gives what it said on stdout. That something needs a person is an answer too.
    pub(crate) fn ask(&self, home: &Path, args: &[&str]) -> Result<String> {
        let mut call = self.call(home, args);
        let out = call.stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        ensure!(
            matches!(out.status.code(), Some(0 | 1)),
            "`holdfast {}` failed: {} {}",
            args.join(" "),
            said(&out.stdout),
            said(&out.stderr)
        );
        Ok(said(&out.stdout))
    }
}
