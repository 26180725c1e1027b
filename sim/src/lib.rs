//! Simulated worlds for the steward: a seed gives a world, a world gives a verdict.
//!
//! [`Plan::draw`] turns a seed into a world before it begins: host, brain, people, and everything that will go wrong.
//! [`World::run`] plays it: the real steward, the real lifeline, the real target desk, around a modelled host, network and
//! clock. [`check`] holds what must never happen and what must happen in the end. The same seed gives the same world
//! to the byte; nothing here reads a clock, and chance comes from the seed.
//!
//! A simulator that sees nothing is worth nothing: every [`Flaw`](holdfast_lifeline::Flaw) breaks the design in one place, and tests show
//! that worlds notice each of them.

pub mod chance;
pub mod check;
pub mod coverage;
pub mod plain;
pub mod plan;
pub mod run;
mod setup;
pub mod shrink;
pub mod story;
pub mod trouble;
mod world;

pub use plan::Plan;
pub use world::{Verdict, World};
