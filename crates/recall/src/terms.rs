//! The weights of the signals and how they were found.

/// How many entries each of the two candidate lists should hold. On LoCoMo lists of 10, 20, 50, 100 and 200 gave a recall at 20 of 85.8,
/// 87.7, 88.9, 88.8 and 88.8 %; a larger store has more that is nearly right, so the choice is above the knee.
pub const LIST_LEN: usize = 100;

/// What each signal is worth. The first group was learnt (a listwise softmax over the candidates of each question, L2 0.003) on three
/// conversations of LoCoMo with and without speakers' labels, then rounded; leaving any one conversation out of the learning changed
/// no weight's sign and recall at 10 by half a point. The second group is set by hand: small beside a matching word
/// (a query found whole is worth [`words`](Terms::words)), so that they decide between equals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// Every word of the query stands in the entry or close by.
    pub words: f64,
    /// A cosine of 1 above what unrelated texts have.
    pub meaning: f64,
    /// The same of the entries beside it.
    pub surroundings: f64,
    /// The same of the question it answers.
    pub answer: f64,
    /// The query names who speaks, or a label of the entry.
    pub speaker: f64,
    /// No labels, but who is spoken to by name before and after says who speaks.
    pub voice: f64,
    /// The query asks for a time and the entry tells one.
    pub when: f64,
    /// The entry is of the time the query speaks of.
    pub period: f64,
    /// A spoken entry says hardly anything: taken off in full for an empty one.
    pub slight: f64,
    /// Cited 31 times or more; the logarithm below.
    pub citations: f64,
    /// Of the highest trust.
    pub trust: f64,
    /// Of this moment; half of it a month ago.
    pub recency: f64,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms {
            words: 9.5,
            meaning: 4.3,
            surroundings: 6.5,
            answer: 3.6,
            speaker: 1.4,
            voice: 0.65,
            when: 1.9,
            period: 2.5,
            slight: -5.0,
            citations: 0.4,
            trust: 0.4,
            recency: 0.3,
        }
    }
}
