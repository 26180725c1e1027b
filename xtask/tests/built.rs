//! What `make test` builds with: a warning of the compiler does not land.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::path::Path;
use std::process::{Command, Output};

/// A workspace of one crate, with the script in the place it has in ours.
fn workspace(source: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    std::fs::create_dir_all(at("src")).unwrap();
    std::fs::create_dir_all(at("scripts")).unwrap();
    std::fs::write(at("src/lib.rs"), source).unwrap();
    let manifest = "[package]\nname = \"one\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n";
    std::fs::write(at("Cargo.toml"), manifest).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/built.sh");
    std::fs::copy(script, at("scripts/built.sh")).unwrap();
    let mut lock = Command::new(env!("CARGO"));
    lock.args(["generate-lockfile", "--offline"]).current_dir(folder.path());
    assert!(lock.output().unwrap().status.success());
    folder
}

fn built(folder: &Path) -> Output {
    let mut command = Command::new(folder.join("scripts/built.sh"));
    // Its own folder, and not the one that whoever runs this test builds in.
    command.env("CARGO_TARGET_DIR", folder.join("target")).env_remove("RUSTFLAGS");
    command.output().unwrap()
}

// shows: GTW-004
#[test]
fn a_warning_of_the_compiler_is_an_error_also_when_it_was_told_before() {
    let warns = workspace("pub fn one() { let unused = 1; }\n");
    for turn in ["first", "second"] {
        let ended = built(warns.path());
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{turn}: {said}");
        assert!(said.contains("unused") && said.contains("does not land"), "{turn}: {said}");
    }
    let quiet = workspace("pub fn one() {}\n");
    let ended = built(quiet.path());
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let broken = workspace("pub fn one() { two() }\n");
    assert_eq!(built(broken.path()).status.code(), Some(101));
}
