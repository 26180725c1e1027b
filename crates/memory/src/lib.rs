//! Memory's judgement.
mod day;
mod entry;
mod id;
mod kind;
mod record;
mod text;

#[cfg(test)]
mod build;

pub use day::{Day, Month, NotADay};
pub use entry::*;
pub use id::*;
pub use kind::*;
pub use record::*;
pub use text::*;
