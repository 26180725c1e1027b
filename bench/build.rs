//! Tells the program which compiler built it, for the page it writes.

use std::process::Command;

fn main() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let said = Command::new(rustc).arg("--version").output();
    let version = said
        .map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned())
        .unwrap_or_else(|_| "unknown".into());
    println!("cargo:rustc-env=HOLDFAST_BENCH_RUSTC={version}");
    println!("cargo:rerun-if-changed=build.rs");
}
