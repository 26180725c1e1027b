//! `holdfast-cage`: the launcher. It reads one plan from its standard input, builds the cage, runs the program in it, and
//! says what came of it. `holdfast-cage host` says what this machine can do for a cage.
//!
//! Three processes: this one stays outside and watches (`outer.rs`); the first process of the cage builds the view and
//! collects whoever is left behind (`inner.rs`, `view.rs`); the program itself is confined at the last moment before it
//! begins (`confine.rs`). When the first process of a cage ends, the kernel ends all others in it; it ends when the
//! watcher does, and the watcher ends when its caller is gone. What git would run of what was left behind is dealt with
//! before and after (`settle.rs`, `aside.rs`). `sys.rs` holds every call nothing safe exists for.

#![deny(unsafe_code)]

mod aside;
mod confine;
mod group;
mod host;
mod inner;
mod link;
mod notify;
mod outer;
mod settle;
mod sys;
mod usage;
mod view;

use std::process::ExitCode;

fn main() -> ExitCode {
    sys::forget_signals();
    match std::env::args().nth(1).as_deref() {
        None => outer::run(),
        Some("host") => host::say(),
        Some(_) => ExitCode::from(2),
    }
}
