//! The ranking over a shelf in memory: what comes first and why, and what holds whatever the port says.

mod bounds;
mod ranking;
mod shelf;
