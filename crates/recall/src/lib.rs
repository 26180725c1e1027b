//! Puts the right memories first: given what the lexical index and the vector index found, decides the order and says why.
//!
//! Begin with [`rank`]: a [`Query`] (the question, analysed), [`Found`] (two candidate lists), a [`Shelf`] (the port to what is
//! known of entries) and [`Terms`] (the weights) become [`Ranked`] hits, each with the share of every [`Signal`]. In reading
//! order: `word.rs` (how text is cut), `traits.rs` (what is noted of an entry when it is captured), `query.rs` with `period.rs`
//! (what a question asks for), `facts.rs` and `shelf.rs` (what the caller brings), `terms.rs` (the weights and how they were
//! found); then the way through a search: `field.rs` (candidates and what stands beside them), `evidence.rs` (what the indexes
//! say of each), `signals.rs` (what each signal sees), `rank.rs`.
//!
//! The idea. An answer in a conversation seldom repeats the words of the question that led to it, so an entry is also judged by
//! what stands beside it: each word of the query counts once, wherever in the neighbourhood it stands closest. A note that stands
//! alone must not profit from its accidental neighbours, so everything that reaches across entries is multiplied by a *tie*: zero
//! after a long pause, at a change of source, and among notes that are not speech.
//!
//! What holds:
//! - pure: no file, no clock, no thread; the time is handed in;
//! - the same inputs give the same scores to the last bit on every machine: only additions, multiplications, divisions and
//!   comparisons are used, scores are whole millionths, ties go to the smaller sequence number;
//! - the parts of a hit add up to its score exactly;
//! - no figure from the port, however broken, makes a score that is not a number;
//! - what may not be shown ([`Facts::eligible`]) lends its words to its neighbours and is never returned;
//! - work is bounded by the lists' lengths, whatever the store's size.

mod evidence;
mod facts;
mod field;
mod period;
mod query;
mod rank;
mod shelf;
mod signals;
mod terms;
mod traits;
mod word;

pub use facts::{Facts, Marks};
pub use query::{Query, Term};
pub use rank::{Found, Parts, Ranked, Score, Signal, rank};
pub use shelf::Shelf;
pub use terms::{LIST_LEN, Terms};
pub use traits::{Traits, spoken_part};
