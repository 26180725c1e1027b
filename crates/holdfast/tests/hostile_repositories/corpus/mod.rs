//! The corpus: `catalogue.rs` lists the repositories, `kit.rs` makes one, `nested.rs` and `forged.rs` plant what takes more than a line, and
//! `control.rs` shows that a plant works.

pub mod catalogue;
pub mod control;
mod forged;
pub mod kit;
mod nested;
