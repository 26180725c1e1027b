//! The commands of the control plane, a file each. What they ask is carried out by the office, whether a daemon has
//! it open or they open it themselves (`ask.rs`).

pub(crate) mod approvals;
pub(crate) mod backup;
pub(crate) mod bundle;
pub(crate) mod cage;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod disk;
pub(crate) mod down;
pub(crate) mod egress;
pub(crate) mod export;
pub(crate) mod gateway;
pub(crate) mod hook;
pub(crate) mod memory;
pub(crate) mod model;
pub(crate) mod notice;
pub(crate) mod pause;
pub(crate) mod rebuild;
pub(crate) mod redact;
pub(crate) mod scan;
pub(crate) mod sign;
pub(crate) mod status;
pub(crate) mod steward;
pub(crate) mod target;
pub(crate) mod uninstall;
pub(crate) mod verdict;
