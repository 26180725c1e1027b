//! The gates from outside: every row of the property tests, the auditor, the evaluated values, the tiers and bounds; a
//! corpus of ways around them; random differences; the task document.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "gates/auditor.rs"]
mod auditor;
#[path = "gates/bounds.rs"]
mod bounds;
#[path = "gates/brain.rs"]
mod brain;
#[path = "gates/corpus.rs"]
mod corpus;
#[path = "gates/difference.rs"]
mod difference;
#[path = "gates/order.rs"]
mod order;
#[path = "gates/policy.rs"]
mod policy;
#[path = "gates/properties.rs"]
mod properties;
#[path = "gates/proposal.rs"]
mod proposal;
#[path = "gates/random.rs"]
mod random;
#[path = "gates/sample.rs"]
mod sample;
#[path = "gates/task.rs"]
mod task;
#[path = "gates/world.rs"]
mod world;
