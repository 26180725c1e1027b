//! Looks at real peers on this machine, most of them unfriendly. Gatus and Tailscale are scripted: neither can be installed here.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop, and one that leaves something out says so"
)]

mod checks;
mod gatus;
mod hostile;
mod icmp;
mod pages;
mod peer;
mod tailscale;
mod tls;
