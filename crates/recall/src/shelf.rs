//! The port: what ranking asks of the stores. Each call is about a bounded number of entries.

use crate::facts::Facts;

/// What the caller's indexes and tables answer. One value stands for one search: it knows the query's vector and the filters.
pub trait Shelf {
    /// The entry and up to `reach` entries before and after it in the same space, in the order of `seq`; those in between may not be
    /// left out. Empty when there is no such entry. Entries of other agents' spaces must not be among them: they would lend their
    /// words to what is shown.
    fn around(&self, seq: u64, reach: usize) -> Vec<Facts>;

    /// How telling a word of the query is: its inverse document frequency, zero when no entry has it.
    fn rarity(&self, word: &str) -> f64;

    /// What BM25 gives each of these entries for this one word, in their order. `seqs` is ascending.
    fn word_scores(&self, word: &str, seqs: &[u64]) -> Vec<f64>;

    /// The cosine between the query's vector and each entry's, in their order; `None` where there is no vector (yet). `seqs` is ascending.
    fn closeness(&self, seqs: &[u64]) -> Vec<Option<f64>>;
}
