//! The steward's hands. It decides in `steward`; here its decisions are written down and carried out.
//!
//! [`Controller`] joins a steward to its [`Log`]: what it decides is durable before anybody hears of it. [`Runner`] carries
//! out effects one by one on a [`Driver`]. [`SimHost`] is the driver of a modelled host: the demo runs on it, and the
//! simulator breaks it in every way it can. [`SystemdHost`] is that of a real one, over SSH. [`collect`] measures one, through its doorman, over a plain
//! account, or this machine itself, and [`Follow`] makes of that what is watched. [`story`] tells an episode from its records alone.
//!
//! What holds:
//! - a record that could not be written has no effect, and the steward that decided it is thrown away and read anew;
//! - a driver is asked typed words, and answers with typed ones.

pub mod collect;
mod controller;
mod driver;
mod journaled;
mod runner;
mod sighting;
mod sim;
pub mod story;
pub mod systemd;
pub mod window;

pub use controller::{Controller, Log, LogFailed, MemoryLog};
pub use driver::Driver;
pub use holdfast_line::{Line, Unreached};
pub use journaled::{JournalLog, Misfit, entry_of, record_of};
pub use runner::{Outside, Runner};
pub use sighting::Follow;
pub use sim::{
    CALIBRATION, Course, Demand, HostEvent, LIMIT, Layer, Leak, Machine, Part, Power, Pressure, Quirk,
    SimHost, UnitLimits, UnitSight, critical, estate, workload,
};
pub use systemd::{GENERATIONS_KEPT, SystemdHost, Way};
pub use window::MemoryWindow;
