//! The lexical index of memory: which words stand in which entries, the best of them by BM25, on disk, and able to forget.
//!
//! It is a projection of the journal: an entry is found by its `seq`, the index says up to which entry it has come, and it can be thrown away and made
//! again at any time. Begin with [`Concordance`] (`concordance.rs`: open, add, erase, tend; `ask.rs`: search). In reading order:
//! `analyse.rs` (from a text to its terms), `query.rs`, `score.rs` (BM25 in whole numbers), `list.rs` and `search.rs` (the best without looking at
//! all), `nearness.rs`, `filter.rs`; then what is kept: `fresh.rs` (entries in no file yet), `gathered.rs`, `segment.rs` (files that are written
//! once), `merge.rs` (which of them are made one), `manifest.rs` and `folder.rs`. docs/formats/concordance.md draws the bytes.
//!
//! What holds:
//! - an added entry is found at once; it is durable through the journal. Segments and the progress they stand for change in one step;
//! - what a search finds is exactly what scoring every entry would find, in one order: by score, then by id;
//! - counts of entries, of words and of entries with a word are those of the entries there are: nothing that was erased counts;
//! - when [`Concordance::erase`] has returned, no file has anything of the entry, and no crash brings it back;
//! - damage is an error, never a wrong answer: every byte read has passed a checksum. What a crash leaves is a state between two steps.
//!
//! No threads of its own: [`Concordance::tend`] is the owner's to call in the background. Absent on purpose: a clock, mapped files, the texts.

mod analyse;
mod ask;
mod concordance;
mod error;
mod filter;
mod folder;
mod fresh;
mod gathered;
mod list;
mod manifest;
mod merge;
mod nearness;
mod query;
mod score;
mod search;
mod segment;

pub use analyse::{ANALYSIS, Analysed, TERM_LEN_MAX, Token, WORDS_MAX, analyse};
pub use ask::TOP_MAX;
pub use concordance::{Added, Concordance, Tended};
pub use error::{Error, Result};
pub use filter::{Filter, IdSet};
pub use query::{Query, TERMS_MAX, Wanted};
pub use score::{Bm25, Score};
pub use search::Hit;
