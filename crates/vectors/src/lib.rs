//! Finds near vectors: exactly while there are few, by a graph beyond that, in files that are mapped and never lie.
//!
//! There is `unsafe` in two modules, and each says why: `measure.rs` (the processor's wide instructions, looked up at run time) and
//! `map.rs` (mapping a file). Everywhere else the compiler refuses it.
//!
//! An [`Index`] holds the vectors of one agent's space, each under a [`Key`]: an entry of the journal and a piece of its text. Begin with
//! [`Index::open`], [`Index::put`] and [`Index::search`]. It is a cache: everything in it can be made again from what the memory keeps, so
//! whatever is damaged is refused ([`Error::Damaged`]) and not repaired.
//!
//! The way of a vector: [`Vector::new`] takes its direction and refuses what has none; [`Index::put`] adds it to a log and, as a code of a
//! byte a number, to the tail in memory. When the tail is long ([`Index::wants_rebuild`]), a [`Rebuild`] makes a new base of everything in
//! the background: rows arranged so that like lies beside like, and beyond [`EXACT_MAX`] rows a graph of near ones. A search walks the
//! graph (or looks through all codes), looks through the tail, and orders the best by their vectors in full precision.
//!
//! In reading order: `key.rs`, `model.rs`, `vector.rs`, `code.rs`, `measure.rs`; `index.rs` and `search.rs` with `sieve.rs` and `beam.rs`; the
//! files (`docs/formats/vectors.md` draws them): `files.rs`, `current.rs`, `log.rs` with `tail.rs`, `layout.rs`, `base.rs` with `map.rs`; the making
//! of a base: `rebuild.rs`, `arrange.rs`, `build.rs` with `shelf.rs` and `spread.rs`, `aside.rs`.
//!
//! What holds:
//! - scores are of the vectors as they were put in; an answer says whether a nearer one can have been missed ([`How`]);
//! - the same operations in the same order give the same answers, on every machine and with any number of threads; ties go by key;
//! - what is forgotten is never found again, and nothing made of its vector is left in any file when [`Index::forget`] returns;
//! - a kill at any moment leaves what was put in before, but at most for the call under way; damage is an error, never an answer;
//! - nothing is not a number: such vectors cannot be made.
//!
//! Absent on purpose: a clock, a model, texts, threads that outlive a call, anything about who may see what.

mod arrange;
mod aside;
mod base;
mod beam;
mod bits;
mod build;
mod code;
mod current;
mod error;
mod files;
mod index;
mod key;
mod layout;
mod log;
#[allow(unsafe_code)]
mod map;
#[allow(unsafe_code)]
mod measure;
mod model;
mod rebuild;
mod search;
mod shelf;
mod sieve;
mod spread;
mod tail;
mod vector;

pub use error::{Error, NoVector};
pub use files::Retired;
pub use index::{Index, Stats};
pub use key::Key;
pub use layout::ROWS_MAX;
pub use model::Model;
pub use rebuild::{Rebuild, Rebuilt};
pub use search::{Among, Answer, EXACT_MAX, Effort, Hit, How, LIMIT_MAX, Query};
pub use vector::{Vector, WIDTH};
