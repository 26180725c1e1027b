//! An exam for scanners of secrets: invented secrets and decoys in plausible files, the truth about where each stands,
//! and the marking.
//!
//! Begin with [`corpus`], which makes a tree from a seed, and [`score`], which says how a tool did on it. [`chat`] makes
//! single messages for whatever takes secrets out of text. A file comes of a template (`templates/*.txt`, read by
//! `template.rs`), which `pen.rs` writes out: it fills the slots with words (`words.rs`), shapes (`shapes.rs`, `keys.rs`,
//! `hashes.rs`, `passwords.rs`) and tokens (`tokens/`), and marks what is secret and what only looks it; `ink.rs` takes
//! the marks out again and gives their places. Apart from all that, [`disguises`] are other ways to write a secret, for
//! attacks on whatever takes secrets out of text.
//!
//! What holds: equal seeds give equal bytes, on every machine. Each kind of secret, decoy and file turns up once the corpus
//! has a few hundred files. No secret is real: every one is drawn from the seed.
//!
//! Absent on purpose: no knowledge of any scanner's rules, least of all the product's. The shapes of tokens are those
//! their issuers describe. No file is touched but by [`Corpus::write_to`].

mod chat;
mod corpus;
pub mod disguises;
mod hashes;
mod ink;
mod keys;
mod kinds;
mod passwords;
mod pen;
mod rng;
mod score;
mod shapes;
mod template;
mod tokens;
mod truth;
mod words;

pub use chat::{Message, chat};
pub use corpus::{FILES_FOR_EVERY_KIND, corpus};
pub use kinds::{decoy_kinds, group_of, secret_kinds};
pub use score::{Finding, Score, Tally, score};
pub use truth::{Aside, Corpus, Decoy, File, Group, Planted};
